//! What cannot fail, in a form without a result, so that no caller has an error to ignore.

use std::fmt::{self, Write as _};

use serde::Serialize;
use serde_json::Value;

/// Appends formatted text to a `String`, like `write!`, but without a result: a string takes every text.
///
/// ```
/// let mut out = String::from("a");
/// kubefoundry_yaml::append!(out, "={}", 1);
/// assert_eq!(out, "a=1");
/// ```
#[macro_export]
macro_rules! append {
    ($out:expr, $($text:tt)+) => {{
        use $crate::infallible::Append as _;
        $out.append(::std::format_args!($($text)+));
    }};
}

/// Appends formatted text and a line feed to a `String`, like `writeln!`, but without a result.
///
/// ```
/// let mut out = String::new();
/// kubefoundry_yaml::append_line!(out, "{}:", "a");
/// assert_eq!(out, "a:\n");
/// ```
#[macro_export]
macro_rules! append_line {
    ($out:expr, $($text:tt)+) => {{
        use $crate::infallible::Append as _;
        $out.append(::std::format_args!($($text)+));
        $out.push('\n');
    }};
}

/// What [`append!`](crate::append) calls.
pub trait Append {
    /// Appends formatted text.
    fn append(&mut self, text: fmt::Arguments<'_>);
}

impl Append for String {
    #[expect(clippy::expect_used, reason = "a string takes every text, and `format!` panics in the same case")]
    fn append(&mut self, text: fmt::Arguments<'_>) {
        self.write_fmt(text).expect("an implementation of a formatting trait returned an error");
    }
}

/// Converts a value of one of our types to JSON.
///
/// # Panics
/// If the type has no JSON form, because the keys of one of its maps are not text. That depends on the type alone, not
/// on what a user wrote.
#[expect(clippy::expect_used, reason = "it fails for types that are written wrongly, and we have none")]
pub fn to_json(value: &(impl Serialize + ?Sized)) -> Value {
    serde_json::to_value(value).expect("our types have a JSON form")
}

/// Writes a value of one of our types as compact JSON.
///
/// # Panics
/// As [`to_json`] does.
#[expect(clippy::expect_used, reason = "it fails for types that are written wrongly, and we have none")]
pub fn to_json_text(value: &(impl Serialize + ?Sized)) -> String {
    serde_json::to_string(value).expect("our types have a JSON form")
}

/// Writes a value of one of our types as indented JSON.
///
/// # Panics
/// As [`to_json`] does.
#[expect(clippy::expect_used, reason = "it fails for types that are written wrongly, and we have none")]
pub fn to_pretty_json(value: &(impl Serialize + ?Sized)) -> String {
    serde_json::to_string_pretty(value).expect("our types have a JSON form")
}

/// Parses JSON that is a part of the program: an embedded file, or the default of a field.
///
/// # Panics
/// If the text, which is named for the message, is not JSON. Without its content, the program would answer as if nothing
/// were built in, so it must not go on. A test loads each of them.
#[expect(clippy::panic, reason = "the text is a part of the program, and a test loads it")]
pub fn parse_builtin(name: &str, text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("the built-in {name} is not JSON: {error}"))
}

/// Parses a YAML document that is a part of the program.
///
/// # Panics
/// As [`parse_builtin`] does, if the text is not one YAML document.
#[expect(clippy::panic, reason = "the text is a part of the program, and a test loads it")]
pub fn parse_builtin_yaml(name: &str, text: &str) -> Value {
    let parsed = crate::parse(text, &crate::Limits::default());
    match (parsed.documents.as_slice(), &parsed.failure) {
        ([document], None) => document.root.to_json(),
        _ => panic!("the built-in {name} is not one YAML document"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "the built-in kinds.json is not JSON")]
    fn a_broken_builtin_file_is_named() {
        parse_builtin("kinds.json", "{");
    }

    #[test]
    #[should_panic(expected = "the built-in config.yaml is not one YAML document")]
    fn a_broken_builtin_document_is_named() {
        parse_builtin_yaml("config.yaml", "a: [");
    }
}
