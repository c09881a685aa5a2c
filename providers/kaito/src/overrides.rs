//! `spec.provider.overrides` for KAITO (docs/design/0011; the specification has none, MD-5.3).

use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::{Deployment, EngineType};
use kubefoundry_deployment::wire::{MainObjectMetadata, ModelDeploymentSpec, Patch};
use kubefoundry_diagnostics::Findings;
use kubefoundry_kubernetes::api_group::AIRUNWAY;
use kubefoundry_kubernetes::wire::{Map, PathOf, Syntax};
use kubefoundry_kubernetes::{string_enum, wire_object};
use kubefoundry_provider::overrides;
pub(super) use kubefoundry_provider::overrides::is_written;
use kubefoundry_yaml::Node;
use kubefoundry_yaml::text::shorten;

wire_object! {
    /// Settings for KAITO only.
    pub struct Overrides {
        /// The instance type of the nodes that KAITO provisions, such as `Standard_NC24ads_A100_v4`.
        instance_type: String = "instanceType" [syntax(Syntax::InstanceType), checked_by(&codes::INVALID_VALUE)],
        /// How to start a llamacpp image. By default it is inferred from the image's name.
        runner: Runner = "runner",
        /// The kind of object that runs the model, `auto` by default.
        workload: WorkloadKind = "workload",
        /// The nodes to run on first, by name. KAITO ignores those without the labels of `spec.nodeSelector`. Only a
        /// `Workspace` has them.
        preferred_nodes: Vec<String> = "preferredNodes" [max_items(256), not_in(&[AIRUNWAY])],
        /// The part of the GPUs of a node that each replica runs on, where KAITO provisions no nodes.
        partition: Partition = "partition" [not_in(&[AIRUNWAY])],
        /// The largest number of nodes of all replicas. Only an `InferenceSet` has it.
        node_count_limit: i32 = "nodeCountLimit" [minimum(1), not_in(&[AIRUNWAY])],
        /// Whether and when KAITO replaces the replicas after an upgrade of its base image. Only an `InferenceSet` has it.
        auto_upgrade: AutoUpgrade = "autoUpgrade" [not_in(&[AIRUNWAY])],
        /// The name of the container of a template, `model` by default.
        container_name: String = "containerName" [syntax(Syntax::DnsLabel), not_in(&[AIRUNWAY])],
        /// Keys of `inference_config.yaml` beside `vllm`, such as `max_probe_steps`. Only a preset has them.
        inference_config: Map<Node<'static>> = "inferenceConfig" [max_entries(64), not_in(&[AIRUNWAY])],
        /// Labels and annotations of the provider's main object.
        metadata: MainObjectMetadata = "metadata" [not_in(&[AIRUNWAY])],
        /// Changes of the generated objects, for what no other field says.
        patches: Vec<Patch> = "patches" [not_in(&[AIRUNWAY])],
    }
}
wire_object! {
    /// The part of the GPUs of a node that a replica runs on.
    pub struct Partition {
        /// How the GPUs are divided.
        mode: PartitionMode = "mode" [required()],
        /// The profile of a MIG slice, such as `1g.10gb`, for the mode `mig`.
        profile: String = "profile" [max_length(63)],
        /// The number of whole GPUs, for the mode `accelerator`.
        count: i32 = "count" [minimum(1)],
    }
}
wire_object! {
    /// Automatic upgrades of KAITO's base image.
    pub struct AutoUpgrade {
        /// Whether KAITO replaces the replicas when it has a newer base image, `false` by default.
        enabled: bool = "enabled",
        /// How a replica is replaced, `InPlace` by default.
        strategy: UpgradeStrategy = "strategy",
        /// The times at which an upgrade may begin, any by default.
        maintenance_window: MaintenanceWindow = "maintenanceWindow",
    }
}
wire_object! {
    /// The times at which an upgrade may begin.
    pub struct MaintenanceWindow {
        /// A cron expression of five fields, in UTC: `0 2 * * 6` is every Saturday at 02:00.
        schedule: String = "schedule" [required(), max_length(256)],
        /// For how long after each of these times upgrades may begin, `4h` by default.
        duration: String = "duration" [max_length(64)],
    }
}
string_enum! {
    /// How the GPUs of a node are divided.
    pub enum PartitionMode {
        /// A slice of one GPU (NVIDIA Multi-Instance GPU).
        Mig = "mig",
        /// A number of whole GPUs.
        Accelerator = "accelerator",
    }
}
string_enum! {
    /// How KAITO replaces a replica.
    pub enum UpgradeStrategy {
        /// The StatefulSet rolls, and the replica is down meanwhile.
        InPlace = "InPlace",
        /// A new replica gets ready before the old one is deleted.
        Surge = "Surge",
    }
}
string_enum! {
    /// How to start a llamacpp image.
    pub enum Runner {
        /// LocalAI with a model to download: `huggingface://org/repo/file --address=:5000`.
        Download = "llama-cpp-runner",
        /// LocalAI with the model in the image: `run --address=:5000`.
        Aikit = "aikit",
        /// llama.cpp's own server: `--hf-repo org/repo --host 0.0.0.0 --port 5000`.
        Server = "llama-server",
    }
}
string_enum! {
    /// The kind of object that runs the model.
    pub enum WorkloadKind {
        /// `Workspace` for one replica, `InferenceSet` for any other count.
        Auto = "auto",
        /// One pod.
        Workspace = "Workspace",
        /// Any number of replicas.
        InferenceSet = "InferenceSet",
    }
}

/// Returns the path of the overrides.
pub(super) fn path() -> PathOf<Overrides> {
    overrides::path::<Overrides>()
}

/// Returns whether a deployment is a preset on nodes of a named instance type, whose GPUs the type decides.
pub(super) fn names_instance_type_of_preset(spec: &ModelDeploymentSpec) -> bool {
    let images = [spec.image.as_ref(), spec.engine.as_ref().and_then(|engine| engine.image.as_ref())];
    let engine = spec.engine.as_ref().and_then(|engine| engine.engine_type);
    let overrides = spec.provider.as_ref().and_then(|provider| provider.overrides.as_ref());
    let instance_type = overrides.and_then(|overrides| overrides.get("instanceType")).and_then(Node::as_str);
    engine == Some(EngineType::Vllm)
        && images.into_iter().flatten().all(String::is_empty)
        && instance_type.is_some_and(|name| !name.is_empty())
}

/// Returns the instance type that a deployment names, unchecked.
pub(super) fn instance_type(deployment: &Deployment) -> Option<&str> {
    deployment.provider.overrides.as_ref().and_then(|overrides| overrides.get("instanceType")).and_then(Node::as_str)
}

/// Reads and checks the overrides. An invalid override is reported and removed, so that the rest of the deployment is
/// still checked.
pub(super) fn read_overrides(deployment: &Deployment, findings: &mut Findings<'_>) -> Overrides {
    let mut overrides: Overrides = overrides::read(deployment, findings);
    if let Some(instance_type) = overrides.instance_type.take_if(|name| !is_instance_type(name)) {
        let path = path().instance_type();
        let message = format!("{path} is {:?}, expected an instance type", shorten(&instance_type));
        findings
            .report(&codes::INVALID_VALUE, &path, message)
            .help("write one such as Standard_NC24ads_A100_v4 or g5.4xlarge");
    }
    overrides
}

/// Returns whether a text can be an instance type of a cloud provider. It becomes a label value on nodes.
fn is_instance_type(name: &str) -> bool {
    let is_edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = name.as_bytes();
    let is_inner = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    name.len() <= 63 && is_edge(bytes.first()) && is_edge(bytes.last()) && bytes.iter().all(is_inner)
}
