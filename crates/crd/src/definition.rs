//! A CRD with its versions and their schemas.

use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};

use super::references::ReferenceResolver;
use super::schema::{self, CrdSchema};
use super::{CrdOrigin, CrdProblem, InstalledVersion, well_formed};
use crate::codes;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::{Node, Span};

/// A CustomResourceDefinition from a dump.
#[derive(Debug)]
pub struct CrdDefinition {
    pub(super) origin: CrdOrigin,
    group: String,
    kind: String,
    versions: Vec<CrdVersion>,
}

/// One version of a CRD.
#[derive(Debug)]
pub struct CrdVersion {
    /// The name: `v1alpha1`.
    pub name: String,
    /// Whether the API server serves the version.
    pub served: bool,
    /// Whether the API server stores objects in this version and does not deprecate it.
    is_preferred: bool,
    group: String,
    kind: String,
    origin: CrdOrigin,
    schema: Arc<Value>,
    references: Option<&'static dyn ReferenceResolver>,
    /// Whether the schema was checked when it was embedded, so that [`well_formed`] need not check it again.
    is_trusted: bool,
    compiled: OnceLock<Result<CrdSchema, CrdProblem>>,
}

impl CrdDefinition {
    /// Finds the CRD of a kind in a node: the node itself, an item of a sequence, or an item of a `List`.
    pub(super) fn find(
        node: &Node<'_>,
        group: &str,
        kind: &str,
        origin: &CrdOrigin,
    ) -> Option<Result<Self, CrdProblem>> {
        if let Some(definition) = node.items().iter().find_map(|item| Self::find(item, group, kind, origin)) {
            return Some(definition);
        }
        if let Some(items) = node.get("items") {
            return Self::find(items, group, kind, origin);
        }
        // The items of a typed list from the API server have no `kind`.
        let is_crd = node.get("kind").is_none_or(|kind| kind.as_str() == Some("CustomResourceDefinition"));
        if !is_crd {
            return None;
        }
        let spec = node.get("spec")?;
        if spec.get("group")?.as_str() != Some(group) {
            return None;
        }
        let Some(declared_kind) = spec.get("names").and_then(|names| names.get("kind")) else {
            let message = format!("a CRD of {group} has no spec.names.kind");
            return Some(Err(CrdProblem::new(&codes::UNUSABLE_CRD, origin, message)));
        };
        (declared_kind.as_str() == Some(kind)).then(|| Self::from_node(node, spec, group, kind, origin))
    }

    /// Reads a CRD from a dump. `spec` is the node of its specification.
    fn from_node(
        node: &Node<'_>,
        spec: &Node<'_>,
        group: &str,
        kind: &str,
        origin: &CrdOrigin,
    ) -> Result<Self, CrdProblem> {
        let unusable = |message: String| CrdProblem::new(&codes::UNUSABLE_CRD, origin, message);
        if let Some(version) = node.get("apiVersion").and_then(Node::as_str)
            && version != "apiextensions.k8s.io/v1"
        {
            let message = format!("the CRD of {kind} has apiVersion {version:?}, expected apiextensions.k8s.io/v1");
            return Err(unusable(message));
        }
        let versions = spec.get("versions").map(Node::items).unwrap_or_default();
        let versions = versions.iter().map(|version| {
            let name = version.get("name").and_then(Node::as_str);
            let schema = version.get("schema").and_then(|schema| schema.get("openAPIV3Schema"));
            let (Some(name), Some(schema)) = (name, schema.filter(|schema| !schema.entries().is_empty())) else {
                let message =
                    format!("a version of the CRD of {kind} has no name or no schema.openAPIV3Schema, expected both");
                return Err(unusable(message));
            };
            let Some(yaml::Value::Bool(served)) = version.get("served").map(|served| &served.value) else {
                let message = format!("version {name} of the CRD of {kind} has no served, expected true or false");
                return Err(unusable(message));
            };
            let is_set =
                |key: &str| version.get(key).is_some_and(|value| matches!(value.value, yaml::Value::Bool(true)));
            Ok(CrdVersion {
                name: name.to_owned(),
                served: *served,
                is_preferred: is_set("storage") && !is_set("deprecated"),
                group: group.to_owned(),
                kind: kind.to_owned(),
                origin: origin.clone(),
                schema: Arc::new(strip_prose(schema)),
                references: None,
                is_trusted: false,
                compiled: OnceLock::new(),
            })
        });
        let versions = versions.collect::<Result<Vec<_>, _>>()?;
        if versions.is_empty() {
            return Err(unusable(format!("the CRD of {kind} has no versions, expected at least one")));
        }
        Ok(Self { origin: origin.clone(), group: group.to_owned(), kind: kind.to_owned(), versions })
    }

    /// Creates a definition from a CRD in JSON. Messages name `file` as its origin. The schemas are trusted: a keyword
    /// with a value of a wrong type is ignored.
    ///
    /// ```
    /// use kubefoundry_crd::CrdDefinition;
    /// let crd = serde_json::json!({
    ///     "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    ///     "spec": {"group": "ray.io", "names": {"kind": "RayService"}, "versions": [
    ///         {"name": "v1", "served": true, "schema": {"openAPIV3Schema": {"type": "object"}}},
    ///     ]},
    /// });
    /// let definition = CrdDefinition::from_value(crd, "the CRDs of KubeRay 1.3").unwrap();
    /// let schema = definition.version("v1").unwrap().schema().unwrap();
    /// let object = serde_json::json!({"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": "m"}, "spec": {}});
    /// let violations = schema.check(&object);
    /// assert_eq!(violations[0].sentence("RayService m", schema),
    ///     "RayService m would have spec, which ray.io/v1 RayService in the CRDs of KubeRay 1.3 does not have");
    /// ```
    ///
    /// # Errors
    /// When the CRD has no group, kind or version, or a version has no name or schema.
    pub fn from_value(crd: Value, file: impl Into<String>) -> Result<Self, CrdProblem> {
        Self::from_json(crd, file.into(), None)
    }

    /// Like [`CrdDefinition::from_value`], for a CRD in whose schemas references can replace subschemas. CRD validation
    /// rules (`x-kubernetes-validations`) behind a reference are not evaluated.
    ///
    /// # Errors
    /// As for [`CrdDefinition::from_value`].
    pub fn with_references(
        crd: Value,
        file: impl Into<String>,
        references: &'static dyn ReferenceResolver,
    ) -> Result<Self, CrdProblem> {
        Self::from_json(crd, file.into(), Some(references))
    }

    /// Reads a trusted CRD, whose schemas may have references.
    fn from_json(
        mut crd: Value,
        file: String,
        references: Option<&'static dyn ReferenceResolver>,
    ) -> Result<Self, CrdProblem> {
        let origin = CrdOrigin { source: None, file, span: Span { start: 0, end: 0 } };
        let unusable = |field: &str| CrdProblem::new(&codes::UNUSABLE_CRD, &origin, format!("the CRD has no {field}"));
        let text = |value: &Value, pointer: &str| value.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let group = text(&crd, "/spec/group").ok_or_else(|| unusable("spec.group"))?;
        let kind = text(&crd, "/spec/names/kind").ok_or_else(|| unusable("spec.names.kind"))?;
        let versions = crd.pointer_mut("/spec/versions").and_then(Value::as_array_mut);
        let versions = versions.filter(|versions| !versions.is_empty()).ok_or_else(|| unusable("spec.versions"))?;
        let is_set = |version: &Value, key: &str| version.get(key).and_then(Value::as_bool).unwrap_or(false);
        let versions = versions.iter_mut().map(|version| {
            let name = text(version, "/name").ok_or_else(|| unusable("spec.versions[].name"))?;
            let schema = version.pointer_mut("/schema/openAPIV3Schema").map(Value::take);
            let schema = schema.ok_or_else(|| unusable("spec.versions[].schema.openAPIV3Schema"))?;
            Ok(CrdVersion {
                name,
                served: is_set(version, "served"),
                is_preferred: is_set(version, "storage") && !is_set(version, "deprecated"),
                group: group.clone(),
                kind: kind.clone(),
                origin: origin.clone(),
                schema: Arc::new(schema),
                references,
                is_trusted: true,
                compiled: OnceLock::new(),
            })
        });
        let versions = versions.collect::<Result<Vec<_>, _>>()?;
        Ok(Self { origin: origin.clone(), group, kind, versions })
    }

    /// Returns whether both definitions have the same versions with the same schemas.
    pub(super) fn is_equivalent(&self, other: &Self) -> bool {
        let are_equal = |(one, two): (&CrdVersion, &CrdVersion)| {
            one.name == two.name && one.served == two.served && one.schema == two.schema
        };
        (&self.group, &self.kind, self.versions.len()) == (&other.group, &other.kind, other.versions.len())
            && self.versions.iter().zip(&other.versions).all(are_equal)
    }

    /// Returns the name of a version in messages: `ray.io/v1 RayService`.
    pub(super) fn version_name(&self, version: &str) -> String {
        format!("{}/{version} {}", self.group, self.kind)
    }

    /// Returns the names of the served versions.
    pub fn served_versions(&self) -> impl Iterator<Item = &str> {
        self.versions.iter().filter(|version| version.served).map(|version| version.name.as_str())
    }

    /// Returns the version in which objects are stored, as `group/version`, if it is served and not deprecated.
    pub(super) fn stored_version(&self) -> Option<String> {
        let preferred = self.versions.iter().find(|version| version.served && version.is_preferred);
        preferred.map(|version| format!("{}/{}", self.group, version.name))
    }

    /// Returns the served versions, each with the fingerprint of its schema.
    pub(super) fn installed_versions(&self) -> impl Iterator<Item = InstalledVersion> {
        self.versions.iter().filter(|version| version.served).map(|version| InstalledVersion {
            group: self.group.clone(),
            version: version.name.clone(),
            kind: self.kind.clone(),
            fingerprint: schema::fingerprint(&version.schema),
        })
    }

    /// Returns a version if it is served.
    pub fn version(&self, name: &str) -> Option<&CrdVersion> {
        self.versions.iter().find(|version| version.served && version.name == name)
    }
}

impl CrdVersion {
    /// Returns the schema, which is checked and prepared on the first call.
    ///
    /// # Errors
    /// When a keyword of the schema cannot be used.
    pub fn schema(&self) -> Result<&CrdSchema, &CrdProblem> {
        let build = || {
            let name = format!("{}/{} {}", self.group, self.name, self.kind);
            if !self.is_trusted {
                well_formed::check(&self.schema).map_err(|error| {
                    let message = format!("the schema of {name} cannot be used: {error}");
                    CrdProblem::new(&codes::UNUSABLE_CRD, &self.origin, message)
                })?;
            }
            Ok(CrdSchema::new(name, &self.schema, self.references, &self.origin))
        };
        self.compiled.get_or_init(build).as_ref()
    }
}

/// Converts a schema to JSON without its descriptions, titles and examples, which make up most of its size.
fn strip_prose(node: &Node<'_>) -> Value {
    let yaml::Value::Mapping(entries) = &node.value else { return node.to_json() };
    let mut schema = Map::new();
    for entry in entries {
        let value = match entry.key.as_ref() {
            "description" | "title" | "example" | "externalDocs" => continue,
            "properties" => match &entry.node.value {
                yaml::Value::Mapping(properties) => Value::Object(
                    properties
                        .iter()
                        .map(|property| (property.key.clone().into_owned(), strip_prose(&property.node)))
                        .collect(),
                ),
                _ => entry.node.to_json(),
            },
            "items" | "additionalProperties" | "not" => strip_prose(&entry.node),
            "allOf" | "anyOf" | "oneOf" => Value::Array(entry.node.items().iter().map(strip_prose).collect()),
            _ => entry.node.to_json(),
        };
        schema.insert(entry.key.clone().into_owned(), value);
    }
    Value::Object(schema)
}
