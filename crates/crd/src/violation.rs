//! Construction of [`SchemaViolation`]s with their messages.

use serde_json::Value;

use super::references::Resolver;
use super::{SchemaViolation, schema_at};
use crate::codes;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::{closest, shorten};

/// The reason why a schema refuses a value.
#[derive(Debug)]
pub(super) enum RefusalReason<'s> {
    /// The value has none of these types.
    Type(Vec<&'s str>),
    /// The value is none of these values.
    Enum(&'s [Value]),
    /// The value does not match a pattern.
    Pattern(&'s str),
    /// The value does not have a format.
    Format(&'s str),
    /// Another keyword does not allow the value.
    Keyword(&'static str),
}

/// The schema at the root of a check, in which messages look up limits and known fields.
#[derive(Debug, Clone, Copy)]
pub(super) struct RootSchema<'s> {
    /// The schema of the whole object, or of the checked part of it.
    pub(super) schema: &'s Value,
    /// The number of path segments that lead to that part.
    pub(super) depth: usize,
    pub(super) resolver: Resolver<'s>,
}

impl<'s> RootSchema<'s> {
    fn schema_at(&self, path: &FieldPath) -> Option<&'s Value> {
        schema_at(self.schema, path.segments().get(self.depth..)?, self.resolver)
    }
}

/// Creates the violation for a refused value.
pub(super) fn refused_value(
    root: RootSchema<'_>,
    reason: &RefusalReason<'_>,
    value: &Value,
    path: FieldPath,
) -> SchemaViolation {
    let expected = match reason {
        RefusalReason::Type(kinds) => format!("a value of type {}", kinds.join(" or ")),
        RefusalReason::Enum(options) => {
            let options: Vec<String> = options.iter().map(|option| shorten(&option.to_string())).collect();
            kubefoundry_yaml::text::one_of(&options)
        }
        RefusalReason::Pattern(pattern) => format!("a text that matches {}", shorten(pattern)),
        RefusalReason::Format(format) => format!("a text of format {format}"),
        RefusalReason::Keyword(keyword) => {
            let limit = root.schema_at(&path).and_then(|schema| schema.get(keyword));
            // Only a limit is worth quoting, not a schema or a reference to one.
            match limit.filter(|limit| !limit.is_object() && !limit.is_array() && *keyword != "not") {
                Some(limit) => format!("a value that the schema allows ({keyword}: {})", shorten(&limit.to_string())),
                None => format!("a value that the schema allows ({keyword})"),
            }
        }
    };
    SchemaViolation {
        value: value.as_str().map(str::to_owned),
        is_wrong_type: matches!(reason, RefusalReason::Type(_)) && !value.is_null(),
        ..SchemaViolation::unexpected(path, &format!("is {}", describe_value(value)), &expected)
    }
}

/// Creates the violation for a missing required field.
pub(super) fn missing_field(path: &FieldPath, name: &str) -> SchemaViolation {
    SchemaViolation::missing(path.key(name.to_owned()))
}

/// Creates the violation for a field that the schema does not have, with a suggestion of a similar one.
pub(super) fn unknown_field(root: RootSchema<'_>, path: &FieldPath, name: &str, value: &Value) -> SchemaViolation {
    let known = root.schema_at(path).and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    let names: Vec<&str> = known.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    let help = closest(name, names.iter().copied()).map(|suggestion| format!("did you mean {suggestion:?}?"));
    SchemaViolation {
        code: &codes::FIELD_NOT_IN_SCHEMA,
        path: path.key(name.to_owned()),
        message: String::new(),
        help,
        value: value.as_str().map(str::to_owned),
        is_wrong_type: false,
    }
}

/// Describes a value for a message.
fn describe_value(value: &Value) -> String {
    match value {
        Value::Object(_) => "a mapping".to_owned(),
        Value::Array(items) => format!("a list of {}", items.len()),
        scalar => shorten(&scalar.to_string()),
    }
}
