//! What must hold in every state of the cluster, and what it must come to.

use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_reconcile::names::{self, DEPLOYMENT_UID};
use serde_json::{Value, json};

use super::cluster::{self, Slots, Store};
use super::controller::Controllers;
use super::fields;
use super::server;

/// How much another client has taken from the operator's hands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Custody {
    Ours,
    /// An object lost its owner, so it need not go with the deployment.
    Disowned,
}

fn api_group() -> &'static ApiGroup {
    ApiGroup::find("kubefoundry.ai").expect("the group of this project")
}

fn provider_of(kind: &Value) -> &'static str {
    if kind == "DynamoGraphDeployment" { "dynamo" } else { "kaito" }
}

/// Returns the uid of the deployment for which an object was applied.
pub(super) fn deployment_uid(object: &Value) -> Option<&Value> {
    object.pointer("/metadata/annotations")?.get(api_group().label(DEPLOYMENT_UID))
}

/// Returns the invariant that a state violates.
pub(super) fn violation(store: &Store, slots: &Slots, custody: Custody) -> Option<String> {
    let mains: Vec<_> = store.children(slots).into_iter().filter(|(index, _)| store.is_main(*index)).collect();
    // A model that is being stopped still runs, so its successor must not exist yet.
    for (_, one) in &mains {
        let rival = mains.iter().find(|(_, other)| other["kind"] != one["kind"] && !server::is_terminating(other));
        if let Some((_, rival)) = rival {
            return Some(format!("two owners: {} beside {}", rival["kind"], one["kind"]));
        }
    }
    if custody == Custody::Ours {
        let deployment = store.deployment(slots);
        for (index, object) in store.children(slots) {
            let uid = deployment_uid(&object);
            let living = deployment.as_ref().filter(|it| Some(&it["metadata"]["uid"]) == uid);
            let Some(living) = living else {
                return Some(format!("an orphan: {} without its deployment", store.key(index)));
            };
            if store.is_main(index) {
                let finalizer = names::finalizer(api_group(), provider_of(&object["kind"]));
                if !server::finalizers(living).contains(&finalizer.as_str()) {
                    return Some(format!("an orphan: {} without the finalizer {finalizer}", store.key(index)));
                }
            }
        }
    }
    None
}

/// Returns what is missing in a state in which the operator has nothing more to do.
pub(super) fn shortcoming(store: &Store, slots: &Slots, controllers: &Controllers, custody: Custody) -> Option<String> {
    let children = store.children(slots);
    let Some(deployment) = store.deployment(slots) else {
        let left = children.iter().find(|_| custody == Custody::Ours);
        return left.map(|(index, _)| format!("{} is left", store.key(*index)));
    };
    if server::is_terminating(&deployment) {
        return Some("the deployment is still being deleted".to_owned());
    }
    let (status, uid) = (&deployment["status"], &deployment["metadata"]["uid"]);
    let chosen = &deployment["spec"]["provider"]["name"];
    let expected = controllers.render(&deployment);
    let Some(main) = expected.last() else { return Some("the deployment does not render".to_owned()) };
    for object in &expected {
        let title = format!(
            "{}/{}",
            object["kind"].as_str().unwrap_or_default(),
            object["metadata"]["name"].as_str().unwrap_or_default()
        );
        let Some((_, live)) = children.iter().find(|(index, _)| store.key(*index) == title) else {
            return Some(format!("{title} is missing"));
        };
        if server::is_terminating(live) || cluster::owner(live) != Some(uid) {
            return Some(format!("{title} is not owned, or being deleted"));
        }
        let differs = |path: &&fields::Path| fields::read(object, path) != fields::read(live, path);
        if let Some(path) = fields::paths(object).iter().find(differs) {
            return Some(format!("{title} differs at {}", path.join(".")));
        }
    }
    let is_extra = |(index, live): &&(usize, std::sync::Arc<Value>)| {
        store.is_main(*index) && (live["kind"] != main["kind"] || live["metadata"]["name"] != main["metadata"]["name"])
    };
    if let Some((index, _)) = children.iter().find(is_extra) {
        return Some(format!("{} is left", store.key(*index)));
    }
    let finalizer = names::finalizer(api_group(), chosen.as_str().unwrap_or_default());
    let condition = |name: &str| {
        let all = status["conditions"].as_array();
        all.into_iter().flatten().find(|it| it["type"] == name).map(|it| it["status"].clone())
    };
    for (what, actual, wanted) in [
        ("finalizers", json!(server::finalizers(&deployment)), json!([finalizer])),
        ("provider", status["provider"]["name"].clone(), chosen.clone()),
        ("phase", status["phase"].clone(), json!("Running")),
        ("generation", status["observedGeneration"].clone(), deployment["metadata"]["generation"].clone()),
        ("Ready", json!(condition("Ready")), json!("True")),
        ("Validated", json!(condition("Validated")), json!("True")),
        ("object", status["provider"]["resourceKind"].clone(), main["kind"].clone()),
    ] {
        if actual != wanted {
            return Some(format!("{what}: {actual} instead of {wanted}"));
        }
    }
    None
}
