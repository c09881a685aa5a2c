//! The pod: the server's container and its volumes, as the upstream operator creates them. [`super::external`] adds
//! external providers.
//!
//! Source: `controllers/resource_helper.go` of `github.com/llamastack/llama-stack-k8s-operator`.

use std::cmp::Ordering;

use super::install::unexpanded;
use super::options::MergeMode;
use super::server::Server;
use super::types::{
    Affinity, AffinityTerm, Container, HttpGet, LabelSelector, PodAntiAffinity, PodSecurityContext, PodSpec, Probe,
    Resources, SpreadConstraint, Volume, WeightedTerm, mount,
};
use super::{external, paths};
use crate::options::Options;
use kubefoundry_kubernetes::pod::{ContainerPort, StringMap, env_value};
use kubefoundry_kubernetes::quantity::{compare, positive_quantity};
use kubefoundry_kubernetes::wire::EnvVar;
use kubefoundry_yaml::infallible::to_json;

/// The script that starts the server. It is the same for all servers.
pub(super) const START_SCRIPT: &str = concat!(include_str!("find-config.sh"), include_str!("start-server.sh"));

/// The volume for models and data.
const STORAGE: &str = "lls-storage";
/// The volume with certificates.
const CA_BUNDLE: &str = "ca-bundle";
/// The volume with the user's configuration, if the server reads it directly.
const USER_CONFIG: &str = "user-config";

/// How external providers get into the server's configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// The server has no external providers. The pod equals the operator's.
    Base,
    /// An init container merges them.
    Init,
    /// They are merged during rendering.
    Static,
    /// The server merges them itself.
    Native,
}

impl Mode {
    /// Selects the mode for a server.
    pub(super) fn select(server: &Server, options: &Options<'_>) -> Self {
        let settings = &options.settings;
        if server.providers.is_empty() {
            Self::Base
        } else if settings.native_extra_providers {
            Self::Native
        } else if settings.merge_mode == MergeMode::Static {
            Self::Static
        } else {
            Self::Init
        }
    }

    /// Returns whether the server reads the user's ConfigMap directly.
    fn mounts_user_config(self) -> bool {
        matches!(self, Self::Base | Self::Native)
    }
}

/// Returns the names of the volumes that rendering adds, and where the server's container mounts those that it only
/// reads.
pub(super) fn added_volumes_and_mounts(
    server: &Server,
    options: &Options<'_>,
) -> (Vec<&'static str>, Vec<&'static str>) {
    let mode = Mode::select(server, options);
    let (mut volumes, mut mounts) = (vec![STORAGE], Vec::new());
    if server.ca_bundle.is_some() {
        volumes.push(CA_BUNDLE);
        mounts.push(paths::CA_BUNDLE);
    }
    if server.user_config.is_some() && mode.mounts_user_config() {
        volumes.push(USER_CONFIG);
        mounts.push(paths::USER_CONFIG);
    }
    if mode != Mode::Base {
        volumes.extend([external::PROVIDERS, external::CONFIG]);
        mounts.extend([paths::PROVIDERS, paths::CONFIG]);
    }
    if mode == Mode::Init {
        volumes.push(external::BASE_CONFIG);
    }
    (volumes, mounts)
}

/// Returns the names of the init containers.
pub(super) fn init_container_names(server: &Server, options: &Options<'_>) -> Vec<String> {
    external::init_containers(server, options).into_iter().map(|container| container.name).collect()
}

/// Returns the labels that select the server's pods.
pub(super) fn selector(server: &Server) -> StringMap {
    let mut labels = StringMap::from_entry("app", "llama-stack");
    labels.push("app.kubernetes.io/instance", &server.name);
    labels
}

/// Builds the pod. `ca_config_map` is the name of the ConfigMap with certificates and its key.
pub(super) fn build_pod(server: &Server, ca_config_map: Option<(&str, &str)>, options: &Options<'_>) -> PodSpec {
    let mode = Mode::select(server, options);
    let mut container = build_container(server, mode);
    let mut volumes = vec![match &server.storage {
        Some(_) => Volume::claim(STORAGE, server.object_name("pvc")),
        None => Volume::empty_dir(STORAGE, None),
    }];
    if let Some((config_map, key)) = ca_config_map {
        volumes.push(Volume::config_map(CA_BUNDLE, config_map, Some((key, paths::CA_KEY))));
    }
    if let Some(config_map) = server.user_config.as_deref().filter(|_| mode.mounts_user_config()) {
        volumes.push(Volume::config_map(USER_CONFIG, config_map, None));
    }
    if mode != Mode::Base {
        external::extend(server, mode, options, &mut container, &mut volumes);
    }
    volumes.extend(server.volumes.iter().cloned().map(Volume::Given));
    container.volume_mounts.extend(server.volume_mounts.iter().cloned());
    PodSpec {
        service_account_name: server.service_account(),
        security_context: PodSecurityContext { fs_group: 1001 },
        termination_grace_period_seconds: server.grace_period,
        init_containers: external::init_containers(server, options),
        containers: vec![container],
        volumes,
        affinity: (server.replicas > 1).then(|| affinity(server)),
        topology_spread_constraints: spread_constraints(server),
    }
}

/// Builds the server's container. With a configuration of the user or of external providers, the start script runs it
/// unless the user sets a command; the script passes the user's arguments on.
fn build_container(server: &Server, mode: Mode) -> Container {
    let mut mounts = vec![mount(STORAGE, &server.mount_path, false)];
    if server.user_config.is_some() && mode.mounts_user_config() {
        mounts.push(mount(USER_CONFIG, paths::USER_CONFIG, true));
    }
    if server.ca_bundle.is_some() {
        mounts.push(mount(CA_BUNDLE, paths::CA_BUNDLE, true));
    }
    let spec = &server.container;
    let uses_start_script = server.user_config.is_some() || mode != Mode::Base;
    let (mut command, args) = (Vec::new(), spec.args.clone());
    if !spec.command.is_empty() {
        command.clone_from(&spec.command);
    } else if uses_start_script && args.is_empty() {
        command = ["/bin/sh", "-c", START_SCRIPT].map(str::to_owned).to_vec();
    } else if uses_start_script {
        // `sh -c` takes the word after the script as `$0`, so that the user's arguments are `$1` and the following.
        command = ["/bin/sh", "-c", START_SCRIPT, "start-server"].map(str::to_owned).to_vec();
    }
    Container {
        name: spec.name.clone(),
        image: server.image.clone(),
        command,
        args,
        ports: vec![ContainerPort { container_port: server.port(), name: None }],
        env: environment(server),
        resources: resources(server),
        startup_probe: Some(Probe {
            http_get: HttpGet { path: "/v1/health", port: server.port() },
            initial_delay_seconds: 15,
            timeout_seconds: 30,
            failure_threshold: 3,
            success_threshold: 1,
        }),
        volume_mounts: mounts,
        ..Container::default()
    }
}

/// Returns the operator's variables followed by the user's. The user's variable replaces one of the same name. The
/// operator lists both, of which the last takes effect; the result is the same.
fn environment(server: &Server) -> Vec<EnvVar> {
    let mut env = vec![env_value("HF_HOME", unexpanded(&server.mount_path))];
    if server.ca_bundle.is_some() {
        env.push(env_value("SSL_CERT_FILE", format!("{}/{}", paths::CA_BUNDLE, paths::CA_KEY)));
    }
    env.push(env_value("LLS_WORKERS", server.workers.unwrap_or(1).to_string()));
    env.push(env_value("LLS_PORT", server.port().to_string()));
    env.push(env_value("LLAMA_STACK_CONFIG", format!("{}/config.yaml", paths::USER_CONFIG)));
    with_user_variables(env, server.container.env.clone())
}

/// Combines generated variables with the user's, which take precedence.
pub(super) fn with_user_variables(mut generated: Vec<EnvVar>, user: Vec<EnvVar>) -> Vec<EnvVar> {
    generated.retain(|variable| !user.iter().any(|own| own.name == variable.name));
    generated.extend(user);
    generated
}

/// Returns the resources of the server. Autoscaling by utilization needs requests. With workers, the operator also sets
/// limits to the requests. A limit below the operator's default request lowers the request, because Kubernetes rejects a
/// request above its limit.
fn resources(server: &Server) -> Resources {
    let mut resources = server.container.resources.clone();
    let cpu = server.workers.unwrap_or(1).to_string();
    for (name, default) in [("cpu", cpu.as_str()), ("memory", "1Gi")] {
        let limit = positive_amount(&resources.limits, name).map(str::to_owned);
        let lower = limit.as_deref().filter(|limit| compare(limit, default) == Some(Ordering::Less));
        set_default_amount(&mut resources.requests, name, lower.unwrap_or(default));
        if server.workers.is_some() {
            let request = positive_amount(&resources.requests, name).unwrap_or(default).to_owned();
            set_default_amount(&mut resources.limits, name, &request);
        }
    }
    resources
}

/// Returns the amount of a resource if it is above zero.
fn positive_amount<'m>(map: &'m StringMap, name: &str) -> Option<&'m str> {
    map.0.iter().find(|(key, value)| key == name && positive_quantity(value).is_ok()).map(|(_, value)| value.as_str())
}

/// Sets the amount of a resource unless it is set.
fn set_default_amount(map: &mut StringMap, name: &str, value: &str) {
    if positive_amount(map, name).is_none() {
        map.0.retain(|(key, _)| key != name);
        map.push(name, value);
    }
}

/// Returns a selector for all pods of the server.
fn instance_selector(server: &Server) -> LabelSelector {
    LabelSelector {
        match_labels: StringMap::from_entry("app.kubernetes.io/instance", &server.name),
        ..LabelSelector::default()
    }
}

/// Builds the preference for nodes without another pod of the server.
fn affinity(server: &Server) -> Affinity {
    let term = AffinityTerm { label_selector: instance_selector(server), topology_key: "kubernetes.io/hostname" };
    let terms = [WeightedTerm { weight: 100, pod_affinity_term: term }];
    Affinity { pod_anti_affinity: PodAntiAffinity { preferred_during_scheduling_ignored_during_execution: terms } }
}

/// Returns the user's topology spread constraints. Without any, several replicas are spread over regions, zones and
/// nodes where possible.
fn spread_constraints(server: &Server) -> Vec<serde_json::Value> {
    if !server.spread.is_empty() || server.replicas <= 1 {
        return server.spread.clone();
    }
    let keys = ["topology.kubernetes.io/region", "topology.kubernetes.io/zone", "kubernetes.io/hostname"];
    let constraint = |topology_key| SpreadConstraint {
        max_skew: 1,
        topology_key,
        when_unsatisfiable: "ScheduleAnyway",
        label_selector: instance_selector(server),
    };
    keys.iter().map(|key| to_json(&constraint(key))).collect()
}
