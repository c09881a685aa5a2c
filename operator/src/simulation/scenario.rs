//! What users and other clients do to a deployment while the controllers work.

use kubefoundry_deployment::wire::KIND;
use serde_json::{Value, json};

use super::cluster::{self, DEPLOYMENT, Slots, Store};
use super::controller::{Pace, ROLES, Role};
use super::fields;
use super::server::{NAMESPACE, NOW, Part};

/// The name of the deployment.
pub(super) const NAME: &str = "m";

/// What the user does, step by step. Each step may come at any moment after the one before.
#[derive(Debug, Clone)]
pub(super) struct Scenario {
    pub(super) name: &'static str,
    /// Whether the deployment runs already; otherwise the first step creates it.
    pub(super) runs_before: bool,
    pub(super) steps: Vec<UserStep>,
    /// The controllers whose requests are interleaved with everything else.
    pub(super) slow: &'static [Role],
}

impl Scenario {
    pub(super) fn pace(&self, role: usize) -> Pace {
        if self.slow.contains(&ROLES[role]) { Pace::Slow } else { Pace::Swift }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UserStep {
    Create,
    /// A change that the provider carries out in place.
    Update,
    /// A change that requires a new main object.
    ChangeModel,
    /// Another provider.
    Migrate,
    Delete,
    /// A deletion that leaves the objects.
    Orphan,
}

/// Returns the deployment that is created.
pub(super) fn deployment() -> Value {
    json!({
        "apiVersion": "kubefoundry.ai/v1alpha1", "kind": KIND,
        "metadata": {"name": NAME, "namespace": NAMESPACE},
        "spec": {
            "model": {"id": "microsoft/Phi-4-mini-instruct"},
            "engine": {"type": "vllm"},
            "provider": {"name": "kaito", "overrides": {"instanceType": "Standard_NC24ads_A100_v4"}},
            "resources": {"gpu": {"count": 1}},
        },
    })
}

impl UserStep {
    /// Carries the step out. Where the deployment is gone, nothing happens.
    pub(super) fn take(self, store: &mut Store, slots: &Slots) -> Slots {
        let write = |store: &mut Store, object: Value| store.update(slots, DEPLOYMENT, "kubectl", Part::Object, object);
        let live = store.deployment(slots).map(|live| (*live).clone());
        let after = match (self, live) {
            (Self::Create, _) => write(store, deployment()),
            (_, None) => None,
            (Self::Delete, Some(_)) => store.delete(slots, DEPLOYMENT),
            (Self::Orphan, Some(mut live)) => {
                let metadata = &mut live["metadata"];
                let finalizers = metadata["finalizers"].as_array().cloned().unwrap_or_default();
                metadata["finalizers"] = finalizers.into_iter().chain([json!("orphan")]).collect();
                metadata["deletionTimestamp"] = json!(NOW);
                write(store, live)
            }
            (_, Some(mut live)) => {
                self.change(&mut live["spec"]);
                write(store, live)
            }
        };
        after.unwrap_or_else(|| slots.clone())
    }

    fn change(self, spec: &mut Value) {
        match self {
            // The Workspace then refers to a ConfigMap, which is created before it changes.
            Self::Update => spec["engine"]["contextLength"] = json!(8192),
            Self::ChangeModel => spec["model"]["id"] = json!("microsoft/Phi-3.5-mini-instruct"),
            Self::Migrate => spec["provider"] = json!({"name": "dynamo"}),
            Self::Create | Self::Delete | Self::Orphan => {}
        }
    }
}

/// What another client does once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ForeignWrite {
    /// It writes the phase with `Update`.
    Status,
    /// It edits a field of a main object.
    Edit,
    /// It takes the owner from a main object.
    Disown,
    /// It deletes a main object.
    Delete,
    /// It labels the deployment.
    Label,
}

pub(super) const FOREIGN_WRITES: [ForeignWrite; 5] =
    [ForeignWrite::Status, ForeignWrite::Edit, ForeignWrite::Disown, ForeignWrite::Delete, ForeignWrite::Label];

impl ForeignWrite {
    /// Returns every way in which the write changes the cluster.
    pub(super) fn outcomes(self, store: &mut Store, slots: &Slots) -> Vec<Slots> {
        if let Self::Status | Self::Label = self {
            let Some(live) = store.deployment(slots) else { return Vec::new() };
            let mut changed = (*live).clone();
            let part = if self == Self::Status {
                changed["status"]["phase"] =
                    json!(if live["status"]["phase"] == "Running" { "Failed" } else { "Running" });
                Part::Status
            } else {
                changed["metadata"]["labels"] = json!({"team": "a"});
                Part::Object
            };
            return store.update(slots, DEPLOYMENT, "kubectl-edit", part, changed).into_iter().collect();
        }
        let mains: Vec<_> = store.children(slots).into_iter().filter(|(index, _)| store.is_main(*index)).collect();
        let outcomes = mains.into_iter().filter_map(|(index, object)| match self {
            Self::Delete => store.delete(slots, index),
            Self::Disown => store.update(slots, index, "kubectl-edit", Part::Object, cluster::without_owner(&object)),
            _ => {
                let is_text = |path: &&fields::Path| {
                    !["f:metadata", "f:status"].contains(&path[0].as_str())
                        && fields::read(&object, path).is_some_and(|value| value.is_string())
                };
                let path = fields::paths(&object).iter().find(is_text).cloned()?;
                let mut edited = (*object).clone();
                fields::write(&mut edited, &path, &json!("edited"));
                store.update(slots, index, "kubectl-edit", Part::Object, edited)
            }
        });
        outcomes.collect()
    }
}
