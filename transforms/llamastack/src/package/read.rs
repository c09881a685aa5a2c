//! Reading and validation of [`ProviderPackage`].

use super::super::wire::Api;
use super::syntax::{is_module, is_package_name, is_provider_type, is_semantic_version};
use super::{API_VERSION, KIND, ProviderPackage};
use kubefoundry_diagnostics::render::{LineIndex, Position};
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::text::{closest, one_line};
use kubefoundry_yaml::{Limits, Node, Value};

const FIELDS: [&str; 4] = ["apiVersion", "kind", "metadata", "spec"];
const METADATA: [&str; 5] = ["name", "version", "vendor", "description", "maintainer"];
const SPEC: [&str; 5] = ["packageName", "providerType", "api", "wheelPath", "dependencyWheels"];

/// The result of reading a package's metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// The package.
    pub package: ProviderPackage,
    /// Warnings about unknown fields, one line each.
    pub warnings: Vec<String>,
}

/// Why a package's metadata cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MetadataError {
    /// The file could not be read. The code that reads files sets it.
    #[error("failed to read metadata file: {0}")]
    Unreadable(String),
    /// The text is not YAML.
    #[error("failed to parse metadata YAML: line {}, column {}: {message}", .position.line, .position.column)]
    Syntax {
        /// Line and column.
        position: Position,
        /// What was found and what is expected.
        message: String,
    },
    /// Values are missing or invalid. All errors are listed, in the order of the specification.
    #[error("metadata validation failed: {}", .0.join("; "))]
    Invalid(Vec<String>),
}

impl MetadataError {
    fn at(text: &str, offset: usize, message: String) -> Self {
        Self::Syntax { position: LineIndex::new(text).position(offset), message }
    }
}

/// Reads and validates the metadata of a package.
///
/// ```
/// use kubefoundry_llamastack::package::read;
/// let error = read("apiVersion: v1\nkind: ProviderPackage\n").unwrap_err();
/// assert!(error.to_string().starts_with(
///     "metadata validation failed: invalid apiVersion: expected llamastack.io/v1alpha1, got v1; metadata.name is required"
/// ));
/// ```
///
/// # Errors
/// Returns an error if the text is not a single YAML document, or if a value is missing or invalid.
pub fn read(text: &str) -> Result<Read, MetadataError> {
    let parsed = yaml::parse(text, &Limits::default());
    let problem = parsed.documents.iter().flat_map(|document| &document.problems).chain(&parsed.failure).next();
    if let Some(problem) = problem {
        return Err(MetadataError::at(text, problem.span.start, problem.sentence()));
    }
    if let Some(second) = parsed.documents.get(1) {
        let message = "found a second document, expected one".to_owned();
        return Err(MetadataError::at(text, second.span.start, message));
    }
    let nothing = Node { value: Value::Null, span: yaml::Span::default() };
    let root = parsed.documents.first().map_or(&nothing, |document| &document.root);
    let mut reader = Reader { text, ..Reader::default() };
    let package = reader.package(root);
    if let (Some(package), true) = (package, reader.errors.is_empty()) {
        reader.unknown(root, "", &FIELDS);
        reader.unknown(root.get("metadata").unwrap_or(&nothing), "metadata.", &METADATA);
        reader.unknown(root.get("spec").unwrap_or(&nothing), "spec.", &SPEC);
        Ok(Read { package, warnings: reader.warnings })
    } else {
        Err(MetadataError::Invalid(reader.errors))
    }
}

/// Collects errors in the order of the checks.
#[derive(Default)]
struct Reader<'t> {
    text: &'t str,
    errors: Vec<String>,
    warnings: Vec<String>,
}

impl Reader<'_> {
    fn package(&mut self, root: &Node<'_>) -> Option<ProviderPackage> {
        let source = self.text;
        let scalar = |node: &Node<'_>| scalar(node, source);
        let text = |section: &str, key: &str| root.get(section).and_then(|node| node.get(key)).and_then(scalar);
        let kind = |key: &str| root.get(key).and_then(scalar).unwrap_or_default();
        if kind("apiVersion") != API_VERSION {
            self.errors
                .push(format!("invalid apiVersion: expected {API_VERSION}, got {}", one_line(&kind("apiVersion"))));
        }
        if kind("kind") != KIND {
            self.errors.push(format!("invalid kind: expected {KIND}, got {}", one_line(&kind("kind"))));
        }
        let name = self.required("metadata.name", text("metadata", "name"));
        let version = self.required("metadata.version", text("metadata", "version"));
        let vendor = self.required("metadata.vendor", text("metadata", "vendor"));
        let package_name = self.required("spec.packageName", text("spec", "packageName"));
        let provider_type = self.required("spec.providerType", text("spec", "providerType"));
        let api = self.required("spec.api", text("spec", "api"));
        let named = api.as_deref().and_then(Api::from_name);
        self.check("spec.api", api.as_deref(), |_| named.is_some());
        self.check("metadata.name", name.as_deref(), is_package_name);
        self.check("spec.packageName", package_name.as_deref(), is_module);
        self.check("spec.providerType", provider_type.as_deref(), is_provider_type);
        let wheel_path = self.required("spec.wheelPath", text("spec", "wheelPath"));
        self.check("metadata.version", version.as_deref(), is_semantic_version);
        let dependency_wheels = self.dependency_wheels(root.get("spec").and_then(|spec| spec.get("dependencyWheels")));
        Some(ProviderPackage {
            name: name?,
            version: version?,
            vendor: vendor?,
            description: text("metadata", "description"),
            maintainer: text("metadata", "maintainer"),
            package_name: package_name?,
            provider_type: provider_type?,
            api: named?,
            wheel_path: wheel_path?,
            dependency_wheels,
        })
    }

    /// Returns a required value, and reports it if it is absent or empty.
    fn required(&mut self, field: &str, value: Option<String>) -> Option<String> {
        let value = value.filter(|value| !value.is_empty());
        if value.is_none() {
            self.errors.push(format!("{field} is required"));
        }
        value
    }

    fn check(&mut self, field: &str, value: Option<&str>, is_right: impl Fn(&str) -> bool) {
        if let Some(value) = value.filter(|value| !is_right(value)) {
            self.errors.push(format!("invalid {field}: {}", one_line(value)));
        }
    }

    fn dependency_wheels(&mut self, node: Option<&Node<'_>>) -> Vec<String> {
        let Some(node) = node.filter(|node| node.value != Value::Null) else { return Vec::new() };
        let paths: Option<Vec<String>> = match &node.value {
            Value::Sequence(items) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
            _ => None,
        };
        if paths.is_none() {
            self.errors.push("invalid spec.dependencyWheels: expected a list of paths".to_owned());
        }
        paths.unwrap_or_default()
    }

    fn unknown(&mut self, node: &Node<'_>, parent: &str, known: &[&'static str]) {
        for entry in node.entries().iter().filter(|entry| !known.contains(&entry.key.as_ref())) {
            let meant = closest(&entry.key, known.iter().copied());
            let meant = meant.map_or(String::new(), |known| format!("; did you mean {parent}{known}?"));
            self.warnings.push(format!("unknown field {parent}{}{meant}", one_line(&entry.key)));
        }
    }
}

/// The text of a value that is to be text. A version such as `1.0` is a number to YAML, and not what was meant by it;
/// the check of its form says so, in the words of the file.
fn scalar(node: &Node<'_>, source: &str) -> Option<String> {
    let written = node.span.of(source);
    match &node.value {
        Value::String(text) => Some(text.clone().into_owned()),
        Value::Null => None,
        Value::Sequence(_) | Value::Mapping(_) => Some(node.to_json().to_string()),
        _ if written.is_empty() || written.starts_with('*') => Some(node.to_json().to_string()),
        _ => Some(written.to_owned()),
    }
}
