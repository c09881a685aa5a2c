//! `kubefoundry lint`: everything that is wrong with the input.

mod mend;

use std::env;

use kubefoundry::registry;
use kubefoundry_compiler::Thoroughness;
use kubefoundry_diagnostics::render::{self as diagnostics, Checkout, TestCase};
use kubefoundry_diagnostics::{Diagnostic, Severity};
use serde_json::{Map, Value};

use super::{CommandError, Run};
use crate::args::{FailOn, LintArgs, LintFormat, ReportFormat};
use crate::console::{self, Console};
use crate::exit::ExitStatus;
use crate::input::{self, Input};
use crate::style;

pub(crate) use mend::MendError;

pub(super) fn run(args: &LintArgs, console: &Console) -> Result<ExitStatus, CommandError> {
    // A change that touches no ModelDeployment is a good change.
    let options = Map::from_iter([("allowEmpty".to_owned(), Value::Bool(true))]);
    let mut input = input::read(&args.input, options)?;
    if !args.fix && !args.diff {
        let run = judged(input)?;
        console::print([report(&run, args, console)])?;
        return Ok(run.status(args.fail_on));
    }
    let mended = mend::mend(&mut input);
    if args.diff {
        console::print([mended.diff(&input)])?;
        console::note(&format!("{}\n", mended.summary("would fix")));
        let changes = mended.fixes > 0;
        return Ok(if changes { ExitStatus::Findings } else { ExitStatus::Success });
    }
    mended.write(&input)?;
    let fixed = input.stdin.map(|id| input.sources.get(id).text.clone());
    let run = judged(input)?;
    let report = report(&run, args, console);
    if let Some(text) = fixed {
        console::print([&text])?;
        console::note(&report);
    } else {
        console::print([&report])?;
    }
    if mended.fixes > 0 {
        console::note(&format!("{}\n", mended.summary("fixed")));
    }
    Ok(run.status(args.fail_on))
}

/// Compiles, and passes over what objects say to ignore, errors too: that they cannot be rendered is for `render` to
/// say.
fn judged(input: Input) -> Result<Run<()>, CommandError> {
    let mut run: Run<()> = Run::of(input, Thoroughness::EveryRule)?;
    let compilation = &mut run.compilation;
    // What is said of those that are not kept is no finding: they are counted.
    compilation.diagnostics.retain(|found| !found.suppressed || found.location.is_some());
    compilation.suppressed.extend(compilation.diagnostics.extract_if(.., |found| found.suppressed));
    Ok(run)
}

fn report(run: &Run<()>, args: &LintArgs, console: &Console) -> String {
    let (found, sources) = (&run.compilation.diagnostics, &run.sources);
    match args.output {
        LintFormat::Text => {
            let report = run.report(ReportFormat::Text, console.stdout_style());
            if found.is_empty() { format!("{}\n{report}", run.summary()) } else { report }
        }
        LintFormat::Concise => run.report(ReportFormat::Concise, console.stdout_style()),
        LintFormat::Json => run.report(ReportFormat::Json, console.stdout_style()),
        LintFormat::Github => diagnostics::github(found, sources, &checkout("GITHUB_WORKSPACE")),
        LintFormat::Gitlab => diagnostics::gitlab(found, sources, &checkout("CI_PROJECT_DIR")),
        LintFormat::Sarif => diagnostics::sarif(
            found,
            &run.compilation.suppressed,
            sources,
            &checkout("GITHUB_WORKSPACE"),
            registry::page,
        ),
        LintFormat::Junit => diagnostics::junit(found, sources, &cases(run), |found| fails(found, args.fail_on)),
    }
}

/// Whether a finding fails the run.
fn fails(found: &Diagnostic, fail_on: FailOn) -> bool {
    match fail_on {
        FailOn::Error => found.severity == Severity::Error,
        FailOn::Warning => found.severity != Severity::Info,
        FailOn::Never => false,
    }
}

/// Every object of ours in the input.
fn cases(run: &Run<()>) -> Vec<TestCase> {
    let ours = run.compilation.inputs.iter().filter(|input| input.rendered);
    ours.map(|input| TestCase { source: input.source, object: input.header.object() }).collect()
}

/// Where the repository is checked out: where the CI system says, if this runs below it, or else here.
fn checkout(variable: &str) -> Checkout {
    let here = env::current_dir().unwrap_or_default();
    let said = env::var_os(variable).map(std::path::PathBuf::from).filter(|root| here.starts_with(root));
    let root = said.unwrap_or_else(|| here.clone());
    Checkout { root: root.display().to_string(), directory: here.display().to_string() }
}

/// `fixed 2 findings in 1 file`.
fn fixes_in_files(verb: &str, fixes: usize, files: usize) -> String {
    if fixes == 0 {
        return format!("nothing to {}", verb.strip_prefix("would ").unwrap_or("fix"));
    }
    format!("{verb} {} in {}", style::count(fixes, "finding"), style::count(files, "file"))
}
