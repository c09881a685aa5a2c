//! Validation of the pod fields: image, environment, metadata, secrets and placement.

use super::metadata::pairs;
use super::{messages, tolerations};
use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::{EngineContainer, EnvVar, PodSettings, Probes, Toleration};
use kubefoundry_deployment::wire;
use kubefoundry_deployment::wire::RESERVED_KEYS;
use kubefoundry_kubernetes::check::environment;
use kubefoundry_kubernetes::check::{Checker, REVOKE, non_empty};
use kubefoundry_kubernetes::wire::{ListPath, LocalObjectReference, PathOf};
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::secret::{is_secret, is_secret_name};
use kubefoundry_yaml::{Node, Value};

/// The validated pod fields.
pub(super) struct PodFields {
    pub(super) env: Vec<EnvVar>,
    pub(super) labels: Vec<(String, String)>,
    pub(super) annotations: Vec<(String, String)>,
    pub(super) engine_container: EngineContainer,
    pub(super) settings: PodSettings,
    pub(super) hugging_face_token: Option<String>,
    pub(super) image_pull_secrets: Vec<String>,
    pub(super) node_selector: Vec<(String, String)>,
    pub(super) tolerations: Vec<Toleration>,
}

/// Validates the pod fields except the image.
pub(super) fn validate_pod(spec: &wire::ModelDeploymentSpec, check: &mut Checker<'_, '_>) -> PodFields {
    let env = spec.env.as_deref().unwrap_or_default();
    validate_environment(&wire::ModelDeployment::path().spec().env(), env, check);
    let metadata = spec.pod_template.as_ref().and_then(|template| template.metadata.as_ref());
    let labels = pairs(metadata.and_then(|metadata| metadata.labels.as_ref()));
    let labels_path = FieldPath::from(wire::ModelDeployment::path().spec().pod_template().metadata().labels());
    check.check_labels(&labels_path, labels);
    check.check_reserved_keys(&labels_path, RESERVED_KEYS, labels);
    let annotations = pairs(metadata.and_then(|metadata| metadata.annotations.as_ref()));
    let annotations_path =
        FieldPath::from(wire::ModelDeployment::path().spec().pod_template().metadata().annotations());
    check.check_annotations(&annotations_path, annotations);
    check.check_reserved_keys(&annotations_path, RESERVED_KEYS, annotations);
    let token = spec.secrets.as_ref().and_then(|secrets| non_empty(secrets.hugging_face_token.as_deref()));
    let node_selector = pairs(spec.node_selector.as_ref());
    check.check_labels(&wire::ModelDeployment::path().spec().node_selector(), node_selector);
    let tolerations = spec.tolerations.as_deref().unwrap_or_default();
    tolerations::validate_tolerations(tolerations, check);
    PodFields {
        env: env.to_vec(),
        labels: labels.to_vec(),
        annotations: annotations.to_vec(),
        engine_container: engine_container(
            spec.probes.as_ref(),
            spec.volume_mounts.as_deref(),
            spec.security_context.as_ref(),
        ),
        settings: spec
            .pod_template
            .as_ref()
            .and_then(|template| template.spec.as_ref())
            .map(pod_settings)
            .unwrap_or_default(),
        hugging_face_token: token.map(str::to_owned),
        image_pull_secrets: pull_secret_names(spec.image_pull_secrets.as_deref().unwrap_or_default()),
        node_selector: node_selector.to_vec(),
        tolerations: tolerations.to_vec(),
    }
}

/// Returns a field that is written, and not as `null`, which counts as absent.
fn written(field: Option<&Node<'static>>) -> Option<Node<'static>> {
    field.filter(|field| field.value != Value::Null).cloned()
}

/// Returns what the fields of all workers, or those of a role, say about the engine's container.
pub(super) fn engine_container(
    written_probes: Option<&wire::Probes>,
    volume_mounts: Option<&[Node<'static>]>,
    security_context: Option<&Node<'static>>,
) -> EngineContainer {
    EngineContainer {
        probes: written_probes.map(probes).unwrap_or_default(),
        volume_mounts: volume_mounts.unwrap_or_default().to_vec(),
        security_context: written(security_context),
    }
}

/// Returns the probes of the engine's container.
fn probes(probes: &wire::Probes) -> Probes {
    Probes {
        startup: written(probes.startup.as_ref()),
        readiness: written(probes.readiness.as_ref()),
        liveness: written(probes.liveness.as_ref()),
    }
}

/// Returns the fields of the pod spec. Their structure is that of Kubernetes, against which the pipeline checks them.
fn pod_settings(spec: &wire::PodTemplateSpec) -> PodSettings {
    let text = |text: &Option<String>| non_empty(text.as_deref()).map(str::to_owned);
    PodSettings {
        affinity: written(spec.affinity.as_ref()),
        topology_spread_constraints: spec.topology_spread_constraints.clone().unwrap_or_default(),
        priority_class_name: text(&spec.priority_class_name),
        scheduler_name: text(&spec.scheduler_name),
        service_account_name: text(&spec.service_account_name),
        runtime_class_name: text(&spec.runtime_class_name),
        termination_grace_period_seconds: spec
            .termination_grace_period_seconds
            .and_then(|seconds| u32::try_from(seconds).ok()),
        resource_claims: spec.resource_claims.clone().unwrap_or_default(),
        security_context: written(spec.security_context.as_ref()),
        host_ipc: spec.host_ipc,
        volumes: spec.volumes.clone().unwrap_or_default(),
    }
}

/// Checks the variables of a container, and warns about secrets in them.
pub(super) fn validate_environment(path: &ListPath<PathOf<EnvVar>>, env: &[EnvVar], check: &mut Checker<'_, '_>) {
    environment::check_environment(path, env, check);
    warn_about_secrets(path, env, check);
}

/// Warns about variables with a secret as a literal value. `$(NAME)` is the value of another variable.
fn warn_about_secrets(list: &ListPath<PathOf<EnvVar>>, env: &[EnvVar], check: &mut Checker<'_, '_>) {
    for (index, variable) in env.iter().enumerate() {
        let name = variable.name.as_deref().unwrap_or_default();
        let is_literal = |value: &str| !value.is_empty() && !value.starts_with("$(");
        let is_exposed = |value: &str| is_secret_name(name) && is_literal(value) || is_secret(name, value);
        if variable.value.as_deref().is_some_and(is_exposed) {
            let path = list.clone().index(index).value();
            let help = if matches!(name, "HF_TOKEN" | "HUGGING_FACE_HUB_TOKEN") {
                "remove the variable, and set spec.secrets.huggingFaceToken to the name of a Secret with the key HF_TOKEN"
            } else {
                "replace value by valueFrom with a secretKeyRef"
            };
            let message = format!("{name} writes a secret into the manifest as plain text");
            let help = format!("{help}; {REVOKE}");
            check.findings.report(&codes::EXPOSED_SECRET, &path, message).help(help);
        }
    }
}

/// Returns the image and the field that sets it. `spec.image` takes precedence over an equal `spec.engine.image`;
/// different images are reported.
pub(super) fn validate_image(
    spec: &wire::ModelDeploymentSpec,
    check: &mut Checker<'_, '_>,
) -> Option<(String, FieldPath)> {
    let spec_image = (non_empty(spec.image.as_deref()), FieldPath::from(wire::ModelDeployment::path().spec().image()));
    let engine_image = spec.engine.as_ref().and_then(|engine| non_empty(engine.image.as_deref()));
    let engine_image = (engine_image, FieldPath::from(wire::ModelDeployment::path().spec().engine().image()));
    if let ((Some(one), first), (Some(other), second)) = (&spec_image, &engine_image)
        && one != other
    {
        check
            .findings
            .report(&codes::IMAGE_IN_TWO_PLACES, second, messages::IMAGES_DIFFER)
            .related(first, "the other image")
            .help("remove one of the two");
    }
    [spec_image, engine_image].into_iter().find_map(|(image, path)| Some((image?.to_owned(), path)))
}

fn pull_secret_names(secrets: &[LocalObjectReference]) -> Vec<String> {
    secrets.iter().map(|secret| secret.name.clone().unwrap_or_default()).collect()
}
