//! What `jsonschema` found, in the words of everything else here.

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::paths::LocationSegment;
use serde_json::Value;

use super::{Violation, schema_at};
use crate::codes;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::{closest, shorten};

/// Adds what an error means.
pub(super) fn explain(error: &ValidationError<'_>, schema: &Value, object: &Value, out: &mut Vec<Violation>) {
    let path = path_of(error, object);
    let found = found(error.instance());
    let refuse = |found: String, expected: String| Violation {
        value: error.instance().as_str().map(str::to_owned),
        ..Violation::refused(path.clone(), &format!("is {found}"), &expected)
    };
    match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            for name in unexpected {
                out.push(unknown(&path, name, schema, error.instance().get(name)));
            }
        }
        ValidationErrorKind::Required { property } => {
            let path = path.key(property.as_str().unwrap_or_default().to_owned());
            out.push(Violation::refused(path, "is missing", "a value: it is required"));
        }
        ValidationErrorKind::Type { kind } => {
            let kinds: Vec<String> = match kind {
                TypeKind::Single(kind) => vec![kind.to_string()],
                TypeKind::Multiple(kinds) => kinds.into_iter().map(|kind| kind.to_string()).collect(),
            };
            out.push(refuse(found, format!("a value of type {}", kinds.join(" or "))));
        }
        ValidationErrorKind::Enum { options } => {
            let options: Vec<String> =
                options.as_array().into_iter().flatten().map(|option| shorten(&option.to_string())).collect();
            out.push(refuse(found, format!("one of {}", options.join(", "))));
        }
        // The one keyword of ours; its message is the pattern.
        ValidationErrorKind::Custom { message: pattern, .. } => {
            out.push(refuse(found, format!("a text that matches {}", shorten(pattern))));
        }
        ValidationErrorKind::Format { format } => out.push(refuse(found, format!("a text of format {format}"))),
        _ => {
            let keyword = error.kind().keyword().to_owned();
            let limit = schema_at(schema, &path).and_then(|schema| schema.get(&keyword)).filter(|it| !it.is_object());
            let expected = match limit {
                Some(limit) if !limit.is_array() => {
                    format!("what {keyword} {} of the schema allows", shorten(&limit.to_string()))
                }
                _ => format!("what {keyword} of the schema allows"),
            };
            out.push(refuse(found, expected));
        }
    }
}

/// A field that the schema does not have, with what may have been meant.
fn unknown(path: &FieldPath, name: &str, schema: &Value, value: Option<&Value>) -> Violation {
    let known = schema_at(schema, path).and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    let names: Vec<&str> = known.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    let help = closest(name, names.iter().copied()).map(|meant| format!("did you mean {meant:?}?"));
    Violation {
        code: &codes::FIELD_NOT_IN_SCHEMA,
        path: path.key(name.to_owned()),
        message: String::new(),
        help,
        value: value.and_then(Value::as_str).map(str::to_owned),
    }
}

fn path_of(error: &ValidationError<'_>, object: &Value) -> FieldPath {
    let mut at = Some(object);
    let mut path = FieldPath::root();
    for segment in error.instance_path().segments() {
        let text = match &segment {
            LocationSegment::Property(name) => name.to_string(),
            LocationSegment::Index(index) => index.to_string(),
        };
        let index = at.filter(|at| at.is_array()).and_then(|_| text.parse::<usize>().ok());
        (at, path) = match index {
            Some(index) => (at.and_then(|at| at.get(index)), path.index(index)),
            None => (at.and_then(|at| at.get(text.as_str())), path.key(text)),
        };
    }
    path
}

/// A value in a message.
fn found(value: &Value) -> String {
    match value {
        Value::Object(_) => "a mapping".to_owned(),
        Value::Array(items) => format!("a list of {}", items.len()),
        scalar => shorten(&scalar.to_string()),
    }
}
