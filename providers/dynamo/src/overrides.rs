//! `spec.provider.overrides` for Dynamo (docs/specification.md MD-5.1, docs/design/0012).

use kubefoundry_deployment::codes;
use kubefoundry_deployment::wire::{MainObjectMetadata, Patch};
use kubefoundry_kubernetes::api_group::AIRUNWAY;
use kubefoundry_kubernetes::wire::{Map, Nullable, PathOf, Syntax};
use kubefoundry_kubernetes::{string_enum, wire_object};
use kubefoundry_provider::overrides;
use kubefoundry_yaml::Node;

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
        replicas: i32 = "replicas" [minimum(0)],
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

/// Returns the path of the overrides.
pub(super) fn path() -> PathOf<Overrides> {
    overrides::path::<Overrides>()
}
