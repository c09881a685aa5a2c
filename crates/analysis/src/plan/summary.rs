//! Sums up the plans of all deployments.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::class::{Applier, ChangeClass};
use super::images::{self, ImageChange};
use super::report::{Action, DeploymentPlan, GpuChange, MemoryChange, Plan, Summary};
use kubefoundry_compiler::pipeline::GpuCount;

/// The plan of one deployment, and its share in the summary.
#[derive(Debug)]
pub(super) struct PlannedDeployment {
    pub(super) deployment: DeploymentPlan,
    /// Its GPUs of all types, before and after.
    pub(super) gpus: (u128, u128),
    /// The class of the most severe change of an object.
    pub(super) objects_class: Option<ChangeClass>,
    pub(super) images: Vec<ImageChange>,
}

/// Builds the plan from the plans of the deployments.
pub(super) fn summarize(applier: Applier, planned: Vec<PlannedDeployment>, gpus: Vec<GpuChange>) -> Plan {
    let mut summary = Summary {
        gpus_before: gpus.iter().map(|change| change.before).sum(),
        gpus_after: gpus.iter().map(|change| change.after).sum(),
        ..Summary::default()
    };
    for PlannedDeployment { deployment, gpus, objects_class, .. } in &planned {
        match (deployment.action, deployment.class) {
            (Action::Created, _) => summary.created += 1,
            (Action::Deleted, _) => summary.deleted += 1,
            (Action::Changed, Some(class)) => summary.changed.add(class),
            (Action::Unchanged | Action::Changed, _) => summary.unchanged += 1,
        }
        let (before, after) = *gpus;
        let runs_both = match objects_class {
            Some(ChangeClass::BlueGreen) => true,
            // The operator deletes the old object before it creates the new one.
            Some(ChangeClass::Recreate) => applier == Applier::Apply,
            _ => false,
        };
        summary.gpus_at_most += if runs_both { before + after } else { before.max(after) };
    }
    let images = images::merge(planned.iter().flat_map(|planned| &planned.images));
    let deployments = planned.into_iter().map(|planned| planned.deployment).collect();
    Plan { applier, summary, gpus, runtimes: Vec::new(), images, deployments }
}

/// Merges GPU counts before and after, sorted by resource name.
pub(super) fn gpu_changes<'g>(
    before: impl IntoIterator<Item = &'g GpuCount>,
    after: impl IntoIterator<Item = &'g GpuCount>,
) -> Vec<GpuChange> {
    let mut changes: BTreeMap<Arc<str>, GpuChange> = BTreeMap::new();
    let before = before.into_iter().map(|gpus| (gpus, true));
    for (gpus, is_before) in before.chain(after.into_iter().map(|gpus| (gpus, false))) {
        let change = changes.entry(gpus.resource.clone()).or_insert_with(|| GpuChange {
            resource: gpus.resource.clone(),
            before: 0,
            after: 0,
            memory: Some(MemoryChange { before: 0, after: 0 }),
        });
        *(if is_before { &mut change.before } else { &mut change.after }) += u128::from(gpus.count);
        change.memory = change.memory.zip(gpus.memory).map(|(mut memory, bytes)| {
            let side = if is_before { &mut memory.before } else { &mut memory.after };
            *side = side.saturating_add(bytes);
            memory
        });
    }
    changes.into_values().collect()
}

/// Formats one line: `3 recreate, 2 restart, 11 unchanged; GPUs 24 → 32`.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let changed = ChangeClass::ALL.iter().rev().map(|class| (self.changed.count(*class), summary_word(*class)));
        let counts: Vec<String> = changed
            .chain([(self.created, "created"), (self.deleted, "deleted"), (self.unchanged, "unchanged")])
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        f.write_str(if counts.is_empty() { "no ModelDeployments" } else { "" })?;
        f.write_str(&counts.join(", "))?;
        let Self { gpus_before: before, gpus_after: after, gpus_at_most: peak, .. } = *self;
        match (before, after) {
            (0, 0) => Ok(()),
            _ if before == after => write!(f, "; GPUs {after}"),
            _ => write!(f, "; GPUs {before} → {after}"),
        }?;
        if peak > before.max(after) && self.changed.blue_green + self.changed.recreate > 0 {
            write!(f, ", up to {peak} meanwhile")?;
        }
        Ok(())
    }
}

/// Returns the word for a class in the summary line.
const fn summary_word(class: ChangeClass) -> &'static str {
    match class {
        ChangeClass::None => "metadata only",
        ChangeClass::InPlace => "in place",
        ChangeClass::RollingRestart => "restart",
        ChangeClass::BlueGreen => "blue-green",
        ChangeClass::NoEffect => "no effect",
        ChangeClass::Unknown => "unknown",
        ChangeClass::Recreate => "recreate",
        ChangeClass::Refused => "refused",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::ClassCounts;

    #[test]
    fn formats_the_summary_in_one_line() {
        let changed = ClassCounts { recreate: 3, rolling_restart: 2, ..ClassCounts::default() };
        let mut summary =
            Summary { unchanged: 11, changed, gpus_before: 24, gpus_after: 32, gpus_at_most: 32, ..Summary::default() };
        assert_eq!(summary.to_string(), "3 recreate, 2 restart, 11 unchanged; GPUs 24 → 32");
        summary.changed.blue_green = 1;
        summary.gpus_at_most = 40;
        assert!(summary.to_string().ends_with("GPUs 24 → 32, up to 40 meanwhile"), "{summary}");
        assert_eq!(Summary::default().to_string(), "no ModelDeployments");
    }
}
