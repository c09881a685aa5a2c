//! Checks of values as Kubernetes makes them.
//!
//! What the syntax of a value must be is the subject of small functions ([`names`], [`labels`], [`quantity`],
//! [`image`](crate::image)) that anything may call; [`Checker`] alone turns their answers into findings.

pub mod environment;
pub mod facets;

use std::collections::BTreeMap;

use crate::api_group::ApiGroup;
use crate::codes;
use crate::{api_group, labels, names, quantity};
use kubefoundry_diagnostics::{Code, FieldRef, Findings};
use kubefoundry_yaml::Value;
use kubefoundry_yaml::field_path::{FieldPath, Segment};
use kubefoundry_yaml::text::{closest, shorten};

/// The answer of a syntax check; the error completes the sentence "…, expected …".
pub type Checked = Result<(), &'static str>;

/// What every check is handed: whose habits apply, and where findings go.
#[derive(Debug)]
pub struct Checker<'f, 'd> {
    /// The document's API group; none for kinds of other groups.
    pub api_group: Option<&'static ApiGroup>,
    /// Where findings go.
    pub findings: &'f mut Findings<'d>,
}

/// A text field; empty means absent, as it does to Kubernetes' own types (the specification writes `image: ""`).
pub fn text(field: Option<&str>) -> Option<&str> {
    field.filter(|text| !text.is_empty())
}

impl Checker<'_, '_> {
    /// The habits that apply: those of the specification where no API group does.
    pub fn effective_api_group(&self) -> &'static ApiGroup {
        self.api_group.unwrap_or(api_group::DEFAULT)
    }

    /// Whether the document says nothing at `path`. What is there and could not be read is not absent.
    pub fn absent(&self, path: &FieldPath) -> bool {
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

    /// Whether the document says something at `path`, readable or not. Below what could not be read a field is
    /// neither given nor absent.
    pub fn given(&self, path: &FieldPath) -> bool {
        self.findings.scope().root.at(path).is_some_and(|node| node.value != Value::Null)
    }

    /// Whether the document says nothing at `path`, or gives an empty string.
    pub fn absent_or_empty(&self, path: &FieldPath) -> bool {
        self.absent(path) || self.is_empty_text(path)
    }

    /// Whether the document gives an empty string at `path`.
    pub fn is_empty_text(&self, path: &FieldPath) -> bool {
        self.findings.scope().root.at(path).is_some_and(|node| node.as_str() == Some(""))
    }

    /// Whether a text field is missing: empty, or absent from the document.
    pub fn missing(&self, field: Option<&str>, path: &FieldPath) -> bool {
        field.map_or_else(|| self.absent(path), str::is_empty)
    }

    /// Reports a value that does not have the syntax it must have; whether it has.
    pub fn expect(&mut self, code: &'static Code, path: &FieldPath, value: &str, checked: Checked) -> bool {
        if let Err(expected) = checked {
            let value = shorten(value);
            self.findings.report(code, path, format!("{path} is {value:?}, expected {expected}"));
        }
        checked.is_ok()
    }

    /// The same for the key of an entry of a mapping, `path` being the mapping's.
    pub fn expect_key(&mut self, code: &'static Code, path: &FieldPath, key: &str, checked: Checked) {
        if let Err(expected) = checked {
            let place = FieldRef::key(&path.key(key.to_owned()));
            let key = shorten(key);
            self.findings.report(code, place, format!("{path} has the key {key:?}, expected {expected}"));
        }
    }

    /// Reports a name that does not have the syntax it must have; the fix is lower case where that is enough. Returns
    /// whether it has.
    pub fn name(&mut self, path: &FieldPath, name: &str, syntax: fn(&str) -> Checked) -> bool {
        let Err(expected) = syntax(name) else { return true };
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
    pub fn environment_variable(&mut self, path: &FieldPath, name: &str) -> bool {
        let Err(expected) = names::environment_variable(name) else { return true };
        let message = format!("{path} is {:?}, expected {expected}", shorten(name));
        self.findings
            .report(&codes::INVALID_ENVIRONMENT, path, message)
            .help("use only letters, digits and '_', starting with a letter or '_'");
        false
    }

    /// Checks a required name: reports it when it is missing, or when its syntax is wrong.
    pub fn required_name(&mut self, path: &FieldPath, name: Option<&str>, syntax: fn(&str) -> Checked) {
        if self.missing(name, path) {
            self.required(path);
        } else if let Some(name) = name {
            self.name(path, name, syntax);
        }
    }

    /// Reports a number above the API group's ceiling.
    pub fn most(&mut self, path: &FieldPath, value: u32, most: Option<u32>) {
        if let Some(most) = most.filter(|most| value > *most) {
            let message = format!("{path} is {value}, expected at most {most} in {}", self.effective_api_group().name);
            self.findings.report(&codes::OUT_OF_RANGE, path, message);
        }
    }

    /// Reports a quantity above the API group's ceiling.
    pub fn most_quantity(&mut self, path: &FieldPath, value: &str, most: Option<&'static str>) {
        if let Some(most) = most.filter(|most| quantity::compare(value, most) == Some(std::cmp::Ordering::Greater)) {
            let message =
                format!("{path} is {value:?}, expected at most {most} in {}", self.effective_api_group().name);
            self.findings.report(&codes::OUT_OF_RANGE, path, message);
        }
    }

    /// Reports a missing field.
    pub fn required(&mut self, path: &FieldPath) {
        self.findings.report(&codes::REQUIRED_FIELD, path, format!("{path} is required"));
    }

    /// Checks a quantity that must be above zero; whether it is.
    pub fn quantity(&mut self, path: &FieldPath, value: &str) -> bool {
        let checked = quantity::positive_quantity(value);
        let Err(expected) = checked else { return true };
        let message = format!("{path} is {:?}, expected {expected}", shorten(value));
        let reported = self.findings.report(&codes::INVALID_QUANTITY, path, message);
        if let Some(suggestion) = quantity::suggestion(value) {
            reported.help(format!("did you mean {suggestion:?}?"));
        }
        false
    }

    /// Checks a word against the allowed ones.
    pub fn word(&mut self, code: &'static Code, path: &FieldPath, word: &str, allowed: &'static [&'static str]) {
        if allowed.contains(&word) {
            return;
        }
        let message = format!("{path} is {:?}, expected one of {}", shorten(word), allowed.join(", "));
        let reported = self.findings.report(code, path, message);
        if let Some(meant) = closest(word, allowed.iter().copied()) {
            reported.help(format!("did you mean {meant:?}?"));
        }
    }

    /// Refuses control characters.
    pub fn one_line(&mut self, path: &FieldPath, value: &str) {
        self.without(path, value, char::is_control, "one line of text without control characters");
    }

    /// Refuses control characters other than tabs and line ends.
    pub fn lines(&mut self, path: &FieldPath, value: &str) {
        let refused = |character: char| character.is_control() && !matches!(character, '\n' | '\r' | '\t');
        self.without(path, value, refused, "text without control characters");
    }

    /// Values may be secrets: the message names the character and not the value.
    fn without(&mut self, path: &FieldPath, value: &str, refused: impl Fn(char) -> bool, expected: &str) {
        if let Some(character) = value.chars().find(|character| refused(*character)) {
            let code = u32::from(character);
            let message = format!("{path} has the character U+{code:04X}, expected {expected}");
            self.findings.report(&codes::INVALID_VALUE, path, message);
        }
    }

    /// Reports every entry of a list whose `field` repeats that of an earlier one; whether none does. Empty values are
    /// no values.
    pub fn unique(&mut self, list: &FieldPath, field: &'static str, values: &[&str]) -> bool {
        let before = self.findings.len();
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        for (index, value) in values.iter().enumerate().filter(|(_, value)| !value.is_empty()) {
            let first = *seen.entry(value).or_insert(index);
            if first != index {
                let path = list.index(index).join(field);
                let message = format!("{path} is {:?}, which an earlier entry has already", shorten(value));
                let reported = self.findings.report(&codes::DUPLICATE_ENTRY, &path, message);
                reported.related(&list.index(first).join(field), "first here");
            }
        }
        self.findings.len() == before
    }

    /// Checks labels, or a node selector.
    pub fn labels(&mut self, path: &FieldPath, labels: &[(String, String)]) {
        for (key, value) in labels {
            self.expect_key(&codes::INVALID_LABEL, path, key, labels::label_key(key));
            let at = path.key(key.clone());
            self.expect(&codes::INVALID_LABEL, &at, value, labels::label_value(value));
        }
    }

    /// Checks annotations.
    pub fn annotations(&mut self, path: &FieldPath, annotations: &[(String, String)]) {
        for (key, value) in annotations {
            self.expect_key(&codes::INVALID_LABEL, path, key, labels::annotation_key(key));
            self.lines(&path.key(key.clone()), value);
        }
        if let Err(expected) = labels::annotations_size(annotations) {
            self.findings.report(&codes::INVALID_LABEL, path, format!("{path} is too large, expected {expected}"));
        }
    }

    /// Refuses the labels and annotations that say what we made and why.
    pub fn reserved(&mut self, path: &FieldPath, names: &[&str], entries: &[(String, String)]) {
        let Some(api_group) = self.api_group else { return };
        for name in names {
            let reserved = api_group.label(name);
            if entries.iter().any(|(key, _)| *key == reserved) {
                let place = FieldRef::key(&path.key(reserved.clone()));
                let message = format!("{path} has the key {reserved:?}, which only {} sets", api_group.manager);
                self.findings.report(&codes::RESERVED_LABEL, place, message).help("remove it");
            }
        }
    }

    /// The text that turns one scalar of the source into another one, quoted as the first was; none where the source
    /// does not spell the scalar out (an alias, an escape, a block scalar).
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

/// Whether every YAML reader takes this for a string without quotes.
fn is_plain(text: &str) -> bool {
    const WORDS: &[&str] = &["y", "n", "yes", "no", "on", "off", "true", "false", "null"];
    text.starts_with(|character: char| character.is_ascii_alphabetic())
        && (names::dns_1123_subdomain(text).is_ok()
            || text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')))
        && !WORDS.contains(&text.to_ascii_lowercase().as_str())
}
