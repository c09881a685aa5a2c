//! Changes of a YAML text that keep everything else in it: comments, quotes, the order of keys, line ends.
//!
//! [`TextEditor`] takes changes by field path, as `toml_edit` does for TOML. It computes replacements of bytes
//! ([`TextEdit`]), makes them, and reads the result again: unless that is the tree with the same changes, the caller gets an
//! error and no text. So anchors and aliases, merge keys and unusual notations can make a change impossible, but not wrong.

mod change;
mod change_writer;
mod layout;
mod render;
#[cfg(test)]
mod tests;
mod text_edit;
mod tree;

use serde_json::Value;

pub use layout::{BlockItem, block_items};
pub use render::{normalize_value, to_json_line};
pub use text_edit::{TextEdit, apply_edits, apply_groups};

use crate::field_path::FieldPath;
use crate::{Document, Limits, Node, Span, parse};
use change::{Change, ChangeRequest, apply_to_value, minimal_change};
use change_writer::ChangeWriter;

/// Where a new field is added to a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Placement {
    /// Before the other fields; in block style above the comments that belong to the first of them.
    First,
    /// Behind the other fields and the comments that are indented as they are.
    #[default]
    Last,
}

/// How new values are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ValueStyle {
    /// In block style; inside brackets as JSON.
    #[default]
    Block,
    /// In one line; as JSON inside a mapping whose keys are quoted as JSON quotes them.
    Flow,
}

/// How an editor writes what is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EditStyle {
    /// How values are written.
    pub values: ValueStyle,
    /// Where fields are added.
    pub placement: Placement,
}

/// Why a text cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The path leads through something that is no collection of the right kind, or to an item that is not there.
    #[error("{path} has no place in the document: found {found} on the way there")]
    InvalidPath {
        /// Where the change was to be made.
        path: Box<FieldPath>,
        /// What is in the way.
        found: &'static str,
    },
    /// The changed text would not be the document with the changes: an anchor or an alias, for example, makes one place of
    /// the text stand for several fields.
    #[error("the text cannot be changed in this place, expected a document whose fields are written one by one")]
    RoundTripMismatch,
}

/// A text that was changed, and the edits that change it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EditedText {
    /// The whole text.
    pub text: String,
    /// The replacements that [`apply_edits`] makes of the original text.
    pub edits: Vec<TextEdit>,
}

/// Collects changes of one document of a text.
///
/// Paths name fields of the document as it was read: an index counts the items that were there, whatever is removed or
/// appended. A later change of the same field takes the place of an earlier one.
///
/// ```
/// use kubefoundry_yaml::field_path::FieldPath;
/// use kubefoundry_yaml::{Limits, edit::TextEditor, parse};
///
/// let text = "spec:\n  replicas: 1 # of the team\n  args: ['--seed']\n  old: x\n";
/// let limits = Limits::default();
/// let parsed = parse(text, &limits);
/// let mut editor = TextEditor::new(text, &parsed.documents, 0);
/// editor.set(&FieldPath::parse("spec.replicas"), 2)?;
/// editor.set(&FieldPath::parse("spec.engine.type"), "vllm")?;
/// editor.append(&FieldPath::parse("spec.args"), ["--eager".into()])?;
/// editor.remove(&FieldPath::parse("spec.old"))?;
/// let edited = editor.finish(&limits)?;
/// assert_eq!(
///     edited.text,
///     "spec:\n  replicas: 2 # of the team\n  args: ['--seed', '--eager']\n  engine:\n    type: vllm\n"
/// );
/// # Ok::<(), kubefoundry_yaml::edit::EditError>(())
/// ```
#[derive(Debug)]
pub struct TextEditor<'n, 't> {
    text: &'t str,
    documents: &'n [Document<'t>],
    position: usize,
    style: EditStyle,
    change: Option<Change>,
}

impl<'n, 't> TextEditor<'n, 't> {
    /// An editor of `documents[position]`, which [`parse`] read from `text`. A text without documents is edited as one that
    /// ends with an empty one.
    pub fn new(text: &'t str, documents: &'n [Document<'t>], position: usize) -> Self {
        Self { text, documents, position, style: EditStyle::default(), change: None }
    }

    /// The same editor with another style for what is new.
    #[must_use]
    pub fn with_style(mut self, style: EditStyle) -> Self {
        self.style = style;
        self
    }

    /// Gives the field at `path` a value, unless it has that value already. A scalar keeps the quotes of the one that it
    /// replaces. Mappings above the field that are absent or null are added; list items are not. An alias on the way is
    /// replaced by what it stands for.
    ///
    /// # Errors
    /// [`EditError::InvalidPath`] when the path leads through a scalar, or through an item that is not there.
    pub fn set(&mut self, path: &FieldPath, value: impl Into<Value>) -> Result<(), EditError> {
        let mut change = self.change.take();
        let done = ChangeRequest { path }.set(&mut change, self.root(), path.segments(), normalize_value(value.into()));
        self.change = change;
        done
    }

    /// Makes the field at `path` equal to `value` by the fewest changes: entries that stay the same keep their bytes, items
    /// that stay are kept and the others follow them. A collection in brackets in which something changes is written as a
    /// whole.
    ///
    /// # Errors
    /// [`EditError::InvalidPath`] as for [`TextEditor::set`], and where something changes in a collection that is an alias.
    pub fn update(&mut self, path: &FieldPath, value: impl Into<Value>) -> Result<(), EditError> {
        let value = normalize_value(value.into());
        let change = match self.root().at(path) {
            Some(node) => minimal_change(self.text, node, &value)
                .map_err(|found| EditError::InvalidPath { path: Box::new(path.clone()), found })?,
            None => Some(Change::Replace(value)),
        };
        let Some(change) = change else { return Ok(()) };
        let mut all = self.change.take();
        let done = ChangeRequest { path }.apply(&mut all, self.root(), path.segments(), change);
        self.change = all;
        done
    }

    /// Removes the field or the item at `path`. Whether it was there. A collection that loses its last child is left empty.
    ///
    /// # Errors
    /// [`EditError::InvalidPath`] when the path is the whole document.
    pub fn remove(&mut self, path: &FieldPath) -> Result<bool, EditError> {
        let mut change = self.change.take();
        let done = ChangeRequest { path }.remove(&mut change, self.root(), path.segments());
        self.change = change;
        done
    }

    /// Appends items to the list at `path`, which is added where it is absent or null.
    ///
    /// # Errors
    /// [`EditError::InvalidPath`] when there is something else than a list.
    pub fn append(&mut self, path: &FieldPath, values: impl IntoIterator<Item = Value>) -> Result<(), EditError> {
        let values = values.into_iter().map(normalize_value).collect();
        let mut change = self.change.take();
        let done = ChangeRequest { path }.append(&mut change, self.root(), path.segments(), values);
        self.change = change;
        done
    }

    /// Gives the entry at `path` another key; its place among the others and its value stay.
    ///
    /// # Errors
    /// [`EditError::InvalidPath`] when there is no such entry.
    pub fn rename(&mut self, path: &FieldPath, key: impl Into<String>) -> Result<(), EditError> {
        let mut change = self.change.take();
        let done = ChangeRequest { path }.rename(&mut change, self.root(), path.segments(), key.into());
        self.change = change;
        done
    }

    /// The changed text. `limits` are those that the text was read with.
    ///
    /// # Errors
    /// [`EditError::RoundTripMismatch`] when the text with the edits does not read as the documents with the changes.
    pub fn finish(self, limits: &Limits) -> Result<EditedText, EditError> {
        let Some(change) = &self.change else {
            return Ok(EditedText { text: self.text.to_owned(), edits: Vec::new() });
        };
        let end = Span { start: self.text.len(), end: self.text.len() };
        let span = self.documents.get(self.position).map_or(end, |document| document.span);
        // Blank lines may be a part of the text before them, which is only known by trying.
        for takes_blank_lines in [false, true] {
            let writer = ChangeWriter::new(self.text, self.style, takes_blank_lines);
            let edits = writer.into_edits(self.root(), span, change).ok_or(EditError::RoundTripMismatch)?;
            let text = apply_edits(self.text, &edits);
            if self.reads_as_intended(&text, change, limits) {
                return Ok(EditedText { text, edits });
            }
        }
        Err(EditError::RoundTripMismatch)
    }

    /// Whether a text holds the documents of the original, one of them changed, and no problem that those do not have.
    fn reads_as_intended(&self, text: &str, change: &Change, limits: &Limits) -> bool {
        let parsed = parse(text, limits);
        let count = self.documents.len().max(self.position + 1);
        let is_right = |(position, read): (usize, &Document<'_>)| {
            let original = self.documents.get(position);
            let problems = original.map_or(0, |original| original.problems.len());
            let value = match original {
                _ if position == self.position => apply_to_value(self.root(), Some(change), self.style.placement),
                Some(original) => original.root.to_json(),
                None => Value::Null,
            };
            read.problems.len() <= problems && read.root.to_json() == value
        };
        parsed.failure.is_none() && parsed.documents.len() == count && parsed.documents.iter().enumerate().all(is_right)
    }

    fn root(&self) -> &'n Node<'t> {
        self.documents.get(self.position).map_or(&Node::NULL, |document| &document.root)
    }
}
