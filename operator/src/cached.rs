//! Objects as they are kept: what of their metadata decides whose turn it is, and all of it as compressed text.
//!
//! Ten thousand deployments and what they become stay in memory as long as the operator runs. As text each takes a
//! third of what its tree takes, compressed half of that, and it is read only when its turn comes.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::ApiResource;
use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};
use serde_json::{Map, Value, json};

/// An object of the cluster.
#[derive(Debug, Clone)]
pub(crate) struct Cached {
    /// Without labels, managed fields and the last configuration of kubectl. The text has the labels, and of managed
    /// fields who wrote when, and what of the status.
    pub(crate) metadata: ObjectMeta,
    text: Text,
    /// `status.provider.name`, by which most events are sorted out.
    chosen: Option<Box<str>>,
}

/// JSON text, compressed.
#[derive(Debug, Clone)]
struct Text(Box<[u8]>);

impl Text {
    fn of(object: &Value) -> Self {
        Self(lz4_flex::compress_prepend_size(object.to_string().as_bytes()).into_boxed_slice())
    }

    fn value(&self) -> Value {
        // It was written from a tree, so it can be read.
        let text = lz4_flex::decompress_size_prepended(&self.0).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }
}

/// Who wrote an object, when, and whether that was its status. What each manager said in the status of a deployment is
/// kept by name: they take turns, and each takes back what it does not say any more.
fn managers(object: &Value) -> Vec<Value> {
    let is_deployment = object.get("kind").and_then(Value::as_str) == Some(kubefoundry_model::wire::KIND);
    let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    let kept = |entry: &Value| {
        let mut kept = Map::new();
        for name in ["manager", "operation", "subresource", "time"] {
            if let Some(value) = entry.get(name) {
                kept.insert(name.to_owned(), value.clone());
            }
        }
        if let Some(status) = entry.pointer("/fieldsV1/f:status") {
            // Down to `f:conditions`, `k:{"type":"Ready"}`; of other objects only that it is there.
            let status = cut(status, if is_deployment { 2 } else { 0 });
            kept.insert("fieldsV1".to_owned(), json!({"f:status": status}));
        }
        Value::Object(kept)
    };
    entries.into_iter().flatten().map(kept).collect()
}

/// A tree down to a depth.
fn cut(tree: &Value, depth: usize) -> Value {
    let fields = tree.as_object().filter(|_| depth > 0);
    let below = |(name, below): (&String, &Value)| (name.clone(), cut(below, depth - 1));
    Value::Object(fields.into_iter().flatten().map(below).collect())
}

/// An annotation that repeats the whole object.
const LAST_CONFIGURATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

impl Cached {
    /// Keeps an object.
    ///
    /// # Errors
    /// When its metadata is not what metadata look like.
    pub(crate) fn new(mut object: Value) -> Result<Self, serde_json::Error> {
        let managers = managers(&object);
        let chosen = object.pointer("/status/provider/name").and_then(Value::as_str).filter(|name| !name.is_empty());
        let chosen = chosen.map(Box::from);
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            match managers.as_slice() {
                [] => metadata.remove("managedFields"),
                _ => metadata.insert("managedFields".to_owned(), Value::Array(managers)),
            };
            if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
                annotations.remove(LAST_CONFIGURATION);
            }
        }
        let metadata = object.get("metadata").map_or_else(|| Ok(ObjectMeta::default()), ObjectMeta::deserialize)?;
        let metadata = ObjectMeta { managed_fields: None, labels: None, ..metadata };
        Ok(Self { metadata, text: Text::of(&object), chosen })
    }

    /// The same saying of what kind it is: in lists of built-in kinds the apiserver leaves that out.
    #[must_use]
    pub(crate) fn of_kind(self, resource: &ApiResource) -> Self {
        let mut value = self.value();
        let Some(object) = value.as_object_mut().filter(|object| !object.contains_key("kind")) else { return self };
        object.insert("apiVersion".to_owned(), resource.api_version.as_str().into());
        object.insert("kind".to_owned(), resource.kind.as_str().into());
        Self { text: Text::of(&value), ..self }
    }

    /// The same without what only an owner needs: kind and metadata.
    #[must_use]
    pub(crate) fn without_contents(self) -> Self {
        let mut value = self.value();
        if let Some(object) = value.as_object_mut() {
            object.retain(|key, _| matches!(key.as_str(), "apiVersion" | "kind" | "metadata"));
        }
        Self { text: Text::of(&value), ..self }
    }

    /// The whole object, without what is not kept.
    pub(crate) fn value(&self) -> Value {
        self.text.value()
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    /// Its namespace; empty without one.
    pub(crate) fn namespace(&self) -> &str {
        self.metadata.namespace.as_deref().unwrap_or_default()
    }

    /// Its uid.
    pub(crate) fn uid(&self) -> &str {
        self.metadata.uid.as_deref().unwrap_or_default()
    }

    /// Its version, a number that grows (Kubernetes 1.35 promises it, and etcd has always counted).
    pub(crate) fn version(&self) -> Option<u64> {
        self.metadata.resource_version.as_deref()?.parse().ok()
    }

    /// `status.provider.name`, unless it is empty.
    pub(crate) fn chosen(&self) -> Option<&str> {
        self.chosen.as_deref()
    }

    /// One of its annotations.
    pub(crate) fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata.annotations.as_ref()?.get(key).map(String::as_str)
    }

    /// Whether it is being deleted.
    pub(crate) fn is_terminating(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// The uid of the controller that owns it.
    pub(crate) fn controller_uid(&self) -> Option<&str> {
        let owners = self.metadata.owner_references.as_deref()?;
        owners.iter().find(|owner| owner.controller == Some(true)).map(|owner| owner.uid.as_str())
    }
}

impl<'de> Deserialize<'de> for Cached {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl Serialize for Cached {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

impl Resource for Cached {
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
    use super::*;

    #[test]
    fn what_is_kept_is_the_object_without_its_history() {
        let object = json!({
            "apiVersion": "kubefoundry.ai/v1alpha1",
            "kind": "ModelDeployment",
            "metadata": {
                "name": "phi", "namespace": "ml", "uid": "u",
                "annotations": {"a": "b", LAST_CONFIGURATION: "{}"},
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
        let cached: Cached = serde_json::from_value(object).unwrap();
        assert_eq!((cached.name(), cached.namespace(), cached.uid()), ("phi", "ml", "u"));
        assert_eq!(cached.annotation("a"), Some("b"));
        assert_eq!(cached.annotation(LAST_CONFIGURATION), None);
        assert_eq!(cached.controller_uid(), Some("o"));
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
}
