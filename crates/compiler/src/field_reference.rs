//! The field reference: a description of each field of kubefoundry's kinds, from its declaration. `explain FIELD`
//! prints it, and `cargo xtask generate` writes it to `docs/reference/`.

use std::fmt::Write as _;

use kubefoundry_actor::AsyncActor;
use kubefoundry_kubernetes::api_group::{API_GROUPS, ApiGroup};
use kubefoundry_kubernetes::wire::{Describe as _, Facet, FieldShape, ObjectShape, Shape, Syntax};
use kubefoundry_llamastack::wire::LlamaStackDistribution;
use kubefoundry_model::wire::{self, InferenceProviderConfig, ModelDeployment};
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::{closest, wrap};

use crate::options::render;

/// A kind whose fields are described.
#[derive(Debug, Clone, Copy)]
pub struct DocumentedKind {
    /// The kind's name, such as `ModelDeployment`.
    pub name: &'static str,
    /// The `apiVersion`s in which the kind is written.
    pub versions: fn() -> Vec<String>,
    shape: fn() -> Shape,
}

/// Every documented kind. A path without a kind refers to the first.
pub static KINDS: &[DocumentedKind] = &[
    DocumentedKind { name: wire::KIND, versions: api_group_versions, shape: || ModelDeployment::SHAPE },
    DocumentedKind {
        name: wire::CONFIGURATION_KIND,
        versions: api_group_versions,
        shape: || InferenceProviderConfig::SHAPE,
    },
    DocumentedKind { name: "Render", versions: || vec![render::API_VERSION.to_owned()], shape: render::shape },
    DocumentedKind {
        name: "LlamaStackDistribution",
        versions: || vec![kubefoundry_llamastack::wire::API_VERSION.to_owned()],
        shape: || LlamaStackDistribution::SHAPE,
    },
    DocumentedKind {
        name: "AsyncActor",
        versions: || vec![kubefoundry_actor::API_VERSION.to_owned()],
        shape: || AsyncActor::SHAPE,
    },
];

fn api_group_versions() -> Vec<String> {
    API_GROUPS.iter().map(ApiGroup::api_version).collect()
}

impl DocumentedKind {
    /// Returns the shape of the whole object.
    pub fn object(&self) -> Option<&'static ObjectShape> {
        nested_object(&(self.shape)())
    }

    /// Returns the `apiVersion`s in which a field exists. `path` is dotted, as in `spec.engine.type`.
    pub fn versions_with(&self, path: &str) -> Vec<String> {
        let Some(path) = FieldPath::try_parse(path) else { return (self.versions)() };
        let is_absent = |version: &String| {
            let group = version.split('/').next().unwrap_or_default();
            let absent = self.object().map(|object| object.absent_in(group)).unwrap_or_default();
            absent.iter().any(|absent| path.starts_with(absent))
        };
        (self.versions)().into_iter().filter(|version| !is_absent(version)).collect()
    }
}

/// A field of a kind, or a whole kind.
#[derive(Debug, Clone)]
pub struct FieldEntry {
    /// The kind that has the field.
    pub kind: &'static DocumentedKind,
    /// The dotted path; empty for the kind itself.
    pub path: String,
    /// The field; `None` for the kind itself.
    pub field: Option<FieldShape>,
}

/// A path that names no field, with a hint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} has no field {path}{hint}")]
pub struct UnknownField {
    kind: &'static str,
    path: String,
    hint: String,
}

/// Returns whether a text looks like a field path: it starts with a kind or with a top-level field of objects.
///
/// ```
/// use kubefoundry_compiler::field_reference::is_path;
/// assert!(is_path("spec.engine.type") && is_path("asyncactor.spec") && is_path("ModelDeployment"));
/// assert!(!is_path("models/llama.yaml") && !is_path("KF0102"));
/// ```
pub fn is_path(text: &str) -> bool {
    let first = text.split(['.', '[']).next().unwrap_or_default();
    let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'[' | b']' | b'_'));
    is_plain && (matches!(first, "spec" | "metadata" | "status") || find_kind(first).is_some())
}

fn find_kind(name: &str) -> Option<&'static DocumentedKind> {
    KINDS.iter().find(|kind| kind.name.eq_ignore_ascii_case(name))
}

/// Finds a field by its path, such as `spec.engine.type` or `modeldeployment.spec.engine`. Indexes are accepted and
/// ignored.
///
/// # Errors
///
/// Returns the first part of the path that does not exist, with a suggestion.
///
/// ```
/// use kubefoundry_compiler::field_reference::find_field;
/// assert_eq!(find_field("spec.env[0].name").unwrap().path, "spec.env.name");
/// assert!(find_field("spec.engine.typ").unwrap_err().to_string().contains("did you mean type?"));
/// ```
pub fn find_field(path: &str) -> Result<FieldEntry, UnknownField> {
    let mut keys = path.split(['.', '[']).filter(|key| !key.is_empty() && !key.ends_with(']')).peekable();
    let named_kind = keys.peek().and_then(|first| find_kind(first));
    if named_kind.is_some() {
        keys.next();
    }
    let kind = named_kind.unwrap_or(&KINDS[0]);
    let mut entry = FieldEntry { kind, path: String::new(), field: None };
    for key in keys {
        let object = entry.object();
        let separator = if entry.path.is_empty() { "" } else { "." };
        let path = format!("{}{separator}{key}", entry.path);
        let Some(field) = object.and_then(|object| object.field(key)) else {
            let known = object.map_or(&[][..], |object| object.fields).iter().map(|field| field.key);
            let hint = match closest(key, known.clone()) {
                Some(suggestion) => format!("; did you mean {suggestion}?"),
                None if object.is_none() => format!("; {} has no fields", entry.path),
                None => format!("; the fields are {}", known.collect::<Vec<_>>().join(", ")),
            };
            return Err(UnknownField { kind: kind.name, path, hint });
        };
        entry = FieldEntry { kind, path, field: Some(*field) };
    }
    Ok(entry)
}

impl FieldEntry {
    /// Returns the object in the field, or in the items of its list or the values of its mapping.
    pub fn object(&self) -> Option<&'static ObjectShape> {
        match &self.field {
            Some(field) => nested_object(&field.full_shape()),
            None => self.kind.object(),
        }
    }

    /// Formats the entry like `kubectl explain`.
    pub fn to_text(&self) -> String {
        let mut text = format!("KIND:        {}\nAPIVERSION:  ", self.kind.name);
        let _ = writeln!(text, "{}", self.kind.versions_with(&self.path).join(", "));
        if let Some(field) = &self.field {
            let _ = writeln!(text, "\nFIELD: {} <{}>", self.path, type_name(&field.full_shape()));
        }
        let doc = match &self.field {
            Some(field) => field.doc,
            None => self.object().map_or("", |object| object.doc),
        };
        let _ = writeln!(text, "\nDESCRIPTION:\n{}", wrap_indented(doc, 4));
        if let Some(field) = &self.field {
            let constraints = describe_constraints(field);
            if !constraints.is_empty() {
                let lines: Vec<String> = constraints.iter().map(|constraint| format!("    - {constraint}")).collect();
                let _ = writeln!(text, "\nVALUES:\n{}", lines.join("\n"));
            }
            if let Shape::Enum(words) = field.full_shape() {
                text.push_str("\nWORDS:\n");
                for (word, doc) in words.values {
                    let _ = writeln!(text, "  {word}\n{}", wrap_indented(doc, 4));
                }
            }
        }
        if let Some(object) = self.object() {
            text.push_str("\nFIELDS:\n");
            for field in object.fields {
                let required = if field.facets.required { " -required-" } else { "" };
                let kind = type_name(&field.full_shape());
                let _ = writeln!(text, "  {}\t<{kind}>{required}\n{}\n", field.key, wrap_indented(field.doc, 4));
            }
        }
        text
    }
}

/// Finds the object in a shape, or in the items of a list or the values of a mapping.
pub fn nested_object(shape: &Shape) -> Option<&'static ObjectShape> {
    match shape {
        Shape::Object(object) => Some(object),
        Shape::List(item) | Shape::Map(item) => nested_object(item),
        Shape::OneOf(shapes) => shapes.iter().find_map(nested_object),
        _ => None,
    }
}

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

/// Columns of a line of formatted documentation.
const WIDTH: usize = 80;

/// Wraps documentation to [`WIDTH`] columns, indented by `depth`.
fn wrap_indented(doc: &str, depth: usize) -> String {
    let margin = " ".repeat(depth);
    wrap(doc, WIDTH - depth).iter().map(|line| format!("{margin}{line}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_field_with_and_without_its_kind() {
        let entry = find_field("spec.engine.type").unwrap();
        assert_eq!((entry.kind.name, entry.path.as_str()), ("ModelDeployment", "spec.engine.type"));
        assert_eq!(find_field("modeldeployment.spec.engine.type").unwrap().path, entry.path);
        assert_eq!(find_field("asyncactor.spec.scaling.minReplicas").unwrap().kind.name, "AsyncActor");
        assert_eq!(find_field("render.llamaStack.mergeMode").unwrap().kind.name, "Render");
        assert_eq!(
            find_field("spec.model.id.x").unwrap_err().to_string(),
            "ModelDeployment has no field spec.model.id.x; spec.model.id has no fields"
        );
    }

    #[test]
    fn prints_the_type_bounds_and_words_of_a_field() {
        let text = find_field("spec.engine.type").unwrap().to_text();
        assert!(text.contains("FIELD: spec.engine.type <string>\n"), "{text}");
        assert!(text.contains("    - one of vllm, sglang, trtllm, llamacpp\n"), "{text}");
        let text = find_field("spec.model.storage.volumes").unwrap().to_text();
        assert!(text.contains("<[]StorageVolume>") && text.contains("    - at most 8 entries\n"), "{text}");
        assert!(text.contains("  mountPath\t<string>\n"), "{text}");
    }

    #[test]
    fn prints_the_api_versions_that_have_a_field() {
        assert!(!find_field("spec.imagePullSecrets").unwrap().to_text().contains(" airunway.ai/"));
        assert!(find_field("spec.env").unwrap().to_text().contains(" airunway.ai/v1alpha1"));
    }

    #[test]
    fn every_line_fits_the_width() {
        for kind in KINDS {
            let text = find_field(kind.name).unwrap().to_text();
            let long = text.lines().find(|line| line.chars().count() > 2 * WIDTH);
            assert_eq!(long, None, "{}", kind.name);
        }
    }
}
