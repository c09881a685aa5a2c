//! The field reference: a description of each field of kubefoundry's kinds, from its declaration. `explain FIELD`
//! prints it, and `cargo xtask generate` writes it to `docs/reference/`.

mod declaration;
mod example;
mod provider_support;

use kubefoundry_actor::AsyncActor;
use kubefoundry_compiler::options::render;
use kubefoundry_composition::BUILTIN;
use kubefoundry_deployment::wire::{self, InferenceProviderConfig, ModelDeployment};
use kubefoundry_kubernetes::api_group::{API_GROUPS, ApiGroup};
use kubefoundry_kubernetes::header::group_of;
use kubefoundry_kubernetes::wire::{Describe as _, FieldShape, ObjectShape, Shape};
use kubefoundry_llamastack::wire::LlamaStackDistribution;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::{closest, wrap};
use kubefoundry_yaml::{append, append_line};

pub use declaration::{describe_constraints, describe_default, type_name};
pub use provider_support::{ProviderSupport, provider_support};

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
    DocumentedKind {
        name: "Render",
        versions: || vec![render::API_VERSION.to_owned()],
        shape: || render::shape(&BUILTIN),
    },
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

    /// Returns the dotted paths of all fields. An object inside of an object of its own type is left out.
    ///
    /// ```
    /// use kubefoundry_reference::KINDS;
    /// assert!(KINDS[0].paths().contains(&"spec.env.valueFrom.secretKeyRef.key".to_owned()));
    /// ```
    pub fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        if let Some(object) = self.object() {
            add_paths(object, "", &mut vec![object.name], &mut paths);
        }
        paths
    }

    /// Returns the `apiVersion`s in which a field exists. `path` is dotted, as in `spec.engine.type`.
    pub fn versions_with(&self, path: &str) -> Vec<String> {
        let Some(path) = FieldPath::try_parse(path) else { return (self.versions)() };
        let is_absent = |version: &String| {
            let absent = self.object().map(|object| object.absent_in(group_of(version))).unwrap_or_default();
            absent.iter().any(|absent| path.starts_with(absent))
        };
        (self.versions)().into_iter().filter(|version| !is_absent(version)).collect()
    }
}

fn add_paths(object: &'static ObjectShape, prefix: &str, above: &mut Vec<&'static str>, paths: &mut Vec<String>) {
    for field in object.fields {
        let path = if prefix.is_empty() { field.key.to_owned() } else { format!("{prefix}.{}", field.key) };
        paths.push(path.clone());
        if let Some(inner) = nested_object(&field.full_shape()).filter(|inner| !above.contains(&inner.name)) {
            above.push(inner.name);
            add_paths(inner, &path, above, paths);
            above.pop();
        }
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
/// use kubefoundry_reference::is_path;
/// assert!(is_path("spec.engine.type") && is_path("asyncactor.spec") && is_path("ModelDeployment"));
/// assert!(!is_path("models/llama.yaml") && !is_path("KF0113"));
/// ```
pub fn is_path(text: &str) -> bool {
    let first = text.split_once(['.', '[']).map_or(text, |(first, _)| first);
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
/// use kubefoundry_reference::find_field;
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
            let elsewhere = paths_ending_in(kind, key);
            let hint = match closest(key, known.clone()) {
                Some(suggestion) => format!("; did you mean {suggestion}?"),
                None if !elsewhere.is_empty() => format!("; did you mean {}?", elsewhere.join(" or ")),
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
        append_line!(text, "{}", self.kind.versions_with(&self.path).join(", "));
        if let Some(field) = &self.field {
            append_line!(text, "\nFIELD: {} <{}>", self.path, type_name(&field.full_shape()));
        }
        let doc = match &self.field {
            Some(field) => field.doc,
            None => self.object().map_or("", |object| object.doc),
        };
        append_line!(text, "\nDESCRIPTION:\n{}", wrap_indented(doc, 4));
        if let Some(field) = &self.field {
            append_line!(text, "\nDEFAULT:\n{}", wrap_indented(&describe_default(field), 4));
            let constraints = describe_constraints(field);
            let constraints =
                if constraints.is_empty() { vec!["any value of the type".to_owned()] } else { constraints };
            let lines: Vec<String> = constraints.iter().map(|constraint| format!("    - {constraint}")).collect();
            append_line!(text, "\nVALUES:\n{}", lines.join("\n"));
            if let Shape::Enum(words) = field.full_shape() {
                text.push_str("\nWORDS:\n");
                for (word, doc) in words.values {
                    append_line!(text, "  {word}\n{}", wrap_indented(doc, 4));
                }
            }
        }
        if self.field.is_some() {
            self.write_providers(&mut text);
            let example = self.example();
            let lines: Vec<String> = example.lines().map(|line| format!("    {line}\n")).collect();
            append!(text, "\nEXAMPLE:\n{}", lines.concat());
        }
        if let Some(object) = self.object() {
            text.push_str("\nFIELDS:\n");
            for field in object.fields {
                let required = if field.facets.required { " -required-" } else { "" };
                let kind = type_name(&field.full_shape());
                append_line!(text, "  {}\t<{kind}>{required}\n{}\n", field.key, wrap_indented(field.doc, 4));
            }
        }
        text
    }
}

impl FieldEntry {
    /// Returns what each provider does with the field; empty if providers have no part in it.
    pub fn provider_support(&self) -> Vec<ProviderSupport> {
        if self.kind.name == wire::KIND { provider_support(&self.path) } else { Vec::new() }
    }

    /// Writes what each provider does with the field of a ModelDeployment.
    fn write_providers(&self, text: &mut String) {
        let all = self.provider_support();
        if self.kind.name != wire::KIND {
            return;
        }
        text.push_str("\nPROVIDERS:\n");
        for support in &all {
            let (label, note) = (support.label(), &support.note);
            // Some notes begin with the treatment.
            let note = note.strip_prefix(&format!("{label}: ")).unwrap_or(note);
            let line = format!("{} ({label}): {note}", support.provider);
            append_line!(text, "{}", wrap_indented(&line, 4));
        }
        if all.is_empty() {
            let selects = ModelDeployment::path().spec().provider().name().to_string();
            let why = if self.path == selects { "It selects the provider." } else { "The same for every provider." };
            append_line!(text, "    {why}");
        }
    }
}

/// The most paths in a message.
const MAX_PATHS: usize = 3;

/// Returns the first paths of a kind that end in these keys, the shortest first: `contextLength` and
/// `engine.contextLength` both find `spec.engine.contextLength`.
///
/// ```
/// use kubefoundry_reference::{KINDS, paths_ending_in};
/// assert_eq!(paths_ending_in(&KINDS[0], "contextLength"), ["spec.engine.contextLength"]);
/// assert_eq!(paths_ending_in(&KINDS[0], "color"), [""; 0]);
/// ```
pub fn paths_ending_in(kind: &DocumentedKind, keys: &str) -> Vec<String> {
    let end = format!(".{keys}");
    let mut found: Vec<String> = kind.paths().into_iter().filter(|path| format!(".{path}").ends_with(&end)).collect();
    found.sort_by_key(|path| path.split('.').count());
    found.truncate(MAX_PATHS);
    found
}

/// Suggests fields for a text that is not a path: one whose first part is misspelt, or the end of a path. `None` if the text
/// is like no field.
///
/// ```
/// use kubefoundry_reference::suggest_field;
/// assert_eq!(suggest_field("sepc.engine.type").as_deref(), Some("spec.engine.type"));
/// assert_eq!(suggest_field("contextLength").as_deref(), Some("spec.engine.contextLength"));
/// assert_eq!(suggest_field("asyncacter.spec").as_deref(), Some("asyncactor.spec"));
/// assert_eq!((suggest_field("models.yaml"), suggest_field("models")), (None, None));
/// ```
pub fn suggest_field(text: &str) -> Option<String> {
    // A word in lower case is rather the name of a file or a directory.
    if !text.bytes().any(|byte| byte == b'.' || byte.is_ascii_uppercase()) {
        return None;
    }
    let (first, rest) = text.split_once('.').map_or((text, None), |(first, rest)| (first, Some(rest)));
    for kind in KINDS {
        let found = paths_ending_in(kind, text);
        if !found.is_empty() {
            let prefix = if std::ptr::eq(kind, &raw const KINDS[0]) {
                String::new()
            } else {
                format!("{}.", kind.name.to_lowercase())
            };
            return Some(found.iter().map(|path| format!("{prefix}{path}")).collect::<Vec<_>>().join(" or "));
        }
    }
    let rest = rest?;
    let kinds: Vec<String> = KINDS.iter().map(|kind| kind.name.to_lowercase()).collect();
    let starts = ["spec", "metadata", "status"].into_iter().chain(kinds.iter().map(String::as_str));
    let corrected = format!("{}.{rest}", closest(&first.to_lowercase(), starts)?);
    find_field(&corrected).is_ok().then_some(corrected)
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

    /// A field of another object is suggested where it is.
    #[test]
    fn suggests_a_field_at_its_place() {
        let message = |path: &str| find_field(path).unwrap_err().to_string();
        assert!(message("spec.contextLength").ends_with("; did you mean spec.engine.contextLength?"));
        assert!(message("spec.engine.contextLenght").ends_with("; did you mean contextLength?"));
        assert!(message("spec.color").contains("; the fields are model, "));
    }

    #[test]
    fn prints_default_providers_and_example() {
        let text = find_field("spec.engine.contextLength").unwrap().to_text();
        assert!(text.contains("\nDEFAULT:\n    the model's own limit\n"), "{text}");
        assert!(text.contains("\n    Dynamo (rendered): --max-model-len, --context-length"), "{text}");
        assert!(text.contains("\nEXAMPLE:\n    spec:\n      engine:\n        contextLength: "), "{text}");
        let text = find_field("spec.serving.mode").unwrap().to_text();
        assert!(text.contains("\nDEFAULT:\n    aggregated\n"), "{text}");
        let text = find_field("spec.provider.name").unwrap().to_text();
        assert!(text.contains("\nPROVIDERS:\n    It selects the provider.\n"), "{text}");
        let text = find_field("render.strict").unwrap().to_text();
        assert!(!text.contains("PROVIDERS:") && text.contains("\nEXAMPLE:\n    strict: false\n"), "{text}");
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
