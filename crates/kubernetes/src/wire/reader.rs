//! Reading a [`Node`] tree into wire types. The reader is strict, and it reports all errors of a document rather than
//! the first.
//!
//! A wire type is as close to the YAML as possible: every field is optional and no default is applied. `null` means
//! absent, as for the API server.

use super::facets::Facets;
use crate::api_group::{self, ApiGroup};
use crate::codes;
use kubefoundry_diagnostics::{Code, FieldRef, Findings};
use kubefoundry_yaml::field_path::{FieldPath, Segment};
use kubefoundry_yaml::text::{closest, is_same_word, one_of, shorten};
use kubefoundry_yaml::{Node, Value};

/// The context in which a value is read.
#[derive(Debug)]
pub struct Reader<'r, 'd> {
    /// The findings of the document.
    pub findings: &'r mut Findings<'d>,
    /// The code for an unknown field: an error in input kinds, a warning in provider overrides.
    pub unknown_field_code: &'static Code,
    /// Whether the value is a patch, which may contain directives such as `$patch: delete` and lack required fields.
    pub is_patch: bool,
    /// The API group of the object, if groups differ in the fields of its kind.
    pub api_group: Option<&'static ApiGroup>,
    /// Pairs of the old and the new name of renamed fields of the outermost object. The old name is an error that names
    /// the new one.
    pub renamed_fields: &'static [(&'static str, &'static str)],
    /// The system that merges an unknown field into the provider's object, for messages. Empty if none does.
    pub merged_by: &'static str,
    /// Fields of a mapping that other code merges into the provider's object, with the path of the mapping.
    pub merged_elsewhere: Option<(FieldPath, &'static [&'static str])>,
}

impl<'r, 'd> Reader<'r, 'd> {
    /// Creates a reader for which unknown fields are errors.
    pub fn strict(findings: &'r mut Findings<'d>) -> Self {
        Self {
            findings,
            unknown_field_code: &codes::UNKNOWN_FIELD,
            is_patch: false,
            api_group: None,
            renamed_fields: &[],
            merged_by: "",
            merged_elsewhere: None,
        }
    }

    /// Returns whether other code merges a field into the provider's object, or a field around it.
    fn is_merged_elsewhere(&self, path: &FieldPath) -> bool {
        let is_merged = |(mapping, keys): &(FieldPath, &[&str])| {
            let key = path.segments().get(mapping.segments().len()).and_then(Segment::as_key);
            path.starts_with(mapping) && key.is_some_and(|key| keys.contains(&key))
        };
        self.merged_elsewhere.as_ref().is_some_and(is_merged)
    }

    /// Creates a strict reader for a patch: a part of an object, with the directives of a strategic merge.
    pub fn for_patch(findings: &'r mut Findings<'d>) -> Self {
        Self { is_patch: true, ..Self::strict(findings) }
    }

    /// Sets the API group of the object. Fields that do not exist in the group are reported.
    #[must_use]
    pub fn in_group(self, api_group: &'static ApiGroup) -> Self {
        Self { api_group: Some(api_group), ..self }
    }

    /// Creates a reader for provider overrides. Unknown ones are warnings, or errors where the group's system would
    /// merge them into the provider's object.
    pub fn for_overrides(findings: &'r mut Findings<'d>, api_group: &'static ApiGroup) -> Self {
        let reader = Self::strict(findings).in_group(api_group);
        match api_group.overrides_merged_by {
            Some(system) => Self { unknown_field_code: &codes::DROPPED_OVERRIDE, merged_by: system, ..reader },
            None => Self { unknown_field_code: &codes::UNKNOWN_OVERRIDE, ..reader },
        }
    }
}

/// Reports a field that does not exist in the API group of the object. The caller still reads its value, so that other
/// errors in it are found in the same run.
pub fn report_field_outside_group(facets: &Facets, path: &FieldPath, reader: &mut Reader<'_, '_>) {
    let Some(api_group) = reader.api_group.filter(|api_group| facets.not_in.contains(&api_group.name)) else { return };
    if reader.is_merged_elsewhere(path) {
        return;
    }
    let group = api_group.name;
    if let (false, Some(key)) = (reader.merged_by.is_empty(), path.segments().last().and_then(Segment::as_key)) {
        let message = merged_field_message(key, &path.parent(), reader.merged_by);
        reader.findings.report(reader.unknown_field_code, FieldRef::key(path), message).help("remove it");
        return;
    }
    let message = format!("{group} has no field {path}, so the API server drops it");
    reader
        .findings
        .report(&codes::UNKNOWN_FIELD, FieldRef::key(path), message)
        .help(format!("remove it, or use the API group {}", api_group::DEFAULT.name));
}

/// A type that can be read from a YAML tree.
pub trait Read: Sized {
    /// The expected type, for messages: `a string`.
    const EXPECTED: &'static str;

    /// Reads the value at `path`. Returns `None` after reporting the reason.
    fn read(node: &Node<'_>, path: &FieldPath, reader: &mut Reader<'_, '_>) -> Option<Self>;
}

/// A correction of a value of the wrong type that keeps its meaning.
struct Correction {
    /// The title of the fix.
    title: &'static str,
    help: String,
    /// The text that replaces the value, if exactly one is right.
    replacement: Option<String>,
}

/// Reports a value of the wrong type. If a string is expected, it offers to quote the value as it is written.
pub fn report_wrong_type(node: &Node<'_>, path: &FieldPath, expected: &str, reader: &mut Reader<'_, '_>) {
    let text = source_text(node, reader);
    let is_quotable = expected == String::EXPECTED && is_scalar(node) && !text.is_empty() && node.value != Value::Null;
    let correction = is_quotable.then(|| quote_text(text, node));
    report_mistyped(node, path, expected, correction, reader);
}

/// Reports a value of the wrong type, and offers a correction if there is one.
fn report_mistyped(
    node: &Node<'_>,
    path: &FieldPath,
    expected: &str,
    correction: Option<Correction>,
    reader: &mut Reader<'_, '_>,
) {
    let text = source_text(node, reader);
    let found = match &node.value {
        Value::String(value) => format!("{} ({:?})", node.describe(), shorten(value)),
        _ if is_scalar(node) && !text.is_empty() => format!("{} ({})", node.describe(), shorten(text)),
        _ => node.describe().to_owned(),
    };
    let is_alias = text.starts_with('*');
    let reported = reader.findings.report(&codes::WRONG_TYPE, path, format!("{path} is {found}, expected {expected}"));
    let Some(Correction { title, help, replacement }) = correction else { return };
    match replacement {
        Some(_) if is_alias => {
            let quotes = if expected == String::EXPECTED { "in quotes" } else { "without quotes" };
            reported.help(format!("write the value here, {quotes}: the alias stands for {}", node.describe()));
        }
        Some(replacement) => {
            reported.help(help).replace_with(title, replacement);
        }
        None => {
            reported.help(help);
        }
    }
}

/// Returns the text of a value in the source.
fn source_text<'d>(node: &Node<'_>, reader: &Reader<'_, 'd>) -> &'d str {
    node.span.of(reader.findings.scope().text)
}

fn is_scalar(node: &Node<'_>) -> bool {
    !matches!(node.value, Value::Sequence(_) | Value::Mapping(_))
}

/// Returns a text in double quotes, in the syntax that YAML and JSON share.
fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Quotes a value as it is written.
fn quote_text(text: &str, node: &Node<'_>) -> Correction {
    let quoted = quote(text);
    let help = format!("quote it: {quoted} (unquoted, YAML reads it as {})", node.describe());
    Correction { title: "quote the value", help, replacement: Some(quoted) }
}

impl Read for String {
    const EXPECTED: &'static str = "a string";

    fn read(node: &Node<'_>, path: &FieldPath, reader: &mut Reader<'_, '_>) -> Option<Self> {
        if let Value::String(text) = &node.value {
            Some(text.clone().into_owned())
        } else {
            report_wrong_type(node, path, Self::EXPECTED, reader);
            None
        }
    }
}

/// An argument of a program. Unlike for other text, the value counts and not how it is spelled: a program reads neither
/// `on` nor `0x10` as YAML does, so a fix writes what YAML reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument(pub String);

impl Read for Argument {
    const EXPECTED: &'static str = String::EXPECTED;

    fn read(node: &Node<'_>, path: &FieldPath, reader: &mut Reader<'_, '_>) -> Option<Self> {
        if let Value::String(text) = &node.value {
            return Some(Self(text.clone().into_owned()));
        }
        let correction = is_scalar(node).then(|| quote_argument(node, source_text(node, reader)));
        report_mistyped(node, path, Self::EXPECTED, correction, reader);
        None
    }
}

/// Quotes an argument so that programs read the same value as YAML. There is no replacement for a number in a spelling
/// that only YAML reads, such as `1_0.5`.
fn quote_argument(node: &Node<'_>, text: &str) -> Correction {
    let value = match &node.value {
        Value::Bool(value) => Some(value.to_string()),
        Value::Integer(value) => Some(value.to_string()),
        Value::Float(value) => {
            let is_same = text.parse().is_ok_and(|read: f64| read.to_bits() == value.to_bits());
            is_same.then(|| text.to_owned())
        }
        _ => None,
    };
    match value {
        Some(value) if value == text => quote_text(text, node),
        Some(value) => {
            let quoted = quote(&value);
            let help = format!("write {quoted}: that is how YAML reads {}", shorten(text));
            Correction { title: "write the value that YAML reads, in quotes", help, replacement: Some(quoted) }
        }
        None => {
            let help = "write the value in quotes, as the program should read it".to_owned();
            Correction { title: "", help, replacement: None }
        }
    }
}

/// Removes the quotes of a value that has the expected type without them.
fn unquote(text: &str, expected: &str) -> Correction {
    let help = format!("remove the quotes: with them, YAML reads a string and not {expected}");
    Correction { title: "remove the quotes", help, replacement: Some(text.to_owned()) }
}

impl Read for bool {
    const EXPECTED: &'static str = "a boolean (true or false)";

    fn read(node: &Node<'_>, path: &FieldPath, reader: &mut Reader<'_, '_>) -> Option<Self> {
        if let Value::Bool(value) = node.value {
            return Some(value);
        }
        let quoted = node.as_str().filter(|text| matches!(*text, "true" | "false"));
        let correction = quoted.map(|text| unquote(text, "a boolean"));
        report_mistyped(node, path, Self::EXPECTED, correction, reader);
        None
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
        let is_canonical =
            |text: &&str| text.parse().is_ok_and(|n: i128| n.to_string() == *text && T::try_from(n).is_ok());
        let correction = node.as_str().filter(is_canonical).map(|text| unquote(text, expected));
        report_mistyped(node, path, expected, correction, reader);
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

/// A string, or an integer that is kept as a string. CRDs declare some quantities as strings and some as
/// integer-or-string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntegerOrString(pub String);

impl Read for IntegerOrString {
    const EXPECTED: &'static str = "a string or an integer";

    fn read(node: &Node<'_>, path: &FieldPath, reader: &mut Reader<'_, '_>) -> Option<Self> {
        match &node.value {
            Value::String(text) => Some(Self(text.clone().into_owned())),
            Value::Integer(value) => Some(Self(value.to_string())),
            _ => {
                report_wrong_type(node, path, Self::EXPECTED, reader);
                None
            }
        }
    }
}

/// A value of any shape. Code that knows its shape reads it later.
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
            report_wrong_type(node, path, Self::EXPECTED, reader);
            return None;
        };
        let read: Vec<Option<T>> =
            items.iter().enumerate().map(|(index, item)| T::read(item, &path.index(index), reader)).collect();
        read.into_iter().collect()
    }
}

/// A mapping with arbitrary keys, in the order of the document.
#[derive(Debug, Clone, PartialEq)]
pub struct Map<T>(pub Vec<(String, T)>);

impl<T> Default for Map<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// A value of a mapping, or `null`, which removes a value that is set elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nullable<T>(pub Option<T>);

impl<T: Read> Read for Nullable<T> {
    const EXPECTED: &'static str = T::EXPECTED;

    fn read(node: &Node<'_>, path: &FieldPath, reader: &mut Reader<'_, '_>) -> Option<Self> {
        if node.value == Value::Null {
            return Some(Self(None));
        }
        T::read(node, path, reader).map(|value| Self(Some(value)))
    }
}

impl<T: Read> Read for Map<T> {
    const EXPECTED: &'static str = "a mapping";

    fn read(node: &Node<'_>, path: &FieldPath, reader: &mut Reader<'_, '_>) -> Option<Self> {
        let Value::Mapping(entries) = &node.value else {
            report_wrong_type(node, path, Self::EXPECTED, reader);
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

/// An enum that is a string in YAML, declared by [`string_enum!`](crate::string_enum).
pub trait StringEnum: Sized + Copy + 'static {
    /// Every string with its variant.
    const VARIANTS: &'static [(&'static str, Self)];
}

/// Reads a string enum.
pub fn read_string_enum<T: StringEnum>(node: &Node<'_>, path: &FieldPath, reader: &mut Reader<'_, '_>) -> Option<T> {
    let text = String::read(node, path, reader)?;
    let variant = T::VARIANTS.iter().find(|(name, _)| *name == text).map(|(_, variant)| *variant);
    if variant.is_none() {
        let names: Vec<&str> = T::VARIANTS.iter().map(|(name, _)| *name).collect();
        let message = format!("{path} is {:?}, expected {}", shorten(&text), one_of(&names));
        let reported = reader.findings.report(&codes::INVALID_VALUE, path, message);
        if let Some(name) = closest(&text, names.iter().copied()) {
            let reported = reported.help(format!("did you mean {name:?}?"));
            // A value that differs only in case and punctuation has one meaning: `llama.cpp`, `VLLM`.
            if is_same_word(&text, name) {
                reported.replace_with(format!("change it to {name}"), name);
            }
        }
    }
    variant
}

/// Maximum number of fields of a mapping in which a misspelled key gets a fix. Every supported object has fewer. The
/// limit bounds the work on a hostile mapping, because each unknown key is compared with all others.
const MAX_FIELDS_FOR_FIX: usize = 64;

/// Returns whether exactly one unknown key of a mapping looks like `field`. With two, a fix would have to guess.
fn is_only_candidate(field: &str, node: &Node<'_>, known: &[&'static str]) -> bool {
    let entries = node.entries();
    let unknown = entries.iter().map(|entry| entry.key.as_ref()).filter(|key| !known.contains(key));
    entries.len() <= MAX_FIELDS_FOR_FIX
        && unknown.filter(|key| closest(key, known.iter().copied()) == Some(field)).count() == 1
}

/// Describes an override that another system would merge into the provider's object.
fn merged_field_message(key: &str, parent: &FieldPath, merged_by: &str) -> String {
    let parent = if parent.segments().is_empty() { String::new() } else { format!(" in {parent}") };
    let key = shorten(key);
    format!(
        "unknown field {key:?}{parent}: {merged_by} merges it into the provider's object, and kubefoundry would drop it"
    )
}

/// Reports an unknown field and suggests a known one. The rename is also a fix, unless the suggested field is present
/// too.
pub fn report_unknown_field(
    node: &Node<'_>,
    key: &str,
    path: &FieldPath,
    known: &[&'static str],
    reader: &mut Reader<'_, '_>,
) {
    if reader.is_patch && key.starts_with('$') || reader.is_merged_elsewhere(&path.key(key.to_owned())) {
        return;
    }
    if reader.findings.is_full() {
        // The finding is only counted. Searching for a suggestion would compare the key with all others.
        reader.findings.report(reader.unknown_field_code, path, String::new());
        return;
    }
    let at = path.key(key.to_owned());
    let parent = if path.segments().is_empty() { String::new() } else { format!(" in {path}") };
    let renamed = reader.renamed_fields.iter().find(|(old, _)| path.segments().is_empty() && *old == key);
    let suggestion = renamed.map(|(_, new)| *new).or_else(|| closest(key, known.iter().copied()));
    let message = match renamed {
        Some((old, new)) => format!("field {old:?} has been renamed to {new:?}"),
        None if !reader.merged_by.is_empty() => merged_field_message(key, path, reader.merged_by),
        None => format!("unknown field {:?}{parent}", shorten(key)),
    };
    // A quoted key stays quoted, which JSON requires.
    let text = reader.findings.scope().text;
    let is_quoted = node.entry(key).is_some_and(|entry| entry.key_span.of(text).starts_with('"'));
    let reported = reader.findings.report(reader.unknown_field_code, FieldRef::key(&at), message);
    match suggestion {
        Some(field) if node.get(field).is_none() => {
            let help =
                if renamed.is_some() { format!("rename it to {field}") } else { format!("did you mean {field:?}?") };
            let reported = reported.help(help).means(path.key(field));
            if renamed.is_some() || is_only_candidate(field, node, known) {
                let name = if is_quoted { quote(field) } else { field.to_owned() };
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
