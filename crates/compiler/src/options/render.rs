//! The kind `Render` of `config.kubefoundry.ai/v1alpha1`: the options of a run, in one form for all front ends.

use kubefoundry_deployment::wire::InferenceProviderConfig;
use kubefoundry_kubernetes::wire::{Describe, HasPath, Map, ObjectMeta, Read, Reader, Shape, ValuePath};
use kubefoundry_kubernetes::{string_enum, wire_object};
use kubefoundry_model::composition::Composition;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::{Node, Value};

use crate::codes;

/// `apiVersion` of [`Render`].
pub const API_VERSION: &str = "config.kubefoundry.ai/v1alpha1";

/// Fields of [`Render`] that had another name before the first release: old and new.
pub const RENAMED_FIELDS: &[(&str, &str)] = &[("targets", "crdVersions"), ("rules", "severities")];

wire_object! {
    /// Set what kubefoundry reads and writes, and how strict it is. Put these options into `kubefoundry.yaml` in the
    /// directory of the manifests or in one above it, or pass them with `--config`.
    pub struct Render {
        /// `config.kubefoundry.ai/v1alpha1`.
        api_version: String = "apiVersion" [required(), checked_by(&codes::REQUIRED_FIELD)],
        /// `Render`.
        kind: String = "kind" [required(), checked_by(&codes::REQUIRED_FIELD)],
        /// Required if you use the options as the configuration of a KRM function.
        metadata: ObjectMeta = "metadata",
        /// Do not look for a `kubefoundry.yaml` in the directories above this one.
        root: bool = "root",
        /// Treat each directory that matches one of these patterns as an environment of its own, in which names must be
        /// unique: `clusters/*`. A directory with its own `kubefoundry.yaml` and a kustomization are environments, too.
        /// Patterns are those of a `.gitignore` in the directory of the file.
        environments: Vec<String> = "environments" [max_items(256)],
        /// Read only files that match one of these patterns, which are those of a `.gitignore`.
        include: Vec<String> = "include" [max_items(256)],
        /// Do not read files and directories that match one of these patterns, which are those of a `.gitignore`:
        /// `vendor/`.
        exclude: Vec<String> = "exclude" [max_items(256)],
        /// Set how kustomizations are built.
        kustomize: Kustomize = "kustomize",
        /// Render Helm charts with helm, instead of skipping their templates. A `kubefoundry.yaml` that is found beside
        /// the input cannot set it: use `--helm`, or pass the file with `--config`.
        helm: bool = "helm",
        /// Set the CRD version of each provider's objects: `dynamo: nvidia.com/v1beta1`.
        crd_versions: Map<String> = "crdVersions",
        /// Set the runtime version of each provider: `dynamo: 1.4.0`. It selects default images and the checks of
        /// engine flags. Pin it; otherwise an upgrade of kubefoundry also upgrades what runs.
        runtimes: Map<String> = "runtimes",
        /// Replace prefixes of default images: `nvcr.io: registry.example.com/nvcr`. A prefix matches whole path
        /// components. The longest matching prefix wins.
        images: Map<String> = "images",
        /// Add InferenceProviderConfigs to the built-in ones and those in the input.
        providers: Vec<Node<'static>> = "providers" [shape(Vec::<InferenceProviderConfig>::SHAPE)],
        /// Allow pods to do more than the level baseline of Kubernetes' Pod Security Standards. A `kubefoundry.yaml` that
        /// is found beside the input cannot set it: pass the file with `--config`.
        policy: Policy = "policy",
        /// Choose which objects are printed. The default is `generated`.
        output: OutputMode = "output",
        /// Remove objects that are no longer generated from the input (KRM function only).
        prune: bool = "prune",
        /// Set an owner reference to the ModelDeployment in generated objects. The input must have its `metadata.uid`.
        owner_references: bool = "ownerReferences",
        /// Accept an input without a ModelDeployment. Otherwise `render` fails.
        allow_empty: bool = "allowEmpty",
        /// Treat warnings as errors.
        strict: bool = "strict",
        /// Limit the size of the input. A document beyond a limit is rejected. A `kubefoundry.yaml` that is found beside
        /// the input can only lower limits.
        limits: Limits = "limits",
        /// Set the severity of findings by code or name: `KF0503: off`. A `kubefoundry.yaml` that is found beside the
        /// input cannot hide what was not judged (`KF0108`).
        severities: Map<CodeSeverity> = "severities",
    }
}

/// Returns the shape of a `Render` document, including the sections of providers and transformations.
///
/// ```
/// use kubefoundry_compiler::options::render;
/// use kubefoundry_composition::BUILTIN;
/// use kubefoundry_kubernetes::wire::Shape;
/// let Shape::Object(shape) = render::shape(&BUILTIN) else { panic!("an object") };
/// assert!(shape.fields.iter().any(|field| field.key == "llamaStack"));
/// ```
pub fn shape(composition: &'static Composition) -> Shape {
    match Render::SHAPE {
        // The sections come after the fields about the cluster and before those about the output.
        Shape::Object(shared) => Shape::Object(composition.render_shape(shared, "output")),
        shape => shape,
    }
}

wire_object! {
    /// How kustomizations are built.
    pub struct Kustomize {
        /// Build kustomizations that reach objects of kubefoundry (default), instead of reading their files. A
        /// `kubefoundry.yaml` that is found beside the input cannot set it to `false`: use `--no-kustomize`, or pass the
        /// file with `--config`.
        build: bool = "build",
        /// Let kustomizations run programs. A `kubefoundry.yaml` that is found beside the input cannot set it: use
        /// `--enable-exec`, or pass the file with `--config`.
        enable_exec: bool = "enableExec",
        /// Let kustomizations read from the network. A `kubefoundry.yaml` that is found beside the input cannot set it:
        /// use `--allow-remote`, or pass the file with `--config`.
        allow_remote: bool = "allowRemote",
    }
}

wire_object! {
    /// What the pods of generated objects may do.
    pub struct Policy {
        /// The level of the Pod Security Standards that pods must keep to. The default is `baseline`.
        pod_security: PodSecurity = "podSecurity",
        /// Capabilities that containers may add, beyond those of the level: `[IPC_LOCK]`.
        allow_capabilities: Vec<String> = "allowCapabilities" [max_items(64)],
        /// Directories of nodes that pods may mount as `hostPath`, with everything below them: `[/mnt/models]`. A
        /// symbolic link on the node can lead out of them.
        allow_host_paths: Vec<String> = "allowHostPaths" [max_items(64)],
        /// Allow pods to share the IPC namespace of their node.
        allow_host_ipc: bool = "allowHostIPC",
    }
}

string_enum! {
    /// A level of Kubernetes' Pod Security Standards.
    pub enum PodSecurity {
        /// Refuse what is a known way to more privileges (default).
        Baseline = "baseline",
        /// Refuse nothing.
        Privileged = "privileged",
    }
}

wire_object! {
    /// Limits on the size of the input and the cost of CEL expressions. No source can set one above its maximum.
    pub struct Limits {
        /// Maximum number of documents in one file.
        documents: i64 = "documents" [minimum(1), maximum(1_000_000)],
        /// Maximum size of one document in bytes.
        document_bytes: i64 = "documentBytes" [minimum(1), maximum(67_108_864)],
        /// Maximum number of values in one document, with aliases expanded.
        nodes: i64 = "nodes" [minimum(1), maximum(2_000_000)],
        /// Maximum nesting depth of one document.
        depth: i64 = "depth" [minimum(1), maximum(1_000)],
        /// Maximum number of values that aliases add to one document.
        alias_nodes: i64 = "aliasNodes" [minimum(1), maximum(1_000_000)],
        /// Maximum size of one CEL expression in bytes.
        rule_bytes: i64 = "ruleBytes" [minimum(1), maximum(65_536)],
        /// Maximum number of steps in one CEL evaluation.
        rule_steps: i64 = "ruleSteps" [minimum(1), maximum(10_000_000)],
    }
}

string_enum! {
    /// Which objects are printed.
    pub enum OutputMode {
        /// Only the generated objects.
        Generated = "generated",
        /// The input, followed by the generated objects.
        Append = "append",
        /// The input without its ModelDeployments, and the generated objects.
        Replace = "replace",
    }
}

string_enum! {
    /// The severity of a code, or `off`.
    pub enum SeverityOrOff {
        /// Report it as an error.
        Error = "error",
        /// Report it as a warning.
        Warning = "warning",
        /// Report it as information.
        Info = "info",
        /// Do not report it.
        Off = "off",
    }
}

/// The severity of a code, or `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeSeverity(pub SeverityOrOff);

impl Read for CodeSeverity {
    const EXPECTED: &'static str = "one of error, warning, info, off";

    /// Accepts an unquoted `off`, which a YAML 1.1 reader turns into `false`. A boolean has no other meaning here.
    fn read(node: &Node<'_>, path: &FieldPath, reader: &mut Reader<'_, '_>) -> Option<Self> {
        match node.value {
            Value::Bool(false) => Some(Self(SeverityOrOff::Off)),
            Value::String(_) => SeverityOrOff::read(node, path, reader).map(Self),
            _ => {
                kubefoundry_kubernetes::wire::report_wrong_type(node, path, Self::EXPECTED, reader);
                None
            }
        }
    }
}

impl HasPath for CodeSeverity {
    type Path = ValuePath;
}

impl Describe for CodeSeverity {
    const SHAPE: Shape = Shape::OneOf(&[SeverityOrOff::SHAPE, Shape::Literal("false")]);
}
