//! `kubefoundry migrate`: to another provider, or to another API group.

use std::fmt::Write as _;
use std::path::PathBuf;

use kubefoundry_compiler::migrate::{
    MigratedDeployment, ProviderMigration, RegroupedText, migrate_to_group, migrate_to_provider,
};
use kubefoundry_diagnostics::source::SourceSet;
use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_model::providers;
use kubefoundry_yaml as yaml;
use serde::Serialize;
use serde_json::Value;

use super::{CommandError, findings_of, read, report_of, status_of};
use crate::args::{MigrateArgs, MigrationFormat};
use crate::console::{self, Console};
use crate::exit::ExitStatus;
use crate::input::Input;

/// A file could not be changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MigrateError {
    #[error("{}: {source}", path.display())]
    Write { path: PathBuf, source: std::io::Error },
    #[error("standard input cannot be changed in place; leave --in-place out, and its new text is printed")]
    Stdin,
}

#[derive(Serialize)]
struct Report<'r> {
    version: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    moved: Vec<Placed<'r, MigratedDeployment>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<Placed<'r, RegroupedText>>,
    diagnostics: Value,
}

#[derive(Serialize)]
struct Placed<'r, T> {
    file: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<usize>,
    #[serde(flatten)]
    what: &'r T,
}

pub(super) fn run(args: &MigrateArgs, console: &Console) -> Result<ExitStatus, CommandError> {
    let (input, is_partial) = read(&args.input)?;
    // clap has seen to it that there is one of the two, and that it is known.
    match (&args.to, &args.to_group) {
        (Some(name), _) => provider(args, name, &input, is_partial, console),
        (None, group) => regroup(args, group.as_deref().unwrap_or_default(), &input, is_partial, console),
    }
}

fn provider(
    args: &MigrateArgs,
    name: &str,
    input: &Input,
    is_partial: bool,
    console: &Console,
) -> Result<ExitStatus, CommandError> {
    let sources = &input.sources;
    let Some(provider) = providers::find(name) else { return Ok(ExitStatus::Failure) };
    let mut migration = migrate_to_provider(sources, provider);
    if is_partial || migration.has_errors() {
        migration.moved.clear();
    }
    let ProviderMigration { moved, diagnostics, .. } = &migration;
    if args.output == MigrationFormat::Json {
        let placed = moved.iter().map(|moved| Placed {
            file: &sources.get(moved.source).name,
            document: Some(moved.document),
            what: moved,
        });
        let moved = placed.collect();
        print_json(&Report { version: 1, moved, files: Vec::new(), diagnostics: findings_of(diagnostics, sources) })?;
    } else {
        let format = args.diagnostics.diagnostics;
        console::note(&report_of(diagnostics, sources, format, console.stderr_style()));
        console::print([match args.output {
            MigrationFormat::Yaml => yaml::to_yaml_stream(moved.iter().map(|moved| &moved.model_deployment)),
            _ => moved.iter().map(text).collect::<Vec<_>>().join("\n"),
        }])?;
    }
    Ok(status_of(diagnostics, sources, is_partial))
}

/// A migration for people.
fn text(moved: &MigratedDeployment) -> String {
    let MigratedDeployment { object, from, to, capabilities_lost, losses, model_deployment, plan, .. } = moved;
    let mut out = format!("{object}: {from} -> {to}\n");
    let mut list = |title: &str, lines: &[String]| {
        if !lines.is_empty() {
            let _ = write!(out, "\n{title}\n");
            for line in lines {
                let _ = writeln!(out, "  - {line}");
            }
        }
    };
    list("What is lost, or to be looked at:", losses);
    list(&format!("What {from} runs and {to} does not:"), capabilities_lost);
    out.push_str("\nThe new ModelDeployment:\n");
    let mut document = String::new();
    yaml::to_yaml(model_deployment, &mut document);
    for line in document.lines() {
        let _ = writeln!(out, "  {line}");
    }
    out.push_str("\nThe steps:\n");
    for (index, step) in plan.iter().enumerate() {
        let _ = writeln!(out, "  {}. {}", index + 1, step.title);
        for note in &step.notes {
            let _ = writeln!(out, "     {note}");
        }
    }
    out
}

fn regroup(
    args: &MigrateArgs,
    group: &str,
    input: &Input,
    is_partial: bool,
    console: &Console,
) -> Result<ExitStatus, CommandError> {
    let sources = &input.sources;
    let Some(target) = ApiGroup::find(group) else { return Ok(ExitStatus::Failure) };
    let mut regrouping = migrate_to_group(sources, target);
    if is_partial || regrouping.has_errors() {
        regrouping.texts.clear();
    }
    let (texts, found) = (&regrouping.texts, &regrouping.diagnostics);
    if args.output == MigrationFormat::Json {
        let placed = texts.iter().map(|what| Placed { file: &sources.get(what.source).name, document: None, what });
        let files = placed.collect();
        print_json(&Report { version: 1, moved: Vec::new(), files, diagnostics: findings_of(found, sources) })?;
        return Ok(status_of(found, sources, is_partial));
    }
    console::note(&report_of(found, sources, args.diagnostics.diagnostics, console.stderr_style()));
    if args.in_place {
        write(texts, input)?;
    } else {
        console::print([stream(texts, sources)])?;
    }
    Ok(status_of(found, sources, is_partial))
}

/// The texts one after the other.
fn stream(texts: &[RegroupedText], sources: &SourceSet) -> String {
    let mut out = String::new();
    for text in texts {
        if texts.len() > 1 {
            let separator = if out.is_empty() { "" } else { "---\n" };
            let _ = writeln!(out, "{separator}# {}", sources.get(text.source).name);
        }
        out.push_str(&text.text);
        if !out.ends_with('\n') {
            out.push('\n');
        }
    }
    out
}

/// Changes the files, once all of them are known to be good.
fn write(texts: &[RegroupedText], input: &Input) -> Result<(), MigrateError> {
    if texts.iter().any(|text| input.stdin == Some(text.source)) {
        return Err(MigrateError::Stdin);
    }
    for text in texts {
        if let Some(path) = input.files.get(&text.source) {
            std::fs::write(path, &text.text).map_err(|source| MigrateError::Write { path: path.clone(), source })?;
        }
    }
    Ok(())
}

fn print_json(report: &Report<'_>) -> Result<(), CommandError> {
    console::print([serde_json::to_string_pretty(report).unwrap_or_default() + "\n"])?;
    Ok(())
}
