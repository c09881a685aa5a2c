//! Reading a [`Node`] tree into wire types: strict, and never stopping at the first mistake.
//!
//! A wire type is as close to the YAML as it can be: every field optional, nothing resolved. `null` means absent, as it
//! does to the apiserver.

use super::facets::Facets;
use crate::api_group::{self, ApiGroup};
use crate::codes;
use kubefoundry_diagnostics::{Code, FieldRef, Findings};
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::{closest, shorten};
use kubefoundry_yaml::{Node, Value};

/// What a value is read with: where findings go, and what an unknown field is.
#[derive(Debug)]
pub struct Reader<'r, 'd> {
    /// Where findings go.
    pub findings: &'r mut Findings<'d>,
    /// The code for a field that does not exist: an error in our kinds, a warning in provider overrides.
    pub unknown_field: &'static Code,
    /// Whether this is a patch, which may hold directives (`$patch: delete`) beside fields.
    pub patch: bool,
    /// The API group of the object, where groups differ in their fields.
    pub api_group: Option<&'static ApiGroup>,
    /// Fields of the outermost object that have a new name: old and new. The old one is an error that names the new one.
    pub renamed_fields: &'static [(&'static str, &'static str)],
}

impl<'r, 'd> Reader<'r, 'd> {
    /// A strict reader: unknown fields are errors.
    pub fn strict(findings: &'r mut Findings<'d>) -> Self {
        Self { findings, unknown_field: &codes::UNKNOWN_FIELD, patch: false, api_group: None, renamed_fields: &[] }
    }

    /// A strict reader of a patch: a part of an object, with the directives of a strategic merge.
    pub fn of_patch(findings: &'r mut Findings<'d>) -> Self {
        Self { patch: true, ..Self::strict(findings) }
    }

    /// The same for an object of an API group: a field that the group does not have is refused.
    #[must_use]
    pub fn in_group(self, api_group: &'static ApiGroup) -> Self {
        Self { api_group: Some(api_group), ..self }
    }

    /// A reader of provider overrides: unknown fields are warnings.
    pub fn of_overrides(findings: &'r mut Findings<'d>) -> Self {
        Self { unknown_field: &codes::UNKNOWN_OVERRIDE, ..Self::strict(findings) }
    }
}

/// Reports a field that the API group of the object does not have. Its value is read all the same, so that whatever else
/// is wrong with it is found in the same run.
pub fn refuse_absent_in_group(facets: &Facets, path: &FieldPath, reader: &mut Reader<'_, '_>) {
    let Some(api_group) = reader.api_group.filter(|api_group| facets.not_in.contains(&api_group.name)) else { return };
    let group = api_group.name;
    let message = format!("{path} is not a field of {group}, and the API server drops it");
    reader
        .findings
        .report(&codes::UNKNOWN_FIELD, FieldRef::key(path), message)
        .help(format!("remove it, or write the object in the group {}", api_group::DEFAULT.name));
}

/// A type that can be read from a tree. `None` means that a finding says why not.
pub trait Read: Sized {
    /// What is expected, for messages: `a string`.
    const EXPECTED: &'static str;

    /// Reads the value at `path`.
    fn read(node: &Node<'_>, path: &FieldPath, reader: &mut Reader<'_, '_>) -> Option<Self>;
}

/// Reports that a value has another type than its field.
pub fn wrong_type(node: &Node<'_>, path: &FieldPath, expected: &str, reader: &mut Reader<'_, '_>) {
    let text = reader.findings.scope().text.get(node.span.start..node.span.end).unwrap_or_default();
    let scalar = !matches!(node.value, Value::Sequence(_) | Value::Mapping(_));
    let found = match &node.value {
        Value::String(value) => format!("{} ({:?})", node.describe(), shorten(value)),
        _ if scalar && !text.is_empty() => format!("{} ({})", node.describe(), shorten(text)),
        _ => node.describe().to_owned(),
    };
    let quoted = quote(text);
    let reported = reader.findings.report(&codes::WRONG_TYPE, path, format!("{path} is {found}, expected {expected}"));
    if scalar && expected == String::EXPECTED && !text.is_empty() && !matches!(node.value, Value::Null) {
        let reads = node.describe();
        let reported = if text.starts_with('*') {
            reported.help(format!("write the value here, in quotes: the alias stands for {reads}"))
        } else {
            reported.help(format!("quote it: {quoted} (unquoted, YAML reads it as {reads})"))
        };
        reported.replace_with("quote the value", quoted);
    }
}

/// Text in double quotes, as YAML and JSON both read it.
fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

impl Read for String {
    const EXPECTED: &'static str = "a string";

    fn read(node: &Node<'_>, path: &FieldPath, reader: &mut Reader<'_, '_>) -> Option<Self> {
        if let Value::String(text) = &node.value {
            Some(text.clone().into_owned())
        } else {
            wrong_type(node, path, Self::EXPECTED, reader);
            None
        }
    }
}

impl Read for bool {
    const EXPECTED: &'static str = "a boolean (true or false)";

    fn read(node: &Node<'_>, path: &FieldPath, reader: &mut Reader<'_, '_>) -> Option<Self> {
        if let Value::Bool(value) = node.value {
            Some(value)
        } else {
            wrong_type(node, path, Self::EXPECTED, reader);
            None
        }
    }
}

impl Read for i64 {
    const EXPECTED: &'static str = "an integer";

    fn read(node: &Node<'_>, path: &FieldPath, reader: &mut Reader<'_, '_>) -> Option<Self> {
        read_integer(node, path, Self::EXPECTED, reader)
    }
}

impl Read for i32 {
    const EXPECTED: &'static str = "an integer";

    fn read(node: &Node<'_>, path: &FieldPath, reader: &mut Reader<'_, '_>) -> Option<Self> {
        read_integer(node, path, Self::EXPECTED, reader)
    }
}

fn read_integer<T: TryFrom<i128>>(
    node: &Node<'_>,
    path: &FieldPath,
    expected: &str,
    reader: &mut Reader<'_, '_>,
) -> Option<T> {
    let Value::Integer(value) = node.value else {
        wrong_type(node, path, expected, reader);
        return None;
    };
    let read = T::try_from(value).ok();
    if read.is_none() {
        let bits = size_of::<T>() * 8;
        reader.findings.report(
            &codes::OUT_OF_RANGE,
            path,
            format!("{path} is {value}, expected an integer of {bits} bits"),
        );
    }
    read
}

/// A quantity as it was written: CRDs declare some as strings and some as integer-or-string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntegerOrString(pub String);

impl Read for IntegerOrString {
    const EXPECTED: &'static str = "a string or an integer";

    fn read(node: &Node<'_>, path: &FieldPath, reader: &mut Reader<'_, '_>) -> Option<Self> {
        match &node.value {
            Value::String(text) => Some(Self(text.clone().into_owned())),
            Value::Integer(value) => Some(Self(value.to_string())),
            _ => {
                wrong_type(node, path, Self::EXPECTED, reader);
                None
            }
        }
    }
}

/// A value of any shape, kept as it is; who knows its shape reads it later.
impl Read for Node<'static> {
    const EXPECTED: &'static str = "a value";

    fn read(node: &Node<'_>, _: &FieldPath, _: &mut Reader<'_, '_>) -> Option<Self> {
        Some(node.to_owned_node())
    }
}

impl<T: Read> Read for Vec<T> {
    const EXPECTED: &'static str = "a list";

    fn read(node: &Node<'_>, path: &FieldPath, reader: &mut Reader<'_, '_>) -> Option<Self> {
        let Value::Sequence(items) = &node.value else {
            wrong_type(node, path, Self::EXPECTED, reader);
            return None;
        };
        let read: Vec<Option<T>> =
            items.iter().enumerate().map(|(index, item)| T::read(item, &path.index(index), reader)).collect();
        read.into_iter().collect()
    }
}

/// A mapping with free keys, in the order in which it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Map<T>(pub Vec<(String, T)>);

impl<T> Default for Map<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Read> Read for Map<T> {
    const EXPECTED: &'static str = "a mapping";

    fn read(node: &Node<'_>, path: &FieldPath, reader: &mut Reader<'_, '_>) -> Option<Self> {
        let Value::Mapping(entries) = &node.value else {
            wrong_type(node, path, Self::EXPECTED, reader);
            return None;
        };
        let mut map = Vec::with_capacity(entries.len());
        let mut complete = true;
        for entry in entries {
            let key = entry.key.clone().into_owned();
            match T::read(&entry.node, &path.key(key.clone()), reader) {
                Some(value) => map.push((key, value)),
                None => complete = false,
            }
        }
        complete.then_some(Self(map))
    }
}

/// One of a fixed set of words.
pub trait Word: Sized + Copy + 'static {
    /// Every value with its word.
    const WORDS: &'static [(&'static str, Self)];
}

/// Reads a word.
pub fn read_word<T: Word>(node: &Node<'_>, path: &FieldPath, reader: &mut Reader<'_, '_>) -> Option<T> {
    let text = String::read(node, path, reader)?;
    let found = T::WORDS.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
    if found.is_none() {
        let words: Vec<&str> = T::WORDS.iter().map(|(word, _)| *word).collect();
        let message = format!("{path} is {:?}, expected one of {}", shorten(&text), words.join(", "));
        let reported = reader.findings.report(&codes::INVALID_VALUE, path, message);
        if let Some(word) = closest(&text, words.iter().copied()) {
            reported.help(format!("did you mean {word:?}?"));
        }
    }
    found
}

/// More fields than any of our objects has: beyond, who is meant by a misspelt one is nobody's guess, nor worth the time.
const MOST_FIELDS: usize = 64;

/// Whether just one key of a mapping may be meant to be `field`. Of two no machine can say which.
fn is_only_one_for(field: &str, node: &Node<'_>, known: &[&'static str]) -> bool {
    let entries = node.entries();
    let unknown = entries.iter().map(|entry| entry.key.as_ref()).filter(|key| !known.contains(key));
    entries.len() <= MOST_FIELDS
        && unknown.filter(|key| closest(key, known.iter().copied()) == Some(field)).count() == 1
}

/// Reports a field that does not exist, with what may have been meant; a rename is a fix unless that field is there too.
pub fn unknown_field(
    node: &Node<'_>,
    key: &str,
    path: &FieldPath,
    known: &[&'static str],
    reader: &mut Reader<'_, '_>,
) {
    if reader.patch && key.starts_with('$') {
        return;
    }
    if reader.findings.is_full() {
        // Looking for its place and for what was meant takes a look at every other key.
        reader.findings.report(reader.unknown_field, path, String::new());
        return;
    }
    let at = path.key(key.to_owned());
    let parent = if path.segments().is_empty() { String::new() } else { format!(" in {path}") };
    let renamed = reader.renamed_fields.iter().find(|(old, _)| path.segments().is_empty() && *old == key);
    let suggestion = renamed.map(|(_, new)| *new).or_else(|| closest(key, known.iter().copied()));
    let message = match renamed {
        Some((old, new)) => format!("field {old:?} has been renamed to {new:?}"),
        None => format!("unknown field {:?}{parent}", shorten(key)),
    };
    // A quoted key stays quoted: in JSON it must.
    let written = node.entry(key).map(|entry| entry.key_span).unwrap_or_default();
    let quoted = reader.findings.scope().text.get(written.start..written.end).is_some_and(|text| text.starts_with('"'));
    let reported = reader.findings.report(reader.unknown_field, FieldRef::key(&at), message);
    match suggestion {
        Some(field) if node.get(field).is_none() => {
            let help = if renamed.is_some() { format!("write {field:?}") } else { format!("did you mean {field:?}?") };
            let reported = reported.help(help);
            if renamed.is_some() || is_only_one_for(field, node, known) {
                let name = if quoted { quote(field) } else { field.to_owned() };
                reported.replace_with(format!("rename it to {field}"), name);
            }
        }
        Some(field) => {
            reported.help(format!("remove it: {field:?} is already set"));
        }
        None => {
            reported.help(format!("known fields: {}", known.join(", ")));
        }
    }
}
