//! Where two outputs differ: field by field, and inside texts that are themselves YAML or JSON.

use serde_json::Value;

use kubefoundry_yaml as yaml;
use kubefoundry_yaml::field_path::FieldPath;

/// A place in an object, or in a text of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OutputPlace {
    /// Which object, by its position.
    pub(crate) object: usize,
    /// The field.
    pub(crate) path: FieldPath,
    /// The field inside the text that the field holds.
    pub(crate) inside: Option<FieldPath>,
}

impl OutputPlace {
    /// A place in an object.
    pub(crate) fn of(object: usize) -> Self {
        Self { object, path: FieldPath::root(), inside: None }
    }

    fn key(&self, key: &str) -> Self {
        self.step(|path| path.key(key.to_owned()))
    }

    fn index(&self, index: usize) -> Self {
        self.step(|path| path.index(index))
    }

    fn step(&self, step: impl Fn(&FieldPath) -> FieldPath) -> Self {
        let mut place = self.clone();
        match &mut place.inside {
            Some(inside) => *inside = step(inside),
            None => place.path = step(&place.path),
        }
        place
    }

    /// The start of what is inside the text here. A text inside a text is one.
    fn text(&self) -> Option<Self> {
        self.inside.is_none().then(|| Self { inside: Some(FieldPath::root()), ..self.clone() })
    }
}

/// What a text holds that is YAML or JSON itself, alone or as the value of a flag; and the flag.
fn structured(text: &str) -> Option<(&str, Value)> {
    let (flag, body) = match text.split_once('=') {
        Some((flag, body)) if flag.starts_with("--") && body.starts_with(['{', '[']) => (flag, body),
        _ => ("", text),
    };
    // A sentence with a colon is a mapping to YAML; a text of lines that are fields is meant as one.
    let is_block = body.contains('\n') && (body.contains(":\n") || body.contains(": "));
    if !body.starts_with(['{', '[']) && !is_block {
        return None;
    }
    let parsed = yaml::parse(body, &yaml::Limits::default());
    let [document] = parsed.documents.as_slice() else { return None };
    let value = document.root.to_json();
    (parsed.failure.is_none() && (value.is_object() || value.is_array())).then_some((flag, value))
}

/// Where `base` differs from `other`: `changed` are places of `base`, `added` what only `other` has.
#[derive(Debug, Default)]
pub(crate) struct OutputDifference {
    pub(crate) changed: Vec<OutputPlace>,
    pub(crate) added: Vec<OutputPlace>,
}

impl OutputDifference {
    /// Compares two values at a place.
    pub(crate) fn compare(&mut self, base: &Value, other: &Value, place: &OutputPlace) {
        match (base, other) {
            _ if base == other => {}
            (Value::Object(fields), Value::Object(others)) => {
                for (key, value) in fields {
                    match others.get(key) {
                        Some(other) => self.compare(value, other, &place.key(key)),
                        None => self.gone(value, &place.key(key)),
                    }
                }
                let new = others.keys().filter(|key| !fields.contains_key(*key));
                self.added.extend(new.map(|key| place.key(key)));
            }
            (Value::Array(items), Value::Array(others)) => self.lists(items, others, place),
            (Value::String(text), Value::String(other)) => {
                let both = place.text().zip(structured(text).zip(structured(other)));
                match both {
                    Some((inside, ((flag, value), (other_flag, other)))) if flag == other_flag && value != other => {
                        self.compare(&value, &other, &inside);
                    }
                    _ => self.gone(base, place),
                }
            }
            _ => self.gone(base, place),
        }
    }

    /// Lists are alike at their start and end; what lies between is compared item by item.
    fn lists(&mut self, items: &[Value], others: &[Value], place: &OutputPlace) {
        let same = |pairs: &mut dyn Iterator<Item = (&Value, &Value)>| pairs.take_while(|(a, b)| a == b).count();
        let short = items.len().min(others.len());
        let start = same(&mut items.iter().zip(others));
        let end = same(&mut items.iter().rev().zip(others.iter().rev())).min(short - start);
        let middle = items.iter().enumerate().take(items.len() - end).skip(start);
        let mut other_middle = others.iter().take(others.len() - end).skip(start);
        for (index, item) in middle {
            match other_middle.next() {
                Some(other) => self.compare(item, other, &place.index(index)),
                None => self.gone(item, &place.index(index)),
            }
        }
        let count = other_middle.count();
        let first = others.len() - end - count;
        self.added.extend((first..first + count).map(|index| place.index(index)));
    }

    /// Everything below a place is another, or gone.
    fn gone(&mut self, value: &Value, place: &OutputPlace) {
        self.changed.extend(leaves(value, place).into_iter().map(|(place, _)| place));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.added.is_empty()
    }
}

/// Every scalar of a value, and every empty collection, with its place; those of texts that are YAML or JSON, too.
pub(crate) fn leaves(value: &Value, place: &OutputPlace) -> Vec<(OutputPlace, Value)> {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            fields.iter().flat_map(|(key, value)| leaves(value, &place.key(key))).collect()
        }
        Value::Array(items) if !items.is_empty() => {
            items.iter().enumerate().flat_map(|(index, item)| leaves(item, &place.index(index))).collect()
        }
        Value::String(text) => match place.text().zip(structured(text)) {
            Some((inside, (_, value))) => leaves(&value, &inside),
            None => vec![(place.clone(), value.clone())],
        },
        other => vec![(place.clone(), other.clone())],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn compare(base: &Value, other: &Value) -> (Vec<String>, Vec<String>) {
        let mut found = OutputDifference::default();
        found.compare(base, other, &OutputPlace::of(0));
        let texts = |places: Vec<OutputPlace>| {
            let text = |place: OutputPlace| match place.inside {
                Some(inside) => format!("{} > {inside}", place.path),
                None => place.path.to_string(),
            };
            places.into_iter().map(text).collect()
        };
        (texts(found.changed), texts(found.added))
    }

    /// One more argument does not make all that follow others.
    #[test]
    fn an_inserted_item_is_added() {
        let found = compare(&json!({"args": ["a", "c"], "x": 1}), &json!({"args": ["a", "b", "c"], "y": 2}));
        assert_eq!(found, (vec!["x".to_owned()], vec!["args[1]".to_owned(), "y".to_owned()]));
        let found = compare(&json!(["a", "a"]), &json!(["a"]));
        assert_eq!(found, (vec!["[1]".to_owned()], vec![]));
    }

    #[test]
    fn texts_that_are_structured_are_looked_into() {
        let found = compare(&json!({"c": "a: 1\nb: [2]\n"}), &json!({"c": "a: 1\nb: [3]\n"}));
        assert_eq!(found.0, ["c > b[0]"]);
        let found = compare(&json!(["--x={\"a\": 1}"]), &json!(["--x={\"a\": 2}"]));
        assert_eq!(found.0, ["[0] > a"]);
        assert_eq!(compare(&json!(["--x={\"a\": 1}"]), &json!(["--y={\"a\": 1}"])).0, ["[0] > a"]);
        assert_eq!(compare(&json!("one: two # three"), &json!("one: two # four")).0, [""]);
    }
}
