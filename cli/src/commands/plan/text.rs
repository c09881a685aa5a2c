//! A plan for people: the gravest first, what does not change only counted, the sum at the end.

use std::cmp::Reverse;
use std::fmt::Write as _;

use kubefoundry_compiler::plan::{Action, ChangeClass, DeploymentPlan, ImageChange, OutputChange, SelectionChange};
use kubefoundry_diagnostics::render::TextStyle;

use super::{Place, Planned, differences, places, words};
use crate::style::{Paint, count, paint, printable};

/// The whole plan.
pub(super) fn text(planned: &Planned<'_>, style: TextStyle) -> String {
    let mut out = String::new();
    let places = places(planned);
    let mut is_open = false;
    for (deployment, place) in by_gravity(planned, &places) {
        let block = block(planned, deployment, place, style);
        // Those of one line stand together.
        let is_line = block.lines().count() == 1;
        if is_open && !is_line {
            out.push('\n');
        }
        is_open = is_line;
        out.push_str(&block);
        if !is_line {
            out.push('\n');
        }
    }
    if is_open {
        out.push('\n');
    }
    let plan = planned.plan;
    if !plan.images.is_empty() {
        let _ = writeln!(out, "{}", paint("images", Paint::Bold, style));
        out.extend(plan.images.iter().map(|image| format!("  {}\n", image_line(image))));
        out.push('\n');
    }
    if plan.gpus.len() > 1 && plan.gpus.iter().any(|change| change.before != change.after) {
        let _ = writeln!(out, "{}", paint("GPUs", Paint::Bold, style));
        out.extend(plan.gpus.iter().map(|change| format!("  {}\n", words::gpus(change))));
        out.push('\n');
    }
    let _ = writeln!(out, "{}", paint(&plan.summary.to_string(), Paint::Bold, style));
    out
}

/// What is done to something, the gravest first and otherwise in its order; what does not change is left out.
pub(super) fn by_gravity<'p, 'r>(
    planned: &Planned<'p>,
    places: &'r [Option<Place<'p>>],
) -> Vec<(&'p DeploymentPlan, Option<&'r Place<'p>>)> {
    let mut shown: Vec<_> = planned
        .plan
        .deployments
        .iter()
        .zip(places.iter().map(Option::as_ref))
        .filter(|(deployment, _)| deployment.action != Action::Unchanged)
        .collect();
    shown.sort_by_key(|(deployment, _)| (Reverse(deployment.class), deployment.action));
    shown
}

/// `nginx:1 → nginx:2  (3 deployments)`.
fn image_line(image: &ImageChange) -> String {
    let change = match (&image.before, &image.after) {
        (Some(before), Some(after)) => format!("{} → {}", printable(before), printable(after)),
        (Some(before), None) => format!("- {}", printable(before)),
        (None, Some(after)) => format!("+ {}", printable(after)),
        (None, None) => String::new(),
    };
    format!("{change}  ({})", count(image.deployments, "deployment"))
}

/// What is done to a deployment, in one word.
pub(super) fn verdict(deployment: &DeploymentPlan) -> &'static str {
    match (deployment.action, deployment.class) {
        (Action::Created, _) => "created",
        (Action::Deleted, _) => "deleted",
        (Action::Unchanged, _) => "unchanged",
        (Action::Changed, class) => class.unwrap_or(ChangeClass::None).as_str(),
    }
}

fn block(planned: &Planned<'_>, deployment: &DeploymentPlan, place: Option<&Place<'_>>, style: TextStyle) -> String {
    let (sign, color) = match (deployment.action, deployment.class) {
        (Action::Created, _) => ("+", Paint::Green),
        (Action::Deleted, _) => ("-", Paint::Red),
        (_, Some(class)) if is_alarming(class) => ("!", Paint::Red),
        _ => ("~", Paint::Bold),
    };
    let title = paint(&format!("{sign} {}", words::title(&deployment.object)), Paint::Bold, style);
    let verdict = paint(verdict(deployment), color, style);
    let mut out = format!("{title}  {verdict}");
    if deployment.action != Action::Changed {
        let gpus: Vec<String> = deployment
            .gpus
            .iter()
            .map(|gpus| format!("{} {}", gpus.before.max(gpus.after), printable(&gpus.resource)))
            .collect();
        let with = if gpus.is_empty() { String::new() } else { format!(" with {}", gpus.join(", ")) };
        let _ = write!(out, "  {}{with}", printable(&deployment.provider));
    }
    if let Some(place) = place {
        let place = format!("{}:{}:{}", printable(place.file), place.line, place.column);
        let _ = write!(out, "  {}", paint(&place, Paint::Dim, style));
    }
    out.push('\n');
    if let Some(selection) = &deployment.selection {
        out.extend(selection_lines(selection).into_iter().map(|line| format!("  {line}\n")));
    }
    if deployment.action == Action::Changed {
        out.extend(deployment.gpus.iter().map(|gpus| format!("  GPUs: {}\n", words::gpus(gpus))));
    }
    if deployment.action == Action::Deleted {
        out.extend(words::kept(deployment).map(|line| format!("  {line}\n")));
    }
    for (changes, outputs) in words::side_by_side(&deployment.changes) {
        for change in changes {
            let (name, how) = words::cause(&change.cause);
            let _ = writeln!(out, "  {}{}{how}", paint(&name, Paint::Bold, style), gap(&how));
        }
        if outputs.is_empty() {
            out.push_str("    none: it moves nothing in the output\n");
        }
        for group in groups(words::telling(outputs)) {
            out.push_str(&moved(&group, style));
        }
    }
    if planned.diff {
        out.push_str(&colored(&differences::of(planned, deployment), style));
    }
    out
}

/// Places in one object, their class and how it is known.
fn moved(group: &[&OutputChange], style: TextStyle) -> String {
    let Some(first) = group.first() else { return String::new() };
    let (kind, name) = (printable(&first.object.kind), words::name(&first.object));
    let mut out = format!("    {}  {kind} {name}\n", class_word(first.class, style));
    for output in group.iter().filter(|output| !output.path.is_empty()) {
        let (path, how) = words::output(output);
        let together = if output.together { "  (together with other changes)" } else { "" };
        let _ = writeln!(out, "      {path}{}{how}{together}", gap(&how));
    }
    let _ = writeln!(out, "      {}", paint(&format!("source: {}", first.source), Paint::Dim, style));
    out
}

/// What changed about the choice, a line each.
pub(super) fn selection_lines(selection: &SelectionChange) -> Vec<String> {
    let SelectionChange { before, after, closed_gate } = selection;
    let mut lines = Vec::new();
    if before.provider == after.provider {
        lines.push(format!("provider: {}, for another reason", printable(&after.provider)));
    } else {
        lines.push(format!("provider: {} → {}", printable(&before.provider), printable(&after.provider)));
    }
    lines.push(format!("  before: {}", words::choice(before)));
    lines.push(format!("  after: {}", words::choice(after)));
    if let Some(gate) = closed_gate {
        lines.push(format!("  {} cannot be chosen any more: {}", printable(&before.provider), printable(gate)));
    }
    lines
}

fn gap(text: &str) -> &'static str {
    if text.is_empty() { "" } else { "  " }
}

/// Whether what runs afterwards may not be what is written.
fn is_alarming(class: ChangeClass) -> bool {
    class == ChangeClass::NoEffect || class >= ChangeClass::Unknown
}

fn class_word(class: ChangeClass, style: TextStyle) -> String {
    if is_alarming(class) { paint(class.as_str(), Paint::Red, style) } else { class.as_str().to_owned() }
}

/// Places in one object that are of one class for one reason, the gravest first.
fn groups<'o>(outputs: impl Iterator<Item = &'o OutputChange>) -> Vec<Vec<&'o OutputChange>> {
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

/// A unified diff in the colours of git.
fn colored(diff: &str, style: TextStyle) -> String {
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
