//! The parts that an actor adds to a pod: two containers, their volumes, and labels. Names, paths and numbers follow
//! `injectSidecar` in deliveryhero/asya v0.1.1.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::ir::{Actor, Binding};
use super::{RUNTIME, RUNTIME_SCRIPT, RUNTIME_SCRIPT_PATH, SIDECAR, SOCKET_DIR};
use kubefoundry_kubernetes::pod::{
    ConfigMapSource, Container, EmptyDir, ExecAction, Probe, Volume, VolumeMount, env_value,
};
use kubefoundry_kubernetes::wire::EnvVar;
use kubefoundry_yaml::infallible::to_json;

/// Default port of the sidecar's metrics.
const METRICS_PORT: u16 = 8080;
/// The first port to try if the default is taken. Knative reserves the ports directly below.
const FIRST_ALTERNATIVE_METRICS_PORT: u16 = 9095;

/// The names of the added volumes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Volumes {
    socket: String,
    /// `None` where nothing may be mounted at `/tmp`.
    tmp: Option<String>,
    script: String,
}

impl Default for Volumes {
    fn default() -> Self {
        Self { socket: "socket-dir".to_owned(), tmp: Some("tmp".to_owned()), script: "asya-runtime".to_owned() }
    }
}

impl Volumes {
    /// Chooses names that a pod does not use yet, by prefixing `asya-` as often as necessary.
    pub(super) fn with_free_names(taken: &BTreeSet<&str>) -> Self {
        let free = |mut name: String| -> String {
            while taken.contains(name.as_str()) {
                name.insert_str(0, "asya-");
            }
            name
        };
        let Self { socket, tmp, script } = Self::default();
        Self { socket: free(socket), tmp: tmp.map(&free), script: free(script) }
    }

    /// Removes the volume for `/tmp`.
    pub(super) fn without_tmp(self) -> Self {
        Self { tmp: None, ..self }
    }

    /// Returns the names of all volumes.
    pub(super) fn names(&self) -> Vec<&str> {
        std::iter::once(&self.socket).chain(&self.tmp).chain([&self.script]).map(String::as_str).collect()
    }

    /// Returns the volumes for the pod spec.
    pub(super) fn list(&self) -> Vec<Volume> {
        let empty =
            |name: &String| Volume { name: name.clone(), empty_dir: Some(EmptyDir::default()), ..Volume::default() };
        let script = ConfigMapSource { name: super::RUNTIME_CONFIG_MAP.to_owned(), default_mode: Some(0o755) };
        let script = Volume { name: self.script.clone(), config_map: Some(script), ..Volume::default() };
        std::iter::once(&self.socket).chain(&self.tmp).map(empty).chain([script]).collect()
    }

    /// Returns the mounts of the sidecar.
    fn sidecar_mounts(&self) -> Vec<VolumeMount> {
        let mount = |name: &String, path: &str| VolumeMount {
            name: name.clone(),
            mount_path: path.to_owned(),
            ..VolumeMount::default()
        };
        let tmp = self.tmp.iter().map(|tmp| mount(tmp, "/tmp"));
        std::iter::once(mount(&self.socket, SOCKET_DIR)).chain(tmp).collect()
    }

    /// Returns the mounts of the runtime container, which also has the script.
    pub(super) fn runtime_mounts(&self) -> Vec<VolumeMount> {
        let mut mounts = self.sidecar_mounts();
        mounts.push(VolumeMount {
            name: self.script.clone(),
            mount_path: RUNTIME_SCRIPT_PATH.to_owned(),
            sub_path: Some(RUNTIME_SCRIPT.to_owned()),
            read_only: true,
            ..VolumeMount::default()
        });
        mounts
    }
}

/// Builds the container that connects to the transport.
pub(super) fn sidecar(actor: &Actor, gateway: &str, metrics_port: Option<u16>, volumes: &Volumes) -> Container {
    let mut env = vec![
        env_value("ASYA_LOG_LEVEL", "info"),
        env_value("ASYA_GATEWAY_URL", gateway),
        env_value("ASYA_ACTOR_NAME", &actor.name),
        env_value("ASYA_ACTOR_HAPPY_END", "happy-end"),
        env_value("ASYA_ACTOR_ERROR_END", "error-end"),
    ];
    if actor.is_end() {
        env.push(env_value("ASYA_IS_END_ACTOR", "true"));
    }
    env.push(env_value("ASYA_RUNTIME_TIMEOUT", format!("{}s", actor.processing)));
    env.extend(actor.transport.iter().flat_map(super::options::Transport::environment));
    env.push(env_value("ASYA_SOCKET_DIR", SOCKET_DIR));
    env.extend(metrics_port.map(|port| env_value("ASYA_METRICS_ADDR", format!(":{port}"))));
    for variable in &actor.sidecar.env {
        // Replace rather than append: server-side apply rejects a list with one name twice.
        match env.iter_mut().find(|own| own.name == variable.name) {
            Some(own) => *own = variable.clone(),
            None => env.push(variable.clone()),
        }
    }
    Container {
        name: Some(SIDECAR.to_owned()),
        image: Some(actor.sidecar.image.clone()),
        image_pull_policy: Some(actor.sidecar.pull_policy.as_str()),
        env,
        resources: actor.sidecar.resources.clone(),
        volume_mounts: volumes.sidecar_mounts(),
        ..Container::default()
    }
}

/// Builds the adapter of an actor that binds. `probes` tells whether it has probes.
pub(super) fn adapter(actor: &Actor, binding: &Binding, volumes: &Volumes, probes: bool) -> Container {
    let mut env = vec![env_value("ASYA_HANDLER", &binding.handler)];
    env.extend(binding.target_url.as_deref().map(|url| env_value("ASYA_TARGET_URL", url)));
    env.extend(runtime_environment(actor));
    let probes = probes.then(Probes::new);
    let probe = |which: fn(&Probes) -> &Probe| probes.as_ref().map(|probes| which(probes).clone().into());
    Container {
        name: Some(RUNTIME.to_owned()),
        image: Some(binding.image.clone()),
        command: runtime_command("python3"),
        env,
        volume_mounts: volumes.runtime_mounts(),
        startup_probe: probe(|it| &it.startup),
        liveness_probe: probe(|it| &it.liveness),
        readiness_probe: probe(|it| &it.readiness),
        ..Container::default()
    }
}

/// Returns the command that starts the runtime.
pub(super) fn runtime_command(python: &str) -> Vec<String> {
    vec![python.to_owned(), RUNTIME_SCRIPT_PATH.to_owned()]
}

/// Returns the environment variables of the runtime.
pub(super) fn runtime_environment(actor: &Actor) -> Vec<EnvVar> {
    let mut env = vec![env_value("ASYA_SOCKET_DIR", SOCKET_DIR)];
    if actor.is_end() {
        env.push(env_value("ASYA_ENABLE_VALIDATION", "false"));
    }
    env
}

/// The probes of the runtime container.
#[derive(Debug)]
pub(super) struct Probes {
    pub(super) startup: Probe,
    pub(super) liveness: Probe,
    pub(super) readiness: Probe,
}

impl Probes {
    pub(super) fn new() -> Self {
        let probe = |initial_delay_seconds, period_seconds, timeout_seconds, failure_threshold| Probe {
            exec: ExecAction {
                command: vec![
                    "sh".to_owned(),
                    "-c".to_owned(),
                    format!("test -S {SOCKET_DIR}/asya-runtime.sock && test -f {SOCKET_DIR}/runtime-ready"),
                ],
            },
            initial_delay_seconds,
            period_seconds,
            timeout_seconds,
            failure_threshold,
        };
        Self { startup: probe(Some(3), 2, 3, 150), liveness: probe(None, 30, 5, 3), readiness: probe(None, 10, 3, 3) }
    }
}

/// Returns the labels that select the pods of an actor. `workload` is the workload's kind in lower case.
pub(super) fn own_labels(actor: &str, workload: &str) -> [(&'static str, String); 2] {
    [("asya.sh/asya", actor.to_owned()), ("asya.sh/workload", workload.to_owned())]
}

/// Returns an alternative port for the sidecar's metrics if the default port is used in the pod.
pub(super) fn metrics_port(used: &BTreeSet<u16>) -> Option<u16> {
    used.contains(&METRICS_PORT)
        .then(|| (FIRST_ALTERNATIVE_METRICS_PORT..=u16::MAX).find(|port| !used.contains(port)))
        .flatten()
}

/// Returns the ports that the containers of a pod declare.
pub(super) fn declared_ports(spec: &Map<String, Value>) -> BTreeSet<u16> {
    let lists = ["containers", "initContainers"].into_iter().flat_map(|list| items(spec, list));
    lists.flat_map(container_ports).collect()
}

/// Returns the ports that a container declares.
pub(super) fn container_ports(container: &Value) -> impl Iterator<Item = u16> {
    let ports = container.get("ports").and_then(Value::as_array).into_iter().flatten();
    let numbers = ports.filter_map(|port| port.get("containerPort")?.as_u64());
    numbers.filter_map(|port| u16::try_from(port).ok())
}

/// Returns the items of a list in a pod spec.
pub(super) fn items<'v>(spec: &'v Map<String, Value>, list: &str) -> impl Iterator<Item = &'v Value> {
    spec.get(list).and_then(Value::as_array).into_iter().flatten()
}

/// Returns the name of a list item, or an empty text.
pub(super) fn name_of(item: &Value) -> &str {
    item.get("name").and_then(Value::as_str).unwrap_or_default()
}

/// Converts a part of a pod to JSON.
pub(super) fn json(part: impl serde::Serialize) -> Value {
    to_json(&part)
}
