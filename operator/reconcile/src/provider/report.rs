//! The status of a deployment after a reconciliation.

use std::time::Duration;

use kubefoundry_analysis::status::{StalenessPolicy, observe};
use kubefoundry_compiler::cluster_snapshot::time::Time;
use kubefoundry_controller_runtime::observed::{ConditionView, ObjectView, StatusView};
use kubefoundry_deployment::wire::Phase;
use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_kubernetes::wire::ConditionStatus;
use kubefoundry_provider::status::Replicas;
use kubefoundry_provider::{Provider, Status};
use serde_json::{Value, json};

use super::converge::ReconcileOutcome;
use super::{history, objects};
use crate::names::condition;
use crate::observation::UpstreamObject;
use crate::status::{Condition, StatusUpdate};

/// The facts from which the status is built.
pub(super) struct StatusReport<'r> {
    provider: &'static dyn Provider,
    outcome: &'r ReconcileOutcome,
    /// Kind and name of the existing or desired main object.
    main: Option<(String, String)>,
    /// The status of the main object, if it exists.
    status: Option<Status>,
    /// The label selector of the pods that count as its replicas.
    selector: Option<String>,
    /// Whether that status is too old; absent if unknown.
    stale: Option<bool>,
    stale_after: Duration,
    /// The time until that status is too old; none when no change is expected.
    pub(super) stale_in: Option<Duration>,
    /// The condition `PendingRecreate`.
    pub(super) recreation: Option<Condition>,
}

impl<'r> StatusReport<'r> {
    /// Reads the status of the live main object. After an apply, that is the object which the apiserver returned,
    /// because the cache is older.
    pub(super) fn new(
        provider: &'static dyn Provider,
        outcome: &'r ReconcileOutcome,
        desired: Option<&Value>,
        live: Option<&UpstreamObject>,
        now: Time,
        stale_after: Duration,
    ) -> Self {
        let mut report = Self {
            provider,
            outcome,
            main: None,
            status: None,
            selector: None,
            stale: None,
            stale_after,
            stale_in: None,
            recreation: None,
        };
        if let ReconcileOutcome::Settled
        | ReconcileOutcome::Held
        | ReconcileOutcome::PendingRecreate { .. }
        | ReconcileOutcome::Applied(_)
        | ReconcileOutcome::Deferred(_)
        | ReconcileOutcome::Recreating(_) = outcome
        {
            report.main = desired.map(|main| (ObjectView(main).kind().to_owned(), objects::name(main).to_owned()));
        }
        let live = if let ReconcileOutcome::Applied(live) = outcome { Some(&**live) } else { live };
        let Some(live) = live else { return report };
        report.main = Some((live.resource.kind.clone(), live.object.name().to_owned()));
        let object = live.object.value();
        report.selector = provider.replica_selector(&object);
        let Ok(status) = provider.translate_status(&object) else { return report };
        let policy = StalenessPolicy { now: Some(now), stale_after: stale_after.as_secs() };
        let observation = observe(&object, &status, policy);
        report.stale = observation.stale;
        if observation.stale == Some(false) && (status.is_outdated() || !is_settled(&status)) {
            let since = if status.is_outdated() {
                history::last_spec_write(&object)
            } else {
                observation.last_write.map(|it| it.time)
            };
            let age = since.map_or(0, |since| now.seconds_since(since));
            // Ages are whole seconds. With one more the status is certainly stale.
            let seconds = stale_after.as_secs().saturating_sub(age).saturating_add(1);
            report.stale_in = Some(Duration::from_secs(seconds));
        }
        report.status = Some(status);
        report
    }

    pub(super) fn replicas(&self) -> Option<Replicas> {
        self.status.as_ref()?.replicas
    }

    /// Returns the phase. Where the provider reports a word that this version does not know, the phase before stays.
    pub(super) fn phase<'p>(&self, before: StatusView<'p>) -> &'p str {
        let reported = || {
            let status = self.status.as_ref()?;
            let known = status.phase.map(Phase::as_str);
            Some(known.or_else(|| before.phase()).unwrap_or(Phase::Deploying.as_str()))
        };
        match self.outcome {
            ReconcileOutcome::Invalid(_) => Phase::Pending.as_str(),
            ReconcileOutcome::Recreating(_) => Phase::Deploying.as_str(),
            _ => reported().unwrap_or(Phase::Pending.as_str()),
        }
    }

    /// Whether the objects are as rendered, and the model serves.
    pub(super) fn is_running(&self) -> bool {
        let is_applied = matches!(self.outcome, ReconcileOutcome::Settled | ReconcileOutcome::Deferred(_));
        is_applied && self.status.as_ref().is_some_and(|status| status.phase == Some(Phase::Running))
    }

    /// Returns the message for users: the problem, or else what the provider reports.
    fn message(&self) -> String {
        if let Some((_, message)) = self.problem() {
            return message.to_owned();
        }
        let Some(status) = &self.status else { return String::new() };
        let unrecognized = status.unrecognized.iter().map(ToString::to_string);
        let mut messages = vec![status.message.clone()];
        messages.extend(unrecognized.filter(|word| !status.message.contains(word)));
        messages.retain(|message| !message.is_empty());
        messages.join("; ")
    }

    /// Returns the reason and message of the condition when the objects are not as rendered.
    fn problem(&self) -> Option<(&'static str, &str)> {
        Some(match self.outcome {
            ReconcileOutcome::Settled
            | ReconcileOutcome::Held
            | ReconcileOutcome::PendingRecreate { .. }
            | ReconcileOutcome::Applied(_)
            | ReconcileOutcome::Deferred(_)
            | ReconcileOutcome::CatchUp => return None,
            ReconcileOutcome::Recreating(message) => ("Recreating", message),
            ReconcileOutcome::Refused(message) => ("Refused", message),
            ReconcileOutcome::NotOwned(message) => ("NotOwned", message),
            ReconcileOutcome::DryRun(message) => ("DryRun", message),
            ReconcileOutcome::NotAllowed(message)
            | ReconcileOutcome::Incompatible(_, message)
            | ReconcileOutcome::Invalid(message) => ("NotRendered", message),
        })
    }

    /// Returns the condition `ProviderCompatible`.
    fn compatible_condition(&self) -> Condition {
        let (status, reason, message) = match self.outcome {
            ReconcileOutcome::NotAllowed(message) => (ConditionStatus::False, "NotAllowed", message.clone()),
            ReconcileOutcome::Incompatible(reason, message) => (ConditionStatus::False, *reason, message.clone()),
            ReconcileOutcome::Invalid(message) => (ConditionStatus::Unknown, "Invalid", message.clone()),
            _ => (
                ConditionStatus::True,
                "Compatible",
                format!("{} can run the deployment", self.provider.display_name()),
            ),
        };
        Condition::new(condition::PROVIDER_COMPATIBLE, status, reason, message)
    }

    /// Returns the condition `ResourceCreated`.
    fn created_condition(&self) -> Condition {
        let (status, reason, message) = match (self.problem(), &self.main) {
            (Some((reason, message)), _) => (false, reason, message.to_owned()),
            (None, Some((kind, name))) if matches!(self.outcome, ReconcileOutcome::Held) => (
                true,
                "ResourceCreated",
                format!("{kind} '{name}' stays as it is until the named provider can be chosen"),
            ),
            (None, Some((kind, name))) if matches!(self.outcome, ReconcileOutcome::PendingRecreate { .. }) => {
                (true, "ResourceCreated", format!("{kind} '{name}' runs on until it is recreated"))
            }
            (None, Some((kind, name))) => (true, "ResourceCreated", format!("{kind} '{name}' is as rendered")),
            (None, None) => (true, "ResourceCreated", String::new()),
        };
        Condition::new(condition::RESOURCE_CREATED, status, reason, message)
    }

    /// Returns the condition `Ready`: the provider's own, or a false one until the provider writes it.
    fn ready_condition(&self) -> Condition {
        let mut reported = self.status.iter().flat_map(|status| &status.conditions);
        if let Some(ready) = reported.find(|it| it.condition_type == condition::READY) {
            return Condition::new(condition::READY, ready.status, ready.reason.as_str(), ready.message.as_str());
        }
        let (reason, message) = self.problem().unwrap_or(("Pending", ""));
        Condition::new(condition::READY, false, reason, message)
    }

    /// Returns the condition `StaleStatus`: true while the provider's status is too old, and false once it was true
    /// before. A deployment that was never stale has no such condition.
    fn stale_condition(&self, before: StatusView<'_>) -> Option<Condition> {
        let provider = self.provider.display_name();
        let (kind, name) = self.main.as_ref()?;
        if self.stale == Some(true) {
            let after = kubefoundry_compiler::cluster_snapshot::time::format_age(self.stale_after.as_secs());
            let message = format!(
                "the status of {kind} '{name}' has not changed for {after}; check that the operator of {provider} is running"
            );
            return Some(Condition::new(condition::STALE_STATUS, true, "NoNews", message));
        }
        before.condition(condition::STALE_STATUS)?;
        let message = format!("the operator of {provider} updates the status of {kind} '{name}' again");
        Some(Condition::new(condition::STALE_STATUS, false, "News", message))
    }

    /// Returns all status fields and conditions of this provider's field manager.
    pub(super) fn status_update(&self, deployment: &Value) -> StatusUpdate {
        let deployment = ObjectView(deployment);
        let before = deployment.status();
        let scales = ApiGroup::find(deployment.group()).is_some_and(|group| group.scales);
        let status = self.status.as_ref();
        let endpoint = status.and_then(|status| status.endpoint.as_ref());
        let endpoint = endpoint.map(|endpoint| json!({"service": endpoint.service, "port": endpoint.port}));
        let replicas = self.replicas().map(|replicas| kubefoundry_yaml::infallible::to_json(&replicas));
        let (kind, name) = self.main.as_ref().map(|(kind, name)| (kind.as_str(), name.as_str())).unzip();
        StatusUpdate::default()
            .field("phase", self.phase(before))
            .field("message", self.message())
            .field("provider.resourceKind", kind)
            .field("provider.resourceName", name)
            .field("endpoint", endpoint)
            .field("replicas", replicas)
            .field("selector", self.selector.as_deref().filter(|_| scales))
            .field("observedGeneration", deployment.generation())
            .condition(self.compatible_condition())
            .condition(self.created_condition())
            .condition(self.ready_condition())
            .conditions(self.stale_condition(before))
            .conditions(self.recreation.clone())
    }

    /// Returns the message of an event about a failure, or about an object that cannot be applied; none when the
    /// previous status already has it, so that each error is published once.
    pub(super) fn new_error(&self, before: StatusView<'_>) -> Option<String> {
        match self.outcome {
            ReconcileOutcome::Refused(message) | ReconcileOutcome::NotOwned(message) => {
                let reported = before.condition(condition::RESOURCE_CREATED).map(ConditionView::message);
                (reported != Some(message)).then(|| message.clone())
            }
            _ if self.phase(before) == Phase::Failed.as_str() => {
                let message = self.message();
                let is_reported =
                    before.phase() == Some(Phase::Failed.as_str()) && before.message() == Some(message.as_str());
                (!is_reported).then(|| format!("Provider resource in error state: {message}"))
            }
            _ => None,
        }
    }
}

/// Whether the provider need not write the status again, so its silence is not a sign of trouble.
fn is_settled(status: &Status) -> bool {
    matches!(status.phase, Some(Phase::Running | Phase::Failed))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use kubefoundry_composition::BUILTIN;

    use super::*;
    use crate::cached_object::CachedObject;

    const NOW: &str = "2026-01-30T10:00:00Z";
    const STALE_AFTER: Duration = Duration::from_secs(300);

    fn workspace(status: &Value) -> Arc<UpstreamObject> {
        let object = json!({
            "apiVersion": "kaito.sh/v1beta1", "kind": "Workspace",
            "metadata": {"name": "phi", "namespace": "ml", "creationTimestamp": "2026-01-30T09:00:00Z", "managedFields": [
                {"manager": "kaito", "operation": "Update", "subresource": "status", "time": "2026-01-30T09:58:00Z",
                 "fieldsV1": {"f:status": {"f:state": {}}}},
            ]},
            "status": status,
        });
        Arc::new(UpstreamObject {
            resource: objects::resource(&object).into(),
            object: CachedObject::new(object).unwrap(),
        })
    }

    fn report<'r>(outcome: &'r ReconcileOutcome, live: Option<&UpstreamObject>) -> StatusReport<'r> {
        let kaito = BUILTIN.find_provider("kaito").unwrap();
        let desired = json!({"apiVersion": "kaito.sh/v1beta1", "kind": "Workspace", "metadata": {"name": "phi"}});
        StatusReport::new(kaito, outcome, Some(&desired), live, Time::parse(NOW).unwrap(), STALE_AFTER)
    }

    fn status_of(outcome: &ReconcileOutcome, live: Option<&UpstreamObject>, before: &Value) -> Value {
        let mut deployment = json!({"apiVersion": "kubefoundry.ai/v1alpha1", "metadata": {"generation": 2}});
        deployment["status"] = before.clone();
        let statement = report(outcome, live).status_update(&deployment);
        statement.patch(&deployment, "kaito-provider", Time::parse(NOW).unwrap()).unwrap_or(Value::Null)
    }

    /// Conditions as `Ready=False Recreating`.
    fn conditions(status: &Value) -> Vec<String> {
        let text = |condition: &Value, field: &str| condition[field].as_str().unwrap().to_owned();
        let one = |one: &Value| format!("{}={} {}", text(one, "type"), text(one, "status"), text(one, "reason"));
        status["conditions"].as_array().unwrap().iter().map(one).collect()
    }

    #[test]
    fn reports_a_model_that_serves() {
        let live = workspace(&json!({"state": "Ready"}));
        let status = status_of(&ReconcileOutcome::Settled, Some(&live), &json!({}));
        assert_eq!((&status["phase"], &status["endpoint"]["service"]), (&json!("Running"), &json!("phi")));
        assert_eq!(status["provider"], json!({"resourceKind": "Workspace", "resourceName": "phi"}));
        assert_eq!(status["observedGeneration"], 2);
        assert_eq!(status["selector"], "kaito.sh/workspace=phi,apps.kubernetes.io/pod-index=0");
        assert_eq!(
            conditions(&status),
            ["ProviderCompatible=True Compatible", "ResourceCreated=True ResourceCreated", "Ready=True Running"]
        );
    }

    #[test]
    fn every_outcome_has_its_phase_and_conditions() {
        let why = || "why".to_owned();
        let live = workspace(&json!({"state": "Ready"}));
        for (outcome, live, phase, expected) in [
            (
                ReconcileOutcome::Recreating(why()),
                None,
                "Deploying",
                ["True Compatible", "False Recreating", "False Recreating"],
            ),
            (ReconcileOutcome::Refused(why()), None, "Pending", ["True Compatible", "False Refused", "False Refused"]),
            // A running model stays.
            (
                ReconcileOutcome::Refused(why()),
                Some(&live),
                "Running",
                ["True Compatible", "False Refused", "True Running"],
            ),
            (
                ReconcileOutcome::NotOwned(why()),
                None,
                "Pending",
                ["True Compatible", "False NotOwned", "False NotOwned"],
            ),
            (ReconcileOutcome::DryRun(why()), None, "Pending", ["True Compatible", "False DryRun", "False DryRun"]),
            (
                ReconcileOutcome::NotAllowed(why()),
                Some(&live),
                "Running",
                ["False NotAllowed", "False NotRendered", "True Running"],
            ),
            (
                ReconcileOutcome::Incompatible("CRDNotInstalled", why()),
                None,
                "Pending",
                ["False CRDNotInstalled", "False NotRendered", "False NotRendered"],
            ),
            (
                ReconcileOutcome::Invalid(why()),
                Some(&live),
                "Pending",
                ["Unknown Invalid", "False NotRendered", "True Running"],
            ),
        ] {
            let status = status_of(&outcome, live.map(|live| &**live), &json!({}));
            assert_eq!((&status["phase"], &status["message"]), (&json!(phase), &json!("why")), "{outcome:?}");
            let names = ["ProviderCompatible", "ResourceCreated", "Ready"];
            let expected: Vec<String> =
                names.iter().zip(expected).map(|(name, rest)| format!("{name}={rest}")).collect();
            assert_eq!(conditions(&status), expected, "{outcome:?}");
        }
    }

    #[test]
    fn an_unknown_state_keeps_the_phase() {
        let live = workspace(&json!({"state": "Dreaming"}));
        let status = status_of(&ReconcileOutcome::Settled, Some(&live), &json!({"phase": "Running"}));
        assert_eq!(status["phase"], "Running");
        assert_eq!(status["message"], "status.state is \"Dreaming\", which this version does not know");
    }

    #[test]
    fn reports_a_stale_status_and_its_end() {
        let live = workspace(&json!({"state": "Pending"}));
        let at = |now: &str, stale_after| {
            let kaito = BUILTIN.find_provider("kaito").unwrap();
            StatusReport::new(
                kaito,
                &ReconcileOutcome::Settled,
                None,
                Some(&live),
                Time::parse(now).unwrap(),
                stale_after,
            )
        };
        // Written two minutes ago.
        let fresh = at(NOW, STALE_AFTER);
        assert_eq!(
            (fresh.stale_in, fresh.stale_condition(StatusView(&json!({})))),
            (Some(Duration::from_secs(181)), None)
        );
        let stale = at("2026-01-30T10:03:01Z", STALE_AFTER);
        assert_eq!(stale.stale_in, None);
        let condition = stale.stale_condition(StatusView(&json!({}))).unwrap();
        assert_eq!(
            (condition.status, condition.message),
            (
                ConditionStatus::True,
                "the status of Workspace 'phi' has not changed for 5m; check that the operator of KAITO is running"
                    .to_owned(),
            )
        );
        let before = json!({"conditions": [{"type": "StaleStatus", "status": "True"}]});
        assert_eq!(fresh.stale_condition(StatusView(&before)).unwrap().status, ConditionStatus::False);
        // A model that serves need not report anything.
        let live = workspace(&json!({"state": "Ready"}));
        let settled = report(&ReconcileOutcome::Settled, Some(&live));
        assert_eq!((settled.stale_in, settled.stale), (None, Some(false)));
    }

    #[test]
    fn publishes_each_error_once() {
        let failed = json!({"state": "Failed", "conditions": [
            {"type": "WorkspaceSucceeded", "status": "False", "reason": "x", "message": "insufficient GPUs"},
        ]});
        let live = workspace(&failed);
        let error = |before: &Value| report(&ReconcileOutcome::Settled, Some(&live)).new_error(StatusView(before));
        let before = status_of(&ReconcileOutcome::Settled, Some(&live), &json!({}));
        assert_eq!(before["phase"], "Failed");
        let message = before["message"].as_str().unwrap();
        assert_eq!(error(&json!({})), Some(format!("Provider resource in error state: {message}")));
        assert_eq!(error(&before), None);
        assert!(error(&json!({"phase": "Failed", "message": "another"})).is_some());
        let refused = ReconcileOutcome::Refused("no".to_owned());
        let before = status_of(&refused, None, &json!({}));
        assert_eq!(report(&refused, None).new_error(StatusView(&json!({}))).as_deref(), Some("no"));
        assert_eq!(report(&refused, None).new_error(StatusView(&before)), None);
    }
}
