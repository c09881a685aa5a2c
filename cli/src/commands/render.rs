//! `kubefoundry render`: prints the objects to apply, or writes them to files.

use std::borrow::Cow;
use std::path::Path;

use kubefoundry_compiler::Thoroughness;
use kubefoundry_compiler::options::render::OutputMode;
use kubefoundry_compiler::pipeline::{OutputForm, YamlText};
use kubefoundry_reports::manifests::{self, StreamError};
use serde_json::{Map, Value};

use super::watch;
use crate::args::{ObjectFormat, RenderArgs};
use crate::console::{self, Console};
use crate::exit::ExitStatus;
use crate::output::{self, DirectoryChanges, OutDirError, OutputObject, WrittenFiles};
use crate::run::{CommandError, ReportScope, Run};

pub(super) fn run(args: &RenderArgs, console: &Console) -> Result<ExitStatus, CommandError> {
    if args.files.watch {
        return match args.output {
            ObjectFormat::Yaml => watch_input::<YamlText>(args, console, |run, mode| {
                manifests::yaml(&run.sources, &run.compilation, mode)
            }),
            ObjectFormat::Json => watch_input::<Value>(args, console, |run, mode| {
                manifests::json(&run.sources, &run.compilation, mode).map(|text| vec![text.into()])
            }),
        };
    }
    match (&args.files.out_dir, args.output) {
        (Some(directory), format) => write_files(args, console, directory, format),
        (None, ObjectFormat::Yaml) => {
            print_objects::<YamlText>(args, console, |run, mode| manifests::yaml(&run.sources, &run.compilation, mode))
        }
        (None, ObjectFormat::Json) => print_objects::<Value>(args, console, |run, mode| {
            Ok(vec![manifests::json(&run.sources, &run.compilation, mode)?.into()])
        }),
    }
}

/// Renders the input again whenever it changes. After an error, nothing is printed or written.
fn watch_input<O: OutputForm + OutputObject + PartialEq>(
    args: &RenderArgs,
    console: &Console,
    text: impl for<'r> Fn(&'r Run<O>, OutputMode) -> Result<Vec<Cow<'r, str>>, StreamError>,
) -> Result<ExitStatus, CommandError> {
    let mut written = WrittenFiles::default();
    watch::watch(&args.input, options(args), scope(args), Thoroughness::Needed, |run: &mut Run<O>| {
        run.note_findings(args.diagnostics.diagnostics, console);
        if run.has_failed() || run.fails(args.fail_on.into()) {
            return Ok(());
        }
        let mode = run.output_mode();
        let Some(directory) = &args.files.out_dir else { return Ok(console::print_as_is(text(run, mode)?)?) };
        if mode != OutputMode::Generated {
            return Err(OutDirError::NotGenerated.into());
        }
        let (compilation, prune) = (&run.compilation, args.files.prune);
        let (changes, paths) = output::plan_changed_files(directory, compilation, args.output, prune, &written)?;
        output::write_changes(directory, &changes)?;
        if !run.is_quiet {
            console::note(&changes.list());
        }
        written = WrittenFiles::take_outputs(&mut run.compilation, paths);
        Ok(())
    })
}

/// Returns the options that the flags of this command set.
fn options(args: &RenderArgs) -> Map<String, Value> {
    let mut options = Map::new();
    if args.allow_empty {
        options.insert("allowEmpty".to_owned(), Value::Bool(true));
    }
    if args.all {
        options.insert("output".to_owned(), Value::from("replace"));
    }
    options
}

fn scope(args: &RenderArgs) -> ReportScope<'_> {
    ReportScope { findings: &args.diagnostics.findings, fail_on: args.fail_on.into() }
}

/// Compiles the input and prints the findings.
fn compile_input<O: OutputForm>(args: &RenderArgs, console: &Console) -> Result<Run<O>, CommandError> {
    let run = Run::new(&args.input, scope(args), options(args), Thoroughness::Needed)?;
    run.note_findings(args.diagnostics.diagnostics, console);
    Ok(run)
}

fn print_objects<O: OutputForm>(
    args: &RenderArgs,
    console: &Console,
    text: impl for<'r> Fn(&'r Run<O>, OutputMode) -> Result<Vec<Cow<'r, str>>, StreamError>,
) -> Result<ExitStatus, CommandError> {
    let run = compile_input::<O>(args, console)?;
    if run.has_failed() || run.fails(args.fail_on.into()) {
        return Ok(run.status(args.fail_on.into()));
    }
    console::print_as_is(text(&run, run.output_mode())?)?;
    Ok(ExitStatus::Success)
}

fn write_files(
    args: &RenderArgs,
    console: &Console,
    directory: &Path,
    format: ObjectFormat,
) -> Result<ExitStatus, CommandError> {
    let run = compile_input::<Value>(args, console)?;
    if run.has_failed() || run.fails(args.fail_on.into()) {
        // A script tells files that are not fresh from a check that was not made.
        return Ok(if args.files.check { ExitStatus::Failure } else { run.status(args.fail_on.into()) });
    }
    if run.output_mode() != OutputMode::Generated {
        return Err(OutDirError::NotGenerated.into());
    }
    let changes = output::plan_changes(directory, &run.compilation, format, args.files.prune)?;
    if args.files.check {
        return check_files(&changes, run.is_quiet);
    }
    output::write_changes(directory, &changes)?;
    if !run.is_quiet {
        console::note(&changes.list());
    }
    Ok(ExitStatus::Success)
}

/// Prints the difference between the files and what a run would write.
fn check_files(changes: &DirectoryChanges, is_quiet: bool) -> Result<ExitStatus, CommandError> {
    console::print(changes.diff())?;
    let (status, result) = if changes.is_fresh() {
        (ExitStatus::Success, "rendered manifests are fresh\n".to_owned())
    } else {
        let summary = changes.summary();
        (ExitStatus::Findings, format!("rendered manifests are not fresh ({summary}); run render without --check\n"))
    };
    if !is_quiet {
        console::note(&result);
    }
    Ok(status)
}
