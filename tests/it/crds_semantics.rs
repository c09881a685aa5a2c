//! The strict checker against the behavior of the API server with small schemas: a table, and a short reference model.

use kubefoundry_composition::BUILTIN;
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Returns the findings for `spec` with this schema, as `code path`.
fn check(schema: &Value, spec: &Value) -> Vec<String> {
    check_object(
        schema,
        &json!({
            "apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": "m"}, "spec": spec,
        }),
    )
}

fn check_object(schema: &Value, object: &Value) -> Vec<String> {
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "spec": {"group": "ray.io", "names": {"kind": "RayService"}, "versions": [{
            "name": "v1", "served": true,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": schema}}},
        }]},
    });
    let mut sources = SourceSet::default();
    sources.add_for(Purpose::Crds, "crd.json", crd.to_string());
    let (crds, problems) = kubefoundry_crd::Crds::from_sources(&sources, BUILTIN.crd_kinds());
    assert!(problems.is_empty(), "{problems:?}");
    let path = |message: &str| {
        let mut words = message.split([' ', ',', ':', '(']);
        words.rfind(|word| word.starts_with("spec") || word.starts_with("metadata")).unwrap_or("?").to_owned()
    };
    crds.check(object).iter().map(|found| format!("{} {}", found.code.id, path(&found.message))).collect()
}

const UNKNOWN: &str = "KF0517";
const REFUSED: &str = "KF0518";
const RULE: &str = "KF0519";
const NOT_EVALUATED: &str = "KF0520";

/// A value and the expected code.
type Case = (Value, Option<&'static str>);

/// Patterns use Go's syntax. An invalid pattern is reported, and the rest of the schema is still checked.
#[test]
fn a_pattern_that_cannot_be_evaluated_is_one_finding() {
    let text = |pattern: &str| json!({"type": "string", "pattern": pattern});
    let schema = json!({"type": "object", "properties": {
        "a": text("(?i)^[[:alpha:]]+\\z"), "b": text("^(?!x)"), "c": {"type": "integer"},
        "d": {"type": "string", "not": text("^(?!x)")},
    }});
    let spec = |field: &str, value: Value| check(&schema, &json!({field: value}));
    assert_eq!(spec("a", json!("AB")), Vec::<String>::new());
    assert_eq!(spec("a", json!("1")), ["KF0518 spec.a"]);
    assert_eq!(spec("b", json!("1")), ["KF0520 spec.b"]);
    assert_eq!(spec("c", json!("1")), ["KF0518 spec.c"]);
    assert_eq!(spec("c", json!(1)), Vec::<String>::new());
    assert_eq!(spec("d", json!("1")), ["KF0520 spec.d"]);
}

/// Each row has a schema, a value, and the expected code (none if the value is accepted). It is what a kube-apiserver
/// reports or, for an unknown field, silently drops (structural schemas, kube-openapi's validation, list types).
#[test]
fn values_are_judged_as_by_the_api_server() {
    let text = json!({"type": "string"});
    let object = |properties: Value| json!({"type": "object", "properties": properties});
    let rows: Vec<(Value, Vec<Case>)> = vec![
        // Unknown fields.
        (
            object(json!({"a": text})),
            vec![(json!({"a": "x"}), None), (json!({"b": "x"}), Some(UNKNOWN)), (json!({}), None)],
        ),
        (json!({"type": "object"}), vec![(json!({}), None), (json!({"a": 1}), Some(UNKNOWN))]),
        (
            json!({"type": "object", "additionalProperties": text}),
            vec![(json!({"a": "x"}), None), (json!({"a": 1}), Some(REFUSED))],
        ),
        (json!({"type": "object", "additionalProperties": true}), vec![(json!({"a": [1]}), None)]),
        // Preserved fields; pruning applies again below a schema that names fields.
        (
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"a": object(json!({"b": text}))}}),
            vec![
                (json!({"z": {"y": 1}}), None),
                (json!({"a": {"b": "x"}}), None),
                (json!({"a": {"c": "x"}}), Some(UNKNOWN)),
                (json!({"a": {"b": 1}}), Some(REFUSED)),
            ],
        ),
        (
            object(json!({"a": {"x-kubernetes-preserve-unknown-fields": true}})),
            vec![(json!({"a": null}), None), (json!({"a": [{"b": 1}]}), None), (json!({"a": "x"}), None)],
        ),
        // Null.
        (object(json!({"a": text})), vec![(json!({"a": null}), Some(REFUSED))]),
        (
            object(json!({"a": {"type": "string", "nullable": true}})),
            vec![(json!({"a": null}), None), (json!({"a": 1}), Some(REFUSED))],
        ),
        (
            object(json!({"a": {"type": "string", "nullable": true, "enum": ["x"]}})),
            vec![(json!({"a": null}), Some(REFUSED))],
        ),
        (object(json!({"a": {"type": "string", "default": "x"}})), vec![(json!({"a": null}), None)]),
        // Numbers.
        (
            object(json!({"a": {"type": "integer"}})),
            vec![
                (json!({"a": 1}), None),
                (json!({"a": 1.0}), None),
                (json!({"a": 1.5}), Some(REFUSED)),
                (json!({"a": "1"}), Some(REFUSED)),
            ],
        ),
        (
            object(json!({"a": {"type": "integer", "format": "int32"}})),
            vec![
                (json!({"a": 2_147_483_647}), None),
                (json!({"a": 2_147_483_648_i64}), Some(REFUSED)),
                (json!({"a": -2_147_483_649_i64}), Some(REFUSED)),
            ],
        ),
        (
            object(json!({"a": {"type": "integer", "format": "int64"}})),
            vec![(json!({"a": i64::MAX}), None), (json!({"a": u64::MAX}), Some(REFUSED))],
        ),
        (
            object(json!({"a": {"type": "number", "format": "double"}})),
            vec![(json!({"a": 1}), None), (json!({"a": 1e300}), None)],
        ),
        (
            object(json!({"a": {"type": "integer", "minimum": 1, "exclusiveMinimum": true, "maximum": 3}})),
            vec![
                (json!({"a": 2}), None),
                (json!({"a": 1}), Some(REFUSED)),
                (json!({"a": 3}), None),
                (json!({"a": 4}), Some(REFUSED)),
            ],
        ),
        // Int-or-string, including quantities.
        (
            object(
                json!({"a": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}], "pattern": "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"}}),
            ),
            vec![
                (json!({"a": 1}), None),
                (json!({"a": "500m"}), None),
                (json!({"a": "32Gi"}), None),
                (json!({"a": 1.5}), Some(REFUSED)),
                (json!({"a": "many"}), Some(REFUSED)),
                (json!({"a": true}), Some(REFUSED)),
            ],
        ),
        // Strings.
        (
            object(json!({"a": {"type": "string", "maxLength": 2, "pattern": "^[a-z]*$"}})),
            vec![(json!({"a": "ab"}), None), (json!({"a": "abc"}), Some(REFUSED)), (json!({"a": "A"}), Some(REFUSED))],
        ),
        (
            object(json!({"a": {"type": "string", "format": "date-time"}})),
            vec![(json!({"a": "2026-01-01T00:00:00Z"}), None), (json!({"a": "today"}), Some(REFUSED))],
        ),
        (
            object(json!({"a": {"type": "string", "format": "duration"}})),
            vec![(json!({"a": "1h30m"}), None), (json!({"a": "PT1H"}), Some(REFUSED))],
        ),
        (object(json!({"a": {"type": "string", "format": "unknown-format"}})), vec![(json!({"a": "x"}), None)]),
        // Lists.
        (
            object(json!({"a": {"type": "array", "items": text, "x-kubernetes-list-type": "set"}})),
            vec![
                (json!({"a": ["x", "y"]}), None),
                (json!({"a": ["x", "x"]}), Some(REFUSED)),
                (json!({"a": [1]}), Some(REFUSED)),
                (json!({"a": {}}), Some(REFUSED)),
            ],
        ),
        (object(json!({"a": {"type": "array", "items": text}})), vec![(json!({"a": ["x", "x"]}), None)]),
        (
            object(
                json!({"a": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "port"],
            "items": object(json!({"name": text, "port": {"type": "integer", "default": 80}}))}}),
            ),
            vec![
                (json!({"a": [{"name": "x", "port": 1}, {"name": "x", "port": 2}]}), None),
                (json!({"a": [{"name": "x", "port": 1}, {"name": "x", "port": 1}]}), Some(REFUSED)),
                // The default counts: both items have port 80.
                (json!({"a": [{"name": "x", "port": 80}, {"name": "x"}]}), Some(REFUSED)),
            ],
        ),
        // Required fields, which a default can supply.
        (
            json!({"type": "object", "required": ["a"], "properties": {"a": text}}),
            vec![(json!({}), Some(REFUSED)), (json!({"a": ""}), None)],
        ),
        (
            json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string", "default": "x"}}}),
            vec![(json!({}), None)],
        ),
        // `allOf`, `anyOf` and the like validate, but declare no fields.
        (
            json!({"type": "object", "properties": {"a": text, "b": text}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}),
            vec![(json!({"a": "x"}), None), (json!({}), Some(REFUSED)), (json!({"a": "x", "b": "x"}), Some(REFUSED))],
        ),
        (
            json!({"type": "object", "properties": {"a": text}, "not": {"properties": {"a": {"enum": ["bad"]}}, "required": ["a"]}}),
            vec![(json!({"a": "x"}), None), (json!({"a": "bad"}), Some(REFUSED)), (json!({"c": "x"}), Some(UNKNOWN))],
        ),
        // An embedded resource has `apiVersion`, `kind` and standard metadata.
        (
            object(
                json!({"a": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}}),
            ),
            vec![
                (json!({"a": {"apiVersion": "v1", "kind": "Pod", "spec": {"x": 1}}}), None),
                (json!({"a": {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": "b"}}}}), None),
                (json!({"a": {"kind": "Pod"}}), Some(REFUSED)),
                (json!({"a": {"apiVersion": "a/b/c", "kind": "Pod"}}), Some(REFUSED)),
                (json!({"a": {"apiVersion": "v1", "kind": "No Kind"}}), Some(REFUSED)),
                (json!({"a": {"apiVersion": "v1", "kind": "Pod", "metadata": {"label": {}}}}), Some(UNKNOWN)),
                (json!({"a": {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": 1}}}}), Some(REFUSED)),
            ],
        ),
        // Rules: on creation, with defaults, and with field names escaped for CEL.
        (
            json!({"type": "object", "properties": {"min": {"type": "integer"}, "max": {"type": "integer", "default": 3}},
            "x-kubernetes-validations": [{"rule": "self.min <= self.max"}, {"rule": "self == oldSelf"}]}),
            vec![(json!({"min": 2}), None), (json!({"min": 4}), Some(RULE)), (json!({"min": 4, "max": 5}), None)],
        ),
        (
            json!({"type": "object", "properties": {"a-b": text, "namespace": text},
            "x-kubernetes-validations": [{"rule": "self.a__dash__b == self.__namespace__"}]}),
            vec![(json!({"a-b": "x", "namespace": "x"}), None), (json!({"a-b": "x", "namespace": "y"}), Some(RULE))],
        ),
        (
            json!({"type": "object", "additionalProperties": text, "x-kubernetes-validations": [{"rule": "!('a-b' in self)"}]}),
            vec![(json!({"a-b": "x"}), Some(RULE)), (json!({"c": "x"}), None)],
        ),
        (
            object(json!({"a": {"type": "string", "x-kubernetes-validations": [{"rule": "Foo{a: 1} == self"}]}})),
            vec![(json!({"a": "x"}), Some(NOT_EVALUATED)), (json!({}), None)],
        ),
    ];
    for (schema, cases) in rows {
        for (spec, expected) in cases {
            let found = check(&schema, &spec);
            let codes: Vec<&str> = found.iter().filter_map(|found| found.split(' ').next()).collect();
            assert_eq!(codes.first().copied(), expected, "{schema} {spec}: {found:?}");
        }
    }
}

/// `metadata` is checked as ObjectMeta, independent of the CRD.
#[test]
fn metadata_is_checked() {
    let schema = json!({"type": "object"});
    for (metadata, expected) in [
        (json!({"name": "m", "labels": {"a": "b"}, "annotations": {"Example.com/a": "any text"}}), None),
        (json!({"generateName": "m-"}), None),
        (json!({}), Some("KF0518 metadata.name")),
        (json!({"name": "M"}), Some("KF0518 metadata.name")),
        (json!({"name": "m", "namespace": "a.b"}), Some("KF0518 metadata.namespace")),
        (json!({"name": "m", "labels": {"a": 1}}), Some("KF0518 metadata.labels.a")),
        (json!({"name": "m", "labels": {"a": "b c"}}), Some("KF0518 metadata.labels.a")),
        (json!({"name": "m", "lables": {}}), Some("KF0517 metadata.lables")),
        (
            json!({"name": "m", "ownerReferences": [{"apiVersion": "v1", "kind": "A", "name": "a"}]}),
            Some("KF0518 metadata.ownerReferences[0].uid"),
        ),
    ] {
        let object = json!({"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": metadata, "spec": {}});
        let found = check_object(&schema, &object);
        assert_eq!(found.first().map(String::as_str), expected, "{object}");
    }
}

/// Neither a schema at the depth limit nor a deeper one overflows the stack.
#[test]
fn deep_schemas_do_not_overflow_the_stack() {
    for (depth, expected) in [(45, None), (5000, Some("KF0514"))] {
        let property = |inner: String| format!("{{\"type\":\"object\",\"properties\":{{\"a\":{inner}}}}}");
        let schema = (0..depth).fold("{\"type\":\"string\"}".to_owned(), |inner, _| property(inner));
        let text = format!(
            "{{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"spec\":{{\"group\":\"ray.io\",\
             \"names\":{{\"kind\":\"RayService\"}},\"versions\":[{{\"name\":\"v1\",\"served\":true,\
             \"schema\":{{\"openAPIV3Schema\":{schema}}}}}]}}}}"
        );
        let mut sources = SourceSet::default();
        sources.add_for(Purpose::Crds, "crd.json", text);
        let (crds, _) = kubefoundry_crd::Crds::from_sources(&sources, BUILTIN.crd_kinds());
        let value = (0..depth.min(45) - 1).fold(json!("x"), |inner, _| json!({"a": inner}));
        let object = json!({"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": "m"}, "a": value});
        let found = crds.check(&object);
        let codes: Vec<&str> = found.iter().map(|found| found.code.id).collect();
        assert_eq!(codes.first().copied(), expected, "{depth}: {found:?}");
    }
}

/// Generates a schema of the constructs that CRDs use.
fn schemas() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"type": "string"})),
        Just(json!({"type": "string", "nullable": true})),
        Just(json!({"type": "integer", "format": "int32"})),
        Just(json!({"type": "boolean"})),
        Just(json!({"x-kubernetes-int-or-string": true})),
        Just(json!({"x-kubernetes-preserve-unknown-fields": true})),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            (proptest::collection::btree_map("[abc]", inner.clone(), 0..3), any::<bool>()).prop_map(
                |(properties, preserve)| {
                    let mut schema = json!({"type": "object", "properties": properties});
                    if preserve {
                        schema["x-kubernetes-preserve-unknown-fields"] = json!(true);
                    }
                    schema
                }
            ),
            inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            inner.prop_map(|values| json!({"type": "object", "additionalProperties": values})),
        ]
    })
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        Just(json!(true)),
        Just(json!(7)),
        Just(json!(3_000_000_000_u64)),
        Just(json!("text")),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map("[abcd]", inner, 0..3).prop_map(|fields| json!(fields)),
        ]
    })
}

/// Returns whether the API server keeps a value unchanged: a reference model, written independently from the
/// documentation of structural schemas.
fn fits(schema: &Value, value: &Value) -> bool {
    let says = |key: &str| schema.get(key) == Some(&json!(true));
    if says("x-kubernetes-int-or-string") {
        return value.is_string() || value.is_i64();
    }
    match (schema.get("type").and_then(Value::as_str), value) {
        (None, _) => true,
        (Some(_), Value::Null) => says("nullable"),
        (Some("string"), value) => value.is_string(),
        (Some("boolean"), value) => value.is_boolean(),
        (Some("integer"), value) => value.as_i64().is_some_and(|number| i32::try_from(number).is_ok()),
        (Some("array"), Value::Array(items)) => items.iter().all(|item| fits(&schema["items"], item)),
        (Some("object"), Value::Object(fields)) => fields.iter().all(|(name, value)| {
            let property = schema.get("properties").and_then(|properties| properties.get(name));
            match property.or_else(|| schema.get("additionalProperties")) {
                Some(schema) => fits(schema, value),
                None => says("x-kubernetes-preserve-unknown-fields"),
            }
        }),
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    /// The checker and the model agree on every pair.
    #[test]
    fn the_checker_agrees_with_the_model(schema in schemas(), value in values()) {
        let spec = json!({"type": "object", "properties": {"a": schema}});
        let found = check(&spec, &json!({"a": value}));
        prop_assert_eq!(found.is_empty(), fits(&spec, &json!({"a": value})), "{} {}: {:?}", spec, value, found);
    }

    /// Nothing in a dump ends the program: not a broken schema, not a text cut anywhere.
    #[test]
    fn any_schema_is_read_or_refused(schema in values(), object in values(), cut in 0_usize..400) {
        let crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "spec": {"group": "ray.io", "names": {"kind": "RayService"}, "versions": [{
                "name": "v1", "served": true, "schema": {"openAPIV3Schema": {"properties": schema, "x-kubernetes-validations": object}},
            }]},
        });
        let text = crd.to_string();
        let text = text.get(..text.len() - cut.min(text.len())).unwrap_or_default().to_owned();
        let mut sources = SourceSet::default();
        sources.add_for(Purpose::Crds, "crd.json", text);
        let (crds, _) = kubefoundry_crd::Crds::from_sources(&sources, BUILTIN.crd_kinds());
        let found = crds.check(&json!({"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": "m"}, "spec": object}));
        prop_assert!(found.iter().all(|found| !found.message.contains('\n')));
    }
}
