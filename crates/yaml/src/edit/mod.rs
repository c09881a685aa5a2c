//! Edits a YAML text and keeps everything else in it: comments, quotes, the order of keys and line endings.
//!
//! [`TextEditor`] takes changes by field path, as `toml_edit` does for TOML. It computes replacements of bytes
//! ([`TextEdit`]), applies them and parses the result. If the result is not the original tree with the same changes,
//! the caller gets an error and no text. So anchors, aliases, merge keys and unusual notations can make a change
//! impossible, but never wrong.

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
    /// After the other fields and the comments at their indentation.
    #[default]
    Last,
}

/// How new values are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ValueStyle {
    /// In block style; as JSON inside a flow collection.
    #[default]
    Block,
    /// On one line; as JSON inside a mapping whose keys are in double quotes.
    Flow,
}

/// How an editor writes new values and fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EditStyle {
    /// The notation of new values.
    pub values: ValueStyle,
    /// The position of new fields.
    pub placement: Placement,
}

/// The reason why a text cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The path leads through a value that is not a collection of the right kind, or to an item that does not exist.
    #[error("{path} has no place in the document: found {found} on the way there")]
    InvalidPath {
        /// The path of the requested change.
        path: Box<FieldPath>,
        /// The value in the way, such as `a string`.
        found: &'static str,
    },
    /// The edited text does not parse to the expected value. For example, an anchor makes one place in the text stand
    /// for several fields.
    #[error("the text cannot be changed in this place, expected a document whose fields are written one by one")]
    RoundTripMismatch,
}

/// The edited text and the edits that produced it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EditedText {
    /// The complete new text.
    pub text: String,
    /// The replacements, for [`apply_edits`] on the original text.
    pub edits: Vec<TextEdit>,
}

/// Collects changes of one document of a text.
///
/// Paths name fields of the document as it was read: an index counts the original items, whatever is removed or
/// appended. A later change of the same field replaces an earlier one.
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
    /// Creates an editor for `documents[position]`, which [`parse`] read from `text`. A text without documents is
    /// edited as if it ended with an empty one.
    pub fn new(text: &'t str, documents: &'n [Document<'t>], position: usize) -> Self {
        Self { text, documents, position, style: EditStyle::default(), change: None }
    }

    /// Sets the style of new values and fields.
    #[must_use]
    pub fn with_style(mut self, style: EditStyle) -> Self {
        self.style = style;
        self
    }

    /// Sets the field at `path`, unless it has that value already. A scalar keeps the quotes of the one that it
    /// replaces. Absent or null mappings above the field are added; list items are not. An alias on the path is
    /// replaced by a copy of its anchor's value.
    ///
    /// # Errors
    /// [`EditError::InvalidPath`] when the path leads through a scalar or through an item that does not exist.
    pub fn set(&mut self, path: &FieldPath, value: impl Into<Value>) -> Result<(), EditError> {
        let mut change = self.change.take();
        let done = ChangeRequest { path }.set(&mut change, self.root(), path.segments(), normalize_value(value.into()));
        self.change = change;
        done
    }

    /// Makes the field at `path` equal to `value` with the smallest change: equal entries keep their bytes, equal items
    /// stay and new ones follow them. A flow collection is rewritten as a whole when anything in it changes.
    ///
    /// # Errors
    /// [`EditError::InvalidPath`] as for [`TextEditor::set`], and when the change is inside an alias of a collection.
    pub fn update(&mut self, path: &FieldPath, value: impl Into<Value>) -> Result<(), EditError> {
        let value = normalize_value(value.into());
        let change = match self.root().at(path) {
            Some(node) => minimal_change(self.text, node, &value)
                .map_err(|found| EditError::InvalidPath { path: Box::new(path.clone()), found })?,
            None => Some(Change::Replace(value)),
        };
        let Some(change) = change else { return Ok(()) };
        let mut root_change = self.change.take();
        let done = ChangeRequest { path }.apply(&mut root_change, self.root(), path.segments(), change);
        self.change = root_change;
        done
    }

    /// Removes the field or item at `path` and returns whether it existed. A collection that loses its last child
    /// stays, empty.
    ///
    /// # Errors
    /// [`EditError::InvalidPath`] when the path is the root of the document.
    pub fn remove(&mut self, path: &FieldPath) -> Result<bool, EditError> {
        let mut change = self.change.take();
        let done = ChangeRequest { path }.remove(&mut change, self.root(), path.segments());
        self.change = change;
        done
    }

    /// Appends items to the list at `path`. An absent or null list is added.
    ///
    /// # Errors
    /// [`EditError::InvalidPath`] when the value at `path` is not a list.
    pub fn append(&mut self, path: &FieldPath, values: impl IntoIterator<Item = Value>) -> Result<(), EditError> {
        let values = values.into_iter().map(normalize_value).collect();
        let mut change = self.change.take();
        let done = ChangeRequest { path }.append(&mut change, self.root(), path.segments(), values);
        self.change = change;
        done
    }

    /// Renames the key of the entry at `path`. Its position and value stay.
    ///
    /// # Errors
    /// [`EditError::InvalidPath`] when the entry does not exist.
    pub fn rename(&mut self, path: &FieldPath, key: impl Into<String>) -> Result<(), EditError> {
        let mut change = self.change.take();
        let done = ChangeRequest { path }.rename(&mut change, self.root(), path.segments(), key.into());
        self.change = change;
        done
    }

    /// Returns the edited text. `limits` must be those that the text was read with.
    ///
    /// # Errors
    /// [`EditError::RoundTripMismatch`] when the edited text does not parse to the documents with the changes.
    pub fn finish(self, limits: &Limits) -> Result<EditedText, EditError> {
        let Some(change) = &self.change else {
            return Ok(EditedText { text: self.text.to_owned(), edits: Vec::new() });
        };
        let end = Span { start: self.text.len(), end: self.text.len() };
        let span = self.documents.get(self.position).map_or(end, |document| document.span);
        // Blank lines may belong to a block scalar before them. Trying both readings is simpler than finding out.
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

    /// Whether a text parses to the original documents with this one changed, and without new problems.
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
