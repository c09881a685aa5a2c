//! vLLM without an image: a preset, for which KAITO supplies image, command and resources. Settings that a preset
//! cannot carry are refused; the alternative is an image.

use super::base_images;
use super::codes::PRESET_RESOURCES;
use super::config_map::{self, USE_AN_IMAGE};
use super::manifests::{Inference, Preset, PresetOptions};
use super::overrides::{self, Overrides};
use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::{Deployment, ResourceAmount, Worker};
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_engines as engines;
use kubefoundry_engines::Launcher;
use kubefoundry_kubernetes::manifest::Manifest;
use kubefoundry_provider::TranslationContext;
use kubefoundry_provider::image::is_nvidia;
use kubefoundry_yaml::field_path::FieldPath;

/// Builds the preset and the ConfigMap with its settings. Returns `None` after reporting settings that a preset cannot
/// carry.
pub(super) fn build_inference(
    deployment: &Deployment,
    worker: &Worker,
    overrides: &Overrides,
    context: &TranslationContext<'_>,
    findings: &mut Findings<'_>,
) -> Option<(Inference, Option<Manifest>)> {
    refuse_pod_fields(deployment, findings);
    check_resources(deployment, worker, findings);
    ignore_container_name(overrides, findings);
    let name = preset_name(deployment, findings);
    let launcher = Launcher { instance_type: overrides.instance_type.clone(), ..base_images::launcher(context) };
    let settings = resolve_settings(deployment, worker, &launcher, findings);
    let others = config_map::other_keys(overrides, findings);
    let config = config_map::build_config_map(&deployment.metadata.name, settings?, others);
    let secret = deployment.hugging_face_token.clone();
    let preset =
        Preset { name: name?, preset_options: secret.map(|model_access_secret| PresetOptions { model_access_secret }) };
    let config_name = config.as_ref().map(|manifest| manifest.metadata.name.clone());
    Some((Inference { preset: Some(preset), config: config_name, template: None }, config))
}

/// Warns about the name of a container, which KAITO chooses.
fn ignore_container_name(overrides: &Overrides, findings: &mut Findings<'_>) {
    if overrides.container_name.is_some() {
        let path = overrides::path().container_name();
        let message = format!("{path} has no effect on a KAITO preset, whose container KAITO names");
        findings.report(&codes::FIELD_IGNORED, &path, message).help("remove it");
    }
}

/// Returns the preset's name. KAITO accepts any `org/name` of Hugging Face besides its own names
/// (pkg/utils/plugin/plugin.go, IsValidPreset). KAITO chooses the model's name in the API (pkg/model/interface.go,
/// buildVLLMInferenceCommand).
fn preset_name(deployment: &Deployment, findings: &mut Findings<'_>) -> Option<String> {
    if deployment.model.served_name.as_ref().is_some_and(kubefoundry_deployment::ir::Leaf::is_written) {
        findings
            .report(
                &codes::FIELD_IGNORED,
                ModelDeployment::path().spec().model().served_name(),
                "spec.model.servedName has no effect on a KAITO preset, which names the model itself",
            )
            .help(format!(
                "remove it, and name the model in requests as KAITO does (an InferenceSet by its own name); or \
                 {USE_AN_IMAGE}"
            ));
    }
    let id = deployment.model.id.clone()?;
    if id.starts_with('/') || id.split('/').count() > 2 {
        findings
            .report(
                &codes::FIELD_NOT_SUPPORTED,
                ModelDeployment::path().spec().model().id(),
                format!("spec.model.id is {id:?}, expected org/name or one of KAITO's own names for a preset"),
            )
            .help(USE_AN_IMAGE);
        return None;
    }
    Some(id)
}

/// Resolves the settings of the engine. `engine.extraArgs` is refused, because a preset has no command line.
fn resolve_settings(
    deployment: &Deployment,
    worker: &Worker,
    launcher: &Launcher,
    findings: &mut Findings<'_>,
) -> Option<config_map::PresetSettings> {
    if deployment.engine.extra_args.is_empty() {
        let invocation = engines::resolve(deployment, worker, launcher, findings);
        return config_map::convert_settings(&invocation, findings);
    }
    refuse_field(&ModelDeployment::path().spec().engine().extra_args(), findings);
    let mut deployment = deployment.clone();
    deployment.engine.extra_args.clear();
    let invocation = engines::resolve(&deployment, worker, launcher, findings);
    config_map::convert_settings(&invocation, findings);
    None
}

/// Reports pod fields, which a preset cannot carry.
fn refuse_pod_fields(deployment: &Deployment, findings: &mut Findings<'_>) {
    let spec = || ModelDeployment::path().spec();
    let pod = || spec().pod_template().spec();
    let settings = &deployment.pod_spec;
    let probes = &deployment.engine_container.probes;
    let fields: [(bool, FieldPath); 21] = [
        (!deployment.resources.claims.is_empty(), spec().resources().claims().into()),
        (!settings.resource_claims.is_empty(), pod().resource_claims().into()),
        (deployment.shared_memory.is_some(), spec().resources().shared_memory().into()),
        (probes.startup.is_some(), spec().probes().startup().into()),
        (probes.readiness.is_some(), spec().probes().readiness().into()),
        (probes.liveness.is_some(), spec().probes().liveness().into()),
        (!settings.topology_spread_constraints.is_empty(), pod().topology_spread_constraints().into()),
        (settings.priority_class_name.is_some(), pod().priority_class_name().into()),
        (settings.scheduler_name.is_some(), pod().scheduler_name().into()),
        (settings.service_account_name.is_some(), pod().service_account_name().into()),
        (settings.runtime_class_name.is_some(), pod().runtime_class_name().into()),
        (settings.termination_grace_period_seconds.is_some(), pod().termination_grace_period_seconds().into()),
        (settings.security_context.is_some(), pod().security_context().into()),
        (settings.host_ipc == Some(true), pod().host_ipc().into()),
        (!settings.volumes.is_empty(), pod().volumes().into()),
        (!deployment.engine_container.volume_mounts.is_empty(), spec().volume_mounts().into()),
        (deployment.engine_container.security_context.is_some(), spec().security_context().into()),
        (!deployment.env.is_empty(), spec().env().into()),
        (!deployment.model.volumes.is_empty(), spec().model().storage().volumes().into()),
        (!deployment.tolerations.is_empty(), spec().tolerations().into()),
        (!deployment.image_pull_secrets.is_empty(), spec().image_pull_secrets().into()),
    ];
    for (_, path) in fields.into_iter().filter(|(is_given, _)| *is_given) {
        refuse_field(&path, findings);
    }
    let metadata = spec().pod_template().metadata();
    let metadata =
        [(&deployment.pod_labels, metadata.clone().labels()), (&deployment.pod_annotations, metadata.annotations())];
    for (_, path) in metadata.into_iter().filter(|(entries, _)| !entries.is_empty()) {
        let message = format!("{path} has no effect on a KAITO preset, whose pods KAITO defines");
        findings.report(&codes::FIELD_IGNORED, &path, message).help(USE_AN_IMAGE);
    }
}

/// Reports a field that a preset cannot carry.
fn refuse_field(path: &FieldPath, findings: &mut Findings<'_>) {
    let message = format!("a KAITO preset does not support {path}");
    findings.report(&codes::FIELD_NOT_SUPPORTED, path, message).help(USE_AN_IMAGE);
}

/// Reports resources, which have no effect on a preset, and GPUs of other vendors than NVIDIA.
fn check_resources(deployment: &Deployment, worker: &Worker, findings: &mut Findings<'_>) {
    let gpu_type = &worker.gpu_type;
    if !is_nvidia(&gpu_type.value) {
        let path = worker.gpu_path().gpu_type();
        let message = format!("{path} is {:?}, but KAITO presets run on NVIDIA GPUs only", gpu_type.value);
        findings.report(&codes::ACCELERATOR_NEEDS_IMAGE, &path, message).help(USE_AN_IMAGE);
    }
    let resources = || ModelDeployment::path().spec().resources();
    let written = &deployment.resources;
    let is_of_gpus = |(resource, _): &ResourceAmount| *resource == gpu_type.value;
    let counts_gpus = written.limits.iter().any(is_of_gpus) && worker.gpu_count.value == 1;
    let others = written.limits.len() > usize::from(counts_gpus);
    let fields: [(bool, FieldPath); 6] = [
        (!written.requests.is_empty(), resources().requests().into()),
        (others, resources().limits().into()),
        // vLLM requires GPUs, so a count of 1 says that the model needs them and cannot be avoided.
        (worker.gpu_count.is_written() && worker.gpu_count.value != 1, worker.gpu_path().count().into()),
        (gpu_type.is_written() && is_nvidia(&gpu_type.value), worker.gpu_path().gpu_type().into()),
        (worker.memory.is_some(), worker.memory_path().into()),
        (worker.cpu.is_some(), worker.cpu_path().into()),
    ];
    let ignored: Vec<String> =
        fields.iter().filter(|(is_given, _)| *is_given).map(|(_, path)| path.to_string()).collect();
    let (subject, verb) = match ignored.as_slice() {
        [] => return,
        [only] => (only.clone(), "has"),
        [first @ .., last] => (format!("{} and {last}", first.join(", ")), "have"),
    };
    let message = format!("{subject} {verb} no effect on a KAITO preset: the instance type decides");
    // One finding about all fields, since one decision leads to all of them.
    findings.report(&PRESET_RESOURCES, FieldRef::key(&ModelDeployment::path().spec().resources()), message).help(
        format!("remove what has no effect (a gpu.count of 1 may stay, since vLLM needs a GPU), or {USE_AN_IMAGE}"),
    );
}
