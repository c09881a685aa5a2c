//! A component of an imported graph, in either CRD version.

use serde_json::{Map, Value, json};

use crate::backend::Backend;
use crate::component::FRONTEND;
use kubefoundry_deployment::ir::{NVIDIA_GPU, Role};
use kubefoundry_engines::{CommandLine, ImportedFlag, UnreadableScript, flags_from_argv};
use kubefoundry_provider::draft::{WorkerDraft, count_at, items_at, quantity_at, string_at};
use kubefoundry_provider::import_pod;

/// The flag that holds TensorRT-LLM's configuration keys.
const CONFIG_FLAG: &str = "override-engine-args";

/// A component of either CRD version.
pub(crate) struct GraphComponent<'v> {
    pub(crate) name: &'v str,
    pub(crate) kind: &'v str,
    pub(crate) value: &'v Value,
    pub(crate) metadata: Option<&'v Value>,
    pub(crate) pod: &'v Value,
    pub(crate) container: &'v Value,
    pub(crate) is_v1alpha1: bool,
}

/// Stands for an absent part.
static NULL: Value = Value::Null;

impl<'v> GraphComponent<'v> {
    /// Returns the components of a graph: its services, or its list of components.
    pub(crate) fn all_of(graph: &'v Value) -> Vec<Self> {
        let services = graph.pointer("/spec/services").and_then(Value::as_object);
        let mut components: Vec<Self> =
            services.into_iter().flatten().map(|(name, value)| Self::from_service(name, value)).collect();
        components.extend(items_at(graph, "/spec/components").iter().map(Self::from_item));
        components
    }

    /// Returns the type of a component of workers, if it is one that an override can say.
    pub(crate) fn worker_type(&self) -> Option<&'v str> {
        let (kind, sub_kind) = if self.is_v1alpha1 {
            (string_at(self.value, "/componentType"), string_at(self.value, "/subComponentType"))
        } else {
            (string_at(self.value, "/type"), None)
        };
        match (kind, sub_kind) {
            (Some("worker"), Some(kind @ ("prefill" | "decode"))) => Some(kind),
            (Some(kind @ ("worker" | "prefill" | "decode")), None) if !self.is_v1alpha1 || kind == "worker" => {
                Some(kind)
            }
            _ => None,
        }
    }

    /// Returns the Secret whose keys become variables.
    pub(crate) fn token_secret(&self) -> Option<String> {
        if self.is_v1alpha1 {
            return string_at(self.value, "/envFromSecret").map(str::to_owned);
        }
        import_pod::token_secret(self.container)
    }

    /// Returns the container with the probes that `v1alpha1` has beside it.
    pub(crate) fn container_with_probes(&self) -> Value {
        let mut container = self.container.as_object().cloned().unwrap_or_default();
        if self.is_v1alpha1 {
            for (_, probe) in import_pod::PROBES {
                container.extend(self.value.get(*probe).map(|value| ((*probe).to_owned(), value.clone())));
            }
        }
        Value::Object(container)
    }

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

    /// Returns the type. Components of the untyped `main` and those without a type have the type of what they run.
    pub(crate) fn kind(&self) -> &'v str {
        if !matches!(self.kind, "" | "main") {
            return self.kind;
        }
        let program = self.readable_command_line().program;
        let module = program.iter().find_map(|word| word.strip_prefix("dynamo."));
        match module {
            Some("frontend") => "frontend",
            Some(module) if Backend::find_by_framework(module).is_some() => "worker",
            _ if self.name == FRONTEND => "frontend",
            _ => self.kind,
        }
    }

    pub(crate) fn env(&self) -> Vec<Value> {
        let own = if self.is_v1alpha1 { items_at(self.value, "/envs") } else { &[] };
        let mut all: Vec<Value> = own.iter().chain(items_at(self.container, "/env")).cloned().collect();
        let assignments = self.readable_command_line().assignments;
        all.extend(assignments.into_iter().map(|(name, value)| json!({"name": name, "value": value})));
        import_pod::last_variable_per_name(&all)
    }

    /// Returns the CPU request and the memory request.
    pub(crate) fn requests(&self) -> (Option<String>, Option<String>) {
        let owner = if self.is_v1alpha1 { self.value } else { self.container };
        (quantity_at(owner, "/resources/requests/cpu"), quantity_at(owner, "/resources/requests/memory"))
    }

    pub(crate) fn command_line(&self) -> Result<CommandLine, UnreadableScript> {
        CommandLine::read(self.container)
    }

    /// Returns the command line, or an empty one if it cannot be read. The import of a worker reports the reason; a
    /// component of another type stays as it is.
    #[expect(clippy::disallowed_methods, reason = "what cannot be read has no flags that are known")]
    pub(crate) fn readable_command_line(&self) -> CommandLine {
        self.command_line().unwrap_or_default()
    }

    pub(crate) fn worker(&self, role: Role, arguments: &[String]) -> WorkerDraft {
        let mut worker = WorkerDraft::new(role);
        if self.is_v1alpha1 {
            import_pod::import_resources(&container_resources(self.value), &mut worker);
        } else {
            import_pod::import_resources(self.container, &mut worker);
        }
        worker.replicas = count_at(self.value, "/replicas").unwrap_or(1);
        worker.nodes = count_at(self.value, "/multinode/nodeCount").unwrap_or(1).max(1);
        worker.env = Some(self.env());
        worker.flags = read_flags(arguments);
        worker
    }
}

/// Returns a container with the resources of a service of `v1alpha1`, which names GPUs and other extended resources in
/// fields of their own.
fn container_resources(service: &Value) -> Value {
    let amounts = |field: &str| -> Map<String, Value> {
        let item = service.pointer(&format!("/resources/{field}"));
        let mut amounts = Map::new();
        for (name, amount) in item.and_then(Value::as_object).into_iter().flatten() {
            match (name.as_str(), amount) {
                ("gpuType", _) => {}
                ("gpu", _) => {
                    let resource = item.and_then(|item| string_at(item, "/gpuType")).unwrap_or(NVIDIA_GPU);
                    amounts.insert(resource.to_owned(), amount.clone());
                }
                ("custom", Value::Object(custom)) => amounts.extend(custom.clone()),
                _ => drop(amounts.insert(name.clone(), amount.clone())),
            }
        }
        amounts
    };
    let claims = items_at(service, "/resources/claims");
    json!({"resources": {"limits": amounts("limits"), "requests": amounts("requests"), "claims": claims}})
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
