//! Classifies a change by the reaction of its applier and of the upstream controller.

use std::cmp::Ordering;
use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::rendered_change::RenderedChange;
use kubefoundry_kubernetes::quantity;
use kubefoundry_model::gateway;
use kubefoundry_provider::{Behavior, Reaction};

/// The tool that applies the objects to the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Applier {
    /// kubectl, Argo CD or Flux: every change is a patch, and the upstream controller reacts to it.
    #[default]
    Apply,
    /// The kubefoundry operator. It deletes and recreates the main object on a change of identity (OP-3.1), and on a
    /// change that upstream partly refuses or ignores.
    Operator,
}

/// The effect of a change on the running workload. The variants are in ascending order of severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ChangeClass {
    /// Only metadata changes, or nothing. Running pods continue unchanged.
    None,
    /// The change is applied to the running pods and objects.
    InPlace,
    /// The change is accepted but ignored, so the running workload no longer matches the manifest.
    NoEffect,
    /// Pods are replaced one after the other.
    RollingRestart,
    /// A second cluster is started next to the first, which needs twice the GPUs for a while. It is created from the
    /// whole object, including fields that would otherwise be ignored.
    BlueGreen,
    /// The reaction of the controller is unknown.
    Unknown,
    /// Another object replaces the serving one, or clients have to use another endpoint or model name.
    Recreate,
    /// The API server or a webhook rejects the change.
    Refused,
}

impl ChangeClass {
    /// Every class, the least severe first.
    pub const ALL: [Self; 8] = [
        Self::None,
        Self::InPlace,
        Self::NoEffect,
        Self::RollingRestart,
        Self::BlueGreen,
        Self::Unknown,
        Self::Recreate,
        Self::Refused,
    ];

    /// Returns the name of the class in reports.
    ///
    /// ```
    /// use kubefoundry_analysis::plan::ChangeClass;
    /// assert_eq!(ChangeClass::RollingRestart.as_str(), "rolling-restart");
    /// assert!(ChangeClass::NoEffect < ChangeClass::Recreate);
    /// ```
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::InPlace => "in-place",
            Self::RollingRestart => "rolling-restart",
            Self::BlueGreen => "blue-green",
            Self::NoEffect => "no-effect",
            Self::Unknown => "unknown",
            Self::Recreate => "recreate",
            Self::Refused => "refused",
        }
    }

    /// Explains the class in a few words.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::None => "nothing that runs changes",
            Self::InPlace => "applied to what runs",
            Self::RollingRestart => "pods are replaced one after the other",
            Self::BlueGreen => "a second cluster is started, and takes over once it serves",
            Self::NoEffect => "accepted, but without effect on what runs",
            Self::Unknown => "a controller that is not known here decides",
            Self::Recreate => "another object, endpoint or model name takes the place of the one that serves",
            Self::Refused => "refused by the API server or a webhook: nothing changes",
        }
    }
}

impl fmt::Display for ChangeClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A class with the evidence for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Classification {
    pub(super) class: ChangeClass,
    pub(super) source: &'static str,
}

const fn classified(class: ChangeClass, source: &'static str) -> Classification {
    Classification { class, source }
}

/// Classifies a rendered change by a provider's table; `behaviors` is `None` for a provider that is not built in.
pub(super) fn classify(change: &RenderedChange, behaviors: Option<&[Behavior]>) -> Classification {
    if change.is_whole() {
        return classify_object(change);
    }
    let workloads = behaviors.is_none().then_some(WORKLOADS).filter(|_| change.object.api_version.starts_with("apps/"));
    let Some(behaviors) = behaviors.or(workloads) else {
        return classified(ChangeClass::Unknown, "its controller is not known here");
    };
    let find = |behaviors| Behavior::find(behaviors, &change.object.kind, &change.path);
    let Some(row) = find(behaviors).or_else(|| find(gateway::BEHAVIORS)) else {
        return classified(ChangeClass::Unknown, "the provider's table says nothing about the field");
    };
    let class = match row.reaction {
        Reaction::None => ChangeClass::None,
        Reaction::InPlace => ChangeClass::InPlace,
        Reaction::Grows => classify_growth(change.before.as_ref(), change.after.as_ref()),
        Reaction::RollingRestart => ChangeClass::RollingRestart,
        Reaction::BlueGreen => ChangeClass::BlueGreen,
        Reaction::NoEffect => ChangeClass::NoEffect,
        Reaction::Refused => ChangeClass::Refused,
    };
    classified(class, row.source)
}

/// What Kubernetes itself does with the workloads that are generated for other kinds than models.
const WORKLOADS: &[Behavior] = &[
    workload("Deployment", "metadata", Reaction::None),
    workload("Deployment", "spec", Reaction::InPlace),
    workload("Deployment", "spec.selector", Reaction::Refused),
    workload("Deployment", "spec.template", Reaction::RollingRestart),
    workload("StatefulSet", "metadata", Reaction::None),
    workload("StatefulSet", "spec", Reaction::Refused),
    workload("StatefulSet", "spec.minReadySeconds", Reaction::InPlace),
    workload("StatefulSet", "spec.ordinals", Reaction::InPlace),
    workload("StatefulSet", "spec.persistentVolumeClaimRetentionPolicy", Reaction::InPlace),
    workload("StatefulSet", "spec.replicas", Reaction::InPlace),
    workload("StatefulSet", "spec.revisionHistoryLimit", Reaction::InPlace),
    workload("StatefulSet", "spec.template", Reaction::RollingRestart),
    workload("StatefulSet", "spec.updateStrategy", Reaction::InPlace),
];

const fn workload(kind: &'static str, path: &'static str, reaction: Reaction) -> Behavior {
    // `ValidateStatefulSetUpdate` and `ValidateDeploymentUpdate`, and the hash of the template.
    Behavior { kind, path, reaction, source: "k8s.io/kubernetes/pkg/apis/apps/validation, pkg/controller" }
}

/// Classifies an object that was created or deleted.
fn classify_object(change: &RenderedChange) -> Classification {
    let is_claim = &*change.object.kind == "PersistentVolumeClaim";
    match (change.is_main, change.after.is_some()) {
        (true, true) => classified(ChangeClass::Recreate, "another object takes the place of the one that served"),
        (true, false) => classified(
            ChangeClass::Recreate,
            "it is no longer generated: until it is deleted or pruned, it runs beside the new one",
        ),
        (false, true) => classified(ChangeClass::InPlace, "a new object beside the others"),
        (false, false) if is_claim => classified(
            ChangeClass::InPlace,
            "it is no longer generated: it stays with its data until it is deleted; pruning it deletes the data",
        ),
        (false, false) => {
            classified(ChangeClass::InPlace, "it is no longer generated: it stays until it is deleted or pruned")
        }
    }
}

/// Classifies the change of a quantity that may only grow.
fn classify_growth(before: Option<&Value>, after: Option<&Value>) -> ChangeClass {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    match text(before).zip(text(after)).and_then(|(before, after)| quantity::compare(&before, &after)) {
        Some(Ordering::Less) => ChangeClass::InPlace,
        // The same amount, spelled differently.
        Some(Ordering::Equal) => ChangeClass::None,
        Some(Ordering::Greater) | None => ChangeClass::Refused,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use kubefoundry_composition::PROVIDERS;

    #[test]
    fn a_claim_may_grow_but_not_shrink() {
        let class = |before: &str, after: &str| classify_growth(Some(&json!(before)), Some(&json!(after)));
        assert_eq!(class("10Gi", "20Gi"), ChangeClass::InPlace);
        assert_eq!(class("20Gi", "10Gi"), ChangeClass::Refused);
        assert_eq!(class("1Gi", "1024Mi"), ChangeClass::None);
        assert_eq!(classify_growth(Some(&json!("1Gi")), None), ChangeClass::Refused);
    }

    // Two rows for one field would contradict each other.
    #[test]
    fn each_table_has_one_row_per_field() {
        for provider in PROVIDERS {
            let mut seen = std::collections::BTreeSet::new();
            for behavior in provider.info().behaviors.iter().chain(gateway::BEHAVIORS) {
                assert!(seen.insert((behavior.kind, behavior.path)), "{behavior:?}");
                assert!(!behavior.source.is_empty(), "{behavior:?}");
            }
        }
    }
}
