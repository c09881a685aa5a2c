//! The checks of the facets that fields declare ([`Facets`]). [`wire_object!`](crate::wire_object) makes the reader call
//! them, so that a facet is enforced wherever it is declared.

use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::{Node, Value};

use super::{Checked, Checker};
use crate::wire::{Facet, Facets, ObjectShape, Reader, Syntax};
use crate::{codes, image, labels, names};

/// Checks a value against the facets that are the reader's to check. Returns whether the value should be read: one that is
/// out of bounds should not, so that no later check reports it again. A text of a wrong form is read all the same.
///
/// A value of another type than its field's has no facets; reading it reports the type.
#[must_use]
pub fn check_value(facets: &Facets, node: &Node<'_>, path: &FieldPath, reader: &mut Reader<'_, '_>) -> bool {
    match &node.value {
        Value::Integer(number) => {
            if facets.is_read(Facet::Syntax)
                && let Some(syntax) = facets.syntax
            {
                check_syntax(syntax, &number.to_string(), path, reader);
            }
            check_number(facets, *number, path, reader)
        }
        Value::String(text) if !text.is_empty() => check_text(facets, text, path, reader),
        Value::Sequence(items) => check_list(facets, items, path, reader),
        Value::Mapping(entries) => {
            let max = facets.max_entries.filter(|_| facets.is_read(Facet::MaxEntries));
            check_count(entries.len(), max, "entries", path, reader)
        }
        _ => true,
    }
}

/// Reports the required fields that a mapping does not have, or has as an empty text. A patch is a part of an object and
/// need not have them.
pub fn check_required(object: &ObjectShape, node: &Node<'_>, path: &FieldPath, reader: &mut Reader<'_, '_>) {
    if reader.patch {
        return;
    }
    for field in object.fields.iter().filter(|field| field.facets.is_read(Facet::Required)) {
        let is_missing = node.get(field.key).is_none_or(|value| match &value.value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            _ => false,
        });
        if is_missing {
            Checker { api_group: None, findings: reader.findings }.required(&path.key(field.key));
        }
    }
}

fn check_number(facets: &Facets, number: i128, path: &FieldPath, reader: &mut Reader<'_, '_>) -> bool {
    let minimum = facets.minimum.filter(|_| facets.is_read(Facet::Minimum));
    let maximum = facets.maximum.filter(|_| facets.is_read(Facet::Maximum));
    let expected = match (minimum, maximum) {
        (Some(least), _) if number < i128::from(least) => format!("at least {least}"),
        (_, Some(most)) if number > i128::from(most) => format!("at most {most}"),
        _ => return true,
    };
    let message = format!("{path} is {number}, expected {expected}");
    let reported = reader.findings.report(&codes::OUT_OF_RANGE, path, message);
    if let (Some(least), Some(most)) = (facets.minimum, facets.maximum) {
        reported.help(format!("write a number from {least} to {most}"));
    }
    false
}

fn check_text(facets: &Facets, text: &str, path: &FieldPath, reader: &mut Reader<'_, '_>) -> bool {
    if facets.is_read(Facet::Words)
        && let Some(words) = facets.words
    {
        Checker { api_group: None, findings: reader.findings }.word(&codes::INVALID_VALUE, path, text, words);
    }
    if facets.is_read(Facet::Syntax)
        && let Some(syntax) = facets.syntax
        && !check_syntax(syntax, text, path, reader)
    {
        return true;
    }
    let max = facets.max_text_length().filter(|_| facets.is_read(Facet::MaxLength));
    // A text has at most as many characters as bytes.
    let length = if max.is_some_and(|max| text.len() > max) { text.chars().count() } else { text.len() };
    check_count(length, max, "characters", path, reader)
}

fn check_list(facets: &Facets, items: &[Node<'_>], path: &FieldPath, reader: &mut Reader<'_, '_>) -> bool {
    let max = facets.max_items.filter(|_| facets.is_read(Facet::MaxItems));
    if !check_count(items.len(), max, "entries", path, reader) {
        return false;
    }
    if facets.is_read(Facet::ListKey)
        && let Some(key) = facets.list_key
    {
        let keys: Vec<&str> =
            items.iter().map(|item| item.get(key).and_then(Node::as_str).unwrap_or_default()).collect();
        Checker { api_group: None, findings: reader.findings }.unique(path, key, &keys);
    }
    true
}

fn check_count(count: usize, max: Option<usize>, what: &str, path: &FieldPath, reader: &mut Reader<'_, '_>) -> bool {
    let Some(max) = max.filter(|max| count > *max) else { return true };
    let message = format!("{path} has {count} {what}, expected at most {max}");
    reader.findings.report(&codes::OUT_OF_RANGE, path, message).help(format!("remove {} of them", count - max));
    false
}

/// Checks the form of a text and reports a wrong one. Returns whether it is right.
fn check_syntax(syntax: Syntax, text: &str, path: &FieldPath, reader: &mut Reader<'_, '_>) -> bool {
    let mut check = Checker { api_group: None, findings: reader.findings };
    match syntax {
        Syntax::DnsLabel => return check.name(path, text, names::dns_1123_label),
        Syntax::DnsSubdomain => return check.name(path, text, names::dns_1123_subdomain),
        Syntax::Quantity => return check.quantity(path, text),
        Syntax::EnvironmentVariable => return check.environment_variable(path, text),
        _ => {}
    }
    let (code, checked) = match syntax {
        Syntax::ExtendedResource => (&codes::INVALID_NAME, labels::extended_resource(text)),
        Syntax::Image => (&codes::INVALID_IMAGE, image::image_reference(text)),
        Syntax::ConfigKey => (&codes::INVALID_NAME, names::config_key(text)),
        Syntax::LabelKey => (&codes::INVALID_LABEL, labels::label_key(text)),
        Syntax::InstanceType => (&codes::INVALID_VALUE, instance_type(text)),
        Syntax::Version => (&codes::INVALID_VALUE, version(text)),
        Syntax::DnsLabel | Syntax::DnsSubdomain | Syntax::Quantity | Syntax::EnvironmentVariable => return true,
    };
    check.expect(code, path, text, checked)
}

/// An instance type becomes the value of a label on nodes.
fn instance_type(text: &str) -> Checked {
    labels::label_value(text).map_err(|_| "an instance type such as g5.4xlarge")
}

/// Three numbers of at most four digits, without leading zeros.
fn version(text: &str) -> Checked {
    let is_number = |part: &str| {
        (1..=4).contains(&part.len())
            && part.bytes().all(|byte| byte.is_ascii_digit())
            && (part == "0" || !part.starts_with('0'))
    };
    let fits = text.split('.').count() == 3 && text.split('.').all(is_number);
    if fits { Ok(()) } else { Err("MAJOR.MINOR.PATCH such as 1.4.0") }
}
