//! Parts of pods in generated objects: a typed subset of `core/v1`. Absent parts are omitted from the output, and maps
//! keep the order of their entries.

use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::{Map, Value};

use crate::manifest::Manifest;
use crate::wire::{EnvVar, EnvVarSource, FieldSelector, LocalObjectReference, Toleration};

/// A mapping of strings, written in the order of its entries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StringMap(pub Vec<(String, String)>);

impl StringMap {
    /// Returns whether the mapping has no entries. Serializers skip it then.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Appends an entry, without a check for duplicate keys.
    pub fn push(&mut self, key: impl Into<String>, value: impl Into<String>) {
        self.0.push((key.into(), value.into()));
    }

    /// Creates a mapping with one entry.
    pub fn from_entry(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self(vec![(key.into(), value.into())])
    }
}

impl From<&[(String, String)]> for StringMap {
    fn from(entries: &[(String, String)]) -> Self {
        Self(entries.to_vec())
    }
}

impl Serialize for StringMap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_entries(&self.0, serializer)
    }
}

/// Serializes pairs as a mapping, in their order.
///
/// # Errors
/// Returns the errors of the serializer.
pub fn serialize_entries<K: Serialize, V: Serialize, S: Serializer>(
    entries: &[(K, V)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(entries.len()))?;
    for (key, value) in entries {
        map.serialize_entry(key, value)?;
    }
    map.end()
}

/// A pod with its labels and annotations (core/v1 PodTemplateSpec).
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct PodTemplate {
    /// Labels and annotations of the pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<PodMetadata>,
    /// Containers and volumes of the pod, and its constraints on nodes.
    pub spec: PodSpec,
}

/// Labels and annotations of a pod.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct PodMetadata {
    /// Labels.
    #[serde(skip_serializing_if = "StringMap::is_empty")]
    pub labels: StringMap,
    /// Annotations.
    #[serde(skip_serializing_if = "StringMap::is_empty")]
    pub annotations: StringMap,
}

/// Containers and volumes of a pod, and its constraints on nodes (core/v1 PodSpec).
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodSpec {
    /// Containers. Empty where the CRD has them in another field (Dynamo's `extraPodSpec`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub containers: Vec<Container>,
    /// Volumes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub volumes: Vec<Volume>,
    /// Labels that a node must have.
    #[serde(skip_serializing_if = "StringMap::is_empty")]
    pub node_selector: StringMap,
    /// Taints that are tolerated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Toleration>,
    /// Secrets with credentials for pulling images.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub image_pull_secrets: Vec<LocalObjectReference>,
    /// Rules about nodes and other pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub affinity: Option<Value>,
    /// How pods are spread over zones and nodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub topology_spread_constraints: Vec<Value>,
    /// The PriorityClass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority_class_name: Option<String>,
    /// The scheduler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler_name: Option<String>,
    /// The ServiceAccount.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<String>,
    /// The RuntimeClass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime_class_name: Option<String>,
    /// The seconds between the signal to end and the kill.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub termination_grace_period_seconds: Option<u32>,
    /// Claims for devices.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resource_claims: Vec<PodResourceClaim>,
    /// Whether the pod shares the IPC namespace of its node.
    #[serde(rename = "hostIPC", skip_serializing_if = "std::ops::Not::not")]
    pub host_ipc: bool,
    /// Users, groups and kernel settings of all containers (core/v1 PodSecurityContext).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security_context: Option<Value>,
}

/// A container (core/v1 Container).
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Container {
    /// The name. Absent where the CRD fixes it (Dynamo's `mainContainer`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The image reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The pull policy: `Always`, `IfNotPresent` or `Never`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_pull_policy: Option<&'static str>,
    /// The program, in exec form.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Arguments of the program.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Ports on which the container listens.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<ContainerPort>,
    /// Secrets whose keys become environment variables.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env_from: Vec<EnvFromSource>,
    /// Environment variables.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<EnvVar>,
    /// Limits, requests and claims.
    #[serde(skip_serializing_if = "ResourceRequirements::is_empty")]
    pub resources: ResourceRequirements,
    /// Mounted volumes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub volume_mounts: Vec<VolumeMount>,
    /// Tells when the container has started. The other probes wait for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub startup_probe: Option<ContainerProbe>,
    /// Tells when the kubelet must restart the container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub liveness_probe: Option<ContainerProbe>,
    /// Tells whether the container accepts requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readiness_probe: Option<ContainerProbe>,
    /// User, privileges and capabilities (core/v1 SecurityContext).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security_context: Option<Value>,
}

/// A probe of a container.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub enum ContainerProbe {
    /// One of our commands.
    Command(Probe),
    /// A probe as the user wrote it (core/v1 Probe).
    Written(Value),
}

impl From<Probe> for ContainerProbe {
    fn from(probe: Probe) -> Self {
        Self::Command(probe)
    }
}

/// A command by which the kubelet checks a container (core/v1 Probe).
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Probe {
    /// The command. Exit code 0 means success.
    pub exec: ExecAction,
    /// Delay of the first check after the start, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_delay_seconds: Option<u32>,
    /// Interval between checks, in seconds.
    pub period_seconds: u32,
    /// Timeout of one check, in seconds.
    pub timeout_seconds: u32,
    /// Number of consecutive failures after which the probe has failed.
    pub failure_threshold: u32,
}

/// A command in a container (core/v1 ExecAction).
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ExecAction {
    /// The command, in exec form.
    pub command: Vec<String>,
}

/// A port of a container (core/v1 ContainerPort).
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerPort {
    /// The port number.
    pub container_port: u16,
    /// The port's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Environment variables from the keys of a Secret (core/v1 EnvFromSource).
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EnvFromSource {
    /// The Secret whose keys become variables.
    pub secret_ref: LocalObjectReference,
}

/// Creates an environment variable with a literal value.
pub fn env_value(name: &str, value: impl Into<String>) -> EnvVar {
    EnvVar { name: Some(name.to_owned()), value: Some(value.into()), value_from: None }
}

/// Creates an environment variable with the value of a field of the pod, such as `status.podIP`.
pub fn env_field(name: &str, field_path: &str) -> EnvVar {
    let field = FieldSelector { api_version: None, field_path: Some(field_path.to_owned()) };
    let source = EnvVarSource { field_ref: Some(field), ..EnvVarSource::default() };
    EnvVar { name: Some(name.to_owned()), value: None, value_from: Some(source) }
}

/// Adds an environment variable unless the list has one of that name. The user's value takes precedence.
pub fn set_default_env(env: &mut Vec<EnvVar>, variable: EnvVar) {
    if !env.iter().any(|existing| existing.name == variable.name) {
        env.push(variable);
    }
}

/// Resources of a container (core/v1 ResourceRequirements).
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct ResourceRequirements {
    /// Upper bounds by resource.
    #[serde(skip_serializing_if = "StringMap::is_empty")]
    pub limits: StringMap,
    /// Reserved amounts by resource.
    #[serde(skip_serializing_if = "StringMap::is_empty")]
    pub requests: StringMap,
    /// Resource claims of the pod that the container uses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<ResourceClaim>,
}

/// A claim of the pod that a container uses (core/v1 ResourceClaim).
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ResourceClaim {
    /// The claim's name in the pod.
    pub name: String,
    /// The request of the claim that the container uses. Without it, the container uses all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
}

/// A claim for devices of a pod (core/v1 PodResourceClaim).
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodResourceClaim {
    /// The name by which containers use the claim.
    pub name: String,
    /// An existing ResourceClaim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_claim_name: Option<String>,
    /// The template from which the pod gets its own claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_claim_template_name: Option<String>,
}

impl ResourceRequirements {
    /// Returns whether nothing is limited, requested or claimed. Serializers skip the field then.
    pub fn is_empty(&self) -> bool {
        self.limits.is_empty() && self.requests.is_empty() && self.claims.is_empty()
    }
}

/// The body of an object that has only a `spec`.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct SpecBody<T> {
    /// The desired state.
    pub spec: T,
}

#[derive(Debug, serde::Serialize)]
struct ServiceSpec {
    selector: StringMap,
    ports: [ServicePort; 1],
}

#[derive(Debug, serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct ServicePort {
    name: &'static str,
    port: u16,
    target_port: u16,
}

/// Creates a Service of type ClusterIP with one HTTP port.
pub fn http_service(name: &str, selector: StringMap, port: u16, target_port: u16) -> Manifest {
    let spec = ServiceSpec { selector, ports: [ServicePort { name: "http", port, target_port }] };
    Manifest::new("v1", "Service", name, SpecBody { spec })
}

/// A volume of a pod (core/v1 Volume). Exactly one of its sources is set.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Volume {
    /// The volume's name in the pod.
    pub name: String,
    /// A PersistentVolumeClaim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persistent_volume_claim: Option<ClaimSource>,
    /// An empty directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub empty_dir: Option<EmptyDir>,
    /// The keys of a ConfigMap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map: Option<ConfigMapSource>,
    /// A source as the user wrote it, which no other field has.
    #[serde(flatten, skip_serializing_if = "Map::is_empty")]
    pub written: Map<String, Value>,
}

/// A ConfigMap as a volume.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigMapSource {
    /// The name of the ConfigMap.
    pub name: String,
    /// Permission bits of the files, such as 0o755.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_mode: Option<u32>,
}

/// A PersistentVolumeClaim as a volume.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClaimSource {
    /// The name of the claim.
    pub claim_name: String,
}

/// An empty directory as a volume.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EmptyDir {
    /// `Memory` for a tmpfs. Absent for the node's disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub medium: Option<&'static str>,
    /// Maximum size, as a quantity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_limit: Option<String>,
}

/// Where a volume is mounted (core/v1 VolumeMount).
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VolumeMount {
    /// The name of the volume.
    pub name: String,
    /// The path in the container.
    pub mount_path: String,
    /// A path in the volume, to mount only a part of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sub_path: Option<String>,
    /// Whether the mount is read-only.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
    /// Further fields as the user wrote them.
    #[serde(flatten, skip_serializing_if = "Map::is_empty")]
    pub written: Map<String, Value>,
}
