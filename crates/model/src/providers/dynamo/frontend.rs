//! The frontend: Dynamo's HTTP server and router.

use super::codes::ROUTER_MODE_IN_ENVIRONMENT;
use super::component::{Amounts, Component, Kind};
use super::image::Runtime;
use super::overrides::{self, Settings};
use super::storage;
use crate::ir::Deployment;
use crate::providers::pod;
use crate::wire::ModelDeployment;
use kubefoundry_diagnostics::Findings;
use kubefoundry_kubernetes::pod::{StringMap, env_value};

/// Its name, from which the Service's is made: `<graph>-frontend`.
pub(super) const NAME: &str = "Frontend";

/// The variable that sets how workers are chosen.
const ROUTER_MODE: &str = "DYN_ROUTER_MODE";

/// The variable that makes the routers of several frontends tell each other of the requests that they have sent on; each
/// else counts its own only, and takes a busy worker for a free one. It needs the event plane that KV events need anyway
/// (`kv_router_args.py` of ai-dynamo 1.1.1, 1.4.0 and 1.6.1; router operations of Dynamo's documentation).
const REPLICA_SYNC: &str = "DYN_ROUTER_REPLICA_SYNC";

/// The variables of `spec.env` that the frontend gets too: how it reaches the hub that it fetches tokenizers from. The
/// others are the engine's.
const HUB_VARIABLES: &[&str] = &[
    "HF_ENDPOINT",
    "HF_TOKEN",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "MODEL_EXPRESS_URL",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// The frontend's component. Command, port and probes are the operator's (component_frontend.go).
pub(super) fn component(deployment: &Deployment, runtime: &Runtime<'_>, settings: &Settings) -> Component {
    let storage = storage::of_frontend(deployment);
    let mut env: Vec<_> = settings.router_mode.map(|mode| env_value(ROUTER_MODE, mode.as_str())).into_iter().collect();
    if settings.routes_by_kv() && settings.frontend_replicas > 1 {
        env.push(env_value(REPLICA_SYNC, "true"));
    }
    let for_hub = |name: &Option<String>| name.as_deref().is_some_and(|name| HUB_VARIABLES.contains(&name));
    env.extend(deployment.env.iter().filter(|variable| for_hub(&variable.name)).cloned());
    Component {
        name: NAME,
        kind: Kind::Frontend,
        replicas: settings.frontend_replicas,
        image: runtime.image.clone(),
        runtime_version: settings.runtime_version.clone(),
        command: Vec::new(),
        args: Vec::new(),
        env_from_secret: deployment.hugging_face_token.clone(),
        env,
        limits: Amounts::default(),
        requests: Amounts {
            cpu: Some(settings.frontend_cpu.clone()),
            memory: Some(settings.frontend_memory.clone()),
            gpu: None,
        },
        volumes: storage.volumes,
        mounts: storage.mounts,
        compilation_cache: None,
        metadata: pod::metadata(deployment, &[]),
        // It needs no GPU, and on a GPU node would hold it. Where it may run, a taint may still stand.
        node_selector: StringMap::default(),
        tolerations: deployment.tolerations.clone(),
        image_pull_secrets: pod::image_pull_secrets(deployment),
    }
}

/// Warns of a router mode that would reach the workers only.
pub(super) fn check(deployment: &Deployment, findings: &mut Findings<'_>) {
    let position = deployment.env.iter().position(|variable| variable.name.as_deref() == Some(ROUTER_MODE));
    if let Some(index) = position {
        let path = ModelDeployment::path().spec().env().index(index).name();
        let message = format!(
            "{path} is {ROUTER_MODE}, but spec.env sets variables of the workers, and the frontend does the routing"
        );
        findings
            .report(&ROUTER_MODE_IN_ENVIRONMENT, &path, message)
            .help(format!("remove the variable, and set {} instead", overrides::path().router_mode()));
    }
}
