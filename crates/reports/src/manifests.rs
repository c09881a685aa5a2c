//! The objects of a run, as a stream of YAML documents or as one JSON document.

use std::borrow::Cow;

use kubefoundry_compiler::Compilation;
use kubefoundry_compiler::options::render::OutputMode;
use kubefoundry_compiler::pipeline::YamlText;
use kubefoundry_diagnostics::source::SourceSet;
use kubefoundry_yaml as yaml;
use serde_json::{Number, Value, json};

pub use crate::merge::StreamError;
use crate::merge::{self, InputTexts, MergedObject};

/// Formats the output as one JSON document.
///
/// A single object is printed on its own; any other number becomes a `v1` `List`, as with `kubectl get -o json`. Most
/// JSON parsers do not accept a stream of documents.
pub fn json(sources: &SourceSet, compilation: &Compilation, mode: OutputMode) -> Result<String, StreamError> {
    if mode == OutputMode::Generated {
        return Ok(json_document(compilation.outputs.iter().map(|output| output.object.clone()).collect()));
    }
    let inputs = InputTexts::parse(sources, &compilation.options.limits)?;
    let output_objects = merge::drop_local_objects(merge::merge(compilation, mode), &inputs)?;
    let mut objects = Vec::with_capacity(output_objects.len());
    for output_object in &output_objects {
        objects.push(match output_object {
            MergedObject::Generated(object) => (*object).clone(),
            MergedObject::Input(input) => inputs.value(input)?,
        });
    }
    Ok(json_document(objects))
}

/// Formats the output as a stream of YAML documents. It returns parts, so that large texts are not copied.
pub fn yaml<'t>(
    sources: &'t SourceSet,
    compilation: &'t Compilation<YamlText>,
    mode: OutputMode,
) -> Result<Vec<Cow<'t, str>>, StreamError> {
    if mode == OutputMode::Generated {
        return Ok(stream(compilation.outputs.iter().map(|output| output.object.as_str().into())));
    }
    let inputs = InputTexts::parse(sources, &compilation.options.limits)?;
    let documents =
        merge::drop_local_objects(merge::merge(compilation, mode), &inputs)?.into_iter().map(|output_object| {
            Ok(match output_object {
                MergedObject::Generated(object) => object.as_str().into(),
                MergedObject::Input(input) => {
                    if let Some(text) = inputs.verbatim(input) {
                        return Ok(text.into());
                    }
                    // The text of a list item depends on the list (indentation, anchors), so the item is serialized
                    // again.
                    let mut text = String::new();
                    yaml::to_yaml(&inputs.value(input)?, &mut text);
                    text.into()
                }
            })
        });
    Ok(stream(documents.collect::<Result<Vec<_>, StreamError>>()?))
}

/// Joins documents to a stream: adds missing final newlines, and `---` between documents.
fn stream<'t>(documents: impl IntoIterator<Item = Cow<'t, str>>) -> Vec<Cow<'t, str>> {
    let mut parts = Vec::new();
    for document in documents {
        if !parts.is_empty() {
            parts.push("---\n".into());
        }
        let ends_line = document.ends_with('\n');
        parts.push(document);
        if !ends_line {
            parts.push("\n".into());
        }
    }
    parts
}

/// Formats objects as one JSON document: a single one on its own, any other number as a list.
pub fn json_document(mut objects: Vec<Value>) -> String {
    objects.iter_mut().for_each(normalize_integers);
    let document = match objects.len() {
        1 => objects.swap_remove(0),
        _ => json!({"apiVersion": "v1", "kind": "List", "items": objects}),
    };
    format!("{document:#}\n")
}

/// Converts numbers without a fraction to integers, like the YAML writer: an API server rejects `replicas: 2.0`.
fn normalize_integers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            // Rust formats `2.0` as `2` and never uses an exponent, so parsing the text yields an integer where
            // possible.
            let written = number.as_f64().and_then(|float| float.to_string().parse::<Number>().ok());
            if let Some(written) = written {
                *number = written;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(normalize_integers),
        Value::Object(fields) => fields.values_mut().for_each(normalize_integers),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// YAML and JSON output must describe the same objects.
    #[test]
    fn whole_numbers_are_integers_in_json() {
        let text = json_document(vec![json!({"a": 2.0, "b": [0.9, -1.0, 1e300], "c": 3})]);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), json!({"a": 2, "b": [0.9, -1, 1e300], "c": 3}));
    }

    #[test]
    fn several_or_no_objects_become_a_list() {
        let kind = |objects| serde_json::from_str::<Value>(&json_document(objects)).unwrap()["kind"].clone();
        assert_eq!(kind(vec![json!({"kind": "A"})]), "A");
        assert_eq!(kind(vec![json!({"kind": "A"}), json!({"kind": "B"})]), "List");
        assert_eq!(kind(vec![]), "List");
    }
}
