//! What every kind of claimed objects reports in the same way.

use kubefoundry_analysis::status::{StalenessPolicy, StatusEntry, StatusReport};
use kubefoundry_compiler::cluster_snapshot::time::Time;
use kubefoundry_composition::BUILTIN;
use kubefoundry_controller_runtime::observed::{ConditionView, StatusView};
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_kubernetes::wire::ConditionStatus;
use serde_json::{Value, json};

use super::binding::{Conflicts, TargetReference};
use super::{Outcome, text};
use crate::conditions::{APPLIED, BOUND};
use crate::status::Condition;

/// The part of an outcome that the status of a kind depends on.
#[derive(Clone, Copy)]
pub(crate) struct Report<'o> {
    pub(super) applied: &'o Condition,
    pub(super) target: Option<&'o TargetReference>,
    pub(super) conflicts: &'o Conflicts,
}

impl<'o> Report<'o> {
    pub(super) fn new(outcome: &'o Outcome) -> Self {
        let Outcome { applied, target, conflicts, .. } = outcome;
        Self { applied, target: target.as_ref(), conflicts }
    }
}

/// Returns the message of a failure that the status does not show yet, for an event. Conflicts have events of their own.
pub(super) fn new_failure(before: StatusView<'_>, outcome: &Outcome) -> Option<String> {
    let is_failure = |condition: &&Condition| {
        let waits = ["Waiting", "Binding", "Reverted", "Stopped", "TargetMissing"];
        condition.status == ConditionStatus::False && !waits.contains(&condition.reason.as_str())
    };
    let failed = [Some(&outcome.applied), outcome.bound.as_ref()].into_iter().flatten().find(is_failure)?;
    let known = [APPLIED, BOUND].into_iter().filter_map(|name| before.condition(name));
    let mut messages = known.map(ConditionView::message);
    (!messages.any(|known| known == failed.message)).then(|| failed.message.clone())
}

/// Judges a claimed object by the objects that run it, as `kubefoundry status` does. The object itself is judged without its
/// own status, which is what is to be written.
pub(super) fn judge(object: &Value, live: &[Value], now: Time) -> Option<StatusEntry> {
    let mut judged = object.clone();
    if let Some(fields) = judged.as_object_mut() {
        fields.remove("status");
    }
    let items: Vec<&Value> = std::iter::once(&judged).chain(live).collect();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    let mut sources = SourceSet::default();
    sources.add_for(Purpose::ClusterSnapshot, "cluster.json", list.to_string());
    let policy = StalenessPolicy { now: Some(now), ..StalenessPolicy::default() };
    let entries = StatusReport::read(&BUILTIN, &sources, policy).statuses;
    let (kind, name) = (text(object, "/kind"), text(object, "/metadata/name"));
    entries.into_iter().find(|entry| {
        let resource = entry.resource.as_ref();
        entry.state.is_some() && resource.is_some_and(|it| &*it.kind == kind && &*it.name == name)
    })
}

/// Returns a live object by group, kind and name.
pub(super) fn find<'l>(live: &'l [Value], api_version: &str, kind: &str, name: &str) -> Option<&'l Value> {
    let group = |api_version: &str| api_version.rsplit_once('/').map_or("", |(group, _)| group).to_owned();
    live.iter().find(|object| {
        group(text(object, "/apiVersion")) == group(api_version)
            && text(object, "/kind") == kind
            && text(object, "/metadata/name") == name
    })
}
