//! Objects to text: a YAML stream, one JSON document, or files.

pub(crate) mod beside;
mod merge;
mod out_dir;

use std::borrow::Cow;

use kubefoundry_compiler::Compilation;
use kubefoundry_compiler::options::render::OutputMode;
use kubefoundry_compiler::pipeline::YamlText;
use kubefoundry_diagnostics::source::SourceSet;
use kubefoundry_yaml as yaml;
use serde_json::{Number, Value, json};

use crate::args::ObjectFormat;
use merge::{Inputs, Piece};

pub(crate) use merge::StreamError;
pub(crate) use out_dir::{OutDirError, write_files};

/// Everything that is printed, as one JSON document.
///
/// One object is printed as it is, and any other number of them as the items of a `v1` `List`, the way `kubectl get -o
/// json` prints them: a stream of JSON documents is more than `jq -e` and most parsers expect.
pub(crate) fn json(sources: &SourceSet, compilation: &Compilation, mode: OutputMode) -> Result<String, StreamError> {
    if mode == OutputMode::Generated {
        return Ok(json_document(compilation.outputs.iter().map(|output| output.object.clone()).collect()));
    }
    let inputs = Inputs::read(sources, &compilation.options.limits)?;
    let pieces = merge::for_clusters(merge::merge(compilation, mode), &inputs)?;
    let mut objects = Vec::with_capacity(pieces.len());
    for piece in &pieces {
        objects.push(match piece {
            Piece::Object(object) => (*object).clone(),
            Piece::Input(input) => inputs.value(input)?,
        });
    }
    Ok(json_document(objects))
}

/// Everything that is printed, as a stream of YAML documents, in parts: none is copied.
pub(crate) fn yaml<'t>(
    sources: &'t SourceSet,
    compilation: &'t Compilation<YamlText>,
    mode: OutputMode,
) -> Result<Vec<Cow<'t, str>>, StreamError> {
    if mode == OutputMode::Generated {
        return Ok(stream(compilation.outputs.iter().map(|output| output.object.as_str().into())));
    }
    let inputs = Inputs::read(sources, &compilation.options.limits)?;
    let documents = merge::for_clusters(merge::merge(compilation, mode), &inputs)?.into_iter().map(|piece| {
        Ok(match piece {
            Piece::Object(object) => object.as_str().into(),
            Piece::Input(input) => {
                if let Some(text) = inputs.verbatim(input) {
                    return Ok(text.into());
                }
                // An item of a list has its text from there: its indentation, its anchors. It is written anew.
                let mut text = String::new();
                yaml::to_yaml(&inputs.value(input)?, &mut text);
                text.into()
            }
        })
    });
    Ok(stream(documents.collect::<Result<Vec<_>, StreamError>>()?))
}

/// The parts of a stream: documents that end their lines, and `---` between them.
fn stream<'t>(documents: impl IntoIterator<Item = Cow<'t, str>>) -> Vec<Cow<'t, str>> {
    let mut parts = Vec::new();
    for document in documents {
        if !parts.is_empty() {
            parts.push("---\n".into());
        }
        let ended = document.ends_with('\n');
        parts.push(document);
        if !ended {
            parts.push("\n".into());
        }
    }
    parts
}

/// One object as a file or a document of its own.
fn object_text(object: &Value, format: ObjectFormat) -> String {
    match format {
        ObjectFormat::Yaml => {
            let mut out = String::new();
            yaml::to_yaml(object, &mut out);
            out
        }
        ObjectFormat::Json => json_document(vec![object.clone()]),
    }
}

fn json_document(mut objects: Vec<Value>) -> String {
    objects.iter_mut().for_each(integers);
    let document = match objects.len() {
        1 => objects.swap_remove(0),
        _ => json!({"apiVersion": "v1", "kind": "List", "items": objects}),
    };
    format!("{document:#}\n")
}

/// Writes numbers without a fraction as integers, as the YAML writer does: `2.0` is no replica count to an apiserver.
fn integers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            // Rust writes a float without an exponent, and without a fraction that it does not have.
            let written = number.as_f64().and_then(|float| float.to_string().parse::<Number>().ok());
            if let Some(written) = written {
                *number = written;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(integers),
        Value::Object(fields) => fields.values_mut().for_each(integers),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both formats are one output, so that moving between them changes nothing in a cluster.
    #[test]
    fn whole_numbers_are_integers_in_json() {
        let text = json_document(vec![json!({"a": 2.0, "b": [0.9, -1.0, 1e300], "c": 3})]);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), json!({"a": 2, "b": [0.9, -1, 1e300], "c": 3}));
    }

    /// As kubectl does it: one object is itself, none or several are a List.
    #[test]
    fn several_objects_are_a_list() {
        let kind = |objects| serde_json::from_str::<Value>(&json_document(objects)).unwrap()["kind"].clone();
        assert_eq!(kind(vec![json!({"kind": "A"})]), "A");
        assert_eq!(kind(vec![json!({"kind": "A"}), json!({"kind": "B"})]), "List");
        assert_eq!(kind(vec![]), "List");
    }
}
