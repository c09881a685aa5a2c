//! Formats a plan as Markdown for a pull request comment: a summary table, with the details folded.

use std::collections::BTreeMap;

use kubefoundry_analysis::plan::{Action, Change, ChangeClass, DeploymentPlan, GpuChange, ImageChange};

use super::format;
use super::text::{by_severity, group_outputs, kept_lines, selection_lines, verdict};
use crate::markdown::{cell, code, html};
use kubefoundry_reports::plan::{DeploymentLocation, PlanContext, format_diffs, locate_deployments, object_name};
use kubefoundry_yaml::append_line;
use kubefoundry_yaml::text::printable;

/// Size limit of each table. GitHub limits a comment to 65,536 characters.
const MAX_TABLE_CHARS: usize = 16_000;
/// Size limit of the whole comment.
const MAX_COMMENT_CHARS: usize = 60_000;
/// Number of deployments that change alike and have a row each. More share one row, with this number of names.
const MAX_ROWS_ALIKE: usize = 3;
/// Number of changes that a table row lists.
const MAX_ROW_CHANGES: usize = 5;

/// Formats the whole plan.
pub(super) fn markdown(context: &PlanContext<'_>) -> String {
    let plan = context.plan;
    let mut out = format!("### kubefoundry plan\n\n**{}**\n", plan.summary);
    let locations = locate_deployments(context);
    let shown = by_severity(context, &locations);
    if shown.is_empty() {
        return out;
    }
    out.push_str(&table(
        "| ModelDeployment | effect | changes |\n|---|---|---|\n",
        deployment_rows(&shown).into_iter(),
    ));
    let all_classes = plan.deployments.iter().filter_map(|deployment| deployment.class);
    let mut classes: Vec<_> = all_classes.collect();
    classes.sort_unstable();
    classes.dedup();
    if !classes.is_empty() {
        out.push('\n');
    }
    for class in classes.iter().rev() {
        append_line!(out, "- **{class}**: {}", class.meaning());
    }
    if plan.gpus.iter().any(|change| change.before != change.after) {
        let is_known = plan.gpus.iter().any(|change| change.memory.is_some());
        let row = |change: &GpuChange| {
            let memory = format::format_gpu_memory(change).unwrap_or_default();
            let memory = if is_known { format!(" {memory} |") } else { String::new() };
            format!("| {} | {} | {} |{memory}\n", cell(&change.resource), change.before, change.after)
        };
        let head = if is_known {
            "| GPUs | before | after | memory |\n|---|---|---|---|\n"
        } else {
            "| GPUs | before | after |\n|---|---|---|\n"
        };
        out.push_str(&table(head, plan.gpus.iter().map(row)));
    }
    if !plan.runtimes.is_empty() {
        out.push('\n');
        for line in plan.runtimes.iter().flat_map(format::runtime_lines) {
            let indent = line.len() - line.trim_start().len();
            append_line!(out, "{:indent$}- {}", "", code(line.trim_start()));
        }
    }
    if !plan.images.is_empty() {
        let image_cell = |image: &Option<String>| image.as_deref().map(cell).unwrap_or_default();
        let row = |image: &ImageChange| {
            format!("| {} | {} | {} |\n", image_cell(&image.before), image_cell(&image.after), image.deployments)
        };
        out.push_str(&table("| image before | after | deployments |\n|---|---|---|\n", plan.images.iter().map(row)));
    }
    let room = MAX_COMMENT_CHARS.saturating_sub(out.chars().count());
    out.push_str(&format_details(context, &shown.iter().map(|(deployment, _)| *deployment).collect::<Vec<_>>(), room));
    out
}

/// Formats a table, truncated to [`MAX_TABLE_CHARS`].
fn table(head: &str, rows: impl ExactSizeIterator<Item = String>) -> String {
    let mut out = format!("\n{head}");
    let (row_count, mut used) = (rows.len(), 0);
    for (position, row) in rows.enumerate() {
        used += row.chars().count();
        if used > MAX_TABLE_CHARS {
            append_line!(out, "\nand {} more.", row_count - position);
            break;
        }
        out.push_str(&row);
    }
    out
}

/// Formats a row for each deployment, with its place. Many deployments that change alike share one.
fn deployment_rows(shown: &[(&DeploymentPlan, Option<&DeploymentLocation<'_>>)]) -> Vec<String> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    let mut positions: BTreeMap<String, usize> = BTreeMap::new();
    for (deployment, location) in shown {
        let place = location.map(|location| format!("<br>{}", cell(&format!("{}:{}", location.file, location.line))));
        let name = cell(&format::title(deployment)) + &place.unwrap_or_default();
        let change = format!("{} | {}", verdict(deployment), format_changes(deployment));
        let position = *positions.entry(change.clone()).or_insert(groups.len());
        match groups.get_mut(position) {
            Some((_, names)) => names.push(name),
            None => groups.push((change, vec![name])),
        }
    }
    let rows = groups.into_iter().flat_map(|(change, names)| {
        let more = names.len().saturating_sub(MAX_ROWS_ALIKE);
        let shared = names.iter().take(MAX_ROWS_ALIKE).cloned().collect::<Vec<_>>().join("<br>");
        let names = if more > 0 { vec![format!("{shared}<br>and {more} more")] } else { names };
        names.into_iter().map(move |name| format!("| {name} | {change} |\n")).collect::<Vec<_>>()
    });
    rows.collect()
}

/// Formats the changes of a deployment for its table row.
fn format_changes(deployment: &DeploymentPlan) -> String {
    let mut cells: Vec<String> = Vec::new();
    if let Some(selection) = &deployment.selection
        && selection.before.provider != selection.after.provider
    {
        cells.push(format!("provider {} → {}", cell(&selection.before.provider), cell(&selection.after.provider)));
    }
    if let Some(kept) = &deployment.kept {
        let (provider, preferred) = (cell(&kept.provider), cell(&kept.preferred.provider));
        cells.push(format!("provider {provider} stays; a new deployment would get {preferred}"));
    }
    if matches!(deployment.action, Action::Created | Action::Deleted) {
        cells.push(cell(&deployment.provider));
    }
    if deployment.action == Action::Deleted {
        cells.extend(format::remaining_claims(deployment).map(|line| cell(&line)));
    }
    cells.extend(format::interface_lines(deployment).map(|line| cell(&line)));
    cells.extend(deployment.gpus.iter().map(|gpus| format!("GPUs {} → {}", gpus.before, gpus.after)));
    cells.extend(deployment.capacity.map(|capacity| {
        format!("sequences of the full context {}", format::format_capacity(capacity, deployment.action))
    }));
    for change in deployment.changes.iter().take(MAX_ROW_CHANGES) {
        cells.push(format_change(change, cell));
    }
    if deployment.changes.len() > MAX_ROW_CHANGES {
        cells.push(format!("and {} more", deployment.changes.len() - MAX_ROW_CHANGES));
    }
    cells.join("<br>")
}

/// Formats a changed field and its old and new values.
fn format_change(change: &Change, code: fn(&str) -> String) -> String {
    let (name, how) = format::format_cause(&change.cause);
    if how.is_empty() { code(&name) } else { format!("{} {}", code(&name), code(&how)) }
}

/// Formats the output fields that each change affects, with the sources of this knowledge; with `--diff`, also diffs.
fn format_details(context: &PlanContext<'_>, shown: &[&DeploymentPlan], room: usize) -> String {
    let (mut out, mut used) = (String::new(), 0);
    for (position, deployment) in shown.iter().enumerate() {
        let mut block = String::new();
        if let Some(selection) = &deployment.selection {
            block.extend(selection_lines(selection).into_iter().map(|line| format!("- {}\n", code(line.trim()))));
        }
        block.extend(format::interface_lines(deployment).map(|line| format!("- {}\n", code(&line))));
        if let Some(kept) = &deployment.kept {
            block.extend(kept_lines(kept).map(|line| format!("- {}\n", code(line.trim()))));
        }
        for (changes, outputs) in format::group_by_outputs(&deployment.changes) {
            let class = changes.first().map_or(ChangeClass::None, |change| change.class);
            let names: Vec<String> = changes.iter().map(|change| format_change(change, code)).collect();
            append_line!(block, "- {}: **{class}**", names.join(", "));
            // The fields of one object that react alike have one source.
            for group in group_outputs(format::relevant_outputs(outputs)) {
                let Some(first) = group.first() else { continue };
                let object = format!("{} {}", printable(&first.object.kind), object_name(&first.object));
                append_line!(block, "  - {}: {} ({})", code(&object), first.class, code(&first.source));
                for output in group.iter().filter(|output| !output.path.is_empty()) {
                    let (path, how) = format::format_output(output);
                    let how = if how.is_empty() { String::new() } else { format!(" {}", code(&how)) };
                    append_line!(block, "    - {}{how}", code(&path));
                }
            }
        }
        if context.diff {
            block.push_str(&fenced(&format_diffs(context, deployment)));
        }
        if block.is_empty() {
            continue;
        }
        let title = html(&format::title(deployment));
        let block = format!(
            "\n<details><summary><code>{title}</code>: {}</summary>\n\n{block}\n</details>\n",
            verdict(deployment)
        );
        used += block.chars().count();
        if used > room {
            let rest = shown.len() - position;
            append_line!(out, "\nThe details of {rest} more are omitted because of the size limit of comments.");
            break;
        }
        out.push_str(&block);
    }
    out
}

/// Formats a diff as a code block whose fence is longer than any run of backticks in it.
fn fenced(diff: &str) -> String {
    let longest = diff.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    let lines: Vec<_> = diff.lines().map(printable).collect();
    if lines.is_empty() { String::new() } else { format!("\n{fence}diff\n{}\n{fence}\n", lines.join("\n")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// GitHub rejects longer comments.
    #[test]
    fn truncates_long_tables() {
        let rows = |count: usize| (0..count).map(|row| format!("| {row:0>98}|\n"));
        assert_eq!(table("| n |\n", rows(2)).lines().count(), 4);
        let cut = table("| n |\n", rows(1000));
        let shown = cut.lines().filter(|line| line.starts_with("| 0")).count();
        assert!(cut.ends_with(&format!("|\n\nand {} more.\n", 1000 - shown)), "{shown} rows are shown");
        assert!(cut.chars().count() < MAX_TABLE_CHARS + 100, "{}", cut.len());
        // Three tables must leave room for the details.
        const { assert!(3 * MAX_TABLE_CHARS < MAX_COMMENT_CHARS) };
    }

    /// Text of users must not end a code block.
    #[test]
    fn a_fence_is_longer_than_those_in_the_text() {
        assert!(fenced("+ ```\n").starts_with("\n````diff\n"));
    }
}
