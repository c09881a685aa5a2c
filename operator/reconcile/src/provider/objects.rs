//! Helpers for objects of a provider: their names, their owners, and the fields that are compared.

use std::sync::Arc;

use kube::core::{ApiResource, GroupVersionKind};
use kubefoundry_controller_runtime::hash::short_hex;
use kubefoundry_controller_runtime::observed::ObjectView;
use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_kubernetes::manifest::owner_name;
use kubefoundry_model::gateway;
use kubefoundry_provider::Provider;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::cached_object::CachedObject;
use crate::names::DEPLOYMENT_UID;
use crate::observation::UpstreamObject;

/// The kind of volume claims, which outlive their deployment and are not watched.
pub(super) const CLAIM: &str = "PersistentVolumeClaim";

/// Returns the API resource of an object, which the client needs to address it.
pub fn resource(object: &Value) -> ApiResource {
    let (api_version, kind) = (ObjectView(object).api_version(), ObjectView(object).kind());
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

/// Returns the name of an object.
pub(super) fn name(object: &Value) -> &str {
    ObjectView(object).name()
}

/// Formats the kind and name of an object, which identify it within its namespace: `Workspace/phi`.
pub(super) fn key(object: &Value) -> String {
    format!("{}/{}", ObjectView(object).kind(), name(object))
}

/// Formats the kind and name of a live object, as [`key`] does those of a desired one.
pub(super) fn live_key(owned: &UpstreamObject) -> String {
    format!("{}/{}", owned.resource.kind, owned.object.name())
}

/// Formats an object for messages: `Workspace 'phi'`.
pub(super) fn title(object: &Value) -> String {
    format!("{} '{}'", ObjectView(object).kind(), name(object))
}

/// Formats a live object for messages.
pub(super) fn live_title(owned: &UpstreamObject) -> String {
    format!("{} '{}'", owned.resource.kind, owned.object.name())
}

/// Whether an object of a deployment belongs to a provider: by its kind, or because the provider's field manager wrote
/// it. A supporting object without managed fields counts as the provider's.
pub(super) fn belongs_to(owned: &UpstreamObject, provider: &dyn Provider, manager: &str) -> bool {
    if is_main_kind(owned, provider) {
        return true;
    }
    if !is_supporting(&owned.resource.group) {
        return false;
    }
    let value = owned.object.value();
    let mut managers = ObjectView(&value).managed_fields();
    managers.as_mut().is_none_or(|managers| managers.any(|entry| entry.manager() == manager))
}

/// Whether a group has kinds that any provider writes: built-in ones, and those that lead from a Gateway to a model.
fn is_supporting(group: &str) -> bool {
    group.is_empty() || gateway::KINDS.iter().any(|kind| kind.group == group)
}

/// Whether an object sends requests to the pods of the main object: it keeps its name when the main object is recreated.
pub(super) fn sends_requests(object: &Value) -> bool {
    let kind = ObjectView(object).kind();
    kind == "Service" || gateway::KINDS.iter().any(|known| known.kind == kind)
}

/// Whether an object is of a kind in which the provider runs models.
pub(super) fn is_main_kind(owned: &UpstreamObject, provider: &dyn Provider) -> bool {
    let groups = provider.info().crd_versions.iter().filter_map(|version| Some(version.rsplit_once('/')?.0));
    groups.into_iter().any(|group| group == owned.resource.group)
}

/// Returns the main object of a deployment: the desired one, or any that runs models.
pub(super) fn main(owned: &[Arc<UpstreamObject>], desired: Option<&Value>) -> Option<Arc<UpstreamObject>> {
    let mains = || owned.iter().filter(|owned| !is_supporting(&owned.resource.group));
    let is_desired = |owned: &&Arc<UpstreamObject>| desired.is_some_and(|desired| is_same(owned, desired));
    mains().find(is_desired).or_else(|| mains().next()).cloned()
}

/// Whether a live object is the desired one, in whatever version of its API.
pub(super) fn is_same(owned: &UpstreamObject, desired: &Value) -> bool {
    let desired = ObjectView(desired);
    (&*owned.resource.group, &*owned.resource.kind, owned.object.name())
        == (desired.group(), desired.kind(), desired.name())
}

/// Whether a deployment may write an object: it is its controller. A claim has no owner, since its data outlive the
/// deployment, and names the deployment in an annotation instead.
pub(super) fn is_owned(object: &CachedObject, kind: &str, deployment: &CachedObject, api_group: &ApiGroup) -> bool {
    if kind == CLAIM {
        let owner = owner_name(Some(deployment.namespace()), deployment.name());
        return object.annotation(&api_group.label("model-deployment")) == Some(&*owner);
    }
    object.controller_uid() == Some(deployment.uid())
}

/// Stands for what the operator adds to rendered objects. It changes with that, so that an upgrade updates the objects
/// instead of finding drift in them.
const ADDITIONS: &[u8] = b"deployment-uid";

/// Whether an object has lost its owner: this controller applied it for this very deployment, but no controller is named
/// in it. Objects of other clients never match, since they do not bear the uid and our field manager.
pub(super) fn has_lost_owner(
    object: &CachedObject,
    deployment: &CachedObject,
    manager: &str,
    api_group: &ApiGroup,
) -> bool {
    if object.controller_uid().is_some()
        || object.annotation(&api_group.label(DEPLOYMENT_UID)) != Some(deployment.uid())
    {
        return false;
    }
    let value = object.value();
    let mut managers = ObjectView(&value).managed_fields().into_iter().flatten();
    managers.any(|entry| entry.manager() == manager && entry.is_applied())
}

/// Hashes rendered objects without their owners, so that equal fields have an equal hash in another cluster.
pub(super) fn rendered_hash(objects: &[Value]) -> String {
    let mut hash = Sha256::new();
    hash.update(ADDITIONS);
    for object in objects {
        let mut object = object.clone();
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("ownerReferences");
        }
        hash.update(object.to_string());
        hash.update([0]);
    }
    short_hex(&hash.finalize())
}

/// Hashes the desired object, and the live fields that a client could set.
pub(super) fn comparison_hash(desired: &Value, live: &UpstreamObject) -> String {
    let mut hash = Sha256::new();
    hash.update(desired.to_string());
    hash.update([0]);
    hash.update(desired_fields(&live.object.value()).to_string());
    short_hex(&hash.finalize())
}

/// Creates a unique name for the dry run of an object whose own name is still in use.
pub(super) fn trial_name(uid: &str) -> String {
    format!("kf-{}", short_hex(&Sha256::digest(uid)))
}

/// Adds an annotation.
pub fn annotate(object: &mut Value, key: String, value: &str) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.insert(key, Value::from(value));
        }
    }
}

/// Returns the fields of an object that clients set: no status, and no metadata of the apiserver.
pub fn desired_fields(object: &Value) -> Value {
    let mut desired = object.clone();
    if let Some(fields) = desired.as_object_mut() {
        fields.remove("status");
        if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
            let client_fields = ["name", "namespace", "labels", "annotations", "ownerReferences"];
            *metadata =
                client_fields.iter().filter_map(|name| Some(((*name).to_owned(), metadata.remove(*name)?))).collect();
        }
    }
    desired
}

#[cfg(test)]
mod tests {
    use kubefoundry_composition::BUILTIN;

    use super::*;

    fn upstream_object(object: Value) -> UpstreamObject {
        UpstreamObject { resource: resource(&object).into(), object: CachedObject::new(object).unwrap() }
    }

    #[test]
    fn the_rendered_hash_ignores_owners() {
        let object = |uid: &str, replicas: i32| json!({"kind": "K", "metadata": {"name": "a", "ownerReferences": [{"uid": uid}]}, "spec": {"replicas": replicas}});
        let hash = |objects: &[Value]| rendered_hash(objects);
        assert_eq!(hash(&[object("1", 1)]), hash(&[object("2", 1)]));
        assert_ne!(hash(&[object("1", 1)]), hash(&[object("1", 2)]));
        assert_ne!(hash(&[object("1", 1)]), hash(&[object("1", 1), object("1", 1)]));
        assert_eq!(hash(&[]).len(), 16);
    }

    #[test]
    fn ownership_follows_the_controller_reference_or_the_annotation_of_a_claim() {
        let deployment =
            CachedObject::new(json!({"metadata": {"name": "phi", "namespace": "ml", "uid": "u"}})).unwrap();
        let api_group = ApiGroup::find("kubefoundry.ai").unwrap();
        let ours = |kind: &str, metadata: Value| {
            is_owned(&CachedObject::new(json!({"metadata": metadata})).unwrap(), kind, &deployment, api_group)
        };
        let by = |uid: &str, controller: bool| json!({"ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": "phi", "uid": uid, "controller": controller}]});
        assert!(ours("Workspace", by("u", true)));
        assert!(!ours("Workspace", by("u", false)));
        // The owner is an earlier deployment of the same name.
        assert!(!ours("Workspace", by("older", true)));
        assert!(!ours("Workspace", json!({})));
        let annotated = |owner: &str| json!({"annotations": {"kubefoundry.ai/model-deployment": owner}});
        assert!(ours(CLAIM, annotated("ml/phi")));
        assert!(!ours(CLAIM, annotated("ml/other")));
        assert!(!ours(CLAIM, by("u", true)));
        assert!(!ours("ConfigMap", annotated("ml/phi")));
    }

    #[test]
    fn only_an_object_of_ours_without_a_controller_has_lost_its_owner() {
        let deployment = CachedObject::new(json!({"metadata": {"name": "phi", "uid": "u"}})).unwrap();
        let api_group = ApiGroup::find("kubefoundry.ai").unwrap();
        let lost = |uid: &str, manager: &str, owners: Value| {
            let object = json!({"metadata": {
                "annotations": {"kubefoundry.ai/deployment-uid": uid}, "ownerReferences": owners,
                "managedFields": [{"manager": manager, "operation": "Apply"}],
            }});
            has_lost_owner(&CachedObject::new(object).unwrap(), &deployment, "kaito-provider", api_group)
        };
        assert!(lost("u", "kaito-provider", json!([])));
        assert!(!lost("earlier", "kaito-provider", json!([])));
        assert!(!lost("u", "kubectl", json!([])));
        let owner = json!([{"apiVersion": "v1", "kind": "K", "name": "x", "uid": "other", "controller": true}]);
        assert!(!lost("u", "kaito-provider", owner));
    }

    #[test]
    fn objects_belong_to_the_provider_of_their_kind_or_manager() {
        let kaito = BUILTIN.find_provider("kaito").unwrap();
        let belongs = |object: Value| belongs_to(&upstream_object(object), kaito, "kaito-provider");
        let managed = |by: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"managedFields": [{"manager": by}]}});
        assert!(belongs(json!({"apiVersion": "kaito.sh/v1beta1", "kind": "InferenceSet", "metadata": {}})));
        assert!(!belongs(json!({"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {}})));
        assert!(belongs(managed("kaito-provider")));
        assert!(!belongs(managed("kuberay-provider")));
    }

    #[test]
    fn routes_and_pools_are_supporting_objects_of_the_provider_that_applied_them() {
        let kaito = BUILTIN.find_provider("kaito").unwrap();
        let route = |by: &str| {
            upstream_object(json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
                "metadata": {"name": "phi", "managedFields": [{"manager": by}]}}))
        };
        assert!(belongs_to(&route("kaito-provider"), kaito, "kaito-provider"));
        assert!(!belongs_to(&route("kuberay-provider"), kaito, "kaito-provider"));
        assert!(!is_main_kind(&route("kaito-provider"), kaito));
        let pool = upstream_object(json!({"apiVersion": "inference.networking.k8s.io/v1", "kind": "InferencePool",
            "metadata": {"name": "phi"}}));
        let workspace = upstream_object(
            json!({"apiVersion": "kaito.sh/v1beta1", "kind": "Workspace", "metadata": {"name": "phi"}}),
        );
        let owned = [Arc::new(pool), Arc::new(workspace)];
        assert_eq!(main(&owned, None).unwrap().resource.kind, "Workspace");
        assert!(sends_requests(&json!({"kind": "HTTPRoute"})) && !sends_requests(&json!({"kind": "ConfigMap"})));
    }

    #[test]
    fn desired_fields_exclude_status_and_server_metadata() {
        let object = json!({
            "kind": "K", "metadata": {"name": "a", "uid": "u", "resourceVersion": "1", "labels": {"a": "b"}},
            "spec": {}, "status": {"a": 1},
        });
        assert_eq!(
            desired_fields(&object),
            json!({"kind": "K", "metadata": {"name": "a", "labels": {"a": "b"}}, "spec": {}})
        );
    }
}
