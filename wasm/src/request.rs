//! The input of a call, as JavaScript hands it over.

use kubefoundry_compiler::options::render;
use kubefoundry_diagnostics::source::{Purpose, SourceId, SourceSet};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The name under which findings in the options are reported.
pub const OPTIONS_NAME: &str = "kubefoundry.yaml";

/// The name of the options that a call itself needs. No file of a caller has it.
const CALL_NAME: &str = "<call>";

/// Texts and options.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Request {
    /// The manifests, in the order in which they are read.
    pub files: Vec<File>,
    /// The text of an options file. The caller wrote it, so that it may set the policy, as one after `--config`.
    #[serde(default)]
    pub options: Option<String>,
    /// CRDs of a cluster, as `kubectl get crd -o yaml` prints them.
    #[serde(default)]
    pub crds: Option<String>,
    /// Nodes of a cluster, as `kubectl get nodes -o yaml` prints them.
    #[serde(default)]
    pub nodes: Option<String>,
}

/// A text with its name.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct File {
    /// The name under which findings are reported.
    pub name: String,
    /// The content.
    pub text: String,
}

/// Whether an input without anything to render is an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EmptyInput {
    Allowed,
    Refused,
}

impl Request {
    /// Collects the texts of a run in the order of the command line.
    pub(crate) fn sources(&self, empty: EmptyInput) -> SourceSet {
        let mut sources = SourceSet::default();
        if let Some(options) = &self.options {
            sources.add_for(Purpose::Options, OPTIONS_NAME, options.as_str());
        }
        if empty == EmptyInput::Allowed {
            let options = Map::from_iter([
                ("apiVersion".to_owned(), Value::from(render::API_VERSION)),
                ("kind".to_owned(), Value::from("Render")),
                ("allowEmpty".to_owned(), Value::Bool(true)),
            ]);
            sources.add_for(Purpose::Options, CALL_NAME, json!(options).to_string());
        }
        for file in &self.files {
            sources.add(file.name.as_str(), file.text.as_str());
        }
        for (purpose, name, text) in
            [(Purpose::ClusterNodes, "nodes", &self.nodes), (Purpose::Crds, "CRDs", &self.crds)]
        {
            if let Some(text) = text {
                sources.add_for(purpose, name, text.as_str());
            }
        }
        sources
    }

    /// Returns the text with this name, manifest or options.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        let file = self.files.iter().find(|file| file.name == name).map(|file| file.text.as_str());
        file.or_else(|| self.options.as_deref().filter(|_| name == OPTIONS_NAME))
    }

    /// Returns the source that has the text with this name.
    pub(crate) fn source(&self, sources: &SourceSet, name: &str) -> Option<SourceId> {
        let is_file = self.files.iter().any(|file| file.name == name);
        let wanted = if is_file { Purpose::Input } else { Purpose::Options };
        sources.iter().find(|(_, source)| source.purpose == wanted && source.name == name).map(|(id, _)| id)
    }
}
