//! `kubefoundry import`: converts provider objects to ModelDeployments, and reports what these cannot express.

use kubefoundry_compiler::import::{ImportedDeployment, import};
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
    let failed = is_partial || import.has_errors();
    if args.output == ObjectFormat::Json {
        let entries = import.imported.iter().filter(|_| !failed).map(|imported| ImportEntry {
            file: &sources.get(imported.source).name,
            document: imported.document,
            imported,
        });
        let imported = entries.collect();
        let report = ImportReport { version: 1, imported, diagnostics: findings_json(&import.diagnostics, sources) };
        console::print([serde_json::to_string_pretty(&report).unwrap_or_default() + "\n"])?;
    } else {
        let format = args.diagnostics.diagnostics;
        console::note(&format_findings(&import.diagnostics, sources, format, console.stderr_style()));
        if !failed {
            console::print([yaml::to_yaml_stream(import.imported.iter().map(|imported| &imported.model_deployment))])?;
        }
    }
    Ok(exit_status(&import.diagnostics, sources, is_partial))
}
