//! Parts of pods that generated objects share: a typed subset of `core/v1`. Absent parts are absent in the output, and
//! maps keep the order of their entries.

use serde::ser::{Serialize, SerializeMap as _, Serializer};

use crate::manifest::Manifest;
use crate::wire::{EnvVar, EnvVarSource, FieldSelector, LocalObjectReference, Toleration};

/// A mapping of strings, written in the order of its entries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StringMap(pub Vec<(String, String)>);

impl StringMap {
    /// Whether it has no entries.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds an entry at the end.
    pub fn push(&mut self, key: impl Into<String>, value: impl Into<String>) {
        self.0.push((key.into(), value.into()));
    }

    /// One entry.
    pub fn one(key: impl Into<String>, value: impl Into<String>) -> Self {
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

/// Writes pairs as a mapping in their order.
///
/// # Errors
/// The serializer's.
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
    /// Labels and annotations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<PodMetadata>,
    /// What runs.
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

/// What runs in a pod, and where (core/v1 PodSpec).
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodSpec {
    /// Containers; absent where the target lists them elsewhere (Dynamo's `extraPodSpec`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub containers: Vec<Container>,
    /// Volumes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub volumes: Vec<Volume>,
    /// Labels that the node must have.
    #[serde(skip_serializing_if = "StringMap::is_empty")]
    pub node_selector: StringMap,
    /// Taints that are tolerated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Toleration>,
    /// Secrets to pull images with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub image_pull_secrets: Vec<LocalObjectReference>,
}

/// A container (core/v1 Container).
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Container {
    /// Its name; absent where the target names it (Dynamo's `mainContainer`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// When its image is pulled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_pull_policy: Option<&'static str>,
    /// The program, in exec form.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Its arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Ports that it listens on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<ContainerPort>,
    /// Secrets whose keys become environment variables.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env_from: Vec<EnvFromSource>,
    /// Environment variables.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<EnvVar>,
    /// What it needs.
    #[serde(skip_serializing_if = "ResourceRequirements::is_empty")]
    pub resources: ResourceRequirements,
    /// Where its volumes are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub volume_mounts: Vec<VolumeMount>,
    /// Whether it has started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub startup_probe: Option<Probe>,
    /// Whether it still works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub liveness_probe: Option<Probe>,
    /// Whether it takes requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readiness_probe: Option<Probe>,
}

/// A command that says how a container is (core/v1 Probe).
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Probe {
    /// The command; it succeeds when all is well.
    pub exec: ExecAction,
    /// How long it is not asked after the start, in seconds; absent means not at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_delay_seconds: Option<u32>,
    /// How often it is asked, in seconds.
    pub period_seconds: u32,
    /// How long an answer may take, in seconds.
    pub timeout_seconds: u32,
    /// After how many failures in a row it counts as failed.
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
    /// The port.
    pub container_port: u16,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Environment variables from the keys of a Secret (core/v1 EnvFromSource).
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EnvFromSource {
    /// The Secret.
    pub secret_ref: LocalObjectReference,
}

/// An environment variable with a value.
pub fn env_value(name: &str, value: impl Into<String>) -> EnvVar {
    EnvVar { name: Some(name.to_owned()), value: Some(value.into()), value_from: None }
}

/// An environment variable with the value of a field of the pod, such as `status.podIP`.
pub fn env_field(name: &str, field_path: &str) -> EnvVar {
    let field = FieldSelector { api_version: None, field_path: Some(field_path.to_owned()) };
    let source = EnvVarSource { field_ref: Some(field), ..EnvVarSource::default() };
    EnvVar { name: Some(name.to_owned()), value: None, value_from: Some(source) }
}

/// Adds an environment variable unless one of that name is there: what the user set wins.
pub fn set_default_env(env: &mut Vec<EnvVar>, variable: EnvVar) {
    if !env.iter().any(|existing| existing.name == variable.name) {
        env.push(variable);
    }
}

/// What a container needs (core/v1 ResourceRequirements).
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct ResourceRequirements {
    /// At most this.
    #[serde(skip_serializing_if = "StringMap::is_empty")]
    pub limits: StringMap,
    /// At least this.
    #[serde(skip_serializing_if = "StringMap::is_empty")]
    pub requests: StringMap,
    /// Claims of the pod that it uses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<ResourceClaim>,
}

/// A claim of the pod that a container uses (core/v1 ResourceClaim).
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ResourceClaim {
    /// Its name in the pod.
    pub name: String,
}

impl ResourceRequirements {
    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.limits.is_empty() && self.requests.is_empty() && self.claims.is_empty()
    }
}

/// The body of an object that has only a `spec`.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct WithSpec<T> {
    /// What is wanted.
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

/// A Service of cluster-internal type with one HTTP port.
pub fn service(name: &str, selector: StringMap, port: u16, target_port: u16) -> Manifest {
    let spec = ServiceSpec { selector, ports: [ServicePort { name: "http", port, target_port }] };
    Manifest::new("v1", "Service", name, WithSpec { spec })
}

/// A volume of a pod (core/v1 Volume): exactly one of its sources.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Volume {
    /// Its name.
    pub name: String,
    /// A claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persistent_volume_claim: Option<ClaimSource>,
    /// An empty directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub empty_dir: Option<EmptyDir>,
    /// The keys of a ConfigMap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map: Option<ConfigMapSource>,
}

/// A ConfigMap as a volume.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigMapSource {
    /// The ConfigMap.
    pub name: String,
    /// Mode of its files, such as 0o755.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_mode: Option<u32>,
}

/// A claim as a volume.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClaimSource {
    /// The PersistentVolumeClaim.
    pub claim_name: String,
}

/// An empty directory as a volume.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EmptyDir {
    /// `Memory` for one in memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub medium: Option<&'static str>,
    /// Its largest size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_limit: Option<String>,
}

/// Where a volume is mounted (core/v1 VolumeMount).
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VolumeMount {
    /// The volume.
    pub name: String,
    /// Where.
    pub mount_path: String,
    /// A path in the volume instead of all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sub_path: Option<String>,
    /// For reading only; written when true.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
}
