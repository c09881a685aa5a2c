//! Differences between two JSON values, and application of single differences.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use kubefoundry_yaml::field_path::{FieldPath, Segment};

/// A path at which two values differ. Null counts as absent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct JsonDifference {
    pub(super) path: FieldPath,
    pub(super) before: Option<Value>,
    pub(super) after: Option<Value>,
}

/// The granularity of a comparison. In both, a list of named items differs as a whole if common items changed order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Granularity {
    /// Descend to scalars, even in mappings that only one side has. Lists of different lengths differ as a whole.
    Leaves,
    /// A value that only one side has is one difference. Items of lists that have names are matched by name.
    Trees,
}

/// Lists all differences: those in the order of `before`, then the additions.
pub(super) fn differences(before: &Value, after: &Value, granularity: Granularity) -> Vec<JsonDifference> {
    let mut differences = Vec::new();
    compare(FieldPath::root(), Some(before), Some(after), granularity, &mut differences);
    differences
}

/// Adds the differences between two values at a path. `None` and null are equal.
fn compare(
    path: FieldPath,
    before: Option<&Value>,
    after: Option<&Value>,
    granularity: Granularity,
    differences: &mut Vec<JsonDifference>,
) {
    let (before, after) = (before.filter(|it| !it.is_null()), after.filter(|it| !it.is_null()));
    if before == after {
        return;
    }
    let empty = Map::new();
    let is_mapping = |value: Option<&Value>| matches!(value, Some(Value::Object(fields)) if !fields.is_empty());
    if (is_mapping(before) || is_mapping(after))
        && let (Some(old), Some(new)) = (fields(before, &empty, granularity), fields(after, &empty, granularity))
    {
        let added = new.keys().filter(|key| !old.contains_key(*key));
        for key in old.keys().chain(added) {
            compare(path.key(key.clone()), old.get(key), new.get(key), granularity, differences);
        }
        return;
    }
    if let (Some(Value::Array(old)), Some(Value::Array(new))) = (before, after) {
        match item_names(old).zip(item_names(new)) {
            // Order matters, because upstream controllers replace pods when it changes. The list is one difference
            // then.
            Some((names, new_names)) if !have_same_order(&names, &new_names) => {}
            Some((names, new_names)) if granularity == Granularity::Trees => {
                let positions: BTreeMap<&str, usize> = new_names.iter().copied().zip(0..).collect();
                for (position, name) in names.iter().enumerate() {
                    let new_position = positions.get(name).copied();
                    let after = new_position.and_then(|position| new.get(position));
                    compare(
                        path.index(new_position.unwrap_or(position)),
                        old.get(position),
                        after,
                        granularity,
                        differences,
                    );
                }
                let known: BTreeSet<&str> = names.into_iter().collect();
                for (position, _) in new_names.iter().enumerate().filter(|(_, name)| !known.contains(*name)) {
                    compare(path.index(position), None, new.get(position), granularity, differences);
                }
                return;
            }
            _ if old.len() == new.len() => {
                for (position, (old, new)) in old.iter().zip(new).enumerate() {
                    compare(path.index(position), Some(old), Some(new), granularity, differences);
                }
                return;
            }
            _ => {}
        }
    }
    differences.push(JsonDifference { path, before: before.cloned(), after: after.cloned() });
}

/// Returns the fields of a mapping. At leaf granularity, an absent mapping counts as empty.
fn fields<'v>(
    value: Option<&'v Value>,
    empty: &'v Map<String, Value>,
    granularity: Granularity,
) -> Option<&'v Map<String, Value>> {
    match value {
        Some(Value::Object(fields)) => Some(fields),
        None if granularity == Granularity::Leaves => Some(empty),
        _ => None,
    }
}

/// Returns the names of list items, if every item has one and all are distinct.
fn item_names(items: &[Value]) -> Option<Vec<&str>> {
    let names: Vec<&str> = items.iter().map(|item| item.get("name")?.as_str()).collect::<Option<_>>()?;
    let distinct: BTreeSet<&str> = names.iter().copied().collect();
    (distinct.len() == names.len()).then_some(names)
}

/// Returns whether the names that both lists have are in the same relative order.
fn have_same_order(names: &[&str], new_names: &[&str]) -> bool {
    let (old_set, new_set): (BTreeSet<_>, BTreeSet<_>) = (names.iter().collect(), new_names.iter().collect());
    names.iter().filter(|name| new_set.contains(name)).eq(new_names.iter().filter(|name| old_set.contains(name)))
}

/// Merges differences into their parent fields, deepest first, until at most `limit` are left.
pub(super) fn coarsen(fine: Vec<JsonDifference>, limit: usize, before: &Value, after: &Value) -> Vec<JsonDifference> {
    let mut coarse = fine;
    let mut depth = coarse.iter().map(|it| it.path.segments().len()).max().unwrap_or_default();
    while coarse.len() > limit && depth > 1 {
        depth -= 1;
        let mut merged: Vec<JsonDifference> = Vec::new();
        let mut seen = BTreeSet::new();
        for difference in coarse {
            if difference.path.segments().len() <= depth {
                merged.push(difference);
                continue;
            }
            let mut path = difference.path;
            while path.segments().len() > depth {
                path = path.parent();
            }
            if seen.insert(path.clone()) {
                let (before, after) = (value_at(before, &path).cloned(), value_at(after, &path).cloned());
                merged.push(JsonDifference { path, before, after });
            }
        }
        coarse = merged;
    }
    coarse
}

/// Returns the value at a path.
pub(super) fn value_at<'v>(value: &'v Value, path: &FieldPath) -> Option<&'v Value> {
    path.segments().iter().try_fold(value, |value, segment| match segment {
        Segment::Key(key) => value.get(key.as_ref()),
        Segment::Index(index) => value.get(*index),
    })
}

/// Returns `value` with `replacement` at a path. If there is no replacement, the value at the path is removed, with the
/// mappings that become empty by that, unless `reference` has them.
pub(super) fn with_value_at(
    mut value: Value,
    path: &FieldPath,
    replacement: Option<&Value>,
    reference: &Value,
) -> Value {
    match replacement {
        Some(replacement) => set(&mut value, path.segments(), replacement),
        None => {
            remove(&mut value, path.segments(), Some(reference));
        }
    }
    value
}

/// Sets the value at a path. Missing mappings are created; a missing list item is not.
fn set(value: &mut Value, path: &[Segment], replacement: &Value) {
    let Some((first, rest)) = path.split_first() else {
        *value = replacement.clone();
        return;
    };
    match first {
        Segment::Key(key) => {
            if !value.is_object() {
                *value = Value::Object(Map::new());
            }
            if let Some(fields) = value.as_object_mut() {
                set(fields.entry(key.as_ref()).or_insert(Value::Null), rest, replacement);
            }
        }
        Segment::Index(index) => {
            if let Some(item) = value.get_mut(*index) {
                set(item, rest, replacement);
            }
        }
    }
}

/// Removes the value at a path. Returns whether the remaining mapping is empty and should be removed, because
/// `reference` does not have it.
fn remove(value: &mut Value, path: &[Segment], reference: Option<&Value>) -> bool {
    let Some((first, rest)) = path.split_first() else { return true };
    match first {
        Segment::Key(key) => {
            let Some(fields) = value.as_object_mut() else { return false };
            let reference_below = reference.and_then(|reference| reference.get(key.as_ref()));
            let is_removed = fields.get_mut(key.as_ref()).is_some_and(|below| remove(below, rest, reference_below));
            if is_removed {
                fields.shift_remove(key.as_ref());
            }
            is_removed && fields.is_empty() && reference.is_none()
        }
        Segment::Index(index) => {
            let reference_below = reference.and_then(|reference| reference.get(*index));
            if let Some(item) = value.get_mut(*index) {
                remove(item, rest, reference_below);
            }
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lines(before: &Value, after: &Value, detail: Granularity) -> Vec<String> {
        let text = |value: &Option<Value>| value.as_ref().map_or("-".to_owned(), Value::to_string);
        let line = |it: &JsonDifference| format!("{} {} {}", it.path, text(&it.before), text(&it.after));
        differences(before, after, detail).iter().map(line).collect()
    }

    #[test]
    fn leaves_are_separate_and_trees_are_one_difference() {
        let (before, after) = (json!({"a": 1, "b": {"c": {"d": 1}}}), json!({"a": 1, "e": {"f": {"g": 2, "h": []}}}));
        assert_eq!(lines(&before, &after, Granularity::Leaves), ["b.c.d 1 -", "e.f.g - 2", "e.f.h - []"]);
        assert_eq!(
            lines(&before, &after, Granularity::Trees),
            ["b {\"c\":{\"d\":1}} -", "e - {\"f\":{\"g\":2,\"h\":[]}}"]
        );
        assert!(lines(&json!({"a": null}), &json!({}), Granularity::Leaves).is_empty());
    }

    /// A container at another position is the same container to the API server.
    #[test]
    fn matches_named_items_by_name() {
        let before = json!([{"name": "a", "x": 1}, {"name": "b", "x": 1}]);
        let after = json!([{"name": "c"}, {"name": "b", "x": 2}]);
        assert_eq!(
            lines(&before, &after, Granularity::Trees),
            ["[0] {\"name\":\"a\",\"x\":1} -", "[1].x 1 2", "[0] - {\"name\":\"c\"}"]
        );
        let order = json!([{"name": "b", "x": 1}, {"name": "c"}, {"name": "a", "x": 1}]);
        assert_eq!(lines(&before, &order, Granularity::Trees), [format!(" {before} {order}")]);
        assert_eq!(lines(&json!([1, 2]), &json!([1, 3]), Granularity::Trees), ["[1] 2 3"]);
        assert_eq!(lines(&json!([1]), &json!([1, 3]), Granularity::Leaves), [" [1] [1,3]"]);
    }

    /// Applying all differences, in any order, turns one value into the other.
    #[test]
    fn applying_all_differences_gives_the_new_value() {
        let before = json!({"a": {"b": {"c": 1}}, "l": [{"x": {"y": 1}}], "z": "1", "e": {}});
        let after = json!({"a": {"d": [1]}, "l": [{"n": 2}], "z": {"u": 1}, "e": {}});
        for reversed in [false, true] {
            let mut differences = differences(&before, &after, Granularity::Leaves);
            if reversed {
                differences.reverse();
            }
            let result = differences
                .iter()
                .fold(before.clone(), |current, it| with_value_at(current, &it.path, it.after.as_ref(), &after));
            assert_eq!(result, after);
        }
    }

    #[test]
    fn merges_the_deepest_differences_first() {
        let before = json!({"spec": {"args": {"a": 1, "b": 1, "c": 1}, "x": 1}});
        let after = json!({"spec": {"args": {"a": 2, "b": 2, "c": 2}, "x": 2}});
        let fine = differences(&before, &after, Granularity::Leaves);
        let paths = |limit| -> Vec<String> {
            coarsen(fine.clone(), limit, &before, &after).iter().map(|it| it.path.to_string()).collect()
        };
        assert_eq!(paths(4), ["spec.args.a", "spec.args.b", "spec.args.c", "spec.x"]);
        assert_eq!(paths(2), ["spec.args", "spec.x"]);
        assert_eq!(paths(1), ["spec"]);
    }
}
