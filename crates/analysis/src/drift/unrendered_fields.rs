//! Finds fields that were applied earlier and are no longer rendered.
//!
//! Server-side apply tracks the fields of each applier. The manager that applied the ownership annotation is the one
//! that applies rendered objects. A field that it owns and that is no longer rendered would be removed by its next
//! apply. Labels and annotations with other prefixes are skipped, because GitOps tools apply their own with the object.

use serde_json::Value;

use super::lists;
use super::managers::{FieldManager, FieldManagers};
use super::{FieldDrift, ValueMismatch};
use kubefoundry_kubernetes::api_group::API_GROUPS;
use kubefoundry_yaml::field_path::{FieldPath, Segment};

/// Returns the fields that an applier of rendered objects owns and that are not rendered.
pub(super) fn find_unrendered(expected: &Value, live: &Value, managers: &FieldManagers<'_>) -> Vec<FieldDrift> {
    let appliers = managers.entries.iter().filter(|(writer, fields)| {
        writer.operation == "Apply" && writer.subresource.is_empty() && owns_annotation(fields)
    });
    let mut drifts = Vec::new();
    for (writer, owned) in appliers {
        let mut walk = UnrenderedFieldWalk { writer, drifts: &mut drifts };
        walk.visit_fields(owned, expected, live, &FieldPath::root());
    }
    drifts
}

/// Returns whether a manager applied the ownership annotation.
fn owns_annotation(fields: &Value) -> bool {
    let annotations = fields.get("f:metadata").and_then(|metadata| metadata.get("f:annotations"));
    annotations.is_some_and(|annotations| {
        API_GROUPS
            .iter()
            .any(|api_group| annotations.get(format!("f:{}", api_group.label("model-deployment"))).is_some())
    })
}

struct UnrenderedFieldWalk<'w> {
    writer: &'w FieldManager,
    drifts: &'w mut Vec<FieldDrift>,
}

impl UnrenderedFieldWalk<'_> {
    /// Visits the owned fields of a live value. `fields` is the part of `fieldsV1` for the value at `path`.
    fn visit_fields(&mut self, fields: &Value, expected: &Value, live: &Value, path: &FieldPath) {
        // Names of FieldsV1: `f:` is a field, `k:` an item of a list with keys, and `v:` an item of a set.
        for (name, below) in fields.as_object().into_iter().flatten() {
            if let Some(key) = name.strip_prefix("f:") {
                let path = path.key(key.to_owned());
                if let Some(live) = live.get(key).filter(|_| !belongs_to_other_tools(&path)) {
                    self.visit(below, expected.get(key), live, &path);
                }
            } else if let Some(key_values) = name.strip_prefix("k:") {
                let Ok(key_values) = serde_json::from_str::<Value>(key_values) else { continue };
                let Some((position, live)) = find_item(live, &key_values) else { continue };
                let expected = find_item(expected, &key_values).map(|(_, item)| item);
                self.visit(below, expected, live, &path.index(position));
            } else if let Some(item) = name.strip_prefix("v:") {
                let Ok(item) = serde_json::from_str::<Value>(item) else { continue };
                let position = live.as_array().and_then(|items| items.iter().position(|other| *other == item));
                let is_rendered = expected.as_array().is_some_and(|items| items.contains(&item));
                if let Some(position) = position.filter(|_| !is_rendered) {
                    self.report(&item, &path.index(position));
                }
            }
        }
    }

    /// Reports an owned field that is not rendered, or visits the owned fields in it.
    fn visit(&mut self, below: &Value, expected: Option<&Value>, live: &Value, path: &FieldPath) {
        let is_whole = below.as_object().is_none_or(|fields| fields.is_empty() || fields.contains_key("."));
        match expected {
            Some(expected) => self.visit_fields(below, expected, live, path),
            None if is_whole => self.report(live, path),
            // The field also holds values of other managers: report only the owned ones below it.
            None => self.visit_fields(below, &Value::Null, live, path),
        }
    }

    /// Reports a field once, even if several managers own it.
    fn report(&mut self, live: &Value, path: &FieldPath) {
        let difference = ValueMismatch { expected: None, found: Some(live.clone()) };
        let drift = FieldDrift {
            path: path.to_string(),
            within: None,
            difference,
            is_shown: false,
            managers: vec![self.writer.clone()],
        };
        if !self.drifts.iter().any(|known| known.path == drift.path) {
            self.drifts.push(drift);
        }
    }
}

/// Returns whether other tools apply this field with the object: labels and annotations without a known prefix.
fn belongs_to_other_tools(path: &FieldPath) -> bool {
    let key = |position: usize| match path.segments().get(position) {
        Some(Segment::Key(key)) => Some(key.as_ref()),
        _ => None,
    };
    match (key(0), key(1), key(2)) {
        (Some("metadata"), Some("labels" | "annotations"), Some(key)) => {
            !API_GROUPS.iter().any(|api_group| key.starts_with(api_group.label_prefix))
        }
        (Some("metadata"), Some(field), None) => !matches!(field, "labels" | "annotations"),
        _ => false,
    }
}

/// Finds the item of a list whose keys have the given values, and its position.
fn find_item<'v>(list: &'v Value, key_values: &Value) -> Option<(usize, &'v Value)> {
    let has_keys = |item: &Value| {
        key_values.as_object().is_some_and(|keys| {
            keys.iter().all(|(name, value)| {
                let default = (name == "protocol").then(|| Value::from("TCP"));
                let key = lists::ItemKey { name: name.clone(), default };
                lists::key_value(item, &key) == Some(value)
            })
        })
    };
    list.as_array()?.iter().enumerate().find(|(_, item)| has_keys(item))
}
