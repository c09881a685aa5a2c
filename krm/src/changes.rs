//! Changes to a `ResourceList`, made in its text: what is not changed keeps every byte.

use kubefoundry_yaml as yaml;
use kubefoundry_yaml::edit::{EditError, TextEditor};
use kubefoundry_yaml::field_path::FieldPath;
use serde_json::Value;

use crate::block;
use crate::envelope::Envelope;

/// What becomes of an item.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) enum Change {
    /// It stays, byte for byte.
    #[default]
    Keep,
    /// It goes.
    Remove,
    /// Another object takes its place.
    Replace(Value),
    /// It becomes this object, and keeps every byte of what stays the same where that can be done.
    Patch(Value),
}

/// What becomes of a `ResourceList`.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Changes {
    /// By item.
    pub(crate) items: Vec<Change>,
    /// New items.
    pub(crate) added: Vec<Value>,
    /// All results.
    pub(crate) results: Vec<Value>,
}

/// The items of the list cannot be cut apart: one has an alias to an anchor in another that changes.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("items cannot be changed one by one, expected no aliases to anchors in other items")]
pub(crate) struct Entangled;

/// Makes the changes. Where an item cannot be patched, all that were to be are replaced. Writing everything anew
/// instead is no way out: a reader of YAML 1.1 and one of 1.2 take foreign items for different things, and we are only
/// one of them.
pub(crate) fn write(envelope: &Envelope<'_>, changes: &Changes) -> Result<String, Entangled> {
    let is_kept = changes.items.iter().all(|change| *change == Change::Keep);
    if is_kept && changes.added.is_empty() && changes.results.is_empty() && has_list(envelope) {
        return Ok(envelope.text.to_owned());
    }
    if block::is_block(envelope) {
        return edit(envelope, changes);
    }
    let text = block::to_block(envelope);
    edit(&Envelope::read(&text).map_err(|_| Entangled)?, changes)
}

fn edit(envelope: &Envelope<'_>, changes: &Changes) -> Result<String, Entangled> {
    let has_patches = changes.items.iter().any(|change| matches!(change, Change::Patch(_)));
    let patched = has_patches.then(|| edited(envelope, changes, true)).and_then(Result::ok);
    patched.map_or_else(|| edited(envelope, changes, false), Ok).map_err(|_| Entangled)
}

/// The text with the changes; items are patched, or replaced instead.
fn edited(envelope: &Envelope<'_>, changes: &Changes, patches: bool) -> Result<String, EditError> {
    let items = FieldPath::parse("items");
    let mut editor = TextEditor::new(envelope.text, std::slice::from_ref(&envelope.document), 0);
    for (position, change) in changes.items.iter().enumerate() {
        let item = items.index(position);
        match change {
            Change::Keep => {}
            Change::Remove => drop(editor.remove(&item)?),
            Change::Patch(object) if patches => editor.update(&item, object.clone())?,
            Change::Patch(object) | Change::Replace(object) => editor.set(&item, object.clone())?,
        }
    }
    if !changes.added.is_empty() || !has_list(envelope) {
        editor.append(&items, changes.added.iter().cloned())?;
    }
    if !changes.results.is_empty() {
        // Those that were given are written anew, too.
        let results = FieldPath::parse("results");
        editor.remove(&results)?;
        editor.set(&results, changes.results.clone())?;
    }
    Ok(editor.finish(&envelope.limits())?.text)
}

/// Whether there is a list to add to; without one a client takes the ResourceList itself for an object.
fn has_list(envelope: &Envelope<'_>) -> bool {
    envelope.root().get("items").is_some_and(|items| matches!(items.value, yaml::Value::Sequence(_)))
}
