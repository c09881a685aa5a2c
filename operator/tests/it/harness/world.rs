//! Sample deployments, the objects that they render to, and the check that everything has converged.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use futures::{StreamExt as _, stream};
use kube::Error;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kubefoundry_compiler::{Thoroughness, compile};
use kubefoundry_composition::BUILTIN;
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use serde_json::{Value, json};

use super::cluster::{Kind, Namespace, condition, kinds, uid};
use super::crds;
use super::operator::Operator;

/// The kinds of main objects, in which models run.
pub const MAIN_KINDS: [Kind; 4] = [kinds::WORKSPACE, kinds::INFERENCE_SET, kinds::GRAPH, kinds::RAY_SERVICE];
/// The kinds of supporting objects.
const SUPPORTING_KINDS: [Kind; 3] = [kinds::CONFIG_MAP, kinds::SERVICE, kinds::CLAIM];
/// Selects the objects that the operator creates.
const OPERATOR_SELECTOR: &str = "kubefoundry.ai/managed-by=kubefoundry";

/// All objects of a kind in a namespace; none if the kind is not installed.
pub async fn list(namespace: &Namespace, kind: Kind, selector: &str) -> Result<Vec<Value>, String> {
    match namespace.api(kind).list(&ListParams::default().labels(selector)).await {
        Ok(list) => Ok(list.items.iter().map(|object| with_kind(kind.api_version, kind.kind, object)).collect()),
        Err(Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
        Err(error) => Err(format!("list of {}: {error}", kind.kind)),
    }
}

/// The object with `apiVersion` and `kind`, which list items lack.
fn with_kind(api_version: &str, kind: &str, object: &DynamicObject) -> Value {
    let mut value = serde_json::to_value(object).unwrap();
    value["apiVersion"] = json!(api_version);
    value["kind"] = json!(kind);
    value
}

/// The string at a JSON pointer; empty if absent.
pub fn text<'o>(object: &'o Value, pointer: &str) -> &'o str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The sample deployment of a number, named `m-<number>`. There are five variants, for all three providers.
pub fn deployment(namespace: &str, number: usize) -> Value {
    let spec = match number % 5 {
        // KAITO, selected.
        0 => json!({
            "model": {"id": "google/gemma-3-1b-it-qat-q8_0-gguf/gemma.gguf"},
            "engine": {"type": "llamacpp"},
            "resources": {"memory": "16Gi", "cpu": "8"},
            "image": "ghcr.io/sozercan/llama-cpp-runner:latest",
            "provider": {"overrides": {"instanceType": "Standard_D16s_v5"}},
        }),
        // Dynamo, selected.
        1 => json!({
            "model": {"id": "Qwen/Qwen3-4B"},
            "engine": {"type": "vllm", "contextLength": 8192},
            "resources": {"gpu": {"count": 1}, "memory": "32Gi"},
        }),
        // KubeRay, by name.
        2 => json!({
            "model": {"id": "Qwen/Qwen2.5-7B-Instruct"},
            "engine": {"type": "vllm"},
            "provider": {"name": "kuberay"},
            "scaling": {"replicas": 2},
            "resources": {"gpu": {"count": 1}, "memory": "32Gi", "cpu": "8"},
        }),
        // KAITO, by name, with a ConfigMap.
        3 => json!({
            "model": {"id": "microsoft/Phi-4-mini-instruct"},
            "engine": {"type": "vllm", "contextLength": 16384, "args": {"gpu-memory-utilization": "0.9"}},
            "provider": {"name": "kaito", "overrides": {"instanceType": "Standard_NC24ads_A100_v4"}},
            "resources": {"gpu": {"count": 1}},
        }),
        // Dynamo, with a claim.
        _ => json!({
            "model": {
                "id": "meta-llama/Llama-3.3-70B-Instruct",
                "storage": {"volumes": [
                    {"name": "cache", "purpose": "modelCache", "size": "300Gi", "storageClassName": "shared-nfs"},
                ]},
            },
            "engine": {"type": "vllm"},
            "resources": {"gpu": {"count": 4}, "memory": "256Gi"},
        }),
    };
    json!({
        "apiVersion": "kubefoundry.ai/v1alpha1",
        "kind": "ModelDeployment",
        "metadata": {"name": format!("m-{number:05}"), "namespace": namespace},
        "spec": spec,
    })
}

/// A deployment that the CRDs accept and `lint` refuses: it has more ranks than GPUs.
pub fn invalid(namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": "kubefoundry.ai/v1alpha1",
        "kind": "ModelDeployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "model": {"id": "Qwen/Qwen3-4B"},
            "engine": {"type": "vllm", "args": {"tensor-parallel-size": "8"}},
            "resources": {"gpu": {"count": 1}, "memory": "32Gi"},
        },
    })
}

/// Applies deployments, eight at a time. Retries while the apiserver is not available or throttles.
pub async fn apply_all(namespace: &Namespace, deployments: &[Value]) {
    let applied = stream::iter(deployments).map(|deployment| async move {
        for _ in 0..600 {
            match namespace.apply(kinds::DEPLOYMENT, deployment).await {
                Ok(_) => return,
                Err(Error::Api(status)) if (400..429).contains(&status.code) => {
                    panic!("{}: {status}", text(deployment, "/metadata/name"))
                }
                // The apiserver is not available, or throttles.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
        panic!("{} could not be applied", text(deployment, "/metadata/name"));
    });
    applied.buffer_unordered(8).collect::<Vec<()>>().await;
}

/// Writes the status that the upstream operator writes for a model that serves.
pub async fn serve(namespace: &Namespace, kind: Kind, object: &Value) -> Result<(), Error> {
    let now = "2026-01-30T09:12:00Z";
    let condition = |kind: &str, reason: &str| json!({"type": kind, "status": "True", "reason": reason, "message": "it serves", "lastTransitionTime": now});
    let generation = &object["metadata"]["generation"];
    let status = match kind.kind {
        "Workspace" => json!({
            "state": "Ready",
            "conditions": [condition("InferenceReady", "ready"), condition("WorkspaceSucceeded", "workspaceSucceeded")],
        }),
        "InferenceSet" => json!({
            "replicas": object["spec"]["replicas"], "readyReplicas": object["spec"]["replicas"],
            "conditions": [condition("InferenceSetReady", "ready")],
        }),
        "DynamoGraphDeployment" => {
            let components = object["spec"]["components"].as_array().cloned().unwrap_or_default();
            let components: BTreeMap<String, Value> = components
                .iter()
                .map(|component| {
                    let replicas = component.get("replicas").and_then(Value::as_i64).unwrap_or(1);
                    let status = json!({
                        "componentKind": "PodClique", "replicas": replicas,
                        "updatedReplicas": replicas, "readyReplicas": replicas,
                    });
                    (text(component, "/name").to_owned(), status)
                })
                .collect();
            json!({
                "state": "successful", "observedGeneration": generation, "components": components,
                "conditions": [condition("Ready", "all_resources_are_ready")],
            })
        }
        "RayService" => json!({
            "serviceStatus": "Running", "observedGeneration": generation, "numServeEndpoints": 1,
            "conditions": [condition("Ready", "NonZeroServeEndpoints")],
        }),
        kind => panic!("{kind} serves nothing"),
    };
    let patch = Patch::Merge(json!({"status": status}));
    namespace.api(kind).patch_status(text(object, "/metadata/name"), &PatchParams::default(), &patch).await?;
    Ok(())
}

/// Marks all main objects of a namespace as serving, and returns their number.
pub async fn serve_all(namespace: &Namespace) -> Result<usize, String> {
    let mut served = 0;
    for kind in MAIN_KINDS {
        for object in list(namespace, kind, OPERATOR_SELECTOR).await? {
            serve(namespace, kind, &object).await.map_err(|error| error.to_string())?;
            served += 1;
        }
    }
    Ok(served)
}

/// The upstream CRDs, which determine the rendered versions and fields.
static CRDS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let all = [crds::KAITO, crds::DYNAMO, crds::KUBERAY].concat();
    all.into_iter().map(|crd| crds::definition(crd).to_string()).collect()
});

/// The rendered objects of deployments by name, supporting ones first.
fn render_all(deployments: &[&Value]) -> BTreeMap<String, Vec<Value>> {
    let mut sources = SourceSet::default();
    for text in CRDS.iter() {
        sources.add_for(Purpose::Crds, "crd.yaml", text.as_str());
    }
    for deployment in deployments {
        let metadata = &deployment["metadata"];
        let mut input = json!({
            "apiVersion": deployment["apiVersion"], "kind": deployment["kind"],
            "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
            "spec": deployment["spec"],
        });
        for field in ["labels", "annotations"] {
            if let Some(value) = metadata.get(field) {
                input["metadata"][field] = value.clone();
            }
        }
        sources.add_for(Purpose::Input, format!("{}.json", text(deployment, "/metadata/name")), input.to_string());
    }
    let compilation = compile(&BUILTIN, &sources, Thoroughness::Needed);
    assert!(!compilation.has_errors(), "{:?}", compilation.diagnostics);
    let mut rendered: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for output in compilation.outputs {
        let name = compilation.decisions[output.decision].object.name.to_string();
        rendered.entry(name).or_default().push(output.object);
    }
    rendered
}

/// Describes the first rendered value that a live object lacks.
fn first_difference(rendered: &Value, live: &Value, path: &mut String) -> Option<String> {
    match (rendered, live) {
        (Value::Object(rendered), Value::Object(live)) => rendered.iter().find_map(|(key, value)| {
            let length = path.len();
            let _ = write!(path, ".{key}");
            let difference = first_difference(value, live.get(key).unwrap_or(&Value::Null), path);
            path.truncate(length);
            difference
        }),
        (Value::Array(rendered), Value::Array(live)) if rendered.len() == live.len() => {
            rendered.iter().zip(live).enumerate().find_map(|(index, (rendered, live))| {
                let length = path.len();
                let _ = write!(path, "[{index}]");
                let difference = first_difference(rendered, live, path);
                path.truncate(length);
                difference
            })
        }
        _ if rendered == live => None,
        _ => Some(format!("{path} is {live}, not {rendered}")),
    }
}

/// The field managers of an object's status.
fn status_managers(object: &Value) -> BTreeSet<&str> {
    let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    let of_status = entries.into_iter().flatten().filter(|entry| entry["subresource"] == "status");
    of_status.map(|entry| text(entry, "/manager")).collect()
}

/// Checks that a namespace has converged: the objects of every deployment exist as rendered and are owned by it, its status
/// is complete and matches its main object, and there are no other objects of the operator. The deployments in `invalid`
/// must wait with a message, and have no objects.
pub async fn settled(namespace: &Namespace, invalid: &[&str]) -> Result<(), String> {
    let deployments = list(namespace, kinds::DEPLOYMENT, "").await?;
    let mut live: BTreeMap<(String, String), Value> = BTreeMap::new();
    for kind in MAIN_KINDS.iter().chain(&SUPPORTING_KINDS) {
        // Claims do not have the label.
        let selector = if *kind == kinds::CLAIM { "" } else { OPERATOR_SELECTOR };
        for object in list(namespace, *kind, selector).await? {
            live.insert((kind.kind.to_owned(), text(&object, "/metadata/name").to_owned()), object);
        }
    }
    let (waiting, running): (Vec<&Value>, Vec<&Value>) =
        deployments.iter().partition(|deployment| invalid.contains(&text(deployment, "/metadata/name")));
    let rendered = render_all(&running);
    let mut wrong: Vec<String> = Vec::new();
    let mut expected: BTreeSet<(String, String)> = BTreeSet::new();
    for deployment in &running {
        let name = text(deployment, "/metadata/name");
        let objects = rendered.get(name).map(Vec::as_slice).unwrap_or_default();
        for object in objects {
            expected.insert((text(object, "/kind").to_owned(), text(object, "/metadata/name").to_owned()));
        }
        if let Err(reason) = is_settled(namespace, deployment, objects, &live).await {
            wrong.push(format!("{name}: {reason}"));
        }
    }
    for deployment in waiting {
        let is_reported = condition(deployment, "Validated").is_some_and(|it| it["status"] == "False");
        if text(deployment, "/status/phase") != "Pending"
            || text(deployment, "/status/message").is_empty()
            || !is_reported
        {
            wrong.push(format!("{} does not wait: {}", text(deployment, "/metadata/name"), deployment["status"]));
        }
    }
    // Claims outlive their deployment, because they hold data.
    let orphans = live.keys().filter(|key| !expected.contains(*key) && key.0 != "PersistentVolumeClaim");
    wrong.extend(orphans.map(|(kind, name)| format!("{kind} {name} belongs to nothing")));
    if wrong.is_empty() {
        return Ok(());
    }
    let more = wrong.len().saturating_sub(5);
    wrong.truncate(5);
    Err(format!("{} and {more} more", wrong.join("; ")))
}

async fn is_settled(
    namespace: &Namespace,
    deployment: &Value,
    rendered: &[Value],
    live: &BTreeMap<(String, String), Value>,
) -> Result<(), String> {
    let uid = text(deployment, "/metadata/uid");
    if deployment.pointer("/metadata/deletionTimestamp").is_some() {
        return Err("it is still being deleted".to_owned());
    }
    let main = rendered.last().ok_or("nothing is rendered")?;
    for object in rendered {
        let (kind, name) = (text(object, "/kind"), text(object, "/metadata/name"));
        let found =
            live.get(&(kind.to_owned(), name.to_owned())).ok_or_else(|| format!("{kind} {name} does not exist"))?;
        if found.pointer("/metadata/deletionTimestamp").is_some() {
            return Err(format!("{kind} {name} is being deleted"));
        }
        if kind != "PersistentVolumeClaim" {
            let owners = found.pointer("/metadata/ownerReferences").and_then(Value::as_array);
            let owners: Vec<&str> =
                owners.into_iter().flatten().filter(|it| it["controller"] == true).map(|it| text(it, "/uid")).collect();
            if owners != [uid] {
                return Err(format!("{kind} {name} is owned by {owners:?}, not {uid}"));
            }
        }
        // Read in the rendered version: the list above may use another one.
        let (group, version) = text(object, "/apiVersion").split_once('/').unwrap_or(("", text(object, "/apiVersion")));
        let known = MAIN_KINDS
            .iter()
            .chain(&SUPPORTING_KINDS)
            .find(|known| known.kind == kind)
            .ok_or("a kind that is not known")?;
        let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), known.plural);
        let api: Api<DynamicObject> = Api::namespaced_with(namespace.client.clone(), &namespace.name, &resource);
        let found = api.get(name).await.map_err(|error| format!("{kind} {name}: {error}"))?;
        if let Some(difference) =
            first_difference(object, &with_kind(&resource.api_version, kind, &found), &mut String::new())
        {
            return Err(format!("{kind} {name}: {difference}"));
        }
    }

    let status = &deployment["status"];
    let provider = text(status, "/provider/name");
    let of_provider = format!("{provider}-provider");
    let managers = status_managers(deployment);
    for manager in ["kubefoundry-core", "provider-selector", of_provider.as_str()] {
        if !managers.contains(manager) {
            return Err(format!("{manager} has not written the status: {status}"));
        }
    }
    if status["observedGeneration"] != deployment["metadata"]["generation"] {
        return Err(format!("generation {} is not observed: {status}", deployment["metadata"]["generation"]));
    }
    for kind in ["Validated", "ProviderSelected", "ProviderCompatible", "ResourceCreated"] {
        if condition(deployment, kind).is_none_or(|it| it["status"] != "True") {
            return Err(format!("{kind} is not true: {status}"));
        }
    }
    if text(status, "/provider/selectedReason").is_empty()
        || status["provider"]["resourceName"] != main["metadata"]["name"]
        || status["provider"]["resourceKind"] != main["kind"]
    {
        return Err(format!("the provider fields are wrong: {status}"));
    }
    let upstream = &live[&(text(main, "/kind").to_owned(), text(main, "/metadata/name").to_owned())];
    let translated = BUILTIN.find_provider(provider).ok_or("no such provider")?.translate_status(upstream);
    let translated = translated.map_err(|error| error.to_string())?;
    if let Some(phase) = translated.phase
        && text(status, "/phase") != phase.as_str()
    {
        return Err(format!("{} says {}, and the status {status}", text(main, "/kind"), phase.as_str()));
    }
    let finalizers = deployment.pointer("/metadata/finalizers").cloned().unwrap_or_default();
    if finalizers != json!([format!("kubefoundry.ai/{of_provider}")]) {
        return Err(format!("the finalizers are {finalizers}"));
    }
    Ok(())
}

/// The uid of each main object in a namespace, by kind and name.
pub async fn uids(namespace: &Namespace) -> BTreeMap<String, String> {
    let mut uids = BTreeMap::new();
    for kind in MAIN_KINDS {
        for object in list(namespace, kind, OPERATOR_SELECTOR).await.unwrap() {
            uids.insert(format!("{} {}", kind.kind, text(&object, "/metadata/name")), uid(&object));
        }
    }
    uids
}

/// The number of events with this reason about a deployment, repetitions included.
pub async fn count_events(namespace: &Namespace, name: &str, reason: &str) -> u64 {
    let events = list(namespace, kinds::EVENT, "").await.unwrap();
    let matching = events.iter().filter(|event| {
        let about = (text(event, "/regarding/kind"), text(event, "/regarding/name"), text(event, "/reason"));
        about == ("ModelDeployment", name, reason)
    });
    matching.map(|event| event.pointer("/series/count").and_then(Value::as_u64).unwrap_or(1)).sum()
}

/// Waits until a namespace is [`settled`].
///
/// # Panics
/// After the timeout, with the differences and the end of the operator's log.
pub async fn until_settled(namespace: &Namespace, invalid: &[&str], operator: &Operator, timeout: Duration) {
    let started = Instant::now();
    loop {
        match settled(namespace, invalid).await {
            Ok(()) => return,
            Err(seen) if started.elapsed() > timeout => {
                panic!("{}: not settled after {timeout:?}: {seen}\n{}", namespace.name, operator.end_of_log())
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(200)).await,
        }
    }
}

/// The number of requests that an operator has sent about deployments and their objects, by verb and resource. Leases,
/// heartbeats, reviews of rights, events, lists and watches do not count.
pub async fn count_requests(operator: &Operator) -> BTreeMap<String, u64> {
    let label = |labels: &str, key: &str| -> String {
        let found = labels.split_once(&format!("{key}=\"")).and_then(|(_, rest)| rest.split_once('"'));
        found.unwrap_or_else(|| panic!("no {key} in {labels}")).0.to_owned()
    };
    let mut counts = BTreeMap::new();
    for line in operator.metrics().await.lines() {
        let Some(rest) = line.strip_prefix("kubefoundry_api_requests_total{") else { continue };
        let (labels, count) = rest.rsplit_once(' ').unwrap();
        let (verb, resource) = (label(labels, "verb"), label(labels, "resource"));
        let counts_as_work = !matches!(verb.as_str(), "list" | "watch")
            && !["leases", "events", "inferenceproviderconfigs", "selfsubject"]
                .iter()
                .any(|other| resource.starts_with(other));
        if counts_as_work {
            *counts.entry(format!("{verb} {resource}")).or_default() += count.parse::<u64>().unwrap();
        }
    }
    counts
}

/// The sum of [`count_requests`].
pub fn total(counts: &BTreeMap<String, u64>) -> u64 {
    counts.values().sum()
}
