//! `Render` of `config.kubefoundry.ai/v1alpha1`: the options, one kind for all front ends.

use std::sync::LazyLock;

use kubefoundry_kubernetes::wire::{
    Describe, FieldShape, Located, Map, ObjectMeta, ObjectShape, Read, Reader, Shape, ValuePath,
};
use kubefoundry_kubernetes::{string_enum, wire_object};
use kubefoundry_model::wire::InferenceProviderConfig;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::{Node, Value};

use crate::{codes, composition};

/// `apiVersion` of [`Render`].
pub const API_VERSION: &str = "config.kubefoundry.ai/v1alpha1";

/// Fields of [`Render`] that had another name before the first release: old and new.
pub const RENAMED_FIELDS: &[(&str, &str)] = &[("targets", "crdVersions"), ("rules", "severities")];

wire_object! {
    /// Options of kubefoundry: what it writes and how strict it is. Read from `kubefoundry.yaml` in the one
    /// directory given as PATH, and from `--config`.
    pub struct Render {
        /// `config.kubefoundry.ai/v1alpha1`.
        api_version: String = "apiVersion" [required(), checked_by(&codes::REQUIRED_FIELD)],
        /// `Render`.
        kind: String = "kind" [required(), checked_by(&codes::REQUIRED_FIELD)],
        /// Required where it is a KRM function's configuration.
        metadata: ObjectMeta = "metadata",
        /// The CRD version that is written for a provider: `dynamo: nvidia.com/v1beta1`.
        crd_versions: Map<String> = "crdVersions",
        /// The runtime version that default images and flag checks of a provider are for: `dynamo: 1.4.0`. Pin it, or
        /// upgrading kubefoundry upgrades what runs.
        runtimes: Map<String> = "runtimes",
        /// Prefixes of default images and what takes their place: `nvcr.io: registry.example.com/nvcr`. A prefix matches
        /// whole path components; the longest wins.
        images: Map<String> = "images",
        /// InferenceProviderConfigs, in addition to the built-in ones and those in the input.
        providers: Vec<Node<'static>> = "providers" [shape(Vec::<InferenceProviderConfig>::SHAPE)],
        /// Which objects are printed; `generated` by default.
        output: OutputMode = "output",
        /// Whether objects that are no longer generated are removed from the input (KRM function only).
        prune: bool = "prune",
        /// Whether generated objects name their ModelDeployment as owner. Its `metadata.uid` must be in the input.
        owner_references: bool = "ownerReferences",
        /// Whether an input without a ModelDeployment is fine; otherwise `render` fails.
        allow_empty: bool = "allowEmpty",
        /// Whether warnings are errors.
        strict: bool = "strict",
        /// Limits on the input; past them a document is refused.
        limits: Limits = "limits",
        /// The severity of findings by diagnostic code: `KF0504: off`.
        severities: Map<CodeSeverity> = "severities",
    }
}
/// What a `Render` document looks like, with the sections of providers and transformations.
///
/// ```
/// use kubefoundry_compiler::options::render;
/// use kubefoundry_kubernetes::wire::Shape;
/// let Shape::Object(shape) = render::shape() else { panic!("an object") };
/// assert!(shape.fields.iter().any(|field| field.key == "llamaStack"));
/// ```
pub fn shape() -> Shape {
    static FIELDS: LazyLock<Vec<FieldShape>> = LazyLock::new(|| {
        let Shape::Object(own) = Render::SHAPE else { return Vec::new() };
        let sections: Vec<FieldShape> = composition::sections().map(|section| section.field).collect();
        // Sections stand behind the fields that are about the cluster, before those that are about the output.
        let is_about_cluster = |field: &&FieldShape| field.key != "output";
        let before = own.fields.iter().take_while(is_about_cluster);
        let after = own.fields.iter().skip_while(is_about_cluster);
        before.chain(&sections).chain(after).copied().collect()
    });
    static RENDER: LazyLock<ObjectShape> = LazyLock::new(|| {
        let (name, doc) = match Render::SHAPE {
            Shape::Object(own) => (own.name, own.doc),
            _ => ("Render", ""),
        };
        ObjectShape { name, doc, fields: &FIELDS }
    });
    Shape::Object(&RENDER)
}

wire_object! {
    /// Limits on the input.
    pub struct Limits {
        /// Documents of one file.
        documents: i64 = "documents",
        /// Bytes of one document.
        document_bytes: i64 = "documentBytes",
        /// Values in one document, aliases expanded.
        nodes: i64 = "nodes",
        /// Nesting of one document.
        depth: i64 = "depth",
        /// Values that aliases may add to one document.
        alias_nodes: i64 = "aliasNodes",
        /// Bytes of one CEL expression.
        rule_bytes: i64 = "ruleBytes",
        /// Steps of one CEL evaluation.
        rule_steps: i64 = "ruleSteps",
    }
}
string_enum! {
    /// What is printed.
    pub enum OutputMode {
        /// Generated objects only.
        Generated = "generated",
        /// The input and the generated objects.
        Append = "append",
        /// The input without its ModelDeployments, and the generated objects.
        Replace = "replace",
    }
}
string_enum! {
    /// The severity that a code is given.
    pub enum SeverityOrOff {
        /// An error.
        Error = "error",
        /// A warning.
        Warning = "warning",
        /// Information.
        Info = "info",
        /// Not reported.
        Off = "off",
    }
}

/// The severity that a code is given, as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeSeverity(pub SeverityOrOff);

impl Read for CodeSeverity {
    const EXPECTED: &'static str = "one of error, warning, info, off";

    /// `off` without quotes is false to a YAML 1.1 reader. There is nothing else that it could mean here.
    fn read(node: &Node<'_>, path: &FieldPath, reader: &mut Reader<'_, '_>) -> Option<Self> {
        match node.value {
            Value::Bool(false) => Some(Self(SeverityOrOff::Off)),
            Value::String(_) => SeverityOrOff::read(node, path, reader).map(Self),
            _ => {
                kubefoundry_kubernetes::wire::wrong_type(node, path, Self::EXPECTED, reader);
                None
            }
        }
    }
}

impl Located for CodeSeverity {
    type Path = ValuePath;
}

impl Describe for CodeSeverity {
    const SHAPE: Shape = Shape::OneOf(&[SeverityOrOff::SHAPE, Shape::Literal("false")]);
}
