//! The decision about one object, which explanations and status show.

use std::sync::Arc;

use serde::Serialize;

use crate::endpoint::Endpoint;
use kubefoundry_diagnostics::ObjectRef;
use kubefoundry_diagnostics::source::SourceId;
use kubefoundry_facts::fit::WorkerFit;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::secret::secret_at;
use kubefoundry_yaml::{Node, Span};

/// The decision about one object of the input, and the objects that it became.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Decision {
    /// The object, usually a ModelDeployment.
    pub object: ObjectRef,
    /// The name of its environment, if the input is divided into several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<Arc<str>>,
    /// The text that contains it.
    #[serde(skip)]
    pub source: SourceId,
    /// The index of the document in that text.
    #[serde(skip)]
    pub document: usize,
    /// The selected provider of a ModelDeployment, with the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
    /// The CRD version of the main object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crd_version: Option<String>,
    /// With `--crds`: the fingerprint of the schema against which the main object was checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema_fingerprint: Option<String>,
    /// The runtime version for which flags are checked and images are chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    /// The Service that answers requests once the model runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
    /// The objects that the object became.
    pub objects: Vec<ObjectRef>,
    /// The requested GPUs.
    #[serde(skip)]
    pub gpus: Vec<GpuCount>,
    /// What the memory of its workers depends on; only with
    /// [`Thoroughness::Everything`](crate::Thoroughness::Everything).
    #[serde(skip)]
    pub workers: Vec<WorkerFit>,
    // Only with `Thoroughness::Everything`, like the facts.
    /// Every field of the deployment, defaults included.
    pub fields: Vec<ResolvedField>,
    /// What was derived for an AsyncActor: its mode, its queue, the workload that it binds to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<DerivedFact>,
}

impl Decision {
    /// Returns the selected provider of a ModelDeployment, if there is one.
    pub fn provider(&self) -> Option<&str> {
        self.selection.as_ref()?.provider.as_deref()
    }

    /// Returns the reason for which the provider was selected.
    pub fn reason(&self) -> Option<&str> {
        self.selection.as_ref()?.reason.as_deref()
    }
}

/// Something that was derived and that no field of the object holds, such as the queue of an actor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DerivedFact {
    /// What it is, such as `queue`.
    pub name: &'static str,
    /// Its value, in words.
    pub value: String,
}

/// The selected provider, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Selection {
    /// The selected provider; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The reason, as in the `selected-reason` annotation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether the object names the provider.
    pub explicit: bool,
    // Only with `Thoroughness::Everything`.
    /// The assessment of every candidate, by name.
    pub candidates: Vec<CandidateAssessment>,
}

/// A provider selected earlier, which is kept unless the object names another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriorChoice {
    /// The provider.
    pub provider: String,
    /// The reason for the earlier selection, for display.
    pub reason: String,
}

impl Selection {
    /// Creates a selection without a provider yet. `explicit` means that the object names the provider.
    pub fn undecided(explicit: bool, candidates: Vec<CandidateAssessment>) -> Self {
        Self { provider: None, reason: None, explicit, candidates }
    }

    /// Creates a selection that keeps an earlier choice.
    pub fn from_prior_choice(chosen: &PriorChoice) -> Self {
        let PriorChoice { provider, reason } = chosen;
        let (provider, reason) = (Some(provider.clone()), Some(reason.clone()));
        Self { provider, reason, explicit: false, candidates: Vec::new() }
    }
}

/// The assessment of one candidate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CandidateAssessment {
    /// The name of the candidate.
    pub provider: String,
    /// The reason why the candidate cannot run the deployment; absent if it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_gate: Option<String>,
    /// The selection rules of the candidate, with their values.
    pub rules: Vec<RuleValue>,
    /// The highest priority among the true rules; absent if none is true.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub score: Option<i32>,
}

/// A selection rule and its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RuleValue {
    // Shared with the rule so that it is not copied for each deployment.
    /// The CEL expression.
    pub condition: Arc<str>,
    /// Its priority.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub priority: i32,
    /// The value of the expression; absent if its evaluation failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<bool>,
}

/// The name that requests give for a model, and where it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedName {
    /// The name.
    pub name: String,
    /// The field that sets it.
    pub path: FieldPath,
    /// The position of its value in the text.
    pub span: Span,
}

/// GPUs of one type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuCount {
    /// The resource name, such as `nvidia.com/gpu`.
    pub resource: Arc<str>,
    /// The number of GPUs over all replicas.
    pub count: u64,
    /// The nominal bytes of memory of these GPUs, if it is known which they are.
    pub memory: Option<u64>,
}

/// A field of a validated object, with its effective value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResolvedField {
    /// The path of the field.
    pub path: String,
    /// The value as JSON text.
    pub value: String,
    /// Where the value comes from.
    pub origin: FieldOrigin,
}

impl ResolvedField {
    /// Describes a field of an object that was read from a text. A secret is masked, because its name may be that of another
    /// field.
    pub fn new(path: &FieldPath, mut value: String, origin: FieldOrigin, root: &Node<'_>, text: &str) -> Self {
        if secret_at(root, text, path).is_some() {
            "\"****\"".clone_into(&mut value);
        }
        value.shrink_to_fit();
        Self { path: path.to_string(), value, origin }
    }
}

/// The origin of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum FieldOrigin {
    /// The value is in the input.
    Written,
    /// The value is a default.
    Defaulted,
    /// The value is derived from other fields.
    Derived,
}
