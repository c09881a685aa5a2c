//! `Render` of `config.kubefoundry.ai/v1alpha1`: the options, one kind for all front ends.

use super::describe::{Describe, Shape};
use super::inference_provider_config::InferenceProviderConfig;
use super::kubernetes::ObjectMeta;
use super::macros::{wire_object, words};
use super::reader::{Map, Read, Reader};
use crate::actor::options::ActorOptions;
use crate::llamastack::options::LlamaStackSettings;
use crate::path::FieldPath;
use crate::yaml::{Node, Value};

/// `apiVersion` of [`Render`].
pub const API_VERSION: &str = "config.kubefoundry.ai/v1alpha1";

wire_object! {
    /// Options of kubefoundry: what its output targets and how strict it is. Read from `kubefoundry.yaml` in the one
    /// directory given as PATH, and from `--config`.
    pub struct Render {
        /// `config.kubefoundry.ai/v1alpha1`.
        api_version: String = "apiVersion" [required()],
        /// `Render`.
        kind: String = "kind" [required()],
        /// Required where it is a KRM function's configuration.
        metadata: ObjectMeta = "metadata",
        /// The CRD version that is written for a provider: `dynamo: nvidia.com/v1beta1`.
        targets: Map<String> = "targets",
        /// The runtime version that default images and flag checks of a provider are for: `dynamo: 1.4.0`. Pin it, or
        /// upgrading kubefoundry upgrades what runs.
        runtimes: Map<String> = "runtimes",
        /// Prefixes of default images and what takes their place: `nvcr.io: registry.example.com/nvcr`. A prefix matches
        /// whole path components; the longest wins.
        images: Map<String> = "images",
        /// InferenceProviderConfigs, in addition to the built-in ones and those in the input.
        providers: Vec<Node<'static>> = "providers" [shape(Vec::<InferenceProviderConfig>::SHAPE)],
        /// What is known of the cluster's KAITO.
        kaito: KaitoSettings = "kaito",
        /// How LlamaStackDistributions are rendered.
        llama_stack: LlamaStackSettings = "llamaStack",
        /// What AsyncActors are rendered with.
        actor: ActorOptions = "actor",
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
        rules: Map<RuleLevel> = "rules",
    }
}
wire_object! {
    /// What is true of the cluster's KAITO.
    pub struct KaitoSettings {
        /// Whether it provisions nodes: with `true` an instance type is required, with `false` it is refused.
        node_auto_provisioning: bool = "nodeAutoProvisioning",
    }
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
words! {
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
words! {
    /// The severity that a code is given.
    pub enum RuleSeverity {
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
pub struct RuleLevel(pub RuleSeverity);

impl Read for RuleLevel {
    const EXPECTED: &'static str = "one of error, warning, info, off";

    /// `off` without quotes is false to a YAML 1.1 reader. There is nothing else that it could mean here.
    fn read(node: &Node<'_>, path: &FieldPath, reader: &mut Reader<'_, '_>) -> Option<Self> {
        match node.value {
            Value::Bool(false) => Some(Self(RuleSeverity::Off)),
            Value::String(_) => RuleSeverity::read(node, path, reader).map(Self),
            _ => {
                super::reader::wrong_type(node, path, Self::EXPECTED, reader);
                None
            }
        }
    }
}

impl Describe for RuleLevel {
    const SHAPE: Shape = Shape::OneOf(&[RuleSeverity::SHAPE, Shape::Literal("false")]);
}
