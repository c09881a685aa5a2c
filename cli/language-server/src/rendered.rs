//! The manifests that a document renders to, as a virtual document.

use kubefoundry_compiler::Output;
use kubefoundry_diagnostics::Severity;
use kubefoundry_diagnostics::source::Purpose;
use kubefoundry_yaml::to_yaml_stream;
use lsp_types::{Position, TextDocumentIdentifier};
use serde::{Deserialize, Serialize};

use super::documents::OpenDocument;
use super::position::Encoding;
use super::project::Project;
use super::uri;

/// The scheme of virtual documents. A client asks the server for their text.
const SCHEME: &str = "kubefoundry-rendered";

/// The parameters of the request.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RenderedManifestParams {
    pub(crate) text_document: TextDocumentIdentifier,
    /// Selects one object of a document with several.
    #[serde(default)]
    pub(crate) position: Option<Position>,
}

/// The result of the request.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RenderedManifest {
    /// The address of the virtual document.
    pub(crate) uri: String,
    pub(crate) language_id: &'static str,
    pub(crate) text: String,
}

/// Renders the objects of a document, or only the one at a position.
///
/// # Errors
/// Returns the reason why there is nothing to show.
pub(crate) fn render(
    project: &Project,
    document: &OpenDocument,
    position: Option<Position>,
    encoding: Encoding,
) -> Result<RenderedManifest, String> {
    let Some(compilation) = &project.compilation else { return Err("the document has not been compiled".to_owned()) };
    let name = document.path.as_deref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy());
    let name = name.as_deref().unwrap_or(document.uri.as_str()).to_owned();
    // An error elsewhere keeps other objects from being rendered, and not these.
    let concerns_document = |location: &kubefoundry_diagnostics::Location| {
        project.is_source_of(location.source, document)
            || project.sources.get(location.source).purpose == Purpose::Options
    };
    let errors = compilation.diagnostics.iter().filter(|finding| {
        finding.severity == Severity::Error && finding.location.as_ref().is_none_or(concerns_document)
    });
    let errors: Vec<&str> = errors.map(|error| error.message.as_str()).collect();
    if let Some(first) = errors.first() {
        let plural = if errors.len() == 1 { "" } else { "s" };
        return Err(format!("{name} has {} error{plural}; correct it first: {first}", errors.len()));
    }
    let offset = position.map(|position| document.lines(encoding).offset(position));
    let at_position = |index: usize| {
        let Some(offset) = offset else { return true };
        let inputs = compilation.inputs.iter().filter(|input| project.is_source_of(input.source, document));
        let here = inputs.filter(|input| input.span.start <= offset && offset <= input.span.end);
        here.map(|input| input.index).any(|at| at == index)
    };
    let is_wanted = |output: &&Output| {
        compilation
            .decisions
            .get(output.decision)
            .is_some_and(|decision| project.is_source_of(decision.source, document) && at_position(decision.document))
    };
    let objects: Vec<_> = compilation.outputs.iter().filter(is_wanted).map(|output| &output.object).collect();
    if objects.is_empty() {
        let place = if offset.is_some() { " at this position" } else { "" };
        return Err(format!("{name} has no object{place} that kubefoundry renders"));
    }
    let path = document.path.as_deref().and_then(|path| path.to_str()).unwrap_or(document.uri.as_str());
    let uri = format!("{SCHEME}:{}", uri::encode_percent(path));
    Ok(RenderedManifest { uri, language_id: "yaml", text: to_yaml_stream(objects) })
}
