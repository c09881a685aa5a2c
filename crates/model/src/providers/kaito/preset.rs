//! vLLM without an image: a preset, for which KAITO supplies image, command and resources. Settings that a preset
//! cannot carry are refused; the alternative is an image.

use super::codes::PRESET_RESOURCES;
use super::config_map;
use super::manifests::{Inference, Preset, PresetOptions};
use crate::codes;
use crate::engines;
use crate::engines::{Launcher, ValueForm};
use crate::ir::{Deployment, Worker};
use crate::providers::image::is_nvidia;
use crate::wire::ModelDeployment;
use kubefoundry_diagnostics::Findings;
use kubefoundry_kubernetes::manifest::Manifest;
use kubefoundry_yaml::field_path::FieldPath;

/// The help for every setting that a preset cannot carry.
pub(super) const USE_AN_IMAGE: &str = "set spec.image: vLLM then runs from that image in a pod template, without the limits of a \
                                  preset";

/// Builds the preset and the ConfigMap with its settings. Returns `None` after reporting settings that a preset cannot
/// carry.
pub(super) fn build_inference(
    deployment: &Deployment,
    worker: &Worker,
    findings: &mut Findings<'_>,
) -> Option<(Inference, Option<Manifest>)> {
    refuse_pod_fields(deployment, findings);
    check_resources(worker, findings);
    let name = preset_name(deployment, findings);
    let settings = resolve_settings(deployment, worker, findings);
    let config = match settings? {
        settings if settings.is_empty() => None,
        settings => Some(config_map::build_config_map(&deployment.metadata.name, settings)),
    };
    let secret = deployment.hugging_face_token.clone();
    let preset =
        Preset { name: name?, preset_options: secret.map(|model_access_secret| PresetOptions { model_access_secret }) };
    let config_name = config.as_ref().map(|manifest| manifest.metadata.name.clone());
    Some((Inference { preset: Some(preset), config: config_name, template: None }, config))
}

/// Returns the preset's name. KAITO accepts any `org/name` of Hugging Face besides its own names
/// (pkg/utils/plugin/plugin.go, IsValidPreset). KAITO chooses the model's name in the API (pkg/model/interface.go,
/// buildVLLMInferenceCommand).
fn preset_name(deployment: &Deployment, findings: &mut Findings<'_>) -> Option<String> {
    if deployment.model.served_name.as_ref().is_some_and(crate::ir::Leaf::is_written) {
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

/// Returns the launcher of presets. KAITO names the model, splits it over the GPUs of the instance type whatever the
/// deployment counts, and passes each setting as `--key str(value)`, so numbers must keep their spelling.
pub(crate) fn launcher() -> Launcher {
    Launcher {
        program: "KAITO's vLLM".to_owned(),
        takes_model: false,
        value_form: ValueForm::BareNumbers,
        splits_model: false,
        api_key_help: Some(
            "remove the flag, set spec.image, and set VLLM_API_KEY in spec.env from a Secret: a preset has no \
             environment",
        ),
        ..Launcher::vllm_server("")
    }
}

/// Resolves the settings of the engine. `engine.extraArgs` is refused, because a preset has no command line.
fn resolve_settings(
    deployment: &Deployment,
    worker: &Worker,
    findings: &mut Findings<'_>,
) -> Option<config_map::PresetSettings> {
    if deployment.engine.extra_args.is_empty() {
        let invocation = engines::resolve(deployment, worker, &launcher(), findings);
        return config_map::convert_settings(&invocation, findings);
    }
    refuse_field(&ModelDeployment::path().spec().engine().extra_args(), findings);
    let mut deployment = deployment.clone();
    deployment.engine.extra_args.clear();
    let invocation = engines::resolve(&deployment, worker, &launcher(), findings);
    config_map::convert_settings(&invocation, findings);
    None
}

/// Reports pod fields, which a preset cannot carry.
fn refuse_pod_fields(deployment: &Deployment, findings: &mut Findings<'_>) {
    let spec = || ModelDeployment::path().spec();
    let fields: [(bool, FieldPath); 4] = [
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
fn check_resources(worker: &Worker, findings: &mut Findings<'_>) {
    let gpu_type = &worker.gpu_type;
    if !is_nvidia(&gpu_type.value) {
        let path = worker.gpu_path().gpu_type();
        let message = format!("{path} is {:?}, but KAITO presets run on NVIDIA GPUs only", gpu_type.value);
        findings.report(&codes::ACCELERATOR_NEEDS_IMAGE, &path, message).help(USE_AN_IMAGE);
    }
    let fields = [
        (worker.gpu_count.is_written(), worker.gpu_path().count()),
        (gpu_type.is_written() && is_nvidia(&gpu_type.value), worker.gpu_path().gpu_type()),
        (worker.memory.is_some(), worker.memory_path()),
        (worker.cpu.is_some(), worker.cpu_path()),
    ];
    for (_, path) in fields.into_iter().filter(|(is_given, _)| *is_given) {
        let message = format!("{path} has no effect on a KAITO preset: the instance type decides");
        findings.report(&PRESET_RESOURCES, &path, message);
    }
}
