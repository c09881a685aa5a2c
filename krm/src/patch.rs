//! A change of an object that is somebody else's, made in its text: what stays the same keeps its bytes, with comments,
//! quotes and the order of keys.
//!
//! Only parts in block style are edited. A part that is not, such as `labels: {app: model}`, is written anew as soon as
//! something in it changes. Whoever uses the edits reads the outcome again and compares: an anchor, say, may stand for more
//! than one place.

use std::collections::BTreeSet;

use kubefoundry::yaml::{self, Node, Value as Written};
use serde_json::{Map, Value};

use crate::layout::{column, content_end, line_after, line_start, push_indented};
use crate::splice::Edit;

/// The edits that make a part what it is to be. Each starts where a line starts. None when the part must be written anew.
pub(crate) fn edits(text: &str, node: &Node<'_>, new: &Value) -> Option<Vec<Edit>> {
    if text.get(node.span.start..)?.starts_with(['{', '[']) {
        return None;
    }
    match (&node.value, new) {
        (Written::Mapping(_), Value::Object(new)) => mapping(text, node, new),
        (Written::Sequence(items), Value::Array(new)) => sequence(text, items, new),
        _ => None,
    }
}

fn mapping(text: &str, node: &Node<'_>, new: &Map<String, Value>) -> Option<Vec<Edit>> {
    let entries = node.entries();
    let first = entries.first()?;
    let column = column(text, first.key_span.start);
    let mut edits = Vec::new();
    let mut kept = 0;
    for entry in entries {
        let (start, end) = (entry.key_span.start, entry.node.span.end.max(entry.key_span.end));
        let Some(value) = new.get(&*entry.key) else {
            let line = line_start(text, start);
            if !text.get(line..start)?.trim_start_matches(' ').is_empty() {
                // A dash stands before it.
                return None;
            }
            edits.push((line..line_after(text, end), String::new()));
            continue;
        };
        kept += 1;
        if entry.node.to_json() == *value {
            continue;
        }
        match self::edits(text, &entry.node, value) {
            Some(inner) => edits.extend(inner),
            None => edits.push(entry_anew(text, start, end, &entry.key, value)?),
        }
    }
    let given: BTreeSet<&str> = entries.iter().map(|entry| &*entry.key).collect();
    let added: Map<String, Value> = new
        .iter()
        .filter(|(key, _)| !given.contains(key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if !added.is_empty() {
        let last = entries.last()?;
        let end = last.node.span.end.max(last.key_span.end);
        let at = place_behind(text, &last.node, end, column.checked_sub(1)?);
        let mut lines = String::new();
        push_indented(&mut lines, &written(&Value::Object(added)), column, column);
        edits.push((at..at, lines));
    }
    (kept > 0).then_some(edits)
}

/// An entry with another value; what stands before its key, and behind its value on the line, stays.
fn entry_anew(text: &str, start: usize, end: usize, key: &str, value: &Value) -> Option<Edit> {
    let line = line_start(text, start);
    let mut anew = text.get(line..start)?.to_owned();
    let entry = Value::Object(Map::from_iter([(key.to_owned(), value.clone())]));
    push_indented(&mut anew, &written(&entry), 0, column(text, start));
    // A value that is not written at all ends with its key, before the colon.
    let end = match text.get(end..)?.strip_prefix(':') {
        Some(_) => end + 1,
        None => end,
    };
    if !text.get(..end)?.ends_with('\n') {
        anew.truncate(anew.trim_end_matches('\n').len());
    }
    Some((line..end, anew))
}

/// Items go, and others come behind those that stay.
fn sequence(text: &str, items: &[Node<'_>], new: &[Value]) -> Option<Vec<Edit>> {
    let dash = |item: &Node<'_>| {
        let line = line_start(text, item.span.start);
        let before = text.get(line..item.span.start)?;
        (before.trim_matches(' ') == "-").then(|| line + before.len() - before.trim_start_matches(' ').len())
    };
    let column = column(text, dash(items.first()?)?);
    let mut edits = Vec::new();
    let mut kept = 0;
    for item in items {
        if new.get(kept).is_some_and(|value| *value == item.to_json()) {
            kept += 1;
        } else {
            let start = line_start(text, dash(item)?);
            edits.push((start..line_after(text, item.span.end), String::new()));
        }
    }
    let added = new.get(kept..)?;
    if !added.is_empty() {
        let last = items.last()?;
        let at = place_behind(text, last, last.span.end, column);
        let mut lines = String::new();
        push_indented(&mut lines, &written(&Value::from(added.to_vec())), column, column);
        edits.push((at..at, lines));
    }
    (kept > 0).then_some(edits)
}

/// Where something is added behind a part that ends at `end`: below comments that belong to it, above blank lines, unless
/// it ends with a text that may have kept those.
fn place_behind(text: &str, last: &Node<'_>, end: usize, column: usize) -> usize {
    let (least, most) = (line_after(text, end), content_end(text, end, column));
    let mut leaf = last;
    while let Some(inner) = leaf.items().last().or_else(|| leaf.entries().last().map(|entry| &entry.node)) {
        leaf = inner;
    }
    if text.get(leaf.span.start..).is_some_and(|text| text.starts_with(['|', '>'])) {
        return most;
    }
    let behind = text.get(least..most).unwrap_or_default();
    let blank = behind.split_inclusive('\n').rev().take_while(|line| line.trim().is_empty());
    most - blank.map(str::len).sum::<usize>()
}

fn written(value: &Value) -> String {
    let mut text = String::new();
    yaml::to_yaml(value, &mut text);
    text
}

#[cfg(test)]
mod tests {
    use kubefoundry::yaml::{Limits, parse};
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn patched(text: &str, new: &Value) -> Option<String> {
        let parsed = parse(text, &Limits::default());
        let mut edits = edits(text, &parsed.documents[0].root, new)?;
        edits.sort_by_key(|(range, _)| (range.start, range.end));
        let mut out = text.to_owned();
        edits.into_iter().rev().for_each(|(range, lines)| out.replace_range(range, &lines));
        assert_eq!(parse(&out, &Limits::default()).documents[0].root.to_json(), *new, "{out}");
        Some(out)
    }

    const OBJECT: &str = "  # the model
  metadata:
    name: 'model' # short
    labels: {app: model} # flow
    empty:
  spec:
    replicas: 2 # of the team

    containers:
      - name: server
        image: \"m:1\" # pinned
        # resources come later
      - name: asya-runtime
        image: a:1 # ours

    # below
    grace: 10 # seconds
    text: |
      several
      lines
";

    /// Every kind of change at once: what stays has its bytes.
    #[test]
    fn what_stays_keeps_its_bytes() {
        let new = json!({
            "metadata": {
                "name": "model",
                "labels": {"app": "model", "asya": "x"},
                "empty": {"made": "here"},
                "annotations": {"text": "two\nlines\n"},
            },
            "spec": {
                "containers": [{"name": "server", "image": "m:1"}, {"name": "other", "args": ["--a: b"]}],
                "grace": 30,
                "text": "other\nlines\n",
                "volumes": [{"name": "tmp", "emptyDir": {}}],
            },
        });
        let expected = "  # the model
  metadata:
    name: 'model' # short
    labels:
      app: model
      asya: x # flow
    empty:
      made: here
    annotations:
      text: |
        two
        lines
  spec:

    containers:
      - name: server
        image: \"m:1\" # pinned
        # resources come later
      - name: other
        args:
        - \"--a: b\"

    # below
    grace: 30 # seconds
    text: |
      other
      lines
    volumes:
    - name: tmp
      emptyDir: {}
";
        assert_eq!(patched(OBJECT, &new).unwrap(), expected);
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            Just(json!({})),
            Just(json!([])),
            (0..3_i32).prop_map(Value::from),
            "[a-c# :-]{0,4}|[a-c]\n[a-c]\n?".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 30, 4, |inner| {
            let entries = prop::collection::vec(("[a-d]", inner.clone()), 0..4);
            prop_oneof![
                prop::collection::vec(inner, 0..4).prop_map(Value::from),
                entries.prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

        /// Whatever becomes of whatever: the edits make just that.
        #[test]
        fn edits_make_what_is_to_be(old in value(), new in value()) {
            patched(&written(&old), &new);
        }
    }

    /// What is the same needs no edit, and what cannot be edited is said to.
    #[test]
    fn what_cannot_be_edited_is_written_anew() {
        let same = parse(OBJECT, &Limits::default()).documents[0].root.to_json();
        assert_eq!(patched(OBJECT, &same).unwrap(), OBJECT);
        for (text, new) in [
            ("{a: 1}\n", json!({"a": 2})),
            ("a: 1\n", json!({"b": 1})),
            ("a: 1\n", json!([1])),
            ("- 1\n", json!([2])),
            ("- - 1\n- 2\n", json!([2])),
            ("- a: 1\n  b: 2\n- 2\n", json!([2, {"x": 1}, 3])),
        ] {
            if let Some(text) = patched(text, &new) {
                assert!(text.starts_with("- 2\n"), "{text}");
            }
        }
    }
}
