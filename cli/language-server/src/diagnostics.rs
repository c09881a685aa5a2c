//! Findings in the form of the protocol.

use kubefoundry::registry;
use kubefoundry_composition::BUILTIN;
use kubefoundry_diagnostics as core;
use kubefoundry_diagnostics::Severity;
use kubefoundry_diagnostics::source::Purpose;
use kubefoundry_yaml::Span;
use lsp_types::{
    CodeDescription, Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, Location, NumberOrString,
};

use super::client::Client;
use super::documents::OpenDocument;
use super::position::Lines;
use super::project::Project;
use super::uri;
use super::workspace::Compiled;

/// The name of the server in the client's list of problems.
const SOURCE: &str = "kubefoundry";

/// Returns the findings of a document.
pub(crate) fn of_document(compiled: Compiled<'_>, client: &Client) -> Vec<Diagnostic> {
    let Compiled { document, project, .. } = compiled;
    let lines = document.lines(client.encoding);
    let has_input = BUILTIN.may_hold_input(&document.text);
    let shown = |finding: &&core::Diagnostic| {
        is_in(finding, project, document) || (has_input && prevents_checks(finding, project))
    };
    let convert = |finding: &core::Diagnostic| {
        let is_here = is_in(finding, project, document);
        to_diagnostic(finding, is_here, compiled, &lines, client)
    };
    project.findings().iter().filter(shown).filter_map(convert).collect()
}

/// Returns whether a finding is in the text of a document.
pub(crate) fn is_in(finding: &core::Diagnostic, project: &Project, document: &OpenDocument) -> bool {
    finding.location.as_ref().is_some_and(|location| project.is_source_of(location.source, document))
}

/// Returns whether a finding is an error in the options, which keeps every document from being checked. It is then shown
/// in each document with input, which would otherwise seem to have no findings.
fn prevents_checks(finding: &core::Diagnostic, project: &Project) -> bool {
    let is_option = |location: &core::Location| project.sources.get(location.source).purpose == Purpose::Options;
    finding.severity == Severity::Error && finding.location.as_ref().is_some_and(is_option)
}

/// Converts a finding. One in another text is shown at the start of the document, with its place as related.
pub(crate) fn to_diagnostic(
    finding: &core::Diagnostic,
    is_here: bool,
    Compiled { project, documents, .. }: Compiled<'_>,
    lines: &Lines<'_>,
    client: &Client,
) -> Option<Diagnostic> {
    let location = finding.location.as_ref()?;
    let elsewhere = |location: &core::Location, message: &str| {
        let source = project.sources.get(location.source);
        let range = Lines::new(&source.text, client.encoding).range(location.span);
        let uri = project.uri_of(location.source, documents)?;
        Some(DiagnosticRelatedInformation { location: Location { uri, range }, message: message.to_owned() })
    };
    let mut related: Vec<DiagnosticRelatedInformation> =
        finding.related.iter().filter_map(|related| elsewhere(&related.location, &related.message)).collect();
    let (mut span, mut message) = (location.span, finding.message.clone());
    if !is_here {
        let name = &project.sources.get(location.source).name;
        message = format!("{name}: {message}; until it is corrected, this document is not checked");
        related.extend(elsewhere(location, &finding.message));
        span = Span::default();
    }
    if let Some(help) = &finding.help {
        message = format!("{message}\nhelp: {help}");
    }
    Some(Diagnostic {
        range: lines.range(span),
        severity: Some(match finding.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
            _ => DiagnosticSeverity::INFORMATION,
        }),
        code: Some(NumberOrString::String(finding.code.id.to_owned())),
        code_description: page_of(finding.code, client),
        source: Some(SOURCE.to_owned()),
        message,
        related_information: (client.shows_related && !related.is_empty()).then_some(related),
        ..Diagnostic::default()
    })
}

/// Returns the address of the page of a code, if the client has named where the pages are.
fn page_of(code: &core::Code, client: &Client) -> Option<CodeDescription> {
    let template = client.code_pages.as_ref().filter(|_| registry::page(code).is_some())?;
    uri::parse(&template.replace("{code}", code.id)).map(|href| CodeDescription { href })
}
