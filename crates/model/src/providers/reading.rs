//! Parts of pods, read back from the objects that hold them.

use serde_json::{Value, json};

use crate::draft::{Draft, ImportSource, WorkerDraft, count_at, items_at, quantity_at, string_at, string_entries_at};
use crate::ir::NVIDIA_GPU;

/// What tells of caches: the variables that name the directories.
const MODEL_CACHES: &[&str] = &["HF_HOME", "LLAMA_CACHE"];
const COMPILATION_CACHES: &[&str] = &["VLLM_CACHE_ROOT"];

/// Reads what every worker of a deployment shares out of a pod and its container.
pub(super) fn pod(
    metadata: Option<&Value>,
    spec: &Value,
    container: &Value,
    source: &ImportSource<'_>,
    draft: &mut Draft,
) {
    draft.image = string_at(container, "/image").map(str::to_owned);
    draft.env = last_of_each_name(items_at(container, "/env"));
    draft.hugging_face_token = token(container);
    if let Some(metadata) = metadata {
        draft.pod_labels = string_entries_at(metadata, "/labels");
        draft.pod_annotations = string_entries_at(metadata, "/annotations");
    }
    draft.node_selector = string_entries_at(spec, "/nodeSelector");
    draft.tolerations = items_at(spec, "/tolerations").to_vec();
    draft.image_pull_secrets = items_at(spec, "/imagePullSecrets").to_vec();
    volumes(spec, container, source, draft);
}

/// Variables of which one name is there once: the last counts.
pub(super) fn last_of_each_name(variables: &[Value]) -> Vec<Value> {
    let is_last = |(index, variable): &(usize, &Value)| {
        let name = string_at(variable, "/name");
        !variables.iter().skip(index + 1).any(|other| string_at(other, "/name") == name)
    };
    variables.iter().enumerate().filter(is_last).map(|(_, variable)| variable.clone()).collect()
}

/// The one Secret whose keys are environment variables.
pub(super) fn token(container: &Value) -> Option<String> {
    items_at(container, "/envFrom").iter().find_map(|source| string_at(source, "/secretRef/name")).map(str::to_owned)
}

/// What a worker needs, of a container's `resources`.
pub(super) fn resources(container: &Value, worker: &mut WorkerDraft) {
    worker.cpu = quantity_at(container, "/resources/requests/cpu");
    worker.memory = quantity_at(container, "/resources/limits/memory")
        .or_else(|| quantity_at(container, "/resources/requests/memory"));
    let limits = container.pointer("/resources/limits").and_then(Value::as_object);
    let gpu = limits.into_iter().flatten().find(|(name, _)| name.contains('/'));
    if let Some((name, amount)) = gpu {
        worker.gpu_count = count_at(&json!([amount]), "/0").unwrap_or(0);
        worker.gpu_type = Some(name.clone()).filter(|name| name != NVIDIA_GPU);
    }
}

/// The claims that a container mounts.
fn volumes(spec: &Value, container: &Value, source: &ImportSource<'_>, draft: &mut Draft) {
    for volume in items_at(spec, "/volumes") {
        let (Some(name), Some(claim)) =
            (string_at(volume, "/name"), string_at(volume, "/persistentVolumeClaim/claimName"))
        else {
            continue;
        };
        let mount = items_at(container, "/volumeMounts").iter().find(|mount| string_at(mount, "/name") == Some(name));
        let Some(path) = mount.and_then(|mount| string_at(mount, "/mountPath")) else { continue };
        let is_read_only = mount.and_then(|mount| mount.pointer("/readOnly")) == Some(&Value::Bool(true));
        let said = |names: &[&str]| {
            draft.env.iter().any(|variable| {
                string_at(variable, "/name").is_some_and(|name| names.contains(&name))
                    && string_at(variable, "/value") == Some(path)
            })
        };
        let has = |purpose: &str| draft.volumes.iter().any(|volume| string_at(volume, "/purpose") == Some(purpose));
        let purpose = if said(MODEL_CACHES) && !has("modelCache") {
            "modelCache"
        } else if said(COMPILATION_CACHES) && !has("compilationCache") {
            "compilationCache"
        } else {
            "custom"
        };
        volume_of_claim(name, purpose, path, claim, is_read_only, source, draft);
    }
}

/// Adds a volume: of a claim that is the deployment's own, with what it takes to make it.
pub(super) fn volume_of_claim(
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
    let own = source.find_sibling("PersistentVolumeClaim", claim).filter(|(_, claim)| is_owned(claim, source));
    if own.is_none() || claim != format!("{}-{name}", source.name()) {
        volume["claimName"] = json!(claim);
    }
    if let Some((position, claim)) = own {
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

/// Whether an object names the same deployment as its own as the source does.
pub(super) fn is_owned(object: &Value, source: &ImportSource<'_>) -> bool {
    let owner = |object: &Value| {
        let annotations = string_entries_at(object, "/metadata/annotations");
        let of = |api_group: &kubefoundry_kubernetes::api_group::ApiGroup| {
            annotations.get(&api_group.label("model-deployment")).cloned()
        };
        kubefoundry_kubernetes::api_group::API_GROUPS.iter().find_map(of)
    };
    owner(object).is_some_and(|name| owner(source.object) == Some(name))
}

/// The container of this name, or the only one.
pub(super) fn container<'v>(spec: &'v Value, name: &str) -> Option<&'v Value> {
    let containers = items_at(spec, "/containers");
    let named = containers.iter().find(|container| string_at(container, "/name") == Some(name));
    named.or_else(|| containers.first().filter(|_| containers.len() == 1))
}
