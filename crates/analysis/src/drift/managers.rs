//! Finds who wrote a field, from `metadata.managedFields` (meta/v1 FieldsV1,
//! `sigs.k8s.io/structured-merge-diff/fieldpath/serialize-pe.go`).

use serde::Serialize;
use serde_json::Value;

use super::lists::{self, ItemKey};
use kubefoundry_provider::status::text_or_empty;

/// A client that wrote a field.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FieldManager {
    /// The name of the field manager.
    pub manager: String,
    /// `Apply` or `Update`.
    pub operation: String,
    /// The subresource that it wrote through, such as `status` or `scale`; absent for the object itself.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub subresource: String,
    /// The time of the write (RFC 3339).
    #[serde(skip_serializing_if = "String::is_empty")]
    pub time: String,
}

/// The managers of an object, each with the tree of fields that it owns.
#[derive(Debug, Default)]
pub(super) struct FieldManagers<'l> {
    pub(super) entries: Vec<(FieldManager, &'l Value)>,
}

/// The managers that own the current field, each with its position in the tree of its fields.
pub(super) type OwnerCursors<'m> = Vec<(&'m FieldManager, &'m Value)>;

impl<'l> FieldManagers<'l> {
    /// Reads the managers whose fields are in the object's own API version.
    pub(super) fn read(live: &'l Value) -> Self {
        let version = text_or_empty(live, "/apiVersion");
        let entries = live.pointer("/metadata/managedFields").and_then(Value::as_array);
        let entries = entries.into_iter().flatten().filter_map(|entry| {
            let text = |field: &str| text_or_empty(entry, field).to_owned();
            let writer = FieldManager {
                manager: text("/manager"),
                operation: text("/operation"),
                subresource: text("/subresource"),
                time: text("/time"),
            };
            let is_same_version = text_or_empty(entry, "/apiVersion") == version;
            Some((writer, entry.get("fieldsV1").filter(|fields| is_same_version && fields.is_object())?))
        });
        Self { entries: entries.collect() }
    }

    /// Returns a cursor for every manager, at the root of its fields.
    pub(super) fn cursors(&self) -> OwnerCursors<'_> {
        self.entries.iter().map(|(writer, fields)| (writer, *fields)).collect()
    }
}

/// Returns true if no fields are listed below this one, which means that the manager owns the whole value.
fn owns_whole_value(fields: &Value) -> bool {
    fields.as_object().is_none_or(serde_json::Map::is_empty)
}

/// Moves the cursors one level down with `next`, and drops the managers that own nothing there.
fn descend<'m>(cursors: &OwnerCursors<'m>, next: impl Fn(&'m Value) -> Option<&'m Value>) -> OwnerCursors<'m> {
    let descend_one = |(writer, fields): &(&'m FieldManager, &'m Value)| {
        // The owner of a whole list or map owns everything in it.
        let below = if owns_whole_value(fields) { Some(*fields) } else { next(fields) };
        below.map(|below| (*writer, below))
    };
    cursors.iter().filter_map(descend_one).collect()
}

/// Returns the owners of a field of a mapping, or of something in it.
pub(super) fn field_owners<'m>(cursors: &OwnerCursors<'m>, name: &str) -> OwnerCursors<'m> {
    if cursors.is_empty() {
        return Vec::new();
    }
    let key = format!("f:{name}");
    descend(cursors, |fields| fields.get(&key))
}

/// Returns the owners of an item of a list with keys.
pub(super) fn item_owners<'m>(cursors: &OwnerCursors<'m>, item: &Value, keys: &[ItemKey]) -> OwnerCursors<'m> {
    descend(cursors, |fields| {
        let matching = |(name, below): (&'m String, &'m Value)| {
            let key_values: Value = serde_json::from_str(name.strip_prefix("k:")?).ok()?;
            let has_keys = keys.iter().all(|key| lists::key_value(&key_values, key) == lists::key_value(item, key));
            has_keys.then_some(below)
        };
        fields.as_object()?.iter().find_map(matching)
    })
}

/// Returns the owners of an atomic list: its items are not listed separately.
pub(super) fn atomic_list_owners<'m>(cursors: &OwnerCursors<'m>) -> OwnerCursors<'m> {
    descend(cursors, |_| None)
}

/// Returns the distinct managers, sorted.
pub(super) fn writers(cursors: &OwnerCursors<'_>) -> Vec<FieldManager> {
    let mut writers: Vec<FieldManager> = cursors.iter().map(|(writer, _)| (*writer).clone()).collect();
    writers.sort();
    writers.dedup();
    writers
}
