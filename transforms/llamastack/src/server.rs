//! The internal representation of a server: validated, with defaults applied. Rendering starts from it.

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
    /// The distribution's image after applying mirrors.
    pub(super) image: String,
    /// The distribution's name, if the input does not name an image instead.
    pub(super) distribution: Option<String>,
    pub(super) container: ContainerSpec,
    pub(super) workers: Option<i32>,
    /// The directory for models and data.
    pub(super) mount_path: String,
    /// The size of the claim for that directory. `None` without a claim.
    pub(super) storage: Option<String>,
    pub(super) service_account: Option<String>,
    pub(super) grace_period: Option<i64>,
    pub(super) volumes: Vec<Value>,
    pub(super) volume_mounts: Vec<VolumeMount>,
    pub(super) autoscaling: Option<Autoscaling>,
    pub(super) budget: Option<Budget>,
    pub(super) spread: Vec<Value>,
    /// The ConfigMap with the user's configuration.
    pub(super) user_config: Option<String>,
    pub(super) ca_bundle: Option<CaBundle>,
    pub(super) network: Option<Network>,
    /// External providers, in order of installation.
    pub(super) providers: Vec<Provider>,
}

/// The server's container.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ContainerSpec {
    pub(super) name: String,
    /// The port in the input. See [`Server::port`] for the default.
    pub(super) port: Option<u16>,
    pub(super) env: Vec<EnvVar>,
    pub(super) command: Vec<String>,
    pub(super) args: Vec<String>,
    pub(super) resources: Resources,
}

/// Autoscaling of servers by load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Autoscaling {
    pub(super) min: i32,
    pub(super) max: i32,
    pub(super) cpu: Option<i32>,
    pub(super) memory: Option<i32>,
}

/// The disruption budget of the servers.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Budget {
    pub(super) min_available: Option<Value>,
    pub(super) max_unavailable: Option<Value>,
}

/// Certificates in a ConfigMap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CaBundle {
    pub(super) config_map: String,
    /// The namespace in the input. The default is the server's.
    pub(super) namespace: Option<String>,
    /// The keys of the certificates. Never empty.
    pub(super) keys: Vec<String>,
}

/// The clients that may reach the server.
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
    /// The image after applying mirrors.
    pub(super) image: String,
    pub(super) pull_policy: ImagePullPolicy,
    pub(super) api: Api,
    pub(super) config: Option<Value>,
    /// The path of its entry in the document.
    pub(super) path: FieldPath,
}

/// The default port of a server.
pub(super) const DEFAULT_PORT: u16 = 8321;

impl Server {
    /// Returns the port on which the server listens.
    pub(super) fn port(&self) -> u16 {
        self.container.port.unwrap_or(DEFAULT_PORT)
    }

    /// Returns whether a Service is generated. Like the upstream operator, this is for servers with a port or
    /// variables.
    pub(super) fn has_service(&self) -> bool {
        self.container.port.is_some() || !self.container.env.is_empty()
    }

    /// Returns the name of an object that belongs to the server.
    pub(super) fn object_name(&self, suffix: &str) -> String {
        format!("{}-{suffix}", self.name)
    }

    /// Returns the ServiceAccount of the pod.
    pub(super) fn service_account(&self) -> String {
        self.service_account.clone().unwrap_or_else(|| self.object_name("sa"))
    }
}

impl Provider {
    /// Returns the name of the init container that installs the provider.
    pub(super) fn container_name(&self) -> String {
        format!("external-provider-{}", self.id)
    }
}
