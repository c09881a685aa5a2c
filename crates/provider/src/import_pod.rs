//! Import of the parts of pods that are common to all providers.

use serde_json::{Map, Value, json};

use crate::draft::{
    Draft, ImportSource, WorkerDraft, items_at, quantity_at, required_node_labels, string_at, string_entries_at,
};
use crate::import_volumes;
use kubefoundry_deployment::ir::{NVIDIA_GPU, is_known_gpu};
use kubefoundry_kubernetes::api_group::API_GROUPS;
use kubefoundry_kubernetes::manifest::MODEL_DEPLOYMENT;

/// The variables that name the directories of model caches.
const MODEL_CACHE_VARIABLES: &[&str] = &["HF_HOME", "LLAMA_CACHE"];
/// The variables that name the directories of compilation caches.
const COMPILATION_CACHE_VARIABLES: &[&str] = &["VLLM_CACHE_ROOT"];

/// Imports the fields that are common to all workers from a pod and its container.
pub fn import_pod(
    metadata: Option<&Value>,
    spec: &Value,
    container: &Value,
    source: &ImportSource<'_>,
    draft: &mut Draft,
) {
    draft.image = string_at(container, "/image").map(str::to_owned);
    draft.env = last_variable_per_name(items_at(container, "/env"));
    draft.hugging_face_token = token_secret(container);
    if let Some(metadata) = metadata {
        draft.pod_labels = string_entries_at(metadata, "/labels");
        // KubeRay's pods behind a Gateway have this label, which only a rendering sets.
        draft.pod_labels.retain(|key, _| !API_GROUPS.iter().any(|it| *key == it.label(MODEL_DEPLOYMENT)));
        draft.pod_annotations = string_entries_at(metadata, "/annotations");
    }
    draft.node_selector = string_entries_at(spec, "/nodeSelector");
    let required = spec.get("affinity").and_then(required_node_labels).unwrap_or_default();
    for (label, value) in required {
        draft.node_selector.entry(label).or_insert(value);
    }
    draft.shared_memory = shared_memory_size(spec, container);
    draft.probes = probes(container);
    draft.security_context = container.get("securityContext").filter(|context| !is_empty(context)).cloned();
    draft.pod_spec = pod_settings(spec);
    draft.tolerations = items_at(spec, "/tolerations").to_vec();
    draft.image_pull_secrets = items_at(spec, "/imagePullSecrets").to_vec();
    import_volumes(spec, container, source, draft);
    import_volumes::import_further_volumes(spec, container, draft);
}

/// Returns whether a value is absent or says nothing.
fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(Map::is_empty)
}

/// Returns the size of a volume in memory that is mounted at `/dev/shm`.
fn shared_memory_size(spec: &Value, container: &Value) -> Option<String> {
    let mounts = items_at(container, "/volumeMounts").iter();
    let mount = mounts
        .filter(|mount| string_at(mount, "/mountPath").is_some_and(|path| path.trim_end_matches('/') == "/dev/shm"))
        .find_map(|mount| string_at(mount, "/name"))?;
    let volume = items_at(spec, "/volumes").iter().find(|volume| string_at(volume, "/name") == Some(mount))?;
    let in_memory = string_at(volume, "/emptyDir/medium") == Some("Memory");
    quantity_at(volume, "/emptyDir/sizeLimit").filter(|_| in_memory)
}

/// The probes of a container, by their names in `spec.probes`.
pub const PROBES: &[(&str, &str)] =
    &[("startup", "startupProbe"), ("readiness", "readinessProbe"), ("liveness", "livenessProbe")];

/// Returns `spec.probes` of a container, or of another object with probes.
pub fn probes(container: &Value) -> Map<String, Value> {
    let written = PROBES.iter().filter_map(|(name, field)| {
        let probe = container.get(*field).filter(|probe| !probe.is_null())?;
        Some(((*name).to_owned(), probe.clone()))
    });
    written.collect()
}

/// The fields of `spec.podTemplate.spec` that only workers get.
const WORKER_FIELDS: &[&str] =
    &["topologySpreadConstraints", "runtimeClassName", "terminationGracePeriodSeconds", "resourceClaims"];

/// The fields of `spec.podTemplate.spec` that all pods get.
const SHARED_FIELDS: &[&str] = &["priorityClassName", "schedulerName", "serviceAccountName"];

/// Returns the fields of `spec.podTemplate.spec` that a pod has. An affinity that a node selector expresses is left out.
fn pod_settings(spec: &Value) -> Map<String, Value> {
    let mut settings = Map::new();
    let affinity = spec.get("affinity").filter(|affinity| {
        let is_only_labels = affinity.as_object().is_some_and(|parts| parts.len() == 1)
            && affinity.pointer("/nodeAffinity").and_then(Value::as_object).is_some_and(|parts| parts.len() == 1);
        let is_selector = is_only_labels && required_node_labels(affinity).is_some();
        !affinity.is_null() && !is_selector
    });
    settings.extend(affinity.map(|affinity| ("affinity".to_owned(), affinity.clone())));
    let written = WORKER_FIELDS.iter().chain(SHARED_FIELDS).filter_map(|name| {
        let value = spec.get(*name).filter(|value| !value.is_null())?;
        Some(((*name).to_owned(), value.clone()))
    });
    settings.extend(written);
    if let Some(context) = spec.get("securityContext").filter(|context| !is_empty(context)) {
        settings.insert("securityContext".to_owned(), context.clone());
    }
    if spec.get("hostIPC") == Some(&Value::Bool(true)) {
        settings.insert("hostIPC".to_owned(), Value::Bool(true));
    }
    settings
}

/// Removes the fields that all pods get if a pod beside the workers, such as a frontend, has other values.
pub fn keep_shared_settings(other_pod: &Value, draft: &mut Draft) {
    draft.pod_spec.retain(|name, value| !SHARED_FIELDS.contains(&name.as_str()) || other_pod.get(name) == Some(value));
}

/// Returns the last variable of each name, the one that Kubernetes uses.
pub fn last_variable_per_name(variables: &[Value]) -> Vec<Value> {
    let is_last = |(index, variable): &(usize, &Value)| {
        let name = string_at(variable, "/name");
        !variables.iter().skip(index + 1).any(|other| string_at(other, "/name") == name)
    };
    variables.iter().enumerate().filter(is_last).map(|(_, variable)| variable.clone()).collect()
}

/// Returns the first Secret whose keys become environment variables.
pub fn token_secret(container: &Value) -> Option<String> {
    items_at(container, "/envFrom").iter().find_map(|source| string_at(source, "/secretRef/name")).map(str::to_owned)
}

/// Imports the resources of a worker from its container.
pub fn import_resources(container: &Value, worker: &mut WorkerDraft) {
    let amounts = |field: &str| -> Vec<(String, String)> {
        let amounts = container.pointer(&format!("/resources/{field}")).and_then(Value::as_object);
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        amounts.into_iter().flatten().map(|(resource, amount)| (resource.clone(), text(amount))).collect()
    };
    let (mut limits, mut requests) = (amounts("limits"), amounts("requests"));
    let gpu = limits.iter().position(|(resource, _)| is_gpu(resource));
    if let Some((resource, amount)) = gpu.map(|position| limits.remove(position)) {
        worker.gpu_count = amount.parse().unwrap_or(0);
        requests.retain(|(name, request)| *name != resource || *request != amount);
        worker.gpu_type = Some(resource).filter(|name| name != NVIDIA_GPU);
    }
    // The API server sets an absent request to the limit.
    requests.retain(|(resource, amount)| {
        resource == "cpu" || !limits.iter().any(|(other, limit)| other == resource && limit == amount)
    });
    let take = |amounts: &mut Vec<(String, String)>, resource: &str| {
        let position = amounts.iter().position(|(name, _)| name == resource)?;
        Some(amounts.remove(position).1)
    };
    worker.cpu = take(&mut requests, "cpu");
    // The field for memory is both the request and the limit.
    if !requests.iter().any(|(resource, _)| resource == "memory") {
        worker.memory = take(&mut limits, "memory");
    }
    worker.resources = Map::new();
    for (field, amounts) in [("requests", requests), ("limits", limits)] {
        if !amounts.is_empty() {
            let amounts: Map<String, Value> = amounts.into_iter().map(|(name, amount)| (name, json!(amount))).collect();
            worker.resources.insert(field.to_owned(), Value::Object(amounts));
        }
    }
    let claims = items_at(container, "/resources/claims");
    if !claims.is_empty() {
        worker.resources.insert("claims".to_owned(), json!(claims));
    }
}

/// Returns whether a resource is GPUs, as opposed to network interfaces, which are extended resources too.
fn is_gpu(resource: &str) -> bool {
    resource.contains('/') && (is_known_gpu(resource) || resource.contains("gpu"))
}

/// Imports the claims that a container mounts.
fn import_volumes(spec: &Value, container: &Value, source: &ImportSource<'_>, draft: &mut Draft) {
    for volume in items_at(spec, "/volumes") {
        let (Some(name), Some(claim)) =
            (string_at(volume, "/name"), string_at(volume, "/persistentVolumeClaim/claimName"))
        else {
            continue;
        };
        let mount = items_at(container, "/volumeMounts").iter().find(|mount| string_at(mount, "/name") == Some(name));
        let Some(path) = mount.and_then(|mount| string_at(mount, "/mountPath")) else { continue };
        if !import_volumes::is_plain(volume, mount) {
            continue;
        }
        let is_read_only = mount.and_then(|mount| mount.pointer("/readOnly")) == Some(&Value::Bool(true));
        let purpose = volume_purpose(path, draft);
        add_claim_volume(name, purpose, path, claim, is_read_only, source, draft);
    }
}

/// Returns the purpose of a volume at a path: the variables of the draft say which caches are there.
pub fn volume_purpose(path: &str, draft: &Draft) -> &'static str {
    let is_named_by = |names: &[&str]| {
        draft.env.iter().any(|variable| {
            string_at(variable, "/name").is_some_and(|name| names.contains(&name))
                && string_at(variable, "/value") == Some(path)
        })
    };
    let has = |purpose: &str| draft.volumes.iter().any(|volume| string_at(volume, "/purpose") == Some(purpose));
    if is_named_by(MODEL_CACHE_VARIABLES) && !has("modelCache") {
        "modelCache"
    } else if is_named_by(COMPILATION_CACHE_VARIABLES) && !has("compilationCache") {
        "compilationCache"
    } else {
        "custom"
    }
}

/// Adds a volume for a claim. If the claim belongs to the deployment, the volume gets the fields for creating it.
pub fn add_claim_volume(
    name: &str,
    purpose: &'static str,
    path: &str,
    claim: &str,
    is_read_only: bool,
    source: &ImportSource<'_>,
    draft: &mut Draft,
) {
    let mut volume = json!({"name": name});
    let default_path = match purpose {
        "modelCache" => "/model-cache",
        "compilationCache" => "/compilation-cache",
        _ => "",
    };
    if purpose != "custom" {
        volume["purpose"] = json!(purpose);
    }
    if path != default_path {
        volume["mountPath"] = json!(path);
    }
    let owned_claim = source.find_sibling("PersistentVolumeClaim", claim).filter(|(_, claim)| is_owned(claim, source));
    if owned_claim.is_none() || claim != format!("{}-{name}", source.name()) {
        volume["claimName"] = json!(claim);
    }
    if let Some((position, claim)) = owned_claim {
        draft.owned_siblings.push(position);
        if let Some(size) = quantity_at(claim, "/spec/resources/requests/storage") {
            volume["size"] = json!(size);
        }
        if let Some(class) = string_at(claim, "/spec/storageClassName") {
            volume["storageClassName"] = json!(class);
        }
        if let Some(mode) = string_at(claim, "/spec/accessModes/0").filter(|mode| *mode != "ReadWriteMany") {
            volume["accessMode"] = json!(mode);
        }
    }
    if is_read_only {
        volume["readOnly"] = json!(true);
    }
    draft.volumes.push(volume);
}

/// Returns whether an object and the imported object have the same deployment as their owner.
pub(super) fn is_owned(object: &Value, source: &ImportSource<'_>) -> bool {
    let owner = |object: &Value| {
        let annotations = string_entries_at(object, "/metadata/annotations");
        let of = |api_group: &kubefoundry_kubernetes::api_group::ApiGroup| {
            annotations.get(&api_group.label("model-deployment")).cloned()
        };
        API_GROUPS.iter().find_map(of)
    };
    owner(object).is_some_and(|name| owner(source.object) == Some(name))
}

/// Finds the container of a name, or returns the only container.
pub fn find_container<'v>(spec: &'v Value, name: &str) -> Option<&'v Value> {
    let containers = items_at(spec, "/containers");
    let named = containers.iter().find(|container| string_at(container, "/name") == Some(name));
    named.or_else(|| containers.first().filter(|_| containers.len() == 1))
}
