//! A server with everything decided: what checking makes of what was written, and rendering starts from.

use serde_json::Value;

use super::types::Resources;
use super::wire::{Api, ImagePullPolicy, VolumeMount};
use kubefoundry_kubernetes::wire::EnvVar;
use kubefoundry_yaml::field_path::FieldPath;

/// A llama-stack server.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Server {
    pub(super) name: String,
    pub(super) namespace: Option<String>,
    pub(super) replicas: i32,
    /// The distribution's image, as it is pulled.
    pub(super) image: String,
    pub(super) container: ContainerSpec,
    pub(super) workers: Option<i32>,
    /// Where models and data are kept, and the size of the claim for them.
    pub(super) mount_path: String,
    pub(super) storage: Option<String>,
    pub(super) service_account: Option<String>,
    pub(super) grace_period: Option<i64>,
    pub(super) volumes: Vec<Value>,
    pub(super) volume_mounts: Vec<VolumeMount>,
    pub(super) autoscaling: Option<Autoscaling>,
    pub(super) budget: Option<Budget>,
    pub(super) spread: Vec<Value>,
    /// The ConfigMap with a configuration of the user's.
    pub(super) user_config: Option<String>,
    pub(super) ca_bundle: Option<CaBundle>,
    pub(super) network: Option<Network>,
    /// External providers in the order in which they are installed.
    pub(super) providers: Vec<Provider>,
}

/// The server's container.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ContainerSpec {
    pub(super) name: String,
    /// The port that was given.
    pub(super) port: Option<u16>,
    pub(super) env: Vec<EnvVar>,
    pub(super) command: Vec<String>,
    pub(super) args: Vec<String>,
    pub(super) resources: Resources,
}

/// How many servers run, by their load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Autoscaling {
    pub(super) min: i32,
    pub(super) max: i32,
    pub(super) cpu: Option<i32>,
    pub(super) memory: Option<i32>,
}

/// How many servers may be gone at a time.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Budget {
    pub(super) min_available: Option<Value>,
    pub(super) max_unavailable: Option<Value>,
}

/// Certificates in a ConfigMap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CaBundle {
    pub(super) config_map: String,
    /// The namespace that was given.
    pub(super) namespace: Option<String>,
    /// At least one.
    pub(super) keys: Vec<String>,
}

/// Who may reach the server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Network {
    pub(super) expose_route: bool,
    pub(super) namespaces: Vec<String>,
    pub(super) labels: Vec<String>,
}

/// An external provider.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Provider {
    pub(super) id: String,
    /// Its image, as it is pulled.
    pub(super) image: String,
    pub(super) pull_policy: ImagePullPolicy,
    pub(super) api: Api,
    pub(super) config: Option<Value>,
    /// Where it stands.
    pub(super) path: FieldPath,
}

/// The port of a server that says none.
pub(super) const DEFAULT_PORT: u16 = 8321;

impl Server {
    /// The port that the server listens on.
    pub(super) fn port(&self) -> u16 {
        self.container.port.unwrap_or(DEFAULT_PORT)
    }

    /// Whether a Service is made: the operator makes one for a server with a port or variables.
    pub(super) fn has_service(&self) -> bool {
        self.container.port.is_some() || !self.container.env.is_empty()
    }

    /// The name of an object of the server's.
    pub(super) fn object(&self, suffix: &str) -> String {
        format!("{}-{suffix}", self.name)
    }

    /// The ServiceAccount that the pod runs as.
    pub(super) fn service_account(&self) -> String {
        self.service_account.clone().unwrap_or_else(|| self.object("sa"))
    }
}

impl Provider {
    /// The name of the init container that installs it.
    pub(super) fn container(&self) -> String {
        format!("external-provider-{}", self.id)
    }
}
