//! A plan for a comment on a pull request: what matters in a table, the rest folded away.

use std::fmt::Write as _;

use kubefoundry_compiler::plan::{Action, Change, ChangeClass, DeploymentPlan, GpuChange, ImageChange};

use super::text::{by_gravity, selection_lines, verdict};
use super::{Planned, differences, places, words};
use crate::style::printable;

/// Characters of each table; GitHub takes 65,536 of a comment.
const MOST_ROWS: usize = 16_000;
/// Characters of the whole.
const MOST: usize = 60_000;
/// Changes that a row names.
const MOST_CHANGES: usize = 5;

/// The whole plan.
pub(super) fn markdown(planned: &Planned<'_>) -> String {
    let plan = planned.plan;
    let mut out = format!("### kubefoundry plan\n\n**{}**\n", plan.summary);
    let places = places(planned);
    let shown = by_gravity(planned, &places);
    if shown.is_empty() {
        return out;
    }
    let rows = shown.iter().map(|(deployment, _)| {
        let name = code(&words::title(&deployment.object));
        format!("| {name} | {} | {} |\n", verdict(deployment), changes(deployment))
    });
    out.push_str(&table("| ModelDeployment | becomes | by |\n|---|---|---|\n", rows));
    let grave = plan.deployments.iter().filter_map(|deployment| deployment.class);
    let mut classes: Vec<_> = grave.collect();
    classes.sort_unstable();
    classes.dedup();
    if !classes.is_empty() {
        out.push('\n');
    }
    for class in classes.iter().rev() {
        let _ = writeln!(out, "- **{class}**: {}", class.meaning());
    }
    if plan.gpus.iter().any(|change| change.before != change.after) {
        let row =
            |change: &GpuChange| format!("| {} | {} | {} |\n", code(&change.resource), change.before, change.after);
        out.push_str(&table("| GPUs | before | after |\n|---|---|---|\n", plan.gpus.iter().map(row)));
    }
    if !plan.images.is_empty() {
        let cell = |image: &Option<String>| image.as_deref().map(code).unwrap_or_default();
        let row = |image: &ImageChange| {
            format!("| {} | {} | {} |\n", cell(&image.before), cell(&image.after), image.deployments)
        };
        out.push_str(&table("| image before | after | deployments |\n|---|---|---|\n", plan.images.iter().map(row)));
    }
    let room = MOST.saturating_sub(out.chars().count());
    out.push_str(&details(planned, &shown.iter().map(|(deployment, _)| *deployment).collect::<Vec<_>>(), room));
    out
}

/// A table as far as there is room for it.
fn table(head: &str, rows: impl ExactSizeIterator<Item = String>) -> String {
    let mut out = format!("\n{head}");
    let (all, mut used) = (rows.len(), 0);
    for (position, row) in rows.enumerate() {
        used += row.chars().count();
        if used > MOST_ROWS {
            let _ = writeln!(out, "\nand {} more.", all - position);
            break;
        }
        out.push_str(&row);
    }
    out
}

/// What a row says about the changes.
fn changes(deployment: &DeploymentPlan) -> String {
    let mut cells: Vec<String> = Vec::new();
    if let Some(selection) = &deployment.selection
        && selection.before.provider != selection.after.provider
    {
        cells.push(format!("provider {} → {}", code(&selection.before.provider), code(&selection.after.provider)));
    }
    if deployment.action != Action::Changed {
        cells.push(code(&deployment.provider));
    }
    if deployment.action == Action::Deleted {
        cells.extend(words::kept(deployment).map(|line| code(&line)));
    }
    cells.extend(deployment.gpus.iter().map(|gpus| format!("GPUs {} → {}", gpus.before, gpus.after)));
    for change in deployment.changes.iter().take(MOST_CHANGES) {
        cells.push(named(change));
    }
    if deployment.changes.len() > MOST_CHANGES {
        cells.push(format!("and {} more", deployment.changes.len() - MOST_CHANGES));
    }
    cells.join("<br>")
}

/// What changes, and how.
fn named(change: &Change) -> String {
    let (name, how) = words::cause(&change.cause);
    if how.is_empty() { code(&name) } else { format!("{} {}", code(&name), code(&how)) }
}

/// What each change moves, and how that is known; with `--diff` the objects, too.
fn details(planned: &Planned<'_>, shown: &[&DeploymentPlan], room: usize) -> String {
    let (mut out, mut used) = (String::new(), 0);
    for (position, deployment) in shown.iter().enumerate() {
        let mut block = String::new();
        if let Some(selection) = &deployment.selection {
            block.extend(selection_lines(selection).into_iter().map(|line| format!("- {}\n", code(line.trim()))));
        }
        for (changes, outputs) in words::side_by_side(&deployment.changes) {
            let class = changes.first().map_or(ChangeClass::None, |change| change.class);
            let names: Vec<String> = changes.iter().map(|change| named(change)).collect();
            let _ = writeln!(block, "- {}: **{class}**", names.join(", "));
            for output in words::telling(outputs) {
                let (path, how) = words::output(output);
                let place = format!("{} {} {path}", printable(&output.object.kind), words::name(&output.object));
                let how = if how.is_empty() { String::new() } else { format!(" {}", code(&how)) };
                let source = code(&output.source);
                let _ = writeln!(block, "  - {}{how}: {} ({source})", code(place.trim_end()), output.class);
            }
        }
        if planned.diff {
            block.push_str(&fenced(&differences::of(planned, deployment)));
        }
        if block.is_empty() {
            continue;
        }
        let title = html(&words::title(&deployment.object));
        let block = format!(
            "\n<details><summary><code>{title}</code>: {}</summary>\n\n{block}\n</details>\n",
            verdict(deployment)
        );
        used += block.chars().count();
        if used > room {
            let rest = shown.len() - position;
            let _ = writeln!(out, "\nThe details of {rest} more are left out: a comment has no room for them.");
            break;
        }
        out.push_str(&block);
    }
    out
}

/// Text as code, which is read as nothing else, in a table either.
fn code(text: &str) -> String {
    let text = printable(text).replace('|', "\\|");
    if !text.contains('`') {
        return format!("`{text}`");
    }
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    format!("{fence} {text} {fence}")
}

fn html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A diff as a block that nothing in it can end.
fn fenced(diff: &str) -> String {
    let longest = diff.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    let lines: Vec<_> = diff.lines().map(printable).collect();
    if lines.is_empty() { String::new() } else { format!("\n{fence}diff\n{}\n{fence}\n", lines.join("\n")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// GitHub refuses a comment that is longer.
    #[test]
    fn a_table_is_cut_where_there_is_no_room() {
        let rows = |count: usize| (0..count).map(|row| format!("| {row:0>98}|\n"));
        assert_eq!(table("| n |\n", rows(2)).lines().count(), 4);
        let cut = table("| n |\n", rows(1000));
        let shown = cut.lines().filter(|line| line.starts_with("| 0")).count();
        assert!(cut.ends_with(&format!("|\n\nand {} more.\n", 1000 - shown)), "{shown} rows are shown");
        assert!(cut.chars().count() < MOST_ROWS + 100, "{}", cut.len());
        // Three tables leave room for what is folded away.
        const { assert!(3 * MOST_ROWS < MOST) };
    }

    /// What a user writes stays text: it opens no tag, ends no cell and no block.
    #[test]
    fn code_is_only_code() {
        assert_eq!(code("a|b"), "`a\\|b`");
        assert_eq!(code("a``b"), "``` a``b ```");
        assert_eq!(code("a\n| b"), "`a\\n\\| b`");
        assert_eq!(html("<img src=x>"), "&lt;img src=x&gt;");
        assert!(fenced("+ ```\n").starts_with("\n````diff\n"));
    }
}
