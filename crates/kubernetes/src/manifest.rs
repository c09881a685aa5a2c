//! Generated objects: typed bodies, ownership marks and emission order.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::api_group::ApiGroup;
use crate::header::group_of;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::infallible::to_json;

/// The fields of an object that follow `metadata`, in emission order.
///
/// Every serializable struct implements this trait. A manifest keeps the struct itself, so that YAML can be written
/// without building a tree of JSON values first.
pub trait Body: std::fmt::Debug + Send + Sync {
    /// Returns the fields as JSON, or an empty map if the value does not serialize to a JSON object.
    fn fields(&self) -> Map<String, Value>;

    /// Returns the [outline](crate::outline) of the fields, if it can be computed.
    fn outline(&self) -> Option<u64>;

    /// Returns whether a mapping in the fields has a key for which `is_wanted` holds. It may also return `true` for
    /// fields that cannot be serialized.
    fn has_key(&self, is_wanted: &dyn Fn(&str) -> bool) -> bool;

    /// Appends the fields as YAML without indentation. Appends nothing if there are no fields.
    fn write_yaml(&self, out: &mut String);
}

impl<T: Serialize + std::fmt::Debug + Send + Sync> Body for T {
    fn fields(&self) -> Map<String, Value> {
        match to_json(self) {
            Value::Object(fields) => fields,
            _ => Map::new(),
        }
    }

    fn outline(&self) -> Option<u64> {
        crate::outline::outline(self)
    }

    fn has_key(&self, is_wanted: &dyn Fn(&str) -> bool) -> bool {
        crate::key_search::has_key(self, is_wanted)
    }

    fn write_yaml(&self, out: &mut String) {
        // The writer prints an empty mapping as `{}`, which would not be valid after the fields of the header.
        let start = out.len();
        yaml::to_yaml(self, out);
        if out.get(start..) == Some("{}\n") {
            out.truncate(start);
        }
    }
}

/// A generated object. Field order is emission order.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// `group/version`.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// Name, namespace, labels, annotations and owners.
    pub metadata: Metadata,
    /// Everything after `metadata`, in order: `spec`, or `resource` and `inference`, or `data`.
    pub body: Arc<dyn Body>,
}

/// Metadata of a generated object. Empty parts are omitted from the output.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// The name.
    pub name: String,
    /// The namespace; an absent one stays absent in the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Labels, in order.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub labels: Map<String, Value>,
    /// Annotations, in order.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub annotations: Map<String, Value>,
    /// The owners, by which Kubernetes deletes the object with them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owner_references: Vec<OwnerReference>,
}

/// The value of the ownership annotation on a shared object, which belongs to several objects.
pub const ALL_OWNERS: &str = "*";

/// The owner of an object (meta/v1 OwnerReference).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OwnerReference {
    /// `group/version`.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The name.
    pub name: String,
    /// The owner's UID in the cluster.
    pub uid: String,
    /// Whether the owner is the managing controller. Always true here.
    pub controller: bool,
    /// Whether the owner cannot be deleted in the foreground before this object. Always true here.
    pub block_owner_deletion: bool,
}

/// The fields that identify an object in a cluster. The API version is not one of them, because the API server serves
/// the same object in several versions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    /// The API group, empty for the core group.
    pub group: Arc<str>,
    /// The kind.
    pub kind: Arc<str>,
    /// The namespace, if the object has one.
    pub namespace: Option<Arc<str>>,
    /// The name.
    pub name: Arc<str>,
}

impl Identity {
    /// Creates the identity of an object with these header fields. The version of `api_version` is dropped.
    pub fn new(api_version: &str, kind: &str, namespace: Option<&str>, name: &str) -> Self {
        let group = group_of(api_version).into();
        Self { group, kind: kind.into(), namespace: namespace.map(Arc::from), name: name.into() }
    }
}

impl Manifest {
    /// Creates an object whose fields after `metadata` are those of the struct `body`.
    pub fn new(
        api_version: impl Into<String>,
        kind: impl Into<String>,
        name: impl Into<String>,
        body: impl Body + 'static,
    ) -> Self {
        let metadata = Metadata { name: name.into(), ..Metadata::default() };
        Self { api_version: api_version.into(), kind: kind.into(), metadata, body: Arc::new(body) }
    }

    /// Adds a label.
    #[must_use]
    pub fn with_label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.labels.insert(key.into(), Value::String(value.into()));
        self
    }

    /// Adds an annotation.
    #[must_use]
    pub fn with_annotation(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.annotations.insert(key.into(), Value::String(value.into()));
        self
    }

    /// Returns the fields that identify the object in a cluster.
    pub fn identity(&self) -> Identity {
        Identity::new(&self.api_version, &self.kind, self.metadata.namespace.as_deref(), &self.metadata.name)
    }

    /// Converts the whole object to JSON, in emission order.
    pub fn into_json(self) -> Value {
        let Self { api_version, kind, metadata, body } = self;
        let body = body.fields();
        let mut object = Map::with_capacity(body.len() + 3);
        object.insert("apiVersion".to_owned(), Value::String(api_version));
        object.insert("kind".to_owned(), Value::String(kind));
        object.insert("metadata".to_owned(), to_json(&metadata));
        object.extend(body);
        Value::Object(object)
    }

    /// Appends the whole object as a YAML document, in emission order. The text equals that of its JSON form written as
    /// YAML.
    pub fn write_yaml(&self, out: &mut String) {
        let head = Head { api_version: &self.api_version, kind: &self.kind, metadata: &self.metadata };
        yaml::to_yaml(&head, out);
        self.body.write_yaml(out);
    }
}

/// The fields with which every object begins.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Head<'m> {
    api_version: &'m str,
    kind: &'m str,
    metadata: &'m Metadata,
}

/// The annotation that names the ModelDeployment from which an object was generated, without the prefix of the API
/// group.
pub const MODEL_DEPLOYMENT: &str = "model-deployment";

/// Marks an object as generated from another object, by the manager's label and the annotation that names the other
/// object (docs/design/0016).
///
/// A PersistentVolumeClaim does not get the label, because its data outlives the deployment.
pub fn mark_owned(
    manifest: &mut Manifest,
    api_group: &ApiGroup,
    annotation: &str,
    namespace: Option<&str>,
    name: &str,
) {
    if manifest.kind != "PersistentVolumeClaim" {
        manifest.metadata.labels.insert(api_group.label("managed-by"), Value::from(api_group.manager));
    }
    let owner = owner_name(namespace, name);
    manifest.metadata.annotations.insert(api_group.label(annotation), Value::from(owner));
}

/// Prefixes of the annotations in which clients of KRM functions store their own state.
const BOOKKEEPING: [&str; 5] = [
    "config.kubernetes.io/",
    "internal.config.kubernetes.io/",
    "config.k8s.io/",
    "internal.config.k8s.io/",
    "kustomize.config.k8s.io/",
];

/// Returns whether kustomize or kpt added an annotation for its own use, rather than the user.
///
/// ```
/// use kubefoundry_kubernetes::manifest::is_bookkeeping;
/// assert!(is_bookkeeping("internal.config.kubernetes.io/path"));
/// assert!(!is_bookkeeping("example.com/team"));
/// ```
pub fn is_bookkeeping(key: &str) -> bool {
    BOOKKEEPING.iter().any(|prefix| key.starts_with(prefix))
}

/// Returns how the owner annotation names an object: `namespace/name`, or only the name if there is no namespace.
pub fn owner_name(namespace: Option<&str>, name: &str) -> String {
    namespace.map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}"))
}

/// Fields that are mappings with arbitrary keys. A key `image` in one of them does not hold a container image.
static FREE_KEY_FIELDS: &[&str] = &["annotations", "data", "labels", "matchLabels", "nodeSelector", "stringData"];

/// Returns the container images of an object, sorted. It collects the value of every field `image` that is a string,
/// which is the name of that field in all CRDs that are rendered.
///
/// ```
/// use kubefoundry_kubernetes::manifest::images;
/// let object = serde_json::json!({
///     "metadata": {"labels": {"image": "blue"}},
///     "spec": {"containers": [{"image": "b"}, {"image": "a"}], "initContainers": [{"image": "a"}]},
/// });
/// assert_eq!(images(&object).into_iter().collect::<Vec<_>>(), ["a", "b"]);
/// ```
pub fn images(object: &Value) -> BTreeSet<&str> {
    let mut images = BTreeSet::new();
    collect_images(object, &mut images);
    images
}

fn collect_images<'v>(value: &'v Value, images: &mut BTreeSet<&'v str>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_images(item, images)),
        Value::Object(fields) => {
            for (key, value) in fields.iter().filter(|(key, _)| !FREE_KEY_FIELDS.contains(&key.as_str())) {
                match value {
                    Value::String(image) if key == "image" => {
                        images.insert(image);
                    }
                    nested => collect_images(nested, images),
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ignores_labels_called_image() {
        let object = json!({
            "metadata": {"labels": {"image": "blue"}},
            "spec": {
                "template": {"containers": [{"image": "b"}, {"image": "a"}], "initContainers": [{"image": "a"}]},
                "components": [{"extraPodSpec": {"mainContainer": {"image": "c"}, "nodeSelector": {"image": "x"}}}],
                "image": {"reference": "not a string"},
            },
        });
        assert_eq!(images(&object).into_iter().collect::<Vec<_>>(), ["a", "b", "c"]);
    }
}
