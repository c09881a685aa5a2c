//! Compares a rendered object with the live one, field by field of the rendered one.

use serde::Serialize;
use serde_json::{Map, Value};

use super::lists::{self, ListKind};
use super::managers::{self, FieldManagers, OwnerCursors};
use super::{FieldDrift, scalar};
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::Limits;
use kubefoundry_yaml::field_path::FieldPath;

/// The rendered and the live value of a field.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ValueMismatch {
    /// The rendered value; absent if the field is not rendered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<Value>,
    /// The live value; absent if the field is not live.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<Value>,
}

/// Maps to compare as one value when no schema declares it (`+mapType=atomic` in `k8s.io/api/core/v1/types.go`).
const ATOMIC_MAPS: [&str; 4] = ["labelSelector", "matchLabels", "nodeSelector", "selector"];

/// Returns the fields that differ, and the live values of the rendered fields.
pub(super) fn compare(
    expected: &Value,
    found: &Value,
    schema: Option<&Value>,
    managers: &FieldManagers<'_>,
) -> (Vec<FieldDrift>, Value) {
    let mut walk = Comparator { fields: Vec::new(), outer: None };
    let at = FieldContext { path: FieldPath::root(), name: "", schema, cursors: managers.cursors(), is_whole: false };
    let mut projected = Map::new();
    for (key, expected) in expected.as_object().into_iter().flatten() {
        let found = found.get(key).unwrap_or(&Value::Null);
        let below = at.field(key);
        let value = match key.as_str() {
            // The object was found by these fields, so they are equal.
            "apiVersion" | "kind" => expected.clone(),
            "metadata" => walk.metadata(expected, found, &below),
            _ => walk.optional(expected, Some(found), &below).unwrap_or_default(),
        };
        projected.insert(key.clone(), value);
    }
    (walk.fields, Value::Object(projected))
}

/// The field being compared.
struct FieldContext<'w> {
    path: FieldPath,
    /// The name of the field; empty for a list item.
    name: &'w str,
    schema: Option<&'w Value>,
    cursors: OwnerCursors<'w>,
    /// Whether the value is atomic: live fields that are not rendered are then drift.
    is_whole: bool,
}

impl<'w> FieldContext<'w> {
    fn field(&self, key: &'w str) -> Self {
        let property = |schema: &'w Value| {
            let property = schema.get("properties").and_then(|properties| properties.get(key));
            property.or_else(|| schema.get("additionalProperties").filter(|schema| schema.is_object()))
        };
        Self {
            path: self.path.key(key.to_owned()),
            name: key,
            schema: self.schema.and_then(property),
            cursors: managers::field(&self.cursors, key),
            is_whole: self.is_whole,
        }
    }

    fn item(&self, position: usize, cursors: OwnerCursors<'w>, is_whole: bool) -> Self {
        let schema = self.schema.and_then(|schema| schema.get("items"));
        Self { path: self.path.index(position), name: "", schema, cursors, is_whole: self.is_whole || is_whole }
    }

    /// Whether a mapping is atomic, by its schema or by its name.
    fn is_atomic(&self) -> bool {
        let declared = self.schema.and_then(|schema| schema.get("x-kubernetes-map-type")).and_then(Value::as_str);
        self.is_whole || declared.map_or_else(|| ATOMIC_MAPS.contains(&self.name), |map_type| map_type == "atomic")
    }
}

struct Comparator {
    fields: Vec<FieldDrift>,
    /// The field whose YAML text is being compared, and the managers that wrote it.
    outer: Option<(FieldPath, Vec<managers::FieldManager>)>,
}

impl Comparator {
    fn report(&mut self, at: &FieldContext<'_>, expected: Option<&Value>, found: Option<&Value>) {
        let difference = ValueMismatch { expected: expected.cloned(), found: found.cloned() };
        let (path, within, managers) = match &self.outer {
            Some((path, writers)) => (path.to_string(), Some(at.path.to_string()), writers.clone()),
            None => (at.path.to_string(), None, managers::writers(&at.cursors)),
        };
        // A missing value has no writer.
        let managers = if difference.found.is_some() { managers } else { Vec::new() };
        self.fields.push(FieldDrift { path, within, difference, is_shown: true, managers });
    }

    fn metadata(&mut self, expected: &Value, found: &Value, at: &FieldContext<'_>) -> Value {
        let mut projected = Map::new();
        for (key, expected) in expected.as_object().into_iter().flatten() {
            let value = match key.as_str() {
                "name" | "namespace" => Some(expected.clone()),
                key => self.optional(expected, found.get(key), &at.field(key)),
            };
            if let Some(value) = value {
                projected.insert(key.clone(), value);
            }
        }
        Value::Object(projected)
    }

    /// Compares a field that may be absent. `null` and empty values count as absent.
    fn optional(&mut self, expected: &Value, found: Option<&Value>, at: &FieldContext<'_>) -> Option<Value> {
        match found.filter(|found| !found.is_null()) {
            Some(found) => Some(self.value(expected, found, at)),
            None if is_empty(expected) => Some(expected.clone()),
            None => {
                self.report(at, Some(expected), None);
                None
            }
        }
    }

    fn value(&mut self, expected: &Value, found: &Value, at: &FieldContext<'_>) -> Value {
        match (expected, found) {
            (Value::Object(expected), Value::Object(found)) => self.object(expected, found, at),
            (Value::Array(expected), Value::Array(found)) => self.list(expected, found, at),
            (Value::String(one), Value::String(other))
                if one != other && self.compare_embedded_yaml(one, other, at) =>
            {
                Value::from(other.as_str())
            }
            _ => {
                // In embedded YAML, field names belong to another program, so the rules for quantities do not apply.
                let is_same = match self.outer {
                    Some(_) => scalar::is_equal(expected, found),
                    None => scalar::is_same(expected, found, &at.path, at.schema),
                };
                if !is_same {
                    self.report(at, Some(expected), Some(found));
                    return found.clone();
                }
                // Show the rendered spelling of an equal value.
                expected.clone()
            }
        }
    }

    fn object(&mut self, expected: &Map<String, Value>, found: &Map<String, Value>, at: &FieldContext<'_>) -> Value {
        let mut projected = Map::new();
        for (key, value) in expected {
            if let Some(value) = self.optional(value, found.get(key), &at.field(key)) {
                projected.insert(key.clone(), value);
            }
        }
        if at.is_atomic() {
            for (key, value) in found.iter().filter(|(key, value)| !expected.contains_key(*key) && !is_empty(value)) {
                self.report(&at.field(key), None, Some(value));
                projected.insert(key.clone(), value.clone());
            }
        }
        Value::Object(projected)
    }

    fn list(&mut self, expected: &[Value], found: &[Value], at: &FieldContext<'_>) -> Value {
        let kind = if at.is_whole { ListKind::Atomic } else { lists::list_kind(at.schema, at.name, [expected, found]) };
        match kind {
            ListKind::Set => self.set(expected, found, at),
            ListKind::Map(keys) => self.map(expected, found, &keys, at),
            ListKind::Atomic => self.sequence(expected, found, at),
        }
    }

    fn set(&mut self, expected: &[Value], found: &[Value], at: &FieldContext<'_>) -> Value {
        let mut projected = Vec::new();
        for (position, item) in expected.iter().enumerate() {
            if found.contains(item) {
                projected.push(item.clone());
            } else {
                self.report(&at.item(position, Vec::new(), false), Some(item), None);
            }
        }
        Value::Array(projected)
    }

    fn map(&mut self, expected: &[Value], found: &[Value], keys: &[lists::ItemKey], at: &FieldContext<'_>) -> Value {
        let mut projected = Vec::new();
        for (position, item) in expected.iter().enumerate() {
            let at = at.item(position, managers::item(&at.cursors, item, keys), false);
            match found.iter().find(|found| lists::is_same(item, found, keys)) {
                Some(found) => projected.push(self.value(item, found, &at)),
                None => self.report(&at, Some(item), None),
            }
        }
        Value::Array(projected)
    }

    /// Compares an atomic list. Scalar lists of different lengths are reported as a whole.
    fn sequence(&mut self, expected: &[Value], found: &[Value], at: &FieldContext<'_>) -> Value {
        let is_plain = |items: &[Value]| items.iter().all(|item| !item.is_object() && !item.is_array());
        if expected.len() != found.len() && is_plain(expected) && is_plain(found) {
            let [expected, found] = [expected, found].map(|items| Value::Array(items.to_vec()));
            self.report(at, Some(&expected), Some(&found));
            return found;
        }
        if let Some(keys) = lists::name_keys(at.name, [expected, found]) {
            return self.named_sequence(expected, found, &keys, at);
        }
        let cursors = managers::position(&at.cursors);
        let mut projected = Vec::new();
        for position in 0..expected.len().max(found.len()) {
            // The API server also fills defaults into items of atomic lists, so an item is not atomic itself.
            let at = at.item(position, cursors.clone(), false);
            match (expected.get(position), found.get(position)) {
                (Some(expected), Some(found)) => projected.push(self.value(expected, found, &at)),
                (expected, found) => {
                    self.report(&at, expected, found);
                    projected.extend(found.cloned());
                }
            }
        }
        Value::Array(projected)
    }

    /// Compares an atomic list whose items nevertheless have names. Items are matched by name; extra items and another
    /// order are drift.
    fn named_sequence(
        &mut self,
        expected: &[Value],
        found: &[Value],
        keys: &[lists::ItemKey],
        at: &FieldContext<'_>,
    ) -> Value {
        let cursors = managers::position(&at.cursors);
        let before = self.fields.len();
        // Projected items keep their live order.
        let mut projected = found.to_vec();
        for (position, item) in expected.iter().enumerate() {
            let at = at.item(position, cursors.clone(), false);
            match found.iter().position(|found| lists::is_same(item, found, keys)) {
                Some(there) => {
                    if let Some(place) = projected.get_mut(there) {
                        let found = place.clone();
                        *place = self.value(item, &found, &at);
                    }
                }
                None => self.report(&at, Some(item), None),
            }
        }
        for (position, item) in found.iter().enumerate() {
            if !expected.iter().any(|expected| lists::is_same(expected, item, keys)) {
                self.report(&at.item(position, cursors.clone(), false), None, Some(item));
            }
        }
        let is_ordered = expected.iter().zip(found).all(|(one, other)| lists::is_same(one, other, keys));
        if self.fields.len() == before && !is_ordered {
            let [expected, found] = [expected, found].map(|items| Value::Array(items.to_vec()));
            self.report(at, Some(&expected), Some(&found));
        }
        Value::Array(projected)
    }

    /// Compares two texts as YAML mappings. Returns whether both are YAML mappings. The whole text is rendered, so
    /// extra live fields are drift.
    fn compare_embedded_yaml(&mut self, expected: &str, found: &str, at: &FieldContext<'_>) -> bool {
        if self.outer.is_some() || !expected.contains('\n') {
            return false;
        }
        let Some((expected, found)) = parse_mapping(expected).zip(parse_mapping(found)) else { return false };
        self.outer = Some((at.path.clone(), managers::writers(&at.cursors)));
        let inner =
            FieldContext { path: FieldPath::root(), name: "", schema: None, cursors: Vec::new(), is_whole: true };
        self.value(&expected, &found, &inner);
        self.outer = None;
        true
    }
}

/// Parses a text that is exactly one YAML mapping.
fn parse_mapping(text: &str) -> Option<Value> {
    let parsed = yaml::parse(text, &Limits::default());
    let [document] = parsed.documents.as_slice() else { return None };
    let is_clean = parsed.failure.is_none() && document.problems.is_empty();
    let value = document.root.to_json();
    (is_clean && value.is_object()).then_some(value)
}

/// Whether a value counts as absent.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}
