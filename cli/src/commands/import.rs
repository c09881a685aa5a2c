//! `kubefoundry import`: converts provider objects to ModelDeployments, and reports what these cannot express.

use std::collections::BTreeSet;

use kubefoundry_compiler::import::{ImportedDeployment, import};
use kubefoundry_diagnostics::render::to_report;
use kubefoundry_yaml as yaml;
use serde::Serialize;
use serde_json::Value;

use super::{CommandError, exit_status, findings_json, format_findings, read_input};
use crate::args::{ImportArgs, InputArgs, ObjectFormat};
use crate::console::{self, Console};
use crate::exit::ExitStatus;

#[derive(Serialize)]
struct ImportReport<'r> {
    version: u32,
    imported: Vec<ImportEntry<'r>>,
    diagnostics: Vec<Value>,
}

#[derive(Serialize)]
struct ImportEntry<'r> {
    file: &'r str,
    document: usize,
    #[serde(flatten)]
    imported: &'r ImportedDeployment,
}

pub(super) fn run(args: &ImportArgs, console: &Console) -> Result<ExitStatus, CommandError> {
    let input = InputArgs { paths: args.paths.clone(), config: args.config.clone(), ..InputArgs::default() };
    let (input, is_partial) = read_input(&input)?;
    let sources = &input.sources;
    let import = import(sources);
    if args.output == ObjectFormat::Json {
        let entries = import.imported.iter().map(|imported| ImportEntry {
            file: &sources.get(imported.source).name,
            document: imported.document,
            imported,
        });
        let imported = entries.collect();
        let report = ImportReport { version: 1, imported, diagnostics: findings_json(&import.diagnostics, sources) };
        console::print([to_report(&report)])?;
    } else {
        let format = args.diagnostics.diagnostics;
        let result = describe(&import.imported);
        console::note(&format_findings(&result, &import.diagnostics, sources, format, console.stderr_style()));
        console::print([yaml::to_yaml_stream(import.imported.iter().map(|imported| &imported.model_deployment))])?;
    }
    Ok(exit_status(&import.diagnostics, sources, is_partial))
}

/// Returns the number of imported objects, with the kinds and versions that were read: `2 imported (Workspace of
/// kaito.sh/v1beta1)`.
fn describe(imported: &[ImportedDeployment]) -> String {
    let kinds: BTreeSet<String> = imported
        .iter()
        .map(|imported| format!("{} of {}", imported.object.kind, imported.object.api_version))
        .collect();
    let kinds = kinds.into_iter().collect::<Vec<_>>().join(", ");
    let number = imported.len();
    if kinds.is_empty() { format!("{number} imported") } else { format!("{number} imported ({kinds})") }
}
