//! A pod template of ours: vLLM with the user's image, and every llamacpp. KAITO's Service sends requests to port 5000 whatever
//! runs; KAITO adds node affinity and its own tolerations (pkg/workspace/manifests/manifests.go).

use super::overrides::{self, Overrides};
use super::{Engine, llamacpp};
use crate::codes;
use crate::engines;
use crate::engines::{ArgumentValue, Invocation, Launcher};
use crate::ir::{Deployment, Worker};
use crate::provider::TranslationContext;
use crate::providers::metadata;
use crate::providers::pod;
use crate::wire::ModelDeployment;
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_kubernetes::pod::{Container, ContainerPort, PodSpec, PodTemplate, StringMap, set_default_env};
use kubefoundry_kubernetes::wire::EnvVar;
use kubefoundry_yaml::field_path::FieldPath;

/// The port that KAITO's Service, and ours, sends to.
pub(super) const PORT: u16 = 5000;

/// The most that shared memory may take; it counts against the memory limit. The figure of
/// airunway's vLLM provider (docs/design/0010).
const SHARED_MEMORY: &str = "20Gi";

/// Labels that KAITO sets on pods whatever a template says (pkg/workspace/manifests/manifests.go).
const RESERVED_POD_LABELS: &[&str] = &["kaito.sh/workspace", "inferenceset.kaito.sh/created-by"];

/// What an image is started with.
#[derive(Debug, Default)]
pub(super) struct Start {
    /// The program; none leaves it to the image.
    pub(super) command: Vec<String>,
    /// Its arguments; none leaves them to the image.
    pub(super) args: Vec<String>,
    /// The environment variable that names the directory for downloaded models.
    pub(super) cache: Option<&'static str>,
}

/// The template of a deployment that has an image. `None` means that findings say why not.
pub(super) fn template(
    deployment: &Deployment,
    worker: &Worker,
    image: &str,
    overrides: &Overrides,
    context: &TranslationContext<'_>,
    findings: &mut Findings<'_>,
) -> Option<PodTemplate> {
    metadata::ignore_pod_labels(deployment, "KAITO", RESERVED_POD_LABELS, findings);
    check_gpu_type(worker, findings);
    let start = match Engine::new(deployment.engine.kind)? {
        Engine::Llamacpp => llamacpp::command(deployment, worker, image, overrides, findings),
        Engine::Vllm => {
            ignore_runner(overrides, findings);
            vllm(deployment, worker, image, findings)
        }
    };
    let Start { command, args, cache } = start?;
    let mut container = Container {
        name: Some("model".to_owned()),
        image: Some(context.image(image)),
        command,
        args,
        ports: vec![ContainerPort { container_port: PORT, name: None }],
        resources: pod::resource_requirements(worker),
        ..pod::container(deployment)
    };
    add_cache_environment(deployment, cache, &mut container.env, findings);
    // The node selector is the workload's label selector, which KAITO makes a node affinity.
    let mut spec = PodSpec { node_selector: StringMap::default(), ..pod::spec(deployment) };
    if worker.gpu_count.value > 1
        && let Some((volume, mount)) = pod::shared_memory(deployment, SHARED_MEMORY)
    {
        spec.volumes.push(volume);
        container.volume_mounts.push(mount);
    }
    spec.containers.push(container);
    Some(PodTemplate { metadata: pod::metadata(deployment, RESERVED_POD_LABELS), spec })
}

/// Warns about a llamacpp runner where another engine runs.
pub(super) fn ignore_runner(overrides: &Overrides, findings: &mut Findings<'_>) {
    if overrides.runner.is_some() {
        let path = overrides::path().runner();
        let message = format!("{path} has no effect on vLLM: it is a setting of llamacpp");
        findings.report(&codes::FIELD_IGNORED, &path, message).help("remove it");
    }
}

/// vLLM's OpenAI server. Without a model id, the image starts itself (docs/design/0003).
fn vllm(deployment: &Deployment, worker: &Worker, image: &str, findings: &mut Findings<'_>) -> Option<Start> {
    if deployment.model.id.is_none() {
        ignore_engine_settings(deployment, NO_ID, NO_ID_HELP, findings);
        return Some(Start::default());
    }
    let mut invocation = engines::resolve(deployment, worker, &Launcher::vllm_server(image), findings);
    let port = PORT.to_string();
    let free = [
        reserve(&invocation, "port", &[&port], TO_PORT, findings),
        reserve(&invocation, "host", ANY_ADDRESS, TO_POD, findings),
        reserve(&invocation, "uds", &[], TO_POD, findings),
        reserve(&invocation, "headless", &[], "without the HTTP server no request is answered", findings),
    ];
    if free.contains(&None) {
        return None;
    }
    invocation.set_default("port", ArgumentValue::Text(port));
    Some(Start {
        command: ["python3", "-m", "vllm.entrypoints.openai.api_server"].map(str::to_owned).to_vec(),
        args: invocation.argv(),
        cache: Some("HF_HOME"),
    })
}

/// Why settings have no effect on an image that starts itself.
pub(super) const NO_ID: &str = "without model.id the image runs its own command";
/// What to do about it.
pub(super) const NO_ID_HELP: &str = "set model.id to the path of the model in the image, or remove this field";

/// Why the port is not free.
pub(super) const TO_PORT: &str = "KAITO's Service sends requests to port 5000";
/// Why the address is not free.
pub(super) const TO_POD: &str = "KAITO's Service sends requests to the pod's address";
/// What means every address.
pub(super) const ANY_ADDRESS: &[&str] = &["0.0.0.0", "::"];

/// Refuses a flag that is set for the user, unless it says what would do as well: one of `values`.
pub(super) fn reserve(
    invocation: &Invocation,
    name: &'static str,
    values: &[&str],
    why: &str,
    findings: &mut Findings<'_>,
) -> Option<()> {
    let Some(argument) = invocation.get(name) else { return Some(()) };
    let same = match &argument.value {
        ArgumentValue::Text(text) => values.contains(&text.as_str()),
        ArgumentValue::Number(number) => values.contains(&number.to_string().as_str()),
        _ => false,
    };
    if same {
        return Some(());
    }
    let message = format!("--{name} cannot be changed: {why}");
    findings.report(&codes::RESERVED_ARGUMENT, FieldRef::key(&argument.path), message).help("remove the flag");
    None
}

/// Warns about everything that would set the engine, where nothing of ours starts it.
pub(super) fn ignore_engine_settings(
    deployment: &Deployment,
    why: &str,
    help: &'static str,
    findings: &mut Findings<'_>,
) {
    let engine = &deployment.engine;
    let base = FieldPath::from(ModelDeployment::path().spec().engine());
    let typed = [
        (engine.context_length.is_some(), "contextLength"),
        (engine.trust_remote_code.value, "trustRemoteCode"),
        (engine.enable_prefix_caching.is_some_and(|enabled| enabled.is_written()), "enablePrefixCaching"),
        (engine.enforce_eager.value, "enforceEager"),
    ];
    let typed = typed.into_iter().filter(|(given, _)| *given).map(|(_, field)| base.key(field));
    let args = engine.args.iter().map(|(name, _)| base.key("args").key(name.clone()));
    let extra_args = (0..engine.extra_args.len()).map(|index| base.key("extraArgs").index(index));
    for path in typed.chain(args).chain(extra_args) {
        findings.report(&codes::FIELD_IGNORED, &path, format!("{path} has no effect: {why}")).help(help);
    }
}

/// Lets the first volume of a purpose hold what it is for: downloads, and what vLLM compiles.
fn add_cache_environment(
    deployment: &Deployment,
    cache: Option<&'static str>,
    env: &mut Vec<EnvVar>,
    findings: &mut Findings<'_>,
) {
    if let (Some(name), Some(home)) = (cache, pod::model_cache_home(deployment)) {
        set_default_env(env, EnvVar { name: Some(name.to_owned()), ..home });
    }
    match Engine::new(deployment.engine.kind) {
        Some(Engine::Vllm) => {
            if let Some(root) = pod::compilation_cache_root(deployment) {
                set_default_env(env, root);
            }
            pod::ignore_further_compilation_caches(deployment, findings);
        }
        Some(Engine::Llamacpp) => {
            let why = "llama.cpp compiles nothing";
            pod::ignore_compilation_caches(deployment, 0, why, "use purpose: custom", findings);
        }
        None => {}
    }
}

fn check_gpu_type(worker: &Worker, findings: &mut Findings<'_>) {
    if worker.gpu_count.value == 0 && worker.gpu_type.is_written() {
        let path = worker.gpu_path().gpu_type();
        let message = format!("{path} has no effect: no GPU is requested");
        findings.report(&codes::FIELD_IGNORED, &path, message).help("set gpu.count, or remove gpu.type");
    }
}
