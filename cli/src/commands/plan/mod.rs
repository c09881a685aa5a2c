//! `kubefoundry plan`: shows what a change does to running models.

mod format;
mod inputs;
mod markdown;
mod text;

use kubefoundry_analysis::plan::{self, Applier, ChangeClass, Plan};
use kubefoundry_compiler::pipeline::YamlText;
use kubefoundry_diagnostics::Severity;
use kubefoundry_reports::plan::{PlanContext, json, mark_new};

pub(crate) use inputs::PlanUsageError;

use crate::args::{ApplierChoice, PlanArgs, PlanFailOn, ReportFormat, TableFormat};
use crate::console::{self, Console};
use crate::exit::ExitStatus;
use crate::run::{CommandError, Run};
use crate::style::count;

pub(super) fn run(args: &PlanArgs, console: &Console) -> Result<ExitStatus, CommandError> {
    let inputs::PlanInputs { mut old, mut new, old_name } = inputs::read(args)?;
    // The JSON report lists all findings of both sides; elsewhere, only what the change brings and removes counts.
    let all_findings = (args.output == TableFormat::Json)
        .then(|| (old.compilation.diagnostics.clone(), new.compilation.diagnostics.clone()));
    let is_new = mark_new(&old.compilation.diagnostics, &new.compilation.diagnostics);
    let hidden = hide_common_findings(&mut old, &mut new, &is_new);
    let is_failed = old.has_failed() || new.has_failed();
    if is_failed || args.output != TableFormat::Json {
        note_findings(&old, &old_name, &new, args.diagnostics.diagnostics, console);
        if hidden > 0 && args.diagnostics.diagnostics == ReportFormat::Text && !new.is_quiet {
            let findings = count(hidden, "finding");
            console::note(&format!("not shown: {findings} that OLD and NEW have (see `kubefoundry lint`)\n"));
        }
    }
    if new.has_failed() {
        // A script tells a severe change from a plan that could not be made.
        return Ok(ExitStatus::Failure);
    }
    if old.has_failed() {
        console::note(&format!(
            "kubefoundry: {old_name} cannot be rendered because of its errors, so there is nothing to compare with\n"
        ));
        return Ok(ExitStatus::Failure);
    }
    (old.compilation.diagnostics, new.compilation.diagnostics) = all_findings.unwrap_or_default();
    let applier = match args.applier {
        ApplierChoice::Apply => Applier::Apply,
        ApplierChoice::Operator => Applier::Operator,
    };
    let plan = plan::plan(plan_run(&old), plan_run(&new), applier).map_err(PlanUsageError::from)?;
    let context = PlanContext { plan: &plan, old: old.result(), new: new.result(), is_new: &is_new, diff: args.diff };
    let report = match args.output {
        TableFormat::Text => text::text(&context, console.stdout_style()),
        TableFormat::Json => json(&context),
        TableFormat::Markdown => markdown::markdown(&context),
    };
    console::print_report([&report], args.output == TableFormat::Json)?;
    Ok(plan_status(&plan, args.fail_on))
}

fn plan_run(run: &Run<YamlText>) -> plan::PlanInput<'_> {
    plan::PlanInput { sources: &run.sources, compilation: &run.compilation }
}

fn plan_status(plan: &Plan, fail_on: PlanFailOn) -> ExitStatus {
    let threshold = match fail_on {
        PlanFailOn::Unknown => ChangeClass::Unknown,
        PlanFailOn::Recreate => ChangeClass::Recreate,
        PlanFailOn::Refused => ChangeClass::Refused,
        PlanFailOn::Never => return ExitStatus::Success,
    };
    if plan.class().is_some_and(|class| class >= threshold) { ExitStatus::Findings } else { ExitStatus::Success }
}

/// Removes the findings that both sides have, and returns their number in NEW. Errors of NEW stay, because they prevent the
/// plan.
fn hide_common_findings(old: &mut Run<YamlText>, new: &mut Run<YamlText>, is_new: &[bool]) -> usize {
    let (old, new) = (&mut old.compilation.diagnostics, &mut new.compilation.diagnostics);
    let mut is_only_old = mark_new(new, old).into_iter();
    old.retain(|_| is_only_old.next().unwrap_or(true));
    let (before, mut is_new) = (new.len(), is_new.iter());
    new.retain(|finding| *is_new.next().unwrap_or(&true) || finding.severity == Severity::Error);
    before - new.len()
}

/// Prints the findings that remain of NEW, and those of OLD if there is a plan or if OLD prevents it.
fn note_findings(old: &Run<YamlText>, old_name: &str, new: &Run<YamlText>, format: ReportFormat, console: &Console) {
    if !old.compilation.diagnostics.is_empty() && (!new.has_failed() || old.has_failed()) {
        if format == ReportFormat::Text {
            console::note(&format!("findings only in {old_name}:\n"));
        }
        old.note_findings(format, console);
        if format == ReportFormat::Text && !new.compilation.diagnostics.is_empty() {
            console::note("\nfindings in NEW:\n");
        }
    }
    if !new.compilation.diagnostics.is_empty() || format == ReportFormat::Json {
        new.note_findings(format, console);
    }
}
