//! The documents that the client has open. Their text counts, not that of their files.

use std::collections::BTreeMap;
use std::path::PathBuf;

use lsp_types::{Diagnostic, TextDocumentContentChangeEvent, Uri};

use super::position::{Encoding, Lines};
use super::uri;

/// An open document.
#[derive(Debug)]
pub(crate) struct OpenDocument {
    pub(crate) uri: Uri,
    /// The path of its file; `None` for a document that was never saved.
    pub(crate) path: Option<PathBuf>,
    pub(crate) version: i32,
    pub(crate) text: String,
    /// The findings that the client shows; `None` before the first time.
    pub(crate) published: Option<Vec<Diagnostic>>,
}

impl OpenDocument {
    pub(crate) fn new(uri: Uri, version: i32, text: String) -> Self {
        let path = uri::to_path(uri.as_str());
        Self { uri, path, version, text, published: None }
    }

    /// Applies changes in their order; each is relative to the text after the ones before. A change without a range
    /// replaces the whole text.
    pub(crate) fn apply(&mut self, version: i32, changes: Vec<TextDocumentContentChangeEvent>, encoding: Encoding) {
        for change in changes {
            match change.range {
                Some(range) => {
                    let span = Lines::new(&self.text, encoding).span(range);
                    self.text.replace_range(span.start..span.end, &change.text);
                }
                None => self.text = change.text,
            }
        }
        self.version = version;
    }

    pub(crate) fn lines(&self, encoding: Encoding) -> Lines<'_> {
        Lines::new(&self.text, encoding)
    }
}

/// All open documents, by URI.
pub(crate) type OpenDocuments = BTreeMap<String, OpenDocument>;

#[cfg(test)]
mod tests {
    use super::*;
    use lsp_types::{Position, Range};

    fn change(from: (u32, u32), to: (u32, u32), text: &str) -> TextDocumentContentChangeEvent {
        let position = |(line, character)| Position { line, character };
        let range = Range { start: position(from), end: position(to) };
        TextDocumentContentChangeEvent { range: Some(range), range_length: None, text: text.to_owned() }
    }

    #[test]
    fn changes_are_applied_in_order() {
        let mut document = OpenDocument::new(uri::parse("file:///m.yaml").unwrap(), 1, "a: 😀1\nb: 2\n".to_owned());
        let changes = vec![change((0, 5), (0, 6), "x"), change((1, 0), (1, 4), ""), change((1, 0), (1, 0), "c: 3")];
        document.apply(2, changes, Encoding::Utf16);
        assert_eq!((document.text.as_str(), document.version), ("a: 😀x\nc: 3\n", 2));
        let whole = TextDocumentContentChangeEvent { range: None, range_length: None, text: "new".to_owned() };
        document.apply(3, vec![whole, change((9, 9), (9, 9), "!")], Encoding::Utf16);
        assert_eq!(document.text, "new!", "a position outside of the text is its end");
    }
}
