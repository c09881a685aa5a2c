//! Discovery of installed providers: reads the directories that the install scripts create, one for each provider.

use serde_json::Value as Json;

use super::Entry;
use crate::package;
use crate::package::MetadataError;
use crate::wire::Api;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::{closest, one_line, one_of, shorten};
use kubefoundry_yaml::{Limits, Node, Value};

/// The file next to a package's metadata with the provider's entry in the distribution.
pub const CRD_CONFIG: &str = "crd-config.yaml";

const FIELDS: [&str; 5] = ["providerId", "api", "config", "order", "image"];

/// A directory with the metadata of an installed provider. Absent files are `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// The name of the directory, which is the provider's id.
    pub name: String,
    /// The text of `lls-provider-spec.yaml`.
    pub metadata: Option<String>,
    /// The text of `crd-config.yaml`.
    pub crd_config: Option<String>,
}

/// The providers that were found in directories.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Discovered {
    /// The providers, in the order of the directories.
    pub entries: Vec<Entry>,
    /// Warnings, one line each.
    pub warnings: Vec<String>,
}

/// Reads the directories of installed providers. It reports all errors, in the format of the specification.
///
/// ```
/// use kubefoundry_llamastack::merge::{Installed, discover};
/// let broken = Installed { name: "vllm".into(), metadata: None, crd_config: Some("{providerId: vllm, api: inference}".into()) };
/// let errors = discover(&[broken]).unwrap_err();
/// assert!(errors[0].starts_with("ERROR: Missing lls-provider-spec.yaml in metadata/vllm\n\nProvider: vllm\n"));
/// ```
///
/// # Errors
/// Returns an error if a file is missing or invalid, or if it names another provider than its directory.
pub fn discover(installed: &[Installed]) -> Result<Discovered, Vec<String>> {
    let mut discovered = Discovered::default();
    let mut errors = Vec::new();
    for directory in installed {
        let mut reader = Reader { directory, image: None, errors: &mut errors, warnings: &mut discovered.warnings };
        if let Some(entry) = reader.entry() {
            discovered.entries.push(entry);
        }
    }
    errors.extend(repeated(&discovered.entries));
    if errors.is_empty() { Ok(discovered) } else { Err(errors) }
}

/// Returns errors for ids that several directories use. Such a provider would be merged twice, or would replace
/// another.
fn repeated(entries: &[Entry]) -> Vec<String> {
    let same = |entry: &&Entry, id: &str| entry.provider_id == id;
    let mut seen: Vec<&str> = Vec::new();
    let mut errors = Vec::new();
    for entry in entries {
        let id = entry.provider_id.as_str();
        let all: Vec<&str> = entries.iter().filter(|entry| same(entry, id)).map(|entry| entry.image.as_str()).collect();
        if all.len() > 1 && !seen.contains(&id) {
            seen.push(id);
            errors.push(block(
                &format!("duplicate provider_id '{id}' in installed providers"),
                id,
                &all.join(", "),
                "",
                "Give each external provider a providerId of its own in the LLSD spec.",
            ));
        }
    }
    errors
}

/// Formats an error with all fields that the specification requires.
fn block(reason: &str, provider: &str, image: &str, detail: &str, resolution: &str) -> String {
    let detail = if detail.is_empty() { String::new() } else { format!("{detail}\n\n") };
    let provider = one_line(provider);
    format!("ERROR: {reason}\n\nProvider: {provider}\nImage: {image}\n\n{detail}Resolution: {resolution}")
}

struct Reader<'r> {
    directory: &'r Installed,
    /// The provider's image, after `crd-config.yaml` has been read.
    image: Option<String>,
    errors: &'r mut Vec<String>,
    warnings: &'r mut Vec<String>,
}

impl Reader<'_> {
    fn fail(&mut self, reason: &str, detail: &str, resolution: &str) {
        let image = self.image.as_deref().unwrap_or("(unknown)");
        self.errors.push(block(reason, &self.directory.name, image, detail, resolution));
    }

    fn entry(&mut self) -> Option<Entry> {
        // Read the second file first: it contains the image, which every error names.
        let config = self.crd_config();
        let name = one_line(&self.directory.name);
        let metadata = match self.directory.metadata.as_deref() {
            None => {
                let reason = format!("Missing {} in metadata/{name}", package::FILE);
                self.fail(&reason, "", "Look at the log of the provider's init container: it copies this file.");
                None
            }
            Some(text) => match package::read(text) {
                Ok(read) => {
                    let prefix = format!("WARNING: metadata/{name}/{}: ", package::FILE);
                    self.warnings.extend(read.warnings.iter().map(|warning| format!("{prefix}{warning}")));
                    Some(read.package)
                }
                Err(error) => {
                    self.metadata_error(&error);
                    None
                }
            },
        };
        let (provider_id, api, config, order) = config?;
        let image = self.image.take().unwrap_or_else(|| "(unknown)".to_owned());
        Some(Entry { provider_id, api, order, image, config, metadata: metadata? })
    }

    fn metadata_error(&mut self, error: &MetadataError) {
        let reason = format!("Invalid {} of provider '{}'", package::FILE, one_line(&self.directory.name));
        self.fail(&reason, &error.to_string(), "Correct the metadata file in the provider image.");
    }

    fn crd_config(&mut self) -> Option<(String, Api, Option<Json>, u64)> {
        let name = one_line(&self.directory.name);
        let Some(text) = self.directory.crd_config.as_deref() else {
            let reason = format!("Missing {CRD_CONFIG} in metadata/{name}");
            self.fail(&reason, "", "Look at the log of the provider's init container: it writes this file.");
            return None;
        };
        match read_crd_config(text) {
            Ok(config) => {
                self.image = config.image;
                let unknown = config.unknown.iter();
                let prefix = format!("WARNING: metadata/{name}/{CRD_CONFIG}: ");
                self.warnings.extend(unknown.map(|field| format!("{prefix}unknown field {field}")));
                if config.provider_id != self.directory.name {
                    let reason = format!("metadata/{name} holds another provider");
                    let detail = format!("{CRD_CONFIG} says providerId '{}'", one_line(&config.provider_id));
                    self.fail(&reason, &detail, "Name the directory as the provider.");
                    return None;
                }
                Some((config.provider_id, config.api, config.config, config.order))
            }
            Err(detail) => {
                let reason = format!("Invalid {CRD_CONFIG} of provider '{name}'");
                let resolution = "Write providerId, api (as run.yaml spells it), order, image, and config, a mapping.";
                self.fail(&reason, &detail.join("\n"), resolution);
                None
            }
        }
    }
}

struct CrdConfig {
    provider_id: String,
    api: Api,
    config: Option<Json>,
    order: u64,
    image: Option<String>,
    unknown: Vec<String>,
}

/// Reads `crd-config.yaml`. `order` and `image` are optional because users may write the file by hand.
fn read_crd_config(text: &str) -> Result<CrdConfig, Vec<String>> {
    let parsed = yaml::parse(text, &Limits::default());
    let problem = parsed.documents.iter().flat_map(|document| &document.problems).chain(&parsed.failure).next();
    if let Some(problem) = problem {
        let error = super::BaseError::at(text, problem.span, problem.sentence());
        return Err(vec![error.to_string()]);
    }
    let Some(document) = parsed.documents.first().filter(|_| parsed.documents.len() == 1) else {
        return Err(vec![format!("found {} documents, expected one", parsed.documents.len())]);
    };
    let mut errors = Vec::new();
    let present = |key: &str| document.root.get(key).filter(|node| node.value != Value::Null);
    let provider_id = present("providerId").and_then(Node::as_str).map(str::to_owned);
    if provider_id.is_none() {
        errors.push("providerId is required, expected a string".to_owned());
    }
    let api = present("api").and_then(Node::as_str);
    let named = api.and_then(Api::from_name);
    if named.is_none() {
        let meant = api.and_then(|api| closest(api, Api::ALL.iter().map(|api| api.as_str())));
        let meant = meant.map_or(String::new(), |meant| format!(" (did you mean {meant}?)"));
        let apis: Vec<&str> = Api::ALL.iter().map(|api| api.as_str()).collect();
        errors.push(format!("api is {:?}, expected {}{meant}", one_line(api.unwrap_or_default()), one_of(&apis)));
    }
    let config = present("config");
    if let Some(config) = config.filter(|config| !matches!(config.value, Value::Mapping(_))) {
        errors.push(format!("config is {}, expected a mapping", config.describe()));
    }
    let wide = config.map(|config| yaml::wide_integers(config, &FieldPath::parse("config"), text)).unwrap_or_default();
    errors.extend(wide.iter().map(|wide| {
        format!("{} is {}, which 64 bits cannot hold: write it as a string", wide.path, shorten(wide.text))
    }));
    let order = present("order").map(|order| match order.value {
        Value::Integer(order) => u64::try_from(order).ok(),
        _ => None,
    });
    if order == Some(None) {
        errors.push("order is not a number from 0, expected 0, 1, 2, …".to_owned());
    }
    let image = present("image");
    if let Some(image) = image.filter(|image| image.as_str().is_none()) {
        errors.push(format!("image is {}, expected a string", image.describe()));
    }
    let unknown = document.root.entries().iter().filter(|entry| !FIELDS.contains(&entry.key.as_ref()));
    let unknown = unknown.map(|entry| one_line(&entry.key)).collect();
    match (provider_id, named) {
        (Some(provider_id), Some(api)) if errors.is_empty() => Ok(CrdConfig {
            provider_id,
            api,
            config: config.map(Node::to_json),
            order: order.flatten().unwrap_or_default(),
            image: image.and_then(Node::as_str).map(one_line),
            unknown,
        }),
        _ => Err(errors),
    }
}
