//! Joins the ModelDeployments and provider objects of a cluster snapshot into one table of statuses.
//!
//! ```text
//! dumps ─ snapshot ─┬─ ModelDeployments ─┐
//!                   ├─ provider objects ─┴─ join ─ Provider::translate_status ─ staleness ─┬─ StatusReport
//!                   ├─ LlamaStackDistributions and their pods ─ llamastack ─ staleness ────┤
//!                   └─ AsyncActors, their workloads and pods ─ actors ─ staleness ─────────┘
//! ```

#[cfg(feature = "actor")]
mod actors;
#[cfg(any(feature = "actor", feature = "llamastack"))]
mod claimed;
mod deployment_status;
mod join;
#[cfg(feature = "llamastack")]
mod llamastack;
mod staleness;

use serde::Serialize;
use serde_json::Value;

#[cfg(feature = "llamastack")]
pub use llamastack::DISTRIBUTION_STATES;
pub use staleness::{DEFAULT_STALE_AFTER_SECONDS, LastWrite, Observation, observe};

use kubefoundry_compiler::cluster_snapshot::time::Time;
use kubefoundry_compiler::cluster_snapshot::{ClusterSnapshot, LiveObject};
use kubefoundry_diagnostics::render::{JsonFindings, ReportVersion};
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, ObjectRef};
use kubefoundry_model::composition::Composition;
use kubefoundry_provider::status::{StatusPart, UnrecognizedValue};
use kubefoundry_provider::{Provider, Status, StatusError};

/// The time and the limit by which a status counts as stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StalenessPolicy {
    /// The current time. Without it, no status counts as stale.
    pub now: Option<Time>,
    /// Seconds without a write after which a status that should change counts as stale.
    pub stale_after: u64,
}

impl Default for StalenessPolicy {
    /// Sets no time, and the five minutes of the specification (MD-7.5).
    fn default() -> Self {
        Self { now: None, stale_after: DEFAULT_STALE_AFTER_SECONDS }
    }
}

/// The statuses of everything in a cluster snapshot.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StatusReport {
    /// One entry for each provider object that runs a model, for each ModelDeployment without one, for each
    /// LlamaStackDistribution and for each AsyncActor, sorted by namespace and name.
    pub statuses: Vec<StatusEntry>,
    /// Findings in the dump.
    pub diagnostics: Vec<Diagnostic>,
}

/// A ModelDeployment and the provider object that runs it, or one of them if the other is missing; a
/// LlamaStackDistribution; or an AsyncActor.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct StatusEntry {
    /// The ModelDeployment, which may be known only from the provider object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployment: Option<ObjectRef>,
    /// Whether the cluster snapshot contains the ModelDeployment.
    pub deployment_in_dump: bool,
    /// The provider object, the LlamaStackDistribution or the AsyncActor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<ObjectRef>,
    /// The provider of the object, or the one that the ModelDeployment names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// How the provider object was matched to the ModelDeployment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joined_by: Option<JoinKey>,
    /// The state of a LlamaStackDistribution or an AsyncActor in its own words.
    #[cfg_attr(feature = "schema", schemars(schema_with = "state_words"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The status of the provider object, or that of the ModelDeployment if there is no such object.
    #[serde(flatten)]
    pub status: Status,
    /// The status that the ModelDeployment itself has, which is as old as its controller's last reconciliation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reported: Option<ReportedStatus>,
    /// When the status was written, and whether it is stale.
    #[serde(flatten)]
    pub observation: Observation,
    /// Remarks, one sentence each.
    pub notes: Vec<String>,
}

/// The kinds of connections between a provider object and a ModelDeployment, the most reliable first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum JoinKey {
    /// The ownership annotation.
    Annotation,
    /// The owner reference.
    OwnerReference,
    /// Only the equal name.
    Name,
}

/// The status in a ModelDeployment itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReportedStatus {
    /// The phase as it is written; it may be unknown, and is absent if there is none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub phase: String,
    /// The message; absent if there is none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

impl StatusReport {
    /// Reads every text given as [`Purpose::ClusterSnapshot`] and joins the objects.
    ///
    /// ```
    /// use kubefoundry_composition::BUILTIN;
    /// use kubefoundry_diagnostics::source::{Purpose, SourceSet};
    /// use kubefoundry_analysis::status::{StalenessPolicy, StatusReport};
    /// let mut sources = SourceSet::default();
    /// sources.add_for(Purpose::ClusterSnapshot, "dump.yaml", "
    /// apiVersion: kaito.sh/v1beta1
    /// kind: Workspace
    /// metadata: {name: phi, namespace: ml, annotations: {kubefoundry.ai/model-deployment: ml/phi}}
    /// status: {state: Ready}
    /// ");
    /// let report = StatusReport::read(&BUILTIN, &sources, StalenessPolicy::default());
    /// let entry = &report.statuses[0];
    /// assert_eq!(entry.deployment.as_ref().unwrap().to_string(), "ModelDeployment ml/phi");
    /// assert_eq!(entry.status.phase.unwrap().as_str(), "Running");
    /// ```
    pub fn read(composition: &'static Composition, sources: &SourceSet, policy: StalenessPolicy) -> Self {
        let ClusterSnapshot { objects, diagnostics } =
            ClusterSnapshot::read(composition, sources, Purpose::ClusterSnapshot);
        let has_deployments = objects.iter().any(LiveObject::is_deployment);
        let mut statuses: Vec<StatusEntry> = join::join(composition, &objects)
            .into_iter()
            .map(|joined| {
                let mut entry = status_entry(&joined, policy);
                // A dump without any ModelDeployment was not meant to contain them.
                if has_deployments && joined.named.is_some() {
                    entry.notes.push("the snapshot does not have this ModelDeployment".to_owned());
                }
                entry
            })
            .collect();
        #[cfg(feature = "llamastack")]
        statuses.extend(llamastack::entries(&objects, policy));
        #[cfg(feature = "actor")]
        statuses.extend(actors::entries(&objects, policy));
        statuses.sort_by_cached_key(|entry| {
            let resource = entry.resource.clone();
            let object = entry.deployment.as_ref().or(resource.as_ref());
            (object.map(|object| (object.namespace.clone(), object.name.clone())), entry.deployment.clone(), resource)
        });
        Self { statuses, diagnostics }
    }
}

/// Returns the provider whose main object an object is, if it is one.
fn provider_of(composition: &Composition, object: &LiveObject) -> Option<&'static dyn Provider> {
    composition.providers().iter().copied().find(|provider| provider.owns(&object.value))
}

/// Translates the status of a joined pair, and notes what is doubtful about it.
fn status_entry(joined: &join::JoinedObjects<'_>, policy: StalenessPolicy) -> StatusEntry {
    let mut notes = Vec::new();
    if joined.joined_by == Some(JoinKey::Name) {
        notes.push("joined by name alone: the object names no ModelDeployment".to_owned());
    }
    notes.extend(joined.inconsistencies.iter().cloned());
    let reported = joined.deployment.and_then(|deployment| deployment_status::reported_status(&deployment.value));
    let (status, object) = match (joined.resource, joined.deployment) {
        (Some((provider, resource)), _) => {
            let mut status = provider
                .translate_status(&resource.value)
                .unwrap_or_else(|error| untranslated_status(&error, resource));
            status.parts.extend(joined.children.iter().map(|(provider, child)| replica_part(*provider, child)));
            (status, Some(resource))
        }
        (None, Some(deployment)) => (deployment_status::status_without_resource(&deployment.value), Some(deployment)),
        // `join` returns at least one of the two.
        (None, None) => (deployment_status::status_without_resource(&Value::Null), None),
    };
    if let (Some(reported), Some(_), Some(phase)) = (&reported, joined.resource, status.phase)
        && !reported.phase.is_empty()
        && reported.phase != phase.as_str()
    {
        notes.push(format!("the ModelDeployment's own status still says {}", reported.phase));
    }
    if let (None, Some(reported)) = (joined.resource, &reported)
        && !reported.phase.is_empty()
    {
        notes.push(
            "no object in the snapshot runs it: this is the status that the ModelDeployment itself reports".to_owned(),
        );
    }
    let observation = object.map(|object| staleness::observe(&object.value, &status, policy)).unwrap_or_default();
    let named_provider = joined.deployment.and_then(|deployment| deployment_status::provider_name(&deployment.value));
    StatusEntry {
        deployment: joined.deployment.map(|deployment| deployment.object.clone()).or_else(|| joined.named.clone()),
        deployment_in_dump: joined.deployment.is_some(),
        resource: joined.resource.map(|(_, resource)| resource.object.clone()),
        provider: joined.resource.map(|(provider, _)| provider.name().to_owned()).or(named_provider),
        joined_by: joined.joined_by,
        state: None,
        status,
        reported,
        observation,
        notes,
    }
}

/// Returns the status of a provider object in a version that cannot be translated.
fn untranslated_status(error: &StatusError, resource: &LiveObject) -> Status {
    let value = Value::from(&*resource.object.api_version);
    let unrecognized = vec![UnrecognizedValue { path: "apiVersion".to_owned(), value }];
    Status { message: error.to_string(), unrecognized, ..empty_status() }
}

fn empty_status() -> Status {
    Status {
        phase: None,
        message: String::new(),
        replicas: None,
        endpoint: None,
        conditions: Vec::new(),
        provider_conditions: Vec::new(),
        parts: Vec::new(),
        generation: None,
        observed_generation: None,
        unrecognized: Vec::new(),
    }
}

/// Returns the status of an object that another provider object created, as a replica of that one.
fn replica_part(provider: &dyn Provider, child: &LiveObject) -> StatusPart {
    let status = provider.translate_status(&child.value).unwrap_or_else(|error| untranslated_status(&error, child));
    StatusPart {
        role: child.object.kind.to_string(),
        name: child.object.name.to_string(),
        state: status.phase.map(|phase| phase.as_str().to_owned()),
        message: status.message,
        replicas: status.replicas,
    }
}

/// What `kubefoundry status --output json` prints.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct JsonReport<'r> {
    version: ReportVersion,
    /// With `--now`: the time against which staleness was judged (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    now: Option<String>,
    /// With `--now`: the age in seconds from which a status is stale.
    #[serde(skip_serializing_if = "Option::is_none")]
    stale_after_seconds: Option<u64>,
    /// One entry for each object, by namespace and name.
    statuses: &'r [StatusEntry],
    /// Problems of the cluster snapshot.
    diagnostics: JsonFindings,
}

/// Describes the states of actors and distributions, each once.
#[cfg(feature = "schema")]
fn state_words(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    use kubefoundry_kubernetes::wire::StringEnum as _;

    let actors = kubefoundry_actor::status::ActorState::VARIANTS.iter().map(|(word, _)| *word);
    let mut words: Vec<&str> = Vec::new();
    for word in actors.chain(DISTRIBUTION_STATES.iter().map(|(word, _)| *word)) {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    schemars::json_schema!({"type": "string", "enum": words})
}

/// Returns what is written as JSON, in the form of `schemas/status.json`. `diagnostics` are the findings in their JSON
/// form.
///
/// ```
/// use kubefoundry_composition::BUILTIN;
/// use kubefoundry_diagnostics::source::SourceSet;
/// use kubefoundry_analysis::status::{StalenessPolicy, StatusReport, to_json};
/// let report = StatusReport::read(&BUILTIN, &SourceSet::default(), StalenessPolicy::default());
/// # use kubefoundry_diagnostics::render::JsonFindings;
/// let json = serde_json::to_value(to_json(&report, StalenessPolicy::default(), JsonFindings::default())).unwrap();
/// assert_eq!(json, serde_json::json!({
///     "version": 1, "statuses": [], "diagnostics": [],
/// }));
/// ```
pub fn to_json(report: &StatusReport, policy: StalenessPolicy, diagnostics: JsonFindings) -> JsonReport<'_> {
    JsonReport {
        version: ReportVersion,
        now: policy.now.map(|now| now.to_string()),
        stale_after_seconds: policy.now.map(|_| policy.stale_after),
        statuses: &report.statuses,
        diagnostics,
    }
}
