//! The ownership of fields: the paths of `managedFields`, and reading, writing and removing values at them.

#![expect(clippy::cmp_owned, reason = "path elements contain the JSON text of a value, not the value")]

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// The path of a field, in elements of `fieldsV1`: `f:status`, `k:{"type":"Ready"}`, `v:"orphan"`, or `.` for a list
/// item itself.
pub(super) type Path = Vec<String>;

/// What the apiserver writes in the metadata of every object.
const SERVER_METADATA: [&str; 8] = [
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "managedFields",
];

/// Returns the key by which the items of a list differ. Other lists are replaced as a whole.
fn list_key(list: &str) -> Option<&'static str> {
    match list {
        "conditions" => Some("type"),
        "ownerReferences" => Some("uid"),
        _ => None,
    }
}

/// Whether the items of a list have owners, not the list.
pub(super) fn has_items(list: &str) -> bool {
    list == "finalizers" || list_key(list).is_some()
}

/// Whether the items of a list have one owner each, not one for each field.
fn has_atomic_items(list: &str) -> bool {
    list == "ownerReferences"
}

/// Returns the paths of all fields that clients own in an object.
pub(super) fn paths(object: &Value) -> BTreeSet<Path> {
    let mut found = BTreeSet::new();
    for (name, value) in object.as_object().into_iter().flatten() {
        match name.as_str() {
            "apiVersion" | "kind" => {}
            "metadata" => {
                let fields = value.as_object().into_iter().flatten();
                for (field, below) in fields.filter(|(field, _)| !SERVER_METADATA.contains(&field.as_str())) {
                    collect(below, field, &mut vec!["f:metadata".to_owned(), format!("f:{field}")], &mut found);
                }
            }
            _ => collect(value, name, &mut vec![format!("f:{name}")], &mut found),
        }
    }
    found
}

fn collect(value: &Value, name: &str, path: &mut Path, found: &mut BTreeSet<Path>) {
    let with = |path: &Path, element: String| path.iter().cloned().chain([element]).collect::<Path>();
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, below) in fields {
                collect(below, name, &mut with(path, format!("f:{name}")), found);
            }
        }
        Value::Array(items) if name == "finalizers" => {
            found.extend(items.iter().map(|item| with(path, format!("v:{item}"))));
        }
        Value::Array(items) if list_key(name).is_some() => {
            let key = list_key(name).unwrap_or_default();
            for item in items {
                let item_path = with(path, format!("k:{}", json!({key: item[key]})));
                if has_atomic_items(name) {
                    found.insert(item_path);
                    continue;
                }
                found.insert(with(&item_path, ".".to_owned()));
                for (field, below) in item.as_object().into_iter().flatten() {
                    collect(below, field, &mut with(&item_path, format!("f:{field}")), found);
                }
            }
        }
        _ => {
            found.insert(path.clone());
        }
    }
}

/// Returns the paths of a `fieldsV1`.
pub(super) fn parse(fields: &Value) -> BTreeSet<Path> {
    fn visit(fields: &Value, path: &Path, found: &mut BTreeSet<Path>) {
        for (element, below) in fields.as_object().into_iter().flatten() {
            let path: Path = path.iter().cloned().chain([element.clone()]).collect();
            if below.as_object().is_none_or(Map::is_empty) {
                found.insert(path);
            } else {
                visit(below, &path, found);
            }
        }
    }
    let mut found = BTreeSet::new();
    visit(fields, &Path::new(), &mut found);
    found
}

/// Formats paths as a `fieldsV1`.
pub(super) fn format(paths: &BTreeSet<Path>) -> Value {
    let mut tree = json!({});
    for path in paths {
        let mut at = &mut tree;
        for element in path {
            at = &mut at[element.as_str()];
            if at.is_null() {
                *at = json!({});
            }
        }
    }
    tree
}

/// Whether a list item has the key of a path element such as `k:{"type":"Ready"}`.
fn has_key(item: &Value, element: &str) -> bool {
    let key = element.strip_prefix("k:").and_then(|key| serde_json::from_str::<Value>(key).ok()).unwrap_or_default();
    key.as_object().into_iter().flatten().all(|(name, value)| item[name] == *value)
}

/// Returns the value at a path; null for a list item that exists.
pub(super) fn read(object: &Value, path: &[String]) -> Option<Value> {
    let Some((first, rest)) = path.split_first() else { return Some(object.clone()) };
    if let Some(name) = first.strip_prefix("f:") {
        read(object.get(name)?, rest)
    } else if let Some(value) = first.strip_prefix("v:") {
        object.as_array()?.iter().any(|item| item.to_string() == value).then_some(Value::Null)
    } else if first == "." {
        Some(Value::Null)
    } else {
        read(object.as_array()?.iter().find(|item| has_key(item, first))?, rest)
    }
}

/// Sets the value at a path, with everything above it.
pub(super) fn write(object: &mut Value, path: &[String], value: &Value) {
    let Some((first, rest)) = path.split_first() else {
        *object = value.clone();
        return;
    };
    if let Some(name) = first.strip_prefix("f:") {
        if !object.is_object() {
            *object = json!({});
        }
        write(&mut object[name], rest, value);
        return;
    }
    if first == "." {
        return;
    }
    if !object.is_array() {
        *object = json!([]);
    }
    let Some(items) = object.as_array_mut() else { return };
    if let Some(item) = first.strip_prefix("v:") {
        if !items.iter().any(|known| known.to_string() == item) {
            items.push(serde_json::from_str(item).unwrap());
        }
        return;
    }
    let index = items.iter().position(|item| has_key(item, first)).unwrap_or_else(|| {
        items.push(serde_json::from_str(first.trim_start_matches("k:")).unwrap());
        items.len() - 1
    });
    write(&mut items[index], rest, value);
}

/// Removes the value at a path, and what is empty above it. Returns whether the value itself is empty now.
pub(super) fn remove(object: &mut Value, path: &[String]) -> bool {
    let Some((first, rest)) = path.split_first() else { return true };
    if let Some(name) = first.strip_prefix("f:") {
        let Some(fields) = object.as_object_mut() else { return false };
        if fields.get_mut(name).is_some_and(|below| remove(below, rest)) {
            fields.remove(name);
        }
        return fields.is_empty();
    }
    let Some(items) = object.as_array_mut() else { return false };
    if let Some(value) = first.strip_prefix("v:") {
        items.retain(|item| item.to_string() != value);
    } else if first.starts_with("k:")
        && let Some(index) = items.iter().position(|item| has_key(item, first))
        && remove(&mut items[index], rest)
    {
        items.remove(index);
    }
    items.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_the_values_they_were_made_of() {
        let object = json!({
            "apiVersion": "v1", "kind": "K",
            "metadata": {"name": "a", "labels": {"x": "y"}, "finalizers": ["a/b"], "ownerReferences": [{"uid": "u", "kind": "D"}]},
            "spec": {"list": [1, 2], "empty": {}},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        });
        let all = paths(&object);
        assert_eq!(parse(&format(&all)), all);
        let mut copy = json!({});
        for path in &all {
            write(&mut copy, path, &read(&object, path).unwrap());
        }
        let mut expected = object.clone();
        for name in ["apiVersion", "kind"] {
            expected.as_object_mut().unwrap().remove(name);
        }
        expected["metadata"].as_object_mut().unwrap().remove("name");
        assert_eq!(copy, expected);
        for path in &all {
            remove(&mut copy, path);
        }
        assert_eq!(copy, json!({}));
    }
}
