//! Resolution of `workloadRef`: finds the object with the pod template, and the object that an autoscaler would scale.
//!
//! Some controllers derive a workload from an object. KAITO creates a StatefulSet with the name of a Workspace. KServe
//! creates a Deployment for the predictor of an InferenceService in Standard mode, and a Knative Service otherwise. If
//! the derived object is in the input, the containers are added to it rather than to its source.

use serde_json::Value;

use super::ir::Reference;
use super::layout::{Knative, Layout};
use super::options::{KserveMode, Settings};
use crate::ObjectSet;
use kubefoundry_transform::ObjectPosition;

/// The result of resolving a reference.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ResolvedTarget {
    /// The object to which the containers are added.
    pub(super) target: ObjectPosition,
    /// The name of that object.
    pub(super) name: String,
    /// The content of that object.
    pub(super) object: Value,
    /// `apiVersion` of the referenced object, if it is in the input.
    pub(super) api_version: Option<String>,
    pub(super) layout: &'static Layout,
    /// The object that an autoscaler would scale.
    pub(super) scales: ScaledWorkload,
    /// Whether Knative runs the pods.
    pub(super) knative: bool,
    /// The controller that sets the replicas of the scaled object, if any.
    pub(super) replica_owner: Option<ReplicaOwner>,
}

/// The object that an autoscaler would scale.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ScaledWorkload {
    /// An object with replicas.
    Workload {
        /// `group/version`.
        api_version: &'static str,
        /// The kind.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// None, because Knative scales its services itself.
    Knative,
    /// None, because a Ray head is a single pod.
    Ray,
}

/// A controller that sets replicas and reverts changes to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplicaOwner {
    /// KAITO sets those of the StatefulSets of its Workspaces.
    Kaito,
    /// KServe creates its own autoscaler.
    Kserve,
}

/// Why a reference cannot be resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ResolveError {
    /// The kind has no known pod template.
    Kind,
    /// The kind is itself rendered to other objects, one of which may be the intended target.
    Source,
    /// The object is neither in the input nor generated.
    Missing,
    /// The object has no pod template. The text names what it has instead.
    Template(&'static str),
    /// The object runs in KServe's ModelMesh, where models share pods.
    ModelMesh,
}

/// Returns whether actors can bind to objects of this kind.
pub(super) fn is_target(group: &str, kind: &str) -> bool {
    Layout::find(group, kind).is_some()
}

/// Returns whether two names may refer to the same object, or to an object and the predictor that KServe derives from
/// it.
pub(super) fn may_mean(one: &str, other: &str) -> bool {
    let is_predictor = |name: &str, of: &str| {
        name.strip_prefix(of).is_some_and(|rest| rest.ends_with(PREDICTOR) || rest == PREDICTOR_DEFAULT)
    };
    one == other || is_predictor(one, other) || is_predictor(other, one)
}

/// The suffix that KServe adds to the name of an InferenceService.
const PREDICTOR: &str = "-predictor";
/// The suffix in KServe before 0.11. Later releases keep it where a predictor has it (`getPredictorName` in
/// `components/predictor.go` of kserve/kserve 0.15).
const PREDICTOR_DEFAULT: &str = "-predictor-default";

/// Returns the name that KServe gives to the predictor of an InferenceService. Since 0.20, the predictor may have a name
/// of its own, which is a part of it (`PredictorServiceName` in `components/predictor.go`, with the names that
/// `test_canary_raw_deployment.py` expects).
fn predictor_name(
    set: &ObjectSet<'_, '_>,
    namespace: Option<&str>,
    service: &str,
    object: Option<&LocatedObject>,
) -> String {
    let own = object.and_then(|it| it.object.pointer("/spec/predictor/name")?.as_str()).filter(|own| !own.is_empty());
    if let Some(own) = own {
        return format!("{service}-{own}{PREDICTOR}");
    }
    let older = format!("{service}{PREDICTOR_DEFAULT}");
    let is_given = |(group, kind)| set.find_input(group, kind, namespace, &older).is_some();
    if [("apps", "Deployment"), ("serving.knative.dev", "Service")].into_iter().any(is_given) {
        return older;
    }
    format!("{service}{PREDICTOR}")
}

/// Resolves a reference to an object of the input or of this run's output.
pub(super) fn resolve(
    reference: &Reference,
    namespace: Option<&str>,
    set: &ObjectSet<'_, '_>,
    settings: &Settings,
) -> Result<ResolvedTarget, ResolveError> {
    let (group, kind, name) = (reference.group(), reference.kind.as_str(), reference.name.as_str());
    let Some(layout) = Layout::find(group, kind) else {
        let is_generated_from = set.context.generates(group, kind);
        return Err(if is_generated_from { ResolveError::Source } else { ResolveError::Kind });
    };
    let own = find_object(set, group, kind, namespace, name);
    let mode = own.as_ref().map_or(Mode::default(), |own| Mode::from_object(&own.object));
    if mode == Mode::ModelMesh && layout.knative == Knative::ByMode {
        return Err(ResolveError::ModelMesh);
    }
    let default = settings.kserve_default_mode.unwrap_or(KserveMode::Standard);
    let knative = match layout.knative {
        Knative::Never => false,
        Knative::Always => true,
        Knative::ByMode => mode == Mode::Knative || (mode == Mode::Unstated && default == KserveMode::Knative),
    };
    let DerivedWorkload { child, scales, replica_owner } = match layout.knative {
        Knative::ByMode => derived_predictor(predictor_name(set, namespace, name, own.as_ref()), knative),
        Knative::Never | Knative::Always => derived_workload(layout, name),
    };
    let derived = child.and_then(|(group, kind, name)| {
        let object = find_object(set, group, kind, namespace, &name)?;
        Some((object, Layout::find(group, kind)?))
    });
    let api_version = own.as_ref().map(|own| own.api_version.clone());
    let is_unmanaged = own.as_ref().is_some_and(|own| leaves_replicas(&own.object));
    let (located, layout) = match derived {
        Some(derived) => derived,
        None => (own.ok_or(ResolveError::Missing)?, layout),
    };
    let pods = layout.pod_spec.iter().try_fold(&located.object, |value, key| value.get(*key));
    if pods.is_none_or(|pods| !pods.is_object()) {
        let preset = located.object.pointer("/inference/preset").is_some();
        return Err(ResolveError::Template(if preset { "a preset" } else { "none" }));
    }
    let replica_owner = replica_owner.filter(|replica_owner| *replica_owner != ReplicaOwner::Kserve || !is_unmanaged);
    Ok(ResolvedTarget {
        target: located.target,
        name: located.name,
        object: located.object,
        api_version,
        layout,
        scales,
        knative,
        replica_owner,
    })
}

/// The workload that a controller derives from an object.
struct DerivedWorkload {
    /// Group, kind and name of the derived object, if the pods do not belong to the object itself.
    child: Option<(&'static str, &'static str, String)>,
    /// The object that an autoscaler would scale.
    scales: ScaledWorkload,
    /// The controller that sets its replicas, if any.
    replica_owner: Option<ReplicaOwner>,
}

/// Returns the workload that KServe derives from an InferenceService.
fn derived_predictor(name: String, knative: bool) -> DerivedWorkload {
    if knative {
        let child = Some(("serving.knative.dev", "Service", name));
        return DerivedWorkload { child, scales: ScaledWorkload::Knative, replica_owner: None };
    }
    DerivedWorkload {
        scales: ScaledWorkload::Workload { api_version: "apps/v1", kind: "Deployment", name: name.clone() },
        child: Some(("apps", "Deployment", name)),
        replica_owner: Some(ReplicaOwner::Kserve),
    }
}

fn derived_workload(layout: &Layout, name: &str) -> DerivedWorkload {
    let workload = |kind| ScaledWorkload::Workload { api_version: "apps/v1", kind, name: name.to_owned() };
    let itself = |scales| DerivedWorkload { child: None, scales, replica_owner: None };
    match layout.kind {
        "Deployment" => itself(workload("Deployment")),
        "StatefulSet" => itself(workload("StatefulSet")),
        "Workspace" => DerivedWorkload {
            child: Some(("apps", "StatefulSet", name.to_owned())),
            scales: workload("StatefulSet"),
            replica_owner: Some(ReplicaOwner::Kaito),
        },
        "RayService" | "RayCluster" => itself(ScaledWorkload::Ray),
        _ => itself(ScaledWorkload::Knative),
    }
}

/// The deployment mode that an InferenceService declares.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Mode {
    Standard,
    Knative,
    ModelMesh,
    #[default]
    Unstated,
}

impl Mode {
    fn from_object(object: &Value) -> Self {
        match annotation(object, "serving.kserve.io/deploymentMode") {
            Some("Standard" | "RawDeployment") => Self::Standard,
            Some("Knative" | "Serverless") => Self::Knative,
            Some("ModelMesh") => Self::ModelMesh,
            _ => Self::Unstated,
        }
    }
}

/// Returns whether an InferenceService tells KServe not to manage replicas.
fn leaves_replicas(object: &Value) -> bool {
    matches!(annotation(object, "serving.kserve.io/autoscalerClass"), Some("external" | "none"))
}

fn annotation<'v>(object: &'v Value, key: &str) -> Option<&'v str> {
    object.get("metadata")?.get("annotations")?.get(key)?.as_str()
}

/// An object that was found in the input or among the generated objects.
struct LocatedObject {
    target: ObjectPosition,
    api_version: String,
    name: String,
    object: Value,
}

/// Finds an object by its identity. An object that this run generates takes precedence over one of the input, which may be the
/// output of an earlier run.
fn find_object(
    set: &ObjectSet<'_, '_>,
    group: &str,
    kind: &str,
    namespace: Option<&str>,
    name: &str,
) -> Option<LocatedObject> {
    let located = |target, api_version, object| LocatedObject { target, api_version, name: name.to_owned(), object };
    if let Some((position, generated)) = set.find_generated(group, kind, namespace, name) {
        let (api_version, object) = (generated.api_version.clone(), generated.object.clone());
        return Some(located(ObjectPosition::Generated(position), api_version, object));
    }
    let (position, input) = set.find_input(group, kind, namespace, name)?;
    Some(located(ObjectPosition::Input(position), input.header.api_version.to_string(), input.root.to_json()))
}
