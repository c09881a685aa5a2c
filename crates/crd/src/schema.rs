//! The schema of one version of a CRD, prepared for checking objects.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde_json::Value;

use super::pattern::PatternCache;
use super::references::{ReferenceResolver, Resolver};
use super::structural::{CheckScope, Checker, ValueRole};
use super::validation_rules::{RuleContext, RuleNode};
use super::violation::RootSchema;
use super::walk_path::WalkPath;
use super::{CrdOrigin, CrdProblem, SchemaViolation, defaults, list_types, metadata, validation_rules};
use crate::codes;
use kubefoundry_cel::Limits;
use kubefoundry_cel::crd::RuleEvaluator;
use kubefoundry_diagnostics::{Code, Diagnostic};
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::fingerprint::fnv1a_64;

/// Limits on the evaluation of all validation rules of a CRD for one object.
const RULE_LIMITS: Limits = Limits { expression_bytes: 4096, nesting: 32, steps: 5_000_000, value_bytes: 8 << 20 };

/// A schema with its compiled patterns and rules.
pub struct CrdSchema {
    /// The version and kind: `ray.io/v1 RayService`.
    pub name: String,
    /// The position of the CRD.
    pub origin: CrdOrigin,
    fingerprint: OnceLock<String>,
    raw: Arc<Value>,
    references: Option<&'static dyn ReferenceResolver>,
    patterns: PatternCache,
    rules: OnceLock<RuleNode>,
    /// A pool of rule evaluators: one per thread that evaluates rules at the same time.
    evaluators: Mutex<Vec<RuleEvaluator>>,
}

impl std::fmt::Debug for CrdSchema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CrdSchema").field("name", &self.name).finish_non_exhaustive()
    }
}

impl CrdSchema {
    pub(super) fn new(
        name: String,
        raw: &Arc<Value>,
        references: Option<&'static dyn ReferenceResolver>,
        origin: &CrdOrigin,
    ) -> Self {
        Self {
            name,
            origin: origin.clone(),
            fingerprint: OnceLock::new(),
            raw: Arc::clone(raw),
            references,
            patterns: PatternCache::default(),
            rules: OnceLock::new(),
            evaluators: Mutex::new(Vec::new()),
        }
    }

    /// Returns a hash of the schema's content, which does not depend on notation and descriptions. References are
    /// hashed unresolved.
    pub fn fingerprint(&self) -> &str {
        self.fingerprint.get_or_init(|| fingerprint(&self.raw))
    }

    /// Creates a finding about the schema itself, at the position of the CRD.
    pub fn diagnostic(&self, code: &'static Code, message: String) -> Diagnostic {
        CrdProblem::new(code, &self.origin, message).diagnostic()
    }

    /// Returns the schema of the CRD with unresolved references and without descriptions.
    pub fn raw(&self) -> &Value {
        &self.raw
    }

    /// Returns the origin of the schema for messages: the name of a file, or a description.
    pub fn file(&self) -> &str {
        &self.origin.file
    }

    /// Returns whether the schema has a field. In the path, `*` stands for any key of a map or any item of a list.
    pub fn has_field(&self, path: &str) -> bool {
        self.subschema(path).is_some()
    }

    /// Returns whether the schema requires a field in the object above it. The path is as in [`CrdSchema::has_field`].
    ///
    /// ```
    /// use kubefoundry_crd::CrdDefinition;
    /// let crd = serde_json::json!({"spec": {"group": "a.b", "names": {"kind": "K"}, "versions": [{
    ///     "name": "v1", "served": true,
    ///     "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {
    ///         "type": "object", "required": ["a"], "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
    ///     }}}},
    /// }]}});
    /// let definition = CrdDefinition::from_value(crd, "the CRD of K").unwrap();
    /// let schema = definition.version("v1").unwrap().schema().unwrap();
    /// assert!(schema.requires_field("spec.a") && !schema.requires_field("spec.b") && !schema.requires_field("spec"));
    /// ```
    pub fn requires_field(&self, path: &str) -> bool {
        let (parent, field) = path.rsplit_once('.').map_or((None, path), |(parent, field)| (Some(parent), field));
        let Some(parent) = parent.map_or(Some(&*self.raw), |parent| self.subschema(parent)) else { return false };
        let required = self.resolver().resolve(parent).get("required").and_then(Value::as_array);
        required.is_some_and(|required| required.iter().any(|name| name == field))
    }

    /// Returns the schema of a field; `*` as in [`CrdSchema::has_field`].
    fn subschema(&self, path: &str) -> Option<&Value> {
        let resolver = self.resolver();
        path.split('.').try_fold(&*self.raw, |schema, name| child_schema(resolver, schema, name))
    }

    /// Returns the schema of the field at a path of an object, without references at its top.
    ///
    /// ```
    /// use kubefoundry_crd::CrdDefinition;
    /// use kubefoundry_yaml::field_path::FieldPath;
    /// let crd = serde_json::json!({"spec": {"group": "ray.io", "names": {"kind": "RayService"}, "versions": [{
    ///     "name": "v1", "served": true,
    ///     "schema": {"openAPIV3Schema": {"type": "object", "properties": {"groups": {"type": "array", "items": {
    ///         "type": "string",
    ///     }}}}},
    /// }]}});
    /// let definition = CrdDefinition::from_value(crd, "the CRDs of KubeRay 1.3").unwrap();
    /// let schema = definition.version("v1").unwrap().schema().unwrap();
    /// assert_eq!(schema.schema_of(&FieldPath::parse("groups").index(2)).unwrap()["type"], "string");
    /// assert!(schema.schema_of(&FieldPath::parse("group")).is_none());
    /// ```
    pub fn schema_of(&self, path: &FieldPath) -> Option<&Value> {
        super::schema_at(&self.raw, path.segments(), self.resolver()).map(|schema| self.resolver().resolve(schema))
    }

    /// Checks an object as if it were created, and returns what the API server would refuse or drop.
    pub fn check(&self, object: &Value) -> Vec<SchemaViolation> {
        let mut object = object.clone();
        defaults::apply(&self.raw, &mut object, self.resolver());
        let root = FieldPath::root();
        let mut violations: Vec<SchemaViolation> = Vec::new();
        self.checker().check(&self.raw, &object, &WalkPath::Start(&root), ValueRole::WholeObject, &mut violations);
        list_types::check(&self.raw, &object, &WalkPath::Start(&root), self.resolver(), &mut violations);
        metadata::check(&object, &mut violations);
        // Rules are evaluated only on structurally valid objects, as in the API server. A pattern that cannot be
        // evaluated does not make an object invalid.
        if violations.iter().all(|violation| *violation.code == codes::CRD_RULE_NOT_EVALUATED) {
            let rules = self.rules.get_or_init(|| RuleNode::from_schema(&self.raw, self.resolver()));
            if !rules.is_empty() {
                let evaluator = self.take_evaluator();
                evaluator.refill();
                let context = RuleContext { evaluator: &evaluator, resolver: self.resolver() };
                validation_rules::check(rules, &self.raw, &object, context, &mut violations);
                self.return_evaluator(evaluator);
            }
        }
        sorted_and_deduplicated(violations)
    }

    /// Checks the outline of an object: unknown fields, missing fields and wrong types. Values, metadata and rules are
    /// not checked. Two objects with the same fields of the same types get the same result, except for indexes in
    /// lists.
    ///
    /// ```
    /// use kubefoundry_crd::CrdDefinition;
    /// let crd = serde_json::json!({"spec": {"group": "ray.io", "names": {"kind": "RayService"}, "versions": [{
    ///     "name": "v1", "served": true,
    ///     "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": {
    ///         "policy": {"type": "string", "enum": ["a", "b"]},
    ///     }}}}},
    /// }]}});
    /// let definition = CrdDefinition::from_value(crd, "the CRDs of KubeRay 1.3").unwrap();
    /// let schema = definition.version("v1").unwrap().schema().unwrap();
    /// assert!(schema.check_outline(&serde_json::json!({"spec": {"policy": "c"}})).is_empty());
    /// let violations = schema.check_outline(&serde_json::json!({"spec": {"policy": 1}}));
    /// assert_eq!(violations[0].path.to_string(), "spec.policy");
    /// ```
    pub fn check_outline(&self, object: &Value) -> Vec<SchemaViolation> {
        let mut object = object.clone();
        defaults::apply(&self.raw, &mut object, self.resolver());
        let (root, mut violations) = (FieldPath::root(), Vec::new());
        let checker = Checker { scope: CheckScope::Outline, ..self.checker() };
        checker.check(&self.raw, &object, &WalkPath::Start(&root), ValueRole::WholeObject, &mut violations);
        sorted_and_deduplicated(violations)
    }

    /// Checks a value against a part of the schema. The value is at `path` of another object, and violations name that
    /// path. The part is given as in [`CrdSchema::has_field`]; `None` means that the schema does not have it.
    ///
    /// ```
    /// use kubefoundry_crd::CrdDefinition;
    /// use kubefoundry_yaml::field_path::FieldPath;
    /// let crd = serde_json::json!({"spec": {"group": "ray.io", "names": {"kind": "RayService"}, "versions": [{
    ///     "name": "v1", "served": true,
    ///     "schema": {"openAPIV3Schema": {"type": "object", "properties": {"pod": {"type": "object", "properties": {
    ///         "hostNetwork": {"type": "boolean"},
    ///     }}}}},
    /// }]}});
    /// let definition = CrdDefinition::from_value(crd, "the CRDs of KubeRay 1.3").unwrap();
    /// let schema = definition.version("v1").unwrap().schema().unwrap();
    /// let path = FieldPath::parse("spec.template.spec");
    /// let violations = schema.check_part("pod", &serde_json::json!({"hostNetwrok": true}), &path).unwrap();
    /// assert_eq!(violations[0].path.to_string(), "spec.template.spec.hostNetwrok");
    /// assert_eq!(violations[0].help.as_deref(), Some("did you mean \"hostNetwork\"?"));
    /// ```
    pub fn check_part(&self, part: &str, value: &Value, path: &FieldPath) -> Option<Vec<SchemaViolation>> {
        let (schema, resolver) = (self.subschema(part)?, self.resolver());
        let mut value = value.clone();
        defaults::apply(schema, &mut value, resolver);
        let root = RootSchema { schema, depth: path.segments().len(), resolver };
        let (start, mut violations) = (WalkPath::Start(path), Vec::new());
        Checker { root, ..self.checker() }.check(schema, &value, &start, ValueRole::Field, &mut violations);
        list_types::check(schema, &value, &start, resolver, &mut violations);
        Some(sorted_and_deduplicated(violations))
    }

    /// Checks only the given fields of an object and everything in them. Validation rules (`x-kubernetes-validations`)
    /// are not evaluated. A path that is not in the schema is an unknown field; a path that is not in the object is
    /// ignored.
    ///
    /// ```
    /// use kubefoundry_crd::CrdDefinition;
    /// use kubefoundry_yaml::field_path::FieldPath;
    /// let crd = serde_json::json!({
    ///     "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    ///     "spec": {"group": "ray.io", "names": {"kind": "RayService"}, "versions": [{
    ///         "name": "v1", "served": true,
    ///         "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": {
    ///             "suspend": {"type": "boolean"}, "replicas": {"type": "integer"},
    ///         }}}}},
    ///     }]},
    /// });
    /// let definition = CrdDefinition::from_value(crd, "the CRDs of KubeRay 1.3").unwrap();
    /// let schema = definition.version("v1").unwrap().schema().unwrap();
    /// let object = serde_json::json!({"spec": {"suspend": "yes", "replicas": "two"}});
    /// let violations = schema.check_paths(&object, &[FieldPath::parse("spec.replicas")]);
    /// assert_eq!(violations.len(), 1);
    /// assert_eq!(violations[0].path.to_string(), "spec.replicas");
    /// ```
    pub fn check_paths(&self, object: &Value, paths: &[FieldPath]) -> Vec<SchemaViolation> {
        let mut violations = Vec::new();
        for path in paths {
            self.checker().check_at(object, path, &mut violations);
        }
        sorted_and_deduplicated(violations)
    }

    fn checker(&self) -> Checker<'_> {
        let root = RootSchema { schema: &self.raw, depth: 0, resolver: self.resolver() };
        Checker { root, patterns: &self.patterns, scope: CheckScope::Everything }
    }

    fn resolver(&self) -> Resolver<'_> {
        self.references.map(Resolver::new).unwrap_or_default()
    }

    /// Evaluates the transition rules of the schema, which read `oldSelf`, on a change of an object.
    pub fn check_change(&self, old: &Value, new: &Value) -> Vec<SchemaViolation> {
        let rules = self.rules.get_or_init(|| RuleNode::from_schema(&self.raw, self.resolver()));
        let mut violations = Vec::new();
        if !rules.is_empty() {
            let with_defaults = |object: &Value| {
                let mut object = object.clone();
                defaults::apply(&self.raw, &mut object, self.resolver());
                object
            };
            let (old, new) = (with_defaults(old), with_defaults(new));
            let evaluator = self.take_evaluator();
            evaluator.refill();
            let context = RuleContext { evaluator: &evaluator, resolver: self.resolver() };
            validation_rules::check_change(rules, &self.raw, (&old, &new), context, &mut violations);
            self.return_evaluator(evaluator);
        }
        violations.retain(|violation| violation.code == &codes::CRD_RULE_VIOLATED);
        sorted_and_deduplicated(violations)
    }

    fn take_evaluator(&self) -> RuleEvaluator {
        let pooled = self.evaluators.lock().unwrap_or_else(PoisonError::into_inner).pop();
        pooled.unwrap_or_else(|| RuleEvaluator::new(RULE_LIMITS))
    }

    fn return_evaluator(&self, evaluator: RuleEvaluator) {
        self.evaluators.lock().unwrap_or_else(PoisonError::into_inner).push(evaluator);
    }
}

/// Sorts violations by path and removes duplicates.
fn sorted_and_deduplicated(mut violations: Vec<SchemaViolation>) -> Vec<SchemaViolation> {
    violations.sort();
    violations.dedup();
    violations
}

/// Returns the hash of a schema.
pub(super) fn fingerprint(raw: &Value) -> String {
    let mut text = String::new();
    write_canonical_json(raw, &mut text);
    format!("{:016x}", fnv1a_64(text.as_bytes()))
}

/// Returns the schema of a field or item of the values that a schema describes.
fn child_schema<'s>(resolver: Resolver<'s>, schema: &'s Value, name: &str) -> Option<&'s Value> {
    let schema = resolver.resolve(schema);
    match name {
        "*" => schema.get("additionalProperties").or_else(|| schema.get("items")),
        _ => schema.get("properties").and_then(|properties| properties.get(name)),
    }
}

/// Writes a value as JSON with sorted keys.
fn write_canonical_json(value: &Value, out: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut sorted: Vec<_> = fields.iter().collect();
            sorted.sort_by_key(|(key, _)| *key);
            out.push('{');
            for (key, value) in sorted {
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write_canonical_json(value, out);
                out.push(',');
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for item in items {
                write_canonical_json(item, out);
                out.push(',');
            }
            out.push(']');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use kubefoundry_yaml::Span;
    use serde_json::json;

    use super::*;

    #[test]
    fn checks_parts_of_an_object_separately() {
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "required": ["a"], "properties": {
            "a": {"type": "string"},
            "list": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer", "maximum": 5}}}},
            "set": {"type": "array", "items": {"type": "integer"}, "x-kubernetes-list-type": "set"},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "pod": {"type": "object", "x-kubernetes-embedded-resource": true},
        }}}});
        let origin = CrdOrigin { source: None, file: "here".to_owned(), span: Span { start: 0, end: 0 } };
        let schema = CrdSchema::new("g/v1 K".to_owned(), &Arc::new(schema), None, &origin);
        let object = json!({"apiVersion": "g/v1", "kind": 1, "metadata": {"name": "A"}, "spec": {
            "list": [{"n": 1}, {"n": 9, "m": 1}], "set": [1, 1], "free": {"x": 1}, "pod": {"metadata": {"x": 1}}, "b": {"c": 1},
        }});
        for (path, expected) in [
            ("spec.list[1].n", &["spec.list[1].n"][..]),
            ("spec.list[1]", &["spec.list[1].m", "spec.list[1].n"]),
            ("spec.list[0]", &[]),
            ("spec.set", &["spec.set[1]"]),
            ("spec.free.x", &[]),
            ("spec.b.c", &["spec.b"]),
            ("spec.pod.metadata.x", &["spec.pod.metadata.x"]),
            ("metadata.name", &["metadata.name"]),
            ("kind", &["kind"]),
            // Absent values, and paths through scalars.
            ("spec.list[7].n", &[]),
            ("spec.list.n", &[]),
            ("spec.a", &[]),
        ] {
            let paths = [FieldPath::try_parse(path).unwrap()];
            let refused = schema.check_paths(&object, &paths).into_iter().map(|violation| violation.path.to_string());
            assert_eq!(refused.collect::<Vec<_>>(), expected, "{path}");
        }
        let whole = schema.check(&object);
        assert_eq!(schema.check_paths(&object, &[FieldPath::root()]), whole);
        assert!(whole.iter().any(|violation| violation.path.to_string() == "spec.a"), "{whole:?}");
    }

    /// Resolves the reference `spec` to a schema with rules at three levels.
    #[derive(Debug)]
    struct SchemaWithRules(Value);

    impl ReferenceResolver for SchemaWithRules {
        fn resolve(&self, reference: &str) -> Option<&Value> {
            self.0.get(reference)
        }
    }

    #[test]
    fn evaluates_rules_behind_references() {
        let rules = |rule: &str| json!([{"rule": rule}]);
        let shared: &'static _ = Box::leak(Box::new(SchemaWithRules(json!({
            "spec": {"type": "object", "x-kubernetes-validations": rules("self.list.size() < 2"), "properties": {
                "list": {"type": "array", "items": "item"},
                "map": {"type": "object", "additionalProperties": "item"},
            }},
            "item": {"type": "object", "x-kubernetes-validations": rules("self.a__dash__b > oldSelf.a__dash__b"),
                "properties": {"a-b": "number"}},
            "number": {"type": "integer", "x-kubernetes-validations": rules("self > 0")},
        }))));
        let origin = CrdOrigin { source: None, file: "here".to_owned(), span: Span { start: 0, end: 0 } };
        let raw = Arc::new(json!({"type": "object", "properties": {"spec": "spec"}}));
        let schema = CrdSchema::new("g/v1 K".to_owned(), &raw, Some(shared), &origin);
        let object = |number: i64| json!({"metadata": {"name": "a"}, "spec": {"list": [{"a-b": 1}, {"a-b": 0}], "map": {"k": {"a-b": number}}}});
        let paths = |violations: Vec<SchemaViolation>| {
            violations.iter().map(|violation| violation.path.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(paths(schema.check(&object(-1))), ["spec", r#"spec.list[1]["a-b"]"#, r#"spec.map.k["a-b"]"#]);
        assert_eq!(paths(schema.check_change(&object(2), &object(1))), ["spec.map.k"]);
    }

    #[test]
    fn a_fingerprint_does_not_depend_on_order() {
        let text = |json: Value| {
            let mut out = String::new();
            write_canonical_json(&json, &mut out);
            out
        };
        assert_eq!(text(json!({"a": 1, "b": [{"c": 1, "d": "é"}]})), text(json!({"b": [{"d": "é", "c": 1}], "a": 1})));
        assert_ne!(text(json!({"a": ["b", "c"]})), text(json!({"a": ["c", "b"]})));
        assert_ne!(text(json!(["1"])), text(json!([1])));
    }
}
