//! Changes to a `ResourceList`, made in its text: what is not changed keeps every byte.

use std::ops::Range;

use kubefoundry::yaml::{self, Node};
use serde_json::{Map, Value};

use crate::envelope::Envelope;
use crate::layout::{self, Extent};
use crate::patch;

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

impl Changes {
    fn of(&self, item: usize) -> &Change {
        self.items.get(item).unwrap_or(&Change::Keep)
    }

    fn touch_items(&self) -> bool {
        !self.added.is_empty() || self.items.iter().any(|change| *change != Change::Keep)
    }

    fn have_patches(&self) -> bool {
        self.items.iter().any(|change| matches!(change, Change::Patch(_)))
    }

    fn touch(&self, envelope: &Envelope<'_>) -> bool {
        self.touch_items() || !self.results.is_empty() || !has_list(envelope)
    }

    /// The items as they are to be.
    fn items(&self, envelope: &Envelope<'_>) -> Vec<Value> {
        let given = envelope.items().iter().enumerate();
        let kept = given.filter_map(|(position, item)| match self.of(position) {
            Change::Keep => Some(item.to_json()),
            Change::Remove => None,
            Change::Replace(object) | Change::Patch(object) => Some(as_written(object)),
        });
        kept.chain(self.added.iter().map(as_written)).collect()
    }
}

/// The items of the list cannot be cut apart: one has an alias to an anchor in another that changes.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("items cannot be changed one by one, expected no aliases to anchors in other items")]
pub(crate) struct Entangled;

/// Makes the changes. What comes out is read again and compared with what it is to hold. Writing everything anew instead
/// is no way out: a reader of YAML 1.1 and one of 1.2 take foreign items for different things, and we are only one of them.
pub(crate) fn write(envelope: &Envelope<'_>, changes: &Changes) -> Result<String, Entangled> {
    if !changes.touch(envelope) {
        return Ok(envelope.text.to_owned());
    }
    let expected = changes.items(envelope);
    let write = |patches: bool| {
        let written = if layout::is_block(envelope) {
            splice(envelope, changes, patches)
        } else {
            let text = layout::to_block(envelope);
            splice(&Envelope::read(&text).ok()?, changes, patches)
        };
        let is_right = Envelope::read(&written)
            .is_ok_and(|read| read.items().iter().map(Node::to_json).eq(expected.iter().cloned()));
        is_right.then_some(written)
    };
    let patched = if changes.have_patches() { write(true) } else { None };
    patched.or_else(|| write(false)).ok_or(Entangled)
}

/// Whether there is a list to add to; without one a client takes the ResourceList itself for an object.
fn has_list(envelope: &Envelope<'_>) -> bool {
    envelope.root.get("items").is_some_and(|items| matches!(items.value, yaml::Value::Sequence(_)))
}

/// A value as reading gives it back: numbers in their one form.
fn as_written(object: &Value) -> Value {
    let mut text = String::new();
    yaml::to_yaml(object, &mut text);
    let parsed = yaml::parse(&text, &yaml::Limits { nodes: usize::MAX, ..yaml::Limits::default() });
    parsed.documents.first().map_or_else(|| object.clone(), |document| document.root.to_json())
}

/// Bytes, and what takes their place.
pub(crate) type Edit = (Range<usize>, String);

fn splice(envelope: &Envelope<'_>, changes: &Changes, patches: bool) -> String {
    let mut edits: Vec<Edit> = Vec::new();
    item_edits(envelope, changes, patches, &mut edits);
    if !changes.results.is_empty() {
        edits.push(results_edit(envelope, &changes.results));
    }
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let text = envelope.text;
    let mut out = String::with_capacity(text.len() + edits.iter().map(|(_, text)| text.len()).sum::<usize>());
    let mut at = 0;
    for (range, replacement) in edits {
        out.push_str(text.get(at..range.start).unwrap_or_default());
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str(&replacement);
        at = range.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

fn item_edits(envelope: &Envelope<'_>, changes: &Changes, patches: bool, edits: &mut Vec<Edit>) {
    let extents = layout::extents(envelope);
    let column = layout::dash_column(envelope);
    let item = |object: &Value| {
        let (mut text, mut out) = (String::new(), String::new());
        yaml::to_yaml(object, &mut text);
        layout::push_item(&mut out, &text, column);
        out
    };
    let added: String = changes.added.iter().map(item).collect();
    let kept = (0..extents.len()).filter(|position| *changes.of(*position) != Change::Remove).count();
    if kept == 0 && (!has_list(envelope) || changes.touch_items()) {
        let list = if added.is_empty() { "items: []\n".to_owned() } else { format!("items:\n{added}") };
        edits.push((list_range(envelope, &extents), list));
        return;
    }
    for (position, extent) in extents.iter().enumerate() {
        match changes.of(position) {
            Change::Keep => {}
            Change::Remove => edits.push((extent.range.clone(), String::new())),
            Change::Replace(object) => edits.push((extent.range.clone(), item(object))),
            Change::Patch(object) => {
                let node = envelope.items().get(position).filter(|_| patches);
                match node.and_then(|node| patch::edits(envelope.text, node, &as_written(object))) {
                    Some(own) => edits.extend(own),
                    None => edits.push((extent.range.clone(), item(object))),
                }
            }
        }
    }
    if let Some(last) = extents.last()
        && !added.is_empty()
    {
        edits.push((last.range.end..last.range.end, added));
    }
}

/// The bytes of the whole `items` entry, or the place for one.
fn list_range(envelope: &Envelope<'_>, extents: &[Extent]) -> Range<usize> {
    let last = extents.last().map_or(0, |extent| extent.range.end);
    match entry_range(envelope, "items") {
        Some(range) => range.start..range.end.max(last),
        None => envelope.span.end..envelope.span.end,
    }
}

fn results_edit(envelope: &Envelope<'_>, results: &[Value]) -> Edit {
    let range = entry_range(envelope, "results").unwrap_or(envelope.span.end..envelope.span.end);
    let mut text = String::new();
    let results = Value::Object(Map::from_iter([("results".to_owned(), Value::from(results.to_vec()))]));
    yaml::to_yaml(&results, &mut text);
    (range, text)
}

/// The lines of an entry of the list itself: up to the next entry, or the end.
fn entry_range(envelope: &Envelope<'_>, key: &str) -> Option<Range<usize>> {
    let entries = envelope.root.entries();
    let position = entries.iter().position(|entry| entry.key == key)?;
    let start = entries.get(position)?.key_span.start;
    let end = entries.get(position + 1).map_or(envelope.span.end, |next| next.key_span.start);
    Some(start..end)
}
