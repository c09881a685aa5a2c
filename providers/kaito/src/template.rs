//! The pod template for vLLM with the user's image, and for llamacpp. KAITO's Service always sends requests to port
//! 5000, and KAITO adds node affinity and its own tolerations (pkg/workspace/manifests/manifests.go).

use super::overrides::{self, Overrides};
use super::start_command::{
    ANY_ADDRESS, NO_ID, NO_ID_HELP, PORT, StartCommand, TO_POD, TO_PORT, check_reserved,
    warn_about_ignored_engine_settings,
};
use super::{KaitoEngine, llamacpp};
use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::{Deployment, EngineType, Worker};
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_engines as engines;
use kubefoundry_engines::{ArgumentValue, Launcher, profile};
use kubefoundry_kubernetes::pod::{Container, ContainerPort, PodSpec, PodTemplate, StringMap, set_default_env};
use kubefoundry_kubernetes::wire::EnvVar;
use kubefoundry_provider::TranslationContext;
use kubefoundry_provider::known_images::{self, ImageContents};
use kubefoundry_provider::metadata;
use kubefoundry_provider::pod;

/// The default name of the container.
pub(super) const CONTAINER_NAME: &str = "model";

/// The size limit of shared memory, which counts against the memory limit. The value is that of airunway's vLLM
/// provider (docs/design/0010).
pub(super) const SHARED_MEMORY_LIMIT: &str = "20Gi";

/// The labels that KAITO overwrites on pods (pkg/workspace/manifests/manifests.go).
const RESERVED_POD_LABELS: &[&str] = &["kaito.sh/workspace", "inferenceset.kaito.sh/created-by"];

/// Builds the pod template of a deployment with an image. Returns `None` after reporting errors.
pub(super) fn build_template(
    deployment: &Deployment,
    worker: &Worker,
    image: &str,
    overrides: &Overrides,
    context: &TranslationContext<'_>,
    findings: &mut Findings<'_>,
) -> Option<PodTemplate> {
    metadata::warn_about_ignored_pod_labels(deployment, "KAITO", RESERVED_POD_LABELS, findings);
    ignore_inference_config(overrides, findings);
    check_gpu_type(worker, findings);
    check_image(deployment, findings);
    let start = match KaitoEngine::new(deployment.engine.kind)? {
        KaitoEngine::Llamacpp => llamacpp::build_command(deployment, worker, image, overrides, findings),
        KaitoEngine::Vllm => {
            ignore_runner(overrides, findings);
            start_vllm(deployment, worker, image, overrides, findings)
        }
    };
    let StartCommand { command, args, cache_variable } = start?;
    let mut container = Container {
        name: Some(overrides.container_name.clone().unwrap_or_else(|| CONTAINER_NAME.to_owned())),
        image: Some(context.image(image)),
        command,
        args,
        ports: vec![ContainerPort { container_port: PORT, name: None }],
        ..pod::base_container(deployment, worker)
    };
    add_cache_environment(deployment, cache_variable, &mut container.env, findings);
    // The node selector is written as the workload's label selector, from which KAITO creates a node affinity.
    let mut spec = PodSpec { node_selector: StringMap::default(), ..pod::base_pod_spec(deployment) };
    let default_size = (worker.gpu_count.value > 1).then_some(SHARED_MEMORY_LIMIT);
    if let Some((volume, mount)) =
        deployment.shared_memory.as_deref().or(default_size).and_then(|size| pod::shared_memory(deployment, size))
    {
        spec.volumes.push(volume);
        container.volume_mounts.push(mount);
    }
    spec.containers.push(container);
    Some(PodTemplate { metadata: pod::pod_metadata(deployment, RESERVED_POD_LABELS), spec })
}

/// Reports a published image of another engine. Images of Dynamo and Ray with vLLM contain the program that runs.
fn check_image(deployment: &Deployment, findings: &mut Findings<'_>) {
    let engine = deployment.engine.kind;
    let program = profile(engine).display_name;
    known_images::check_contents(
        deployment,
        program,
        |contents| match contents {
            ImageContents::Engine(found) | ImageContents::Dynamo(found) => found == engine,
            ImageContents::Ray => engine == EngineType::Vllm,
        },
        &format!("use an image with {program}"),
        findings,
    );
}

/// Warns about a llamacpp runner where another engine runs.
pub(super) fn ignore_runner(overrides: &Overrides, findings: &mut Findings<'_>) {
    if overrides.runner.is_some() {
        let path = overrides::path().runner();
        let message = format!("{path} has no effect on vLLM: it is a setting of llamacpp");
        findings.report(&codes::FIELD_IGNORED, &path, message).help("remove it");
    }
}

/// Warns about keys of a preset's configuration in a template, which has none.
fn ignore_inference_config(overrides: &Overrides, findings: &mut Findings<'_>) {
    if overrides.inference_config.is_some() {
        let path = overrides::path().inference_config();
        let message = format!("{path} has no effect on a template: KAITO reads it for presets only");
        findings.report(&codes::FIELD_IGNORED, FieldRef::key(&path), message).help("remove it");
    }
}

/// Returns vLLM's OpenAI server of an image.
pub(super) fn vllm_launcher(image: &str, overrides: &Overrides) -> Launcher {
    Launcher { instance_type: overrides.instance_type.clone(), ..Launcher::vllm_server(image) }
}

/// Builds the command of vLLM's OpenAI server. Without a model id, the image starts itself (docs/design/0003).
fn start_vllm(
    deployment: &Deployment,
    worker: &Worker,
    image: &str,
    overrides: &Overrides,
    findings: &mut Findings<'_>,
) -> Option<StartCommand> {
    if deployment.model.id.is_none() {
        warn_about_ignored_engine_settings(deployment, NO_ID, NO_ID_HELP, findings);
        return Some(StartCommand::default());
    }
    let mut invocation = engines::resolve(deployment, worker, &vllm_launcher(image, overrides), findings);
    let port = PORT.to_string();
    let checks = [
        check_reserved(&invocation, "port", &[&port], TO_PORT, findings),
        check_reserved(&invocation, "host", ANY_ADDRESS, TO_POD, findings),
        check_reserved(&invocation, "uds", &[], TO_POD, findings),
        check_reserved(&invocation, "headless", &[], "without the HTTP server no request is answered", findings),
    ];
    if checks.contains(&None) {
        return None;
    }
    invocation.set_default("port", ArgumentValue::Text(port));
    Some(StartCommand {
        command: ["python3", "-m", "vllm.entrypoints.openai.api_server"].map(str::to_owned).to_vec(),
        args: invocation.argv(),
        cache_variable: Some("HF_HOME"),
    })
}

/// Adds the variables that make the first volume of a purpose hold the downloads or vLLM's compilation results.
fn add_cache_environment(
    deployment: &Deployment,
    cache_variable: Option<&'static str>,
    env: &mut Vec<EnvVar>,
    findings: &mut Findings<'_>,
) {
    if let (Some(name), Some(home)) = (cache_variable, pod::model_cache_home(deployment)) {
        set_default_env(env, EnvVar { name: Some(name.to_owned()), ..home });
    }
    match KaitoEngine::new(deployment.engine.kind) {
        Some(KaitoEngine::Vllm) => {
            if let Some(root) = pod::compilation_cache_root(deployment) {
                set_default_env(env, root);
            }
            pod::ignore_further_compilation_caches(deployment, findings);
        }
        Some(KaitoEngine::Llamacpp) => {
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
        findings
            .report(&codes::FIELD_IGNORED, &path, message)
            .help("set spec.resources.gpu.count, or remove spec.resources.gpu.type");
    }
}
