//! Objects that go out: typed bodies, ownership marks, and our own order.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::api_group::ApiGroup;
use kubefoundry_yaml as yaml;

/// What stands behind the metadata of an object: the fields of a struct, in order.
///
/// Every serializable type is one. It is kept as it is until somebody asks for a form of it, so that text is written
/// without a tree of values in between.
pub trait Body: std::fmt::Debug + Send + Sync {
    /// The fields as JSON; empty when it does not serialize to a JSON object.
    fn fields(&self) -> Map<String, Value>;

    /// The [outline](crate::outline) of the fields, when they have one.
    fn outline(&self) -> Option<u64>;

    /// The fields as YAML, at no indentation; nothing when there are none.
    fn write_yaml(&self, out: &mut String);
}

impl<T: Serialize + std::fmt::Debug + Send + Sync> Body for T {
    fn fields(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        }
    }

    fn outline(&self) -> Option<u64> {
        crate::outline::outline(self)
    }

    fn write_yaml(&self, out: &mut String) {
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
    /// Its metadata.
    pub metadata: Metadata,
    /// Everything after `metadata`, in order: `spec`, or `resource` and `inference`, or `data`.
    pub body: Arc<dyn Body>,
}

/// Metadata of a generated object; empty parts are left out.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// The name.
    pub name: String,
    /// The namespace; absent stays absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Labels, in order.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub labels: Map<String, Value>,
    /// Annotations, in order.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub annotations: Map<String, Value>,
    /// Owners.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owner_references: Vec<OwnerReference>,
}

impl Metadata {
    /// As JSON.
    fn into_json(self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

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
    /// The identity in the cluster.
    pub uid: String,
    /// Always true: there is one controller.
    pub controller: bool,
    /// Always true.
    pub block_owner_deletion: bool,
}

/// What tells two objects apart. The version does not: one object has many.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    /// API group; empty for core.
    pub group: Arc<str>,
    /// The kind.
    pub kind: Arc<str>,
    /// The namespace, when stated.
    pub namespace: Option<Arc<str>>,
    /// The name.
    pub name: Arc<str>,
}

impl Identity {
    /// The identity of an object with these header fields.
    pub fn new(api_version: &str, kind: &str, namespace: Option<&str>, name: &str) -> Self {
        let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
        Self { group: group.into(), kind: kind.into(), namespace: namespace.map(Arc::from), name: name.into() }
    }
}

impl Manifest {
    /// An object whose parts after `metadata` are the fields of `body` (a struct).
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
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.labels.insert(key.into(), Value::String(value.into()));
        self
    }

    /// Adds an annotation.
    #[must_use]
    pub fn annotation(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.annotations.insert(key.into(), Value::String(value.into()));
        self
    }

    /// What tells it from others.
    pub fn identity(&self) -> Identity {
        Identity::new(&self.api_version, &self.kind, self.metadata.namespace.as_deref(), &self.metadata.name)
    }

    /// The whole object as JSON, in emission order.
    pub fn into_json(self) -> Value {
        let Self { api_version, kind, metadata, body } = self;
        let body = body.fields();
        let mut object = Map::with_capacity(body.len() + 3);
        object.insert("apiVersion".to_owned(), Value::String(api_version));
        object.insert("kind".to_owned(), Value::String(kind));
        object.insert("metadata".to_owned(), metadata.into_json());
        object.extend(body);
        Value::Object(object)
    }

    /// The whole object as a YAML document, in emission order: what its JSON would be written as.
    pub fn write_yaml(&self, out: &mut String) {
        let head = Head { api_version: &self.api_version, kind: &self.kind, metadata: &self.metadata };
        yaml::to_yaml(&head, out);
        self.body.write_yaml(out);
    }
}

/// What every object begins with.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Head<'m> {
    api_version: &'m str,
    kind: &'m str,
    metadata: &'m Metadata,
}

/// Name of the annotation of what was generated from a ModelDeployment, without the prefix of the API group.
pub const MODEL_DEPLOYMENT: &str = "model-deployment";

/// Marks an object as generated from another: the manager's label (never on a claim, whose data outlives us) and
/// the annotation that names the other (docs/design/0016).
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

/// Prefixes of the annotations by which clients of KRM functions keep their books.
const BOOKKEEPING: [&str; 5] = [
    "config.kubernetes.io/",
    "internal.config.kubernetes.io/",
    "config.k8s.io/",
    "internal.config.k8s.io/",
    "kustomize.config.k8s.io/",
];

/// Whether an annotation is a note that kustomize or kpt makes for itself, and not the user's word.
///
/// ```
/// use kubefoundry_kubernetes::manifest::is_bookkeeping;
/// assert!(is_bookkeeping("internal.config.kubernetes.io/path"));
/// assert!(!is_bookkeeping("example.com/team"));
/// ```
pub fn is_bookkeeping(key: &str) -> bool {
    BOOKKEEPING.iter().any(|prefix| key.starts_with(prefix))
}

/// How the annotation names an object: `namespace/name`, or just the name where there is no namespace.
pub fn owner_name(namespace: Option<&str>, name: &str) -> String {
    namespace.map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}"))
}

/// Fields whose keys are a user's words and not fields of the object.
static FREE_KEYS: &[&str] = &["annotations", "data", "labels", "matchLabels", "nodeSelector", "stringData"];

/// Every container image that an object names, sorted: the value of every field `image` that is a string, for all targets
/// call a container's image so.
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
            for (key, value) in fields.iter().filter(|(key, _)| !FREE_KEYS.contains(&key.as_str())) {
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

    /// A label that happens to be called `image` names no image.
    #[test]
    fn only_fields_count() {
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
