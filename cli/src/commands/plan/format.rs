//! Formats the values, fields and objects of a plan. Text and Markdown share these functions.

use std::collections::BTreeSet;

use crate::style::count;
use kubefoundry_analysis::plan::{
    Action, Capacity, CapacityChange, Cause, Change, ChangeClass, DeploymentPlan, GpuChange, InterfaceChange,
    MemoryChange, OutputChange, ProviderChoice, RemovedFlag, RuntimeChange,
};
use kubefoundry_reports::plan::object_name;
use serde_json::Value;

use kubefoundry_yaml::text::printable;

/// Longer values are truncated.
const MAX_VALUE_CHARS: usize = 72;
/// Number of list items or text lines to show.
const MAX_PARTS: usize = 6;

/// Formats a change of a value: `8192 → 16384`. For lists and multi-line texts, only added and removed parts are shown.
fn format_change(before: Option<&Value>, after: Option<&Value>) -> String {
    if let (Some(old), Some(new)) = (before.and_then(split_parts), after.and_then(split_parts)) {
        let (old_parts, new_parts): (BTreeSet<&String>, BTreeSet<&String>) =
            (old.iter().collect(), new.iter().collect());
        let removed = old.iter().filter(|part| !new_parts.contains(part)).map(|part| format!("- {part}"));
        let added = new.iter().filter(|part| !old_parts.contains(part)).map(|part| format!("+ {part}"));
        let changed: Vec<String> = removed.chain(added).collect();
        return match changed.len() {
            0 => "reordered".to_owned(),
            more if more > MAX_PARTS => {
                let shown = changed.iter().take(MAX_PARTS).map(|part| shorten(part)).collect::<Vec<_>>();
                format!("{}  and {} more", shown.join("  "), more - MAX_PARTS)
            }
            _ => changed.iter().map(|part| shorten(part)).collect::<Vec<_>>().join("  "),
        };
    }
    match (before, after) {
        (None, Some(new)) => format!("+ {}", format_value(new)),
        (Some(old), None) => format!("- {}", format_value(old)),
        (Some(old), Some(new)) => format!("{} → {}", format_value(old), format_value(new)),
        (None, None) => String::new(),
    }
}

/// Splits a list into its items, or a multi-line text into its lines.
fn split_parts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Array(items) => Some(items.iter().map(plain_text).collect()),
        Value::String(text) if text.trim_end().contains('\n') => {
            Some(text.lines().map(|line| line.trim().to_owned()).collect())
        }
        _ => None,
    }
}

/// Formats a value on one line.
fn format_value(value: &Value) -> String {
    shorten(&plain_text(value))
}

/// Strings without quotes, everything else as JSON.
fn plain_text(value: &Value) -> String {
    match value {
        Value::String(text) if !text.is_empty() => text.clone(),
        other => other.to_string(),
    }
}

fn shorten(text: &str) -> String {
    let text = printable(text);
    if text.chars().count() <= MAX_VALUE_CHARS {
        text.into_owned()
    } else {
        text.chars().take(MAX_VALUE_CHARS - 3).collect::<String>() + "..."
    }
}

/// Formats the cause of a change and its old and new values. Only fields have values.
pub(super) fn format_cause(cause: &Cause) -> (String, String) {
    match cause {
        Cause::Field { path, before, after } => {
            (printable(path).into_owned(), format_change(before.as_ref(), after.as_ref()))
        }
        Cause::Options => ("options".to_owned(), String::new()),
        Cause::Providers => ("provider configurations".to_owned(), String::new()),
        Cause::Crds => ("CRDs".to_owned(), String::new()),
        Cause::Objects => ("other objects of the input".to_owned(), String::new()),
        Cause::Unbuilt { kustomization } => (
            format!("kustomization {}", printable(kustomization)),
            "not built, so what it changes is unknown".to_owned(),
        ),
    }
}

/// Groups changes that affect the same output fields, because they do so only together. Each group has its outputs.
pub(super) fn group_by_outputs(changes: &[Change]) -> Vec<(Vec<&Change>, &[OutputChange])> {
    let mut groups: Vec<(Vec<&Change>, &[OutputChange])> = Vec::new();
    for change in changes {
        let has_same_outputs =
            |group: &&mut (Vec<&Change>, &[OutputChange])| !group.1.is_empty() && group.1 == change.outputs;
        match groups.iter_mut().find(has_same_outputs) {
            Some((grouped, _)) => grouped.push(change),
            None => groups.push((vec![change], &change.outputs)),
        }
    }
    groups
}

/// Drops output changes without effect, such as annotations of `kubefoundry`, if others of the group have an effect.
pub(super) fn relevant_outputs(outputs: &[OutputChange]) -> impl Iterator<Item = &OutputChange> {
    let has_effect = outputs.iter().any(|output| output.class != ChangeClass::None);
    outputs.iter().filter(move |output| !has_effect || output.class != ChangeClass::None)
}

/// Formats a changed output field and its old and new values. Both are empty for a whole object.
pub(super) fn format_output(output: &OutputChange) -> (String, String) {
    if output.path.is_empty() {
        // The class of the change tells whether the object is added or removed.
        return (String::new(), String::new());
    }
    (printable(&output.path).into_owned(), format_change(output.before.as_ref(), output.after.as_ref()))
}

/// Formats a line for each claim that remains after its deployment is deleted.
pub(super) fn remaining_claims(deployment: &DeploymentPlan) -> impl Iterator<Item = String> {
    let claims = deployment.objects.iter().filter(|plan| &*plan.object.kind == "PersistentVolumeClaim");
    claims.map(|plan| {
        let name = object_name(&plan.object);
        format!("PersistentVolumeClaim {name} and its data remain until you delete it; pruning deletes it, too")
    })
}

/// Formats a line for each change of what clients use: `endpoint: a:80 → b:80  recreate`.
pub(super) fn interface_lines(deployment: &DeploymentPlan) -> impl Iterator<Item = String> {
    let changes = [("endpoint", &deployment.endpoint), ("model name", &deployment.model_name)];
    changes.into_iter().filter_map(|(name, change)| {
        let InterfaceChange { before, after, class } = change.as_ref()?;
        let text = |text: &Option<String>| printable(text.as_deref().unwrap_or("unknown")).into_owned();
        Some(format!("{name}: {} → {}  {class}", text(before), text(after)))
    })
}

/// Formats the name of a planned object, with its kind unless it is a ModelDeployment.
pub(super) fn title(deployment: &DeploymentPlan) -> String {
    let DeploymentPlan { object, environment, .. } = deployment;
    let name = if &*object.kind == kubefoundry_deployment::wire::KIND {
        object_name(object)
    } else {
        format!("{} {}", printable(&object.kind), object_name(object))
    };
    match environment {
        Some(environment) => format!("{name} ({})", printable(environment)),
        None => name,
    }
}

/// Formats the GPUs before and after a change: `2 nvidia.com/gpu → 4`, or `2 nvidia.com/gpu` if they stay, with their
/// memory if it is known.
pub(super) fn format_gpus(change: &GpuChange) -> String {
    let GpuChange { resource, before, after, .. } = change;
    let resource = printable(resource);
    let gpus = if before == after { format!("{after} {resource}") } else { format!("{resource} {before} → {after}") };
    let memory = format_gpu_memory(change);
    memory.map_or(gpus.clone(), |memory| format!("{gpus} ({memory})"))
}

/// Formats the memory of the GPUs before and after a change: `160 GiB → 320 GiB`.
pub(super) fn format_gpu_memory(change: &GpuChange) -> Option<String> {
    let MemoryChange { before, after } = change.memory?;
    let gibibytes = |bytes: u64| format!("{} GiB", bytes >> 30);
    Some(if before == after { gibibytes(after) } else { format!("{} → {}", gibibytes(before), gibibytes(after)) })
}

/// Formats how many sequences a deployment has place for: `45 to 65 → 90 to 130`, or `45 to 65` of one that is created or
/// deleted.
pub(super) fn format_capacity(change: CapacityChange, action: Action) -> String {
    let side = |capacity: Option<Capacity>| match capacity {
        Some(Capacity { min, max }) if min == max => min.to_string(),
        Some(Capacity { min, max }) => format!("{min} to {max}"),
        None => "unknown".to_owned(),
    };
    match action {
        Action::Created => side(change.after),
        Action::Deleted => side(change.before),
        Action::Changed | Action::Unchanged => format!("{} → {}", side(change.before), side(change.after)),
    }
}

/// Formats the choice of a provider: `default → dynamo (GPU inference default), by the selection rule with priority 50:
/// spec.resources.gpu.count > 0`.
pub(super) fn format_choice(choice: &ProviderChoice) -> String {
    let reason = printable(&choice.reason);
    match &choice.rule {
        Some(rule) => {
            format!("{reason}, by the selection rule with priority {}: {}", rule.priority, shorten(&rule.condition))
        }
        None => reason.into_owned(),
    }
}

/// The number of removed flags of an engine that are listed.
const MAX_LISTED_FLAGS: usize = 8;

/// Formats a change of a runtime: what changes, whether releases are skipped, and flags that the newer one lacks.
pub(super) fn runtime_lines(change: &RuntimeChange) -> Vec<String> {
    let RuntimeChange { provider, before, after, deployments, .. } = change;
    let mut lines = vec![format!("{provider} {before} → {after} ({})", count(*deployments, "deployment"))];
    if change.skips_minor_release {
        lines.push(format!(
            "  warning: upstream supports upgrades of {provider} to the next minor release only; upgrade one by one"
        ));
    }
    for removed in &change.removed_flags {
        let flags: Vec<String> = removed.flags.iter().take(MAX_LISTED_FLAGS).map(describe_flag).collect();
        let more = match removed.flags.len().saturating_sub(MAX_LISTED_FLAGS) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        lines.push(format!("  {} no longer has {}{more}", removed.engine, flags.join(", ")));
    }
    lines
}

fn describe_flag(flag: &RemovedFlag) -> String {
    match flag.replacement {
        Some(replacement) => format!("--{} (use {replacement})", flag.name),
        None => format!("--{}", flag.name),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn format_pair(before: &Value, after: &Value) -> String {
        format_change(Some(before), Some(after))
    }

    #[test]
    fn formats_changes_of_values_lists_and_texts() {
        assert_eq!(format_pair(&json!(8192), &json!(16384)), "8192 → 16384");
        assert_eq!(format_pair(&json!("a"), &json!("")), "a → \"\"");
        assert_eq!(format_change(None, Some(&json!({"a": [1]}))), "+ {\"a\":[1]}");
        assert_eq!(format_pair(&json!(["--a", "--b=1"]), &json!(["--a", "--b=2", "--c"])), "- --b=1  + --b=2  + --c");
        assert_eq!(format_pair(&json!([1, 2]), &json!([2, 1])), "reordered");
        assert_eq!(format_pair(&json!("x: 1\ny: 2\n"), &json!("x: 1\ny: 3\n")), "- y: 2  + y: 3");
        let many: Vec<u32> = (0..10).collect();
        assert!(format_pair(&json!([]), &json!(many)).ends_with("+ 5  and 4 more"));
        assert!(format_value(&json!("x".repeat(100))).ends_with("xxx..."));
    }

    /// An escape sequence in a model name must not reach the terminal.
    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(format_pair(&json!("a\u{1b}[31m"), &json!("b")), "a\\u{1b}[31m → b");
    }
}
