//! The status of everything in a dump: provider objects and ModelDeployments, joined, in one table.
//!
//! ```text
//! dumps ─ live ─┬─ ModelDeployments ─┐
//!               └─ provider objects ─┴─ join ─ Provider::translate_status ─ staleness ─ StatusReport
//! ```

mod deployment_status;
mod join;
mod staleness;

use serde::Serialize;
use serde_json::{Map, Value};

pub use staleness::{DEFAULT_STALE_AFTER_SECONDS, LastWrite, Observation, observe};

use crate::cluster_snapshot::time::Time;
use crate::cluster_snapshot::{ClusterSnapshot, LiveObject};
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, ObjectRef};
use kubefoundry_model::provider::{Provider, Status, StatusError};
use kubefoundry_model::providers::PROVIDERS;
use kubefoundry_model::status::{StatusPart, UnrecognizedValue};

/// Against what statuses are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StalenessPolicy {
    /// What time it is; without it no status is called stale.
    pub now: Option<Time>,
    /// After how many seconds without news a status that should change is stale.
    pub stale_after: u64,
}

impl Default for StalenessPolicy {
    /// No time, and the specification's five minutes (MD-7.5).
    fn default() -> Self {
        Self { now: None, stale_after: DEFAULT_STALE_AFTER_SECONDS }
    }
}

/// What is known of everything in a dump.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StatusReport {
    /// One for each provider object that runs a model, and for each ModelDeployment without one; by namespace and name.
    pub statuses: Vec<StatusEntry>,
    /// What is wrong with the dump.
    pub diagnostics: Vec<Diagnostic>,
}

/// A ModelDeployment, the provider object that runs it, and how that is; or one of them, when the other is not there.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct StatusEntry {
    /// The ModelDeployment; also one that the dump does not have, when the object names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployment: Option<ObjectRef>,
    /// Whether the dump has the ModelDeployment.
    pub deployment_in_dump: bool,
    /// The provider object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<ObjectRef>,
    /// Its provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// How the two were found to belong together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joined_by: Option<JoinKey>,
    /// How it is.
    #[serde(flatten)]
    pub status: Status,
    /// What the ModelDeployment's own status says, which is as old as its controller's last look.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reported: Option<ReportedStatus>,
    /// When the status was written, and whether that is too long ago.
    #[serde(flatten)]
    pub observation: Observation,
    /// What else is worth knowing.
    pub notes: Vec<String>,
}

/// How a provider object and a ModelDeployment were found to belong together; the surest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum JoinKey {
    /// By the ownership annotation.
    Annotation,
    /// By the owner reference.
    OwnerReference,
    /// By the name alone.
    Name,
}

/// What a ModelDeployment's own status says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReportedStatus {
    /// The phase, in its word.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub phase: String,
    /// The message.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

impl StatusReport {
    /// Reads every text given as [`Purpose::ClusterSnapshot`] and joins what is in them.
    ///
    /// ```
    /// use kubefoundry_diagnostics::source::{Purpose, SourceSet};
    /// use kubefoundry_compiler::status::{StalenessPolicy, StatusReport};
    /// let mut sources = SourceSet::default();
    /// sources.add_for(Purpose::ClusterSnapshot, "dump.yaml", "
    /// apiVersion: kaito.sh/v1beta1
    /// kind: Workspace
    /// metadata: {name: phi, namespace: ml, annotations: {kubefoundry.ai/model-deployment: ml/phi}}
    /// status: {state: Ready}
    /// ");
    /// let report = StatusReport::read(&sources, StalenessPolicy::default());
    /// let entry = &report.statuses[0];
    /// assert_eq!(entry.deployment.as_ref().unwrap().to_string(), "ModelDeployment ml/phi");
    /// assert_eq!(entry.status.phase.unwrap().as_str(), "Running");
    /// ```
    pub fn read(sources: &SourceSet, judgement: StalenessPolicy) -> Self {
        let ClusterSnapshot { objects, diagnostics } = ClusterSnapshot::read(sources, Purpose::ClusterSnapshot);
        let has_deployments = objects.iter().any(LiveObject::is_deployment);
        let mut statuses: Vec<StatusEntry> = join::join(&objects)
            .into_iter()
            .map(|joined| {
                let mut entry = entry(&joined, judgement);
                // Without any, nobody asked for them.
                if has_deployments && joined.named.is_some() {
                    entry.notes.push("the dump does not have this ModelDeployment".to_owned());
                }
                entry
            })
            .collect();
        statuses.sort_by_cached_key(|entry| {
            let resource = entry.resource.clone();
            let named = entry.deployment.as_ref().or(resource.as_ref());
            (named.map(|named| (named.namespace.clone(), named.name.clone())), entry.deployment.clone(), resource)
        });
        Self { statuses, diagnostics }
    }
}

/// The provider that an object belongs to, when its kind is one that runs a model.
fn provider_of(object: &LiveObject) -> Option<&'static dyn Provider> {
    PROVIDERS.iter().copied().find(|provider| {
        kubefoundry_model::conformance::crd_kinds(*provider).contains(&(object.group(), &*object.object.kind))
    })
}

fn entry(joined: &join::JoinedObjects<'_>, judgement: StalenessPolicy) -> StatusEntry {
    let mut notes = Vec::new();
    if joined.by == Some(JoinKey::Name) {
        notes.push("joined by name alone: the object says nothing of a ModelDeployment".to_owned());
    }
    notes.extend(joined.inconsistencies.iter().cloned());
    let reported = joined.deployment.and_then(|deployment| deployment_status::reported(&deployment.value));
    let (status, object) = match (joined.resource, joined.deployment) {
        (Some((provider, resource)), _) => {
            let mut status =
                provider.translate_status(&resource.value).unwrap_or_else(|error| not_read(&error, resource));
            status.parts.extend(joined.children.iter().map(|(provider, child)| part(*provider, child)));
            (status, Some(resource))
        }
        (None, Some(deployment)) => (deployment_status::status(&deployment.value), Some(deployment)),
        // There is no entry of nothing.
        (None, None) => (deployment_status::status(&Value::Null), None),
    };
    if let (Some(said), Some(_), Some(phase)) = (&reported, joined.resource, status.phase)
        && !said.phase.is_empty()
        && said.phase != phase.as_str()
    {
        notes.push(format!("the ModelDeployment's own status still says {}", said.phase));
    }
    if let (None, Some(reported)) = (joined.resource, &reported)
        && !reported.phase.is_empty()
    {
        notes.push("no object in the dump runs it: this is what the ModelDeployment says of itself".to_owned());
    }
    let observation = object.map(|object| staleness::observe(&object.value, &status, judgement)).unwrap_or_default();
    let named = joined.deployment.and_then(|deployment| deployment_status::provider(&deployment.value));
    StatusEntry {
        deployment: joined.deployment.map(|deployment| deployment.object.clone()).or_else(|| joined.named.clone()),
        deployment_in_dump: joined.deployment.is_some(),
        resource: joined.resource.map(|(_, resource)| resource.object.clone()),
        provider: joined.resource.map(|(provider, _)| provider.name().to_owned()).or(named),
        joined_by: joined.by,
        status,
        reported,
        observation,
        notes,
    }
}

/// A version of a provider's object that is not read.
fn not_read(error: &StatusError, resource: &LiveObject) -> Status {
    let value = Value::from(&*resource.object.api_version);
    let unrecognized = vec![UnrecognizedValue { path: "apiVersion".to_owned(), value }];
    Status { message: error.to_string(), unrecognized, ..nothing() }
}

fn nothing() -> Status {
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

/// An object that another provider object made: one replica of it.
fn part(provider: &dyn Provider, child: &LiveObject) -> StatusPart {
    let status = provider.translate_status(&child.value).unwrap_or_else(|error| not_read(&error, child));
    StatusPart {
        role: child.object.kind.to_string(),
        name: child.object.name.to_string(),
        state: status.phase.map(|phase| phase.as_str().to_owned()),
        message: status.message,
        replicas: status.replicas,
    }
}

/// The report as JSON; its form is `schemas/status.json`. `diagnostics` are the findings as every report has them.
///
/// ```
/// use kubefoundry_diagnostics::source::SourceSet;
/// use kubefoundry_compiler::status::{StalenessPolicy, StatusReport, to_json};
/// let report = StatusReport::read(&SourceSet::default(), StalenessPolicy::default());
/// assert_eq!(to_json(&report, StalenessPolicy::default(), vec![]), serde_json::json!({
///     "version": 1, "statuses": [], "diagnostics": [],
/// }));
/// ```
pub fn to_json(report: &StatusReport, judgement: StalenessPolicy, diagnostics: Vec<Value>) -> Value {
    let mut json = Map::new();
    json.insert("version".to_owned(), Value::from(1));
    if let Some(now) = judgement.now {
        json.insert("now".to_owned(), Value::from(now.to_string()));
        json.insert("staleAfterSeconds".to_owned(), Value::from(judgement.stale_after));
    }
    json.insert("statuses".to_owned(), serde_json::to_value(&report.statuses).unwrap_or_default());
    json.insert("diagnostics".to_owned(), Value::Array(diagnostics));
    Value::Object(json)
}
