//! What differs between two JSON values, and one value with a part of the difference.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use kubefoundry_yaml::field_path::{FieldPath, Segment};

/// A place in which two values differ. Null counts as absent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct JsonDifference {
    pub(super) path: FieldPath,
    pub(super) before: Option<Value>,
    pub(super) after: Option<Value>,
}

/// How fine a comparison is. A list whose items have names differs as a whole when they are in another order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Granularity {
    /// Down to scalars, also of mappings that only one side has. Lists of different lengths differ as a whole.
    Leaves,
    /// What only one side has is one difference. Items of lists that have names are compared by name.
    Trees,
}

/// Everything that differs, in order: what is before, then what is new.
pub(super) fn differences(before: &Value, after: &Value, detail: Granularity) -> Vec<JsonDifference> {
    let mut out = Vec::new();
    compare(FieldPath::root(), Some(before), Some(after), detail, &mut out);
    out
}

fn compare(
    path: FieldPath,
    before: Option<&Value>,
    after: Option<&Value>,
    detail: Granularity,
    out: &mut Vec<JsonDifference>,
) {
    let (before, after) = (before.filter(|it| !it.is_null()), after.filter(|it| !it.is_null()));
    if before == after {
        return;
    }
    let empty = Map::new();
    let is_mapping = |value: Option<&Value>| matches!(value, Some(Value::Object(fields)) if !fields.is_empty());
    if (is_mapping(before) || is_mapping(after))
        && let (Some(old), Some(new)) = (fields(before, &empty, detail), fields(after, &empty, detail))
    {
        let added = new.keys().filter(|key| !old.contains_key(*key));
        for key in old.keys().chain(added) {
            compare(path.key(key.clone()), old.get(key), new.get(key), detail, out);
        }
        return;
    }
    if let (Some(Value::Array(old)), Some(Value::Array(new))) = (before, after) {
        match names(old).zip(names(new)) {
            // Another order is another list: pods are replaced for it.
            Some((names, new_names)) if !keep_order(&names, &new_names) => {}
            Some((names, new_names)) if detail == Granularity::Trees => {
                let places: BTreeMap<&str, usize> = new_names.iter().copied().zip(0..).collect();
                for (position, name) in names.iter().enumerate() {
                    let place = places.get(name).copied();
                    let after = place.and_then(|place| new.get(place));
                    compare(path.index(place.unwrap_or(position)), old.get(position), after, detail, out);
                }
                let known: BTreeSet<&str> = names.into_iter().collect();
                for (position, _) in new_names.iter().enumerate().filter(|(_, name)| !known.contains(*name)) {
                    compare(path.index(position), None, new.get(position), detail, out);
                }
                return;
            }
            _ if old.len() == new.len() => {
                for (position, (old, new)) in old.iter().zip(new).enumerate() {
                    compare(path.index(position), Some(old), Some(new), detail, out);
                }
                return;
            }
            _ => {}
        }
    }
    out.push(JsonDifference { path, before: before.cloned(), after: after.cloned() });
}

/// The fields of a mapping; of one that is not there, none, where leaves are compared.
fn fields<'v>(
    value: Option<&'v Value>,
    empty: &'v Map<String, Value>,
    detail: Granularity,
) -> Option<&'v Map<String, Value>> {
    match value {
        Some(Value::Object(fields)) => Some(fields),
        None if detail == Granularity::Leaves => Some(empty),
        _ => None,
    }
}

/// The names of items, when all have one and no two the same.
fn names(items: &[Value]) -> Option<Vec<&str>> {
    let names: Vec<&str> = items.iter().map(|item| item.get("name")?.as_str()).collect::<Option<_>>()?;
    let distinct: BTreeSet<&str> = names.iter().copied().collect();
    (distinct.len() == names.len()).then_some(names)
}

/// Whether the names that both have are in one order.
fn keep_order(names: &[&str], new_names: &[&str]) -> bool {
    let (known, kept): (BTreeSet<_>, BTreeSet<_>) = (names.iter().collect(), new_names.iter().collect());
    names.iter().filter(|name| kept.contains(name)).eq(new_names.iter().filter(|name| known.contains(name)))
}

/// Differences in no more than `most` places: those below one field are put together, the deepest first.
pub(super) fn coarsen(fine: Vec<JsonDifference>, most: usize, before: &Value, after: &Value) -> Vec<JsonDifference> {
    let mut coarse = fine;
    let mut depth = coarse.iter().map(|it| it.path.segments().len()).max().unwrap_or_default();
    while coarse.len() > most && depth > 1 {
        depth -= 1;
        let mut together: Vec<JsonDifference> = Vec::new();
        let mut seen = BTreeSet::new();
        for difference in coarse {
            if difference.path.segments().len() <= depth {
                together.push(difference);
                continue;
            }
            let mut path = difference.path;
            while path.segments().len() > depth {
                path = path.parent();
            }
            if seen.insert(path.clone()) {
                let (before, after) = (at(before, &path).cloned(), at(after, &path).cloned());
                together.push(JsonDifference { path, before, after });
            }
        }
        coarse = together;
    }
    coarse
}

/// What stands at a path.
pub(super) fn at<'v>(value: &'v Value, path: &FieldPath) -> Option<&'v Value> {
    path.segments().iter().try_fold(value, |value, segment| match segment {
        Segment::Key(key) => value.get(key.as_ref()),
        Segment::Index(index) => value.get(*index),
    })
}

/// `value` with `replacement` at a path, or nothing there. Mappings that this leaves empty go, too, unless `like` has
/// them.
pub(super) fn with(mut value: Value, path: &FieldPath, replacement: Option<&Value>, like: &Value) -> Value {
    match replacement {
        Some(replacement) => put(&mut value, path.segments(), replacement),
        None => {
            remove(&mut value, path.segments(), Some(like));
        }
    }
    value
}

fn put(value: &mut Value, path: &[Segment], replacement: &Value) {
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
                put(fields.entry(key.as_ref()).or_insert(Value::Null), rest, replacement);
            }
        }
        Segment::Index(index) => {
            if let Some(item) = value.get_mut(*index) {
                put(item, rest, replacement);
            }
        }
    }
}

/// Whether what is left is an empty mapping that `like` does not have.
fn remove(value: &mut Value, path: &[Segment], like: Option<&Value>) -> bool {
    let Some((first, rest)) = path.split_first() else { return true };
    match first {
        Segment::Key(key) => {
            let Some(fields) = value.as_object_mut() else { return false };
            let like_below = like.and_then(|like| like.get(key.as_ref()));
            let goes = fields.get_mut(key.as_ref()).is_some_and(|below| remove(below, rest, like_below));
            if goes {
                fields.shift_remove(key.as_ref());
            }
            goes && fields.is_empty() && like.is_none()
        }
        Segment::Index(index) => {
            let like_below = like.and_then(|like| like.get(*index));
            if let Some(item) = value.get_mut(*index) {
                remove(item, rest, like_below);
            }
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(before: &Value, after: &Value, detail: Granularity) -> Vec<String> {
        let text = |value: &Option<Value>| value.as_ref().map_or("-".to_owned(), Value::to_string);
        let one = |it: &JsonDifference| format!("{} {} {}", it.path, text(&it.before), text(&it.after));
        differences(before, after, detail).iter().map(one).collect()
    }

    #[test]
    fn leaves_are_told_apart_and_trees_are_not() {
        let (before, after) = (json!({"a": 1, "b": {"c": {"d": 1}}}), json!({"a": 1, "e": {"f": {"g": 2, "h": []}}}));
        assert_eq!(told(&before, &after, Granularity::Leaves), ["b.c.d 1 -", "e.f.g - 2", "e.f.h - []"]);
        assert_eq!(
            told(&before, &after, Granularity::Trees),
            ["b {\"c\":{\"d\":1}} -", "e - {\"f\":{\"g\":2,\"h\":[]}}"]
        );
        assert!(told(&json!({"a": null}), &json!({}), Granularity::Leaves).is_empty());
    }

    /// A container that moves is the same container, as the apiserver sees it.
    #[test]
    fn items_with_names_are_told_apart_by_name() {
        let before = json!([{"name": "a", "x": 1}, {"name": "b", "x": 1}]);
        let after = json!([{"name": "c"}, {"name": "b", "x": 2}]);
        assert_eq!(
            told(&before, &after, Granularity::Trees),
            ["[0] {\"name\":\"a\",\"x\":1} -", "[1].x 1 2", "[0] - {\"name\":\"c\"}"]
        );
        let order = json!([{"name": "b", "x": 1}, {"name": "c"}, {"name": "a", "x": 1}]);
        assert_eq!(told(&before, &order, Granularity::Trees), [format!(" {before} {order}")]);
        assert_eq!(told(&json!([1, 2]), &json!([1, 3]), Granularity::Trees), ["[1] 2 3"]);
        assert_eq!(told(&json!([1]), &json!([1, 3]), Granularity::Leaves), [" [1] [1,3]"]);
    }

    /// One difference after the other makes the one value of the other, in whatever order.
    #[test]
    fn all_differences_together_are_the_change() {
        let before = json!({"a": {"b": {"c": 1}}, "l": [{"x": {"y": 1}}], "z": "1", "e": {}});
        let after = json!({"a": {"d": [1]}, "l": [{"n": 2}], "z": {"u": 1}, "e": {}});
        for reversed in [false, true] {
            let mut differences = differences(&before, &after, Granularity::Leaves);
            if reversed {
                differences.reverse();
            }
            let made =
                differences.iter().fold(before.clone(), |made, it| with(made, &it.path, it.after.as_ref(), &after));
            assert_eq!(made, after);
        }
    }

    #[test]
    fn many_differences_are_put_together_from_below() {
        let before = json!({"spec": {"args": {"a": 1, "b": 1, "c": 1}, "x": 1}});
        let after = json!({"spec": {"args": {"a": 2, "b": 2, "c": 2}, "x": 2}});
        let fine = differences(&before, &after, Granularity::Leaves);
        let paths = |most| -> Vec<String> {
            coarsen(fine.clone(), most, &before, &after).iter().map(|it| it.path.to_string()).collect()
        };
        assert_eq!(paths(4), ["spec.args.a", "spec.args.b", "spec.args.c", "spec.x"]);
        assert_eq!(paths(2), ["spec.args", "spec.x"]);
        assert_eq!(paths(1), ["spec"]);
    }
}
