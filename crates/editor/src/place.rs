//! Places in YAML documents: which field of which object stands at an offset, or would stand there.
//!
//! While a user types, a document is seldom valid. To complete a word, the word is replaced by a placeholder, once as a
//! key and once as a value. Where the parser then finds the placeholder is the place, in block style and in flow style
//! alike.

use std::ops::Range;

use kubefoundry_kubernetes::header::Header;
use kubefoundry_yaml::field_path::{FieldPath, Segment};
use kubefoundry_yaml::{self as yaml, FieldPart, Limits, Node, Span, Value};

/// Stands for the word at the cursor. No text of a user contains it.
const PLACEHOLDER: &str = "kfCompletedWord";

/// A field in a document.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// The identity of the document.
    pub header: Header,
    /// The document.
    pub document: serde_json::Value,
    /// The field. For a key that is completed, the mapping that will contain it.
    pub path: FieldPath,
    /// Whether the key or the value of the field stands there.
    pub part: FieldPart,
    /// The bytes of the key or the value.
    pub span: Span,
}

/// A place for a word that is being typed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Blank {
    pub(crate) place: Place,
    /// The bytes of the word so far, which a completion replaces.
    pub(crate) word: Range<usize>,
    /// The keys that the mapping has already.
    pub(crate) siblings: Vec<String>,
    /// The form of the text around the word.
    pub(crate) form: Form,
}

/// What a completed word needs around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// A word alone: a value, or a key with a colon after it.
    Word,
    /// A value right after a colon, which needs a space.
    AfterColon,
    /// A key in flow style (`{key: value}`).
    FlowKey,
    /// A key in block style, in this column.
    BlockKey(usize),
}

/// Finds the field whose key or value contains an offset. Returns `None` between fields, and in a text that is not YAML.
pub fn find(text: &str, offset: usize) -> Option<Place> {
    // If the text is broken below the line, what stands above it can still be read.
    [text, up_to_line_end(text, offset)].into_iter().find_map(|text| {
        yaml::documents(text, &Limits::default()).find_map(|document| {
            let (path, part, span) = descend(&document.root, offset)?;
            let header = Header::from_node(&document.root);
            Some(Place { header, document: document.root.to_json(), path, part, span })
        })
    })
}

/// Walks down to the scalar or the key at an offset.
fn descend(root: &Node<'_>, offset: usize) -> Option<(FieldPath, FieldPart, Span)> {
    let contains = |span: Span| span.start <= offset && offset <= span.end;
    let mut path = FieldPath::root();
    let mut node = root;
    loop {
        match &node.value {
            Value::Mapping(entries) => {
                if let Some(entry) = entries.iter().find(|entry| contains(entry.key_span)) {
                    return Some((path.key(entry.key.clone().into_owned()), FieldPart::Key, entry.key_span));
                }
                let entry = entries.iter().find(|entry| contains(entry.node.span))?;
                path = path.with_key(entry.key.clone().into_owned());
                node = &entry.node;
            }
            Value::Sequence(items) => {
                let (index, item) = items.iter().enumerate().find(|(_, item)| contains(item.span))?;
                path = path.with_index(index);
                node = item;
            }
            _ => return contains(node.span).then_some((path, FieldPart::Value, node.span)),
        }
    }
}

/// Returns the places that the word at an offset can have, the likeliest first.
pub(crate) fn find_blanks(text: &str, offset: usize) -> Vec<Blank> {
    let word = word_at(text, offset);
    let (before, after) = (text.get(..word.start).unwrap_or_default(), text.get(word.end..).unwrap_or_default());
    let is_key_already = after.trim_start_matches(['"', '\'']).starts_with(':');
    let line = before.rsplit_once(['\n', '\r']).map_or(before, |(_, line)| line);
    let gap = if line.ends_with(':') { " " } else { "" };
    let as_key = (!is_key_already && gap.is_empty()).then(|| format!("{PLACEHOLDER}:"));
    let mut blanks = Vec::new();
    for replacement in as_key.into_iter().chain([format!("{gap}{PLACEHOLDER}")]) {
        let whole = format!("{before}{replacement}{after}");
        let cut = up_to_line_end(&whole, before.len()).to_owned();
        let Some((place, siblings, is_flow)) = [whole, cut].iter().find_map(|text| find_placeholder(text)) else {
            continue;
        };
        let form = match place.part {
            FieldPart::Value if gap.is_empty() => Form::Word,
            FieldPart::Value => Form::AfterColon,
            // Between quotes, a colon would be a part of the key.
            FieldPart::Key if is_key_already || before.ends_with(['"', '\'']) => Form::Word,
            FieldPart::Key if is_flow => Form::FlowKey,
            FieldPart::Key => Form::BlockKey(line.chars().count()),
        };
        blanks.push(Blank { place, word: word.clone(), siblings, form });
    }
    blanks
}

/// Returns the word around an offset: what names of fields, flags and codes consist of.
fn word_at(text: &str, offset: usize) -> Range<usize> {
    let is_in_word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    let (before, after) = text.split_at_checked(offset).unwrap_or((text, ""));
    let start = before.trim_end_matches(is_in_word).len();
    let end = offset + (after.len() - after.trim_start_matches(is_in_word).len());
    start..end.min(text.len())
}

/// Returns a text up to the end of the line at an offset.
fn up_to_line_end(text: &str, offset: usize) -> &str {
    let rest = text.get(offset..).unwrap_or_default();
    let end = rest.find(['\n', '\r']).map_or(text.len(), |at| offset + at);
    text.get(..end).unwrap_or(text)
}

/// Finds the placeholder, the other keys of its mapping, and whether the mapping is in flow style.
fn find_placeholder(text: &str) -> Option<(Place, Vec<String>, bool)> {
    yaml::documents(text, &Limits::default()).find_map(|document| {
        let (mapping, path, part, span) = search(&document.root, &FieldPath::root(), text)?;
        let keys = mapping.map(Node::entries).unwrap_or_default().iter().map(|entry| entry.key.clone().into_owned());
        let siblings = keys.filter(|key| key != PLACEHOLDER).collect();
        let is_flow =
            mapping.is_some_and(|mapping| text.get(mapping.span.start..).is_some_and(|at| at.starts_with('{')));
        let mut json = document.root.to_json();
        let placed = if part == FieldPart::Key { path.key(PLACEHOLDER) } else { path.clone() };
        remove(&mut json, placed.segments());
        let header = Header::from_node(&document.root);
        Some((Place { header, document: json, path, part, span }, siblings, is_flow))
    })
}

/// The mapping of a placeholder, its path and place.
type Found<'n, 't> = (Option<&'n Node<'t>>, FieldPath, FieldPart, Span);

fn search<'n, 't>(node: &'n Node<'t>, path: &FieldPath, text: &str) -> Option<Found<'n, 't>> {
    match &node.value {
        Value::Mapping(entries) => entries.iter().find_map(|entry| {
            if entry.key == PLACEHOLDER {
                return Some((Some(node), path.clone(), FieldPart::Key, entry.key_span));
            }
            search(&entry.node, &path.key(entry.key.clone().into_owned()), text)
        }),
        Value::Sequence(items) => {
            items.iter().enumerate().find_map(|(index, item)| search(item, &path.index(index), text))
        }
        Value::String(string) if string.contains(PLACEHOLDER) => {
            // On a later line, the word would continue a text that is complete.
            let written = node.span.of(text);
            let is_on_first_line = written.lines().next().is_some_and(|line| line.contains(PLACEHOLDER));
            is_on_first_line.then(|| (None, path.clone(), FieldPart::Value, node.span))
        }
        _ => None,
    }
}

/// Removes what stands at a path.
fn remove(value: &mut serde_json::Value, path: &[Segment]) {
    let Some((first, rest)) = path.split_first() else { return };
    match (first, value) {
        (Segment::Key(key), serde_json::Value::Object(fields)) if rest.is_empty() => drop(fields.remove(&**key)),
        (Segment::Index(index), serde_json::Value::Array(items)) if rest.is_empty() && *index < items.len() => {
            items.remove(*index);
        }
        (Segment::Key(key), serde_json::Value::Object(fields)) => {
            if let Some(inner) = fields.get_mut(&**key) {
                remove(inner, rest);
            }
        }
        (Segment::Index(index), serde_json::Value::Array(items)) => {
            if let Some(inner) = items.get_mut(*index) {
                remove(inner, rest);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Splits a text at the cursor, which `|` marks.
    fn cursor(marked: &str) -> (String, usize) {
        (marked.replacen('|', "", 1), marked.find('|').unwrap())
    }

    fn field(marked: &str) -> Option<(String, FieldPart)> {
        let (text, offset) = cursor(marked);
        find(&text, offset).map(|place| (place.path.to_string(), place.part))
    }

    #[test]
    fn finds_the_field_at_an_offset() {
        for (marked, path, part) in [
            ("spec:\n  eng|ine:\n    type: vllm\n", "spec.engine", FieldPart::Key),
            ("spec:\n  engine:\n    type: vl|lm\n", "spec.engine.type", FieldPart::Value),
            ("spec: {env: [{name: A}, {na|me: B}]}\n", "spec.env[1].name", FieldPart::Key),
            ("a: 1\n---\nb:\n- |c\n", "b[0]", FieldPart::Value),
            ("a:\n  b|: 1\n c: broken\n", "a.b", FieldPart::Key),
        ] {
            assert_eq!(field(marked), Some((path.to_owned(), part)), "{marked}");
        }
        for marked in ["a: 1\n|\nb: 2\n", "|", "# on|ly a comment\n", "{ |["] {
            assert_eq!(field(marked), None, "{marked}");
        }
    }

    /// Lists the places of the word at the cursor: path, part and form.
    fn blanks(marked: &str) -> Vec<(String, FieldPart, Form)> {
        let (text, offset) = cursor(marked);
        let found = find_blanks(&text, offset).into_iter();
        found.map(|blank| (blank.place.path.to_string(), blank.place.part, blank.form)).collect()
    }

    #[test]
    fn finds_where_a_key_can_stand() {
        for (marked, path, form) in [
            ("spec:\n  engine:\n    type: vllm\n    co|\n  resources: {}\n", "spec.engine", Form::BlockKey(4)),
            ("spec:\n  engine:\n    type: vllm\n  |\n", "spec", Form::BlockKey(2)),
            ("spec:\n  |\n", "spec", Form::BlockKey(2)),
            ("|", "", Form::BlockKey(0)),
            ("a: 1\n---\nb: 2\n|\n", "", Form::BlockKey(0)),
            ("spec: {engine: {ty|}}\n", "spec.engine", Form::FlowKey),
            ("spec: {engine: {type: vllm, |}}\n", "spec.engine", Form::FlowKey),
            ("spec:\n  eng|ine:\n    type: vllm\n", "spec", Form::Word),
            ("{\"spec\": {\"ty|\"}}\n", "spec", Form::Word),
            ("env:\n- name: A\n  va|\n", "env[0]", Form::BlockKey(2)),
            ("env:\n- na|\n", "env[0]", Form::BlockKey(2)),
            ("a:\n  b: 1\n  c|\n broken: [\n", "a", Form::BlockKey(2)),
        ] {
            let found = blanks(marked);
            assert_eq!(found.first(), Some(&(path.to_owned(), FieldPart::Key, form)), "{marked}: {found:?}");
        }
    }

    #[test]
    fn finds_where_a_value_can_stand() {
        for (marked, path, form) in [
            ("type: vl|\nnext: 1\n", "type", Form::Word),
            ("type: |\nnext: 1\n", "type", Form::Word),
            ("type:|\nnext: 1\n", "type", Form::AfterColon),
            ("type: \"v|\"\n", "type", Form::Word),
            ("{type: v|, b: 1}\n", "type", Form::Word),
            ("codes: KF0211, id|\n", "codes", Form::Word),
            ("list: [a, b|]\n", "list[1]", Form::Word),
        ] {
            let found = blanks(marked);
            assert!(found.contains(&(path.to_owned(), FieldPart::Value, form)), "{marked}: {found:?}");
        }
    }

    #[test]
    fn a_word_on_a_later_line_continues_no_value() {
        assert_eq!(blanks("type: vllm\n  |\n"), []);
        assert_eq!(blanks("text: >-\n  wo|rd\n"), []);
    }

    #[test]
    fn the_word_is_replaced_and_left_out_of_the_document() {
        let (text, offset) = cursor("spec:\n  engine:\n    type: vllm\n    con|text\n");
        let blank = find_blanks(&text, offset).remove(0);
        assert_eq!(&text[blank.word.clone()], "context");
        assert_eq!(blank.siblings, ["type"]);
        assert_eq!(blank.place.document, serde_json::json!({"spec": {"engine": {"type": "vllm"}}}));
        let (text, offset) = cursor("args: [\"--max|-num\", b]\n");
        let blank = find_blanks(&text, offset).remove(0);
        assert_eq!(
            (&text[blank.word.clone()], blank.place.document),
            ("--max-num", serde_json::json!({"args": ["b"]}))
        );
    }
}
