//! The data of a plan. It is printed as text or Markdown, and serialized to JSON.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::class::{Applier, ChangeClass};
use super::images::ImageChange;
use kubefoundry_diagnostics::ObjectRef;

/// The effect of the change from one run to another.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Plan {
    /// The tool that applies the objects.
    pub applier: Applier,
    /// Counts of deployments and GPUs.
    pub summary: Summary,
    /// GPUs by resource name, before and after, sorted by name.
    pub gpus: Vec<GpuChange>,
    /// Runtimes that change, with what the newer ones rename or remove, sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub runtimes: Vec<RuntimeChange>,
    /// Images that are added, removed or replaced, sorted.
    pub images: Vec<ImageChange>,
    /// Every deployment: those of the new run in its order, then the deleted ones.
    pub deployments: Vec<DeploymentPlan>,
}

/// The effect of the change on one ModelDeployment.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DeploymentPlan {
    /// The ModelDeployment.
    pub object: ObjectRef,
    /// The name of its environment, if the input is divided into several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<Arc<str>>,
    /// What happens to the deployment.
    pub action: Action,
    /// For a changed deployment: the class of its most severe change, including those of its endpoint and model name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<ChangeClass>,
    /// The provider that runs it after the change; for a deleted deployment, the one that ran it.
    pub provider: String,
    /// For a changed deployment: a different provider, or a different reason for the same provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection: Option<SelectionChange>,
    /// The Service and port that clients call, if they change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<InterfaceChange>,
    /// The name of the model in requests, if it changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_name: Option<InterfaceChange>,
    /// With `--applier operator`: the provider that stays, if a new deployment would get another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<KeptProvider>,
    /// The GPUs of the deployment, by resource name, if their number or memory changes.
    pub gpus: Vec<GpuChange>,
    /// How many sequences of the full context it has place for, where that changes and is known. Prefill workers, which
    /// keep none, do not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<CapacityChange>,
    /// The changes of the input, the most severe first, each with its effects.
    pub changes: Vec<Change>,
    /// The objects that are created, deleted or changed.
    pub objects: Vec<ObjectPlan>,
    /// Its index in the decisions of the old run.
    #[serde(skip)]
    pub old: Option<usize>,
    /// Its index in the decisions of the new run.
    #[serde(skip)]
    pub new: Option<usize>,
}

/// What happens to a deployment or an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Only the new run has it.
    Created,
    /// Only the old run has it.
    Deleted,
    /// Both runs have it, and it differs.
    Changed,
    /// Neither it nor its rendered objects differ.
    Unchanged,
}

/// A change of the input that can be applied alone, with its effects.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// What changes in the input.
    #[serde(flatten)]
    pub cause: Cause,
    /// The most severe class among its effects.
    pub class: ChangeClass,
    /// The output fields that it changes; empty if it changes none.
    pub outputs: Vec<OutputChange>,
}

/// What changes: a field, another input of the run, or what a kustomization makes of it that was not built.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "cause", rename_all = "camelCase")]
pub enum Cause {
    /// A field of the ModelDeployment.
    Field {
        /// The field, if a field changes.
        path: String,
        /// The old value; absent if the field was not written.
        #[serde(skip_serializing_if = "Option::is_none")]
        before: Option<Value>,
        /// The new value; absent if the field is not written.
        #[serde(skip_serializing_if = "Option::is_none")]
        after: Option<Value>,
    },
    /// The options of the run.
    Options,
    /// The provider configurations.
    Providers,
    /// The CRDs of the cluster.
    Crds,
    /// Other objects of the input, such as an AsyncActor that is bound to the deployment.
    Objects,
    /// A kustomization that was not built, so that it is unknown what it changes.
    Unbuilt {
        /// The directory of the kustomization that was not built.
        kustomization: String,
    },
}

/// A changed field of the output.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct OutputChange {
    /// The object.
    pub object: ObjectRef,
    /// Whether this is the main object of its deployment.
    #[serde(skip)]
    pub is_main: bool,
    /// The field; empty if the object as a whole is created or deleted.
    pub path: String,
    /// The old value; absent if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// The new value; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
    /// The effect on the running workload.
    pub class: ChangeClass,
    /// The upstream source for this effect.
    pub source: Cow<'static, str>,
    /// Whether the change has this effect only together with other changes.
    pub together: bool,
}

/// An object that is created, deleted or changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ObjectPlan {
    /// The object.
    pub object: ObjectRef,
    /// What happens to the object.
    #[cfg_attr(feature = "schema", schemars(with = "String", extend("enum" = ["created", "deleted", "changed"])))]
    pub action: Action,
    /// Its index in the outputs of the old run.
    #[serde(skip)]
    pub old: Option<usize>,
    /// Its index in the outputs of the new run.
    #[serde(skip)]
    pub new: Option<usize>,
}

/// A change of something that clients use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct InterfaceChange {
    /// The old text; absent if it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The new text; absent if it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The effect on clients: `recreate`, unless the change does not reach the running model.
    pub class: ChangeClass,
}

/// A selection that differs between the runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SelectionChange {
    /// The old selection.
    pub before: ProviderChoice,
    /// The new selection.
    pub after: ProviderChoice,
    /// Why the old provider is no longer eligible; absent if it could still be selected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_gate: Option<String>,
}

/// A provider that stays although the selection rules prefer another one by now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct KeptProvider {
    /// The provider that stays.
    pub provider: String,
    /// What the selection rules prefer for a new deployment with this specification.
    pub preferred: ProviderChoice,
}

/// A selected provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ProviderChoice {
    /// The name of the provider.
    pub provider: String,
    /// The reason, as text.
    pub reason: String,
    /// The rule that decided; absent if the deployment names its provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<WinningRule>,
}

/// The selection rule that decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WinningRule {
    /// Its CEL expression.
    pub condition: String,
    /// Its priority.
    #[cfg_attr(feature = "schema", schemars(range(min = 0)))]
    pub priority: i32,
}

/// A provider whose runtime changes for at least one deployment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RuntimeChange {
    /// The provider.
    pub provider: String,
    /// The old runtime version.
    pub before: String,
    /// The new runtime version.
    pub after: String,
    /// How many deployments change to it.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub deployments: usize,
    /// Whether minor releases are skipped although upstream supports upgrades to the next one only.
    pub skips_minor_release: bool,
    /// The flags that the new runtime does not have, by engine of these deployments, sorted.
    pub removed_flags: Vec<RemovedFlags>,
}

/// The flags of one engine that a newer runtime does not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RemovedFlags {
    /// The engine, such as `vllm`.
    pub engine: &'static str,
    /// The flags, sorted.
    pub flags: Vec<RemovedFlag>,
}

/// A flag that a newer runtime does not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RemovedFlag {
    /// The flag without dashes.
    pub name: &'static str,
    /// The flags of the same meaning, as a command line writes them, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replacement: Option<&'static str>,
}

/// The number of GPUs of one resource name, before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct GpuChange {
    /// The resource name.
    pub resource: Arc<str>,
    /// GPUs before the change.
    pub before: u128,
    /// GPUs after the change.
    pub after: u128,
    /// The nominal bytes of memory of the GPUs before and after the change; absent unless all of them are
    /// known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryChange>,
}

/// The memory of GPUs before and after a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryChange {
    /// Bytes before the change.
    pub before: u64,
    /// Bytes after the change.
    pub after: u64,
}

/// How many sequences of the full context a deployment has place for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Capacity {
    /// The fewest.
    pub min: u64,
    /// The most.
    pub max: u64,
}

/// The capacity of a deployment before and after a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CapacityChange {
    /// The capacity before the change; absent if it is not known, or if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Capacity>,
    /// The capacity after the change; absent if it is not known, or if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Capacity>,
}

/// Counts of deployments by action and class, and of GPUs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Created deployments.
    pub created: usize,
    /// Deleted deployments.
    pub deleted: usize,
    /// Unchanged deployments.
    pub unchanged: usize,
    /// Changed deployments, by the class of their most severe change.
    pub changed: ClassCounts,
    /// GPUs of all types before.
    pub gpus_before: u128,
    /// GPUs of all types after.
    pub gpus_after: u128,
    /// The most GPUs of all types during the change. A deployment that starts a second cluster, or whose old
    /// object runs until it is deleted by the applier of the new one, needs the GPUs of both.
    pub gpus_at_most: u128,
}

/// Deployments that change, by the class of their most severe change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct ClassCounts {
    /// Nothing that runs changes.
    pub none: usize,
    /// Applied to what runs.
    pub in_place: usize,
    /// Pods are replaced one after the other.
    pub rolling_restart: usize,
    /// A second cluster is started, and takes over once it serves.
    pub blue_green: usize,
    /// Accepted, and without effect on what runs.
    pub no_effect: usize,
    /// A controller that is not known here decides.
    pub unknown: usize,
    /// Another object, endpoint or model name takes the place of the one that serves.
    pub recreate: usize,
    /// Refused by the API server or a webhook: nothing changes.
    pub refused: usize,
}

impl ClassCounts {
    /// Counts the changed deployments of a class.
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

    pub(super) fn add(&mut self, class: ChangeClass) {
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
    /// Returns whether no deployment changes, as far as that is known.
    pub fn is_empty(&self) -> bool {
        self.deployments.iter().all(|deployment| deployment.action == Action::Unchanged)
    }

    /// Returns the most severe class of all changes; `None` if no deployment changes.
    pub fn class(&self) -> Option<ChangeClass> {
        self.deployments.iter().filter_map(|deployment| deployment.class).max()
    }
}

impl CapacityChange {
    /// Returns the change, if there is one.
    pub(super) fn between(before: Option<Capacity>, after: Option<Capacity>) -> Option<Self> {
        (before != after).then_some(Self { before, after })
    }
}

impl Change {
    pub(super) fn new(cause: Cause, outputs: Vec<OutputChange>) -> Self {
        let mut change = Self { cause, class: ChangeClass::None, outputs };
        change.update_class();
        change
    }

    /// Updates the class to the most severe one among the effects.
    pub(super) fn update_class(&mut self) {
        self.class = self.outputs.iter().map(|output| output.class).max().unwrap_or(ChangeClass::None);
    }
}
