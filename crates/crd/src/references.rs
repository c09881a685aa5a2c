//! Schemas whose parts stand elsewhere: a reference takes the place of a schema, and is followed when a walk gets there.

use std::fmt::Debug;

use serde_json::Value;

/// Where the references of a schema lead.
///
/// A reference is a text in the place of a schema: under `properties`, `items`, `additionalProperties`, `not`, `allOf`,
/// `anyOf` or `oneOf`, or the schema of a version itself. What it stands for is a mapping, whose own parts may be
/// references again.
///
/// ```
/// use kubefoundry_crd::{CrdDefinition, ReferenceResolver};
/// use serde_json::{Value, json};
/// #[derive(Debug)]
/// struct Shared(Value);
/// impl ReferenceResolver for Shared {
///     fn resolve(&self, reference: &str) -> Option<&Value> {
///         self.0.get(reference)
///     }
/// }
/// let shared: &'static Shared = Box::leak(Box::new(Shared(json!({
///     "whole": {"type": "object", "properties": {"spec": "spec"}},
///     "spec": {"type": "object", "properties": {"suspend": {"type": "boolean"}}},
/// }))));
/// let crd = json!({"spec": {"group": "ray.io", "names": {"kind": "RayService"}, "versions": [
///     {"name": "v1", "served": true, "schema": {"openAPIV3Schema": "whole"}},
/// ]}});
/// let definition = CrdDefinition::with_references(crd, "the schema of KubeRay", shared).unwrap();
/// let schema = definition.version("v1").unwrap().schema().unwrap();
/// let object = json!({"metadata": {"name": "m"}, "spec": {"suspend": "yes"}});
/// assert_eq!(schema.check(&object)[0].path.to_string(), "spec.suspend");
/// ```
pub trait ReferenceResolver: Debug + Send + Sync {
    /// The schema that a reference stands for; `None` when there is none.
    fn resolve(&self, reference: &str) -> Option<&Value>;

    /// Whether the schema behind a reference may have a default. `false` is certain, so that the schema of a field that
    /// an object does not have need not be resolved.
    fn may_have_default(&self, _reference: &str) -> bool {
        true
    }
}

/// Follows the references of a schema, if it has any.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Resolver<'r>(Option<&'r dyn ReferenceResolver>);

impl<'r> Resolver<'r> {
    /// One for schemas that refer to these.
    pub(super) fn new(references: &'r dyn ReferenceResolver) -> Self {
        Self(Some(references))
    }

    /// The schema itself, or what it refers to.
    pub(super) fn resolve<'s>(self, schema: &'s Value) -> &'s Value
    where
        'r: 's,
    {
        match (schema, self.0) {
            (Value::String(reference), Some(references)) => references.resolve(reference).unwrap_or(schema),
            _ => schema,
        }
    }

    /// The default of a field, and whether its schema allows null.
    pub(super) fn default_of<'s>(self, schema: &'s Value) -> Option<(&'s Value, bool)>
    where
        'r: 's,
    {
        if let (Value::String(reference), Some(references)) = (schema, self.0)
            && !references.may_have_default(reference)
        {
            return None;
        }
        let schema = self.resolve(schema);
        let is_nullable = schema.get("nullable").and_then(Value::as_bool).unwrap_or(false);
        Some((schema.get("default")?, is_nullable))
    }

    /// The schema of a field of what a schema describes.
    pub(super) fn property_schema<'s>(self, schema: &'s Value, name: &str) -> Option<&'s Value>
    where
        'r: 's,
    {
        let properties = self.resolve(schema).get("properties")?;
        properties.get(name).map(|property| self.resolve(property))
    }

    /// A schema under a keyword of another: `items` or `additionalProperties`, where that is no boolean.
    pub(super) fn keyword_schema<'s>(self, schema: &'s Value, keyword: &str) -> Option<&'s Value>
    where
        'r: 's,
    {
        let below = self.resolve(schema).get(keyword)?;
        Some(self.resolve(below)).filter(|below| below.is_object())
    }
}
