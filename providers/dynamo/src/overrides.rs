//! `spec.provider.overrides` for Dynamo (docs/specification.md MD-5.1, docs/design/0012).

use super::codes::ROUTER_MODE_NONE;
use super::component_settings::{ComponentSettings, WorkerSettings};
use super::frontend;
use super::frontend_settings::{FrontendOverrides, FrontendSettings};
use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::Deployment;
use kubefoundry_deployment::wire::{MainObjectMetadata, Patch};
use kubefoundry_diagnostics::Findings;
use kubefoundry_kubernetes::api_group::AIRUNWAY;
use kubefoundry_kubernetes::wire::{Map, Nullable, PathOf, Syntax};
use kubefoundry_kubernetes::{string_enum, wire_object};
use kubefoundry_provider::overrides;
use kubefoundry_provider::overrides::read_quantity;
use kubefoundry_provider::runtime_version::is_version;
use kubefoundry_yaml::Node;
use kubefoundry_yaml::field_path::FieldPath;

wire_object! {
    /// Settings for Dynamo only.
    pub struct Overrides {
        /// How the frontend chooses a worker for a request. Without it Dynamo uses `round-robin`. `kv` needs prefix
        /// caching.
        router_mode: RouterMode = "routerMode",
        /// Settings of the frontend, Dynamo's HTTP server and router.
        frontend: Frontend = "frontend",
        /// The Dynamo version in the image, as `MAJOR.MINOR.PATCH`. Set it if the tag of the image does not contain it.
        runtime_version: String = "runtimeVersion" [syntax(Syntax::Version), checked_by(&codes::INVALID_VALUE)],
        /// The component of the worker, if one kind of worker does all the work.
        worker: WorkerComponent = "worker" [not_in(&[AIRUNWAY])],
        /// The component of the prefill workers.
        prefill: WorkerComponent = "prefill" [not_in(&[AIRUNWAY])],
        /// The component of the decode workers.
        decode: WorkerComponent = "decode" [not_in(&[AIRUNWAY])],
        /// Labels and annotations of the provider's main object.
        metadata: MainObjectMetadata = "metadata" [not_in(&[AIRUNWAY])],
        /// Changes of the generated objects, for what no other field says.
        patches: Vec<Patch> = "patches" [not_in(&[AIRUNWAY])],
    }
}
wire_object! {
    /// Settings of the frontend, Dynamo's HTTP server and router.
    pub struct Frontend {
        /// The number of frontends, 1 by default.
        replicas: i32 = "replicas" [minimum(0), checked_by(&codes::OUT_OF_RANGE)],
        /// The resources that each frontend requests.
        resources: FrontendResources = "resources",
        /// Whether there is a frontend, as there is by default. Without one, something else must answer requests, such as
        /// frontends beside the workers behind an endpoint picker.
        enabled: bool = "enabled" [not_in(&[AIRUNWAY])],
        /// The name of the component, `Frontend` by default. The Service is `<deployment>-<name>`, in lower case.
        name: String = "name" [not_in(&[AIRUNWAY])],
        /// The image, that of the workers by default. Dynamo publishes a smaller one, `dynamo-frontend`.
        image: String = "image" [syntax(Syntax::Image), not_in(&[AIRUNWAY])],
        /// Whether the frontend gets the variables of the Secret `spec.secrets.huggingFaceToken`, as it does by default.
        hugging_face_token: bool = "huggingFaceToken" [not_in(&[AIRUNWAY])],
        /// Labels and annotations of the frontend's pods, over those of `spec.podTemplate.metadata`.
        metadata: ComponentMetadata = "metadata" [not_in(&[AIRUNWAY])],
        /// Fields of the frontend's pods (core/v1 PodSpec). Each replaces the value that is generated without it, and
        /// `null` removes that.
        pod: Map<Node<'static>> = "pod" [not_in(&[AIRUNWAY])],
        /// Fields of the frontend's container (core/v1 Container), in the same way.
        container: Map<Node<'static>> = "container" [not_in(&[AIRUNWAY])],
    }
}
wire_object! {
    /// What a component of workers has besides the fields of the deployment.
    pub struct WorkerComponent {
        /// The name of the component. By default it is made of the engine and the role.
        name: String = "name",
        /// The type of the component. By default it is the role.
        component_type: WorkerType = "type",
        /// Flags that the serving mode or the router mode adds, but that these workers shall not have. The default of the
        /// engine holds instead.
        omit_flags: Vec<StackFlag> = "omitFlags" [max_items(16)],
        /// Labels and annotations of the pods, over those of `spec.podTemplate.metadata`.
        metadata: ComponentMetadata = "metadata",
        /// Fields of the pods (core/v1 PodSpec). Each replaces the value that is generated without it, and `null` removes
        /// that. What all workers have in common is a field of the deployment.
        pod: Map<Node<'static>> = "pod",
        /// Fields of the engine's container (core/v1 Container), in the same way.
        container: Map<Node<'static>> = "container",
    }
}
wire_object! {
    /// Labels and annotations of the pods of one component. `null` removes one of `spec.podTemplate.metadata`.
    pub struct ComponentMetadata {
        /// Labels.
        labels: Map<Nullable<String>> = "labels",
        /// Annotations.
        annotations: Map<Nullable<String>> = "annotations",
    }
}
string_enum! {
    /// A flag that the serving mode or the router mode adds to those of the deployment.
    pub enum StackFlag {
        /// The role of a worker. Decode workers run without it, too.
        DisaggregationMode = "disaggregation-mode",
        /// The port of SGLang's bootstrap server.
        DisaggregationBootstrapPort = "disaggregation-bootstrap-port",
        /// How SGLang transfers KV caches.
        DisaggregationTransferBackend = "disaggregation-transfer-backend",
        /// The address of SGLang's bootstrap server.
        Host = "host",
        /// How vLLM and SGLang publish KV events.
        KvEventsConfig = "kv-events-config",
        /// How vLLM transfers KV caches.
        KvTransferConfig = "kv-transfer-config",
        /// What TensorRT-LLM needs in disaggregated mode. Keys of the deployment stay.
        OverrideEngineArgs = "override-engine-args",
        /// The page of SGLang's KV cache.
        PageSize = "page-size",
        /// How TensorRT-LLM publishes KV events in releases before 1.3.
        PublishEventsAndMetrics = "publish-events-and-metrics",
        /// How TensorRT-LLM publishes KV events.
        PublishKvEvents = "publish-kv-events",
    }
}
string_enum! {
    /// The type of a component of workers, by which Dynamo labels its pods.
    pub enum WorkerType {
        /// Reads prompts and generates answers.
        Worker = "worker",
        /// Reads prompts.
        Prefill = "prefill",
        /// Generates answers.
        Decode = "decode",
    }
}
wire_object! {
    /// The resources that a frontend requests.
    pub struct FrontendResources {
        /// The CPU request, `2` by default.
        cpu: String = "cpu" [syntax(Syntax::Quantity), checked_by(&codes::INVALID_QUANTITY)],
        /// The memory request, `4Gi` by default.
        memory: String = "memory" [syntax(Syntax::Quantity), checked_by(&codes::INVALID_QUANTITY)],
    }
}
string_enum! {
    /// How the frontend chooses a worker. The modes are those of `DYN_ROUTER_MODE`, the same in every known runtime
    /// (`--router-mode` of ai-dynamo 1.1.1, 1.4.0 and 1.6.1), and the specification's `none`.
    pub enum RouterMode {
        /// Prefers workers whose KV cache holds the prefix of the prompt.
        Kv = "kv",
        /// Uses the workers in turn. Dynamo's default.
        RoundRobin = "round-robin",
        /// Requests are routed `round-robin`: Dynamo always routes.
        None = "none",
        /// Uses a random worker.
        Random = "random",
        /// Uses the less loaded of two random workers.
        PowerOfTwo = "power-of-two",
        /// Uses the worker that the request names.
        Direct = "direct",
        /// Uses the least loaded worker.
        LeastLoaded = "least-loaded",
        /// Distributes requests in proportion to the capacity of the devices.
        DeviceAwareWeighted = "device-aware-weighted",
    }
}

/// The overrides and `spec.frontend` after defaulting.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DynamoSettings {
    /// How the frontend routes, if the user says it.
    pub(super) router_mode: Option<RouterMode>,
    /// The field that sets the router mode.
    pub(super) router_mode_path: FieldPath,
    pub(super) frontend: FrontendSettings,
    /// `runtimeVersionOverride`, if the user sets it.
    pub(super) runtime_version: Option<String>,
    /// Whether the graph has a frontend.
    pub(super) has_frontend: bool,
    /// What the frontend's component has besides.
    pub(super) frontend_component: ComponentSettings,
    /// The image of the frontend, if it is not that of the workers.
    pub(super) frontend_image: Option<String>,
    /// Whether the frontend gets the token.
    pub(super) frontend_has_token: bool,
    /// What the components of the workers have besides.
    pub(super) workers: WorkerSettings,
}

impl DynamoSettings {
    /// Returns the name of the frontend's component.
    pub(super) fn frontend_name(&self) -> &str {
        self.frontend_component.name.as_deref().unwrap_or(frontend::NAME)
    }

    /// Returns whether requests are routed by the content of KV caches.
    pub(super) fn routes_by_kv(&self) -> bool {
        self.router_mode == Some(RouterMode::Kv)
    }
}

/// Returns the path of the overrides.
pub(super) fn path() -> PathOf<Overrides> {
    overrides::path::<Overrides>()
}

/// Reads and checks the overrides. An invalid override is reported and replaced by its default, so that the rest of the
/// deployment is still checked.
pub(super) fn read_settings(deployment: &Deployment, findings: &mut Findings<'_>) -> DynamoSettings {
    let Overrides { router_mode, frontend, runtime_version, worker, prefill, decode, metadata: _, patches: _ } =
        overrides::read(deployment, findings);
    let Frontend { replicas, resources, enabled, name, image, hugging_face_token, metadata, pod, container } =
        frontend.unwrap_or_default();
    let FrontendResources { cpu, memory } = resources.unwrap_or_default();
    let overridden = FrontendOverrides {
        router_mode: router_mode.map(|mode| supported_mode(mode, findings)),
        replicas: replicas.and_then(|count| check_frontend_replicas(count, findings)),
        cpu: read_quantity(cpu, &path().frontend().resources().cpu(), findings),
        memory: read_quantity(memory, &path().frontend().resources().memory(), findings),
    };
    let frontend = FrontendSettings::merge(deployment, &overridden, findings);
    let (router_mode, router_mode_path) = match frontend.router_mode() {
        Some((mode, path)) => (Some(mode), path),
        None => (overridden.router_mode, path().router_mode().into()),
    };
    DynamoSettings {
        router_mode,
        router_mode_path,
        frontend,
        runtime_version: runtime_version.filter(|version| check_version(version, findings)),
        has_frontend: enabled != Some(false),
        frontend_component: ComponentSettings::of_frontend(deployment, name, metadata, pod, container, findings),
        frontend_image: image,
        frontend_has_token: hugging_face_token != Some(false),
        workers: WorkerSettings::read(deployment, [worker, prefill, decode], findings),
    }
}

/// Reports the mode `none`, which Dynamo lacks, and replaces it by `round-robin`.
fn supported_mode(mode: RouterMode, findings: &mut Findings<'_>) -> RouterMode {
    if mode != RouterMode::None {
        return mode;
    }
    let path = path().router_mode();
    let message = format!("{path} is \"none\", which Dynamo does not support; requests are routed round-robin");
    findings.report(&ROUTER_MODE_NONE, &path, message).help("write round-robin, or remove routerMode");
    RouterMode::RoundRobin
}

/// Returns the number of frontend replicas, or `None` after reporting that it is negative.
fn check_frontend_replicas(count: i32, findings: &mut Findings<'_>) -> Option<u32> {
    let checked = u32::try_from(count).ok();
    if checked.is_none() {
        let path = path().frontend().replicas();
        let message = format!("{path} is {count}, expected at least 0");
        findings.report(&codes::OUT_OF_RANGE, &path, message).help("remove it to run one frontend");
    }
    checked
}

/// Checks a version against the CRD's pattern: three numbers of at most four digits, without leading zeros.
fn check_version(version: &str, findings: &mut Findings<'_>) -> bool {
    let is_valid = is_version(version) && version.split('.').all(|part| part.len() <= 4);
    if !is_valid {
        let path = path().runtime_version();
        let message = format!("{path} is {version:?}, expected MAJOR.MINOR.PATCH such as 1.4.0");
        findings.report(&codes::INVALID_VALUE, &path, message).help("write the version of Dynamo in the image");
    }
    is_valid
}
