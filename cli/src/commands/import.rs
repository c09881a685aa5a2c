//! `kubefoundry import`: the ModelDeployments that become what is there, and what they do not say.

use kubefoundry_compiler::import::{ImportedDeployment, import};
use kubefoundry_yaml as yaml;
use serde::Serialize;
use serde_json::Value;

use super::{CommandError, findings_of, read, report_of, status_of};
use crate::args::{ImportArgs, InputArgs, ObjectFormat};
use crate::console::{self, Console};
use crate::exit::ExitStatus;

#[derive(Serialize)]
struct Report<'r> {
    version: u32,
    imported: Vec<Placed<'r>>,
    diagnostics: Value,
}

#[derive(Serialize)]
struct Placed<'r> {
    file: &'r str,
    document: usize,
    #[serde(flatten)]
    imported: &'r ImportedDeployment,
}

pub(super) fn run(args: &ImportArgs, console: &Console) -> Result<ExitStatus, CommandError> {
    let input = InputArgs { paths: args.paths.clone(), config: args.config.clone(), ..InputArgs::default() };
    let (input, is_partial) = read(&input)?;
    let sources = &input.sources;
    let import = import(sources);
    let failed = is_partial || import.has_errors();
    if args.output == ObjectFormat::Json {
        let placed = import.imported.iter().filter(|_| !failed).map(|imported| Placed {
            file: &sources.get(imported.source).name,
            document: imported.document,
            imported,
        });
        let imported = placed.collect();
        let report = Report { version: 1, imported, diagnostics: findings_of(&import.diagnostics, sources) };
        console::print([serde_json::to_string_pretty(&report).unwrap_or_default() + "\n"])?;
    } else {
        let format = args.diagnostics.diagnostics;
        console::note(&report_of(&import.diagnostics, sources, format, console.stderr_style()));
        if !failed {
            console::print([yaml::to_yaml_stream(import.imported.iter().map(|one| &one.model_deployment))])?;
        }
    }
    Ok(status_of(&import.diagnostics, sources, is_partial))
}
