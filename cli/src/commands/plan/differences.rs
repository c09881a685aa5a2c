//! Unified diffs of the rendered objects of a deployment.

use kubefoundry_compiler::pipeline::YamlText;
use kubefoundry_compiler::plan::{DeploymentPlan, ObjectPlan};
use similar::TextDiff;

use super::format;
use super::{PlanContext, Run};
use kubefoundry_yaml::text::printable;

/// Formats a unified diff for each object that is added, removed or changed.
pub(super) fn format_diffs(context: &PlanContext<'_>, deployment: &DeploymentPlan) -> String {
    deployment.objects.iter().map(|object| format_diff(context, object)).collect()
}

fn format_diff(context: &PlanContext<'_>, plan: &ObjectPlan) -> String {
    let (old, new) = (object_text(context.old, plan.old), object_text(context.new, plan.new));
    let name = format!("{} {}", printable(&plan.object.kind), format::name(&plan.object));
    let side =
        |text: &str, side: &str| if text.is_empty() { "/dev/null".to_owned() } else { format!("{side}: {name}") };
    TextDiff::from_lines(old, new).unified_diff().header(&side(old, "OLD"), &side(new, "NEW")).to_string()
}

fn object_text(run: &Run<YamlText>, position: Option<usize>) -> &str {
    let output = position.and_then(|position| run.compilation.outputs.get(position));
    output.map_or("", |output| output.object.as_str())
}
