//! Splits a text into parts of one document each, without parsing it.
//!
//! In YAML, `---` at the start of a line, followed by a blank, ends every open scalar and collection or is an error
//! there; anchors do not extend across it. So each part can be parsed alone with the same result. The exceptions are
//! texts in which something affects several documents: a directive (`%YAML`, which may follow `...`), or the name of a
//! `.json` file, which is checked as a whole. Such a text is not split, and neither is one with lone carriage returns
//! as line breaks, or with a byte order mark inside. If a part cannot be parsed, the whole text is parsed instead,
//! because only the parser knows where the next document starts after an error.

use std::ops::Range;

use kubefoundry_diagnostics::source::Source;
use kubefoundry_yaml::{Document, Node, Span, Value};

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextPart {
    /// The bytes of the part.
    pub(crate) bytes: Range<usize>,
    /// The position of its first document in the text.
    pub(crate) document: usize,
}

/// Splits a text into at least two and at most `max_parts` parts. Returns `None` if it must be parsed as a whole.
pub(crate) fn split_documents(source: &Source, max_parts: usize) -> Option<Vec<TextPart>> {
    let text = source.text.as_str();
    let is_json = source.name.rsplit_once('.').is_some_and(|(_, extension)| extension == "json");
    if source.encoding_error.is_some() || is_json {
        return None;
    }
    let mut parts: Vec<TextPart> = Vec::new();
    let (mut start, mut document, mut offset) = (0, 0, 0);
    // Whether only blank lines and comments have come so far.
    let mut is_blank_so_far = true;
    for line in text.split_inclusive('\n') {
        let line_text = if offset == 0 { line.trim_start_matches(BYTE_ORDER_MARK) } else { line };
        let is_special = line_text.starts_with('%') || line_text.starts_with("...");
        if is_special || line_text.contains(BYTE_ORDER_MARK) || has_lone_return(line) {
            return None;
        }
        if is_marker(line) {
            if is_blank_so_far {
                // Text before the first marker belongs to that document; comments alone count as a document of their
                // own.
                document += usize::from(text.get(..offset).is_some_and(|before| before.contains('#')));
            } else {
                parts.push(TextPart { bytes: start..offset, document: if start == 0 { 0 } else { document } });
                document += 1;
                start = offset;
            }
            is_blank_so_far = false;
        } else if is_blank_so_far {
            let content = line_text.trim_start();
            is_blank_so_far = content.is_empty() || content.starts_with('#');
        }
        offset += line.len();
    }
    parts.push(TextPart { bytes: start..offset, document });
    (2..=max_parts).contains(&parts.len()).then_some(parts)
}

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Returns whether a line starts a document.
fn is_marker(line: &str) -> bool {
    line.strip_prefix("---").is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
}

/// Returns whether a line contains a carriage return that does not end it: YAML reads it as a line break.
fn has_lone_return(line: &str) -> bool {
    line.strip_suffix("\r\n").unwrap_or(line).contains('\r')
}

/// Converts the positions in a document that was parsed as a part to positions in the whole text.
pub(crate) fn relocate(document: &mut Document<'_>, part: &TextPart) {
    let by = part.bytes.start;
    // The parser has already counted comments before the first marker, because they are in the first part.
    document.index += if by == 0 { 0 } else { part.document };
    shift(&mut document.span, by);
    shift_node(&mut document.root, by);
    for problem in &mut document.problems {
        shift(&mut problem.span, by);
        problem.related.iter_mut().for_each(|(span, _)| shift(span, by));
    }
}

fn shift(span: &mut Span, by: usize) {
    span.start += by;
    span.end += by;
}

fn shift_node(node: &mut Node<'_>, by: usize) {
    shift(&mut node.span, by);
    match &mut node.value {
        Value::Sequence(items) => items.iter_mut().for_each(|item| shift_node(item, by)),
        Value::Mapping(entries) => {
            for entry in entries {
                shift(&mut entry.key_span, by);
                shift_node(&mut entry.node, by);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kubefoundry_diagnostics::source::SourceSet;
    use kubefoundry_yaml::{Limits, parse};
    use proptest::prelude::*;

    fn parts_of(name: &str, text: &str) -> Option<Vec<(String, usize)>> {
        let mut sources = SourceSet::default();
        let id = sources.add(name, text);
        let parts = split_documents(sources.get(id), 9)?;
        Some(parts.into_iter().map(|part| (text[part.bytes].to_owned(), part.document)).collect())
    }

    #[test]
    fn a_text_is_split_at_the_markers_of_its_documents() {
        let split = |text: &str| parts_of("x.yaml", text).unwrap_or_default();
        let owned = |parts: &[(&str, usize)]| -> Vec<_> {
            parts.iter().map(|(part, document)| ((*part).to_owned(), *document)).collect()
        };
        assert_eq!(split("a: 1\n---\nb: |\n  ---\n  x\n"), owned(&[("a: 1\n", 0), ("---\nb: |\n  ---\n  x\n", 1)]));
        assert_eq!(split("---\na: 1\n--- # b\nb: 1"), owned(&[("---\na: 1\n", 0), ("--- # b\nb: 1", 1)]));
        assert_eq!(split("# c\n\n---\na\n---\n---\nb"), owned(&[("# c\n\n---\na\n", 0), ("---\n", 2), ("---\nb", 3)]));
        assert_eq!(split("\n---\na\n---\nb"), owned(&[("\n---\na\n", 0), ("---\nb", 1)]));
    }

    #[test]
    fn a_text_with_shared_directives_is_not_split() {
        for text in [
            "a: 1\n",
            "---\na: 1\n",
            "a\n...\n---\nb\n",
            "a\n---\n\u{feff}b\n---\nc\n",
            "%YAML 1.2\n---\na\n---\nb\n",
            "a\r---\rb\n---\nc\n",
            "",
        ] {
            assert_eq!(parts_of("x.yaml", text), None, "{text:?}");
        }
        assert_eq!(parts_of("x.json", "{}\n---\n{}\n"), None);
        assert_eq!(parts_of("x.yaml", &"---\na\n".repeat(10)), None, "there are more parts than the limit");
    }

    /// Lines that are relevant to splitting or to YAML around a marker.
    const LINES: &[&str] = &[
        "---\n",
        "--- \n",
        "--- # c\n",
        "---\r\n",
        "---a\n",
        "--- {a: 1}\n",
        "--- |\n",
        "# c\n",
        "\n",
        "a: 1\n",
        "a: &x 1\n",
        "b: *x\n",
        "b: \"x\n",
        "  y\"\n",
        "c: |\n",
        "  ---\n",
        "  text\n",
        "- a\n",
        "d: [\n",
        "  1]\n",
        "a: 1\na: 2\n",
        "\u{feff}",
        "x\r\n",
        "key: 'it''s'\n",
        "? k\n: v\n",
        "%YAML 1.2\n",
        "...\n",
        "... # c\n",
        "!!str t: 1\n",
        "  # inner\n",
        "e:\n  f: {g: [h]}\n",
        "plain\n",
        "u: 1\u{85}---\n",
        "u: 1\u{2028}--- \n",
        "\t\n",
    ];

    proptest! {
        #![proptest_config(ProptestConfig { cases: 16384, failure_persistence: None, ..ProptestConfig::default() })]

        /// If all parts can be parsed, their documents equal those of the text, positions included.
        #[test]
        fn parsed_parts_equal_the_documents_of_the_text(
            line_numbers in proptest::collection::vec(0..LINES.len(), 0..14),
        ) {
            let text: String = line_numbers.iter().map(|line| LINES[*line]).collect();
            let mut sources = SourceSet::default();
            let id = sources.add("x.yaml", text.clone());
            let limits = Limits::default();
            if let Some(parts) = split_documents(sources.get(id), 100) {
                let parsed_parts: Vec<_> = parts.iter().map(|part| parse(&text[part.bytes.clone()], &limits)).collect();
                let whole = parse(&text, &limits);
                if parsed_parts.iter().all(|parsed| parsed.failure.is_none()) {
                    let mut documents = Vec::new();
                    for (part, parsed) in parts.iter().zip(parsed_parts) {
                        for mut document in parsed.documents {
                            relocate(&mut document, part);
                            documents.push(document);
                        }
                    }
                    prop_assert!(whole.failure.is_none(), "{:?} {:?}", text, whole.failure);
                    prop_assert_eq!(documents, whole.documents, "{:?}", text);
                } else {
                    prop_assert!(whole.failure.is_some(), "{:?}", text);
                }
            }
        }
    }
}
