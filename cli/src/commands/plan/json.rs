//! Formats a plan as JSON.

use kubefoundry_compiler::pipeline::YamlText;
use kubefoundry_compiler::plan::{Applier, DeploymentPlan, GpuChange, ImageChange, Summary};
use kubefoundry_diagnostics::render::TextStyle;
use serde::Serialize;
use serde_json::Value;

use super::{PlanContext, Run, differences, locate_deployments};
use crate::args::ReportFormat;

/// The report. `version` increases when a field is removed or changes its meaning.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PlanReport<'r> {
    version: u32,
    applier: Applier,
    summary: &'r Summary,
    gpus: &'r [GpuChange],
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
        images: &plan.images,
        deployments: deployments.collect(),
        old_diagnostics: findings_json(context.old),
        diagnostics: findings_json(context.new),
    };
    let mut text = serde_json::to_string_pretty(&report).unwrap_or_default();
    text.push('\n');
    text
}

/// Converts the findings to JSON, in the same form as in the reports of other commands.
fn findings_json(run: &Run<YamlText>) -> Value {
    let text = run.report(ReportFormat::Json, TextStyle::Plain);
    let mut report: Value = serde_json::from_str(&text).unwrap_or_default();
    report.get_mut("diagnostics").map(Value::take).unwrap_or_default()
}
