//! The frontend: Dynamo's HTTP server and router.

use super::codes::{COMPONENT_SETTING_WITHOUT_EFFECT, ROUTER_MODE_IN_ENVIRONMENT};
use super::component::{Component, ComponentKind, ResourceAmounts};
use super::image::DynamoRuntime;
use super::overrides;
use super::settings::DynamoSettings;
use super::storage;
use crate::settings::frontend::ROUTER_MODE_FLAG;
use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::{Deployment, Probes};
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_kubernetes::pod::{PodSpec, StringMap, env_value};
use kubefoundry_kubernetes::wire::EnvVar;
use kubefoundry_provider::GatewayBackend;
use kubefoundry_provider::pod;
use kubefoundry_yaml::Node;
use kubefoundry_yaml::field_path::FieldPath;

/// The variable for the router mode: how workers are chosen.
pub(super) const ROUTER_MODE: &str = "DYN_ROUTER_MODE";

/// The variable that makes the routers of several frontends share the requests that they have routed. Without it each
/// router counts only its own requests and may take a busy worker for a free one. It needs the event plane, as KV
/// events do (`kv_router_args.py` of ai-dynamo 1.1.1, 1.4.0 and 1.6.1; router operations of Dynamo's documentation).
pub(super) const REPLICA_SYNC: &str = "DYN_ROUTER_REPLICA_SYNC";

/// The flag that sets the same as [`REPLICA_SYNC`], and wins over it.
const REPLICA_SYNC_FLAG: &str = "router-replica-sync";

/// What the operator runs in a frontend without a command (deploy/operator/internal/dynamo/component_frontend.go).
pub(super) const PROGRAM: &[&str] = &["python3", "-m", "dynamo.frontend"];

/// The variables of `spec.env` that the frontend gets too, because it fetches tokenizers from the hub. The other
/// variables are for the engine.
pub(super) const HUB_VARIABLES: &[&str] = &[
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

/// Builds the frontend's component. The operator sets its command, port and probes (component_frontend.go).
pub(super) fn build_component(
    deployment: &Deployment,
    runtime: &DynamoRuntime,
    settings: &DynamoSettings,
) -> Component {
    let storage = storage::frontend_storage(deployment);
    let args = settings.frontend.invocation.argv();
    Component {
        name: settings.frontend_name().to_owned(),
        kind: ComponentKind::Frontend,
        replicas: settings.frontend.replicas,
        nodes: 1,
        image: settings.frontend_image.clone().unwrap_or_else(|| runtime.image.clone()),
        runtime_version: settings.runtime_version.clone(),
        // Arguments replace those of the operator, which name the module.
        command: PROGRAM.iter().filter(|_| !args.is_empty()).map(|word| (*word).to_owned()).collect(),
        args,
        env_from_secret: deployment.hugging_face_token.clone().filter(|_| settings.frontend_has_token),
        env: environment(deployment, settings),
        limits: amounts(&settings.frontend.limits),
        requests: amounts(&settings.frontend.requests),
        claims: Vec::new(),
        mounts: storage.mounts,
        shared_memory: None,
        probes: Probes::default(),
        security_context: None,
        compilation_cache: None,
        metadata: settings.frontend_component.merge_metadata(pod::pod_metadata(deployment, super::RESERVED_POD_LABELS)),
        // The node selector is for GPU nodes, which a frontend would occupy without need. The nodes where it may run
        // can still be tainted.
        pod: PodSpec { volumes: storage.volumes, ..pod::auxiliary_pod_spec(deployment) },
        pod_fields: settings.frontend_component.pod.clone(),
        container_fields: settings.frontend_component.container.clone(),
    }
}

/// Returns the variables of the provider, those of `spec.env` for the hub, and those of `spec.frontend.env`, which
/// replace the others by name.
fn environment(deployment: &Deployment, settings: &DynamoSettings) -> Vec<EnvVar> {
    let has_flag = |name: &str| settings.frontend.invocation.has(name);
    let mode = settings.router_mode.filter(|_| !has_flag(ROUTER_MODE_FLAG));
    let mut env: Vec<_> = mode.map(|mode| env_value(ROUTER_MODE, mode.as_str())).into_iter().collect();
    if settings.routes_by_kv() && settings.frontend.replicas > 1 && !has_flag(REPLICA_SYNC_FLAG) {
        env.push(env_value(REPLICA_SYNC, "true"));
    }
    let for_hub = |name: &Option<String>| name.as_deref().is_some_and(|name| HUB_VARIABLES.contains(&name));
    env.extend(deployment.env.iter().filter(|variable| for_hub(&variable.name)).cloned());
    for variable in &deployment.frontend.env {
        match env.iter_mut().find(|existing| existing.name == variable.name) {
            Some(existing) => existing.clone_from(variable),
            None => env.push(variable.clone()),
        }
    }
    env
}

/// Sorts amounts into those for which Dynamo's v1alpha1 has fields, and others.
fn amounts(list: &[(String, String)]) -> ResourceAmounts {
    let find = |resource: &str| list.iter().find(|(name, _)| name == resource).map(|(_, amount)| amount.clone());
    let is_other = |(name, _): &&(String, String)| !matches!(name.as_str(), "cpu" | "memory");
    ResourceAmounts {
        cpu: find("cpu"),
        memory: find("memory"),
        gpu: None,
        others: list.iter().filter(is_other).cloned().collect(),
    }
}

/// Warns about a router mode in `spec.env`, which would reach only the workers.
pub(super) fn check_environment(deployment: &Deployment, findings: &mut Findings<'_>) {
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

/// Reports what a graph without a frontend cannot have, and warns about settings of the frontend.
pub(super) fn check_absence(deployment: &Deployment, findings: &mut Findings<'_>) {
    let overrides = overrides::path;
    let absent = format!("{} is false", overrides().frontend().enabled());
    if deployment.wanted_gateway().is_some() {
        let path = ModelDeployment::path().spec().gateway();
        let message = format!("{path} has nothing to send requests to, because {absent}");
        findings
            .report(&codes::FIELD_NOT_SUPPORTED, FieldRef::key(&path), message)
            .help("remove it, or let Dynamo have a frontend");
    }
    let of_frontend = |key: &str| FieldPath::from(overrides().frontend()).key(key.to_owned());
    let written = deployment.provider.overrides.as_ref();
    let keys = written.and_then(|overrides| overrides.get("frontend")).map(Node::entries).unwrap_or_default();
    let others = keys.iter().filter(|entry| entry.key != "enabled").map(|entry| of_frontend(&entry.key));
    // The router mode still decides what the workers publish.
    for path in others.chain(deployment.frontend.written_fields()) {
        let message = format!("{path} has no effect, because {absent}");
        findings.report(&COMPONENT_SETTING_WITHOUT_EFFECT, FieldRef::key(&path), message).help("remove it");
    }
}

/// Returns the frontends of a graph. The operator sets both labels on every pod (`generateLabels` in
/// `deploy/operator/internal/dynamo/graph.go`). It creates an `InferencePool` itself only for a graph with a component
/// of type `epp` (`deploy/operator/internal/dynamo/epp/inference_pool.go`), which is never rendered.
pub(super) fn gateway_backend(deployment: &Deployment) -> GatewayBackend {
    let name = &deployment.metadata.name;
    let mut labels = StringMap::from_entry("nvidia.com/dynamo-graph-deployment-name", name);
    labels.push("nvidia.com/dynamo-component-type", "frontend");
    GatewayBackend::Pods { labels, port: super::PORT }
}
