//! Compares two outputs field by field, including texts that contain YAML or JSON.

use serde_json::Value;

use kubefoundry_yaml as yaml;
use kubefoundry_yaml::field_path::FieldPath;

/// A place in an object, or inside a text of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OutputPlace {
    /// The position of the object in the output.
    pub object: usize,
    /// The path in the object.
    pub path: FieldPath,
    /// The field inside the text, if the field holds YAML or JSON.
    pub inside: Option<FieldPath>,
}

impl OutputPlace {
    /// Creates the place of an object as a whole.
    pub fn root(object: usize) -> Self {
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

    /// Returns the place of the content of the text at this place. Texts inside texts are not parsed further.
    fn text(&self) -> Option<Self> {
        self.inside.is_none().then(|| Self { inside: Some(FieldPath::root()), ..self.clone() })
    }
}

/// Parses a text that is YAML or JSON, or a flag with such a value. Returns the flag and the content.
fn parse_structured_text(text: &str) -> Option<(&str, Value)> {
    let (flag, body) = match text.split_once('=') {
        Some((flag, body)) if flag.starts_with("--") && body.starts_with(['{', '[']) => (flag, body),
        _ => ("", text),
    };
    // YAML reads a sentence with a colon as a mapping, so only texts with several lines of fields count.
    let is_block = body.contains('\n') && (body.contains(":\n") || body.contains(": "));
    if !body.starts_with(['{', '[']) && !is_block {
        return None;
    }
    let parsed = yaml::parse(body, &yaml::Limits::default());
    let [document] = parsed.documents.as_slice() else { return None };
    let value = document.root.to_json();
    (parsed.failure.is_none() && (value.is_object() || value.is_array())).then_some((flag, value))
}

/// The difference between `base` and `other`: `changed` are places of `base`, `added` are places that only `other` has.
#[derive(Debug, Default)]
pub struct OutputDifference {
    /// Places of the base.
    pub changed: Vec<OutputPlace>,
    /// Places that only the other output has.
    pub added: Vec<OutputPlace>,
}

impl OutputDifference {
    /// Whether an object as a whole is another one, because its kind or API version changes.
    pub fn replaces_object(&self) -> bool {
        self.changed.iter().any(|place| *place == OutputPlace::root(place.object))
    }

    /// Compares two values at a place.
    pub(crate) fn compare(&mut self, base: &Value, other: &Value, place: &OutputPlace) {
        match (base, other) {
            _ if base == other => {}
            (Value::Object(fields), Value::Object(others)) => {
                for (key, value) in fields {
                    match others.get(key) {
                        Some(other) => self.compare(value, other, &place.key(key)),
                        None => self.mark_changed(value, &place.key(key)),
                    }
                }
                let new = others.keys().filter(|key| !fields.contains_key(*key));
                self.added.extend(new.map(|key| place.key(key)));
            }
            (Value::Array(items), Value::Array(others)) => self.compare_lists(items, others, place),
            (Value::String(text), Value::String(other)) => {
                let parsed = place.text().zip(parse_structured_text(text).zip(parse_structured_text(other)));
                match parsed {
                    Some((inside, ((flag, value), (other_flag, other)))) if flag == other_flag && value != other => {
                        self.compare(&value, &other, &inside);
                    }
                    _ => self.mark_changed(base, place),
                }
            }
            _ => self.mark_changed(base, place),
        }
    }

    /// Compares lists. Equal items at the start and end are skipped, so that an inserted argument does not make all
    /// later ones differ; the rest is compared item by item.
    fn compare_lists(&mut self, items: &[Value], others: &[Value], place: &OutputPlace) {
        let count_equal = |pairs: &mut dyn Iterator<Item = (&Value, &Value)>| pairs.take_while(|(a, b)| a == b).count();
        let shorter = items.len().min(others.len());
        let start = count_equal(&mut items.iter().zip(others));
        let end = count_equal(&mut items.iter().rev().zip(others.iter().rev())).min(shorter - start);
        let middle = items.iter().enumerate().take(items.len() - end).skip(start);
        let mut other_middle = others.iter().take(others.len() - end).skip(start);
        for (index, item) in middle {
            match other_middle.next() {
                Some(other) => self.compare(item, other, &place.index(index)),
                None => self.mark_changed(item, &place.index(index)),
            }
        }
        let count = other_middle.count();
        let first = others.len() - end - count;
        self.added.extend((first..first + count).map(|index| place.index(index)));
    }

    /// Records everything below a place as changed.
    fn mark_changed(&mut self, value: &Value, place: &OutputPlace) {
        self.changed.extend(leaves(value, place).into_iter().map(|(place, _)| place));
    }

    /// Returns whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.added.is_empty()
    }
}

/// Returns every scalar and every empty collection of a value with its place, including those inside YAML or JSON
/// texts.
pub fn leaves(value: &Value, place: &OutputPlace) -> Vec<(OutputPlace, Value)> {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            fields.iter().flat_map(|(key, value)| leaves(value, &place.key(key))).collect()
        }
        Value::Array(items) if !items.is_empty() => {
            items.iter().enumerate().flat_map(|(index, item)| leaves(item, &place.index(index))).collect()
        }
        Value::String(text) => match place.text().zip(parse_structured_text(text)) {
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
        let mut difference = OutputDifference::default();
        difference.compare(base, other, &OutputPlace::root(0));
        let texts = |places: Vec<OutputPlace>| {
            let text = |place: OutputPlace| match place.inside {
                Some(inside) => format!("{} > {inside}", place.path),
                None => place.path.to_string(),
            };
            places.into_iter().map(text).collect()
        };
        (texts(difference.changed), texts(difference.added))
    }

    /// An inserted argument does not change the following ones.
    #[test]
    fn an_inserted_item_is_added() {
        let difference = compare(&json!({"args": ["a", "c"], "x": 1}), &json!({"args": ["a", "b", "c"], "y": 2}));
        assert_eq!(difference, (vec!["x".to_owned()], vec!["args[1]".to_owned(), "y".to_owned()]));
        let difference = compare(&json!(["a", "a"]), &json!(["a"]));
        assert_eq!(difference, (vec!["[1]".to_owned()], vec![]));
    }

    #[test]
    fn structured_texts_are_compared_by_content() {
        let difference = compare(&json!({"c": "a: 1\nb: [2]\n"}), &json!({"c": "a: 1\nb: [3]\n"}));
        assert_eq!(difference.0, ["c > b[0]"]);
        let difference = compare(&json!(["--x={\"a\": 1}"]), &json!(["--x={\"a\": 2}"]));
        assert_eq!(difference.0, ["[0] > a"]);
        assert_eq!(compare(&json!(["--x={\"a\": 1}"]), &json!(["--y={\"a\": 1}"])).0, ["[0] > a"]);
        assert_eq!(compare(&json!("one: two # three"), &json!("one: two # four")).0, [""]);
    }
}
