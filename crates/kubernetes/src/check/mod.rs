//! Checks of values as Kubernetes makes them.
//!
//! Small functions without side effects check the syntax of a value ([`names`], [`labels`], [`quantity`],
//! [`image`](crate::image)). [`Checker`] turns their results into findings.

pub mod environment;
pub mod facets;

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::api_group::ApiGroup;
use crate::codes;
use crate::syntax_result::SyntaxResult;
use crate::{api_group, labels, names, quantity};
use kubefoundry_diagnostics::{Code, FieldRef, Findings};
use kubefoundry_yaml::Value;
use kubefoundry_yaml::field_path::{FieldPath, Segment};
use kubefoundry_yaml::secret::{TokenLikeness, token_likeness};
use kubefoundry_yaml::text::{closest, one_of, shorten};

/// What to do about a secret that others can read already; a help about one ends with it.
pub const REVOKE: &str = "revoke this secret, because everyone who can read this file or its history has it";

/// The context of a check: the API group whose semantics apply, and the collection that receives findings.
#[derive(Debug)]
pub struct Checker<'f, 'd> {
    /// The document's API group. `None` for kinds of groups such as `asya.sh`.
    pub api_group: Option<&'static ApiGroup>,
    /// The findings of the document.
    pub findings: &'f mut Findings<'d>,
}

/// Returns a text field unless it is empty. Kubernetes' own types do not distinguish an empty text from an absent one,
/// and the specification writes `image: ""`.
pub fn non_empty(field: Option<&str>) -> Option<&str> {
    field.filter(|text| !text.is_empty())
}

impl Checker<'_, '_> {
    /// Returns the API group whose semantics apply: the document's, or the default one for other kinds.
    pub fn effective_api_group(&self) -> &'static ApiGroup {
        self.api_group.unwrap_or(api_group::DEFAULT)
    }

    /// Returns whether the document has no value at `path`. A value that is present but could not be read is not
    /// absent, so that it does not get a second finding.
    pub fn is_absent(&self, path: &FieldPath) -> bool {
        let mut node = self.findings.scope().root;
        for segment in path.segments() {
            let next = match (&node.value, segment) {
                (Value::Null, _) => return true,
                (Value::Mapping(_), Segment::Key(key)) => node.get(key),
                (Value::Sequence(items), Segment::Index(index)) => items.get(*index),
                _ => return false,
            };
            let Some(next) = next else { return true };
            node = next;
        }
        node.value == Value::Null
    }

    /// Returns whether the document has a value at `path`, readable or not. A field below a value of the wrong type is
    /// neither present nor absent.
    pub fn is_present(&self, path: &FieldPath) -> bool {
        self.findings.scope().root.at(path).is_some_and(|node| node.value != Value::Null)
    }

    /// Returns whether the document has no value at `path`, or an empty string.
    pub fn is_absent_or_empty(&self, path: &FieldPath) -> bool {
        self.is_absent(path) || self.is_empty_text(path)
    }

    /// Returns whether the document has an empty string at `path`.
    pub fn is_empty_text(&self, path: &FieldPath) -> bool {
        self.findings.scope().root.at(path).is_some_and(|node| node.as_str() == Some(""))
    }

    /// Returns whether a text field is empty, or absent from the document.
    pub fn is_missing(&self, field: Option<&str>, path: &FieldPath) -> bool {
        field.map_or_else(|| self.is_absent(path), str::is_empty)
    }

    /// Reports a value whose syntax check failed. Returns whether it is valid.
    pub fn check_syntax(&mut self, code: &'static Code, path: &FieldPath, value: &str, result: SyntaxResult) -> bool {
        if let Err(expected) = result
            && !report_token(self.findings, path, value, false)
        {
            let value = shorten(value);
            self.findings.report(code, path, format!("{path} is {value:?}, expected {expected}"));
        }
        result.is_ok()
    }

    /// Reports a key of the mapping at `path` whose syntax check failed.
    pub fn check_key(&mut self, code: &'static Code, path: &FieldPath, key: &str, result: SyntaxResult) {
        if let Err(expected) = result {
            let place = FieldRef::key(&path.key(key.to_owned()));
            let key = shorten(key);
            self.findings.report(code, place, format!("{path} has the key {key:?}, expected {expected}"));
        }
    }

    /// Reports an invalid name, with a fix if lower case makes it valid. Returns whether the name is valid.
    pub fn check_name(&mut self, path: &FieldPath, name: &str, syntax: fn(&str) -> SyntaxResult) -> bool {
        let checked = syntax(name);
        if report_token(self.findings, path, name, checked.is_ok()) {
            return false;
        }
        let Err(expected) = checked else { return true };
        let lower = name.to_ascii_lowercase();
        let replacement = syntax(&lower).ok().and_then(|()| self.replacement(&FieldRef::value(path), name, &lower));
        let message = format!("{path} is {:?}, expected {expected}", shorten(name));
        let reported = self.findings.report(&codes::INVALID_NAME, path, message);
        if let Some(replacement) = replacement {
            reported.replace_with("write it in lower case", replacement);
        }
        false
    }

    /// Checks the name of an environment variable. Returns whether a container accepts it.
    pub fn check_environment_variable(&mut self, path: &FieldPath, name: &str) -> bool {
        let Err(expected) = names::environment_variable(name) else { return true };
        let message = format!("{path} is {:?}, expected {expected}", shorten(name));
        self.findings
            .report(&codes::INVALID_ENVIRONMENT, path, message)
            .help("use only letters, digits and '_', starting with a letter or '_'");
        false
    }

    /// Reports a required name that is missing or invalid.
    pub fn check_required_name(&mut self, path: &FieldPath, name: Option<&str>, syntax: fn(&str) -> SyntaxResult) {
        if self.is_missing(name, path) {
            self.report_missing(path);
        } else if let Some(name) = name {
            self.check_name(path, name, syntax);
        }
    }

    /// Reports a number above the maximum of the API group.
    pub fn check_maximum(&mut self, path: &FieldPath, value: u32, maximum: Option<u32>) {
        if let Some(maximum) = maximum.filter(|maximum| value > *maximum) {
            let message =
                format!("{path} is {value}, expected at most {maximum} in {}", self.effective_api_group().name);
            self.findings.report(&codes::OUT_OF_RANGE, path, message);
        }
    }

    /// Reports a quantity above the maximum of the API group.
    pub fn check_maximum_quantity(&mut self, path: &FieldPath, value: &str, maximum: Option<&'static str>) {
        let is_above = |maximum: &&str| quantity::compare(value, maximum) == Some(Ordering::Greater);
        if let Some(maximum) = maximum.filter(is_above) {
            let group = self.effective_api_group().name;
            let message = format!("{path} is {value:?}, expected at most {maximum} in {group}");
            self.findings.report(&codes::OUT_OF_RANGE, path, message);
        }
    }

    /// Reports a missing field.
    pub fn report_missing(&mut self, path: &FieldPath) {
        self.findings.report(&codes::REQUIRED_FIELD, path, format!("{path} is required"));
    }

    /// Reports a text that is not a quantity above zero. Returns whether it is valid.
    pub fn check_quantity(&mut self, path: &FieldPath, value: &str) -> bool {
        let checked = quantity::positive_quantity(value);
        let Err(expected) = checked else { return true };
        let message = format!("{path} is {:?}, expected {expected}", shorten(value));
        let reported = self.findings.report(&codes::INVALID_QUANTITY, path, message);
        if let Some(suggestion) = quantity::suggestion(value) {
            reported.help(format!("did you mean {suggestion:?}?"));
        }
        false
    }

    /// Reports a text that is not one of the allowed values.
    pub fn check_allowed_value(
        &mut self,
        code: &'static Code,
        path: &FieldPath,
        value: &str,
        allowed: &'static [&'static str],
    ) {
        if allowed.contains(&value) {
            return;
        }
        let message = format!("{path} is {:?}, expected {}", shorten(value), one_of(allowed));
        let reported = self.findings.report(code, path, message);
        if let Some(suggestion) = closest(value, allowed.iter().copied()) {
            reported.help(format!("did you mean {suggestion:?}?"));
        }
    }

    /// Reports control characters, including line breaks.
    pub fn check_single_line(&mut self, path: &FieldPath, value: &str) {
        self.check_characters(path, value, char::is_control, "one line of text without control characters");
    }

    /// Reports control characters other than tabs and line breaks.
    pub fn check_multi_line(&mut self, path: &FieldPath, value: &str) {
        let is_refused = |character: char| character.is_control() && !matches!(character, '\n' | '\r' | '\t');
        self.check_characters(path, value, is_refused, "text without control characters");
    }

    /// Reports the first refused character. The value may be a secret, so the message names only the character.
    fn check_characters(&mut self, path: &FieldPath, value: &str, is_refused: impl Fn(char) -> bool, expected: &str) {
        if let Some(character) = value.chars().find(|character| is_refused(*character)) {
            let code = u32::from(character);
            let message = format!("{path} has the character U+{code:04X}, expected {expected}");
            self.findings.report(&codes::INVALID_VALUE, path, message);
        }
    }

    /// Reports every entry of a list whose `field` has the value of an earlier entry. Returns whether the values are
    /// unique. Empty values are ignored.
    pub fn check_unique(&mut self, list: &FieldPath, field: &'static str, values: &[&str]) -> bool {
        let before = self.findings.len();
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        for (index, value) in values.iter().enumerate().filter(|(_, value)| !value.is_empty()) {
            let first = *seen.entry(value).or_insert(index);
            if first != index {
                let path = list.index(index).join(field);
                let message = format!("{path} is {:?}, which an earlier entry already has", shorten(value));
                let reported = self.findings.report(&codes::DUPLICATE_ENTRY, &path, message);
                reported.related(&list.index(first).join(field), "first here");
            }
        }
        self.findings.len() == before
    }

    /// Checks the keys and values of labels, or of a node selector.
    pub fn check_labels(&mut self, path: &FieldPath, labels: &[(String, String)]) {
        for (key, value) in labels {
            self.check_key(&codes::INVALID_LABEL, path, key, labels::label_key(key));
            let at = path.key(key.clone());
            self.check_syntax(&codes::INVALID_LABEL, &at, value, labels::label_value(value));
        }
    }

    /// Checks the keys, the values and the total size of annotations.
    pub fn check_annotations(&mut self, path: &FieldPath, annotations: &[(String, String)]) {
        for (key, value) in annotations {
            self.check_key(&codes::INVALID_LABEL, path, key, labels::annotation_key(key));
            self.check_multi_line(&path.key(key.clone()), value);
        }
        if let Err(expected) = labels::annotations_size(annotations) {
            self.findings.report(&codes::INVALID_LABEL, path, format!("{path} is too large, expected {expected}"));
        }
    }

    /// Reports labels and annotations that only the renderer sets, to mark the objects that it generates.
    pub fn check_reserved_keys(&mut self, path: &FieldPath, names: &[&str], entries: &[(String, String)]) {
        let Some(api_group) = self.api_group else { return };
        for name in names {
            if entries.iter().any(|(key, _)| api_group.is_label(key, name)) {
                let reserved = api_group.label(name);
                let place = FieldRef::key(&path.key(reserved.clone()));
                let message = format!("{path} has the key {reserved:?}, which only {} sets", api_group.manager);
                self.findings.report(&codes::RESERVED_LABEL, place, message).help("remove it");
            }
        }
    }

    /// Returns the text that replaces a scalar in the source, quoted if needed. Returns `None` if the source does not
    /// contain the scalar literally, because of an alias, an escape sequence or a block scalar.
    pub fn replacement(&self, place: &FieldRef, old: &str, new: &str) -> Option<String> {
        let span = self.findings.scope().locate(place).span;
        let source = self.findings.scope().text.get(span.start..span.end)?;
        if source == old && is_plain(new) {
            return Some(new.to_owned());
        }
        let spelled_out = source == old || source == format!("\"{old}\"") || source == format!("'{old}'");
        spelled_out.then(|| serde_json::Value::from(new).to_string())
    }
}

/// Returns whether every YAML reader, of YAML 1.1 too, reads this as a string when it is not quoted.
fn is_plain(text: &str) -> bool {
    const WORDS: &[&str] = &["y", "n", "yes", "no", "on", "off", "true", "false", "null"];
    text.starts_with(|character: char| character.is_ascii_alphabetic())
        && (names::dns_1123_subdomain(text).is_ok()
            || text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')))
        && !WORDS.contains(&text.to_ascii_lowercase().as_str())
}

/// Reports a token that was written where a name belongs, usually that of the Secret with the token. `is_name` tells whether
/// the text could be a name, too. Returns whether it is a token.
pub fn report_token(findings: &mut Findings<'_>, path: &FieldPath, text: &str, is_name: bool) -> bool {
    let is_for_secrets = path.segments().iter().filter_map(Segment::as_key).any(|key| {
        let key = key.to_ascii_lowercase();
        key.contains("secret") || key.ends_with("token")
    });
    let found = match token_likeness(text) {
        Some(TokenLikeness::Form) => "is a token",
        Some(TokenLikeness::LooseForm) if !is_name => "is a token",
        Some(TokenLikeness::Random) if !is_name && is_for_secrets => "looks like a token",
        _ => return false,
    };
    let (expected, advice) = if is_for_secrets {
        ("the name of a Secret", "create a Secret with a new token, and write its name here")
    } else {
        ("a name", "write a name here")
    };
    findings
        .report(&codes::TOKEN_AS_NAME, path, format!("{path} {found}, expected {expected}"))
        .help(format!("{advice}; {REVOKE}"))
        .conceal(path);
    true
}
