#![allow(clippy::indexing_slicing, reason = "a test fails by panicking")]

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{EditError, EditStyle, EditedText, Placement, TextEditor, ValueStyle, apply_edits, block_items};
use crate::field_path::{FieldPath, Segment};
use crate::{Limits, ParsedText, parse};

const BLOCK_FIRST: EditStyle = EditStyle { values: ValueStyle::Block, placement: Placement::First };
const FLOW_FIRST: EditStyle = EditStyle { values: ValueStyle::Flow, placement: Placement::First };

fn parse_text(text: &str) -> ParsedText<'_> {
    parse(text, &Limits::default())
}

/// One change.
#[derive(Debug, Clone)]
enum EditOp {
    Set(FieldPath, Value),
    Update(FieldPath, Value),
    Remove(FieldPath),
    Append(FieldPath, Vec<Value>),
    Rename(FieldPath, String),
}

fn path(text: &str) -> FieldPath {
    FieldPath::try_parse(text).unwrap()
}

fn set(at: &str, value: Value) -> EditOp {
    EditOp::Set(path(at), value)
}

fn remove(at: &str) -> EditOp {
    EditOp::Remove(path(at))
}

fn append<const N: usize>(at: &str, values: [Value; N]) -> EditOp {
    EditOp::Append(path(at), Vec::from(values))
}

fn apply_op(editor: &mut TextEditor<'_, '_>, op: &EditOp) -> Result<(), EditError> {
    match op.clone() {
        EditOp::Set(path, value) => editor.set(&path, value),
        EditOp::Update(path, value) => editor.update(&path, value),
        EditOp::Remove(path) => editor.remove(&path).map(drop),
        EditOp::Append(path, values) => editor.append(&path, values),
        EditOp::Rename(path, key) => editor.rename(&path, key),
    }
}

fn edit_document(text: &str, position: usize, style: EditStyle, ops: &[EditOp]) -> Result<EditedText, EditError> {
    let parsed = parse_text(text);
    let mut editor = TextEditor::new(text, &parsed.documents, position).with_style(style);
    for op in ops {
        apply_op(&mut editor, op)?;
    }
    editor.finish(&Limits::default())
}

fn edit_styled(text: &str, style: EditStyle, ops: &[EditOp]) -> String {
    match edit_document(text, 0, style, ops) {
        Ok(edited) => edited.text,
        Err(error) => panic!("{error} in\n{text}\nfor {ops:?}"),
    }
}

fn edit(text: &str, ops: &[EditOp]) -> String {
    edit_styled(text, EditStyle::default(), ops)
}

#[test]
fn a_scalar_is_replaced_in_its_place_and_keeps_its_quotes() {
    for (text, value, expected) in [
        ("a: 1 # one\nb: 2\n", json!(3), "a: 3 # one\nb: 2\n"),
        ("a: 'x' # one\n", json!("y"), "a: 'y' # one\n"),
        ("a: \"x\"\n", json!("it's"), "a: it's\n"),
        ("a: 'x'\n", json!(true), "a: true\n"),
        ("a: x\r\nb: 1\r\n", json!("0777"), "a: \"0777\"\r\nb: 1\r\n"),
        ("a: # nothing\nb: 1\n", json!(5), "a: 5 # nothing\nb: 1\n"),
        ("a:\n", json!("x"), "a: x\n"),
        ("a: !!str 5 # five\n", json!(6), "a: 6 # five\n"),
        ("{a: 1, b: [2]} # flow\n", json!("x, y"), "{a: \"x, y\", b: [2]} # flow\n"),
        ("{a: , b: 2}\n", json!(1), "{a: 1, b: 2}\n"),
        ("{a, b: 2}\n", json!(1), "{a: 1, b: 2}\n"),
        ("a: |\n  several\n  lines\n\nb: 1\n", json!("one"), "a: one\n\nb: 1\n"),
        ("a: one # c\nb: 1\n", json!("two\nlines\n"), "a: | # c\n  two\n  lines\nb: 1\n"),
        ("a: one", json!("two\nlines\n"), "a: |\n  two\n  lines\n"),
        ("a: plain text\n  over lines # c\n", json!(1), "a: 1 # c\n"),
    ] {
        assert_eq!(edit(text, &[set("a", value)]), expected);
    }
}

/// merge-config replaces the only provider of a section, and the comment above it must stay.
#[test]
fn comments_above_items_stay_when_new_items_replace_all_of_them() {
    let text = "a:\n# kept\n- 1\nb: 2\n";
    assert_eq!(edit(text, &[remove("a[0]"), append("a", [json!(3)])]), "a:\n# kept\n- 3\nb: 2\n");
    let text = "a:\n  # kept\n  - x: 1\n    y: 2\n  # between\n  - 2\n";
    assert_eq!(
        edit(text, &[remove("a[0]"), remove("a[1]"), append("a", [json!({"z": 3})])]),
        "a:\n  # kept\n  # between\n  - z: 3\n"
    );
}

#[test]
fn a_collection_replaces_a_scalar_below_its_key_where_the_comment_stays() {
    for (text, value, expected) in [
        ("a: 1 # one\nb: 2\n", json!({"x": 1}), "a: # one\n  x: 1\nb: 2\n"),
        ("a: {} # none\nb: 2\n", json!([1, 2]), "a: # none\n- 1\n- 2\nb: 2\n"),
        ("a: ~\nb:\n  - x\n", json!([1]), "a:\n  - 1\nb:\n  - x\n"),
        ("a: ~\nb:\n    c: x\n", json!({"d": 1}), "a:\n    d: 1\nb:\n    c: x\n"),
        ("a:\n  # to come\nb: 1\n", json!([1]), "a:\n- 1\n  # to come\nb: 1\n"),
        ("a: {\n} # none\r\nb: 1\r\n", json!({"c": 1}), "a: # none\r\n  c: 1\r\nb: 1\r\n"),
    ] {
        assert_eq!(edit(text, &[set("a", value)]), expected);
    }
}

#[test]
fn a_scalar_replaces_a_collection_with_the_comments_inside_it() {
    let text = "a: # why\n  # inside\n  x: 1\n  y: 2 # two\n  # more inside\nb: 1\n";
    assert_eq!(edit(text, &[set("a", json!(5))]), "a: 5 # why\n  # more inside\nb: 1\n");
    assert_eq!(edit(text, &[set("a", json!([]))]), "a: [] # why\n  # more inside\nb: 1\n");
    assert_eq!(edit("a:\n- 1\n- 2\nb: 1\n", &[set("a", json!("x\ny"))]), "a: |-\n  x\n  y\nb: 1\n");
}

#[test]
fn replaces_items_after_their_dashes() {
    let text = "- 1 # one\n- a: 1\n  b: 2 # two\n-\n- # four\n  c: 1\n- - 5\n";
    assert_eq!(
        edit(
            text,
            &[
                set("[0]", json!({"x": 1, "w": 2})),
                set("[1]", json!(7)),
                set("[2]", json!("x")),
                set("[3]", json!([1, 2])),
                set("[4][0]", json!({"z": [1]})),
            ]
        ),
        "- x: 1\n  w: 2\n- 7 # two\n- x\n- # four\n  - 1\n  - 2\n- - z:\n    - 1\n"
    );
}

#[test]
fn adds_fields_after_the_others_and_their_comments() {
    let text = "spec:\n    a: 1 # one\n    # later\n\n# next\nother: x";
    assert_eq!(
        edit(text, &[set("spec.b.c", json!(true)), set("spec.b.d", json!([1])), set("last", json!("on"))]),
        "spec:\n    a: 1 # one\n    # later\n    b:\n      c: true\n      d:\n      - 1\n\n# next\nother: x\nlast: \"on\"\n"
    );
    assert_eq!(edit("a: |+\n  kept\n\n", &[set("b", json!(1))]), "a: |+\n  kept\n\nb: 1\n");
    assert_eq!(edit("\u{feff}a: 1\n", &[set("b", json!(1))]), "\u{feff}a: 1\nb: 1\n");
    assert_eq!(edit("a: {b: 1} # c\n", &[set("a.c", json!({"d": ["x"]}))]), "a: {b: 1, \"c\": {\"d\":[\"x\"]}} # c\n");
    assert_eq!(edit("- a: 1\n- b: 1\n", &[set("[0].c", json!(1))]), "- a: 1\n  c: 1\n- b: 1\n");
}

#[test]
fn adds_first_fields_above_the_comments_of_the_old_first_field() {
    let text = "# the object\napiVersion: v1\nspec: # all\n  # the model\n  model: 1\n";
    assert_eq!(
        edit_styled(text, BLOCK_FIRST, &[set("spec.engine.type", json!("vllm"))]),
        "# the object\napiVersion: v1\nspec: # all\n  engine:\n    type: vllm\n  # the model\n  model: 1\n"
    );
    assert_eq!(edit_styled(text, BLOCK_FIRST, &[set("x", json!(1))]), text.replace("apiVersion", "x: 1\napiVersion"));
    assert_eq!(edit_styled("- a: 1\n", BLOCK_FIRST, &[set("[0].b", json!({"c": 1}))]), "- b:\n    c: 1\n  a: 1\n");
}

#[test]
fn quotes_strings_that_end_in_blank_lines_everywhere() {
    let text = "before: x\nproviders: null\nafter: y\n";
    let limits = Limits::default();
    let parsed = parse(text, &limits);
    let mut editor = TextEditor::new(text, &parsed.documents, 0);
    let value = json!({"inference": [{"id": "a"}, {"id": "b", "config": {"first": "\n", "last": {"text": "\n\n"}}}]});
    editor.set(&FieldPath::parse("providers"), value).unwrap();
    let expected = "\
before: x
providers:
  inference:
  - id: a
  - id: b
    config:
      first: \"\\n\"
      last:
        text: \"\\n\\n\"
after: y
";
    assert_eq!(editor.finish(&limits).unwrap().text, expected);
}

#[test]
fn flow_style_values_stay_in_one_line() {
    for (text, expected) in [
        ("spec:\n  engine: # which\n    args: {}\n", "spec:\n  engine: # which\n    type: vllm\n    args: {}\n"),
        ("spec:\n  # model\n  model: {id: a}\n", "spec:\n  engine: {type: vllm}\n  # model\n  model: {id: a}\n"),
        ("spec: {engine: {args: {}}}", "spec: {engine: {type: vllm, args: {}}}"),
        ("spec: {engine: {}}", "spec: {engine: {type: vllm}}"),
        ("spec:\n  engine:\n", "spec:\n  engine: {type: vllm}\n"),
        ("spec:\n  engine: null\n", "spec:\n  engine: {type: vllm}\n"),
        ("{\"spec\": {\"a\": 1}}", "{\"spec\": {\"engine\": {\"type\":\"vllm\"}, \"a\": 1}}"),
        ("{\"spec\": {}}", "{\"spec\": {\"engine\": {\"type\":\"vllm\"}}}"),
        ("spec:\r\n  engine:\r\n    a: 1\r\n", "spec:\r\n  engine:\r\n    type: vllm\r\n    a: 1\r\n"),
    ] {
        assert_eq!(edit_styled(text, FLOW_FIRST, &[set("spec.engine.type", json!("vllm"))]), expected);
    }
    let two = [set("spec.engine.type", json!("vllm")), set("spec.engine.eager", json!(true))];
    assert_eq!(
        edit_styled("spec:\n  a: 1\n", FLOW_FIRST, &two),
        "spec:\n  engine: {type: vllm, eager: true}\n  a: 1\n"
    );
}

#[test]
fn entries_are_removed_with_their_lines_and_the_comments_inside_them() {
    let text =
        "# head\na: 1 # one\n# of b\nb:\n  c: 1\n  # foot of c\n  d: 2\n\nlist:\n- x\n# of y\n- y: 1\n  # in y\n- z\n";
    assert_eq!(
        edit(text, &[remove("a"), remove("b.c"), remove("list[1]"), remove("absent.field")]),
        "# head\n# of b\nb:\n  # foot of c\n  d: 2\n\nlist:\n- x\n# of y\n- z\n"
    );
    assert_eq!(edit("a: {b: 1, c: 2, d: 3} # x\n", &[remove("a.b"), remove("a.d")]), "a: {c: 2} # x\n");
    assert_eq!(edit("a: [1, 2, 3, 4]\n", &[remove("a[2]"), remove("a[3]")]), "a: [1, 2]\n");
    assert_eq!(edit("- a: 1\n  # of b\n  b: 2\n", &[remove("[0].a")]), "- b: 2\n");
    assert_eq!(edit("- - 1\n  - 2\n- 3\n", &[remove("[0][0]")]), "- - 2\n- 3\n");
}

#[test]
fn a_collection_without_its_last_child_is_empty() {
    assert_eq!(edit("a: # why\n  b: 1\nc: 2\n", &[remove("a.b")]), "a: {} # why\nc: 2\n");
    assert_eq!(edit("a:\n- 1\n- 2\nc: 2\n", &[remove("a[0]"), remove("a[1]")]), "a: []\nc: 2\n");
    assert_eq!(edit("a: {b: 1}\n", &[remove("a.b")]), "a: {}\n");
    assert_eq!(edit("a: 1\n", &[remove("a")]), "{}\n");
    let all_others = [remove("a[0]"), append("a", [json!("x")])];
    assert_eq!(edit("a: [1]\n", &all_others), "a: [\"x\"]\n");
    assert_eq!(edit("a:\n  - 1\n", &all_others), "a:\n  - x\n");
}

#[test]
fn items_are_appended_in_the_style_of_the_list() {
    for (text, expected) in [
        ("a:\n  - 1 # one\n  # of one\n\n# next\nb: 1\n", "a:\n  - 1 # one\n  - x\n  # of one\n\n# next\nb: 1\n"),
        ("a:\n- 1\n  # of one\nb: 1\n", "a:\n- 1\n  # of one\n- x\nb: 1\n"),
        ("a: ['y', 'z'] # c\n", "a: ['y', 'z', 'x'] # c\n"),
        ("a: [y]\n", "a: [y, x]\n"),
        ("a: [\"y\"]\n", "a: [\"y\", \"x\"]\n"),
        ("a: [] # none\n", "a: # none\n- x\n"),
        ("a:\n", "a:\n- x\n"),
        ("b: 1\n", "b: 1\na:\n- x\n"),
        ("a: [1]\r\nb: 1\r\n", "a: [1, x]\r\nb: 1\r\n"),
    ] {
        assert_eq!(edit(text, &[append("a", [json!("x")])]), expected);
    }
}

#[test]
fn keys_are_renamed_in_their_quotes() {
    let rename = |at: &str, key: &str| EditOp::Rename(path(at), key.to_owned());
    let text = "a: {'b': 1} # c\n\"d\": 2\n";
    let ops = [rename("a", "A"), rename("a[\"b\"]", "x/b"), rename("d", "x y")];
    assert_eq!(edit(text, &ops), "A: {'x/b': 1} # c\n\"x y\": 2\n");
}

#[test]
fn an_update_keeps_unchanged_bytes() {
    let text = "  # the model
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
      - name: sidecar
        image: a:1 # ours

    # below
    grace: 10 # seconds
    text: |
      several
      lines
";
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
    labels: # flow
      app: model
      asya: x
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
    assert_eq!(edit(text, &[EditOp::Update(FieldPath::root(), new)]), expected);
}

#[test]
fn a_text_without_a_document_gets_one() {
    for (text, expected) in [
        ("", "a:\n  b: 1\n"),
        ("# nothing yet\n---\n# still nothing", "# nothing yet\n---\n# still nothing\na:\n  b: 1\n"),
        ("null # nothing\n", "a:\n  b: 1 # nothing\n"),
        ("{} # nothing\n", "a:\n  b: 1 # nothing\n"),
    ] {
        assert_eq!(edit(text, &[set("a.b", json!(1))]), expected);
    }
}

#[test]
fn one_document_of_a_stream_is_edited() {
    let text = "# first\na: 1\n---\n# second\na: 1\n...\n---\na: 1\n";
    for (position, expected) in [
        (0, "# first\na: 1\nb: 2\n---\n# second\na: 1\n...\n---\na: 1\n"),
        (1, "# first\na: 1\n---\n# second\na: 1\nb: 2\n...\n---\na: 1\n"),
        (2, "# first\na: 1\n---\n# second\na: 1\n...\n---\na: 1\nb: 2\n"),
    ] {
        let edited = edit_document(text, position, EditStyle::default(), &[set("b", json!(2))]).unwrap();
        assert_eq!(edited.text, expected);
    }
}

#[test]
fn combines_changes_of_a_field_and_of_its_children() {
    let ops = [set("a", json!({"x": 1})), set("a.w", json!(2)), append("a.z", [json!(3)]), remove("a.x")];
    assert_eq!(edit("a: 1\n", &ops), "a:\n  w: 2\n  z:\n  - 3\n");
    assert_eq!(edit("a: 1\n", &[set("b.c", json!(1)), remove("b.c"), set("b.d", json!(2))]), "a: 1\nb:\n  d: 2\n");
    assert_eq!(edit("a: {b: 1}\n", &[remove("a"), set("a.c", json!(1))]), "a: {b: 1, \"c\": 1}\n");
    assert_eq!(edit("a: 1\n", &[set("a", json!(2)), set("a", json!(1))]), "a: 1\n");
    assert_eq!(edit("a: {x: 0x10}\n", &[set("a", json!({"x": 16}))]), "a: {x: 0x10}\n");
    assert_eq!(edit("a: {x: 0x10}\n", &[remove("a"), set("a", json!({"x": 16}))]), "a:\n  x: 16\n");
    assert_eq!(
        edit("a: 1\n", &[append("b.c", [json!(1)]), append("b.c", [json!(2)])]),
        "a: 1\nb:\n  c:\n  - 1\n  - 2\n"
    );
    assert_eq!(edit("a: [1]\n", &[append("a", [json!(2)]), append("a", [json!(3)])]), "a: [1, 2, 3]\n");
}

#[test]
fn refuses_changes_through_anchors_and_aliases() {
    for (text, op) in [
        ("a: &x {b: 1}\nc: *x\n", set("a.b", json!(2))),
        ("a: &x 1\nc: *x\n", remove("a")),
        ("a: &x\n  b: 1\nc:\n  <<: *x\n  d: 1\n", set("c.b", json!(2))),
    ] {
        let result = edit_document(text, 0, EditStyle::default(), std::slice::from_ref(&op));
        assert_eq!(result, Err(EditError::RoundTripMismatch), "{text}");
    }
    let update = EditOp::Update(FieldPath::root(), json!({"a": {"b": 1}, "c": {"b": 2}}));
    let result = edit_document("a: &x {b: 1}\nc: *x\n", 0, EditStyle::default(), &[update]);
    assert!(matches!(result, Err(EditError::InvalidPath { found: "an alias", .. })), "{result:?}");
    assert_eq!(edit("a: &x {b: 1}\nc: *x\n", &[set("c.b", json!(2))]), "a: &x {b: 1}\nc:\n  b: 2\n");
    assert_eq!(edit("a: &x [1]\nc: *x # c\n", &[append("c", [json!(2)])]), "a: &x [1]\nc: # c\n- 1\n- 2\n");
}

#[test]
fn refuses_a_path_through_a_scalar() {
    for op in [set("a.b", json!(1)), set("l[3]", json!(1)), set("n[0]", json!(1)), append("a", [json!(1)])] {
        let result = edit_document("a: x\nl: [1]\n", 0, EditStyle::default(), &[op]);
        assert!(matches!(result, Err(EditError::InvalidPath { .. })), "{result:?}");
    }
    let parsed = parse_text("a: ~ # null\n");
    let mut editor = TextEditor::new("a: ~ # null\n", &parsed.documents, 0);
    assert!(editor.rename(&path("a.b"), "c").is_err() && editor.append(&FieldPath::root(), [json!(1)]).is_err());
    assert_eq!(editor.finish(&Limits::default()).unwrap().text, "a: ~ # null\n");
    let error = edit_document("a: x\n", 0, EditStyle::default(), &[set("a.b", json!(1))]).unwrap_err();
    assert_eq!(error.to_string(), "a.b has no place in the document: found a string on the way there");
}

/// Applies the same change to a value, which the edited text must parse to.
fn apply_op_to_value(value: &mut Value, op: &EditOp) {
    fn at<'v>(value: &'v mut Value, segments: &[Segment]) -> &'v mut Value {
        segments.iter().fold(value, |at, segment| match segment {
            Segment::Index(index) => &mut at[*index],
            Segment::Key(key) => {
                if at.is_null() {
                    *at = json!({});
                }
                at.as_object_mut().unwrap().entry(&**key).or_insert(Value::Null)
            }
        })
    }
    match op {
        EditOp::Set(path, new) | EditOp::Update(path, new) => *at(value, path.segments()) = new.clone(),
        EditOp::Append(path, new) => {
            let list = at(value, path.segments());
            if list.is_null() {
                *list = json!([]);
            }
            list.as_array_mut().unwrap().extend(new.iter().cloned());
        }
        EditOp::Remove(path) => {
            let (last, init) = path.segments().split_last().unwrap();
            match (last, at(value, init)) {
                (Segment::Key(key), Value::Object(fields)) => drop(fields.shift_remove(&**key)),
                (Segment::Index(index), Value::Array(items)) => drop(items.remove(*index)),
                _ => panic!("{path} is not there"),
            }
        }
        EditOp::Rename(path, new) => {
            let (Segment::Key(key), fields) =
                (path.segments().last().unwrap(), at(value, path.parent().segments()).as_object_mut().unwrap())
            else {
                panic!("{path} is not an entry")
            };
            let value = fields.shift_remove(&**key).unwrap();
            fields.insert(new.clone(), value);
        }
    }
}

/// Writes a value in a layout that the random choices select.
struct RandomLayoutWriter<'c> {
    choices: std::iter::Cycle<std::slice::Iter<'c, u8>>,
    out: String,
}

impl RandomLayoutWriter<'_> {
    fn choose(&mut self, count: u8) -> u8 {
        self.choices.next().unwrap() % count
    }

    fn comment(&mut self, indent: usize) {
        match self.choose(6) {
            0 => self.out.extend([&" ".repeat(indent), "# - a: comment\n"]),
            1 => self.out.push('\n'),
            _ => {}
        }
    }

    fn line_end(&mut self) {
        if self.choose(4) == 0 {
            self.out.push_str(" # 'said: behind");
        }
        self.out.push('\n');
    }

    fn scalar(&mut self, value: &Value) -> String {
        let canonical = super::render::render_canonical(&json!([value]));
        match (self.choose(4), value) {
            (0, Value::String(text)) if !text.contains(['\n', '\'']) => format!("'{text}'"),
            (1, _) => value.to_string(),
            (_, Value::String(text)) if text.contains('\n') => value.to_string(),
            _ => canonical[2..].trim_end().to_owned(),
        }
    }

    fn flow(&mut self, value: &Value) -> String {
        let space = ["", " ", "  "][usize::from(self.choose(3))];
        match value {
            Value::Object(fields) => {
                let fields: Vec<String> =
                    fields.iter().map(|(key, value)| format!("{key}: {}", self.flow(value))).collect();
                format!("{{{space}{}{space}}}", fields.join(", "))
            }
            Value::Array(items) => {
                let items: Vec<String> = items.iter().map(|item| self.flow(item)).collect();
                format!("[{space}{}{space}]", items.join(&format!(",{space} ")))
            }
            Value::String(_) => value.to_string(),
            other => other.to_string(),
        }
    }

    /// Writes the value after a `key:` or `-` at `column`.
    fn value(&mut self, value: &Value, column: usize, is_item: bool) {
        let is_empty = !super::render::is_nonempty_collection(value);
        match value {
            Value::String(text) if text.contains('\n') && !text.starts_with([' ', '\n']) && self.choose(2) == 0 => {
                let head = if text.ends_with("\n\n") {
                    "|+"
                } else if text.ends_with('\n') {
                    "|"
                } else {
                    "|-"
                };
                self.out.extend([" ", head, "\n"]);
                for line in text.trim_end_matches('\n').lines() {
                    let indent = if line.is_empty() { 0 } else { column + 3 };
                    self.out.extend([&" ".repeat(indent), line, "\n"]);
                }
                self.out.push_str(&"\n".repeat(text.len() - text.trim_end_matches('\n').len()).replacen('\n', "", 1));
            }
            Value::Null if self.choose(2) == 0 => self.line_end(),
            Value::Object(_) | Value::Array(_) if is_empty || self.choose(4) == 0 => {
                let text = format!(" {}", self.flow(value));
                self.out.push_str(&text);
                self.line_end();
            }
            Value::Object(fields) => {
                let (mut first, indent) = if is_item && self.choose(2) == 0 {
                    self.out.push(' ');
                    (true, column + 2)
                } else {
                    self.line_end();
                    (false, column + 1 + usize::from(self.choose(4)))
                };
                self.entries(fields, indent, &mut first);
            }
            Value::Array(items) => {
                let indent = if is_item && self.choose(2) == 0 {
                    self.out.push(' ');
                    self.items(items, column + 2, true);
                    return;
                } else {
                    self.line_end();
                    column + usize::from(self.choose(3)) + usize::from(is_item)
                };
                self.items(items, indent, false);
            }
            scalar => {
                let text = format!(" {}", self.scalar(scalar));
                self.out.push_str(&text);
                self.line_end();
            }
        }
    }

    fn entries(&mut self, fields: &serde_json::Map<String, Value>, indent: usize, first: &mut bool) {
        for (key, value) in fields {
            if !std::mem::take(first) {
                self.comment(indent);
                self.out.push_str(&" ".repeat(indent));
            }
            let key = ["", "'", "\""][usize::from(self.choose(3))].to_owned() + key;
            let close = if key.starts_with(['\'', '"']) { &key[..1] } else { "" };
            self.out.extend([&key, close, ":"]);
            self.value(value, indent, false);
        }
    }

    fn items(&mut self, items: &[Value], indent: usize, mut first: bool) {
        for item in items {
            if !std::mem::take(&mut first) {
                self.comment(indent);
                self.out.push_str(&" ".repeat(indent));
            }
            self.out.push('-');
            self.value(item, indent, true);
        }
    }
}

fn write_in_random_layout(value: &Value, choices: &[u8]) -> String {
    let mut scribe = RandomLayoutWriter { choices: choices.iter().cycle(), out: String::new() };
    scribe.comment(0);
    match value {
        Value::Object(fields) => scribe.entries(fields, 0, &mut false),
        other => scribe.items(other.as_array().unwrap(), 0, false),
    }
    scribe.comment(0);
    scribe.out
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        Just(json!({})),
        Just(json!([])),
        Just(json!(1.5)),
        any::<bool>().prop_map(Value::from),
        (0..30_i32).prop_map(Value::from),
        "[a-c#,:'\" -]{0,4}|[a-c]\n\n?[a-c]\n?|a\n\n|é".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 30, 4, |inner| {
        let entries = prop::collection::vec(("[a-d]", inner.clone()), 0..4);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            entries.prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

fn any_document() -> impl Strategy<Value = Value> {
    let entries = prop::collection::vec(("[a-d]", any_value()), 1..4);
    prop_oneof![
        prop::collection::vec(any_value(), 1..4).prop_map(Value::from),
        entries.prop_map(|entries| Value::Object(entries.into_iter().collect())),
    ]
}

fn any_style() -> impl Strategy<Value = EditStyle> {
    (any::<bool>(), any::<bool>()).prop_map(|(flow, first)| EditStyle {
        values: if flow { ValueStyle::Flow } else { ValueStyle::Block },
        placement: if first { Placement::First } else { Placement::Last },
    })
}

/// Collects every path in a value except the root.
fn collect_paths(value: &Value, at: &FieldPath, all: &mut Vec<FieldPath>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| {
            all.push(at.key(key.clone()));
            collect_paths(value, &at.key(key.clone()), all);
        }),
        Value::Array(items) => items.iter().enumerate().for_each(|(index, item)| {
            all.push(at.index(index));
            collect_paths(item, &at.index(index), all);
        }),
        _ => {}
    }
}

/// Returns a change that is possible in the document: of one of its fields, or of an added one.
fn random_op(document: &Value, kind: u8, which: prop::sample::Index, new: Value) -> EditOp {
    let mut all = Vec::new();
    collect_paths(document, &FieldPath::root(), &mut all);
    let at = all[which.index(all.len())].clone();
    let pointer: String = at
        .segments()
        .iter()
        .map(|segment| match segment {
            Segment::Key(key) => format!("/{key}"),
            Segment::Index(index) => format!("/{index}"),
        })
        .collect();
    let found = document.pointer(&pointer).unwrap();
    match (kind % 6, found) {
        (0, _) => EditOp::Update(at, new),
        (1, _) => EditOp::Remove(at),
        (2, Value::Array(_) | Value::Null) => EditOp::Append(at, vec![new.clone(), new]),
        (3, Value::Object(_) | Value::Null) => EditOp::Set(at.key("e").key("f"), new),
        (4, _) if matches!(at.segments().last(), Some(Segment::Key(_))) => EditOp::Rename(at, "new/key".to_owned()),
        _ => EditOp::Set(at, new),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_change_of_a_text_without_anchors_is_always_made(
        original in any_document(),
        choices in prop::collection::vec(any::<u8>(), 1..40),
        (is_crlf, has_mark) in any::<(bool, bool)>(),
        style in any_style(),
        (kind, which, new) in (any::<u8>(), any::<prop::sample::Index>(), any_value()),
    ) {
        let text = write_in_random_layout(&original, &choices);
        let text = if is_crlf { text.replace('\n', "\r\n") } else { text };
        let text = if has_mark { format!("\u{feff}{text}") } else { text };
        let parsed = parse_text(&text);
        prop_assume!(parsed.failure.is_none() && parsed.documents[0].problems.is_empty());
        // A blank line that follows a text may be a part of it.
        prop_assume!(parsed.documents[0].root.to_json() == original);
        let op = random_op(&original, kind, which, new);
        let edited = edit_document(&text, 0, style, std::slice::from_ref(&op));
        prop_assert!(edited.is_ok(), "{:?} in\n{}", op, text);
        let edited = edited.unwrap();
        let mut expected = original.clone();
        apply_op_to_value(&mut expected, &op);
        let read = parse(&edited.text, &Limits::default());
        prop_assert_eq!(read.documents[0].root.to_json(), expected, "{}", edited.text);
        prop_assert_eq!(apply_edits(&text, &edited.edits), edited.text.clone());
        if is_crlf {
            prop_assert!(!edited.text.replace("\r\n", "").contains('\n'), "{:?}", edited.text);
        }
        // Applying the same change again changes nothing.
        if let EditOp::Set(..) | EditOp::Update(..) = op {
            prop_assert_eq!(edit_document(&edited.text, 0, style, &[op]).unwrap().text, edited.text);
        }
    }

    #[test]
    fn bytes_outside_of_a_changed_field_are_kept(
        original in any_document(),
        choices in prop::collection::vec(any::<u8>(), 1..40),
        style in any_style(),
        (kind, which, new) in (any::<u8>(), any::<prop::sample::Index>(), any_value()),
    ) {
        let text = write_in_random_layout(&original, &choices);
        let op = random_op(&original, kind, which, new);
        let (at, parsed) = (match &op {
            EditOp::Set(path, _) | EditOp::Update(path, _) | EditOp::Remove(path) | EditOp::Append(path, _) | EditOp::Rename(path, _) => path,
        }, parse_text(&text));
        prop_assume!(parsed.failure.is_none() && parsed.documents[0].problems.is_empty());
        let root = &parsed.documents[0].root;
        // A collection that loses its only child, or that stops being a null, changes as a whole.
        let mut around = at.clone();
        while root.at(&around).is_none()
            || (matches!(op, EditOp::Remove(_)) && root.at(&around.parent()).is_some_and(|node| node.entries().len() + node.items().len() < 2) && around != FieldPath::root())
        {
            around = around.parent();
        }
        let node = root.at(&around).unwrap();
        let parent = root.at(&around.parent()).unwrap();
        let is_block = text[parent.span.start..].starts_with('-');
        let start = match around.segments().last() {
            Some(Segment::Key(key)) => parent.entry(key).unwrap().key_span.start,
            Some(Segment::Index(index)) if is_block => block_items(&text, parent, 0)[*index].dash,
            _ => node.span.start,
        };
        let first_line = text[..start].rfind('\n').map_or(0, |end| end + 1);
        let next = |segments: &[Segment]| -> usize {
            // The next field after this one, on any level.
            (1..=segments.len()).rev().find_map(|length| {
                let path = segments[..length].iter().fold(FieldPath::root(), |path, segment| match segment {
                    Segment::Key(key) => path.key(key.clone()),
                    Segment::Index(index) => path.index(*index),
                });
                let parent = root.at(&path.parent())?;
                match path.segments().last()? {
                    Segment::Key(key) => parent.entries().iter().skip_while(|entry| entry.key != *key).nth(1).map(|entry| entry.key_span.start),
                    Segment::Index(index) => parent.items().get(index + 1).map(|item| item.span.end),
                }
            }).unwrap_or(text.len())
        };
        let end = next(around.segments()).max(node.span.end);
        let edited = edit_document(&text, 0, style, std::slice::from_ref(&op));
        prop_assume!(edited.is_ok());
        let edited = edited.unwrap();
        for edit in &edited.edits {
            prop_assert!(edit.range.start >= first_line && edit.range.end <= end, "{:?} {:?} in\n{}", op, edit, text);
        }
        // All comments outside of the field are kept.
        let comments = |text: &str| text.matches("# - a: comment").count() + text.matches("# 'said: behind").count();
        let outside = comments(&text[..first_line]) + comments(&text[end..]);
        prop_assert!(comments(&edited.text) >= outside);
        if matches!(op, EditOp::Rename(..)) {
            prop_assert_eq!(comments(&edited.text), comments(&text));
        }
    }

    #[test]
    fn no_input_makes_the_editor_panic_or_write_another_document(
        text in "\u{feff}?(a|b|c|: |:|- |  |\n|\r\n|\\{|\\}|\\[|\\]|, |\\? |&x |\\*x|<<: |\"|'|# c|\\|\\+?|>|!!str |---\n|\\.\\.\\.\n|é|\t|1){0,24}",
        position in 0..3_usize,
        style in any_style(),
        kind in 0..5_u8,
        at in prop_oneof![Just(""), Just("a"), Just("a.b"), Just("[0]"), Just("a[0]"), Just("[1].a"), Just("b.c"), Just("a[0][1]")],
        new in any_value(),
    ) {
        let at = path(at);
        let op = match kind {
            0 => EditOp::Set(at, new),
            1 => EditOp::Update(at, new),
            2 => EditOp::Remove(at),
            3 => EditOp::Append(at, vec![new]),
            _ => EditOp::Rename(at, "new".to_owned()),
        };
        let parsed = parse_text(&text);
        if let Ok(edited) = edit_document(&text, position, style, &[op]) {
            let result = parse_text(&edited.text);
            let others = |parsed: &ParsedText<'_>| -> Vec<Value> {
                let all = parsed.documents.iter().enumerate().filter(|(index, _)| *index != position);
                all.map(|(_, document)| document.root.to_json()).collect()
            };
            if !edited.edits.is_empty() {
                prop_assert!(result.failure.is_none());
                prop_assert_eq!(others(&parsed), others(&result));
            }
        }
    }
}
