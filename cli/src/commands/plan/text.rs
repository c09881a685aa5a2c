//! Formats a plan as text: the most severe changes first, the totals at the end. Unchanged deployments are only
//! counted.

use std::cmp::Reverse;

use kubefoundry_analysis::plan::{
    Action, Cause, ChangeClass, DeploymentPlan, GpuChange, ImageChange, KeptProvider, OutputChange, SelectionChange,
};
use kubefoundry_diagnostics::render::TextStyle;

use super::format;
use crate::style::{Paint, count, paint, printable};
use kubefoundry_reports::plan::{DeploymentLocation, PlanContext, format_diffs, locate_deployments, object_name};
use kubefoundry_yaml::{append, append_line};

/// Formats the whole plan.
pub(super) fn text(context: &PlanContext<'_>, style: TextStyle) -> String {
    let mut out = String::new();
    let locations = locate_deployments(context);
    let mut follows_line = false;
    for (deployment, location) in by_severity(context, &locations) {
        let block = format_deployment(context, deployment, location, style);
        // Empty lines separate blocks, but not consecutive deployments with one line each.
        let is_line = block.lines().count() == 1;
        if follows_line && !is_line {
            out.push('\n');
        }
        follows_line = is_line;
        out.push_str(&block);
        if !is_line {
            out.push('\n');
        }
    }
    if follows_line {
        out.push('\n');
    }
    let plan = context.plan;
    if !plan.runtimes.is_empty() {
        append_line!(out, "{}", paint("runtimes", Paint::Bold, style));
        for line in plan.runtimes.iter().flat_map(format::runtime_lines) {
            append_line!(out, "  {line}");
        }
        out.push('\n');
    }
    if !plan.images.is_empty() {
        append_line!(out, "{}", paint("images", Paint::Bold, style));
        out.extend(plan.images.iter().map(|image| format!("  {}\n", format_image(image))));
        out.push('\n');
    }
    let is_changed = |change: &GpuChange| {
        change.before != change.after || change.memory.is_some_and(|memory| memory.before != memory.after)
    };
    let says_more = plan.gpus.len() > 1 || plan.gpus.iter().any(|change| change.memory.is_some());
    if says_more && plan.gpus.iter().any(is_changed) {
        append_line!(out, "{}", paint("GPUs", Paint::Bold, style));
        out.extend(plan.gpus.iter().map(|change| format!("  {}\n", format::format_gpus(change))));
        out.push('\n');
    }
    append_line!(out, "{}", paint(&plan.summary.to_string(), Paint::Bold, style));
    out
}

/// Returns the changed deployments, the most severe first and otherwise in input order.
pub(super) fn by_severity<'p, 'r>(
    context: &PlanContext<'p>,
    locations: &'r [Option<DeploymentLocation<'p>>],
) -> Vec<(&'p DeploymentPlan, Option<&'r DeploymentLocation<'p>>)> {
    let mut shown: Vec<_> = context
        .plan
        .deployments
        .iter()
        .zip(locations.iter().map(Option::as_ref))
        .filter(|(deployment, _)| deployment.action != Action::Unchanged || deployment.kept.is_some())
        .collect();
    shown.sort_by_key(|(deployment, _)| (Reverse(deployment.class), deployment.action));
    shown
}

/// Formats the change of an image: `nginx:1 → nginx:2  (3 deployments)`.
fn format_image(image: &ImageChange) -> String {
    let change = match (&image.before, &image.after) {
        (Some(before), Some(after)) => format!("{} → {}", printable(before), printable(after)),
        (Some(before), None) => format!("- {}", printable(before)),
        (None, Some(after)) => format!("+ {}", printable(after)),
        (None, None) => String::new(),
    };
    format!("{change}  ({})", count(image.deployments, "deployment"))
}

/// Returns one word for the effect on a deployment.
pub(super) fn verdict(deployment: &DeploymentPlan) -> &'static str {
    match (deployment.action, deployment.class) {
        (Action::Created, _) => "created",
        (Action::Deleted, _) => "deleted",
        (Action::Unchanged, _) => "unchanged",
        (Action::Changed, class) => class.unwrap_or(ChangeClass::None).as_str(),
    }
}

fn format_deployment(
    context: &PlanContext<'_>,
    deployment: &DeploymentPlan,
    location: Option<&DeploymentLocation<'_>>,
    style: TextStyle,
) -> String {
    let (sign, color) = match (deployment.action, deployment.class) {
        (Action::Created, _) => ("+", Paint::Green),
        (Action::Deleted, _) => ("-", Paint::Red),
        (Action::Unchanged, _) => ("=", Paint::Dim),
        (_, Some(class)) if is_alarming(class) || is_partly_ignored(deployment) => ("!", Paint::Red),
        _ => ("~", Paint::Bold),
    };
    let title = paint(&format!("{sign} {}", format::title(deployment)), Paint::Bold, style);
    let verdict = paint(verdict(deployment), color, style);
    let mut out = format!("{title}  {verdict}");
    if matches!(deployment.action, Action::Created | Action::Deleted) {
        let gpus: Vec<String> = deployment
            .gpus
            .iter()
            .map(|gpus| {
                let memory = gpus.memory.map(|memory| format!(" ({} GiB)", memory.before.max(memory.after) >> 30));
                let number = gpus.before.max(gpus.after);
                format!("{number} {}{}", printable(&gpus.resource), memory.unwrap_or_default())
            })
            .collect();
        let with = if gpus.is_empty() { String::new() } else { format!(" with {}", gpus.join(", ")) };
        append!(out, "  {}{with}", printable(&deployment.provider));
    }
    if let Some(location) = location {
        let location = format!("{}:{}:{}", printable(location.file), location.line, location.column);
        append!(out, "  {}", paint(&location, Paint::Dim, style));
    }
    out.push('\n');
    if let Some(selection) = &deployment.selection {
        out.extend(selection_lines(selection).into_iter().map(|line| format!("  {line}\n")));
    }
    out.extend(format::interface_lines(deployment).map(|line| format!("  {line}\n")));
    if let Some(kept) = &deployment.kept {
        out.extend(kept_lines(kept).map(|line| format!("  {line}\n")));
    }
    if deployment.action == Action::Changed {
        out.extend(deployment.gpus.iter().map(|gpus| format!("  GPUs: {}\n", format::format_gpus(gpus))));
    }
    if let Some(capacity) = deployment.capacity {
        let capacity = format::format_capacity(capacity, deployment.action);
        append_line!(out, "  sequences of the full context: {capacity}");
    }
    if deployment.action == Action::Deleted {
        out.extend(format::remaining_claims(deployment).map(|line| format!("  {line}\n")));
    }
    for (changes, outputs) in format::group_by_outputs(&deployment.changes) {
        let is_unknown = changes.iter().any(|change| matches!(change.cause, Cause::Unbuilt { .. }));
        for change in changes {
            let (name, how) = format::format_cause(&change.cause);
            append_line!(out, "  {}{}{how}", paint(&name, Paint::Bold, style), separator(&how));
        }
        if outputs.is_empty() && !is_unknown {
            out.push_str("    none: the output does not change\n");
        }
        for group in group_outputs(format::relevant_outputs(outputs)) {
            out.push_str(&format_output_group(&group, style));
        }
    }
    if context.diff {
        out.push_str(&color_diff(&format_diffs(context, deployment), style));
    }
    out
}

/// Formats changed fields of one object, with their common class and its source.
fn format_output_group(group: &[&OutputChange], style: TextStyle) -> String {
    let Some(first) = group.first() else { return String::new() };
    let (kind, name) = (printable(&first.object.kind), object_name(&first.object));
    let mut out = format!("    {}  {kind} {name}\n", format_class(first.class, style));
    for output in group.iter().filter(|output| !output.path.is_empty()) {
        let (path, how) = format::format_output(output);
        let together = if output.together { "  (together with other changes)" } else { "" };
        append_line!(out, "      {path}{}{how}{together}", separator(&how));
    }
    append_line!(out, "      {}", paint(&format!("source: {}", first.source), Paint::Dim, style));
    out
}

/// Formats the change of the selected provider or of its reason.
pub(super) fn selection_lines(selection: &SelectionChange) -> Vec<String> {
    let SelectionChange { before, after, closed_gate } = selection;
    let mut lines = Vec::new();
    if before.provider == after.provider {
        lines.push(format!("provider: {}, selected for another reason", printable(&after.provider)));
    } else {
        lines.push(format!("provider: {} → {}", printable(&before.provider), printable(&after.provider)));
    }
    lines.push(format!("  before: {}", format::format_choice(before)));
    lines.push(format!("  after: {}", format::format_choice(after)));
    if let Some(gate) = closed_gate {
        lines.push(format!("  {} is no longer eligible: {}", printable(&before.provider), printable(gate)));
    }
    lines
}

/// Formats a provider that stays although the rules prefer another one.
pub(super) fn kept_lines(kept: &KeptProvider) -> impl Iterator<Item = String> {
    let KeptProvider { provider, preferred } = kept;
    let preferred_provider = printable(&preferred.provider);
    let first = format!("provider: {} stays; a new deployment would get {preferred_provider}", printable(provider));
    [first, format!("  because: {}", format::format_choice(preferred))].into_iter()
}

/// Returns the separator before `text`; nothing if it is empty.
fn separator(text: &str) -> &'static str {
    if text.is_empty() { "" } else { "  " }
}

/// Whether a part of the change has no effect, so that the running model afterwards differs from the manifest.
fn is_partly_ignored(deployment: &DeploymentPlan) -> bool {
    deployment.changes.iter().flat_map(|change| &change.outputs).any(|output| output.class == ChangeClass::NoEffect)
}

/// Whether the running model may afterwards differ from the manifest.
fn is_alarming(class: ChangeClass) -> bool {
    class == ChangeClass::NoEffect || class >= ChangeClass::Unknown
}

fn format_class(class: ChangeClass, style: TextStyle) -> String {
    if is_alarming(class) { paint(class.as_str(), Paint::Red, style) } else { class.as_str().to_owned() }
}

/// Groups output changes by object, class and source, the most severe class first.
pub(super) fn group_outputs<'o>(outputs: impl Iterator<Item = &'o OutputChange>) -> Vec<Vec<&'o OutputChange>> {
    let mut groups: Vec<Vec<&OutputChange>> = Vec::new();
    for output in outputs {
        let belongs = |group: &&mut Vec<&OutputChange>| {
            group.first().is_some_and(|first| {
                first.object == output.object
                    && first.class == output.class
                    && first.source == output.source
                    && first.path.is_empty() == output.path.is_empty()
            })
        };
        match groups.iter_mut().find(belongs) {
            Some(group) => group.push(output),
            None => groups.push(vec![output]),
        }
    }
    groups.sort_by_key(|group| Reverse(group.first().map(|first| first.class)));
    groups
}

/// Colors a unified diff like git.
fn color_diff(diff: &str, style: TextStyle) -> String {
    let line = |line: &str| {
        let line = printable(line);
        let painted = match line.chars().next() {
            Some('+') => paint(&line, Paint::Green, style),
            Some('-') => paint(&line, Paint::Red, style),
            Some('@') => paint(&line, Paint::Dim, style),
            _ => line.into_owned(),
        };
        format!("{painted}\n")
    };
    diff.lines().map(line).collect()
}
