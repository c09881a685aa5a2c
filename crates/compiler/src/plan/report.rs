//! The plan as data: what is printed as text and Markdown, and as JSON as it is.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::class::{Applier, ChangeClass};
use super::deployment::PlannedDeployment;
use super::images::{self, ImageChange};
use crate::pipeline::GpuCount;
use kubefoundry_diagnostics::ObjectRef;

/// What going from one state to another does.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Plan {
    /// Who brings the objects into the cluster.
    pub applier: Applier,
    /// How many deployments become what, and the GPUs.
    pub summary: Summary,
    /// GPUs by type, before and after, by name.
    pub gpus: Vec<GpuChange>,
    /// Images that come and go, sorted.
    pub images: Vec<ImageChange>,
    /// Every deployment: those of the new state in its order, then those that are deleted.
    pub deployments: Vec<DeploymentPlan>,
}

/// What becomes of one ModelDeployment.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DeploymentPlan {
    /// The ModelDeployment.
    pub object: ObjectRef,
    /// What is done to it.
    pub action: Action,
    /// Of one that is changed: how grave the gravest of its changes is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<ChangeClass>,
    /// The provider that runs it after the change; of one that is deleted, the one that ran it.
    pub provider: String,
    /// Of one that is changed: another provider, or another reason for the same one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection: Option<SelectionChange>,
    /// Its GPUs by type where their number changes.
    pub gpus: Vec<GpuChange>,
    /// What changes, and what that moves.
    pub changes: Vec<Change>,
    /// The objects that come, go or change.
    pub objects: Vec<ObjectPlan>,
    /// Its position among the decisions of the old run.
    #[serde(skip)]
    pub old: Option<usize>,
    /// Its position among the decisions of the new run.
    #[serde(skip)]
    pub new: Option<usize>,
}

/// What is done to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// It is new.
    Created,
    /// It is gone.
    Deleted,
    /// It is another one.
    Changed,
    /// Neither it nor what it becomes changes.
    Unchanged,
}

/// A change that can be made alone, and what it moves.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// What changes.
    #[serde(flatten)]
    pub cause: Cause,
    /// How grave it is: as the gravest of what it moves.
    pub class: ChangeClass,
    /// What it moves.
    pub outputs: Vec<OutputChange>,
}

/// What changes.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "cause", rename_all = "camelCase")]
pub enum Cause {
    /// A field of the ModelDeployment.
    Field {
        /// The field.
        path: String,
        /// Its value before; absent when it was not written.
        #[serde(skip_serializing_if = "Option::is_none")]
        before: Option<Value>,
        /// Its value after; absent when it is not written any more.
        #[serde(skip_serializing_if = "Option::is_none")]
        after: Option<Value>,
    },
    /// The options of the run.
    Options,
    /// The provider configurations.
    Providers,
    /// The CRDs of the cluster.
    Crds,
    /// Other objects of the input, such as an AsyncActor that is bound to it.
    Objects,
}

/// A place in the output that moves.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OutputChange {
    /// The object.
    pub object: ObjectRef,
    /// Whether it is the main one of its deployment.
    #[serde(skip)]
    pub is_main: bool,
    /// The field; empty when the object itself comes or goes.
    pub path: String,
    /// Its value before; absent when there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// Its value after; absent when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
    /// What becomes of it.
    pub class: ChangeClass,
    /// How that is known.
    pub source: Cow<'static, str>,
    /// Whether no change moves it alone: it takes this one and others.
    pub together: bool,
}

/// An object that comes, goes or changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectPlan {
    /// The object.
    pub object: ObjectRef,
    /// What is done to it.
    pub action: Action,
    /// Its position among the outputs of the old run.
    #[serde(skip)]
    pub old: Option<usize>,
    /// Its position among the outputs of the new run.
    #[serde(skip)]
    pub new: Option<usize>,
}

/// Another choice than before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SelectionChange {
    /// The choice before.
    pub before: ProviderChoice,
    /// The choice after.
    pub after: ProviderChoice,
    /// Why the provider from before cannot be chosen any more; absent when it could.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_gate: Option<String>,
}

/// A provider that was chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProviderChoice {
    /// Its name.
    pub provider: String,
    /// Why, for people.
    pub reason: String,
    /// The rule that won; absent when the deployment names its provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<WinningRule>,
}

/// A selection rule that won.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WinningRule {
    /// Its CEL expression.
    pub condition: String,
    /// Its priority.
    pub priority: i32,
}

/// GPUs of one type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GpuChange {
    /// The resource name.
    pub resource: Arc<str>,
    /// How many before.
    pub before: u64,
    /// How many after.
    pub after: u64,
}

/// How many deployments become what, and the GPUs of all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Deployments that are new.
    pub created: usize,
    /// Deployments that are gone.
    pub deleted: usize,
    /// Deployments that stay as they are.
    pub unchanged: usize,
    /// Deployments that change, by the class of the gravest change.
    pub changed: ClassCounts,
    /// GPUs of all types before.
    pub gpus_before: u64,
    /// GPUs of all types after.
    pub gpus_after: u64,
    /// GPUs of all types meanwhile, each deployment counted at its most: one that starts a second cluster, or whose old
    /// object runs until whoever applies the new one deletes it, has both.
    pub gpus_at_most: u64,
}

/// Deployments that change, by class.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the classes are documented at `ChangeClass`")]
pub struct ClassCounts {
    pub none: usize,
    pub in_place: usize,
    pub rolling_restart: usize,
    pub blue_green: usize,
    pub no_effect: usize,
    pub unknown: usize,
    pub recreate: usize,
    pub refused: usize,
}

impl ClassCounts {
    /// How many there are of a class.
    pub fn count(&self, class: ChangeClass) -> usize {
        match class {
            ChangeClass::None => self.none,
            ChangeClass::InPlace => self.in_place,
            ChangeClass::RollingRestart => self.rolling_restart,
            ChangeClass::BlueGreen => self.blue_green,
            ChangeClass::NoEffect => self.no_effect,
            ChangeClass::Unknown => self.unknown,
            ChangeClass::Recreate => self.recreate,
            ChangeClass::Refused => self.refused,
        }
    }

    fn add(&mut self, class: ChangeClass) {
        let count = match class {
            ChangeClass::None => &mut self.none,
            ChangeClass::InPlace => &mut self.in_place,
            ChangeClass::RollingRestart => &mut self.rolling_restart,
            ChangeClass::BlueGreen => &mut self.blue_green,
            ChangeClass::NoEffect => &mut self.no_effect,
            ChangeClass::Unknown => &mut self.unknown,
            ChangeClass::Recreate => &mut self.recreate,
            ChangeClass::Refused => &mut self.refused,
        };
        *count += 1;
    }
}

impl Plan {
    /// Sums up what becomes of each deployment.
    pub(super) fn of(
        applier: Applier,
        planned: Vec<PlannedDeployment>,
        before: &[GpuCount],
        after: &[GpuCount],
    ) -> Self {
        let mut summary = Summary {
            gpus_before: before.iter().map(|gpus| gpus.count).sum(),
            gpus_after: after.iter().map(|gpus| gpus.count).sum(),
            ..Summary::default()
        };
        for PlannedDeployment { deployment, gpus, .. } in &planned {
            match (deployment.action, deployment.class) {
                (Action::Created, _) => summary.created += 1,
                (Action::Deleted, _) => summary.deleted += 1,
                (Action::Changed, Some(class)) => summary.changed.add(class),
                (Action::Unchanged | Action::Changed, _) => summary.unchanged += 1,
            }
            let (before, after) = *gpus;
            let both = match deployment.class {
                Some(ChangeClass::BlueGreen) => true,
                // The operator deletes first.
                Some(ChangeClass::Recreate) => applier == Applier::Apply,
                _ => false,
            };
            summary.gpus_at_most += if both { before + after } else { before.max(after) };
        }
        let images = images::sum(planned.iter().flat_map(|planned| &planned.images));
        let deployments = planned.into_iter().map(|planned| planned.deployment).collect();
        Self { applier, summary, gpus: gpu_changes(before, after), images, deployments }
    }

    /// Whether nothing changes at all.
    pub fn is_empty(&self) -> bool {
        self.deployments.iter().all(|deployment| deployment.action == Action::Unchanged)
    }

    /// The gravest class of all changes; none when no deployment changes.
    pub fn class(&self) -> Option<ChangeClass> {
        self.deployments.iter().filter_map(|deployment| deployment.class).max()
    }
}

impl Change {
    pub(super) fn new(cause: Cause, outputs: Vec<OutputChange>) -> Self {
        let mut change = Self { cause, class: ChangeClass::None, outputs };
        change.settle();
        change
    }

    /// Takes the class of the gravest of what it moves.
    pub(super) fn settle(&mut self) {
        self.class = self.outputs.iter().map(|output| output.class).max().unwrap_or(ChangeClass::None);
    }
}

/// GPUs by type, by name.
pub(super) fn gpu_changes(before: &[GpuCount], after: &[GpuCount]) -> Vec<GpuChange> {
    let mut all: Vec<GpuChange> = Vec::new();
    let counted = before.iter().map(|gpus| (gpus, true)).chain(after.iter().map(|gpus| (gpus, false)));
    for (GpuCount { resource, count }, is_before) in counted {
        let position = all.iter().position(|change| change.resource == *resource).unwrap_or(all.len());
        if position == all.len() {
            all.push(GpuChange { resource: resource.clone(), before: 0, after: 0 });
        }
        if let Some(change) = all.get_mut(position) {
            *(if is_before { &mut change.before } else { &mut change.after }) += count;
        }
    }
    all.sort_by(|one, other| one.resource.cmp(&other.resource));
    all
}

/// One line: `3 recreate, 2 restart, 11 unchanged; GPUs 24 → 32`.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let changed = ChangeClass::ALL.iter().rev().map(|class| (self.changed.count(*class), word(*class)));
        let counts: Vec<String> = changed
            .chain([(self.created, "created"), (self.deleted, "deleted"), (self.unchanged, "unchanged")])
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        f.write_str(if counts.is_empty() { "no ModelDeployments" } else { "" })?;
        f.write_str(&counts.join(", "))?;
        let Self { gpus_before: before, gpus_after: after, gpus_at_most: most, .. } = *self;
        match (before, after) {
            (0, 0) => Ok(()),
            _ if before == after => write!(f, "; GPUs {after}"),
            _ => write!(f, "; GPUs {before} → {after}"),
        }?;
        if most > before.max(after) && self.changed.blue_green + self.changed.recreate > 0 {
            write!(f, ", up to {most} meanwhile")?;
        }
        Ok(())
    }
}

/// A class in the summary.
const fn word(class: ChangeClass) -> &'static str {
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

    #[test]
    fn a_summary_is_one_line() {
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
