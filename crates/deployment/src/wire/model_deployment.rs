//! `ModelDeployment` v1alpha1 (docs/specification.md, MD-1), with airunway's additional fields.

use kubefoundry_kubernetes::api_group::AIRUNWAY;
use kubefoundry_kubernetes::wire::{
    Argument, EnvVar, IntegerOrString, LocalObjectReference, Map, Nullable, ObjectMeta, Syntax, Toleration,
};
use kubefoundry_kubernetes::{string_enum, wire_object};
use kubefoundry_yaml::Node;

use super::status::ModelDeploymentStatus;
use crate::codes;

/// The maximum number of entries in `engine.args`. Linux limits a command line to 2 MiB, and each flag is compared with
/// all the others.
pub const MAX_ARGUMENTS: usize = 512;

/// The maximum number of elements in `engine.extraArgs`.
pub const MAX_EXTRA_ARGUMENTS: usize = 256;

wire_object! {
    /// A model to serve, with its engine and its resources. kubefoundry renders it to objects of the serving stack that
    /// runs it (KAITO, Dynamo or KubeRay).
    pub struct ModelDeployment {
        /// `<group>/v1alpha1`.
        api_version: String = "apiVersion" [required(), checked_by(&codes::REQUIRED_FIELD)],
        /// `ModelDeployment`.
        kind: String = "kind" [required(), checked_by(&codes::REQUIRED_FIELD)],
        /// Name, namespace, labels and annotations.
        metadata: ObjectMeta = "metadata" [required(), checked_by(&codes::REQUIRED_FIELD)],
        /// The desired state: the model, the engine, the resources and the serving mode.
        spec: ModelDeploymentSpec = "spec" [required(), checked_by(&codes::ENGINE_TYPE_REQUIRED)],
        /// The state that a controller reports. kubefoundry does not read it.
        status: Node<'static> = "status" [shape(ModelDeploymentStatus::SHAPE)],
    }
}
wire_object! {
    /// The desired state of a deployment.
    pub struct ModelDeploymentSpec {
        /// The model and the storage for its weights.
        model: Model = "model",
        /// The provider that runs the model, and its own settings. Without a name, kubefoundry selects the provider by
        /// engine, serving mode and GPUs.
        provider: Provider = "provider",
        /// The engine and its settings.
        engine: Engine = "engine",
        /// The serving mode: one kind of worker, or separate prefill and decode workers.
        serving: Serving = "serving",
        /// The number of replicas. In disaggregated mode also the GPUs and the memory of each role.
        scaling: Scaling = "scaling",
        /// The resources of each replica in aggregated mode. In disaggregated mode, use `scaling.prefill` and
        /// `scaling.decode` instead.
        resources: Resources = "resources",
        /// The container image of the engine, such as `vllm/vllm-openai:v0.26.0`. It replaces the provider's default
        /// image. Required if `model.source` is `custom`.
        image: String = "image" [syntax(Syntax::Image)],
        /// Environment variables of the engine's containers.
        env: Vec<EnvVar> = "env" [max_items(256), list_key("name"), checked_by(&codes::DUPLICATE_ENTRY)],
        /// Probes of the engine's container in every worker. They replace those of the provider.
        probes: Probes = "probes" [not_in(&[AIRUNWAY])],
        /// Where the volumes of `podTemplate.spec.volumes` are mounted in the engine's container of every worker (core/v1
        /// VolumeMount). Volumes of `model.storage` are mounted anyway; name them here to mount them at further paths.
        volume_mounts: Vec<Node<'static>> = "volumeMounts" [max_items(64), not_in(&[AIRUNWAY])],
        /// User, privileges and capabilities of the engine's container in every worker (core/v1 SecurityContext). What
        /// goes beyond the level baseline of Kubernetes' Pod Security Standards must be allowed by `policy` in the options.
        security_context: Node<'static> = "securityContext" [not_in(&[AIRUNWAY])],
        /// Settings for the pods. Pods do not get the labels and annotations of the ModelDeployment itself.
        pod_template: PodTemplate = "podTemplate",
        /// Names of Secrets in the same namespace.
        secrets: Secrets = "secrets",
        /// Secrets in the same namespace for pulling images.
        image_pull_secrets: Vec<LocalObjectReference> = "imagePullSecrets" [max_items(256), list_key("name"), not_in(&[AIRUNWAY])],
        /// Labels that a node must have to run the pods.
        node_selector: Map<String> = "nodeSelector" [max_entries(512)],
        /// Node taints that the pods tolerate.
        tolerations: Vec<Toleration> = "tolerations" [max_items(256)],
        /// The frontend: the HTTP server in front of the workers, which chooses a worker for each request. Only Dynamo
        /// has one.
        frontend: Frontend = "frontend" [not_in(&[AIRUNWAY])],
        /// Makes the model reachable through a Gateway: an InferencePool and an HTTPRoute are rendered. The options name
        /// the Gateway.
        gateway: Gateway = "gateway",
    }
}
wire_object! {
    /// The model.
    pub struct Model {
        /// A HuggingFace id (`org/name`, `org/name/file.gguf` or a bare name), or an absolute path on a volume of
        /// `storage`. Required if `source` is `huggingface`. If `source` is `custom`, omit it or set an absolute path
        /// inside the image.
        id: String = "id" [identity(), max_length(1024)],
        /// The model's name in the API, by default the last part of `id`. It must not contain commas and spaces.
        /// Ignored if `source` is `custom`.
        served_name: String = "servedName" [max_length(1024)],
        /// The source of the model, `huggingface` by default.
        source: ModelSource = "source" [identity(), default("\"huggingface\"")],
        /// Volumes for weights and caches.
        storage: Storage = "storage",
    }
}
string_enum! {
    /// The source of a model.
    pub enum ModelSource {
        /// The engine downloads the model from HuggingFace (default).
        HuggingFace = "huggingface",
        /// The image contains the model.
        Custom = "custom",
    }
}
wire_object! {
    /// Volumes for model data.
    pub struct Storage {
        /// The volumes, at most 8. Names, mount paths and new claims must be unique.
        volumes: Vec<StorageVolume> = "volumes" [max_items(8), checked_by(&codes::INVALID_VOLUME), list_key("name"), checked_by(&codes::DUPLICATE_ENTRY)],
    }
}
wire_object! {
    /// A volume: an existing claim, or a size for a new claim.
    pub struct StorageVolume {
        /// The name of the volume, a DNS label that is unique in the list.
        name: String = "name" [required(), syntax(Syntax::DnsLabel)],
        /// The purpose, `custom` by default. It determines the default `mountPath` and the cache variables of the
        /// engine.
        purpose: VolumePurpose = "purpose" [default("\"custom\"")],
        /// The absolute mount path. Required if `purpose` is `custom`; otherwise the default is `/model-cache` or
        /// `/compilation-cache`.
        mount_path: String = "mountPath" [max_length(1024)],
        /// The name of an existing PersistentVolumeClaim in the same namespace. With `size`, the name of the new claim,
        /// by default `<ModelDeployment>-<volume>`.
        claim_name: String = "claimName" [syntax(Syntax::DnsSubdomain)],
        /// The size of a new claim, such as `200Gi`. Without it, `claimName` is required.
        size: IntegerOrString = "size" [syntax(Syntax::Quantity)],
        /// The StorageClass of a new claim. Omit it for the cluster's default; an empty string means no class. Only
        /// with `size`.
        storage_class_name: String = "storageClassName" [syntax(Syntax::DnsSubdomain)],
        /// The access mode of a new claim, `ReadWriteMany` by default. Only with `size`.
        access_mode: AccessMode = "accessMode",
        /// Mounts the volume read-only. `false` by default.
        read_only: bool = "readOnly" [default("false")],
    }
}
string_enum! {
    /// The purpose of a volume.
    pub enum VolumePurpose {
        /// Model weights, mounted at `/model-cache` by default.
        ModelCache = "modelCache",
        /// Compilation results, mounted at `/compilation-cache` by default.
        CompilationCache = "compilationCache",
        /// Other data (default). Requires a `mountPath`.
        Custom = "custom",
    }
}
string_enum! {
    /// The access mode of a claim.
    pub enum AccessMode {
        /// One node can mount the claim.
        ReadWriteOnce = "ReadWriteOnce",
        /// Many nodes can mount the claim (default).
        ReadWriteMany = "ReadWriteMany",
        /// Many nodes can mount the claim read-only.
        ReadOnlyMany = "ReadOnlyMany",
        /// One pod can mount the claim.
        ReadWriteOncePod = "ReadWriteOncePod",
    }
}
wire_object! {
    /// The provider and its own settings.
    pub struct Provider {
        /// The provider: `dynamo`, `kaito`, `kuberay`, or one with an InferenceProviderConfig in the input. Without it,
        /// kubefoundry selects one, but never `kuberay`.
        name: String = "name" [identity(), max_length(253)],
        /// Settings of this provider only. Unknown keys cause a warning.
        overrides: Node<'static> = "overrides",
    }
}
string_enum! {
    /// The type of engine.
    pub enum EngineType {
        /// vLLM. Needs GPUs.
        Vllm = "vllm",
        /// SGLang. Needs GPUs and runs on Dynamo.
        Sglang = "sglang",
        /// TensorRT-LLM. Needs NVIDIA GPUs and runs on Dynamo.
        Trtllm = "trtllm",
        /// llama.cpp for GGUF models, on CPUs or GPUs. Runs on KAITO and needs an image.
        Llamacpp = "llamacpp",
    }
}
wire_object! {
    /// The engine and its settings.
    pub struct Engine {
        /// The engine that runs the model. `vllm`, `sglang` and `trtllm` need GPUs.
        engine_type: EngineType = "type" [identity()],
        /// The longest context in tokens, prompt and answer together. By default the model's own limit. Rendered as
        /// `--max-model-len` (vLLM), `--context-length` (SGLang), `--max-seq-len` (TensorRT-LLM) or `--ctx-size`
        /// (llama.cpp).
        context_length: i32 = "contextLength" [minimum(1)],
        /// Allows Python code from the model's repository to run in the engine. Set it only if you trust the model's
        /// authors.
        trust_remote_code: bool = "trustRemoteCode" [default("false")],
        /// Reuses the KV cache of common prompt prefixes. Without it, the engine decides. KV routing needs it.
        enable_prefix_caching: bool = "enablePrefixCaching",
        /// Disables CUDA graphs: the engine starts faster and needs less memory, but answers more slowly.
        enforce_eager: bool = "enforceEager" [default("false")],
        /// The container image of the engine. It means the same as `spec.image`; set only one of them.
        image: String = "image" [syntax(Syntax::Image)],
        /// Engine flags by name without leading dashes, with values as strings: `gpu-memory-utilization: "0.9"`. A
        /// switch takes `""` or `"true"`; `"false"` turns it off if the engine supports that. kubefoundry checks the
        /// flags of the runtime version. An unknown flag is an error if that version is exactly known.
        args: Map<Argument> = "args" [max_entries(MAX_ARGUMENTS), checked_by(&codes::LIMIT_EXCEEDED)],
        /// Engine flags as on a command line: `--flag`, `--flag=value`, or a flag followed by its value.
        extra_args: Vec<Argument> = "extraArgs" [max_items(MAX_EXTRA_ARGUMENTS), checked_by(&codes::LIMIT_EXCEEDED)],
    }
}
wire_object! {
    /// The serving mode.
    pub struct Serving {
        /// The serving mode, `aggregated` by default.
        mode: ServingMode = "mode" [identity(), default("\"aggregated\"")],
    }
}
string_enum! {
    /// How the engine divides its work.
    pub enum ServingMode {
        /// One kind of worker reads prompts and generates answers (default).
        Aggregated = "aggregated",
        /// Prefill workers read prompts and decode workers generate answers. Each role has its own GPUs and memory.
        Disaggregated = "disaggregated",
    }
}
wire_object! {
    /// Replica counts.
    pub struct Scaling {
        /// The number of replicas in aggregated mode, 1 by default. 0 scales to zero. Ignored in disaggregated mode.
        replicas: i32 = "replicas" [minimum(0)],
        /// The workers that read prompts. Required in disaggregated mode, ignored otherwise.
        prefill: RoleScaling = "prefill",
        /// The workers that generate answers. Required in disaggregated mode, ignored otherwise.
        decode: RoleScaling = "decode",
    }
}
wire_object! {
    /// The workers of one role in disaggregated mode.
    pub struct RoleScaling {
        /// The number of workers, 1 by default.
        replicas: i32 = "replicas" [minimum(0), default("1")],
        /// The GPUs of each worker. `count` is required.
        gpu: Gpu = "gpu",
        /// The memory request and limit of each worker, such as `64Gi`. A role without it causes a warning, and its
        /// workers have neither.
        memory: String = "memory" [syntax(Syntax::Quantity)],
        /// The number of nodes that each worker spans, 1 by default. A worker has `gpu.count` GPUs on each node.
        nodes: i32 = "nodes" [minimum(1), not_in(&[AIRUNWAY])],
        /// Engine flags of this role.
        engine: RoleEngine = "engine" [not_in(&[AIRUNWAY])],
        /// Environment variables of this role. They replace variables of the same name in `spec.env`.
        env: Vec<EnvVar> = "env" [max_items(256), list_key("name"), checked_by(&codes::DUPLICATE_ENTRY), not_in(&[AIRUNWAY])],
        /// Requests, limits and claims of each worker of this role. They are merged into those of `spec.resources`.
        resources: RoleResources = "resources" [not_in(&[AIRUNWAY])],
        /// Probes of the engine's container in the workers of this role. Each replaces the one of `spec.probes`.
        probes: Probes = "probes" [not_in(&[AIRUNWAY])],
        /// Where volumes are mounted in the engine's container of this role (core/v1 VolumeMount), in addition to
        /// `spec.volumeMounts`. A mount replaces the one at the same path there.
        volume_mounts: Vec<Node<'static>> = "volumeMounts" [max_items(64), not_in(&[AIRUNWAY])],
        /// User, privileges and capabilities of the engine's container of this role (core/v1 SecurityContext). Its fields
        /// replace the same fields of `spec.securityContext`. `policy` in the options limits it.
        security_context: Node<'static> = "securityContext" [not_in(&[AIRUNWAY])],
    }
}
wire_object! {
    /// Engine flags of one role, in addition to those of `spec.engine`.
    pub struct RoleEngine {
        /// Flags by name without leading dashes, as in `spec.engine.args`. A flag replaces the one of the same meaning
        /// there, also if it is spelled differently; `null` removes it.
        args: Map<Nullable<Argument>> = "args" [max_entries(MAX_ARGUMENTS), checked_by(&codes::LIMIT_EXCEEDED)],
        /// Flags as on a command line. They follow those of `spec.engine.extraArgs`.
        extra_args: Vec<Argument> = "extraArgs" [max_items(MAX_EXTRA_ARGUMENTS), checked_by(&codes::LIMIT_EXCEEDED)],
    }
}
wire_object! {
    /// Resources of one role, as in a core/v1 ResourceRequirements.
    pub struct RoleResources {
        /// The amounts that are reserved, as quantities by resource. `null` removes an amount of
        /// `spec.resources.requests`.
        requests: Map<Nullable<IntegerOrString>> = "requests" [max_entries(64)],
        /// The upper bounds, as quantities by resource. `null` removes one of `spec.resources.limits`.
        limits: Map<Nullable<IntegerOrString>> = "limits" [max_entries(64)],
        /// The claims that the container uses, in addition to those of `spec.resources.claims`.
        claims: Vec<ContainerClaim> = "claims" [max_items(64), list_key("name")],
    }
}
wire_object! {
    /// A claim of the pod that a container uses (core/v1 ResourceClaim).
    pub struct ContainerClaim {
        /// The name of an entry of `podTemplate.spec.resourceClaims`.
        name: String = "name" [required(), syntax(Syntax::DnsLabel)],
        /// The request of the claim that the container uses. Without it, the container uses all of them.
        request: String = "request" [syntax(Syntax::DnsLabel)],
    }
}
wire_object! {
    /// A claim for devices, such as GPUs or network interfaces, that a driver allocates to a pod (core/v1
    /// PodResourceClaim). Set exactly one source.
    pub struct PodResourceClaim {
        /// The name by which containers use the claim.
        name: String = "name" [required(), syntax(Syntax::DnsLabel)],
        /// The name of a ResourceClaim in the same namespace, which all pods share.
        resource_claim_name: String = "resourceClaimName" [syntax(Syntax::DnsSubdomain)],
        /// The name of a ResourceClaimTemplate in the same namespace, from which each pod gets its own claim.
        resource_claim_template_name: String = "resourceClaimTemplateName" [syntax(Syntax::DnsSubdomain)],
    }
}
wire_object! {
    /// The GPUs of one worker.
    pub struct Gpu {
        /// The number of GPUs, 0 by default.
        count: i32 = "count" [minimum(0)],
        /// The extended resource of the GPUs, such as `amd.com/gpu` or `nvidia.com/mig-1g.10gb`. `nvidia.com/gpu` by
        /// default.
        gpu_type: String = "type" [syntax(Syntax::ExtendedResource)],
    }
}
wire_object! {
    /// The resources of a replica.
    pub struct Resources {
        /// The GPUs of each replica. Without GPUs, the model runs on CPUs.
        gpu: Gpu = "gpu",
        /// The memory request and limit of each replica, such as `32Gi`.
        memory: String = "memory" [syntax(Syntax::Quantity)],
        /// The CPU request of each replica, such as `4` or `500m`.
        cpu: String = "cpu" [syntax(Syntax::Quantity)],
        /// The size of `/dev/shm` in the workers of both serving modes, such as `16Gi`. It is memory, and counts towards
        /// the memory limit. Without it, the provider decides.
        shared_memory: String = "sharedMemory" [syntax(Syntax::Quantity), not_in(&[AIRUNWAY])],
        /// The number of nodes that each replica spans in aggregated mode, 1 by default. A replica has `gpu.count` GPUs
        /// on each node.
        nodes: i32 = "nodes" [minimum(1), not_in(&[AIRUNWAY])],
        /// The amounts that the workers of both serving modes reserve, as quantities by resource, as in a core/v1
        /// ResourceRequirements. They replace the requests of `memory` and `cpu`.
        requests: Map<IntegerOrString> = "requests" [max_entries(64), not_in(&[AIRUNWAY])],
        /// The upper bounds of the workers of both serving modes, as quantities by resource. They replace the limit of
        /// `memory`. GPUs can be counted here instead of in `gpu.count`.
        limits: Map<IntegerOrString> = "limits" [max_entries(64), not_in(&[AIRUNWAY])],
        /// The claims of `podTemplate.spec.resourceClaims` that the engine's container uses.
        claims: Vec<ContainerClaim> = "claims" [max_items(64), list_key("name"), not_in(&[AIRUNWAY])],
    }
}
wire_object! {
    /// Probes of the engine's container, each a core/v1 Probe.
    pub struct Probes {
        /// Tells when the engine has started. The other probes wait for it, so a model that takes long to load needs no
        /// long delay in them.
        startup: Node<'static> = "startup",
        /// Tells whether the engine accepts requests.
        readiness: Node<'static> = "readiness",
        /// Tells when the kubelet must restart the container.
        liveness: Node<'static> = "liveness",
    }
}
wire_object! {
    /// Settings for the pods.
    pub struct PodTemplate {
        /// Labels and annotations of the pods.
        metadata: PodTemplateMetadata = "metadata",
        /// How the pods are scheduled and ended, and as whom they run.
        spec: PodTemplateSpec = "spec" [not_in(&[AIRUNWAY])],
    }
}
wire_object! {
    /// Fields of a core/v1 PodSpec that Kubernetes' scheduler and kubelet read.
    pub struct PodTemplateSpec {
        /// Rules about nodes and other pods that decide where a worker runs (core/v1 Affinity).
        affinity: Node<'static> = "affinity",
        /// How workers are spread over zones and nodes (core/v1 TopologySpreadConstraint).
        topology_spread_constraints: Vec<Node<'static>> = "topologySpreadConstraints" [max_items(64)],
        /// The PriorityClass of all pods.
        priority_class_name: String = "priorityClassName" [syntax(Syntax::DnsSubdomain)],
        /// The scheduler that places all pods.
        scheduler_name: String = "schedulerName" [syntax(Syntax::DnsSubdomain)],
        /// The ServiceAccount in the same namespace as which all pods run.
        service_account_name: String = "serviceAccountName" [syntax(Syntax::DnsSubdomain)],
        /// The RuntimeClass of the workers, such as `nvidia`.
        runtime_class_name: String = "runtimeClassName" [syntax(Syntax::DnsSubdomain)],
        /// How many seconds a worker has to finish its requests before it is killed. Kubernetes' default is 30.
        termination_grace_period_seconds: i32 = "terminationGracePeriodSeconds" [minimum(0)],
        /// The claims for devices of each worker. `spec.resources.claims` and the `resources.claims` of roles give them
        /// to the engine's container.
        resource_claims: Vec<PodResourceClaim> = "resourceClaims" [max_items(64), list_key("name")],
        /// Users, groups and kernel settings of the workers (core/v1 PodSecurityContext). `policy` in the options limits it.
        security_context: Node<'static> = "securityContext",
        /// Shares the IPC namespace of the node with the workers. `policy.allowHostIPC` in the options must allow it.
        host_ipc: bool = "hostIPC",
        /// Volumes of the workers, each with a name and one of `configMap`, `emptyDir`, `hostPath`,
        /// `persistentVolumeClaim` (an existing claim) and `secret` (core/v1 Volume). `volumeMounts` says where they are
        /// mounted. `policy.allowHostPaths` in the options must allow a `hostPath`.
        volumes: Vec<Node<'static>> = "volumes" [max_items(64)],
    }
}
wire_object! {
    /// Labels and annotations of the pods.
    pub struct PodTemplateMetadata {
        /// Labels for every pod.
        labels: Map<String> = "labels" [max_entries(512)],
        /// Annotations for every pod.
        annotations: Map<String> = "annotations" [max_entries(512)],
    }
}
wire_object! {
    /// Names of Secrets.
    pub struct Secrets {
        /// The name of the Secret with the HuggingFace token. All its keys become environment variables, so store the
        /// token under the key `HF_TOKEN`.
        hugging_face_token: String = "huggingFaceToken" [syntax(Syntax::DnsSubdomain)],
    }
}
wire_object! {
    /// The HTTP server in front of the workers.
    pub struct Frontend {
        /// The number of frontends, 1 by default. Several frontends with KV routing tell each other where they sent
        /// which requests.
        replicas: i32 = "replicas" [minimum(0)],
        /// Flags of the frontend by name without leading dashes, with values as strings: `router-mode: kv`. A switch
        /// takes `""` or `"true"`; `"false"` turns it off if the frontend supports that.
        args: Map<Argument> = "args" [max_entries(MAX_ARGUMENTS), checked_by(&codes::LIMIT_EXCEEDED)],
        /// Environment variables of the frontend. They replace variables of the same name that the frontend gets from
        /// `spec.env` or from the provider.
        env: Vec<EnvVar> = "env" [max_items(256), list_key("name"), checked_by(&codes::DUPLICATE_ENTRY)],
        /// The resources of each frontend.
        resources: FrontendResources = "resources",
    }
}
wire_object! {
    /// The resources of a frontend, as in a core/v1 ResourceRequirements. They are merged into the provider's defaults
    /// by resource.
    pub struct FrontendResources {
        /// The amounts that are reserved, as quantities by resource. `null` removes the provider's default, which is
        /// `cpu: "2"` and `memory: 4Gi` for Dynamo.
        requests: Map<Nullable<IntegerOrString>> = "requests" [max_entries(64)],
        /// The upper bounds, as quantities by resource. The provider has no defaults for them.
        limits: Map<Nullable<IntegerOrString>> = "limits" [max_entries(64)],
    }
}
wire_object! {
    /// The Gateway through which clients reach the model.
    pub struct Gateway {
        /// Renders an InferencePool of the serving pods, and an HTTPRoute to it. `true` by default if `gateway` is
        /// written.
        enabled: bool = "enabled",
        /// The name of an HTTPRoute of your own, which leads to the InferencePool. No HTTPRoute is rendered then.
        http_route_ref: String = "httpRouteRef" [syntax(Syntax::DnsSubdomain)],
        /// The name of the model by which the HTTPRoute chooses requests. The default is the name to which the model
        /// answers.
        model_name: String = "modelName" [max_length(4096)],
    }
}
