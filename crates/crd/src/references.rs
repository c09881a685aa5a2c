//! Schemas with references to shared subschemas. A reference is followed when a walk reaches it.

use std::fmt::Debug;

use serde_json::Value;

/// Resolves the references of a schema.
///
/// A reference is a string in place of a schema: under `properties`, `items`, `additionalProperties`, `not`, `allOf`,
/// `anyOf` or `oneOf`, or as the schema of a version. It resolves to a mapping, which can contain further references.
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
    /// Returns the schema that a reference names; `None` if there is none.
    fn resolve(&self, reference: &str) -> Option<&Value>;

    /// Returns whether the referenced schema may have a default. If `false`, the schema of an absent field need not be
    /// resolved; `true` may be wrong.
    fn may_have_default(&self, _reference: &str) -> bool {
        true
    }

    /// Returns whether the referenced schema, or a schema below it, may have validation rules
    /// (`x-kubernetes-validations`). If `false`, the schema is not searched for rules; `true` may be wrong.
    ///
    /// The search follows all references, so schemas with rules must not refer to themselves.
    fn may_have_rules(&self, _reference: &str) -> bool {
        true
    }
}

/// Follows the references of a schema. The default resolver is for schemas without references.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Resolver<'r>(Option<&'r dyn ReferenceResolver>);

impl<'r> Resolver<'r> {
    /// Creates a resolver for schemas with these references.
    pub(super) fn new(references: &'r dyn ReferenceResolver) -> Self {
        Self(Some(references))
    }

    /// Returns the schema itself, or the schema that it refers to.
    pub(super) fn resolve<'s>(self, schema: &'s Value) -> &'s Value
    where
        'r: 's,
    {
        match (schema, self.0) {
            (Value::String(reference), Some(references)) => references.resolve(reference).unwrap_or(schema),
            _ => schema,
        }
    }

    /// Returns whether the schema, or a schema below it, may have validation rules.
    pub(super) fn may_have_rules(self, schema: &Value) -> bool {
        match (schema, self.0) {
            (Value::String(reference), Some(references)) => references.may_have_rules(reference),
            _ => true,
        }
    }

    /// Returns the default of a field, and whether its schema allows null.
    pub(super) fn find_default<'s>(self, schema: &'s Value) -> Option<(&'s Value, bool)>
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

    /// Returns the schema of a property.
    pub(super) fn property_schema<'s>(self, schema: &'s Value, name: &str) -> Option<&'s Value>
    where
        'r: 's,
    {
        let properties = self.resolve(schema).get("properties")?;
        properties.get(name).map(|property| self.resolve(property))
    }

    /// Returns the schema under a keyword: `items`, or `additionalProperties` unless that is a boolean.
    pub(super) fn keyword_schema<'s>(self, schema: &'s Value, keyword: &str) -> Option<&'s Value>
    where
        'r: 's,
    {
        let below = self.resolve(schema).get(keyword)?;
        Some(self.resolve(below)).filter(|below| below.is_object())
    }
}
