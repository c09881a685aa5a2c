//! What a schema refuses, in the words of everything else here.

use serde_json::Value;

use super::references::Resolver;
use super::{SchemaViolation, schema_at};
use crate::codes;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::{closest, shorten};

/// Why a schema refuses a value.
#[derive(Debug)]
pub(super) enum Reason<'s> {
    /// It has none of these types.
    Type(Vec<&'s str>),
    /// It is none of these values.
    Enum(&'s [Value]),
    /// It does not match a pattern.
    Pattern(&'s str),
    /// It does not have a format.
    Format(&'s str),
    /// Another keyword does not allow it.
    Keyword(&'static str),
}

/// The schema of what is checked, as messages ask for its parts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Whole<'s> {
    /// The schema of the whole object, or of the part of it that is checked.
    pub(super) schema: &'s Value,
    /// How many steps of a path lead to that part.
    pub(super) depth: usize,
    pub(super) resolver: Resolver<'s>,
}

impl<'s> Whole<'s> {
    fn at(&self, path: &FieldPath) -> Option<&'s Value> {
        schema_at(self.schema, path.segments().get(self.depth..)?, self.resolver)
    }
}

/// A value that is refused.
pub(super) fn refused(whole: Whole<'_>, reason: &Reason<'_>, value: &Value, path: FieldPath) -> SchemaViolation {
    let expected = match reason {
        Reason::Type(kinds) => format!("a value of type {}", kinds.join(" or ")),
        Reason::Enum(options) => {
            let options: Vec<String> = options.iter().map(|option| shorten(&option.to_string())).collect();
            format!("one of {}", options.join(", "))
        }
        Reason::Pattern(pattern) => format!("a text that matches {}", shorten(pattern)),
        Reason::Format(format) => format!("a text of format {format}"),
        Reason::Keyword(keyword) => {
            let limit = whole.at(&path).and_then(|schema| schema.get(keyword));
            // A schema, or a reference to one, is no limit.
            match limit.filter(|limit| !limit.is_object() && !limit.is_array() && *keyword != "not") {
                Some(limit) => format!("a value that {keyword} {} of the schema allows", shorten(&limit.to_string())),
                None => format!("a value that {keyword} of the schema allows"),
            }
        }
    };
    SchemaViolation {
        value: value.as_str().map(str::to_owned),
        is_wrong_type: matches!(reason, Reason::Type(_)) && !value.is_null(),
        ..SchemaViolation::refused(path, &format!("is {}", found(value)), &expected)
    }
}

/// A field that is required and not there.
pub(super) fn missing(path: &FieldPath, name: &str) -> SchemaViolation {
    SchemaViolation::refused(path.key(name.to_owned()), "is missing", "a value: it is required")
}

/// A field that the schema does not have, with what may have been meant.
pub(super) fn unknown(whole: Whole<'_>, path: &FieldPath, name: &str, value: &Value) -> SchemaViolation {
    let known = whole.at(path).and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    let names: Vec<&str> = known.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    let help = closest(name, names.iter().copied()).map(|meant| format!("did you mean {meant:?}?"));
    SchemaViolation {
        code: &codes::FIELD_NOT_IN_SCHEMA,
        path: path.key(name.to_owned()),
        message: String::new(),
        help,
        value: value.as_str().map(str::to_owned),
        is_wrong_type: false,
    }
}

/// A value in a message.
fn found(value: &Value) -> String {
    match value {
        Value::Object(_) => "a mapping".to_owned(),
        Value::Array(items) => format!("a list of {}", items.len()),
        scalar => shorten(&scalar.to_string()),
    }
}
