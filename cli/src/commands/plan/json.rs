//! Formats a plan as JSON.

use kubefoundry_compiler::plan::{Applier, DeploymentPlan, GpuChange, ImageChange, RuntimeChange, Summary};
use kubefoundry_diagnostics::render::to_report;
use serde::Serialize;
use serde_json::Value;

use super::{PlanContext, differences, locate_deployments};

/// The report. `version` increases when a field is removed or changes its meaning.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PlanReport<'r> {
    version: u32,
    applier: Applier,
    summary: &'r Summary,
    gpus: &'r [GpuChange],
    runtimes: &'r [RuntimeChange],
    images: &'r [ImageChange],
    deployments: Vec<LocatedPlan<'r>>,
    old_diagnostics: Value,
    diagnostics: Value,
}

/// A deployment with the location of its name, if it is in the input. Lines and columns count from 1.
#[derive(Serialize)]
struct LocatedPlan<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
    #[serde(flatten)]
    deployment: &'r DeploymentPlan,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

/// Adds to each finding whether OLD does not have it.
fn mark_findings(mut findings: Value, is_new: &[bool]) -> Value {
    let objects = findings.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut);
    for (finding, is_new) in objects.zip(is_new) {
        finding.insert("new".to_owned(), Value::Bool(*is_new));
    }
    findings
}

pub(super) fn json(context: &PlanContext<'_>) -> String {
    let locations = locate_deployments(context);
    let plan = context.plan;
    let deployments = plan.deployments.iter().zip(locations).map(|(deployment, location)| LocatedPlan {
        file: location.as_ref().map(|location| location.file),
        document: location.as_ref().map(|location| location.document),
        line: location.as_ref().map(|location| location.line),
        column: location.as_ref().map(|location| location.column),
        deployment,
        diff: context.diff.then(|| differences::format_diffs(context, deployment)),
    });
    let report = PlanReport {
        version: 1,
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
