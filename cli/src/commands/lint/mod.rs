//! `kubefoundry lint`: reports the findings in the input, and fixes them.

mod base;
mod baseline;
mod fix;

use std::env;
use std::iter::once;
use std::path::Path;

use kubefoundry::registry;
use kubefoundry_compiler::{Thoroughness, pipeline};
use kubefoundry_diagnostics::Diagnostic;
use kubefoundry_diagnostics::render::{self as diagnostics, Checkout, TestCase};
use kubefoundry_input::{self as input, BuildArgs, Input, InputArgs, Sides};
use serde_json::{Map, Value};

use self::base::{is_ignored_in_base, read_baseline};
use self::baseline::{Baseline, Matches};
use super::watch;
use crate::args::{FailOn, LintArgs, LintFormat, ReportFormat};
use crate::console::{self, Console};
use crate::exit::ExitStatus;
use crate::run::{CommandError, ReportOptions, ReportScope, Run, read_with, read_with_progress};
use crate::style;

/// The report of `lint` is its output.
const PRINTED: ReportOptions = ReportOptions { list_all: "--output concise", fix: "the `--fix` option" };

pub(super) fn run(args: &LintArgs, console: &Console) -> Result<ExitStatus, CommandError> {
    // In hooks and CI, a change without a ModelDeployment must pass.
    let options = Map::from_iter([("allowEmpty".to_owned(), Value::Bool(true))]);
    let sides = args.git.as_deref().map(|revisions| Sides::read(revisions, &args.input.paths)).transpose()?;
    let baseline = args.baseline.as_deref().map(|path| read_baseline(path, sides.as_ref())).transpose()?;
    if args.watch {
        return watch::watch(&args.input, options, scope(args), Thoroughness::EveryRule, |run: &mut Run<()>| {
            set_known_aside(run, args, baseline.as_ref(), None);
            Ok(console::print_report(report(run, args, console), args.output.is_parsed())?)
        });
    }
    if !args.fix && !args.diff {
        let input = read_with(&args.input, &args.findings, options, |input, options| {
            input::read_judging(input, options, sides.as_ref())
        })?;
        let mut run = lint_input(input, args, baseline.as_ref(), sides.as_ref())?;
        if let Some(path) = &args.write_baseline {
            write_baseline(&mut run, path, args)?;
        }
        console::print_report(report(&run, args, console), args.output.is_parsed())?;
        return Ok(run.status(args.fail_on));
    }
    // Fixes are for files, not for what is built from them.
    let build = BuildArgs { no_kustomize: true, ..BuildArgs::default() };
    let files = InputArgs { build, ..args.input.clone() };
    let mut input = read_with_progress(&files, &args.findings, options.clone())?;
    let applied = fix::apply_fixes(&mut input, |findings, sources| {
        args.findings.retain(findings, args.fail_on);
        baseline.as_ref().map(|baseline| baseline.remove_known(findings, sources));
    });
    let note_summary = |verb: &str| {
        if !args.findings.quiet {
            console::note(&format!("{}\n", applied.summary(verb)));
        }
    };
    if args.diff {
        console::print([applied.diff(&input)])?;
        note_summary("would fix");
        let changes = applied.fixes > 0;
        return Ok(if changes { ExitStatus::Findings } else { ExitStatus::Success });
    }
    applied.write(&input, &args.input.paths)?;
    let fixed = input.stdin.map(|id| input.sources.get(id).text.clone());
    let input = if fixed.is_some() { input } else { read_with_progress(&args.input, &args.findings, options)? };
    let run = lint_input(input, args, baseline.as_ref(), None)?;
    let report = report(&run, args, console);
    if let Some(text) = fixed {
        console::print_as_is([&text])?;
        console::note_report(report, args.output.is_parsed());
    } else {
        console::print_report(report, args.output.is_parsed())?;
    }
    if applied.fixes > 0 {
        note_summary("fixed");
    }
    Ok(run.status(args.fail_on))
}

fn scope(args: &LintArgs) -> ReportScope<'_> {
    ReportScope { findings: &args.findings, fail_on: args.fail_on }
}

/// Compiles the input and drops suppressed findings and those in the baseline, including errors; `render` still fails on
/// them.
fn lint_input(
    input: Input,
    args: &LintArgs,
    baseline: Option<&Baseline>,
    sides: Option<&Sides>,
) -> Result<Run<()>, CommandError> {
    let mut run: Run<()> = Run::from_input(input, scope(args), Thoroughness::EveryRule)?;
    set_known_aside(&mut run, args, baseline, sides);
    Ok(run)
}

/// Drops suppressed findings and those in the baseline, and notes entries of the baseline that do not occur. A finding
/// that only the new side of a change suppresses is reported.
fn set_known_aside(run: &mut Run<()>, args: &LintArgs, baseline: Option<&Baseline>, sides: Option<&Sides>) {
    let compilation = &mut run.compilation;
    if let Some(sides) = sides {
        let is_new = |finding: &mut Diagnostic| !is_ignored_in_base(finding, &run.sources, sides);
        let reported = compilation.suppressed.extract_if(.., is_new).collect::<Vec<_>>();
        for mut finding in reported {
            finding.suppressed = false;
            let source = finding.location.as_ref().map(|location| location.source);
            let environments = run.sources.environments().iter();
            let environment = environments.rev().find(|it| source.is_some_and(|source| it.contains(source)));
            let options = compilation.options_of(environment.map(|it| &*it.name));
            let adjusted = options.adjust(finding);
            compilation.diagnostics.extend(adjusted);
        }
        pipeline::sort(&mut compilation.diagnostics, &run.sources);
        run.hidden += args.findings.retain(&mut compilation.diagnostics, args.fail_on);
    }
    // Suppressed findings beyond the limit of stored ones have no location and are only counted.
    compilation.diagnostics.retain(|finding| !finding.suppressed || finding.location.is_some());
    compilation.suppressed.extend(compilation.diagnostics.extract_if(.., |finding| finding.suppressed));
    if let Some(baseline) = baseline {
        let Matches { found, outdated } = baseline.remove_known(&mut compilation.diagnostics, &run.sources);
        run.in_baseline = found;
        // Entries for findings that are not reported anyway are not outdated.
        if outdated > 0 && args.findings.has_every_finding() && !run.is_partial {
            let path = baseline.path().display().to_string();
            let (path, verb) = (style::printable(&path), if outdated == 1 { "occurs" } else { "occur" });
            console::note(&format!(
                "kubefoundry: {path}: {} no longer {verb}; to update the file, run lint with --write-baseline\n",
                style::count(outdated, "listed finding")
            ));
        }
    }
}

/// Writes the findings to a baseline, and drops them. A run that was not complete has no baseline.
fn write_baseline(run: &mut Run<()>, path: &Path, args: &LintArgs) -> Result<(), CommandError> {
    if run.status(FailOn::Never) == ExitStatus::Failure {
        return Ok(());
    }
    let findings = &mut run.compilation.diagnostics;
    let baseline = Baseline::from_findings(path, findings, &run.sources)?;
    baseline.write()?;
    run.in_baseline = baseline.remove_known(findings, &run.sources).found;
    if !args.findings.quiet {
        let path = path.display().to_string();
        let findings = style::count(run.in_baseline, "finding");
        console::note(&format!("wrote {findings} to {}\n", style::printable(&path)));
    }
    Ok(())
}

/// Formats the findings, in parts.
fn report<'r>(run: &'r Run<()>, args: &LintArgs, console: &Console) -> Box<dyn Iterator<Item = String> + 'r> {
    let (findings, sources) = (&run.compilation.diagnostics, &run.sources);
    let style = console.stdout_style();
    let text = match args.output {
        LintFormat::Text if findings.is_empty() && !args.findings.quiet => {
            let end = run.report_parts(ReportFormat::Text, style, &PRINTED);
            return Box::new(once(format!("{}\n", run.summary())).chain(end));
        }
        LintFormat::Text => return run.report_parts(ReportFormat::Text, style, &PRINTED),
        LintFormat::Concise => return run.report_parts(ReportFormat::Concise, style, &PRINTED),
        LintFormat::Json => return run.report_parts(ReportFormat::Json, style, &PRINTED),
        LintFormat::Github => {
            let not_judged = run.count_not_judged();
            diagnostics::github(findings, sources, &checkout("GITHUB_WORKSPACE"), not_judged.as_deref())
        }
        LintFormat::Gitlab => diagnostics::gitlab(findings, sources, &checkout("CI_PROJECT_DIR")),
        LintFormat::Sarif => diagnostics::sarif(
            findings,
            &run.compilation.suppressed,
            sources,
            &checkout("GITHUB_WORKSPACE"),
            run.not_judged,
            registry::page,
        ),
        LintFormat::Junit => {
            diagnostics::junit(findings, sources, &junit_cases(run), |finding| is_failure(finding, args.fail_on))
        }
    };
    Box::new(once(text))
}

/// Whether a finding fails the run.
fn is_failure(finding: &Diagnostic, fail_on: FailOn) -> bool {
    fail_on.severity().is_some_and(|least| finding.severity <= least)
}

/// Returns a JUnit test case for each object of the input that is rendered.
fn junit_cases(run: &Run<()>) -> Vec<TestCase> {
    let rendered = run.compilation.inputs.iter().filter(|input| input.rendered);
    rendered.map(|input| TestCase { source: input.source, object: input.header.object() }).collect()
}

/// Returns the root of the checkout, which paths in CI reports are relative to: the directory in the variable of the CI
/// system if the working directory is inside of it, or else the working directory.
fn checkout(variable: &str) -> Checkout {
    #[expect(clippy::disallowed_methods, reason = "in a directory that was removed, paths stay as they are")]
    let here = env::current_dir().unwrap_or_default();
    let ci_root = env::var_os(variable).map(std::path::PathBuf::from).filter(|root| here.starts_with(root));
    let root = ci_root.unwrap_or_else(|| here.clone());
    Checkout { root: root.display().to_string(), directory: here.display().to_string() }
}

/// Formats the numbers of fixes and files: `2 findings in 1 file`.
fn fixes_in_files(verb: &str, fixes: usize, files: usize) -> String {
    if fixes == 0 {
        return format!("nothing to {}", verb.strip_prefix("would ").unwrap_or("fix"));
    }
    format!("{verb} {} in {}", style::count(fixes, "finding"), style::count(files, "file"))
}
