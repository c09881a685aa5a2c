//! Generates `schemas/`: CustomResourceDefinitions for API servers, and JSON Schemas for editors and readers of
//! reports.
//!
//! ```text
//! wire::Describe ─┬─ structural (+ rules) ─ crd ─ <group>_<plural>.yaml
//!                 └─ editor (+ arguments) ─────── <kind>.json
//! schemars::JsonSchema ─ reports ───────────────── diagnostics.json, decisions.json, plan.json, images.json
//! ```
//! It also generates `deploy/llamastack/external-providers.yaml`, a patch for the CRD of the llama-stack operator.
//!
//! The schemas of input are plain JSON values, not types of k8s-openapi or schemars: those sort their keys, and lack much
//! of what is needed here (CEL rules, `if`/`then`, keywords that only editors read).

mod arguments;
mod crd;
mod editor;
mod llamastack;
mod reports;
mod rules;
mod snippets;
mod structural;
mod syntax;

use serde_json::Value;

use super::Generated;
use crate::Failure;

pub(super) fn generate() -> Result<Vec<Generated>, Failure> {
    let mut files = Vec::new();
    let crds = crd::all()?.into_iter().map(|(name, value)| (format!("schemas/{name}.yaml"), value));
    let patch = ("deploy/llamastack/external-providers.yaml".to_owned(), llamastack::patch()?);
    for (path, value) in crds.chain([patch]) {
        let mut text = "# Written by `cargo xtask generate`; do not edit.\n".to_owned();
        kubefoundry_yaml::to_yaml(&value, &mut text);
        files.push(Generated { path: path.into(), text });
    }
    let editor: Vec<(String, String)> =
        editor::all()?.iter().map(|(name, value)| (name.clone(), format_json(value))).collect();
    files.push(Generated { path: "src/schemas/kubefoundry.outline".into(), text: outline(&editor)? });
    files
        .extend(editor.into_iter().map(|(name, text)| Generated { path: format!("schemas/{name}.json").into(), text }));
    for (name, mut value) in reports::all()? {
        mark_up(&mut value);
        files.push(Generated { path: format!("schemas/{name}.json").into(), text: format_json(&value) });
    }
    Ok(files)
}

/// Returns the schema for any document with the fields of each kind replaced by one line: `@` and the name of the
/// kind's own schema. The program embeds this outline, so that it holds each kind only once; `src/schemas.rs` expands
/// it.
fn outline(schemas: &[(String, String)]) -> Result<String, Failure> {
    let any = schemas.iter().find(|(name, _)| name == "kubefoundry");
    let (_, any) = any.ok_or_else(|| Failure::Broken("there is no schema kubefoundry".to_owned()))?;
    let kinds = schemas.iter().filter(|(name, _)| name != "kubefoundry");
    Ok(kinds.fold(any.clone(), |outline, (name, text)| {
        let fields = text.trim_end_matches("\n}\n").lines().skip(3);
        let fields: String = fields.flat_map(|line| ["   ", line, "\n"]).collect();
        outline.replace(&fields, &format!("   @{name}\n"))
    }))
}

/// Turns a doc comment into text: joins the lines of each paragraph.
fn description(doc: &str) -> String {
    let paragraphs: Vec<String> = doc
        .split("\n \n")
        .flat_map(|part| part.split("\n\n"))
        .map(|paragraph| paragraph.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" "))
        .filter(|paragraph| !paragraph.is_empty())
        .collect();
    paragraphs.join("\n\n")
}

/// The keywords that document a value.
const DESCRIPTIONS: [&str; 2] = ["description", "markdownDescription"];

/// Returns the keywords for a text that may have Markdown in it. `description` is plain text in JSON Schema, and an editor
/// shows Markdown in it with escaped back-quotes; editors that read `markdownDescription` (VS Code, yaml-language-server)
/// prefer that.
fn documented(text: &str) -> Object {
    let has_markdown = text.contains('`');
    Object::default()
        .with("description", text.replace('`', ""))
        .with_some("markdownDescription", has_markdown.then_some(text))
}

/// Documents every value of a schema with [`documented`], where it has only a description.
fn mark_up(schema: &mut Value) {
    match schema {
        Value::Object(keywords) => {
            keywords.values_mut().for_each(mark_up);
            if keywords.contains_key("markdownDescription") {
                return;
            }
            let replace = |(keyword, value): (String, Value)| match value.as_str() {
                // A property of this name is not text.
                Some(text) if keyword == "description" => documented(text).0.into_iter().collect::<Vec<_>>(),
                _ => vec![(keyword, value)],
            };
            *keywords = std::mem::take(keywords).into_iter().flat_map(replace).collect();
        }
        Value::Array(items) => items.iter_mut().for_each(mark_up),
        _ => {}
    }
}

/// Formats JSON with one line for each short or flat value. A change then shows as one line of a diff, and a thousand
/// flags do not become ten thousand lines.
fn format_json(value: &Value) -> String {
    let mut text = String::new();
    write_lines(value, 0, &mut text);
    text.push('\n');
    text
}

fn write_lines(value: &Value, depth: usize, out: &mut String) {
    const WIDTH: usize = 100;
    let line = value.to_string();
    let flat = match value {
        Value::Object(fields) => !fields.values().any(has_objects),
        other => !has_objects(other),
    };
    if flat || line.len() <= WIDTH {
        out.push_str(&line);
        return;
    }
    let (open, close) = if value.is_array() { ('[', ']') } else { ('{', '}') };
    let entries: Vec<(String, &Value)> = match value {
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| (format!("{}: ", Value::from(key.as_str())), value)).collect()
        }
        Value::Array(items) => items.iter().map(|item| (String::new(), item)).collect(),
        _ => Vec::new(),
    };
    out.push(open);
    for (position, (key, value)) in entries.iter().enumerate() {
        out.push_str(if position == 0 { "\n" } else { ",\n" });
        out.push_str(&" ".repeat(depth + 1));
        out.push_str(key);
        write_lines(value, depth + 1, out);
    }
    out.push('\n');
    out.push_str(&" ".repeat(depth));
    out.push(close);
}

fn has_objects(value: &Value) -> bool {
    match value {
        Value::Object(_) => true,
        Value::Array(items) => items.iter().any(has_objects),
        _ => false,
    }
}

/// A JSON object that is built key by key and keeps the order of its keys.
#[derive(Default)]
struct Object(serde_json::Map<String, Value>);

impl Object {
    fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.insert(key.to_owned(), value.into());
        self
    }

    fn with_some(self, key: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        Self::Object(object.0)
    }
}

/// Parses the text of a default, which the declarations write as JSON.
fn json(text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text).map_err(|error| Failure::Broken(format!("a default that is not JSON: {text}: {error}")))
}
