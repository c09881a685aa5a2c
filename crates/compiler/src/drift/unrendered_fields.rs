//! What whoever applies our objects applied once, and what is rendered no more.
//!
//! Server-side apply keeps the fields of each applier apart. The manager that applied the ownership annotation is ours; what
//! it owns besides what is rendered is a leftover that its next apply removes. Labels and annotations of others are left
//! out: GitOps tools apply theirs with the object.

use serde_json::Value;

use super::lists;
use super::managers::{FieldManager, FieldManagers};
use super::{FieldDrift, ValueMismatch};
use kubefoundry_kubernetes::api_group::API_GROUPS;
use kubefoundry_yaml::field_path::{FieldPath, Segment};

/// The fields that our appliers own and that are not rendered.
pub(super) fn find_unrendered(expected: &Value, live: &Value, managers: &FieldManagers<'_>) -> Vec<FieldDrift> {
    let ours = managers.entries.iter().filter(|(writer, fields)| {
        writer.operation == "Apply" && writer.subresource.is_empty() && owns_annotation(fields)
    });
    let mut found = Vec::new();
    for (writer, fields) in ours {
        let mut walk = UnrenderedFieldWalk { writer, found: &mut found };
        walk.object(fields, expected, live, &FieldPath::root());
    }
    found
}

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
    found: &'w mut Vec<FieldDrift>,
}

impl UnrenderedFieldWalk<'_> {
    fn object(&mut self, fields: &Value, expected: &Value, live: &Value, path: &FieldPath) {
        for (name, below) in fields.as_object().into_iter().flatten() {
            if let Some(key) = name.strip_prefix("f:") {
                let path = path.key(key.to_owned());
                if let Some(live) = live.get(key).filter(|_| !is_of_others(&path)) {
                    self.step(below, expected.get(key), live, &path);
                }
            } else if let Some(said) = name.strip_prefix("k:") {
                let Ok(said) = serde_json::from_str::<Value>(said) else { continue };
                let Some((position, live)) = item(live, &said) else { continue };
                let expected = item(expected, &said).map(|(_, item)| item);
                self.step(below, expected, live, &path.index(position));
            } else if let Some(said) = name.strip_prefix("v:") {
                let Ok(said) = serde_json::from_str::<Value>(said) else { continue };
                let position = live.as_array().and_then(|items| items.iter().position(|item| *item == said));
                let is_rendered = expected.as_array().is_some_and(|items| items.contains(&said));
                if let Some(position) = position.filter(|_| !is_rendered) {
                    self.report(&said, &path.index(position));
                }
            }
        }
    }

    fn step(&mut self, below: &Value, expected: Option<&Value>, live: &Value, path: &FieldPath) {
        let is_whole = below.as_object().is_none_or(|fields| fields.is_empty() || fields.contains_key("."));
        match expected {
            Some(expected) => self.object(below, expected, live, path),
            None if is_whole => self.report(live, path),
            // It holds what is of others, too.
            None => self.object(below, &Value::Null, live, path),
        }
    }

    fn report(&mut self, live: &Value, path: &FieldPath) {
        let difference = ValueMismatch { expected: None, found: Some(live.clone()) };
        let drift = FieldDrift {
            path: path.to_string(),
            within: None,
            difference,
            is_shown: false,
            managers: vec![self.writer.clone()],
        };
        if !self.found.iter().any(|known| known.path == drift.path) {
            self.found.push(drift);
        }
    }
}

/// Whether a field is one that other tools apply with the object: labels and annotations that are not of our prefix.
fn is_of_others(path: &FieldPath) -> bool {
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

/// The item of a list that has the values of a key, and its position.
fn item<'v>(list: &'v Value, said: &Value) -> Option<(usize, &'v Value)> {
    let has = |item: &Value| {
        said.as_object().is_some_and(|keys| {
            keys.iter().all(|(name, value)| {
                let default = (name == "protocol").then(|| Value::from("TCP"));
                let key = lists::ItemKey { name: name.clone(), default };
                lists::part(item, &key) == Some(value)
            })
        })
    };
    list.as_array()?.iter().enumerate().find(|(_, item)| has(item))
}
