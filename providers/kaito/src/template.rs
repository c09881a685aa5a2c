//! The pod template for vLLM with the user's image, and for llamacpp. KAITO's Service always sends requests to port
//! 5000, and KAITO adds node affinity and its own tolerations (pkg/workspace/manifests/manifests.go).

use super::overrides::{self, Overrides};
use super::{KaitoEngine, llamacpp};
use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::{Deployment, EngineType, Worker};
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_engines as engines;
use kubefoundry_engines::{ArgumentValue, Invocation, Launcher, profile};
use kubefoundry_kubernetes::pod::{Container, ContainerPort, PodSpec, PodTemplate, StringMap, set_default_env};
use kubefoundry_kubernetes::wire::EnvVar;
use kubefoundry_provider::TranslationContext;
use kubefoundry_provider::known_images::{self, ImageContents};
use kubefoundry_provider::metadata;
use kubefoundry_provider::pod;
use kubefoundry_yaml::field_path::FieldPath;

/// The target port of KAITO's Service and of the rendered one.
pub(super) const PORT: u16 = 5000;

/// The default name of the container.
pub(super) const CONTAINER_NAME: &str = "model";

/// The size limit of shared memory, which counts against the memory limit. The value is that of airunway's vLLM
/// provider (docs/design/0010).
pub(super) const SHARED_MEMORY_LIMIT: &str = "20Gi";

/// The labels that KAITO overwrites on pods (pkg/workspace/manifests/manifests.go).
const RESERVED_POD_LABELS: &[&str] = &["kaito.sh/workspace", "inferenceset.kaito.sh/created-by"];

/// The command of an image, with the variable for its downloads.
#[derive(Debug, Default)]
pub(super) struct StartCommand {
    /// The program. Empty leaves it to the image.
    pub(super) command: Vec<String>,
    /// The arguments. Empty leaves them to the image.
    pub(super) args: Vec<String>,
    /// The environment variable that names the directory for downloaded models.
    pub(super) cache_variable: Option<&'static str>,
}

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

/// The reason why settings have no effect on an image that starts itself.
pub(super) const NO_ID: &str = "without spec.model.id the image runs its own command";
/// The help for such settings.
pub(super) const NO_ID_HELP: &str = "set spec.model.id to the path of the model in the image, or remove this field";

/// The reason why the port is reserved.
pub(super) const TO_PORT: &str = "KAITO's Service sends requests to port 5000";
/// The reason why the address is reserved.
pub(super) const TO_POD: &str = "KAITO's Service sends requests to the pod's address";
/// The addresses that stand for all interfaces.
pub(super) const ANY_ADDRESS: &[&str] = &["0.0.0.0", "::"];

/// Reports a flag that this provider sets, unless the user's value is one of `allowed`. Returns `Some` if the flag may
/// stay.
pub(super) fn check_reserved(
    invocation: &Invocation,
    name: &'static str,
    allowed: &[&str],
    why: &str,
    findings: &mut Findings<'_>,
) -> Option<()> {
    let Some(argument) = invocation.get(name) else { return Some(()) };
    let is_allowed = match &argument.value {
        ArgumentValue::Text(text) => allowed.contains(&text.as_str()),
        ArgumentValue::Number(number) => allowed.contains(&number.to_string().as_str()),
        _ => false,
    };
    if is_allowed {
        return Some(());
    }
    let message = format!("--{name} cannot be set: {why}");
    findings.report(&codes::RESERVED_ARGUMENT, FieldRef::key(&argument.path), message).help("remove the flag");
    None
}

/// Warns that each engine setting of the input has no effect. `why` completes the message; callers use this for images
/// that have their own command or settings.
pub(super) fn warn_about_ignored_engine_settings(
    deployment: &Deployment,
    why: &str,
    help: &'static str,
    findings: &mut Findings<'_>,
) {
    let engine = &deployment.engine;
    let base = FieldPath::from(ModelDeployment::path().spec().engine());
    let typed_fields = [
        (engine.context_length.is_some(), "contextLength"),
        (engine.trust_remote_code.value, "trustRemoteCode"),
        (engine.enable_prefix_caching.is_some_and(|enabled| enabled.is_written()), "enablePrefixCaching"),
        (engine.enforce_eager.value, "enforceEager"),
    ];
    let typed_fields = typed_fields.into_iter().filter(|(is_given, _)| *is_given).map(|(_, field)| base.key(field));
    let args = engine.args.iter().map(|(name, _)| base.key("args").key(name.clone()));
    let extra_args = (0..engine.extra_args.len()).map(|index| base.key("extraArgs").index(index));
    for path in typed_fields.chain(args).chain(extra_args) {
        findings.report(&codes::FIELD_IGNORED, &path, format!("{path} has no effect: {why}")).help(help);
    }
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
