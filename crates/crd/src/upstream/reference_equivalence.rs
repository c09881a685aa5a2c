//! Tests that skeletons with references give the same results as the CRDs that they expand to.

use crate::upstream::{SkeletonOrigin, known_schemas, skeletons};
use crate::{CrdDefinition, CrdSchema};
use kubefoundry_yaml::field_path::FieldPath;
use serde_json::{Map, Value, json};

/// Number of objects that are compared, over all versions of all skeletons.
const OBJECT_COUNT: usize = 1_000;

/// A xorshift generator: pseudo-random numbers that are the same in every run.
struct Xorshift(u64);

impl Xorshift {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

/// Generates an object that mostly satisfies a schema without references. `size` limits the number of its values.
fn generate_object(schema: &Value, chance: &mut Xorshift, size: &mut usize) -> Value {
    *size = size.saturating_sub(1);
    if let Some(options) = schema["enum"].as_array() {
        return options[chance.below(options.len())].clone();
    }
    if schema["x-kubernetes-int-or-string"] == true {
        return if chance.below(2) == 0 { json!(80) } else { json!("500m") };
    }
    match schema["type"].as_str() {
        Some("string") => json!("text"),
        Some("integer") => json!(1 + chance.below(40)),
        Some("number") => json!(0.5),
        Some("boolean") => json!(true),
        Some("array") => {
            let length = if *size == 0 { 0 } else { 1 + chance.below(2) };
            (0..length).map(|_| generate_object(&schema["items"], chance, size)).collect()
        }
        Some("object") => {
            let required: Vec<&str> =
                schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let mut fields = Map::new();
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                if required.contains(&name.as_str()) || name == "spec" || *size > 0 && chance.below(4) == 0 {
                    fields.insert(name.clone(), generate_object(property, chance, size));
                }
            }
            if schema["additionalProperties"].is_object() && *size > 0 {
                fields.insert("any-key".to_owned(), generate_object(&schema["additionalProperties"], chance, size));
            }
            Value::Object(fields)
        }
        _ => json!({"free": ["form"]}),
    }
}

/// Changes one value of an object: replaces, removes, renames or duplicates it.
fn mutate(value: &mut Value, chance: &mut Xorshift) {
    let is_deeper = chance.below(5) > 0;
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let at = chance.below(fields.len());
            let name = fields.keys().nth(at).unwrap().clone();
            match chance.below(4) {
                _ if is_deeper => mutate(fields.get_mut(&name).unwrap(), chance),
                0 => drop(fields.remove(&name)),
                1 => drop(fields.insert(format!("{name}X"), json!(1))),
                _ => drop(fields.insert(name, json!(null))),
            }
        }
        Value::Array(items) if !items.is_empty() && is_deeper => {
            let at = chance.below(items.len());
            mutate(&mut items[at], chance);
        }
        Value::Array(items) if !items.is_empty() => items.push(items[0].clone()),
        value => {
            let others =
                [json!(null), json!(true), json!(-1), json!(2.5), json!(1e300), json!("A b"), json!([]), json!({})];
            *value = others[chance.below(others.len())].clone();
        }
    }
}

/// Returns the paths of the fields of an object, two levels deep.
fn top_level_paths(object: &Value) -> Vec<FieldPath> {
    let below = |value: &Value, path: &FieldPath| -> Vec<FieldPath> {
        value.as_object().into_iter().flatten().map(|(name, _)| path.key(name.clone())).collect()
    };
    let first = below(object, &FieldPath::root());
    let second = first.iter().flat_map(|path| {
        let name = path.to_string();
        object.get(&name).map(|value| below(value, path)).unwrap_or_default()
    });
    second.collect::<Vec<_>>().into_iter().chain(first.clone()).collect()
}

fn assert_equal_results(origin: &SkeletonOrigin, by_reference: &CrdSchema, expanded: &CrdSchema, object: &Value) {
    assert_eq!(by_reference.check(object), expanded.check(object), "{origin}: {object}");
    assert_eq!(by_reference.check_outline(object), expanded.check_outline(object), "{origin}: {object}");
    let paths = top_level_paths(object);
    assert_eq!(by_reference.check_paths(object, &paths), expanded.check_paths(object, &paths), "{origin}: {object}");
    let (at, spec) = (FieldPath::parse("elsewhere"), object.get("spec").unwrap_or(&Value::Null));
    assert_eq!(
        by_reference.check_part("spec", spec, &at),
        expanded.check_part("spec", spec, &at),
        "{origin}: {object}"
    );
}

#[test]
fn references_give_the_same_result_as_the_expanded_crd() {
    let (mut fitting, mut refused, mut chance) = (0, 0, Xorshift(20_261_122));
    let versions: usize =
        skeletons().map(|it| it.to_crd().unwrap()["spec"]["versions"].as_array().unwrap().len()).sum();
    for skeleton in skeletons() {
        let (origin, crd) = (skeleton.origin(), skeleton.to_crd().unwrap());
        let expanded = CrdDefinition::from_value(crd.clone(), format!("the schema of {origin}")).unwrap();
        for version in crd["spec"]["versions"].as_array().unwrap() {
            let name = version["name"].as_str().unwrap();
            let known = known_schemas(origin.group, origin.kind, name, origin.release).unwrap().nearest;
            assert!(std::ptr::eq(known.origin, origin), "{origin}");
            let expanded = expanded.version(name).unwrap().schema().unwrap();
            for turn in 0..=OBJECT_COUNT / versions {
                let mut object = generate_object(&version["schema"]["openAPIV3Schema"], &mut chance, &mut 60);
                object["metadata"] = json!({"name": "m"});
                // The first objects of each version are not changed.
                for _ in 0..(turn / 8).min(3) {
                    mutate(&mut object, &mut chance);
                }
                assert_equal_results(origin, known.schema, expanded, &object);
                *if known.schema.check_outline(&object).is_empty() { &mut fitting } else { &mut refused } += 1;
            }
        }
    }
    assert!(fitting > 150 && refused > 500, "{fitting} fitting, {refused} refused");
}
