//! `kubefoundry migrate`: moves ModelDeployments to another provider or API group.

use std::path::PathBuf;

use kubefoundry_composition::BUILTIN;
use kubefoundry_convert::migrate::{
    MigratedDeployment, ProviderMigration, RegroupedText, migrate_to_group, migrate_to_provider,
};
use kubefoundry_diagnostics::source::SourceSet;
use kubefoundry_input::Input;
use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_reports::migration;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::{append, append_line};

use crate::args::{FailOn, MigrateArgs, MigrationFormat};
use crate::console::{self, Console};
use crate::exit::ExitStatus;
use crate::output::input_changes::{ChangedFile, change_inputs};
use crate::run::{CommandError, exit_status, note_findings, read_input};

/// Reasons why a file cannot be changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MigrateError {
    #[error("standard input cannot be changed in place; remove --in-place to print its new text")]
    Stdin,
}

pub(super) fn run(args: &MigrateArgs, console: &Console) -> Result<ExitStatus, CommandError> {
    let (input, is_partial) = read_input(&args.input, &args.diagnostics.findings)?;
    // clap ensures that exactly one of the two is set, and that it has a known value.
    match (&args.to, &args.to_group) {
        (Some(name), _) => run_provider_migration(args, name, &input, is_partial, console),
        (None, Some(group)) => run_group_migration(args, group, &input, is_partial, console),
        (None, None) => Ok(ExitStatus::Failure),
    }
}

fn run_provider_migration(
    args: &MigrateArgs,
    name: &str,
    input: &Input,
    is_partial: bool,
    console: &Console,
) -> Result<ExitStatus, CommandError> {
    let sources = &input.sources;
    let Some(provider) = BUILTIN.find_provider(name) else { return Ok(ExitStatus::Failure) };
    let mut migrated = migrate_to_provider(&BUILTIN, sources, provider);
    args.diagnostics.findings.retain(&mut migrated.diagnostics, FailOn::Error);
    let ProviderMigration { moved, diagnostics, .. } = &migrated;
    if args.output == MigrationFormat::Json {
        console::print_as_is([migration::json(moved, &[], diagnostics, sources)])?;
    } else {
        let result = format!("{} migrated", moved.len());
        note_findings(&result, diagnostics, sources, &args.diagnostics, console);
        match args.output {
            MigrationFormat::Yaml => {
                console::print_as_is([yaml::to_yaml_stream(moved.iter().map(|moved| &moved.model_deployment))])?;
            }
            _ => console::print([moved.iter().map(format_migration).collect::<Vec<_>>().join("\n")])?,
        }
    }
    Ok(exit_status(diagnostics, sources, is_partial))
}

/// Formats a migration as text: what is lost, the new ModelDeployment and the steps.
fn format_migration(moved: &MigratedDeployment) -> String {
    let MigratedDeployment { object, from, to, capabilities_lost, losses, model_deployment, plan, .. } = moved;
    let mut out = format!("{object}: {from} -> {to}\n");
    let mut write_list = |title: &str, lines: &[String]| {
        if !lines.is_empty() {
            append!(out, "\n{title}\n");
            for line in lines {
                append_line!(out, "  - {line}");
            }
        }
    };
    write_list("Lost or to be checked:", losses);
    write_list(&format!("Supported by {from} but not by {to}:"), capabilities_lost);
    out.push_str("\nNew ModelDeployment:\n");
    let mut document = String::new();
    yaml::to_yaml(model_deployment, &mut document);
    for line in document.lines() {
        append_line!(out, "  {line}");
    }
    out.push_str("\nSteps:\n");
    for (index, step) in plan.iter().enumerate() {
        append_line!(out, "  {}. {}", index + 1, step.title);
        for note in &step.notes {
            append_line!(out, "     {note}");
        }
    }
    out
}

fn run_group_migration(
    args: &MigrateArgs,
    group: &str,
    input: &Input,
    is_partial: bool,
    console: &Console,
) -> Result<ExitStatus, CommandError> {
    let sources = &input.sources;
    let Some(new_group) = ApiGroup::find(group) else { return Ok(ExitStatus::Failure) };
    let mut regrouping = migrate_to_group(&BUILTIN, sources, new_group);
    args.diagnostics.findings.retain(&mut regrouping.diagnostics, FailOn::Error);
    if is_partial || regrouping.has_errors() {
        regrouping.texts.clear();
    }
    let (texts, findings) = (&regrouping.texts, &regrouping.diagnostics);
    if args.output == MigrationFormat::Json {
        console::print_as_is([migration::json(&[], texts, findings, sources)])?;
        return Ok(exit_status(findings, sources, is_partial));
    }
    let result = format!("{} migrated", texts.iter().map(|text| text.objects.len()).sum::<usize>());
    note_findings(&result, findings, sources, &args.diagnostics, console);
    if args.in_place {
        write_in_place(texts, input, &args.input.paths)?;
    } else {
        console::print_as_is([join_texts(texts, sources)])?;
    }
    Ok(exit_status(findings, sources, is_partial))
}

/// Joins the new texts to one stream. If there are several, each starts with a comment that names its file.
fn join_texts(texts: &[RegroupedText], sources: &SourceSet) -> String {
    let mut out = String::new();
    for text in texts {
        if texts.len() > 1 {
            let separator = if out.is_empty() { "" } else { "---\n" };
            append_line!(out, "{separator}# {}", sources.get(text.source).name);
        }
        out.push_str(&text.text);
        if !out.ends_with('\n') {
            out.push('\n');
        }
    }
    out
}

/// Overwrites the files with their new texts.
fn write_in_place(texts: &[RegroupedText], input: &Input, paths: &[PathBuf]) -> Result<(), CommandError> {
    if texts.iter().any(|text| input.stdin == Some(text.source)) {
        return Err(MigrateError::Stdin.into());
    }
    let files = texts.iter().filter_map(|text| {
        let original = &input.sources.get(text.source).text;
        Some(ChangedFile { path: input.files.get(&text.source)?, original, text: &text.text })
    });
    change_inputs(&files.collect::<Vec<_>>(), paths)?;
    Ok(())
}
