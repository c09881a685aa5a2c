//! Integers that 64 bits cannot hold. Reading makes floats of them, as `sigs.k8s.io/yaml` does, so their last digits are
//! lost.

use crate::field_path::FieldPath;
use crate::{Node, Span, Value};

/// An integer that 64 bits cannot hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WideInteger<'t> {
    /// The path of the value.
    pub path: FieldPath,
    /// The bytes of the value.
    pub span: Span,
    /// The value as it is written.
    pub text: &'t str,
}

/// Returns the integers below a node at `path`, which was read from `text`, that 64 bits cannot hold.
///
/// ```
/// use kubefoundry_yaml::field_path::FieldPath;
/// use kubefoundry_yaml::{Limits, parse, wide_integers};
/// let text = "{seed: 18446744073709551616, most: 18446744073709551615, scale: 1e30}";
/// let found = wide_integers(&parse(text, &Limits::default()).documents[0].root, &FieldPath::root(), text);
/// assert_eq!(found.len(), 1);
/// assert_eq!((found[0].path.to_string().as_str(), found[0].text), ("seed", "18446744073709551616"));
/// ```
pub fn wide_integers<'t>(node: &Node<'_>, path: &FieldPath, text: &'t str) -> Vec<WideInteger<'t>> {
    let mut found = Vec::new();
    collect(node, text, path, &mut found);
    found
}

fn collect<'t>(node: &Node<'_>, text: &'t str, path: &FieldPath, found: &mut Vec<WideInteger<'t>>) {
    match &node.value {
        Value::Float(_) => {
            let written = node.span.of(text);
            let digits = written.strip_prefix(['-', '+']).unwrap_or(written);
            if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_') {
                found.push(WideInteger { path: path.clone(), span: node.span, text: written });
            }
        }
        Value::Sequence(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(item, text, &path.index(index), found);
            }
        }
        Value::Mapping(entries) => {
            for entry in entries {
                collect(&entry.node, text, &path.key(entry.key.clone().into_owned()), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Integer(_) | Value::String(_) => {}
    }
}
