//! The JSON report of `import`.

use kubefoundry_convert::import::{ImportReport, ImportedDeployment, RefusedObject};
use kubefoundry_diagnostics::render::{JsonFindings, ReportVersion, json_findings, to_object_report};
use kubefoundry_diagnostics::source::SourceSet;
use serde::Serialize;

/// What `kubefoundry import --output json` prints.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JsonReport<'r> {
    version: ReportVersion,
    /// The imported objects.
    imported: Vec<ImportEntry<'r>>,
    /// The objects that were not imported.
    refused: &'r [RefusedObject],
    /// Every finding, by file, line and code.
    diagnostics: JsonFindings,
}

/// An imported object and the ModelDeployment that renders it.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ImportEntry<'r> {
    /// The file, as it was given; `-` is standard input.
    file: &'r str,
    /// The position of the document in the file, from 0.
    document: usize,
    #[serde(flatten)]
    imported: &'r ImportedDeployment,
}

/// Formats what was imported from the sources.
pub fn json(import: &ImportReport, sources: &SourceSet) -> String {
    let entries = import.imported.iter().map(|imported| ImportEntry {
        file: &sources.get(imported.source).name,
        document: imported.document,
        imported,
    });
    to_object_report(&JsonReport {
        version: ReportVersion,
        imported: entries.collect(),
        refused: &import.refused,
        diagnostics: json_findings(&import.diagnostics, sources),
    })
}
