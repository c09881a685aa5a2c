//! What a `workloadRef` means: an object of the set with a pod template, and what an autoscaler would scale.
//!
//! What upstreams make of their objects: a KAITO Workspace with a template becomes a StatefulSet of its name, a KServe
//! InferenceService `<name>-predictor`, a Deployment in Standard mode and a Knative Service otherwise. When that object is in
//! the set itself, it is the one that is added to.

use serde_json::Value;

use super::ir::Reference;
use super::layout::{Knative, Layout};
use super::options::{KserveMode, Settings};
use crate::ObjectSet;
use kubefoundry_transform::ObjectPosition;

/// What a reference means.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Resolved {
    /// The object to add to.
    pub(super) target: ObjectPosition,
    /// The object, as it is.
    pub(super) object: Value,
    /// `group/version` that the referenced object has, when that one is in the set.
    pub(super) api_version: Option<String>,
    pub(super) layout: &'static Layout,
    /// What an autoscaler would scale.
    pub(super) scales: Scales,
    /// Whether Knative runs the pods.
    pub(super) knative: bool,
    /// Who sets the replicas of what is scaled, other than an autoscaler.
    pub(super) keeper: Option<Keeper>,
}

/// What an autoscaler would scale.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Scales {
    /// An object with replicas.
    Workload {
        /// `group/version`.
        api_version: &'static str,
        /// Its kind.
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// Nothing: Knative scales by itself.
    Knative,
    /// Nothing: a Ray head is one pod.
    Ray,
}

/// Who sets replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keeper {
    /// KAITO, of the StatefulSets of its Workspaces.
    Kaito,
    /// KServe, by an autoscaler of its own.
    Kserve,
}

/// Why a reference means nothing that can be added to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unresolved {
    /// Of objects of this kind nobody knows where their pods are.
    Kind,
    /// Objects of this kind become others, one of which may be meant.
    Source,
    /// There is no such object in the set.
    Missing,
    /// It has no pod template; what it has instead.
    Template(&'static str),
    /// It runs in KServe's ModelMesh, where models share pods.
    ModelMesh,
}

/// Whether an object of this kind can be a target, or what one becomes.
pub(super) fn is_target(group: &str, kind: &str) -> bool {
    Layout::of(group, kind).is_some()
}

/// Whether objects of two names may be one, or one what the other becomes.
pub(super) fn may_mean(one: &str, other: &str) -> bool {
    let is_predictor = |name: &str, of: &str| name.strip_suffix(PREDICTOR) == Some(of);
    one == other || is_predictor(one, other) || is_predictor(other, one)
}

/// What KServe puts behind the name of an InferenceService.
const PREDICTOR: &str = "-predictor";

/// What a reference means.
pub(super) fn resolve(
    reference: &Reference,
    namespace: Option<&str>,
    set: &ObjectSet<'_, '_>,
    settings: &Settings,
) -> Result<Resolved, Unresolved> {
    let (group, kind, name) = (reference.group(), reference.kind.as_str(), reference.name.as_str());
    let Some(layout) = Layout::of(group, kind) else {
        let is_generated_from = (set.context.generates)(group, kind);
        return Err(if is_generated_from { Unresolved::Source } else { Unresolved::Kind });
    };
    let own = find(set, group, kind, namespace, name);
    let mode = own.as_ref().map_or(Mode::default(), |own| Mode::of(&own.object));
    if mode == Mode::ModelMesh && layout.knative == Knative::ByMode {
        return Err(Unresolved::ModelMesh);
    }
    let default = settings.kserve_default_mode.unwrap_or(KserveMode::Standard);
    let knative = match layout.knative {
        Knative::Never => false,
        Knative::Always => true,
        Knative::ByMode => mode == Mode::Knative || (mode == Mode::Unstated && default == KserveMode::Knative),
    };
    let Becomes { child, scales, keeper } = becomes(layout, name, knative);
    let found = child.and_then(|(group, kind, name)| {
        let found = find(set, group, kind, namespace, &name)?;
        Some((found, Layout::of(group, kind)?))
    });
    let api_version = own.as_ref().map(|own| own.api_version.clone());
    let leaves = own.as_ref().is_some_and(|own| leaves_replicas(&own.object));
    let (found, layout) = match found {
        Some(found) => found,
        None => (own.ok_or(Unresolved::Missing)?, layout),
    };
    let pods = layout.pod_spec.iter().try_fold(&found.object, |value, key| value.get(*key));
    if pods.is_none_or(|pods| !pods.is_object()) {
        let preset = found.object.pointer("/inference/preset").is_some();
        return Err(Unresolved::Template(if preset { "a preset" } else { "none" }));
    }
    let keeper = keeper.filter(|keeper| *keeper != Keeper::Kserve || !leaves);
    Ok(Resolved { target: found.target, object: found.object, api_version, layout, scales, knative, keeper })
}

/// What an object becomes in a cluster.
struct Becomes {
    /// Group, kind and name of what has the pods.
    child: Option<(&'static str, &'static str, String)>,
    /// What of it scales.
    scales: Scales,
    /// Who else sets its replicas.
    keeper: Option<Keeper>,
}

fn becomes(layout: &Layout, name: &str, knative: bool) -> Becomes {
    let workload = |kind, name: &str| Scales::Workload { api_version: "apps/v1", kind, name: name.to_owned() };
    let itself = |scales| Becomes { child: None, scales, keeper: None };
    let predictor = format!("{name}{PREDICTOR}");
    match layout.kind {
        "Deployment" => itself(workload("Deployment", name)),
        "StatefulSet" => itself(workload("StatefulSet", name)),
        "Workspace" => Becomes {
            child: Some(("apps", "StatefulSet", name.to_owned())),
            scales: workload("StatefulSet", name),
            keeper: Some(Keeper::Kaito),
        },
        "InferenceService" if knative => Becomes {
            child: Some(("serving.knative.dev", "Service", predictor)),
            scales: Scales::Knative,
            keeper: None,
        },
        "InferenceService" => Becomes {
            scales: workload("Deployment", &predictor),
            child: Some(("apps", "Deployment", predictor)),
            keeper: Some(Keeper::Kserve),
        },
        "RayService" | "RayCluster" => itself(Scales::Ray),
        _ => itself(Scales::Knative),
    }
}

/// What an InferenceService says it runs as.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Mode {
    Standard,
    Knative,
    ModelMesh,
    #[default]
    Unstated,
}

impl Mode {
    fn of(object: &Value) -> Self {
        match annotation(object, "serving.kserve.io/deploymentMode") {
            Some("Standard" | "RawDeployment") => Self::Standard,
            Some("Knative" | "Serverless") => Self::Knative,
            Some("ModelMesh") => Self::ModelMesh,
            _ => Self::Unstated,
        }
    }
}

/// Whether KServe is told to leave replicas to others.
fn leaves_replicas(object: &Value) -> bool {
    matches!(annotation(object, "serving.kserve.io/autoscalerClass"), Some("external" | "none"))
}

fn annotation<'v>(object: &'v Value, key: &str) -> Option<&'v str> {
    object.get("metadata")?.get("annotations")?.get(key)?.as_str()
}

/// An object of the set.
struct Found {
    target: ObjectPosition,
    api_version: String,
    object: Value,
}

/// An object by identity. One that is generated in this run counts before one that was generated in an earlier.
fn find(set: &ObjectSet<'_, '_>, group: &str, kind: &str, namespace: Option<&str>, name: &str) -> Option<Found> {
    if let Some((position, generated)) = set.generated(group, kind, namespace, name) {
        let (api_version, object) = (generated.api_version.clone(), generated.object.clone());
        return Some(Found { target: ObjectPosition::Generated(position), api_version, object });
    }
    let (position, input) = set.input(group, kind, namespace, name)?;
    let api_version = input.header.api_version.to_string();
    Some(Found { target: ObjectPosition::Input(position), api_version, object: input.root.to_json() })
}
