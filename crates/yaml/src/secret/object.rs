//! Secrets in trees: objects and documents, whose values have names.

use std::borrow::Cow;

use super::mask;
use super::name::{is_named_secret, is_secret_value, name_strength};
use crate::field_path::{FieldPath, Segment};
use crate::{Node, Value};

/// Masks the secrets in an object, as [`mask`] does in its text. Variables and flags in lists are recognized by their
/// names.
pub fn mask_object(object: &mut serde_json::Value) {
    mask_named(object, "");
}

/// Masks the secrets in a value that was taken from a place in an object.
pub fn mask_at(object: &serde_json::Value, path: &FieldPath, mut value: serde_json::Value) -> serde_json::Value {
    let text_at = |path: &FieldPath| {
        let found = path.segments().iter().try_fold(object, |value, segment| match segment {
            Segment::Key(key) => value.get(key.as_ref()),
            Segment::Index(index) => value.get(index),
        });
        found?.as_str()
    };
    mask_named(&mut value, name_of(path, text_at).unwrap_or_default());
    value
}

/// Returns the text of a field if its name says that the text is a secret.
///
/// ```
/// use kubefoundry_yaml::{Limits, field_path::FieldPath, parse, secret::secret_at};
/// let document = "env:\n- name: DB_PASSWORD\n  value: 20241131\n- name: PORT\n  value: 8000\n";
/// let parsed = parse(document, &Limits::default());
/// let at = |path: &str| secret_at(&parsed.documents[0].root, document, &FieldPath::try_parse(path).unwrap());
/// assert_eq!(at("env[0].value").as_deref(), Some("20241131"));
/// assert_eq!(at("env[1].value"), None);
/// ```
pub fn secret_at(root: &Node<'_>, text: &str, path: &FieldPath) -> Option<String> {
    // Almost all names are of no secret, which costs less than to find the value.
    let strength = name_strength(name_of(path, |path| root.at(path)?.as_str())?)?;
    let node = root.at(path)?;
    let value = match &node.value {
        Value::String(value) => value.clone().into_owned(),
        Value::Sequence(_) | Value::Mapping(_) => return None,
        _ => text.get(node.span.start..node.span.end)?.to_owned(),
    };
    is_secret_value(strength, &value).then_some(value)
}

/// Returns the name that decides whether the value at a path is a secret: the key, the name of the variable, or the flag
/// before it in a list.
fn name_of<'t>(path: &'t FieldPath, text_at: impl Fn(&FieldPath) -> Option<&'t str>) -> Option<&'t str> {
    match path.segments().last()? {
        Segment::Key(key) if key == "value" => text_at(&path.parent().key("name")),
        Segment::Key(key) => Some(key.as_ref()),
        Segment::Index(index) => {
            text_at(&path.parent().index(index.checked_sub(1)?)).filter(|item| item.starts_with("--"))
        }
    }
}

fn mask_named(value: &mut serde_json::Value, name: &str) {
    use serde_json::Value;
    match value {
        Value::String(text) => {
            if let Cow::Owned(masked) = mask_value(name, text) {
                *text = masked;
            }
        }
        Value::Number(number) if is_named_secret(name, &number.to_string()) => *value = Value::from("****"),
        Value::Array(items) => {
            let mut name = name.to_owned();
            for item in items {
                let flag = item.as_str().filter(|text| text.starts_with("--") && !text.contains('='));
                let flag = flag.map(str::to_owned);
                mask_named(item, &name);
                name = flag.unwrap_or_default();
            }
        }
        Value::Object(fields) => {
            let variable = fields.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
            for (key, value) in fields {
                mask_named(value, if key == "value" { &variable } else { key });
            }
        }
        _ => {}
    }
}

/// Returns what a report shows for the value of a field, variable or flag: a mask if the name says that it is a secret.
pub(super) fn mask_value<'t>(name: &str, value: &'t str) -> Cow<'t, str> {
    if is_named_secret(name, value) {
        return Cow::Owned("****".to_owned());
    }
    mask(value)
}
