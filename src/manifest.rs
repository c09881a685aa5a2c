//! Objects that go out: typed bodies, ownership marks, and our own order.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::dialect::Dialect;

/// A generated object. Field order is emission order.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// `group/version`.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// Its metadata.
    pub metadata: Metadata,
    /// Everything after `metadata`, in order: `spec`, or `resource` and `inference`, or `data`.
    pub body: Map<String, Value>,
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
    pub group: String,
    /// The kind.
    pub kind: String,
    /// The namespace, when stated.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

impl Identity {
    /// The identity of an object with these header fields.
    pub fn new(api_version: &str, kind: &str, namespace: Option<&str>, name: &str) -> Self {
        let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
        Self {
            group: group.to_owned(),
            kind: kind.to_owned(),
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        }
    }
}

impl Manifest {
    /// An object whose parts after `metadata` are the fields of `body` (a struct).
    ///
    /// # Errors
    /// When `body` does not serialize to a JSON object.
    pub fn new(
        api_version: impl Into<String>,
        kind: impl Into<String>,
        name: impl Into<String>,
        body: &impl Serialize,
    ) -> Result<Self, serde_json::Error> {
        let body = match serde_json::to_value(body)? {
            Value::Object(fields) => fields,
            other => Map::from_iter([("spec".to_owned(), other)]),
        };
        let metadata = Metadata { name: name.into(), ..Metadata::default() };
        Ok(Self { api_version: api_version.into(), kind: kind.into(), metadata, body })
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
    pub fn to_json(&self) -> Value {
        let mut object = Map::new();
        object.insert("apiVersion".to_owned(), Value::String(self.api_version.clone()));
        object.insert("kind".to_owned(), Value::String(self.kind.clone()));
        object.insert("metadata".to_owned(), serde_json::to_value(&self.metadata).unwrap_or_default());
        object.extend(self.body.clone());
        Value::Object(object)
    }
}

/// Marks an object as generated from a deployment: the manager's label (never on a claim, whose data outlives us) and
/// the annotation that names the deployment (DESIGN §6, ownership).
pub fn mark_owned(manifest: &mut Manifest, dialect: &Dialect, namespace: Option<&str>, name: &str) {
    if manifest.kind != "PersistentVolumeClaim" {
        manifest.metadata.labels.insert(dialect.label("managed-by"), Value::from(dialect.manager));
    }
    let owner = owner_name(namespace, name);
    manifest.metadata.annotations.insert(dialect.label("model-deployment"), Value::from(owner));
}

/// How the annotation names a deployment: `namespace/name`, or just the name where there is no namespace.
pub fn owner_name(namespace: Option<&str>, name: &str) -> String {
    namespace.map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}"))
}
