//! The status of a deployment after a reconciliation.

use std::time::Duration;

use kubefoundry_compiler::cluster_snapshot::time::Time;
use kubefoundry_compiler::status::{StalenessPolicy, observe};
use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_kubernetes::wire::ConditionStatus;
use kubefoundry_model::provider::{Provider, Status};
use kubefoundry_model::status::Replicas;
use kubefoundry_model::wire::Phase;
use serde_json::{Value, json};

use super::converge::Outcome;
use super::objects;
use crate::cached::Cached;
use crate::names::{CORE_MANAGER, SELECTOR_MANAGER, condition};
use crate::status::{self, Condition, Holds, Statement};
use crate::watch::Owned;

/// The facts that the status is made from.
pub(super) struct Report<'r> {
    provider: &'static dyn Provider,
    outcome: &'r Outcome,
    /// Kind and name of the existing or desired main object.
    main: Option<(String, String)>,
    /// The status of the main object, if it exists.
    status: Option<Status>,
    /// Whether that status is too old; absent if unknown.
    stale: Option<bool>,
    stale_after: Duration,
    /// The time after which the status gets too old.
    pub(super) again: Option<Duration>,
}

impl<'r> Report<'r> {
    pub(super) fn of(
        provider: &'static dyn Provider,
        outcome: &'r Outcome,
        desired: Option<&Value>,
        live: Option<&Owned>,
        now: Time,
        stale_after: Duration,
    ) -> Self {
        let mut report = Self { provider, outcome, main: None, status: None, stale: None, stale_after, again: None };
        if let Outcome::Settled | Outcome::Applied(_) | Outcome::Deferred(_) | Outcome::Recreating(_) = outcome {
            report.main = desired.map(|main| (objects::text(main, "/kind").to_owned(), objects::name(main).to_owned()));
        }
        let live = if let Outcome::Applied(live) = outcome { Some(&**live) } else { live };
        let Some(live) = live else { return report };
        report.main = Some((live.resource.kind.clone(), live.object.name().to_owned()));
        let object = live.object.value();
        let Ok(status) = provider.translate_status(&object) else { return report };
        let judgement = StalenessPolicy { now: Some(now), stale_after: stale_after.as_secs() };
        let observation = observe(&object, &status, judgement);
        report.stale = observation.stale;
        if observation.stale == Some(false) && (status.is_outdated() || !is_settled(&status)) {
            let since =
                if status.is_outdated() { changed_at(&object) } else { observation.last_write.map(|it| it.time) };
            let age = since.map_or(0, |since| now.seconds_since(since));
            // To the second: then it is stale.
            let rest = stale_after.as_secs().saturating_sub(age).saturating_add(1);
            report.again = Some(Duration::from_secs(rest));
        }
        report.status = Some(status);
        report
    }

    pub(super) fn replicas(&self) -> Option<Replicas> {
        self.status.as_ref()?.replicas
    }

    /// The phase; the one before stays where the provider says something that is not known here.
    pub(super) fn phase<'p>(&self, before: &'p Value) -> &'p str {
        let said = || {
            let status = self.status.as_ref()?;
            let known = status.phase.map(Phase::as_str);
            Some(known.or_else(|| before["phase"].as_str()).unwrap_or(Phase::Deploying.as_str()))
        };
        match self.outcome {
            Outcome::Invalid(_) => Phase::Pending.as_str(),
            Outcome::Recreating(_) => Phase::Deploying.as_str(),
            _ => said().unwrap_or(Phase::Pending.as_str()),
        }
    }

    /// What is said for people.
    fn message(&self) -> String {
        if let Some((_, message)) = self.problem() {
            return message.to_owned();
        }
        let Some(status) = &self.status else { return String::new() };
        let unknown = status.unrecognized.iter().map(ToString::to_string);
        let mut said = vec![status.message.clone()];
        said.extend(unknown.filter(|unknown| !status.message.contains(unknown)));
        said.retain(|message| !message.is_empty());
        said.join("; ")
    }

    /// Why the objects are not as rendered: the condition's reason, and the message.
    fn problem(&self) -> Option<(&'static str, &str)> {
        Some(match self.outcome {
            Outcome::Settled | Outcome::Applied(_) | Outcome::Deferred(_) | Outcome::CatchUp => return None,
            Outcome::Recreating(message) => ("Recreating", message),
            Outcome::Refused(message) => ("Refused", message),
            Outcome::NotOwned(message) => ("NotOwned", message),
            Outcome::DryRun(message) => ("DryRun", message),
            Outcome::NotAllowed(message) | Outcome::Incompatible(_, message) | Outcome::Invalid(message) => {
                ("NotRendered", message)
            }
        })
    }

    fn compatible(&self) -> Condition {
        let (holds, reason, message) = match self.outcome {
            Outcome::NotAllowed(message) => (Holds::False, "NotAllowed", message.clone()),
            Outcome::Incompatible(reason, message) => (Holds::False, *reason, message.clone()),
            Outcome::Invalid(message) => (Holds::Unknown, "Invalid", message.clone()),
            _ => (Holds::True, "Compatible", format!("{} can run it", self.provider.display_name())),
        };
        Condition::new(condition::PROVIDER_COMPATIBLE, holds, reason, message)
    }

    fn created(&self) -> Condition {
        let (holds, reason, message) = match (self.problem(), &self.main) {
            (Some((reason, message)), _) => (false, reason, message.to_owned()),
            (None, Some((kind, name))) => (true, "ResourceCreated", format!("{kind} '{name}' is as rendered")),
            (None, None) => (true, "ResourceCreated", String::new()),
        };
        Condition::new(condition::RESOURCE_CREATED, holds, reason, message)
    }

    fn ready(&self) -> Condition {
        let said = self.status.iter().flat_map(|status| &status.conditions);
        let mut said = said.filter(|said| said.condition_type == condition::READY).map(|said| {
            let holds = match said.status {
                ConditionStatus::True => Holds::True,
                ConditionStatus::False => Holds::False,
                ConditionStatus::Unknown => Holds::Unknown,
            };
            Condition::new(condition::READY, holds, said.reason.as_str(), said.message.as_str())
        });
        said.next().unwrap_or_else(|| {
            let (reason, message) = self.problem().unwrap_or(("Pending", ""));
            Condition::new(condition::READY, false, reason, message)
        })
    }

    /// Said when it holds, and taken back when it was said before.
    fn stale_status(&self, before: &Value) -> Option<Condition> {
        let provider = self.provider.display_name();
        let (kind, name) = self.main.as_ref()?;
        if self.stale == Some(true) {
            let after = kubefoundry_compiler::cluster_snapshot::time::format_age(self.stale_after.as_secs());
            let message =
                format!("{kind} '{name}' has had no news for {after}: is the operator of {provider} running?");
            return Some(Condition::new(condition::STALE_STATUS, true, "NoNews", message));
        }
        status::find(before, condition::STALE_STATUS)?;
        let message = format!("{kind} '{name}' is kept up to date by the operator of {provider}");
        Some(Condition::new(condition::STALE_STATUS, false, "News", message))
    }

    /// All that is said in the status.
    pub(super) fn statement(&self, deployment: &Value) -> Statement {
        let before = &deployment["status"];
        let status = self.status.as_ref();
        let endpoint = status.and_then(|status| status.endpoint.as_ref());
        let endpoint = endpoint.map(|endpoint| json!({"service": endpoint.service, "port": endpoint.port}));
        let replicas = self.replicas().and_then(|replicas| serde_json::to_value(replicas).ok());
        let (kind, name) = self.main.as_ref().map(|(kind, name)| (kind.as_str(), name.as_str())).unzip();
        Statement::default()
            .field("phase", self.phase(before))
            .field("message", self.message())
            .field("provider.resourceKind", kind)
            .field("provider.resourceName", name)
            .field("endpoint", endpoint)
            .field("replicas", replicas)
            .field("observedGeneration", deployment.pointer("/metadata/generation").cloned().unwrap_or_default())
            .condition(self.compatible())
            .condition(self.created())
            .condition(self.ready())
            .conditions(self.stale_status(before))
    }

    /// What an event has to say that the status before did not say: that it fails, or that an object cannot be applied.
    pub(super) fn error(&self, before: &Value) -> Option<String> {
        match self.outcome {
            Outcome::Refused(message) | Outcome::NotOwned(message) => {
                let created = status::find(before, condition::RESOURCE_CREATED);
                let said = created.and_then(|created| created["message"].as_str());
                (said != Some(message)).then(|| message.clone())
            }
            _ if self.phase(before) == Phase::Failed.as_str() => {
                let message = self.message();
                let said = before["phase"] == Phase::Failed.as_str() && before["message"] == message.as_str();
                (!said).then(|| format!("Provider resource in error state: {message}"))
            }
            _ => None,
        }
    }
}

/// Whether nothing is expected to be written.
fn is_settled(status: &Status) -> bool {
    matches!(status.phase, Some(Phase::Running | Phase::Failed))
}

/// When something but the status was written last.
fn changed_at(object: &Value) -> Option<Time> {
    let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    let entries = entries.into_iter().flatten();
    let others =
        entries.filter(|entry| entry["subresource"] != "status" && entry.pointer("/fieldsV1/f:status").is_none());
    others.filter_map(|entry| Time::parse(entry["time"].as_str()?)).max()
}

/// Another provider that still has objects of a deployment, or speaks for it.
pub(super) fn predecessor(value: &Value, deployment: &Cached, api_group: &ApiGroup, manager: &str) -> Option<String> {
    let finalizers = deployment.metadata.finalizers.iter().flatten();
    let holds = finalizers.filter_map(|one| one.strip_prefix(api_group.label_prefix));
    let speaks = status::managers(value).filter(|(_, fields)| fields.get("f:phase").is_some()).map(|(name, _)| name);
    let speaks = speaks.filter(|name| ![CORE_MANAGER, SELECTOR_MANAGER].contains(name));
    holds.filter(|name| name.ends_with("-provider")).chain(speaks).find(|name| *name != manager).map(str::to_owned)
}

/// When the provider was chosen.
pub(super) fn chosen_at(value: &Value) -> Option<Time> {
    let entries = value.pointer("/metadata/managedFields").and_then(Value::as_array);
    let wrote = |entry: &&Value| entry.pointer("/fieldsV1/f:status/f:provider/f:name").is_some();
    let times = entries.into_iter().flatten().filter(wrote).filter_map(|entry| Time::parse(entry["time"].as_str()?));
    times.max()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use kubefoundry_model::providers;

    use super::*;

    const NOW: &str = "2026-01-30T10:00:00Z";
    const STALE_AFTER: Duration = Duration::from_secs(300);

    fn workspace(status: &Value) -> Arc<Owned> {
        let object = json!({
            "apiVersion": "kaito.sh/v1beta1", "kind": "Workspace",
            "metadata": {"name": "phi", "namespace": "ml", "creationTimestamp": "2026-01-30T09:00:00Z", "managedFields": [
                {"manager": "kaito", "operation": "Update", "subresource": "status", "time": "2026-01-30T09:58:00Z",
                 "fieldsV1": {"f:status": {"f:state": {}}}},
            ]},
            "status": status,
        });
        Arc::new(Owned { resource: objects::resource(&object).into(), object: Cached::new(object).unwrap() })
    }

    fn report<'r>(outcome: &'r Outcome, live: Option<&Owned>) -> Report<'r> {
        let kaito = providers::find("kaito").unwrap();
        let desired = json!({"apiVersion": "kaito.sh/v1beta1", "kind": "Workspace", "metadata": {"name": "phi"}});
        Report::of(kaito, outcome, Some(&desired), live, Time::parse(NOW).unwrap(), STALE_AFTER)
    }

    fn said(outcome: &Outcome, live: Option<&Owned>, before: &Value) -> Value {
        let mut deployment = json!({"metadata": {"generation": 2}});
        deployment["status"] = before.clone();
        let statement = report(outcome, live).statement(&deployment);
        statement.patch(&deployment, "kaito-provider", Time::parse(NOW).unwrap()).unwrap_or(Value::Null)
    }

    /// Conditions as `Ready=False Recreating`.
    fn conditions(said: &Value) -> Vec<String> {
        let text = |condition: &Value, field: &str| condition[field].as_str().unwrap().to_owned();
        let one = |one: &Value| format!("{}={} {}", text(one, "type"), text(one, "status"), text(one, "reason"));
        said["conditions"].as_array().unwrap().iter().map(one).collect()
    }

    #[test]
    fn what_serves() {
        let live = workspace(&json!({"state": "Ready"}));
        let said = said(&Outcome::Settled, Some(&live), &json!({}));
        assert_eq!((&said["phase"], &said["endpoint"]["service"]), (&json!("Running"), &json!("phi")));
        assert_eq!(said["provider"], json!({"resourceKind": "Workspace", "resourceName": "phi"}));
        assert_eq!(said["observedGeneration"], 2);
        assert_eq!(
            conditions(&said),
            ["ProviderCompatible=True Compatible", "ResourceCreated=True ResourceCreated", "Ready=True Running"]
        );
    }

    #[test]
    fn every_outcome_has_its_words() {
        let why = || "why".to_owned();
        let live = workspace(&json!({"state": "Ready"}));
        for (outcome, live, phase, expected) in [
            (
                Outcome::Recreating(why()),
                None,
                "Deploying",
                ["True Compatible", "False Recreating", "False Recreating"],
            ),
            (Outcome::Refused(why()), None, "Pending", ["True Compatible", "False Refused", "False Refused"]),
            // What runs stays.
            (Outcome::Refused(why()), Some(&live), "Running", ["True Compatible", "False Refused", "True Running"]),
            (Outcome::NotOwned(why()), None, "Pending", ["True Compatible", "False NotOwned", "False NotOwned"]),
            (Outcome::DryRun(why()), None, "Pending", ["True Compatible", "False DryRun", "False DryRun"]),
            (
                Outcome::NotAllowed(why()),
                Some(&live),
                "Running",
                ["False NotAllowed", "False NotRendered", "True Running"],
            ),
            (
                Outcome::Incompatible("CRDNotInstalled", why()),
                None,
                "Pending",
                ["False CRDNotInstalled", "False NotRendered", "False NotRendered"],
            ),
            (Outcome::Invalid(why()), Some(&live), "Pending", ["Unknown Invalid", "False NotRendered", "True Running"]),
        ] {
            let said = said(&outcome, live.map(|live| &**live), &json!({}));
            assert_eq!((&said["phase"], &said["message"]), (&json!(phase), &json!("why")), "{outcome:?}");
            let names = ["ProviderCompatible", "ResourceCreated", "Ready"];
            let expected: Vec<String> =
                names.iter().zip(expected).map(|(name, rest)| format!("{name}={rest}")).collect();
            assert_eq!(conditions(&said), expected, "{outcome:?}");
        }
    }

    #[test]
    fn a_word_that_is_not_known_keeps_the_phase() {
        let live = workspace(&json!({"state": "Dreaming"}));
        let said = said(&Outcome::Settled, Some(&live), &json!({"phase": "Running"}));
        assert_eq!(said["phase"], "Running");
        assert_eq!(said["message"], "status.state is \"Dreaming\", which this version does not know");
    }

    #[test]
    fn silence_is_told_once_and_taken_back() {
        let live = workspace(&json!({"state": "Pending"}));
        let at = |now: &str, stale_after| {
            let kaito = providers::find("kaito").unwrap();
            Report::of(kaito, &Outcome::Settled, None, Some(&live), Time::parse(now).unwrap(), stale_after)
        };
        // Written two minutes ago.
        let fresh = at(NOW, STALE_AFTER);
        assert_eq!((fresh.again, fresh.stale_status(&json!({}))), (Some(Duration::from_secs(181)), None));
        let stale = at("2026-01-30T10:03:01Z", STALE_AFTER);
        assert_eq!(stale.again, None);
        let told = stale.stale_status(&json!({})).unwrap();
        assert_eq!(
            (told.holds, told.message),
            (Holds::True, "Workspace 'phi' has had no news for 5m: is the operator of KAITO running?".to_owned(),)
        );
        let before = json!({"conditions": [{"type": "StaleStatus", "status": "True"}]});
        assert_eq!(fresh.stale_status(&before).unwrap().holds, Holds::False);
        // What serves is not expected to say anything.
        let live = workspace(&json!({"state": "Ready"}));
        let settled = report(&Outcome::Settled, Some(&live));
        assert_eq!((settled.again, settled.stale), (None, Some(false)));
    }

    #[test]
    fn an_error_is_an_event_once() {
        let failed = json!({"state": "Failed", "conditions": [
            {"type": "WorkspaceSucceeded", "status": "False", "reason": "x", "message": "insufficient GPUs"},
        ]});
        let live = workspace(&failed);
        let error = |before: &Value| report(&Outcome::Settled, Some(&live)).error(before);
        let before = said(&Outcome::Settled, Some(&live), &json!({}));
        assert_eq!(before["phase"], "Failed");
        let message = before["message"].as_str().unwrap();
        assert_eq!(error(&json!({})), Some(format!("Provider resource in error state: {message}")));
        assert_eq!(error(&before), None);
        assert!(error(&json!({"phase": "Failed", "message": "another"})).is_some());
        let refused = Outcome::Refused("no".to_owned());
        let before = said(&refused, None, &json!({}));
        assert_eq!(report(&refused, None).error(&json!({})).as_deref(), Some("no"));
        assert_eq!(report(&refused, None).error(&before), None);
    }

    #[test]
    fn a_predecessor_holds_or_speaks() {
        let api_group = ApiGroup::find("kubefoundry.ai").unwrap();
        let of = |metadata: &Value| {
            let object = json!({"kind": "ModelDeployment", "metadata": metadata});
            let cached = Cached::new(object).unwrap();
            predecessor(&cached.value(), &cached, api_group, "kaito-provider")
        };
        let speaks = |manager: &str| {
            json!({"managedFields": [{
                "manager": manager, "operation": "Apply", "subresource": "status",
                "fieldsV1": {"f:status": {"f:phase": {}}},
            }]})
        };
        assert_eq!(
            of(&json!({"finalizers": ["kubefoundry.ai/kaito-provider", "kubefoundry.ai/other", "a/b-provider"]})),
            None
        );
        assert_eq!(of(&json!({"finalizers": ["kubefoundry.ai/vllm-provider"]})).as_deref(), Some("vllm-provider"));
        assert_eq!(of(&speaks("vllm-provider")).as_deref(), Some("vllm-provider"));
        for manager in ["kaito-provider", CORE_MANAGER, SELECTOR_MANAGER] {
            assert_eq!(of(&speaks(manager)), None);
        }
    }
}
