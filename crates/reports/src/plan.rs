//! The JSON report of `plan`, the places of its deployments, and the diffs of their objects.

use std::collections::BTreeMap;

use crate::diff::unified_diff;
use crate::run::{RunResult, SourceLocator};
use kubefoundry_analysis::plan::{
    Applier, DeploymentPlan, GpuChange, ImageChange, ObjectPlan, Plan, RuntimeChange, Summary,
};
use kubefoundry_compiler::pipeline::YamlText;
use kubefoundry_diagnostics::render::{JsonFindings, ReportVersion, to_report};
use kubefoundry_diagnostics::source::SourceId;
use kubefoundry_diagnostics::{Diagnostic, ObjectRef};
use kubefoundry_kubernetes::manifest::owner_name;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::printable;
use serde::Serialize;
use serde_json::Value;

/// A plan with the runs that it compares.
pub struct PlanContext<'r> {
    /// What the change does.
    pub plan: &'r Plan,
    /// The run before the change.
    pub old: RunResult<'r, YamlText>,
    /// The run after it.
    pub new: RunResult<'r, YamlText>,
    /// For each finding of NEW, whether OLD does not have it.
    pub is_new: &'r [bool],
    /// Whether to add diffs of the objects.
    pub diff: bool,
}

/// What makes two findings the same: one problem of one field, regardless of the line.
type FindingKey = (&'static str, Option<ObjectRef>, String, Option<FieldPath>);

fn finding_key(finding: &Diagnostic) -> FindingKey {
    let path = finding.location.as_ref().map(|location| location.path.clone());
    (finding.code.id, finding.object.clone(), finding.message.clone(), path)
}

/// Returns for each finding of one side whether the other side does not have it. Of equal findings, those beyond the number
/// on the other side are new.
pub fn mark_new(old: &[Diagnostic], new: &[Diagnostic]) -> Vec<bool> {
    let mut counts: BTreeMap<FindingKey, usize> = BTreeMap::new();
    for finding in old {
        *counts.entry(finding_key(finding)).or_default() += 1;
    }
    let is_new = |finding: &Diagnostic| match counts.get_mut(&finding_key(finding)) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    };
    new.iter().map(is_new).collect()
}

/// What `kubefoundry plan --output json` prints.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PlanReport<'r> {
    version: ReportVersion,
    /// The client that applies the objects to the cluster.
    applier: Applier,
    /// The number of deployments by action and class, and the GPUs of all deployments.
    summary: &'r Summary,
    /// GPUs of all deployments, by resource name.
    gpus: &'r [GpuChange],
    /// Runtimes that change, by provider and version.
    runtimes: &'r [RuntimeChange],
    /// Images that change, sorted.
    images: &'r [ImageChange],
    /// The deployments of NEW in input order, then the deleted ones.
    deployments: Vec<LocatedPlan<'r>>,
    /// Every finding of OLD.
    old_diagnostics: JsonFindings,
    /// Every finding of NEW.
    diagnostics: Vec<MarkedFinding>,
}

/// The effect of the change on one ModelDeployment.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct LocatedPlan<'r> {
    /// The file, as it was given: in NEW, or in OLD if the deployment is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'r str>,
    /// The position of the document in the file, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<usize>,
    /// The line of its name, from 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    /// The column of its name, from 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
    #[serde(flatten)]
    deployment: &'r DeploymentPlan,
    /// With `--diff`: unified diffs of the objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

/// A finding, and whether the change brings it. It has no place if it is about flags or the input as a whole.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct MarkedFinding {
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(with = "kubefoundry_diagnostics::render::JsonDiagnostic<'_>"))]
    finding: Value,
    /// Whether OLD does not have the finding, on whatever line.
    new: bool,
}

/// Adds to each finding whether OLD does not have it.
fn mark_findings(findings: JsonFindings, is_new: &[bool]) -> Vec<MarkedFinding> {
    findings.0.into_iter().zip(is_new).map(|(finding, new)| MarkedFinding { finding, new: *new }).collect()
}

/// Formats the plan.
pub fn json(context: &PlanContext<'_>) -> String {
    let locations = locate_deployments(context);
    let plan = context.plan;
    let deployments = plan.deployments.iter().zip(locations).map(|(deployment, location)| LocatedPlan {
        file: location.as_ref().map(|location| location.file),
        document: location.as_ref().map(|location| location.document),
        line: location.as_ref().map(|location| location.line),
        column: location.as_ref().map(|location| location.column),
        deployment,
        diff: context.diff.then(|| format_diffs(context, deployment)),
    });
    let report = PlanReport {
        version: ReportVersion,
        applier: plan.applier,
        summary: &plan.summary,
        gpus: &plan.gpus,
        runtimes: &plan.runtimes,
        images: &plan.images,
        deployments: deployments.collect(),
        old_diagnostics: context.old.findings_json(),
        diagnostics: mark_findings(context.new.findings_json(), context.is_new),
    };
    to_report(&report)
}

/// The location of a ModelDeployment: in NEW, or in OLD if NEW does not have it.
#[derive(Clone)]
pub struct DeploymentLocation<'r> {
    /// The name of the text.
    pub file: &'r str,
    /// The position of the document in the text.
    pub document: usize,
    /// The line of the name, from 1.
    pub line: usize,
    /// The column of the name, from 1.
    pub column: usize,
}

/// Locates the deployments of a plan, in order.
pub fn locate_deployments<'r>(context: &PlanContext<'r>) -> Vec<Option<DeploymentLocation<'r>>> {
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
    run: RunResult<'r, YamlText>,
    locator: SourceLocator<'r>,
    offsets: BTreeMap<(SourceId, usize, &'r ObjectRef), usize>,
}

impl<'r> DeploymentLocator<'r> {
    fn new(run: RunResult<'r, YamlText>) -> Self {
        Self { run, locator: run.locator(), offsets: run.name_offsets() }
    }

    fn locate(&mut self, position: usize) -> Option<DeploymentLocation<'r>> {
        let decision = self.run.compilation.decisions.get(position)?;
        let start = *self.offsets.get(&(decision.source, decision.document, &decision.object))?;
        let (file, position) = self.locator.locate(decision.source, start);
        Some(DeploymentLocation { file, document: decision.document, line: position.line, column: position.column })
    }
}

/// Formats a unified diff for each object that is added, removed or changed.
pub fn format_diffs(context: &PlanContext<'_>, deployment: &DeploymentPlan) -> String {
    deployment.objects.iter().map(|object| format_diff(context, object)).collect()
}

fn format_diff(context: &PlanContext<'_>, plan: &ObjectPlan) -> String {
    let (old, new) = (object_text(context.old, plan.old), object_text(context.new, plan.new));
    let name = format!("{} {}", printable(&plan.object.kind), object_name(&plan.object));
    let side =
        |text: &str, side: &str| if text.is_empty() { "/dev/null".to_owned() } else { format!("{side}: {name}") };
    unified_diff(old, new, &side(old, "OLD"), &side(new, "NEW"))
}

fn object_text(run: RunResult<'_, YamlText>, position: Option<usize>) -> &str {
    let output = position.and_then(|position| run.compilation.outputs.get(position));
    output.map_or("", |output| output.object.as_str())
}

/// Formats the namespace and name of an object: `prod/llama`.
pub fn object_name(object: &ObjectRef) -> String {
    printable(&owner_name(object.namespace.as_deref(), &object.name)).into_owned()
}
