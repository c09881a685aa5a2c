//! `kubefoundry plan`: what a change does to what runs.

mod differences;
mod json;
mod markdown;
mod sides;
mod text;
mod words;

use kubefoundry_compiler::pipeline::YamlText;
use kubefoundry_compiler::plan::{self, Applier, ChangeClass, DeploymentPlan, Plan};
use kubefoundry_diagnostics::Diagnostic;

pub(crate) use sides::PlanUsage;

use super::places::Places;
use super::{CommandError, Run};
use crate::args::{ApplierChoice, FailOn, PlanArgs, PlanFailOn, PlanFormat, ReportFormat};
use crate::console::{self, Console};
use crate::exit::ExitStatus;

/// Both runs, and what going from one to the other does.
struct Planned<'r> {
    plan: &'r Plan,
    old: &'r Run<YamlText>,
    new: &'r Run<YamlText>,
    /// Whether the objects are compared, too.
    diff: bool,
}

pub(super) fn run(args: &PlanArgs, console: &Console) -> Result<ExitStatus, CommandError> {
    let sides::Sides { mut old, new, old_name } = sides::read(args)?;
    let every_old = (args.output == PlanFormat::Json).then(|| old.compilation.diagnostics.clone());
    if !old.compilation.has_errors() {
        // What is said of NEW needs no second word.
        old.compilation.diagnostics.retain(|found| !new.compilation.diagnostics.iter().any(|new| is_same(found, new)));
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
            "kubefoundry: {old_name} has errors: nothing is rendered from it, so there is nothing to compare with\n"
        ));
        return Ok(old.status(FailOn::Error));
    }
    old.compilation.diagnostics = every_old.unwrap_or_default();
    let applier = match args.applier {
        ApplierChoice::Apply => Applier::Apply,
        ApplierChoice::Operator => Applier::Operator,
    };
    let plan = plan::plan(side(&old), side(&new), applier).map_err(PlanUsage::from)?;
    let planned = Planned { plan: &plan, old: &old, new: &new, diff: args.diff };
    let report = match args.output {
        PlanFormat::Text => text::text(&planned, console.stdout_style()),
        PlanFormat::Json => json::json(&planned),
        PlanFormat::Markdown => markdown::markdown(&planned),
    };
    console::print([&report])?;
    Ok(status(&plan, args.fail_on))
}

fn side(run: &Run<YamlText>) -> plan::PlanInput<'_> {
    plan::PlanInput { sources: &run.sources, compilation: &run.compilation }
}

fn status(plan: &Plan, fail_on: PlanFailOn) -> ExitStatus {
    let least = match fail_on {
        PlanFailOn::Recreate => ChangeClass::Recreate,
        PlanFailOn::Refused => ChangeClass::Refused,
        PlanFailOn::Never => return ExitStatus::Success,
    };
    if plan.class().is_some_and(|class| class >= least) { ExitStatus::Findings } else { ExitStatus::Success }
}

/// Whether two findings say the same of the same field, wherever it stands.
fn is_same(one: &Diagnostic, other: &Diagnostic) -> bool {
    let path = |found: &Diagnostic| found.location.as_ref().map(|location| location.path.clone());
    one.code == other.code && one.object == other.object && one.message == other.message && path(one) == path(other)
}

/// What is wrong with OLD matters beside a plan, or when it is why there is none.
fn note_findings(old: &Run<YamlText>, old_name: &str, new: &Run<YamlText>, format: ReportFormat, console: &Console) {
    if !old.compilation.diagnostics.is_empty() && (!new.has_failed() || old.has_failed()) {
        if format == ReportFormat::Text {
            console::note(&format!("findings of {old_name} only:\n"));
        }
        old.note_findings(format, console);
        if format == ReportFormat::Text && !new.compilation.diagnostics.is_empty() {
            console::note("\nfindings of NEW:\n");
        }
    }
    if !new.compilation.diagnostics.is_empty() || format == ReportFormat::Json {
        new.note_findings(format, console);
    }
}

/// Where a ModelDeployment stands: in NEW, or in OLD when it is gone.
#[derive(Clone)]
struct Place<'r> {
    file: &'r str,
    document: usize,
    line: usize,
    column: usize,
}

/// The places of all deployments, in their order.
fn places<'r>(planned: &Planned<'r>) -> Vec<Option<Place<'r>>> {
    let (mut old, mut new) = (Finder::new(planned.old), Finder::new(planned.new));
    let place = |deployment: &DeploymentPlan| match (deployment.new, deployment.old) {
        (Some(position), _) => new.place(position),
        (None, Some(position)) => old.place(position),
        (None, None) => None,
    };
    planned.plan.deployments.iter().map(place).collect()
}

/// Finds the names of a run's ModelDeployments, in order.
struct Finder<'r> {
    run: &'r Run<YamlText>,
    places: Places<'r>,
    /// Where the next one is looked for: decisions and inputs are in one order.
    next: usize,
}

impl<'r> Finder<'r> {
    fn new(run: &'r Run<YamlText>) -> Self {
        Self { run, places: Places::new(&run.sources), next: 0 }
    }

    fn place(&mut self, position: usize) -> Option<Place<'r>> {
        let decision = self.run.compilation.decisions.get(position)?;
        let inputs = &self.run.compilation.inputs;
        let later = inputs.iter().enumerate().skip(self.next).find(|(_, input)| {
            input.source == decision.source
                && input.index == decision.document
                && input.rendered
                && input.header.object() == decision.object
        });
        let (at, input) = later?;
        self.next = at + 1;
        let (file, position) = self.places.at(decision.source, input.name_span.start);
        Some(Place { file, document: decision.document, line: position.line, column: position.column })
    }
}
