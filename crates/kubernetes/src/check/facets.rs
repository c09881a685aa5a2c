//! Checks of the facets that fields declare ([`Facets`]). The reader that [`wire_object!`](crate::wire_object)
//! generates calls them, so every declared facet is enforced.

use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::{Node, Value};

use super::Checker;
use crate::syntax_result::SyntaxResult;
use crate::wire::{Facet, Facets, ObjectShape, Reader, Syntax};
use crate::{codes, image, labels, names};

/// Checks a value against the facets that the reader checks itself. Returns whether the value should be read. A value
/// that is out of bounds is not read, so that no later check reports it again. A text with invalid syntax is still
/// read.
///
/// A value of the wrong type passes here, because reading it reports the type.
#[must_use]
pub fn check_value(facets: &Facets, node: &Node<'_>, path: &FieldPath, reader: &mut Reader<'_, '_>) -> bool {
    match &node.value {
        Value::Integer(number) => {
            if facets.is_checked_by_reader(Facet::Syntax)
                && let Some(syntax) = facets.syntax
            {
                check_syntax(syntax, &number.to_string(), path, reader);
            }
            check_number(facets, *number, path, reader)
        }
        Value::String(text) if !text.is_empty() => check_text(facets, text, path, reader),
        Value::Sequence(items) => check_list(facets, items, path, reader),
        Value::Mapping(entries) => {
            let max = facets.max_entries.filter(|_| facets.is_checked_by_reader(Facet::MaxEntries));
            check_count(entries.len(), max, "entries", path, reader)
        }
        _ => true,
    }
}

/// Reports required fields that are absent from a mapping or are an empty text. Patches are exempt, because they
/// contain only a part of an object.
pub fn check_required(object: &ObjectShape, node: &Node<'_>, path: &FieldPath, reader: &mut Reader<'_, '_>) {
    if reader.is_patch {
        return;
    }
    for field in object.fields.iter().filter(|field| field.facets.is_checked_by_reader(Facet::Required)) {
        let is_missing = node.get(field.key).is_none_or(|value| match &value.value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            _ => false,
        });
        if is_missing {
            Checker { api_group: None, findings: reader.findings }.report_missing(&path.key(field.key));
        }
    }
}

fn check_number(facets: &Facets, number: i128, path: &FieldPath, reader: &mut Reader<'_, '_>) -> bool {
    let minimum = facets.minimum.filter(|_| facets.is_checked_by_reader(Facet::Minimum));
    let maximum = facets.maximum.filter(|_| facets.is_checked_by_reader(Facet::Maximum));
    let expected = match (minimum, maximum) {
        (Some(min), _) if number < i128::from(min) => format!("at least {min}"),
        (_, Some(max)) if number > i128::from(max) => format!("at most {max}"),
        _ => return true,
    };
    let message = format!("{path} is {number}, expected {expected}");
    let reported = reader.findings.report(&codes::OUT_OF_RANGE, path, message);
    if let (Some(min), Some(max)) = (facets.minimum, facets.maximum) {
        reported.help(format!("write a number from {min} to {max}"));
    }
    false
}

fn check_text(facets: &Facets, text: &str, path: &FieldPath, reader: &mut Reader<'_, '_>) -> bool {
    if facets.is_checked_by_reader(Facet::AllowedValues)
        && let Some(values) = facets.allowed_values
    {
        Checker { api_group: None, findings: reader.findings }.check_allowed_value(
            &codes::INVALID_VALUE,
            path,
            text,
            values,
        );
    }
    if facets.is_checked_by_reader(Facet::Syntax)
        && let Some(syntax) = facets.syntax
        && !check_syntax(syntax, text, path, reader)
    {
        return true;
    }
    let max = facets.max_text_length().filter(|_| facets.is_checked_by_reader(Facet::MaxLength));
    // A text never has more characters than bytes, so most texts need not be counted.
    let length = if max.is_some_and(|max| text.len() > max) { text.chars().count() } else { text.len() };
    check_count(length, max, "characters", path, reader)
}

fn check_list(facets: &Facets, items: &[Node<'_>], path: &FieldPath, reader: &mut Reader<'_, '_>) -> bool {
    let max = facets.max_items.filter(|_| facets.is_checked_by_reader(Facet::MaxItems));
    if !check_count(items.len(), max, "entries", path, reader) {
        return false;
    }
    if facets.is_checked_by_reader(Facet::ListKey)
        && let Some(key) = facets.list_key
    {
        let keys: Vec<&str> =
            items.iter().map(|item| item.get(key).and_then(Node::as_str).unwrap_or_default()).collect();
        Checker { api_group: None, findings: reader.findings }.check_unique(path, key, &keys);
    }
    true
}

fn check_count(count: usize, max: Option<usize>, unit: &str, path: &FieldPath, reader: &mut Reader<'_, '_>) -> bool {
    let Some(max) = max.filter(|max| count > *max) else { return true };
    let message = format!("{path} has {count} {unit}, expected at most {max}");
    reader.findings.report(&codes::OUT_OF_RANGE, path, message).help(format!("remove {} of them", count - max));
    false
}

/// Reports a text with invalid syntax. Returns whether it is valid.
fn check_syntax(syntax: Syntax, text: &str, path: &FieldPath, reader: &mut Reader<'_, '_>) -> bool {
    let mut check = Checker { api_group: None, findings: reader.findings };
    match syntax {
        Syntax::DnsLabel => return check.check_name(path, text, names::dns_1123_label),
        Syntax::DnsSubdomain => return check.check_name(path, text, names::dns_1123_subdomain),
        Syntax::Quantity => return check.check_quantity(path, text),
        Syntax::EnvironmentVariable => return check.check_environment_variable(path, text),
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
    check.check_syntax(code, path, text, checked)
}

/// Checks an instance type. It must be a label value because cloud providers label nodes with it.
fn instance_type(text: &str) -> SyntaxResult {
    labels::label_value(text).map_err(|_| "an instance type such as g5.4xlarge")
}

/// Checks a version of three numbers with at most four digits each and without leading zeros.
fn version(text: &str) -> SyntaxResult {
    let is_number = |part: &str| {
        (1..=4).contains(&part.len())
            && part.bytes().all(|byte| byte.is_ascii_digit())
            && (part == "0" || !part.starts_with('0'))
    };
    let fits = text.split('.').count() == 3 && text.split('.').all(is_number);
    if fits { Ok(()) } else { Err("MAJOR.MINOR.PATCH such as 1.4.0") }
}
