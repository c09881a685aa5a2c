//! What a transformation decided about one object, beside the objects that it became.

use std::sync::Arc;

use serde::Serialize;

/// What was decided about an object. What a transformation does not decide is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DecisionFacts {
    /// Which provider, and why.
    pub selection: Option<Selection>,
    /// The CRD version that is written.
    pub crd_version: Option<String>,
    /// The schema of the main object among those that are installed, by its content.
    pub schema_fingerprint: Option<String>,
    /// The runtime version that flags and images are for.
    pub runtime: Option<String>,
    /// The GPUs that the object asks for.
    pub gpus: Vec<GpuCount>,
    /// Every value of the validated object, with [`Thoroughness::Everything`](crate::Thoroughness::Everything) only.
    pub fields: Vec<ResolvedField>,
}

/// The choice of a provider, and how it came about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Selection {
    /// The provider that was chosen; absent when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Why, for people; the text of the `selected-reason` annotation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether the user named it.
    pub explicit: bool,
    /// What was found about every candidate, by name; with [`Thoroughness::Everything`](crate::Thoroughness::Everything)
    /// only.
    pub candidates: Vec<CandidateAssessment>,
}

/// A choice that was made before, to be kept while nobody names another provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriorChoice {
    /// The provider.
    pub provider: String,
    /// Why it was chosen, for people.
    pub reason: String,
}

impl Selection {
    /// No choice yet, among these candidates; `explicit` if the user names the provider.
    pub fn undecided(explicit: bool, candidates: Vec<CandidateAssessment>) -> Self {
        Self { provider: None, reason: None, explicit, candidates }
    }

    /// The choice that was made before.
    pub fn from_prior_choice(chosen: &PriorChoice) -> Self {
        let PriorChoice { provider, reason } = chosen;
        let (provider, reason) = (Some(provider.clone()), Some(reason.clone()));
        Self { provider, reason, explicit: false, candidates: Vec::new() }
    }
}

/// What was found about one candidate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CandidateAssessment {
    /// The candidate.
    pub provider: String,
    /// Why it cannot run the deployment; absent when it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_gate: Option<String>,
    /// Its rules with their values.
    pub rules: Vec<RuleValue>,
    /// The highest priority among its true rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<i32>,
}

/// A rule and what it came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleValue {
    /// The condition: the rule's own text, and no copy of it for each deployment.
    pub condition: Arc<str>,
    /// Its priority.
    pub priority: i32,
    /// True or false; absent when its evaluation failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<bool>,
}

/// GPUs of one type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuCount {
    /// Their resource name.
    pub resource: Arc<str>,
    /// How many, over all replicas.
    pub count: u64,
}

/// One value of a validated object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ResolvedField {
    /// The field.
    pub path: String,
    /// Its value as JSON text.
    pub value: String,
    /// Written, defaulted or derived.
    pub origin: FieldOrigin,
}

/// Where a value came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FieldOrigin {
    /// The user wrote it.
    Written,
    /// It is the default.
    Defaulted,
    /// It follows from other fields.
    Derived,
}
