//! What an actor adds to a pod: two containers, their volumes, labels. Names, paths and numbers are those of
//! `injectSidecar` in deliveryhero/asya v0.1.1.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::ir::{Actor, Binding};
use super::{RUNTIME, RUNTIME_SCRIPT, RUNTIME_SCRIPT_PATH, SIDECAR, SOCKET_DIR};
use kubefoundry_kubernetes::pod::{
    ConfigMapSource, Container, EmptyDir, ExecAction, Probe, Volume, VolumeMount, env_value,
};
use kubefoundry_kubernetes::wire::EnvVar;

/// Where the sidecar answers for its metrics, unless it is told otherwise.
const METRICS_PORT: u16 = 8080;
/// The first port that is tried in its place; Knative keeps those below for itself.
const OTHER_METRICS_PORT: u16 = 9095;

/// The names of the volumes that are added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Volumes {
    socket: String,
    /// None where nothing may be mounted at `/tmp`.
    tmp: Option<String>,
    script: String,
}

impl Default for Volumes {
    fn default() -> Self {
        Self { socket: "socket-dir".to_owned(), tmp: Some("tmp".to_owned()), script: "asya-runtime".to_owned() }
    }
}

impl Volumes {
    /// Names that a pod does not have yet: with `asya-` before them where that is needed.
    pub(super) fn beside(taken: &BTreeSet<&str>) -> Self {
        let free = |mut name: String| -> String {
            while taken.contains(name.as_str()) {
                name.insert_str(0, "asya-");
            }
            name
        };
        let Self { socket, tmp, script } = Self::default();
        Self { socket: free(socket), tmp: tmp.map(&free), script: free(script) }
    }

    /// The same without `/tmp`.
    pub(super) fn without_tmp(self) -> Self {
        Self { tmp: None, ..self }
    }

    /// The names.
    pub(super) fn names(&self) -> Vec<&str> {
        std::iter::once(&self.socket).chain(&self.tmp).chain([&self.script]).map(String::as_str).collect()
    }

    /// The volumes.
    pub(super) fn list(&self) -> Vec<Volume> {
        let empty =
            |name: &String| Volume { name: name.clone(), empty_dir: Some(EmptyDir::default()), ..Volume::default() };
        let script = ConfigMapSource { name: super::RUNTIME_CONFIG_MAP.to_owned(), default_mode: Some(0o755) };
        let script = Volume { name: self.script.clone(), config_map: Some(script), ..Volume::default() };
        std::iter::once(&self.socket).chain(&self.tmp).map(empty).chain([script]).collect()
    }

    /// Where the sidecar has them.
    fn sidecar_mounts(&self) -> Vec<VolumeMount> {
        let mount = |name: &String, path: &str| VolumeMount {
            name: name.clone(),
            mount_path: path.to_owned(),
            ..VolumeMount::default()
        };
        let tmp = self.tmp.iter().map(|tmp| mount(tmp, "/tmp"));
        std::iter::once(mount(&self.socket, SOCKET_DIR)).chain(tmp).collect()
    }

    /// Where the runtime has them.
    pub(super) fn runtime_mounts(&self) -> Vec<VolumeMount> {
        let mut mounts = self.sidecar_mounts();
        mounts.push(VolumeMount {
            name: self.script.clone(),
            mount_path: RUNTIME_SCRIPT_PATH.to_owned(),
            sub_path: Some(RUNTIME_SCRIPT.to_owned()),
            read_only: true,
        });
        mounts
    }
}

/// The container that talks to the transport.
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
        // A name twice in a list is one that server-side apply refuses.
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

/// The adapter of an actor that binds. `probes` says whether it is asked how it is.
pub(super) fn adapter(actor: &Actor, binding: &Binding, volumes: &Volumes, probes: bool) -> Container {
    let mut env = vec![env_value("ASYA_HANDLER", &binding.handler)];
    env.extend(binding.target_url.as_deref().map(|url| env_value("ASYA_TARGET_URL", url)));
    env.extend(runtime_environment(actor));
    let probes = probes.then(Probes::new);
    let probe = |which: fn(&Probes) -> &Probe| probes.as_ref().map(|probes| which(probes).clone());
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

/// How the runtime is started.
pub(super) fn runtime_command(python: &str) -> Vec<String> {
    vec![python.to_owned(), RUNTIME_SCRIPT_PATH.to_owned()]
}

/// What the runtime is told.
pub(super) fn runtime_environment(actor: &Actor) -> Vec<EnvVar> {
    let mut env = vec![env_value("ASYA_SOCKET_DIR", SOCKET_DIR)];
    if actor.is_end() {
        env.push(env_value("ASYA_ENABLE_VALIDATION", "false"));
    }
    env
}

/// How the runtime is asked how it is.
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

/// The labels by which the pods of an actor are found; `workload` is the workload's kind in lower case.
pub(super) fn own_labels(actor: &str, workload: &str) -> [(&'static str, String); 2] {
    [("asya.sh/asya", actor.to_owned()), ("asya.sh/workload", workload.to_owned())]
}

/// Where the sidecar answers for its metrics, when the usual port is not free in the pod.
pub(super) fn metrics_port(used: &BTreeSet<u16>) -> Option<u16> {
    used.contains(&METRICS_PORT).then(|| (OTHER_METRICS_PORT..=u16::MAX).find(|port| !used.contains(port))).flatten()
}

/// The ports that the containers of a pod declare.
pub(super) fn declared_ports(spec: &Map<String, Value>) -> BTreeSet<u16> {
    let lists = ["containers", "initContainers"].into_iter().flat_map(|list| items(spec, list));
    lists.flat_map(container_ports).collect()
}

/// The ports that a container declares.
pub(super) fn container_ports(container: &Value) -> impl Iterator<Item = u16> {
    let ports = container.get("ports").and_then(Value::as_array).into_iter().flatten();
    let numbers = ports.filter_map(|port| port.get("containerPort")?.as_u64());
    numbers.filter_map(|port| u16::try_from(port).ok())
}

/// The items of a list of a pod.
pub(super) fn items<'v>(spec: &'v Map<String, Value>, list: &str) -> impl Iterator<Item = &'v Value> {
    spec.get(list).and_then(Value::as_array).into_iter().flatten()
}

/// The name of an item.
pub(super) fn name_of(item: &Value) -> &str {
    item.get("name").and_then(Value::as_str).unwrap_or_default()
}

/// A part of a pod as JSON.
pub(super) fn json(part: impl serde::Serialize) -> Value {
    serde_json::to_value(part).unwrap_or_default()
}
