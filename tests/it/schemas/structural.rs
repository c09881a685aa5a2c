//! The CRDs are structural, as `apiextensions.k8s.io/v1` requires
//! (<https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema>).

use serde_json::{Value, json};

use super::crd::CRDS;

#[test]
fn crds_are_structural() {
    for ((group, kind), crd) in &*CRDS {
        check(&crd.schema, &format!("{group}/{kind}"));
        assert_eq!(crd.schema["properties"]["metadata"], json!({"type": "object"}), "an apiserver takes no other");
        assert_eq!(crd.schema["type"], "object");
    }
}

fn check(schema: &Value, path: &str) {
    let fields = schema.as_object().unwrap_or_else(|| panic!("{path} is not a schema"));
    let has = |key: &str| fields.contains_key(key);
    for key in ["$ref", "definitions", "patternProperties", "dependencies", "if", "const", "id"] {
        assert!(!has(key), "{path} has {key}");
    }
    // Everywhere else null means absent, as the API server drops it.
    assert!(!has("nullable") || path.ends_with(".additionalProperties"), "{path} has nullable");
    let int_or_string = schema["x-kubernetes-int-or-string"] == true;
    let kept = schema["x-kubernetes-preserve-unknown-fields"] == true;
    assert!(has("type") || int_or_string || kept, "{path} has no type");
    assert!(!(has("properties") && has("additionalProperties")), "{path} has both kinds of properties");
    assert!(!has("properties") || schema["type"] == "object", "{path} has properties and is not an object");
    assert_eq!(has("items"), schema["type"] == "array", "{path}: a list has items");
    if int_or_string {
        assert_eq!(schema["anyOf"], json!([{"type": "integer"}, {"type": "string"}]), "{path}");
    }
    assert!(!has("x-kubernetes-validations") || has("type"), "{path}: rules see typed values only");
    if let Some(keys) = schema["x-kubernetes-list-map-keys"].as_array() {
        assert_eq!(schema["x-kubernetes-list-type"], "map", "{path}");
        for key in keys {
            let required = schema["items"]["required"].as_array().unwrap();
            assert!(required.contains(key), "{path}: the key {key} of a list is required in it");
        }
    }
    for key in schema["required"].as_array().into_iter().flatten().filter(|_| has("properties")) {
        assert!(schema["properties"].get(key.as_str().unwrap()).is_some(), "{path} requires {key}, which it lacks");
    }
    for (key, property) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{key}");
        let described = property["description"].as_str().is_some_and(|text| !text.is_empty());
        assert!(described || path.ends_with(".metadata"), "{path} is not described");
        check(property, &path);
    }
    for key in ["items", "additionalProperties"] {
        if has(key) {
            check(&schema[key], &format!("{path}.{key}"));
        }
    }
}
