//! A `DynamoGraphDeployment` of either version, read back.

use serde_json::{Map, Value, json};

use super::backend::Backend;
use super::frontend;
use crate::draft::{
    Draft, ImportRefusal, ImportSource, WorkerDraft, count_at, items_at, quantity_at, string_at, strings_at,
};
use crate::engines::{ImportedFlag, flags_from_argv};
use crate::ir::{EngineType, NVIDIA_GPU, Role};
use crate::providers::reading;

/// The flag that holds TensorRT-LLM's configuration keys.
const CONFIGURATION: &str = "override-engine-args";

/// A component in either version.
struct Component<'v> {
    name: &'v str,
    kind: &'v str,
    value: &'v Value,
    metadata: Option<&'v Value>,
    pod: &'v Value,
    container: &'v Value,
    is_old: bool,
}

static NOTHING: Value = Value::Null;

impl<'v> Component<'v> {
    /// `spec.services.<name>` of `v1alpha1`.
    fn of_service(name: &'v str, value: &'v Value) -> Self {
        let kind =
            string_at(value, "/subComponentType").or_else(|| string_at(value, "/componentType")).unwrap_or_default();
        let pod = value.pointer("/extraPodSpec").unwrap_or(&NOTHING);
        let container = pod.pointer("/mainContainer").unwrap_or(&NOTHING);
        Self { name, kind, value, metadata: value.pointer("/extraPodMetadata"), pod, container, is_old: true }
    }

    /// An item of `spec.components` of `v1beta1`.
    fn of_item(value: &'v Value) -> Self {
        let pod = value.pointer("/podTemplate/spec").unwrap_or(&NOTHING);
        let container = reading::container(pod, "main").unwrap_or(&NOTHING);
        Self {
            name: string_at(value, "/name").unwrap_or_default(),
            kind: string_at(value, "/type").unwrap_or_default(),
            value,
            metadata: value.pointer("/podTemplate/metadata"),
            pod,
            container,
            is_old: false,
        }
    }

    fn env(&self) -> Vec<Value> {
        let own = if self.is_old { items_at(self.value, "/envs") } else { &[] };
        let all: Vec<Value> = own.iter().chain(items_at(self.container, "/env")).cloned().collect();
        reading::last_of_each_name(&all)
    }

    /// What it asks for: CPU and memory.
    fn requests(&self) -> (Option<String>, Option<String>) {
        let holder = if self.is_old { self.value } else { self.container };
        (quantity_at(holder, "/resources/requests/cpu"), quantity_at(holder, "/resources/requests/memory"))
    }

    fn worker(&self, role: Role) -> WorkerDraft {
        let mut worker = WorkerDraft::new(role);
        if self.is_old {
            reading::resources(self.value, &mut worker);
            worker.gpu_count = count_at(self.value, "/resources/limits/gpu").unwrap_or(0);
            let kind = string_at(self.value, "/resources/limits/gpuType").map(str::to_owned);
            worker.gpu_type = kind.filter(|kind| kind != NVIDIA_GPU);
        } else {
            reading::resources(self.container, &mut worker);
        }
        worker.replicas = count_at(self.value, "/replicas").unwrap_or(1);
        worker.flags = flags(&strings_at(self.container, "/args"));
        worker
    }
}

/// The flags of a worker; keys of TensorRT-LLM's configuration are flags of their own.
fn flags(args: &[String]) -> Vec<ImportedFlag> {
    let mut flags = Vec::new();
    for flag in flags_from_argv(args) {
        let keys = flag.value().filter(|_| flag.name == CONFIGURATION);
        match keys.and_then(|keys| serde_json::from_str::<Map<String, Value>>(keys).ok()) {
            Some(keys) => flags.extend(keys.into_iter().map(|(key, value)| {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                ImportedFlag::with_value(key, text)
            })),
            None => flags.push(flag),
        }
    }
    flags
}

/// Reads a graph.
pub(super) fn import(source: &ImportSource<'_>) -> Result<Draft, ImportRefusal> {
    let services = source.object.pointer("/spec/services").and_then(Value::as_object);
    let mut components: Vec<Component<'_>> =
        services.into_iter().flatten().map(|(name, value)| Component::of_service(name, value)).collect();
    components.extend(items_at(source.object, "/spec/components").iter().map(Component::of_item));
    let of = |kind: &str| components.iter().filter(move |component| component.kind == kind).collect::<Vec<_>>();
    let (workers, prefill, decode) = (of("worker"), of("prefill"), of("decode"));
    let roles: Vec<(Role, &Component<'_>)> = match (workers.as_slice(), prefill.as_slice(), decode.as_slice()) {
        ([worker], [], []) => vec![(Role::Aggregated, worker)],
        // Upstream's own examples leave the decode worker a plain worker.
        ([decode], [prefill], []) | ([], [prefill], [decode]) => vec![(Role::Prefill, prefill), (Role::Decode, decode)],
        _ => {
            return Err(ImportRefusal(format!(
                "it has {} worker, {} prefill and {} decode components, expected one worker, or one prefill and one \
                 decode component",
                workers.len(),
                prefill.len(),
                decode.len()
            )));
        }
    };
    let first = roles.first().map(|(_, component)| *component);
    let engine = engine(source, first.map_or(&NOTHING, |component| component.container))?;
    let mut draft = Draft::new(engine);
    if let Some(component) = first {
        reading::pod(component.metadata, component.pod, component.container, source, &mut draft);
        draft.env = component.env();
        if component.is_old {
            draft.hugging_face_token = string_at(component.value, "/envFromSecret").map(str::to_owned);
        }
        compilation_cache(component, source, &mut draft);
        if let Some(version) = string_at(component.value, "/runtimeVersionOverride") {
            draft.overrides.insert("runtimeVersion".to_owned(), json!(version));
        }
    }
    let backend = Backend::of(engine);
    for (role, component) in &roles {
        if let Some(ours) = backend.map(|backend| backend.component(*role)) {
            draft.renames.pairs.push((component.name.to_owned(), ours.to_owned()));
        }
        draft.workers.push(component.worker(*role));
    }
    if let [frontend] = of("frontend").as_slice() {
        draft.renames.pairs.push((frontend.name.to_owned(), frontend::NAME.to_owned()));
        self::frontend(frontend, &mut draft);
    }
    draft.renames.mapping = "spec.services";
    draft.renames.pairs.retain(|(theirs, ours)| theirs != ours);
    Ok(draft)
}

/// The engine, by what the graph says or by what its workers run.
fn engine(source: &ImportSource<'_>, container: &Value) -> Result<EngineType, ImportRefusal> {
    let framework = source.string_at("/spec/backendFramework").unwrap_or_default();
    let module =
        strings_at(container, "/command").into_iter().find_map(|word| Some(word.strip_prefix("dynamo.")?.to_owned()));
    let backend = Backend::of_framework(module.as_deref().unwrap_or(framework));
    backend.map(|backend| backend.kind).ok_or_else(|| {
        ImportRefusal(
            "its engine is unknown: it has neither spec.backendFramework nor a command such as python3 -m dynamo.vllm"
                .to_owned(),
        )
    })
}

/// Where the operator mounts that cache in a worker's container unless the graph says otherwise: vLLM's own place for it.
const COMPILATION_CACHE: &str = "/root/.cache/vllm";

/// The cache that the operator mounts: a volume of a deployment by the claim's name.
fn compilation_cache(component: &Component<'_>, source: &ImportSource<'_>, draft: &mut Draft) {
    let (claim, path) = if component.is_old {
        let mounts = items_at(component.value, "/volumeMounts").iter();
        let Some(mount) = mounts.into_iter().find(|it| it["useAsCompilationCache"] == true) else { return };
        (string_at(mount, "/name"), string_at(mount, "/mountPoint"))
    } else {
        let cache = |field: &str| string_at(component.value, &format!("/compilationCache/{field}"));
        (cache("pvcName"), cache("mountPath"))
    };
    let Some(claim) = claim else { return };
    let path = path.unwrap_or(COMPILATION_CACHE);
    // A claim of ours is called after the volume.
    let prefix = format!("{}-", source.name());
    let taken = |name: &str| draft.volumes.iter().any(|volume| string_at(volume, "/name") == Some(name));
    let own = claim.strip_prefix(&prefix).filter(|name| !name.is_empty() && !taken(name));
    let name = own.unwrap_or(if taken("compilation-cache") { "compilation-cache-0" } else { "compilation-cache" });
    let name = name.to_owned();
    reading::volume_of_claim(&name, "compilationCache", path, claim, false, source, draft);
}

/// What is set for the frontend, where that is not the default.
fn frontend(frontend: &Component<'_>, draft: &mut Draft) {
    let mode = frontend.env().into_iter().find(|variable| string_at(variable, "/name") == Some("DYN_ROUTER_MODE"));
    if let Some(mode) = mode.as_ref().and_then(|mode| string_at(mode, "/value")) {
        draft.overrides.insert("routerMode".to_owned(), json!(mode));
    }
    let mut settings = Map::new();
    if let Some(replicas) = count_at(frontend.value, "/replicas").filter(|replicas| *replicas != 1) {
        settings.insert("replicas".to_owned(), json!(replicas));
    }
    let (cpu, memory) = frontend.requests();
    let mut resources = Map::new();
    for (field, amount, default) in [("cpu", cpu, "2"), ("memory", memory, "4Gi")] {
        if let Some(amount) = amount.filter(|amount| amount != default) {
            resources.insert(field.to_owned(), json!(amount));
        }
    }
    if !resources.is_empty() {
        settings.insert("resources".to_owned(), Value::Object(resources));
    }
    if !settings.is_empty() {
        draft.overrides.insert("frontend".to_owned(), Value::Object(settings));
    }
}
