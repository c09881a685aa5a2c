//! `ModelDeployment` v1alpha1 (spec/1 §4.1) with the additive fields that users of the live system write.

use super::kubernetes::{EnvVar, LocalObjectReference, ObjectMeta, Toleration};
use super::macros::{wire_object, words};
use super::reader::{IntegerOrString, Map};
use crate::yaml::Node;

wire_object! {
    /// One model to serve.
    pub struct ModelDeployment {
        /// `<group>/v1alpha1`.
        api_version: String = "apiVersion",
        /// `ModelDeployment`.
        kind: String = "kind",
        /// Name, namespace, labels, annotations.
        metadata: ObjectMeta = "metadata",
        /// What is wanted.
        spec: ModelDeploymentSpec = "spec",
        /// What a controller reported; not an input.
        status: Node<'static> = "status",
    }
}
wire_object! {
    /// What is wanted.
    pub struct ModelDeploymentSpec {
        /// Which model.
        model: Model = "model",
        /// Which provider, when it is not to be selected.
        provider: Provider = "provider",
        /// Which engine, and how it is set.
        engine: Engine = "engine",
        /// Aggregated or disaggregated.
        serving: Serving = "serving",
        /// How many replicas.
        scaling: Scaling = "scaling",
        /// What a replica needs in aggregated mode.
        resources: Resources = "resources",
        /// Container image instead of the provider's.
        image: String = "image",
        /// Environment of the engine's containers.
        env: Vec<EnvVar> = "env",
        /// Metadata of the pods.
        pod_template: PodTemplate = "podTemplate",
        /// Secrets.
        secrets: Secrets = "secrets",
        /// Secrets to pull images with.
        image_pull_secrets: Vec<LocalObjectReference> = "imagePullSecrets",
        /// Labels that nodes must have.
        node_selector: Map<String> = "nodeSelector",
        /// Taints that the pods tolerate.
        tolerations: Vec<Toleration> = "tolerations",
        /// Gateway API integration.
        gateway: Gateway = "gateway",
    }
}
wire_object! {
    /// Which model.
    pub struct Model {
        /// A HuggingFace id, or an absolute path.
        id: String = "id",
        /// The name in the API.
        served_name: String = "servedName",
        /// Where it comes from.
        source: ModelSource = "source",
        /// Volumes for its weights and caches.
        storage: Storage = "storage",
    }
}
words! {
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
        /// At most 8.
        volumes: Vec<StorageVolume> = "volumes",
    }
}
wire_object! {
    /// One volume: an existing claim, or a size for a new one.
    pub struct StorageVolume {
        /// A DNS label, unique in the list.
        name: String = "name",
        /// What it is for.
        purpose: VolumePurpose = "purpose",
        /// Where it is mounted.
        mount_path: String = "mountPath",
        /// An existing PersistentVolumeClaim, or the name of the new one.
        claim_name: String = "claimName",
        /// Size of a new claim.
        size: IntegerOrString = "size",
        /// StorageClass of a new claim; empty means none.
        storage_class_name: String = "storageClassName",
        /// Access mode of a new claim.
        access_mode: AccessMode = "accessMode",
        /// Mounted for reading only.
        read_only: bool = "readOnly",
    }
}
words! {
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
words! {
    /// Who may mount a claim.
    pub enum AccessMode {
        /// One node.
        ReadWriteOnce = "ReadWriteOnce",
        /// Many nodes (default).
        ReadWriteMany = "ReadWriteMany",
        /// Many nodes, for reading.
        ReadOnlyMany = "ReadOnlyMany",
        /// One pod.
        ReadWriteOncePod = "ReadWriteOncePod",
    }
}
wire_object! {
    /// Which provider, and its own settings.
    pub struct Provider {
        /// Its name; absent means that it is selected.
        name: String = "name",
        /// Settings that only this provider knows.
        overrides: Node<'static> = "overrides",
    }
}
words! {
    /// Which engine.
    pub enum EngineType {
        /// vLLM.
        Vllm = "vllm",
        /// SGLang.
        Sglang = "sglang",
        /// TensorRT-LLM.
        Trtllm = "trtllm",
        /// llama.cpp.
        Llamacpp = "llamacpp",
    }
}
wire_object! {
    /// The engine and how it is set.
    pub struct Engine {
        /// Which one.
        engine_type: EngineType = "type",
        /// Longest context, in tokens.
        context_length: i32 = "contextLength",
        /// Whether code in the model's repository may run.
        trust_remote_code: bool = "trustRemoteCode",
        /// Whether prefixes are cached; absent leaves it to the engine.
        enable_prefix_caching: bool = "enablePrefixCaching",
        /// Whether CUDA graphs are off.
        enforce_eager: bool = "enforceEager",
        /// Container image instead of the provider's (same as `spec.image`).
        image: String = "image",
        /// Engine flags by name, values as strings.
        args: Map<String> = "args",
        /// Engine flags as they stand on a command line.
        extra_args: Vec<String> = "extraArgs",
    }
}
wire_object! {
    /// Serving mode.
    pub struct Serving {
        /// Aggregated or disaggregated.
        mode: ServingMode = "mode",
    }
}
words! {
    /// Whether one worker does all, or prefill and decode are apart.
    pub enum ServingMode {
        /// One kind of worker (default).
        Aggregated = "aggregated",
        /// Prefill and decode workers.
        Disaggregated = "disaggregated",
    }
}
wire_object! {
    /// Replica counts.
    pub struct Scaling {
        /// Replicas in aggregated mode.
        replicas: i32 = "replicas",
        /// Prefill workers in disaggregated mode.
        prefill: RoleScaling = "prefill",
        /// Decode workers in disaggregated mode.
        decode: RoleScaling = "decode",
    }
}
wire_object! {
    /// One role of disaggregated serving.
    pub struct RoleScaling {
        /// How many.
        replicas: i32 = "replicas",
        /// GPUs of each.
        gpu: Gpu = "gpu",
        /// Memory of each.
        memory: String = "memory",
    }
}
wire_object! {
    /// GPUs of one worker.
    pub struct Gpu {
        /// How many.
        count: i32 = "count",
        /// The resource name, `nvidia.com/gpu` by default.
        gpu_type: String = "type",
    }
}
wire_object! {
    /// What a replica needs.
    pub struct Resources {
        /// GPUs.
        gpu: Gpu = "gpu",
        /// Memory.
        memory: String = "memory",
        /// CPU.
        cpu: String = "cpu",
    }
}
wire_object! {
    /// Pod customization.
    pub struct PodTemplate {
        /// Labels and annotations.
        metadata: PodTemplateMetadata = "metadata",
    }
}
wire_object! {
    /// Labels and annotations of the pods.
    pub struct PodTemplateMetadata {
        /// Labels.
        labels: Map<String> = "labels",
        /// Annotations.
        annotations: Map<String> = "annotations",
    }
}
wire_object! {
    /// Secrets by name.
    pub struct Secrets {
        /// Secret whose keys become environment variables (`HF_TOKEN`).
        hugging_face_token: String = "huggingFaceToken",
    }
}
wire_object! {
    /// Gateway API integration.
    pub struct Gateway {
        /// Whether an InferencePool and an HTTPRoute are made.
        enabled: bool = "enabled",
        /// An existing HTTPRoute.
        http_route_ref: String = "httpRouteRef",
        /// Model name in the route.
        model_name: String = "modelName",
    }
}
