//! Values and places of a plan in few words.

use std::collections::BTreeSet;

use kubefoundry_compiler::plan::{Cause, Change, ChangeClass, DeploymentPlan, GpuChange, OutputChange, ProviderChoice};
use kubefoundry_diagnostics::ObjectRef;
use serde_json::Value;

use crate::style::printable;

/// Characters of a value that are shown.
const LONGEST: usize = 72;
/// Items of lists and lines of texts that are shown.
const MOST: usize = 6;

/// How a value changes: `8192 → 16384`; of lists and of texts of several lines, what goes and what comes.
pub(super) fn change(before: Option<&Value>, after: Option<&Value>) -> String {
    if let (Some(old), Some(new)) = (before.and_then(parts), after.and_then(parts)) {
        let (known, kept): (BTreeSet<&String>, BTreeSet<&String>) = (old.iter().collect(), new.iter().collect());
        let gone = old.iter().filter(|part| !kept.contains(part)).map(|part| format!("- {part}"));
        let come = new.iter().filter(|part| !known.contains(part)).map(|part| format!("+ {part}"));
        let moved: Vec<String> = gone.chain(come).collect();
        return match moved.len() {
            0 => "another order".to_owned(),
            more if more > MOST => {
                let shown = moved.iter().take(MOST).map(|part| shorten(part)).collect::<Vec<_>>();
                format!("{}  and {} more", shown.join("  "), more - MOST)
            }
            _ => moved.iter().map(|part| shorten(part)).collect::<Vec<_>>().join("  "),
        };
    }
    match (before, after) {
        (None, Some(new)) => format!("+ {}", value(new)),
        (Some(old), None) => format!("- {}", value(old)),
        (Some(old), Some(new)) => format!("{} → {}", value(old), value(new)),
        (None, None) => String::new(),
    }
}

/// The items of a list, or the lines of a text that has several.
fn parts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Array(items) => Some(items.iter().map(plain).collect()),
        Value::String(text) if text.trim_end().contains('\n') => {
            Some(text.lines().map(|line| line.trim().to_owned()).collect())
        }
        _ => None,
    }
}

/// A value on one line.
fn value(value: &Value) -> String {
    shorten(&plain(value))
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) if !text.is_empty() => text.clone(),
        other => other.to_string(),
    }
}

fn shorten(text: &str) -> String {
    let text = printable(text);
    if text.chars().count() <= LONGEST {
        text.into_owned()
    } else {
        text.chars().take(LONGEST - 3).collect::<String>() + "..."
    }
}

/// What changes: a field, or what is no field.
pub(super) fn cause(cause: &Cause) -> (String, String) {
    match cause {
        Cause::Field { path, before, after } => (printable(path).into_owned(), change(before.as_ref(), after.as_ref())),
        Cause::Options => ("options".to_owned(), String::new()),
        Cause::Providers => ("provider configurations".to_owned(), String::new()),
        Cause::Crds => ("CRDs".to_owned(), String::new()),
        Cause::Objects => ("other objects of the input".to_owned(), String::new()),
    }
}

/// Changes with what they move; those that move the same things, since they only do so together, side by side.
pub(super) fn side_by_side(changes: &[Change]) -> Vec<(Vec<&Change>, &[OutputChange])> {
    let mut groups: Vec<(Vec<&Change>, &[OutputChange])> = Vec::new();
    for change in changes {
        let same = |group: &&mut (Vec<&Change>, &[OutputChange])| !group.1.is_empty() && group.1 == change.outputs;
        match groups.iter_mut().find(same) {
            Some((together, _)) => together.push(change),
            None => groups.push((vec![change], &change.outputs)),
        }
    }
    groups
}

/// The places that matter of those that a change moves: marks of ours on an object that changes anyway do not.
pub(super) fn telling(outputs: &[OutputChange]) -> impl Iterator<Item = &OutputChange> {
    let is_grave = outputs.iter().any(|output| output.class != ChangeClass::None);
    outputs.iter().filter(move |output| !is_grave || output.class != ChangeClass::None)
}

/// A place in the output, and what changes there.
pub(super) fn output(output: &OutputChange) -> (String, String) {
    if output.path.is_empty() {
        // Nobody but the whole knows whether it came or went: its class says so.
        return (String::new(), String::new());
    }
    (printable(&output.path).into_owned(), change(output.before.as_ref(), output.after.as_ref()))
}

/// What outlives a deployment that is deleted: a line for each claim.
pub(super) fn kept(deployment: &DeploymentPlan) -> impl Iterator<Item = String> {
    let claims = deployment.objects.iter().filter(|plan| &*plan.object.kind == "PersistentVolumeClaim");
    claims.map(|plan| {
        let name = name(&plan.object);
        format!("PersistentVolumeClaim {name}: stays with its data until it is deleted; pruning it deletes the data")
    })
}

/// `prod/llama`.
pub(super) fn name(object: &ObjectRef) -> String {
    let name = match &object.namespace {
        Some(namespace) => format!("{namespace}/{}", object.name),
        None => object.name.to_string(),
    };
    printable(&name).into_owned()
}

/// The object that is planned; that it is a ModelDeployment goes without saying.
pub(super) fn title(object: &ObjectRef) -> String {
    if &*object.kind == kubefoundry_model::wire::KIND {
        name(object)
    } else {
        format!("{} {}", printable(&object.kind), name(object))
    }
}

/// `2 nvidia.com/gpu → 4`, or `2 nvidia.com/gpu`.
pub(super) fn gpus(change: &GpuChange) -> String {
    let GpuChange { resource, before, after } = change;
    let resource = printable(resource);
    if before == after { format!("{after} {resource}") } else { format!("{resource} {before} → {after}") }
}

/// `default → dynamo (GPU inference default), by the rule of priority 50: spec.resources.gpu.count > 0`.
pub(super) fn choice(choice: &ProviderChoice) -> String {
    let reason = printable(&choice.reason);
    match &choice.rule {
        Some(rule) => format!("{reason}, by the rule of priority {}: {}", rule.priority, shorten(&rule.condition)),
        None => reason.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(before: &Value, after: &Value) -> String {
        change(Some(before), Some(after))
    }

    #[test]
    fn what_changes_is_said_in_few_words() {
        assert_eq!(told(&json!(8192), &json!(16384)), "8192 → 16384");
        assert_eq!(told(&json!("a"), &json!("")), "a → \"\"");
        assert_eq!(change(None, Some(&json!({"a": [1]}))), "+ {\"a\":[1]}");
        assert_eq!(told(&json!(["--a", "--b=1"]), &json!(["--a", "--b=2", "--c"])), "- --b=1  + --b=2  + --c");
        assert_eq!(told(&json!([1, 2]), &json!([2, 1])), "another order");
        assert_eq!(told(&json!("x: 1\ny: 2\n"), &json!("x: 1\ny: 3\n")), "- y: 2  + y: 3");
        let many: Vec<u32> = (0..10).collect();
        assert!(told(&json!([]), &json!(many)).ends_with("+ 5  and 4 more"));
        assert!(value(&json!("x".repeat(100))).ends_with("xxx..."));
    }

    /// A model named with an escape sequence must not repaint the terminal of whoever looks at it.
    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(told(&json!("a\u{1b}[31m"), &json!("b")), "a\\u{1b}[31m → b");
    }
}
