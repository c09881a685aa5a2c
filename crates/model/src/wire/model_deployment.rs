//! `ModelDeployment` v1alpha1 (docs/specification.md, MD-1) with the additive fields that users of airunway write.

use kubefoundry_kubernetes::api_group::AIRUNWAY;
use kubefoundry_kubernetes::wire::{
    EnvVar, IntegerOrString, LocalObjectReference, Map, ObjectMeta, Syntax, Toleration,
};
use kubefoundry_kubernetes::{string_enum, wire_object};
use kubefoundry_yaml::Node;

use super::status::ModelDeploymentStatus;
use crate::codes;

/// The maximum number of entries of `engine.args`: the longest command line that Linux takes has 2 MiB, and each flag is
/// looked up among all the others.
pub const MAX_ARGUMENTS: usize = 512;

/// The maximum number of elements of `engine.extraArgs`.
pub const MAX_EXTRA_ARGUMENTS: usize = 256;

wire_object! {
    /// One model to serve: which model, on which engine, with how many GPUs. kubefoundry turns it into the objects of the
    /// serving stack that runs it (KAITO, Dynamo or KubeRay).
    pub struct ModelDeployment {
        /// `<group>/v1alpha1`.
        api_version: String = "apiVersion" [required(), checked_by(&codes::REQUIRED_FIELD)],
        /// `ModelDeployment`.
        kind: String = "kind" [required(), checked_by(&codes::REQUIRED_FIELD)],
        /// Name, namespace, labels, annotations.
        metadata: ObjectMeta = "metadata" [required(), checked_by(&codes::REQUIRED_FIELD)],
        /// What is wanted.
        spec: ModelDeploymentSpec = "spec" [required(), checked_by(&codes::ENGINE_TYPE_REQUIRED)],
        /// What a controller reported; not an input.
        status: Node<'static> = "status" [shape(ModelDeploymentStatus::SHAPE)],
    }
}
wire_object! {
    /// What is wanted.
    pub struct ModelDeploymentSpec {
        /// Which model, and where its weights are kept.
        model: Model = "model",
        /// Which provider runs the model, and its own settings. Without a name the provider is selected by engine, mode and
        /// GPUs.
        provider: Provider = "provider",
        /// Which engine, and how it is set.
        engine: Engine = "engine",
        /// Whether prefill and decode run in one worker or apart.
        serving: Serving = "serving",
        /// How many replicas; in disaggregated mode also the GPUs and the memory of each role.
        scaling: Scaling = "scaling",
        /// What each replica needs in aggregated mode. Not allowed in disaggregated mode: `scaling.prefill` and
        /// `scaling.decode` take its place.
        resources: Resources = "resources",
        /// Container image of the engine instead of the provider's, such as `vllm/vllm-openai:v0.26.0`. Required when
        /// `model.source` is `custom`.
        image: String = "image" [syntax(Syntax::Image)],
        /// Environment variables of the engine's containers.
        env: Vec<EnvVar> = "env" [max_items(256), list_key("name"), checked_by(&codes::DUPLICATE_ENTRY)],
        /// Labels and annotations of the pods. Those of the ModelDeployment itself are not passed on to pods.
        pod_template: PodTemplate = "podTemplate",
        /// Secrets in the same namespace, by name.
        secrets: Secrets = "secrets",
        /// Secrets in the same namespace to pull images with.
        image_pull_secrets: Vec<LocalObjectReference> = "imagePullSecrets" [max_items(256), list_key("name"), not_in(&[AIRUNWAY])],
        /// Labels that a node must have for pods to run on it.
        node_selector: Map<String> = "nodeSelector" [max_entries(512)],
        /// Taints of nodes that the pods tolerate.
        tolerations: Vec<Toleration> = "tolerations" [max_items(256)],
        /// Gateway API integration. Not rendered yet: giving it is an error.
        gateway: Gateway = "gateway",
    }
}
wire_object! {
    /// Which model.
    pub struct Model {
        /// A HuggingFace id (`org/name`, `org/name/file.gguf` or a bare name), or an absolute path on a volume of `storage`.
        /// Required when `source` is `huggingface`; otherwise left out, or an absolute path inside the image.
        id: String = "id" [identity(), max_length(1024)],
        /// The model's name in the API; the last part of `id` by default. Without commas and spaces. No effect when `source`
        /// is `custom`.
        served_name: String = "servedName" [max_length(1024)],
        /// Where the model comes from.
        source: ModelSource = "source" [identity(), default("\"huggingface\"")],
        /// Volumes for its weights and for caches.
        storage: Storage = "storage",
    }
}
string_enum! {
    /// Where a model comes from.
    pub enum ModelSource {
        /// Downloaded from HuggingFace (default).
        HuggingFace = "huggingface",
        /// Already in the image.
        Custom = "custom",
    }
}
wire_object! {
    /// Volumes for model data.
    pub struct Storage {
        /// The volumes, at most 8. Names, mount paths and new claims must differ.
        volumes: Vec<StorageVolume> = "volumes" [max_items(8), checked_by(&codes::INVALID_VOLUME), list_key("name"), checked_by(&codes::DUPLICATE_ENTRY)],
    }
}
wire_object! {
    /// One volume: an existing claim, or a size for a new one.
    pub struct StorageVolume {
        /// Its name: a DNS label, unique in the list.
        name: String = "name" [required(), syntax(Syntax::DnsLabel)],
        /// What it is for; decides the default `mountPath`, and which cache variables the engine gets.
        purpose: VolumePurpose = "purpose" [default("\"custom\"")],
        /// The absolute path where it is mounted. Required when `purpose` is `custom`; otherwise `/model-cache` or
        /// `/compilation-cache` by default.
        mount_path: String = "mountPath" [max_length(1024)],
        /// An existing PersistentVolumeClaim in the same namespace. With a `size`: the name of the new one, by default
        /// `<ModelDeployment>-<volume>`.
        claim_name: String = "claimName" [syntax(Syntax::DnsSubdomain)],
        /// Size of a new claim, such as `200Gi`. Without it `claimName` is required.
        size: IntegerOrString = "size" [syntax(Syntax::Quantity)],
        /// StorageClass of a new claim; absent means the cluster's default, empty means none. Only with `size`.
        storage_class_name: String = "storageClassName" [syntax(Syntax::DnsSubdomain)],
        /// Access mode of a new claim; `ReadWriteMany` by default. Only with `size`.
        access_mode: AccessMode = "accessMode",
        /// Whether it is mounted for reading only.
        read_only: bool = "readOnly" [default("false")],
    }
}
string_enum! {
    /// What a volume is for.
    pub enum VolumePurpose {
        /// Model weights; `/model-cache` by default.
        ModelCache = "modelCache",
        /// Compilation results; `/compilation-cache` by default.
        CompilationCache = "compilationCache",
        /// Anything else (default); needs a `mountPath`.
        Custom = "custom",
    }
}
string_enum! {
    /// Who may mount a claim.
    pub enum AccessMode {
        /// One node may mount it.
        ReadWriteOnce = "ReadWriteOnce",
        /// Many nodes may mount it (default).
        ReadWriteMany = "ReadWriteMany",
        /// Many nodes may mount it for reading.
        ReadOnlyMany = "ReadOnlyMany",
        /// One pod may mount it.
        ReadWriteOncePod = "ReadWriteOncePod",
    }
}
wire_object! {
    /// Which provider, and its own settings.
    pub struct Provider {
        /// The provider: `dynamo`, `kaito`, `kuberay`, or one of which an InferenceProviderConfig is given. Absent means that
        /// one is selected; `kuberay` never is.
        name: String = "name" [identity(), max_length(253)],
        /// Settings that only this provider knows; unknown keys are warned about.
        overrides: Node<'static> = "overrides",
    }
}
string_enum! {
    /// Which engine.
    pub enum EngineType {
        /// vLLM; needs GPUs.
        Vllm = "vllm",
        /// SGLang; needs GPUs. Runs on Dynamo.
        Sglang = "sglang",
        /// TensorRT-LLM; needs NVIDIA GPUs. Runs on Dynamo.
        Trtllm = "trtllm",
        /// llama.cpp, for GGUF models, on CPUs or GPUs. Runs on KAITO and needs an image.
        Llamacpp = "llamacpp",
    }
}
wire_object! {
    /// The engine and how it is set.
    pub struct Engine {
        /// Which engine runs the model. `vllm`, `sglang` and `trtllm` need GPUs.
        engine_type: EngineType = "type" [identity()],
        /// The longest context in tokens, prompt and answer together; the model's own limit by default. Becomes
        /// `--max-model-len` (vLLM), `--context-length` (SGLang), `--max-seq-len` (TensorRT-LLM) or `--ctx-size` (llama.cpp).
        context_length: i32 = "contextLength" [minimum(1), checked_by(&codes::OUT_OF_RANGE)],
        /// Whether Python code from the model's repository may run in the engine. Only for models whose authors you trust.
        trust_remote_code: bool = "trustRemoteCode" [default("false")],
        /// Whether the KV cache of common prompt prefixes is reused; absent leaves it to the engine. KV routing needs it.
        enable_prefix_caching: bool = "enablePrefixCaching",
        /// Whether CUDA graphs are off: faster start and less memory, slower answers.
        enforce_eager: bool = "enforceEager" [default("false")],
        /// Container image of the engine instead of the provider's: the same as `spec.image`. Give one of the two.
        image: String = "image" [syntax(Syntax::Image)],
        /// Engine flags by name, without dashes, values as strings: `gpu-memory-utilization: "0.9"`. A switch takes `""` or
        /// `"true"`; `"false"` turns it off where the engine can. Checked against the flags of the runtime version; unknown
        /// flags are passed on.
        args: Map<String> = "args" [max_entries(MAX_ARGUMENTS), checked_by(&codes::LIMIT_EXCEEDED)],
        /// Engine flags as they stand on a command line: `--flag`, `--flag=value`, or a flag and then its value.
        extra_args: Vec<String> = "extraArgs" [max_items(MAX_EXTRA_ARGUMENTS), checked_by(&codes::LIMIT_EXCEEDED)],
    }
}
wire_object! {
    /// Serving mode.
    pub struct Serving {
        /// Whether one kind of worker does prefill and decode, or two do.
        mode: ServingMode = "mode" [identity(), default("\"aggregated\"")],
    }
}
string_enum! {
    /// Whether one worker does all, or prefill and decode are apart.
    pub enum ServingMode {
        /// One kind of worker reads prompts and writes answers (default).
        Aggregated = "aggregated",
        /// Prefill workers read prompts, decode workers write answers; each has GPUs and memory of its own.
        Disaggregated = "disaggregated",
    }
}
wire_object! {
    /// Replica counts.
    pub struct Scaling {
        /// How many replicas run in aggregated mode; 1 by default, 0 scales to zero. Ignored in disaggregated mode.
        replicas: i32 = "replicas" [minimum(0), checked_by(&codes::OUT_OF_RANGE)],
        /// The workers that read prompts. Required in disaggregated mode, ignored otherwise.
        prefill: RoleScaling = "prefill",
        /// The workers that write answers. Required in disaggregated mode, ignored otherwise.
        decode: RoleScaling = "decode",
    }
}
wire_object! {
    /// One role of disaggregated serving.
    pub struct RoleScaling {
        /// How many workers; 1 by default.
        replicas: i32 = "replicas" [minimum(0), checked_by(&codes::OUT_OF_RANGE), default("1")],
        /// GPUs of each worker; `count` is required.
        gpu: Gpu = "gpu",
        /// Memory of each worker, such as `64Gi`: requested, and its limit. Required.
        memory: String = "memory" [syntax(Syntax::Quantity)],
    }
}
wire_object! {
    /// GPUs of one worker.
    pub struct Gpu {
        /// How many GPUs; none by default.
        count: i32 = "count" [minimum(0), checked_by(&codes::OUT_OF_RANGE)],
        /// The extended resource that nodes offer, such as `amd.com/gpu` or `nvidia.com/mig-1g.10gb`; `nvidia.com/gpu` by
        /// default.
        gpu_type: String = "type" [syntax(Syntax::ExtendedResource)],
    }
}
wire_object! {
    /// What a replica needs.
    pub struct Resources {
        /// GPUs of each replica; without any, the model runs on CPUs.
        gpu: Gpu = "gpu",
        /// Memory of each replica, such as `32Gi`: requested, and its limit.
        memory: String = "memory" [syntax(Syntax::Quantity)],
        /// CPU request of each replica, such as `4` or `500m`.
        cpu: String = "cpu" [syntax(Syntax::Quantity)],
    }
}
wire_object! {
    /// Pod customization.
    pub struct PodTemplate {
        /// Labels and annotations of the pods.
        metadata: PodTemplateMetadata = "metadata",
    }
}
wire_object! {
    /// Labels and annotations of the pods.
    pub struct PodTemplateMetadata {
        /// Labels of every pod.
        labels: Map<String> = "labels" [max_entries(512)],
        /// Annotations of every pod.
        annotations: Map<String> = "annotations" [max_entries(512)],
    }
}
wire_object! {
    /// Secrets by name.
    pub struct Secrets {
        /// Name of the Secret with the HuggingFace token. All its keys become environment variables, so it should have the
        /// key `HF_TOKEN`.
        hugging_face_token: String = "huggingFaceToken" [syntax(Syntax::DnsSubdomain)],
    }
}
wire_object! {
    /// Gateway API integration.
    pub struct Gateway {
        /// Whether an InferencePool and an HTTPRoute are made.
        enabled: bool = "enabled",
        /// An existing HTTPRoute to use instead of a new one.
        http_route_ref: String = "httpRouteRef",
        /// The model's name in the route.
        model_name: String = "modelName",
    }
}
