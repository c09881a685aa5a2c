//! Applies changes to the text of a `ResourceList`. Unchanged items are kept byte for byte.

use kubefoundry_yaml as yaml;
use kubefoundry_yaml::edit::{EditError, TextEditor};
use kubefoundry_yaml::field_path::FieldPath;
use serde_json::Value;

use crate::block;
use crate::envelope::Envelope;

/// The change of one item.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) enum ItemChange {
    /// Keep the text.
    #[default]
    Keep,
    Remove,
    /// Replace the item by another object.
    Replace(Value),
    /// Change the item to this object, and keep the text of unchanged fields if possible.
    Patch(Value),
}

/// The changes to a `ResourceList`.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Changes {
    /// One change for each item; may be empty if all items are kept.
    pub(crate) items: Vec<ItemChange>,
    pub(crate) added: Vec<Value>,
    /// The complete new list of results.
    pub(crate) results: Vec<Value>,
}

/// The items cannot be edited separately, because one has an alias to an anchor in another one that changes.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("an item has an alias to an anchor in an item that changes; replace the alias by its value")]
pub(crate) struct EntangledItems;

/// Applies the changes. If an item cannot be patched, all items to patch are replaced instead.
///
/// Serializing the whole list instead would be unsafe: YAML 1.1 and 1.2 readers interpret some scalars differently, so
/// foreign items must keep their text.
pub(crate) fn apply(envelope: &Envelope<'_>, changes: &Changes) -> Result<String, EntangledItems> {
    let keeps_all = changes.items.iter().all(|change| *change == ItemChange::Keep);
    if keeps_all && changes.added.is_empty() && changes.results.is_empty() && has_list(envelope) {
        return Ok(envelope.text.to_owned());
    }
    if block::is_block(envelope) {
        return edit_block_list(envelope, changes);
    }
    let text = block::to_block_style(envelope);
    edit_block_list(&Envelope::parse(&text).map_err(|_| EntangledItems)?, changes)
}

fn edit_block_list(envelope: &Envelope<'_>, changes: &Changes) -> Result<String, EntangledItems> {
    let has_patches = changes.items.iter().any(|change| matches!(change, ItemChange::Patch(_)));
    let patched = has_patches.then(|| edit_text(envelope, changes, true)).and_then(Result::ok);
    patched.map_or_else(|| edit_text(envelope, changes, false), Ok).map_err(|_| EntangledItems)
}

/// Edits the text. `patches` decides whether [`ItemChange::Patch`] patches an item or replaces it.
fn edit_text(envelope: &Envelope<'_>, changes: &Changes, patches: bool) -> Result<String, EditError> {
    let items = FieldPath::parse("items");
    let mut editor = TextEditor::new(envelope.text, std::slice::from_ref(&envelope.document), 0);
    for (position, change) in changes.items.iter().enumerate() {
        let item = items.index(position);
        match change {
            ItemChange::Keep => {}
            ItemChange::Remove => drop(editor.remove(&item)?),
            ItemChange::Patch(object) if patches => editor.update(&item, object.clone())?,
            ItemChange::Patch(object) | ItemChange::Replace(object) => editor.set(&item, object.clone())?,
        }
    }
    if !changes.added.is_empty() || !has_list(envelope) {
        editor.append(&items, changes.added.iter().cloned())?;
    }
    if !changes.results.is_empty() {
        // `changes.results` includes the results of other functions, so the whole list is replaced.
        let results = FieldPath::parse("results");
        editor.remove(&results)?;
        editor.set(&results, changes.results.clone())?;
    }
    Ok(editor.finish(&envelope.limits())?.text)
}

/// Whether `items` is a list. Without one, clients take the ResourceList itself for an object.
fn has_list(envelope: &Envelope<'_>) -> bool {
    envelope.root().get("items").is_some_and(|items| matches!(items.value, yaml::Value::Sequence(_)))
}
