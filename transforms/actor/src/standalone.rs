//! Workloads that belong to an actor: its own one with the sidecar added, or the adapter of a detached binding.

use crate::wire::AsyncActor;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::codes;
use super::ir::{Actor, Binding, Workload};
use super::pod::{self, Probes, Volumes, items, name_of};
use super::target::ScaledWorkload;
use super::wire::ActorWorkloadKind;
use super::{MODE, RUNTIME};
use kubefoundry_kubernetes::manifest::Manifest;
use kubefoundry_kubernetes::pod::{SpecBody, StringMap};
use kubefoundry_transform::{PodPart, TransformOutput};
use kubefoundry_yaml::field_path::FieldPath;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct WorkloadSpec {
    /// Set for a StatefulSet only.
    #[serde(skip_serializing_if = "Option::is_none")]
    service_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replicas: Option<i32>,
    selector: Selector,
    template: PodTemplate,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Selector {
    match_labels: StringMap,
}

/// The pod template of the input with the additions.
#[derive(Debug, Serialize)]
struct PodTemplate {
    metadata: Map<String, Value>,
    spec: Map<String, Value>,
}

/// Generates the workload of a standalone actor. Returns the object that an autoscaler scales.
pub(super) fn generate_workload(actor: &Actor, workload: &Workload, out: &mut TransformOutput<'_>) -> ScaledWorkload {
    let mut spec = workload.spec.clone();
    let path = FieldPath::from(AsyncActor::path().spec().workload().template().spec());
    out.pod_parts.push(PodPart { path, field: "".into() });
    if let Some(account) = ["serviceAccountName", "serviceAccount"].into_iter().find_map(|key| {
        let account = spec.get(key)?.as_str()?;
        (!account.is_empty() && actor.service_account().is_some()).then(|| account.to_owned())
    }) {
        let message = super::service_account_message(&account);
        let at = AsyncActor::path().spec().workload().template().spec().key("serviceAccountName");
        out.findings
            .report(&codes::SERVICE_ACCOUNT, &at, message)
            .help("remove it: kubefoundry renders a service account asya-<actor> with the role");
    }
    let gateway = actor.gateway.clone().or_else(|| gateway_of_runtime(&spec)).unwrap_or_default();
    let metrics_port = pod::metrics_port(&pod::declared_ports(&spec));
    let volumes = Volumes::default();
    let containers = spec.get_mut("containers").and_then(Value::as_array_mut).into_iter().flatten();
    for runtime in containers.filter(|container| name_of(container) == RUNTIME) {
        extend_runtime_container(runtime, actor, &workload.python, &volumes);
    }
    add_containers(&mut spec, actor, vec![pod::json(pod::sidecar(actor, &gateway, metrics_port, &volumes))], &volumes);
    let manifest = workload_manifest(actor, workload.kind, workload.replicas, workload.metadata.clone(), spec);
    out.manifests.push(manifest.with_annotation(MODE, "Standalone"));
    scaled_workload(actor, workload.kind)
}

/// Generates the adapter of a detached binding. Returns the object that an autoscaler scales.
pub(super) fn generate_adapter(actor: &Actor, binding: &Binding, out: &mut TransformOutput<'_>) -> ScaledWorkload {
    if actor.scaling.is_some() {
        let at = FieldPath::from(AsyncActor::path().spec().scaling().enabled());
        let message = format!("{at} scales only the adapter: with strategy: detached the model keeps its replicas");
        out.findings.report(&codes::DETACHED_SCALING, &at, message).help(
            "remove spec.scaling, and scale the model itself, for example with the replicas of its ModelDeployment",
        );
    }
    let volumes = Volumes::default();
    let gateway = actor.gateway.as_deref().unwrap_or_default();
    let containers = [
        pod::json(pod::adapter(actor, binding, &volumes, true)),
        pod::json(pod::sidecar(actor, gateway, None, &volumes)),
    ];
    let mut spec = Map::new();
    add_containers(&mut spec, actor, containers.into(), &volumes);
    let manifest = workload_manifest(actor, ActorWorkloadKind::Deployment, 1, Map::new(), spec);
    out.manifests.push(manifest.with_annotation(MODE, "Binding"));
    scaled_workload(actor, ActorWorkloadKind::Deployment)
}

/// Returns the workload as the object that an autoscaler scales.
fn scaled_workload(actor: &Actor, kind: ActorWorkloadKind) -> ScaledWorkload {
    ScaledWorkload::Workload { api_version: "apps/v1", kind: kind.as_str(), name: actor.name.clone() }
}

/// Adds containers with their volumes and service account to a pod.
fn add_containers(spec: &mut Map<String, Value>, actor: &Actor, containers: Vec<Value>, volumes: &Volumes) {
    append_to_list(spec, "containers", containers);
    append_to_list(spec, "volumes", volumes.list().into_iter().map(pod::json));
    spec.insert("terminationGracePeriodSeconds".to_owned(), json!(actor.graceful_shutdown));
    if let Some(account) = actor.service_account() {
        spec.insert("serviceAccountName".to_owned(), json!(account));
    }
}

/// Adds the start command, environment, mounts and probes to the container with the handler. Probes of the user are kept.
fn extend_runtime_container(container: &mut Value, actor: &Actor, python: &str, volumes: &Volumes) {
    let Some(container) = container.as_object_mut() else { return };
    container.insert("command".to_owned(), json!(pod::runtime_command(python)));
    let own: Vec<Value> = pod::runtime_environment(actor).into_iter().map(pod::json).collect();
    if let Some(Value::Array(env)) = container.get_mut("env") {
        // Validation reported other values. Server-side apply rejects a list with one name twice.
        env.retain(|variable| !own.iter().any(|own| name_of(own) == name_of(variable)));
    }
    append_to_list(container, "env", own);
    append_to_list(container, "volumeMounts", volumes.runtime_mounts().into_iter().map(pod::json));
    let Probes { startup, liveness, readiness } = Probes::new();
    for (key, probe) in [("startupProbe", startup), ("livenessProbe", liveness), ("readinessProbe", readiness)] {
        if container.get(key).is_none_or(Value::is_null) {
            container.insert(key.to_owned(), pod::json(probe));
        }
    }
}

/// Creates the workload. Its pods get the actor's labels, but keep those that the input sets; labels with other values
/// are left out of the selector. `replicas` is omitted for a scaled actor, because the autoscaler sets it.
fn workload_manifest(
    actor: &Actor,
    kind: ActorWorkloadKind,
    replicas: i32,
    mut pod_metadata: Map<String, Value>,
    pod_spec: Map<String, Value>,
) -> Manifest {
    let mut labels = match pod_metadata.get("labels") {
        Some(Value::Object(labels)) => labels.clone(),
        _ => Map::new(),
    };
    let mut match_labels = StringMap::default();
    let own = pod::own_labels(&actor.name, &kind.as_str().to_ascii_lowercase());
    for (key, value) in std::iter::once(("app", actor.name.clone())).chain(own) {
        let label = labels.entry(key).or_insert_with(|| json!(value));
        // The API server rejects a selector that does not match the pods' labels.
        if label.as_str() == Some(value.as_str()) {
            match_labels.push(key, value);
        }
    }
    pod_metadata.insert("labels".to_owned(), Value::Object(labels));
    let spec = WorkloadSpec {
        service_name: (kind == ActorWorkloadKind::StatefulSet).then(|| actor.name.clone()),
        replicas: actor.scaling.is_none().then_some(replicas),
        selector: Selector { match_labels },
        template: PodTemplate { metadata: pod_metadata, spec: pod_spec },
    };
    Manifest::new("apps/v1", kind.as_str(), &actor.name, SpecBody { spec })
}

/// Appends to a list in a mapping. Creates the list if it is absent.
fn append_to_list(map: &mut Map<String, Value>, key: &str, added: impl IntoIterator<Item = Value>) {
    match map.entry(key).or_insert(Value::Null) {
        Value::Array(list) => list.extend(added),
        // A value that is neither a list nor null was reported before.
        other => *other = Value::Array(added.into_iter().collect()),
    }
}

/// Returns the value of `ASYA_GATEWAY_URL` in the runtime container.
fn gateway_of_runtime(spec: &Map<String, Value>) -> Option<String> {
    let runtime = items(spec, "containers").find(|container| name_of(container) == RUNTIME)?;
    let env = runtime.get("env")?.as_array()?;
    let variable = env.iter().find(|variable| name_of(variable) == "ASYA_GATEWAY_URL")?;
    variable.get("value")?.as_str().map(str::to_owned)
}
