//! Objects in the caches: the metadata that watches and queues need, and the whole object as compressed JSON.
//!
//! Ten thousand deployments and their objects stay in memory for the life of the process. As text an object takes a
//! third of the memory of its tree, and compressed a small part of that. It is decompressed only when it is reconciled.
//! An object in an answer or a watch event lives for a moment, and is compressed only if a cache keeps it.
//! Several controllers reconcile an object moments after it changed, so the trees that were used last are kept, too.

mod compression;
mod recent;
mod reduced;

use std::borrow::Cow;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::ApiResource;
use kubefoundry_controller_runtime::observed::ObjectView;
use kubefoundry_kubernetes::api_group::API_GROUPS;
use kubefoundry_kubernetes::server_fields;
use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};
use serde_json::Value;

pub use self::compression::CompressedJson;
use self::recent::{RecentTree, TREES};
use self::reduced::ReducedObject;
use crate::names::DEPLOYMENT_UID;
use crate::recreation::RecreationMark;

/// A cached object of the cluster, of any kind.
#[derive(Debug, Clone)]
pub struct CachedObject {
    /// The metadata without labels, annotations and managed fields. The text keeps the labels and the reduced managed
    /// fields (`reduced.rs`).
    pub metadata: ObjectMeta,
    contents: Contents,
    /// The annotations without kubectl's last configuration. A slice takes a third of the memory of a map.
    annotations: Box<[(Box<str>, Box<str>)]>,
    /// The size of the annotations that are left out, keys and values, in bytes.
    omitted_annotation_bytes: usize,
    /// `status.provider.name`. Queues read it for every event, so it is kept outside of the compressed text.
    chosen: Option<Box<str>>,
    /// The condition `PendingRecreate`: the queue of a provider consists of those of all its deployments.
    recreation: Option<RecreationMark>,
}

/// The whole object.
#[derive(Debug, Clone)]
enum Contents {
    Tree(Arc<Value>),
    Text(CompressedJson, Arc<RecentTree>),
}

impl CachedObject {
    /// Reads an object without the parts that the operator never reads. A cache has to compress it.
    ///
    /// # Errors
    /// When `metadata` is not an `ObjectMeta`.
    pub fn new(object: Value) -> Result<Self, serde_json::Error> {
        ReducedObject::deserialize(object).and_then(Self::from_reduced)
    }

    fn from_reduced(ReducedObject(mut fields): ReducedObject) -> Result<Self, serde_json::Error> {
        let mut managed_fields = None;
        let mut omitted_annotation_bytes = 0;
        if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            managed_fields = metadata.remove("managedFields");
            if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
                // It repeats the whole object.
                let removed = annotations.remove(server_fields::LAST_APPLIED);
                let length =
                    removed.as_ref().and_then(Value::as_str).map(|text| text.len() + server_fields::LAST_APPLIED.len());
                omitted_annotation_bytes = length.unwrap_or_default();
            }
        }
        let metadata = fields.get("metadata").map_or_else(|| Ok(ObjectMeta::default()), ObjectMeta::deserialize)?;
        let annotations = metadata.annotations.unwrap_or_default().into_iter();
        let annotations = annotations.map(|(key, value)| (key.into_boxed_str(), value.into_boxed_str())).collect();
        let metadata = ObjectMeta { labels: None, annotations: None, ..metadata };
        // Added only now, since they would be the largest part of the metadata to read.
        if let Some(managed_fields) = managed_fields
            && let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut)
        {
            metadata.insert("managedFields".to_owned(), managed_fields);
        }
        let object = Value::Object(fields);
        let status = ObjectView(&object).status();
        let (chosen, recreation) = (status.provider().map(Box::from), RecreationMark::read(status));
        let contents = Contents::Tree(Arc::new(object));
        Ok(Self { metadata, contents, annotations, omitted_annotation_bytes, chosen, recreation })
    }

    /// Compresses the object for a cache.
    #[must_use]
    pub fn compressed(self) -> Self {
        let contents = match self.contents {
            Contents::Tree(object) => Contents::Text(CompressedJson::from_value(&object), Arc::new(TREES.add(object))),
            text @ Contents::Text(..) => text,
        };
        Self { contents, ..self }
    }

    /// Adds `apiVersion` and `kind` if they are absent: the apiserver omits them in lists of built-in kinds.
    #[must_use]
    pub fn with_kind(self, resource: &ApiResource) -> Self {
        if self.value().get("kind").is_some() {
            return self;
        }
        let mut value = Arc::unwrap_or_clone(self.value());
        let Some(object) = value.as_object_mut() else { return self };
        object.insert("apiVersion".to_owned(), resource.api_version.as_str().into());
        object.insert("kind".to_owned(), resource.kind.as_str().into());
        Self { contents: Contents::Tree(Arc::new(value)), ..self }
    }

    /// Reduces the object to its `apiVersion`, `kind` and metadata.
    #[must_use]
    pub fn without_contents(self) -> Self {
        let mut value = Arc::unwrap_or_clone(self.value());
        if let Some(object) = value.as_object_mut() {
            object.retain(|key, _| matches!(key.as_str(), "apiVersion" | "kind" | "metadata"));
        }
        Self { contents: Contents::Tree(Arc::new(value)), ..self }
    }

    /// Returns the object as JSON, without the parts that [`Self::new`] drops.
    pub fn value(&self) -> Arc<Value> {
        match &self.contents {
            Contents::Tree(object) => Arc::clone(object),
            Contents::Text(text, recent) => TREES.get_or_read(recent, || text.to_value()),
        }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    /// Returns the namespace; empty for objects of the whole cluster.
    pub fn namespace(&self) -> &str {
        self.metadata.namespace.as_deref().unwrap_or_default()
    }

    /// Returns the uid.
    pub fn uid(&self) -> &str {
        self.metadata.uid.as_deref().unwrap_or_default()
    }

    /// Returns the `resourceVersion` as a number, so that versions can be compared. Kubernetes guarantees from 1.35 on
    /// that it grows; with etcd it always did. None where it is not a number.
    pub(crate) fn version(&self) -> Option<u64> {
        self.metadata.resource_version.as_deref()?.parse().ok()
    }

    /// Returns `status.provider.name`; none where it is absent or empty.
    pub fn chosen(&self) -> Option<&str> {
        self.chosen.as_deref()
    }

    /// Returns what the condition `PendingRecreate` records.
    pub fn recreation(&self) -> Option<RecreationMark> {
        self.recreation
    }

    pub(crate) fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.iter().find(|(name, _)| &**name == key).map(|(_, value)| &**value)
    }

    /// Returns the size of all annotations, keys and values, in bytes: also of those that are not cached.
    pub(crate) fn annotation_bytes(&self) -> usize {
        let cached = self.annotations.iter().map(|(key, value)| key.len() + value.len());
        cached.sum::<usize>() + self.omitted_annotation_bytes
    }

    /// Whether the object has a deletion timestamp.
    pub fn is_terminating(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// Whether the object differs from an earlier state in its status, or in its labels, at most.
    pub fn is_status_change_of(&self, earlier: &Self) -> bool {
        let (now, before) = (&self.metadata, &earlier.metadata);
        now.uid == before.uid
            && now.generation == before.generation
            && now.deletion_timestamp == before.deletion_timestamp
            && now.finalizers == before.finalizers
            && self.annotations == earlier.annotations
    }

    /// Returns the uid of the owner that is marked as the controller.
    pub(crate) fn controller_uid(&self) -> Option<&str> {
        let owners = self.metadata.owner_references.as_deref()?;
        owners.iter().find(|owner| owner.controller == Some(true)).map(|owner| owner.uid.as_str())
    }

    /// Returns the uid of the deployment for which the object was applied: its controller, or without one the
    /// deployment that an annotation names, because another client may have taken the owner from it.
    pub fn deployment_uid(&self) -> Option<&str> {
        let annotated = || API_GROUPS.iter().find_map(|group| self.annotation(&group.label(DEPLOYMENT_UID)));
        self.controller_uid().or_else(annotated)
    }
}

impl<'de> Deserialize<'de> for CachedObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_reduced(ReducedObject::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl Serialize for CachedObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

impl Resource for CachedObject {
    type DynamicType = ApiResource;
    type Scope = kube::core::DynamicResourceScope;

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        Cow::Borrowed(&resource.kind)
    }

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        Cow::Borrowed(&resource.group)
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        Cow::Borrowed(&resource.version)
    }

    fn api_version(resource: &ApiResource) -> Cow<'_, str> {
        Cow::Borrowed(&resource.api_version)
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        Cow::Borrowed(&resource.plural)
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_cached_object_has_no_history() {
        let object = json!({
            "apiVersion": "kubefoundry.ai/v1alpha1",
            "kind": "ModelDeployment",
            "metadata": {
                "name": "phi", "namespace": "ml", "uid": "u",
                "annotations": {"a": "b", (server_fields::LAST_APPLIED): "{}"},
                "managedFields": [
                    {"manager": "kubectl", "operation": "Apply"},
                    {"manager": "kaito-provider", "operation": "Apply", "subresource": "status", "time": "2026-01-01T00:00:00Z",
                     "fieldsV1": {"f:status": {"f:phase": {}, "f:endpoint": {"f:port": {".": {}}}}}},
                ],
                "ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": "x", "uid": "o", "controller": true}],
            },
            "spec": {"model": {"id": "org/phi"}},
            "status": {"provider": {"name": "kaito"}},
        });
        let cached: CachedObject = serde_json::from_value(object).unwrap();
        assert_eq!((cached.name(), cached.namespace(), cached.uid()), ("phi", "ml", "u"));
        assert_eq!(cached.annotation("a"), Some("b"));
        assert_eq!(cached.annotation(server_fields::LAST_APPLIED), None);
        assert_eq!((cached.controller_uid(), cached.deployment_uid()), (Some("o"), Some("o")));
        let disowned = json!({"metadata": {"annotations": {"kubefoundry.ai/deployment-uid": "o"}}});
        let disowned = CachedObject::new(disowned).unwrap();
        assert_eq!((disowned.controller_uid(), disowned.deployment_uid()), (None, Some("o")));
        assert_eq!(cached.chosen(), Some("kaito"));
        let value = cached.value();
        assert_eq!(value["spec"]["model"]["id"], "org/phi");
        assert_eq!(cached.metadata.managed_fields, None);
        assert_eq!(
            value["metadata"]["managedFields"],
            json!([
                {"manager": "kubectl", "operation": "Apply"},
                {"manager": "kaito-provider", "operation": "Apply", "subresource": "status", "time": "2026-01-01T00:00:00Z",
                 "fieldsV1": {"f:status": {"f:phase": {}, "f:endpoint": {"f:port": {}}}}},
            ])
        );
        let value = cached.without_contents().value();
        assert_eq!((&value["kind"], value.get("spec")), (&json!("ModelDeployment"), None));
    }

    #[test]
    fn of_other_kinds_only_whether_an_entry_is_about_the_status_is_kept() {
        let object = json!({
            "kind": "Workspace",
            "metadata": {"managedFields": [
                {"manager": "kaito", "subresource": "status", "fieldsType": "FieldsV1", "fieldsV1": {"f:status": {"f:state": {}}}},
                {"manager": "kubectl", "fieldsV1": {"f:spec": {"f:inference": {}}}},
                {"manager": "kubectl", "fieldsV1": null},
            ]},
        });
        assert_eq!(
            CachedObject::new(object).unwrap().value()["metadata"]["managedFields"],
            json!([
                {"manager": "kaito", "subresource": "status", "fieldsV1": {"f:status": {}}},
                {"manager": "kubectl"},
                {"manager": "kubectl"},
            ])
        );
        for without in [json!({"kind": "Workspace"}), json!({"metadata": {"managedFields": null}})] {
            assert_eq!(CachedObject::new(without).unwrap().value().pointer("/metadata/managedFields"), None);
        }
    }
}
