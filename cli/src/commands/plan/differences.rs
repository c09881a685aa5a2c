//! How the rendered objects of a deployment differ, as unified diffs.

use kubefoundry_compiler::pipeline::YamlText;
use kubefoundry_compiler::plan::{DeploymentPlan, ObjectPlan};
use similar::TextDiff;

use super::words;
use super::{Planned, Run};
use crate::style::printable;

/// A unified diff for each object that comes, goes or changes.
pub(super) fn of(planned: &Planned<'_>, deployment: &DeploymentPlan) -> String {
    deployment.objects.iter().map(|object| one(planned, object)).collect()
}

fn one(planned: &Planned<'_>, plan: &ObjectPlan) -> String {
    let (old, new) = (text(planned.old, plan.old), text(planned.new, plan.new));
    let name = format!("{} {}", printable(&plan.object.kind), words::name(&plan.object));
    let side =
        |text: &str, side: &str| if text.is_empty() { "/dev/null".to_owned() } else { format!("{side}: {name}") };
    TextDiff::from_lines(old, new).unified_diff().header(&side(old, "OLD"), &side(new, "NEW")).to_string()
}

fn text(run: &Run<YamlText>, position: Option<usize>) -> &str {
    let output = position.and_then(|position| run.compilation.outputs.get(position));
    output.map_or("", |output| output.object.as_str())
}
