//! Objects as they are kept: their metadata, and the rest as text.
//!
//! Ten thousand deployments and what they become stay in memory as long as the operator runs. As text each takes a third of
//! what its tree takes, and it is read only when its turn comes.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::ApiResource;
use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};
use serde_json::Value;

/// An object of the cluster.
#[derive(Debug, Clone)]
pub(crate) struct Cached {
    /// Without managed fields and the last configuration of kubectl, which are long. The text has of managed fields what
    /// controllers say in the status of a ModelDeployment.
    pub(crate) metadata: ObjectMeta,
    text: Box<str>,
    /// `status.provider.name`, by which most events are sorted out.
    chosen: Option<Box<str>>,
}

/// Of a ModelDeployment, who says what in its status: a controller takes back what it does not say any more.
fn status_managers(object: &Value) -> Option<Value> {
    if object.get("kind")? != "ModelDeployment" {
        return None;
    }
    let entries = object.pointer("/metadata/managedFields")?.as_array()?;
    let of_status = |entry: &&Value| entry["subresource"] == "status" && entry["operation"] == "Apply";
    let kept = entries.iter().filter(of_status).map(|entry| {
        let mut status = entry.pointer("/fieldsV1/f:status").cloned().unwrap_or_default();
        // Fields of status and of its maps; what is deeper is said with them.
        for below in status.as_object_mut().into_iter().flat_map(serde_json::Map::values_mut) {
            for deeper in below.as_object_mut().into_iter().flat_map(serde_json::Map::values_mut) {
                *deeper = Value::Object(serde_json::Map::new());
            }
        }
        serde_json::json!({
            "manager": entry["manager"], "operation": "Apply", "subresource": "status",
            "fieldsV1": {"f:status": status},
        })
    });
    Some(Value::Array(kept.collect()))
}

/// An annotation that repeats the whole object.
const LAST_CONFIGURATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

impl Cached {
    /// Keeps an object.
    ///
    /// # Errors
    /// When its metadata is not what metadata look like.
    pub(crate) fn new(mut object: Value) -> Result<Self, serde_json::Error> {
        let managed = status_managers(&object);
        let chosen = object.pointer("/status/provider/name").and_then(Value::as_str).filter(|name| !name.is_empty());
        let chosen = chosen.map(Box::from);
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            match managed {
                Some(managed) => metadata.insert("managedFields".to_owned(), managed),
                None => metadata.remove("managedFields"),
            };
            if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
                annotations.remove(LAST_CONFIGURATION);
            }
        }
        let metadata = object.get("metadata").map_or_else(|| Ok(ObjectMeta::default()), ObjectMeta::deserialize)?;
        let metadata = ObjectMeta { managed_fields: None, ..metadata };
        Ok(Self { metadata, text: object.to_string().into_boxed_str(), chosen })
    }

    /// The same without what only an owner needs: kind and metadata.
    #[must_use]
    pub(crate) fn without_contents(self) -> Self {
        let mut value = self.value();
        if let Some(object) = value.as_object_mut() {
            object.retain(|key, _| matches!(key.as_str(), "apiVersion" | "kind" | "metadata"));
        }
        Self { text: value.to_string().into_boxed_str(), ..self }
    }

    /// The whole object, without what is not kept.
    pub(crate) fn value(&self) -> Value {
        // It was written from a tree, so it can be read.
        serde_json::from_str(&self.text).unwrap_or_default()
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
    use serde_json::json;

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
            json!([{"manager": "kaito-provider", "operation": "Apply", "subresource": "status",
                    "fieldsV1": {"f:status": {"f:phase": {}, "f:endpoint": {"f:port": {}}}}}])
        );
        let value = cached.without_contents().value();
        assert_eq!((&value["kind"], value.get("spec")), (&json!("ModelDeployment"), None));
    }
}
