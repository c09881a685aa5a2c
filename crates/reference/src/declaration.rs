//! Phrases about the declaration of a field: its type, its default and its constraints.

use kubefoundry_kubernetes::wire::{Facet, FieldShape, Shape, Syntax};

/// Returns the type of a value as `kubectl explain` writes it: `[]EnvVar`, `map[string]string`.
pub fn type_name(shape: &Shape) -> String {
    match shape {
        Shape::Any => "any".to_owned(),
        Shape::String | Shape::Enum(_) => "string".to_owned(),
        Shape::Timestamp => "date-time".to_owned(),
        Shape::Boolean => "boolean".to_owned(),
        Shape::Integer(_) => "integer".to_owned(),
        Shape::IntegerOrString => "integer or string".to_owned(),
        Shape::Literal(json) => (*json).to_owned(),
        Shape::List(item) => format!("[]{}", type_name(item)),
        Shape::Map(value) => format!("map[string]{}", type_name(value)),
        Shape::Object(object) => object.name.to_owned(),
        Shape::OneOf(shapes) => shapes.iter().map(type_name).collect::<Vec<_>>().join(" or "),
    }
}

/// Lists the constraints that a field declares on its value, as phrases; empty when it declares none.
pub fn describe_constraints(field: &FieldShape) -> Vec<String> {
    let facets = &field.facets;
    let mut constraints = Vec::new();
    if facets.required {
        constraints.push("required".to_owned());
    }
    if let Some(default) = facets.default {
        constraints.push(format!("default {}", default.trim_matches('"')));
    }
    match (facets.minimum, facets.maximum) {
        (Some(minimum), Some(maximum)) => constraints.push(format!("from {minimum} to {maximum}")),
        (Some(minimum), None) => constraints.push(format!("at least {minimum}")),
        (None, Some(maximum)) => constraints.push(format!("at most {maximum}")),
        (None, None) => {}
    }
    constraints.extend(facets.syntax.map(|syntax| syntax_name(syntax).to_owned()));
    if let Shape::Enum(words) = field.full_shape() {
        let words: Vec<&str> = words.values.iter().map(|(word, _)| *word).collect();
        constraints.push(format!("one of {}", words.join(", ")));
    }
    constraints.extend(facets.allowed_values.map(|words| format!("one of {}", words.join(", "))));
    constraints.extend(facets.max_length.map(|max| format!("at most {max} characters")));
    constraints.extend(facets.max_items.or(facets.max_entries).map(|max| format!("at most {max} entries")));
    constraints.extend(facets.list_key.map(|key| format!("{key} is unique")));
    let mut codes: Vec<&str> =
        Facet::ALL.iter().filter_map(|facet| facets.checking_code(*facet)).map(|code| code.id).collect();
    codes.sort_unstable();
    codes.dedup();
    if !codes.is_empty() {
        constraints.push(format!("checked by {}", codes.join(", ")));
    }
    constraints
}

fn syntax_name(syntax: Syntax) -> &'static str {
    match syntax {
        Syntax::DnsLabel => "a DNS label",
        Syntax::DnsSubdomain => "a DNS subdomain",
        Syntax::Quantity => "a quantity above zero",
        Syntax::ExtendedResource => "an extended resource",
        Syntax::Image => "a container image",
        Syntax::EnvironmentVariable => "the name of an environment variable",
        Syntax::ConfigKey => "a key of a ConfigMap or a Secret",
        Syntax::LabelKey => "the key of a label",
        Syntax::InstanceType => "an instance type",
        Syntax::Version => "MAJOR.MINOR.PATCH",
    }
}

/// Describes the default of a field: the one that is declared, or else the one that its documentation names.
pub fn describe_default(field: &FieldShape) -> String {
    if let Some(default) = field.facets.default {
        return default.trim_matches('"').to_owned();
    }
    if field.facets.required {
        return "none: the field is required".to_owned();
    }
    let doc = field.doc.split_whitespace().collect::<Vec<_>>().join(" ");
    let named: Vec<&str> = doc.split_inclusive(". ").filter_map(|sentence| named_default(sentence.trim())).collect();
    if named.is_empty() { "none".to_owned() } else { named.join(" ") }
}

/// Returns the default that a sentence names: `the last part of its id` of `…, by default the last part of its id.`, and
/// `1` of `…, 1 by default.`. Another sentence about the default, or about an absent field, is returned as a whole.
fn named_default(sentence: &str) -> Option<&str> {
    const AFTER: [&str; 2] = ["by default ", "By default "];
    let plain = sentence.trim_end_matches('.');
    if let Some((_, default)) = AFTER.iter().find_map(|words| plain.split_once(words)) {
        return Some(default);
    }
    if let Some((value, "")) = plain.split_once(" by default") {
        // What is before the comma is about the field.
        return Some(value.rsplit_once(", ").map_or(value, |(_, default)| default));
    }
    (sentence.starts_with("Without ") || sentence.contains("default")).then_some(sentence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_is_named_by_the_documentation() {
        for (sentence, default) in [
            ("The name, by default the last part of `id`.", Some("the last part of `id`")),
            ("By default the model's own limit.", Some("the model's own limit")),
            ("The number of replicas, 1 by default.", Some("1")),
            ("`ReadWriteOnce` by default.", Some("`ReadWriteOnce`")),
            ("Without it, the engine decides.", Some("Without it, the engine decides.")),
            ("Off by default, as in KAITO.", Some("Off by default, as in KAITO.")),
            ("The name of the volume.", None),
        ] {
            assert_eq!(named_default(sentence), default, "{sentence}");
        }
    }
}
