//! `kubefoundry plan`: shows what a change does to running models.

mod differences;
mod format;
mod inputs;
mod json;
mod markdown;
mod text;

use std::collections::{BTreeMap, BTreeSet};

use kubefoundry_compiler::pipeline::YamlText;
use kubefoundry_compiler::plan::{self, Applier, ChangeClass, DeploymentPlan, Plan};
use kubefoundry_diagnostics::source::SourceId;
use kubefoundry_diagnostics::{Diagnostic, ObjectRef, Severity};
use kubefoundry_yaml::field_path::FieldPath;

pub(crate) use inputs::PlanUsageError;

use super::located_decision::name_offsets;
use super::source_locator::SourceLocator;
use super::{CommandError, Run};
use crate::args::{ApplierChoice, FailOn, PlanArgs, PlanFailOn, ReportFormat, TableFormat};
use crate::console::{self, Console};
use crate::exit::ExitStatus;
use crate::style::count;

/// A plan with the runs that it compares.
struct PlanContext<'r> {
    plan: &'r Plan,
    old: &'r Run<YamlText>,
    new: &'r Run<YamlText>,
    /// Whether to add diffs of the objects.
    diff: bool,
}

pub(super) fn run(args: &PlanArgs, console: &Console) -> Result<ExitStatus, CommandError> {
    let inputs::PlanInputs { mut old, mut new, old_name } = inputs::read(args)?;
    // The JSON report lists all findings of both sides; elsewhere, only what the change brings and removes counts.
    let all_findings = (args.output == TableFormat::Json)
        .then(|| (old.compilation.diagnostics.clone(), new.compilation.diagnostics.clone()));
    let hidden = if old.compilation.has_errors() { 0 } else { hide_common_findings(&mut old, &mut new) };
    let is_failed = old.has_failed() || new.has_failed();
    if is_failed || args.output != TableFormat::Json {
        note_findings(&old, &old_name, &new, args.diagnostics.diagnostics, console);
        if hidden > 0 && args.diagnostics.diagnostics == ReportFormat::Text {
            let findings = count(hidden, "finding");
            console::note(&format!("not shown: {findings} that OLD and NEW have (see `kubefoundry lint`)\n"));
        }
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
    (old.compilation.diagnostics, new.compilation.diagnostics) = all_findings.unwrap_or_default();
    let applier = match args.applier {
        ApplierChoice::Apply => Applier::Apply,
        ApplierChoice::Operator => Applier::Operator,
    };
    let plan = plan::plan(plan_run(&old), plan_run(&new), applier).map_err(PlanUsageError::from)?;
    let context = PlanContext { plan: &plan, old: &old, new: &new, diff: args.diff };
    let report = match args.output {
        TableFormat::Text => text::text(&context, console.stdout_style()),
        TableFormat::Json => json::json(&context),
        TableFormat::Markdown => markdown::markdown(&context),
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

/// What makes two findings the same: one problem of one field, regardless of the line.
type FindingKey = (&'static str, Option<ObjectRef>, String, Option<FieldPath>);

fn finding_key(finding: &Diagnostic) -> FindingKey {
    let path = finding.location.as_ref().map(|location| location.path.clone());
    (finding.code.id, finding.object.clone(), finding.message.clone(), path)
}

/// Removes the findings that both sides have, except errors, and returns their number in NEW.
fn hide_common_findings(old: &mut Run<YamlText>, new: &mut Run<YamlText>) -> usize {
    let keys = |run: &Run<YamlText>| run.compilation.diagnostics.iter().map(finding_key).collect::<BTreeSet<_>>();
    let (old_keys, new_keys) = (keys(old), keys(new));
    old.compilation.diagnostics.retain(|finding| !new_keys.contains(&finding_key(finding)));
    let findings = &mut new.compilation.diagnostics;
    let count_before = findings.len();
    findings.retain(|finding| finding.severity == Severity::Error || !old_keys.contains(&finding_key(finding)));
    count_before - findings.len()
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

/// Locates the ModelDeployments of a run.
struct DeploymentLocator<'r> {
    run: &'r Run<YamlText>,
    locator: SourceLocator<'r>,
    offsets: BTreeMap<(SourceId, usize, &'r ObjectRef), usize>,
}

impl<'r> DeploymentLocator<'r> {
    fn new(run: &'r Run<YamlText>) -> Self {
        Self { run, locator: SourceLocator::new(&run.sources, &run.origins), offsets: name_offsets(run) }
    }

    fn locate(&mut self, position: usize) -> Option<DeploymentLocation<'r>> {
        let decision = self.run.compilation.decisions.get(position)?;
        let start = *self.offsets.get(&(decision.source, decision.document, &decision.object))?;
        let (file, position) = self.locator.locate(decision.source, start);
        Some(DeploymentLocation { file, document: decision.document, line: position.line, column: position.column })
    }
}
