//! Compares a rendered object with the live one, field by field of the rendered one.

use serde::Serialize;
use serde_json::{Map, Value};

use super::lists::{self, ListKind};
use super::managers::{self, FieldManagers, OwnerCursors};
use super::{FieldDrift, scalar};
use kubefoundry_model::composition::Composition;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::Limits;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::secret::mask_at;

/// The rendered and the live value of a field.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    composition: &Composition,
    expected: &Value,
    live: &Value,
    schema: Option<&Value>,
    managers: &FieldManagers<'_>,
) -> (Vec<FieldDrift>, Value) {
    let mut comparator = Comparator { composition, fields: Vec::new(), embedding: None, objects: [expected, live] };
    let at = FieldContext { path: FieldPath::root(), name: "", schema, cursors: managers.cursors(), in_atomic: false };
    let mut projected = Map::new();
    for (key, expected) in expected.as_object().into_iter().flatten() {
        let live = live.get(key).unwrap_or(&Value::Null);
        let below = at.field(key);
        let value = match key.as_str() {
            // The live object was looked up by these fields, so they are equal.
            "apiVersion" | "kind" => expected.clone(),
            "metadata" => comparator.compare_metadata(expected, live, &below),
            _ => comparator.compare_optional(expected, Some(live), &below).unwrap_or_default(),
        };
        projected.insert(key.clone(), value);
    }
    (comparator.fields, Value::Object(projected))
}

/// The field being compared.
struct FieldContext<'w> {
    path: FieldPath,
    /// The name of the field; empty for a list item.
    name: &'w str,
    schema: Option<&'w Value>,
    cursors: OwnerCursors<'w>,
    /// Whether the field is part of an atomic value. Live fields that are not rendered are then drift.
    in_atomic: bool,
}

impl<'w> FieldContext<'w> {
    /// Returns the context of a field in this value, with its schema and owners.
    fn field(&self, key: &'w str) -> Self {
        let property = |schema: &'w Value| {
            let property = schema.get("properties").and_then(|properties| properties.get(key));
            property.or_else(|| schema.get("additionalProperties").filter(|schema| schema.is_object()))
        };
        Self {
            path: self.path.key(key.to_owned()),
            name: key,
            schema: self.schema.and_then(property),
            cursors: managers::field_owners(&self.cursors, key),
            in_atomic: self.in_atomic,
        }
    }

    /// Returns the context of a list item. `cursors` are the owners of the item.
    fn item(&self, position: usize, cursors: OwnerCursors<'w>) -> Self {
        let schema = self.schema.and_then(|schema| schema.get("items"));
        Self { path: self.path.index(position), name: "", schema, cursors, in_atomic: self.in_atomic }
    }

    /// Returns whether a mapping is atomic, by its schema or by its name.
    fn is_atomic(&self) -> bool {
        let declared = self.schema.and_then(|schema| schema.get("x-kubernetes-map-type")).and_then(Value::as_str);
        self.in_atomic || declared.map_or_else(|| ATOMIC_MAPS.contains(&self.name), |map_type| map_type == "atomic")
    }
}

struct Comparator<'w> {
    composition: &'w Composition,
    fields: Vec<FieldDrift>,
    /// The rendered and the live object.
    objects: [&'w Value; 2],
    /// The field whose YAML text is being compared, and the managers that wrote it.
    embedding: Option<(FieldPath, Vec<managers::FieldManager>)>,
}

impl Comparator<'_> {
    /// Records a field with another live value, and the managers that wrote it.
    fn report(&mut self, at: &FieldContext<'_>, expected: Option<&Value>, live: Option<&Value>) {
        let mask = |object: &Value, value: Option<&Value>| {
            let root = if self.embedding.is_some() { &Value::Null } else { object };
            Some(mask_at(root, &at.path, value?.clone()))
        };
        let [rendered_object, live_object] = self.objects;
        let difference = ValueMismatch { expected: mask(rendered_object, expected), found: mask(live_object, live) };
        let (path, within, managers) = match &self.embedding {
            Some((path, writers)) => (path.to_string(), Some(at.path.to_string()), writers.clone()),
            None => (at.path.to_string(), None, managers::writers(&at.cursors)),
        };
        // A missing value has no writer.
        let managers = if difference.found.is_some() { managers } else { Vec::new() };
        self.fields.push(FieldDrift { path, within, difference, is_shown: true, managers });
    }

    /// Compares metadata. Name and namespace are equal, because the live object was found by them.
    fn compare_metadata(&mut self, expected: &Value, live: &Value, at: &FieldContext<'_>) -> Value {
        let mut projected = Map::new();
        for (key, expected) in expected.as_object().into_iter().flatten() {
            let value = match key.as_str() {
                "name" | "namespace" => Some(expected.clone()),
                key => self.compare_optional(expected, live.get(key), &at.field(key)),
            };
            if let Some(value) = value {
                projected.insert(key.clone(), value);
            }
        }
        Value::Object(projected)
    }

    /// Compares a field that may be absent. `null` and empty values count as absent.
    fn compare_optional(&mut self, expected: &Value, live: Option<&Value>, at: &FieldContext<'_>) -> Option<Value> {
        match live.filter(|live| !live.is_null()) {
            Some(live) => Some(self.compare_value(expected, live, at)),
            None if is_empty(expected) => Some(expected.clone()),
            None => {
                self.report(at, Some(expected), None);
                None
            }
        }
    }

    /// Compares two values. Returns the live value, reduced to the rendered fields.
    fn compare_value(&mut self, expected: &Value, live: &Value, at: &FieldContext<'_>) -> Value {
        match (expected, live) {
            (Value::Object(expected), Value::Object(live)) => self.compare_object(expected, live, at),
            (Value::Array(expected), Value::Array(live)) => self.compare_list(expected, live, at),
            (Value::String(one), Value::String(other))
                if one != other && self.compare_embedded_yaml(one, other, at) =>
            {
                Value::from(other.as_str())
            }
            _ => {
                // In embedded YAML, field names belong to another program, so the rules for quantities do not apply.
                let is_same = match self.embedding {
                    Some(_) => scalar::is_equal(expected, live),
                    None => scalar::is_same(expected, live, &at.path, at.schema),
                };
                if !is_same {
                    self.report(at, Some(expected), Some(live));
                    return live.clone();
                }
                // Show the rendered spelling of an equal value.
                expected.clone()
            }
        }
    }

    /// Compares two mappings. In an atomic one, additional live fields are drift, too.
    fn compare_object(
        &mut self,
        expected: &Map<String, Value>,
        live: &Map<String, Value>,
        at: &FieldContext<'_>,
    ) -> Value {
        let mut projected = Map::new();
        for (key, value) in expected {
            if let Some(value) = self.compare_optional(value, live.get(key), &at.field(key)) {
                projected.insert(key.clone(), value);
            }
        }
        if at.is_atomic() {
            for (key, value) in live.iter().filter(|(key, value)| !expected.contains_key(*key) && !is_empty(value)) {
                self.report(&at.field(key), None, Some(value));
                projected.insert(key.clone(), value.clone());
            }
        }
        Value::Object(projected)
    }

    fn compare_list(&mut self, expected: &[Value], live: &[Value], at: &FieldContext<'_>) -> Value {
        let kind = if at.in_atomic {
            ListKind::Atomic
        } else {
            lists::list_kind(self.composition, at.schema, at.name, [expected, live])
        };
        match kind {
            ListKind::Set => self.compare_set(expected, live, at),
            ListKind::Map(keys) => self.compare_map(expected, live, &keys, at),
            ListKind::Atomic => self.compare_sequence(expected, live, at),
        }
    }

    fn compare_set(&mut self, expected: &[Value], live: &[Value], at: &FieldContext<'_>) -> Value {
        let mut projected = Vec::new();
        // Items that only the live list has are not drift, because other writers may add some.
        for (position, item) in expected.iter().enumerate() {
            if live.contains(item) {
                projected.push(item.clone());
            } else {
                self.report(&at.item(position, Vec::new()), Some(item), None);
            }
        }
        Value::Array(projected)
    }

    /// Compares lists whose items have keys. Items that only the live list has are not drift.
    fn compare_map(
        &mut self,
        expected: &[Value],
        live: &[Value],
        keys: &[lists::ItemKey],
        at: &FieldContext<'_>,
    ) -> Value {
        let mut projected = Vec::new();
        for (position, item) in expected.iter().enumerate() {
            let at = at.item(position, managers::item_owners(&at.cursors, item, keys));
            match live.iter().find(|live| lists::is_same(item, live, keys)) {
                Some(live) => projected.push(self.compare_value(item, live, &at)),
                None => self.report(&at, Some(item), None),
            }
        }
        Value::Array(projected)
    }

    /// Compares an atomic list, item by item. Scalar lists of different lengths are reported as a whole: one inserted
    /// item would otherwise make every item after it differ.
    fn compare_sequence(&mut self, expected: &[Value], live: &[Value], at: &FieldContext<'_>) -> Value {
        let is_plain = |items: &[Value]| items.iter().all(|item| !item.is_object() && !item.is_array());
        if expected.len() != live.len() && is_plain(expected) && is_plain(live) {
            let [expected, live] = [expected, live].map(|items| Value::Array(items.to_vec()));
            self.report(at, Some(&expected), Some(&live));
            return live;
        }
        if let Some(keys) = lists::name_keys(self.composition, at.name, [expected, live]) {
            return self.compare_named_sequence(expected, live, &keys, at);
        }
        let cursors = managers::atomic_list_owners(&at.cursors);
        let mut projected = Vec::new();
        for position in 0..expected.len().max(live.len()) {
            // The API server also fills defaults into items of atomic lists, so an item is not atomic itself.
            let at = at.item(position, cursors.clone());
            match (expected.get(position), live.get(position)) {
                (Some(expected), Some(live)) => projected.push(self.compare_value(expected, live, &at)),
                (expected, live) => {
                    self.report(&at, expected, live);
                    projected.extend(live.cloned());
                }
            }
        }
        Value::Array(projected)
    }

    /// Compares an atomic list whose items nevertheless have names. Items are matched by name; extra items and another
    /// order are drift.
    fn compare_named_sequence(
        &mut self,
        expected: &[Value],
        live: &[Value],
        keys: &[lists::ItemKey],
        at: &FieldContext<'_>,
    ) -> Value {
        let cursors = managers::atomic_list_owners(&at.cursors);
        let count_before = self.fields.len();
        // Projected items keep their live order.
        let mut projected = live.to_vec();
        for (position, item) in expected.iter().enumerate() {
            let at = at.item(position, cursors.clone());
            match live.iter().position(|live| lists::is_same(item, live, keys)) {
                Some(live_position) => {
                    if let Some(slot) = projected.get_mut(live_position) {
                        let live = slot.clone();
                        *slot = self.compare_value(item, &live, &at);
                    }
                }
                None => self.report(&at, Some(item), None),
            }
        }
        for (position, item) in live.iter().enumerate() {
            if !expected.iter().any(|expected| lists::is_same(expected, item, keys)) {
                self.report(&at.item(position, cursors.clone()), None, Some(item));
            }
        }
        let is_ordered = expected.iter().zip(live).all(|(one, other)| lists::is_same(one, other, keys));
        if self.fields.len() == count_before && !is_ordered {
            let [expected, live] = [expected, live].map(|items| Value::Array(items.to_vec()));
            self.report(at, Some(&expected), Some(&live));
        }
        Value::Array(projected)
    }

    /// Compares two texts as YAML mappings. Returns whether both are YAML mappings. The whole text is rendered, so
    /// extra live fields are drift.
    fn compare_embedded_yaml(&mut self, expected: &str, live: &str, at: &FieldContext<'_>) -> bool {
        if self.embedding.is_some() || !expected.contains('\n') {
            return false;
        }
        let Some((expected, live)) = parse_mapping(expected).zip(parse_mapping(live)) else { return false };
        self.embedding = Some((at.path.clone(), managers::writers(&at.cursors)));
        let inner =
            FieldContext { path: FieldPath::root(), name: "", schema: None, cursors: Vec::new(), in_atomic: true };
        self.compare_value(&expected, &live, &inner);
        self.embedding = None;
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

/// Returns whether a value counts as absent.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}
