//! Import of a `DynamoGraphDeployment` in either CRD version.

use serde_json::{Map, Value, json};

use super::backend::Backend;
use super::frontend;
use crate::draft::{
    Draft, ImportRefusal, ImportSource, WorkerDraft, count_at, items_at, quantity_at, string_at, strings_at,
};
use crate::engines::{ImportedFlag, flags_from_argv};
use crate::ir::{EngineType, NVIDIA_GPU, Role};
use crate::providers::import_pod;

/// The flag that holds TensorRT-LLM's configuration keys.
const CONFIG_FLAG: &str = "override-engine-args";

/// A component of either CRD version.
struct GraphComponent<'v> {
    name: &'v str,
    kind: &'v str,
    value: &'v Value,
    metadata: Option<&'v Value>,
    pod: &'v Value,
    container: &'v Value,
    is_v1alpha1: bool,
}

/// Stands for an absent part.
static NULL: Value = Value::Null;

impl<'v> GraphComponent<'v> {
    /// Creates a component from `spec.services.<name>` of `v1alpha1`.
    fn from_service(name: &'v str, value: &'v Value) -> Self {
        let kind =
            string_at(value, "/subComponentType").or_else(|| string_at(value, "/componentType")).unwrap_or_default();
        let pod = value.pointer("/extraPodSpec").unwrap_or(&NULL);
        let container = pod.pointer("/mainContainer").unwrap_or(&NULL);
        Self { name, kind, value, metadata: value.pointer("/extraPodMetadata"), pod, container, is_v1alpha1: true }
    }

    /// Creates a component from an item of `spec.components` of `v1beta1`.
    fn from_item(value: &'v Value) -> Self {
        let pod = value.pointer("/podTemplate/spec").unwrap_or(&NULL);
        let container = import_pod::find_container(pod, "main").unwrap_or(&NULL);
        Self {
            name: string_at(value, "/name").unwrap_or_default(),
            kind: string_at(value, "/type").unwrap_or_default(),
            value,
            metadata: value.pointer("/podTemplate/metadata"),
            pod,
            container,
            is_v1alpha1: false,
        }
    }

    fn env(&self) -> Vec<Value> {
        let own = if self.is_v1alpha1 { items_at(self.value, "/envs") } else { &[] };
        let all: Vec<Value> = own.iter().chain(items_at(self.container, "/env")).cloned().collect();
        import_pod::last_variable_per_name(&all)
    }

    /// Returns the CPU request and the memory request.
    fn requests(&self) -> (Option<String>, Option<String>) {
        let owner = if self.is_v1alpha1 { self.value } else { self.container };
        (quantity_at(owner, "/resources/requests/cpu"), quantity_at(owner, "/resources/requests/memory"))
    }

    fn worker(&self, role: Role) -> WorkerDraft {
        let mut worker = WorkerDraft::new(role);
        if self.is_v1alpha1 {
            import_pod::import_resources(self.value, &mut worker);
            worker.gpu_count = count_at(self.value, "/resources/limits/gpu").unwrap_or(0);
            let kind = string_at(self.value, "/resources/limits/gpuType").map(str::to_owned);
            worker.gpu_type = kind.filter(|kind| kind != NVIDIA_GPU);
        } else {
            import_pod::import_resources(self.container, &mut worker);
        }
        worker.replicas = count_at(self.value, "/replicas").unwrap_or(1);
        worker.flags = read_flags(&strings_at(self.container, "/args"));
        worker
    }
}

/// Reads the flags of a worker. Each key of TensorRT-LLM's configuration becomes a flag.
fn read_flags(args: &[String]) -> Vec<ImportedFlag> {
    let mut flags = Vec::new();
    for flag in flags_from_argv(args) {
        let keys = flag.value().filter(|_| flag.name == CONFIG_FLAG);
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

/// Imports a graph.
pub(super) fn import(source: &ImportSource<'_>) -> Result<Draft, ImportRefusal> {
    let services = source.object.pointer("/spec/services").and_then(Value::as_object);
    let mut components: Vec<GraphComponent<'_>> =
        services.into_iter().flatten().map(|(name, value)| GraphComponent::from_service(name, value)).collect();
    components.extend(items_at(source.object, "/spec/components").iter().map(GraphComponent::from_item));
    let of_kind = |kind: &str| components.iter().filter(move |component| component.kind == kind).collect::<Vec<_>>();
    let (workers, prefill, decode) = (of_kind("worker"), of_kind("prefill"), of_kind("decode"));
    let roles: Vec<(Role, &GraphComponent<'_>)> = match (workers.as_slice(), prefill.as_slice(), decode.as_slice()) {
        ([worker], [], []) => vec![(Role::Aggregated, worker)],
        // In upstream's examples the decode worker has the type of a plain worker.
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
    let engine = detect_engine(source, first.map_or(&NULL, |component| component.container))?;
    let mut draft = Draft::new(engine);
    if let Some(component) = first {
        import_pod::import_pod(component.metadata, component.pod, component.container, source, &mut draft);
        draft.env = component.env();
        if component.is_v1alpha1 {
            draft.hugging_face_token = string_at(component.value, "/envFromSecret").map(str::to_owned);
        }
        import_compilation_cache(component, source, &mut draft);
        if let Some(version) = string_at(component.value, "/runtimeVersionOverride") {
            draft.overrides.insert("runtimeVersion".to_owned(), json!(version));
        }
    }
    let backend = Backend::find(engine);
    for (role, component) in &roles {
        if let Some(rendered_name) = backend.map(|backend| backend.component_name(*role)) {
            draft.renames.pairs.push((component.name.to_owned(), rendered_name.to_owned()));
        }
        draft.workers.push(component.worker(*role));
    }
    if let [frontend] = of_kind("frontend").as_slice() {
        draft.renames.pairs.push((frontend.name.to_owned(), frontend::NAME.to_owned()));
        import_frontend(frontend, &mut draft);
    }
    draft.renames.mapping = "spec.services";
    draft.renames.pairs.retain(|(imported, rendered)| imported != rendered);
    Ok(draft)
}

/// Detects the engine from the command of the workers, or from `spec.backendFramework`.
fn detect_engine(source: &ImportSource<'_>, container: &Value) -> Result<EngineType, ImportRefusal> {
    let framework = source.string_at("/spec/backendFramework").unwrap_or_default();
    let module =
        strings_at(container, "/command").into_iter().find_map(|word| Some(word.strip_prefix("dynamo.")?.to_owned()));
    let backend = Backend::find_by_framework(module.as_deref().unwrap_or(framework));
    backend.map(|backend| backend.kind).ok_or_else(|| {
        ImportRefusal(
            "its engine is unknown: it has neither spec.backendFramework nor a command such as python3 -m dynamo.vllm"
                .to_owned(),
        )
    })
}

/// The path at which the operator mounts a compilation cache by default, vLLM's own cache directory.
const DEFAULT_CACHE_PATH: &str = "/root/.cache/vllm";

/// Imports the compilation cache that the operator mounts as a volume of the deployment.
fn import_compilation_cache(component: &GraphComponent<'_>, source: &ImportSource<'_>, draft: &mut Draft) {
    let (claim, path) = if component.is_v1alpha1 {
        let mounts = items_at(component.value, "/volumeMounts").iter();
        let Some(mount) = mounts.into_iter().find(|mount| mount["useAsCompilationCache"] == true) else { return };
        (string_at(mount, "/name"), string_at(mount, "/mountPoint"))
    } else {
        let cache = |field: &str| string_at(component.value, &format!("/compilationCache/{field}"));
        (cache("pvcName"), cache("mountPath"))
    };
    let Some(claim) = claim else { return };
    let path = path.unwrap_or(DEFAULT_CACHE_PATH);
    // A rendered claim is named `<deployment>-<volume>`.
    let prefix = format!("{}-", source.name());
    let is_taken = |name: &str| draft.volumes.iter().any(|volume| string_at(volume, "/name") == Some(name));
    let derived = claim.strip_prefix(&prefix).filter(|name| !name.is_empty() && !is_taken(name));
    let name =
        derived.unwrap_or(if is_taken("compilation-cache") { "compilation-cache-0" } else { "compilation-cache" });
    let name = name.to_owned();
    import_pod::add_claim_volume(&name, "compilationCache", path, claim, false, source, draft);
}

/// Imports the settings of the frontend that differ from the defaults.
fn import_frontend(frontend: &GraphComponent<'_>, draft: &mut Draft) {
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
