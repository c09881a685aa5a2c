//! AsyncActors: standalone ones get a workload of their own, others are bound to one of another owner.

use kube::core::{ApiResource, GroupVersionKind};
use kubefoundry_actor::{API_VERSION, KIND};
use kubefoundry_compiler::cluster_snapshot::time::Time;
use serde_json::{Value, json};

use super::binding::TargetReference;
use super::kind::{Access, ClaimedKind, GENERATED, Plural, Read, RelatedKind, View, related};
use super::{group_version, report, text};
use crate::conditions::{SCALING_READY, TRANSPORT_READY, WORKLOAD_READY};
use crate::status::{Condition, StatusUpdate};

/// The kind AsyncActor.
pub(crate) struct Actors;

/// The kind AsyncActor.
pub(crate) static ACTORS: Actors = Actors;

/// The label of the pods of an actor.
const POD_LABEL: &str = "asya.sh/asya";

static PLURAL: Plural =
    Plural { objects: "asyncactors", status: "asyncactors/status", finalizers: "asyncactors/finalizers" };

const RELATED: &[RelatedKind] = &[
    related(("", "v1"), ("Pod", "pods"), POD_LABEL, Access::Read),
    related(("apps", "v1"), ("Deployment", "deployments"), "", Access::Manage),
    related(("apps", "v1"), ("StatefulSet", "statefulsets"), "", Access::Manage),
    related(("", "v1"), ("ServiceAccount", "serviceaccounts"), GENERATED, Access::Manage),
    related(("", "v1"), ("ConfigMap", "configmaps"), GENERATED, Access::Keep),
    related(("keda.sh", "v1alpha1"), ("ScaledObject", "scaledobjects"), GENERATED, Access::Manage),
    related(("keda.sh", "v1alpha1"), ("TriggerAuthentication", "triggerauthentications"), GENERATED, Access::Manage),
    related(("rabbitmq.com", "v1beta1"), ("Queue", "queues"), GENERATED, Access::Keep),
    related(("rabbitmq.com", "v1beta1"), ("Exchange", "exchanges"), GENERATED, Access::Keep),
    related(("rabbitmq.com", "v1beta1"), ("Binding", "bindings"), GENERATED, Access::Keep),
    related(("rabbitmq.com", "v1beta1"), ("Policy", "policies"), GENERATED, Access::Keep),
    related(("sqs.services.k8s.aws", "v1alpha1"), ("Queue", "queues"), GENERATED, Access::Keep),
    related(("kaito.sh", "v1beta1"), ("Workspace", "workspaces"), "", Access::Read),
    related(("serving.kserve.io", "v1beta1"), ("InferenceService", "inferenceservices"), "", Access::Bind),
    related(("serving.knative.dev", "v1"), ("Service", "services"), "", Access::Bind),
    related(("ray.io", "v1"), ("RayService", "rayservices"), "", Access::Bind),
    related(("ray.io", "v1"), ("RayCluster", "rayclusters"), "", Access::Bind),
];

/// The reference of an actor to a workload.
struct Reference<'o> {
    api_version: &'o str,
    group: &'o str,
    kind: &'o str,
    name: &'o str,
}

/// Returns the reference of an actor that binds; none for one with a workload or an adapter of its own.
fn reference(object: &Value) -> Option<Reference<'_>> {
    if text(object, "/spec/strategy") == "detached" {
        return None;
    }
    let field = |name: &str| object.pointer(&format!("/spec/workloadRef/{name}"))?.as_str();
    let (api_version, kind, name) = (field("apiVersion")?, field("kind")?, field("name")?);
    let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
    Some(Reference { api_version, group, kind, name })
}

impl Reference<'_> {
    /// Whether KAITO makes the workload from the object, and carries no later change of the template into it.
    fn is_workspace(&self) -> bool {
        self.group == "kaito.sh" && self.kind == "Workspace"
    }

    fn resource(&self) -> ApiResource {
        let version = self.api_version.rsplit_once('/').map_or(self.api_version, |(_, version)| version);
        let known = RELATED.iter().find(|known| (known.group, known.kind) == (self.group, self.kind));
        known.map_or_else(
            || ApiResource::from_gvk(&GroupVersionKind::gvk(self.group, version, self.kind)),
            |known| known.resource(version),
        )
    }
}

fn stateful_set() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("apps", "v1", "StatefulSet"))
}

impl ClaimedKind for Actors {
    fn name(&self) -> &'static str {
        "actors"
    }

    fn group_kind(&self) -> (&'static str, &'static str) {
        (group_version(API_VERSION).0, KIND)
    }

    fn resource(&self) -> ApiResource {
        let (group, version) = group_version(API_VERSION);
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, KIND), PLURAL.objects)
    }

    fn plural(&self) -> &'static Plural {
        &PLURAL
    }

    fn manager(&self) -> &'static str {
        "kubefoundry-actors"
    }

    fn finalizer(&self) -> Option<&'static str> {
        Some("actors")
    }

    fn related(&self) -> &'static [RelatedKind] {
        RELATED
    }

    fn inputs(&self, object: &Value) -> Vec<Read> {
        let Some(reference) = reference(object) else { return Vec::new() };
        let mut reads = vec![Read::Named(reference.resource(), reference.name.to_owned())];
        if reference.is_workspace() {
            reads.push(Read::Named(stateful_set(), reference.name.to_owned()));
        }
        reads
    }

    fn surroundings(&self, object: &Value) -> Vec<Read> {
        let pods = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Pod"));
        vec![Read::Labeled(pods, format!("{POD_LABEL}={}", text(object, "/metadata/name")))]
    }

    fn binds(&self, object: &Value) -> bool {
        reference(object).is_some()
    }

    fn means(&self, object: &Value, target: &TargetReference) -> bool {
        reference(object).is_some_and(|reference| {
            let (group, kind) =
                if reference.is_workspace() { ("apps", "StatefulSet") } else { (reference.group, reference.kind) };
            (target.group(), &*target.kind, &*target.name) == (group, kind, reference.name)
        })
    }

    fn status(&self, view: &View<'_>) -> StatusUpdate {
        let object = view.object;
        let (name, namespace) = (text(object, "/metadata/name"), text(object, "/metadata/namespace"));
        let workload = workload(view);
        let entry = report::judge(object, view.live, view.now);
        let status = entry.as_ref().map(|entry| &entry.status);
        let message = status.map(|status| status.message.clone()).unwrap_or_default();
        let mut word = entry.as_ref().and_then(|entry| entry.state.as_deref()).unwrap_or("Creating");
        // The engine names the transport that the options do not have.
        let transport_error = (view.outcome.applied.reason == "Invalid")
            .then_some(view.outcome.applied.message.as_str())
            .filter(|message| message.contains("transport"));
        if transport_error.is_some() {
            word = "TransportError";
        }
        let transport = match (word, transport_error) {
            ("TransportError", error) => {
                let message = error.unwrap_or(&message).to_owned();
                Condition::new(TRANSPORT_READY, false, "NotReady", message)
            }
            _ => Condition::new(TRANSPORT_READY, true, "Ready", "nothing shows that the queue is not ready"),
        };
        let is_transport_ready = word != "TransportError";
        let replicas = status.and_then(|status| status.replicas).unwrap_or_default();
        let (ready, desired) = (replicas.ready.unwrap_or(0), replicas.desired.unwrap_or(0));
        let pods = view.live.iter().filter(|object| text(object, "/kind") == "Pod").count();
        let total = match workload {
            Some(workload) => workload.pointer("/status/replicas").and_then(Value::as_i64).unwrap_or(0),
            None => i64::try_from(pods).unwrap_or(i64::MAX),
        };
        let failing = status.map_or(0, |status| status.parts.iter().filter(|part| part.role == "pod").count());
        let workload_ready = match word {
            "PendingResources" | "ImagePullError" | "RuntimeError" | "SidecarError" | "VolumeError" | "ConfigError"
            | "WorkloadError" => Condition::new(WORKLOAD_READY, false, "PodsNotHealthy", message.clone()),
            _ if workload.is_some() && ready >= desired => {
                Condition::new(WORKLOAD_READY, true, "Ready", format!("{ready} of {desired} pods are ready"))
            }
            _ if workload.is_some() => {
                Condition::new(WORKLOAD_READY, false, "NotReady", format!("{ready} of {desired} pods are ready"))
            }
            _ => Condition::new(WORKLOAD_READY, false, "NotReady", "there is no workload yet"),
        };
        let scales = object.pointer("/spec/scaling/enabled") == Some(&Value::Bool(true));
        let scaling = scales.then(|| match word {
            "ScalingError" => Condition::new(SCALING_READY, false, "NotReady", message.clone()),
            _ => Condition::new(SCALING_READY, true, "Ready", "KEDA has not refused the ScaledObject"),
        });
        let mode = if object.pointer("/spec/workloadRef").is_some() { "Binding" } else { "Standalone" };
        let own = workload.filter(|_| !self.binds(object));
        let conflicts = view.outcome.conflicts;
        let (scaled_at, direction) = last_scaling(object, desired, view.now);
        let mut update = StatusUpdate::default()
            .field("status", word)
            .field("mode", mode)
            .field("observedGeneration", object.pointer("/metadata/generation").cloned().unwrap_or_default())
            .field("replicas", ready)
            .field("readyReplicas", ready)
            .field("desiredReplicas", desired)
            .field("totalReplicas", total)
            .field("pendingReplicas", (total - ready).max(0))
            .field("failingPods", failing)
            .field("readyReplicasSummary", format!("{ready}/{total}"))
            .field("scalingMode", if scales { "KEDA" } else { "Manual" })
            .field("transportStatus", if is_transport_ready { "Ready" } else { "NotReady" })
            .field("lastScaleTime", scaled_at)
            .field("lastScaleDirection", direction)
            .condition(transport)
            .condition(workload_ready)
            .conditions(scaling);
        if let Some(own) = own {
            update = update.field("workloadRef", TargetReference::of(own).to_json(namespace));
        }
        if let Some(target) = view.outcome.target {
            update = update.field("resolvedTarget", target.to_json(namespace));
        }
        if scales && view.rendered.is_some() {
            update = update.field("scaledObjectRef", json!({"name": name, "namespace": namespace}));
        }
        if conflicts.count > 0 {
            update = update
                .field("conflictCount", conflicts.count)
                .field("lastConflictTime", conflicts.last.clone().map(Value::from).unwrap_or_default());
        }
        update
    }
}

/// Returns the workload that runs the actor: the bound one, or its own.
fn workload<'v>(view: &View<'v>) -> Option<&'v Value> {
    if let Some(target) = view.outcome.target {
        return report::find(view.live, &target.api_version, &target.kind, &target.name);
    }
    let owned = view.rendered.map(|rendered| rendered.owned.as_slice()).unwrap_or_default();
    let own = owned.iter().find(|object| ["Deployment", "StatefulSet"].contains(&text(object, "/kind")))?;
    report::find(view.live, text(own, "/apiVersion"), text(own, "/kind"), text(own, "/metadata/name"))
}

/// Returns the time and the direction of the last change of the desired replicas, which the status records; null before the
/// first.
fn last_scaling(object: &Value, desired: i64, now: Time) -> (Value, Value) {
    let status = &object["status"];
    match status["desiredReplicas"].as_i64() {
        Some(before) if before != desired => {
            (now.to_string().into(), if desired > before { "up" } else { "down" }.into())
        }
        _ => (status["lastScaleTime"].clone(), status["lastScaleDirection"].clone()),
    }
}
