//! `kubefoundry plan`: shows what a change does to running models.

mod differences;
mod format;
mod inputs;
mod json;
mod markdown;
mod text;

use kubefoundry_compiler::pipeline::YamlText;
use kubefoundry_compiler::plan::{self, Applier, ChangeClass, DeploymentPlan, Plan};
use kubefoundry_diagnostics::Diagnostic;

pub(crate) use inputs::PlanUsageError;

use super::source_locator::SourceLocator;
use super::{CommandError, Run};
use crate::args::{ApplierChoice, FailOn, PlanArgs, PlanFailOn, PlanFormat, ReportFormat};
use crate::console::{self, Console};
use crate::exit::ExitStatus;

/// A plan with the runs that it compares.
struct PlanContext<'r> {
    plan: &'r Plan,
    old: &'r Run<YamlText>,
    new: &'r Run<YamlText>,
    /// Whether to add diffs of the objects.
    diff: bool,
}

pub(super) fn run(args: &PlanArgs, console: &Console) -> Result<ExitStatus, CommandError> {
    let inputs::PlanInputs { mut old, new, old_name } = inputs::read(args)?;
    // The JSON report lists all findings of OLD; elsewhere, those that NEW has as well are printed only once.
    let all_old_findings = (args.output == PlanFormat::Json).then(|| old.compilation.diagnostics.clone());
    if !old.compilation.has_errors() {
        let new_findings = &new.compilation.diagnostics;
        old.compilation.diagnostics.retain(|finding| !new_findings.iter().any(|new| is_same_finding(finding, new)));
    }
    let is_failed = old.has_failed() || new.has_failed();
    if is_failed || args.output != PlanFormat::Json {
        note_findings(&old, &old_name, &new, args.diagnostics.diagnostics, console);
    }
    if new.has_failed() {
        return Ok(new.status(FailOn::Error));
    }
    if old.has_failed() {
        console::note(&format!(
            "kubefoundry: {old_name} cannot be rendered because of its errors, so there is nothing to compare with\n"
        ));
        return Ok(old.status(FailOn::Error));
    }
    old.compilation.diagnostics = all_old_findings.unwrap_or_default();
    let applier = match args.applier {
        ApplierChoice::Apply => Applier::Apply,
        ApplierChoice::Operator => Applier::Operator,
    };
    let plan = plan::plan(plan_run(&old), plan_run(&new), applier).map_err(PlanUsageError::from)?;
    let context = PlanContext { plan: &plan, old: &old, new: &new, diff: args.diff };
    let report = match args.output {
        PlanFormat::Text => text::text(&context, console.stdout_style()),
        PlanFormat::Json => json::json(&context),
        PlanFormat::Markdown => markdown::markdown(&context),
    };
    console::print([&report])?;
    Ok(plan_status(&plan, args.fail_on))
}

fn plan_run(run: &Run<YamlText>) -> plan::PlanInput<'_> {
    plan::PlanInput { sources: &run.sources, compilation: &run.compilation }
}

fn plan_status(plan: &Plan, fail_on: PlanFailOn) -> ExitStatus {
    let threshold = match fail_on {
        PlanFailOn::Recreate => ChangeClass::Recreate,
        PlanFailOn::Refused => ChangeClass::Refused,
        PlanFailOn::Never => return ExitStatus::Success,
    };
    if plan.class().is_some_and(|class| class >= threshold) { ExitStatus::Findings } else { ExitStatus::Success }
}

/// Whether two findings report the same problem of the same field, regardless of the line.
fn is_same_finding(one: &Diagnostic, other: &Diagnostic) -> bool {
    let path = |finding: &Diagnostic| finding.location.as_ref().map(|location| location.path.clone());
    one.code == other.code && one.object == other.object && one.message == other.message && path(one) == path(other)
}

/// Prints the findings of NEW, and those of OLD if there is a plan or if OLD prevents it.
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

/// The location of a ModelDeployment: in NEW, or in OLD if NEW does not have it.
#[derive(Clone)]
struct DeploymentLocation<'r> {
    file: &'r str,
    document: usize,
    line: usize,
    column: usize,
}

/// Locates the deployments of a plan, in order.
fn locate_deployments<'r>(context: &PlanContext<'r>) -> Vec<Option<DeploymentLocation<'r>>> {
    let (mut old, mut new) = (DeploymentLocator::new(context.old), DeploymentLocator::new(context.new));
    let locate = |deployment: &DeploymentPlan| match (deployment.new, deployment.old) {
        (Some(position), _) => new.locate(position),
        (None, Some(position)) => old.locate(position),
        (None, None) => None,
    };
    context.plan.deployments.iter().map(locate).collect()
}

/// Locates the ModelDeployments of a run. They must be requested in order of their decisions.
struct DeploymentLocator<'r> {
    run: &'r Run<YamlText>,
    locator: SourceLocator<'r>,
    /// Index of the input at which the next search starts: decisions and inputs have the same order, so one pass
    /// suffices.
    next: usize,
}

impl<'r> DeploymentLocator<'r> {
    fn new(run: &'r Run<YamlText>) -> Self {
        Self { run, locator: SourceLocator::new(&run.sources), next: 0 }
    }

    fn locate(&mut self, position: usize) -> Option<DeploymentLocation<'r>> {
        let decision = self.run.compilation.decisions.get(position)?;
        let inputs = &self.run.compilation.inputs;
        let next = inputs.iter().enumerate().skip(self.next).find(|(_, input)| {
            input.source == decision.source
                && input.index == decision.document
                && input.rendered
                && input.header.object() == decision.object
        });
        let (index, input) = next?;
        self.next = index + 1;
        let (file, position) = self.locator.locate(decision.source, input.name_span.start);
        Some(DeploymentLocation { file, document: decision.document, line: position.line, column: position.column })
    }
}
