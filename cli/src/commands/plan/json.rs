//! A plan for programs.

use kubefoundry_compiler::pipeline::YamlText;
use kubefoundry_compiler::plan::{Applier, DeploymentPlan, GpuChange, ImageChange, Summary};
use kubefoundry_diagnostics::render::TextStyle;
use serde::Serialize;
use serde_json::Value;

use super::{Planned, Run, differences, places};
use crate::args::ReportFormat;

/// The report. `version` changes when a field changes its meaning or goes.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'r> {
    version: u32,
    applier: Applier,
    summary: &'r Summary,
    gpus: &'r [GpuChange],
    images: &'r [ImageChange],
    deployments: Vec<Placed<'r>>,
    old_diagnostics: Value,
    diagnostics: Value,
}

/// A deployment with the place of its name; lines and columns count from 1.
#[derive(Serialize)]
struct Placed<'r> {
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

pub(super) fn json(planned: &Planned<'_>) -> String {
    let places = places(planned);
    let plan = planned.plan;
    let deployments = plan.deployments.iter().zip(places).map(|(deployment, place)| Placed {
        file: place.as_ref().map(|place| place.file),
        document: place.as_ref().map(|place| place.document),
        line: place.as_ref().map(|place| place.line),
        column: place.as_ref().map(|place| place.column),
        deployment,
        diff: planned.diff.then(|| differences::of(planned, deployment)),
    });
    let report = Report {
        version: 1,
        applier: plan.applier,
        summary: &plan.summary,
        gpus: &plan.gpus,
        images: &plan.images,
        deployments: deployments.collect(),
        old_diagnostics: findings(planned.old),
        diagnostics: findings(planned.new),
    };
    let mut text = serde_json::to_string_pretty(&report).unwrap_or_default();
    text.push('\n');
    text
}

/// The findings as every other command prints them as JSON.
fn findings(run: &Run<YamlText>) -> Value {
    let text = run.report(ReportFormat::Json, TextStyle::Plain);
    let mut report: Value = serde_json::from_str(&text).unwrap_or_default();
    report.get_mut("diagnostics").map(Value::take).unwrap_or_default()
}
