//! Patterns of a schema, which the API server compiles with Go's `regexp` (RE2).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use regex::Regex;
use serde_json::Value;

use super::SchemaViolation;
use super::references::Resolver;
use super::walk_path::WalkPath;
use crate::codes;
use kubefoundry_cel::compile_pattern;
use kubefoundry_yaml::text::shorten;

/// The compiled patterns of one schema. A pattern is compiled on its first use; `Err` is the reason why it cannot be
/// compiled.
#[derive(Debug, Default)]
pub(super) struct PatternCache(Mutex<BTreeMap<String, CompiledPattern>>);

/// Shared, because a clone of a `Regex` would rebuild its caches.
type CompiledPattern = Arc<Result<Regex, String>>;

impl PatternCache {
    fn get(&self, pattern: &str) -> CompiledPattern {
        // A panic of another holder left a map without a pattern, which is compiled again.
        let mut patterns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(compiled) = patterns.get(pattern) {
            return Arc::clone(compiled);
        }
        let compiled = Arc::new(compile(pattern));
        patterns.insert(pattern.to_owned(), Arc::clone(&compiled));
        compiled
    }

    /// Returns whether a text matches a pattern. Every text matches a pattern that cannot be compiled.
    pub(super) fn is_match(&self, pattern: &str, text: &str) -> bool {
        self.get(pattern).as_ref().as_ref().map_or(true, |regex| regex.is_match(text))
    }

    /// Returns whether all patterns in a schema can be compiled.
    pub(super) fn are_usable(&self, schema: &Value, resolver: Resolver<'_>) -> bool {
        let Some(keywords) = resolver.resolve(schema).as_object() else { return true };
        keywords.iter().all(|(keyword, value)| match (keyword.as_str(), value) {
            ("pattern", Value::String(pattern)) => self.get(pattern).is_ok(),
            ("properties", Value::Object(schemas)) => schemas.values().all(|schema| self.are_usable(schema, resolver)),
            ("allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => {
                schemas.iter().all(|schema| self.are_usable(schema, resolver))
            }
            ("items" | "additionalProperties" | "not", schema) => self.are_usable(schema, resolver),
            _ => true,
        })
    }

    /// Reports a pattern that cannot be compiled.
    pub(super) fn report_uncompilable(&self, pattern: &str, at: &WalkPath<'_>, out: &mut Vec<SchemaViolation>) {
        if let Err(reason) = self.get(pattern).as_ref() {
            out.push(SchemaViolation {
                code: &codes::CRD_RULE_NOT_EVALUATED,
                path: at.to_field_path(),
                message: format!("pattern {:?}: {reason}", shorten(pattern)),
                help: None,
                value: None,
                is_wrong_type: false,
            });
        }
    }

    /// Reports every string whose pattern cannot be compiled, anywhere below a schema and value.
    pub(super) fn report_uncompilable_below(
        &self,
        schema: &Value,
        value: &Value,
        at: &WalkPath<'_>,
        resolver: Resolver<'_>,
        out: &mut Vec<SchemaViolation>,
    ) {
        let schema = resolver.resolve(schema);
        for keyword in ["allOf", "anyOf", "oneOf"] {
            for schema in schema.get(keyword).and_then(Value::as_array).into_iter().flatten() {
                self.report_uncompilable_below(schema, value, at, resolver, out);
            }
        }
        if let Some(schema) = schema.get("not") {
            self.report_uncompilable_below(schema, value, at, resolver, out);
        }
        match value {
            Value::String(_) => {
                if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
                    self.report_uncompilable(pattern, at, out);
                }
            }
            Value::Object(fields) => {
                for (name, value) in fields {
                    let property = resolver.property_schema(schema, name);
                    if let Some(schema) = property.or_else(|| resolver.keyword_schema(schema, "additionalProperties")) {
                        self.report_uncompilable_below(schema, value, &at.key(name), resolver, out);
                    }
                }
            }
            Value::Array(items) => {
                for (position, item) in items.iter().enumerate() {
                    if let Some(schema) = schema.get("items") {
                        self.report_uncompilable_below(schema, item, &at.index(position), resolver, out);
                    }
                }
            }
            _ => {}
        }
    }
}

fn compile(pattern: &str) -> Result<Regex, String> {
    compile_pattern(&re2_to_rust(pattern))
}

/// Translates RE2 syntax to that of the regex crate where they differ: `\Q..\E`, classes that are ASCII in RE2 and
/// Unicode in the regex crate, and braces and brackets that RE2 reads as plain characters
/// (<https://github.com/google/re2/wiki/Syntax>).
fn re2_to_rust(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let (mut rest, mut in_class) = (pattern.chars(), false);
    while let Some(first) = rest.next() {
        let after = rest.as_str();
        match (first, after.chars().next()) {
            ('\\', Some('Q')) if !in_class => {
                rest.next();
                let quoted = rest.as_str();
                let (literal, after_literal) = quoted.split_once("\\E").unwrap_or((quoted, ""));
                out.push_str(&regex::escape(literal));
                rest = after_literal.chars();
            }
            ('\\', Some(escaped)) => {
                rest.next();
                match escaped {
                    'd' => out.push_str("[0-9]"),
                    'D' => out.push_str("[^0-9]"),
                    'w' => out.push_str("[0-9A-Za-z_]"),
                    'W' => out.push_str("[^0-9A-Za-z_]"),
                    's' => out.push_str(r"[\t\n\f\r ]"),
                    'S' => out.push_str(r"[^\t\n\f\r ]"),
                    'b' if !in_class => out.push_str(r"(?-u:\b)"),
                    '<' | '>' => out.push(escaped),
                    _ => out.extend(['\\', escaped]),
                }
            }
            ('[', Some(':')) if in_class => out.push('['),
            ('[', _) if in_class => out.push_str("\\["),
            ('[', _) => {
                in_class = true;
                out.push('[');
                if after.starts_with('^') {
                    out.extend(rest.next());
                }
                // A bracket directly after the start is a member of the class.
                if rest.as_str().starts_with(']') {
                    out.push_str("\\]");
                    rest.next();
                }
            }
            (':', Some(']')) if in_class => {
                // `:]` ends `[:alpha:]`, not the class around it, unless the colon is a plain member of the class.
                let ends_named_class = out
                    .rsplit_once("[:")
                    .is_some_and(|(_, name)| name.bytes().all(|c| c.is_ascii_lowercase() || c == b'^'));
                out.push(':');
                if ends_named_class {
                    out.push(']');
                    rest.next();
                }
            }
            (']', _) => {
                out.push_str(if in_class { "]" } else { "\\]" });
                in_class = false;
            }
            ('&' | '~', _) if in_class => out.extend(['\\', first]),
            ('{', _) if !in_class && !is_repetition(after) => out.push_str("\\{"),
            _ => out.push(first),
        }
    }
    out
}

/// Returns whether the text after a brace is a repetition: `3}`, `3,}` or `3,5}`.
fn is_repetition(after: &str) -> bool {
    let Some((inside, _)) = after.split_once('}') else { return false };
    let (minimum, maximum) = inside.split_once(',').unwrap_or((inside, ""));
    !minimum.is_empty() && [minimum, maximum].into_iter().all(|number| number.bytes().all(|c| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_go() {
        for (pattern, matching, other) in [
            (r"(?i)^vllm$", "VLLM", "vllmx"),
            (r"\Aa\z", "a", "a\n"),
            (r"^[[:alpha:]]+$", "ab", "a1"),
            (r"^[[:alpha:]0-9:]+$", "a1:", "-"),
            (r"^\Qa.b\E$", "a.b", "axb"),
            (r"^\pL$", "é", "1"),
            (r"^\d+$", "12", "١"),
            (r"^[\w-]+$", "a-b_1", "é"),
            (r"^[^\s]$", "a", " "),
            (r"^a{,2}$", "a{,2}", "aa"),
            (r"^a{1,2}$", "aa", "aaa"),
            (r"^[]&&~[]+$", "]&~[", "a"),
            (r"^[^]]$", "a", "]"),
            (r"^a]$", "a]", "a"),
        ] {
            let regex = compile(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
            assert!(regex.is_match(matching) && !regex.is_match(other), "{pattern} is {}", re2_to_rust(pattern));
        }
        assert!(compile("^(?!x)").is_err());
    }
}
