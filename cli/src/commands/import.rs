//! `kubefoundry import`: converts provider objects to ModelDeployments, and reports what these cannot express.

use std::collections::BTreeSet;

use kubefoundry_composition::BUILTIN;
use kubefoundry_convert::import::{ImportReport, ImportSettings, RefusedObject, import_with};
use kubefoundry_input::InputArgs;
use kubefoundry_reports::import as report;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::text::printable;
use kubefoundry_yaml::{append, append_line};

use crate::args::{FailOn, ImportArgs, ObjectFormat};
use crate::console::{self, Console};
use crate::exit::ExitStatus;
use crate::output;
use crate::run::{CommandError, exit_status, note_findings, read_input};

pub(super) fn run(args: &ImportArgs, console: &Console) -> Result<ExitStatus, CommandError> {
    let input = InputArgs { paths: args.paths.clone(), config: args.config.clone(), ..InputArgs::default() };
    let findings = &args.diagnostics.findings;
    let (input, is_partial) = read_input(&input, findings)?;
    let sources = &input.sources;
    let mut import =
        import_with(&BUILTIN, sources, &ImportSettings { provider_to: args.to.as_deref(), with_patches: args.patches });
    // With --strict, residue fails the run, and its warnings are not hidden.
    findings.retain(&mut import.diagnostics, if args.strict { FailOn::Warning } else { FailOn::Error });
    if args.output == ObjectFormat::Json && args.out_dir.is_none() {
        console::print_as_is([report::json(&import, sources)])?;
    } else {
        note_findings(&describe(&import), &import.diagnostics, sources, &args.diagnostics, console);
        let deployments = import.imported.iter().map(|imported| &imported.model_deployment);
        match &args.out_dir {
            Some(directory) => output::write_imports(directory, deployments, args.output)?,
            None => console::print_as_is([yaml::to_yaml_stream(deployments)])?,
        }
    }
    let has_residue = import.imported.iter().any(|imported| !imported.residue.is_empty());
    Ok(match exit_status(&import.diagnostics, sources, is_partial) {
        ExitStatus::Success if args.strict && has_residue => ExitStatus::Findings,
        status => status,
    })
}

/// Returns the summary: every object that has residue or was refused, and the numbers with the kinds and versions that
/// were read: `2 imported (Workspace of kaito.sh/v1beta1), 1 of them with residue`.
fn describe(import: &ImportReport) -> String {
    let mut summary = String::new();
    for imported in import.imported.iter().filter(|imported| !imported.residue.is_empty()) {
        let count = imported.residue.len();
        let differences = if count == 1 { "1 difference".to_owned() } else { format!("{count} differences") };
        append_line!(summary, "with residue: {}: {differences}", printable(&imported.object.to_string()));
    }
    for RefusedObject { object, reason, .. } in &import.refused {
        append_line!(summary, "refused: {}", printable(&format!("{object}: {reason}")));
    }
    let kinds: BTreeSet<String> = import
        .imported
        .iter()
        .map(|imported| format!("{} of {}", imported.object.kind, imported.object.api_version))
        .collect();
    let kinds = kinds.into_iter().collect::<Vec<_>>().join(", ");
    append!(summary, "{} imported", import.imported.len());
    if !kinds.is_empty() {
        append!(summary, " ({kinds})");
    }
    let with_residue = import.imported.iter().filter(|imported| !imported.residue.is_empty()).count();
    if with_residue > 0 {
        append!(summary, ", {with_residue} of them with residue");
    }
    if !import.refused.is_empty() {
        append!(summary, ", {} refused", import.refused.len());
    }
    summary
}
