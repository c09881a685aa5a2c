//! The JSON report of `import`.

use kubefoundry_convert::import::{ImportReport, ImportedDeployment, RefusedObject};
use kubefoundry_diagnostics::render::to_object_report;
use kubefoundry_diagnostics::source::SourceSet;
use serde::Serialize;
use serde_json::Value;

use crate::run::findings_json;

/// The JSON report. `version` increases when a field is removed or changes its meaning.
#[derive(Serialize)]
struct JsonReport<'r> {
    version: u32,
    imported: Vec<ImportEntry<'r>>,
    refused: &'r [RefusedObject],
    diagnostics: Vec<Value>,
}

#[derive(Serialize)]
struct ImportEntry<'r> {
    file: &'r str,
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
        version: 1,
        imported: entries.collect(),
        refused: &import.refused,
        diagnostics: findings_json(&import.diagnostics, sources),
    })
}
