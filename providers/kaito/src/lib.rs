//! KAITO: a deployment becomes a `Workspace`, or an `InferenceSet` for any replica count but 1.
//!
//! ```text
//! overrides ─ workload (which kind) ─ nodes (where) ─┬─ preset + config_map   vLLM, KAITO's image
//!                                                    └─ template + llamacpp   vLLM or llamacpp, the user's image
//! ```

mod auto_upgrade;
pub mod base_images;
mod behavior;
pub mod codes;
mod config_map;
mod import;
mod llamacpp;
mod manifests;
mod nodes;
pub mod overrides;
mod partition;
pub(crate) mod preset;
mod runner;
mod serving_pods;
mod settings;
mod start_command;
mod starter;
mod status;
mod support;
mod template;
mod workload;

use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_transform::SettingsSection;
use std::borrow::Cow;

use kubefoundry_deployment::codes as common;
use kubefoundry_deployment::ir::{Deployment, EngineType, Worker, Workload};
use kubefoundry_diagnostics::Findings;
use kubefoundry_engines::Launcher;
use kubefoundry_kubernetes::manifest::Manifest;
use kubefoundry_kubernetes::pod::SpecBody;
use kubefoundry_kubernetes::wire::Describe as _;
use kubefoundry_provider::draft::{Draft, ImportRefusal, ImportSource, string_at};
use kubefoundry_provider::starter::{Starter, StarterRequest};
use kubefoundry_provider::{
    ObjectKind, Provider, ProviderInfo, ServerDefault, Status, StatusError, Translation, TranslationContext,
};
use kubefoundry_provider::{metadata, model_alias, pod};
use kubefoundry_transform::Endpoint;
use manifests::{Inference, InferenceSet, InferenceSetResource, InferenceSetTemplate, Resource, Workspace};
use nodes::Nodes;
use overrides::Overrides;
use serde_json::Value;
use workload::{KaitoKind, SetSettings};

/// The annotation that names what runs a preset, and the value for Hugging Face Transformers.
const RUNTIME: &str = "kaito.sh/runtime";
const OTHER_RUNTIME: &str = "transformers";

/// The provider KAITO.
#[derive(Debug)]
pub struct Kaito;

static INFO: ProviderInfo = ProviderInfo {
    name: "kaito",
    display_name: "KAITO",
    config: include_str!("../config.yaml"),
    readme: include_str!("../README.md"),
    crd_versions: &[manifests::API_VERSION],
    crd_versions_by_runtime: &[],
    runtimes: base_images::RUNTIMES,
    chooses_gpus: overrides::names_instance_type_of_preset,
    placement: nodes::placement,
    chooses_runtime_itself: true,
    flag_tables: base_images::flag_tables,
    upgrades_by_minor_release: false,
    is_released_with_runtime: false,
    overrides: Overrides::SHAPE,
    section: Some(SettingsSection::from_settings::<settings::KaitoInstallation>),
    codes: codes::CODES,
    deviations: support::deviations,
    behaviors: behavior::BEHAVIORS,
    kinds: &[
        ObjectKind { group: "kaito.sh", kind: "Workspace", plural: "workspaces" },
        ObjectKind { group: "kaito.sh", kind: "InferenceSet", plural: "inferencesets" },
    ],
    unsupported_kinds: &[ObjectKind { group: "kaito.sh", kind: "MultiRoleInference", plural: "multiroleinferences" }],
    server_defaults: &[
        ServerDefault { kind: "Workspace", path: "resource.count", value: "1" },
        ServerDefault { kind: "Workspace", path: "inference.preset.accessMode", value: r#""public""# },
        ServerDefault { kind: "InferenceSet", path: "inference.preset.accessMode", value: r#""public""# },
        ServerDefault { kind: "InferenceSet", path: "spec.autoUpgrade.enabled", value: "false" },
        ServerDefault { kind: "InferenceSet", path: "spec.autoUpgrade.strategy", value: r#""InPlace""# },
        ServerDefault { kind: "InferenceSet", path: "spec.autoUpgrade.maintenanceWindow.duration", value: r#""4h""# },
        ServerDefault {
            kind: "InferenceSet",
            path: "spec.updateStrategy",
            value: r#"{"rollingUpdate":{"maxUnavailable":1},"type":"RollingUpdate"}"#,
        },
    ],
    list_keys: &[],
};

impl Provider for Kaito {
    fn info(&self) -> &'static ProviderInfo {
        &INFO
    }

    // pkg/model/interface.go, buildVLLMInferenceCommand: a preset serves under its own name, unless an InferenceSet made
    // the Workspace, which then serves under the name of the set.
    fn assigned_model_name(&self, object: &Value) -> Option<String> {
        let preset = string_at(object, "/inference/preset/name");
        let set = || {
            string_at(object, "/spec/template/inference/preset/name")?;
            string_at(object, "/metadata/name")
        };
        preset.or_else(set).map(str::to_owned)
    }

    fn translate(
        &self,
        deployment: &Deployment,
        context: &TranslationContext<'_>,
        findings: &mut Findings<'_>,
    ) -> Option<Translation> {
        let Workload::Aggregated(worker) = &deployment.workload else {
            let message = "KAITO does not support disaggregated mode";
            findings.report(&common::MODE_NOT_SUPPORTED, ModelDeployment::path().spec().serving().mode(), message);
            return None;
        };
        let errors = findings.error_count();
        let deployment = &*without_default_caching(deployment);
        let overrides = overrides::read_overrides(deployment, findings);
        refuse_affinity(deployment, findings);
        metadata::refuse_frontend(deployment, "KAITO", findings);
        let kind = workload::choose_kind(deployment, worker, &overrides, findings);
        let is_preset = deployment.image.is_none() && deployment.engine.kind == EngineType::Vllm;
        let count = nodes::requested_nodes(worker, kind, deployment.image.is_some(), findings);
        let worker = &*nodes::on_one_node(worker);
        // An InferenceSet does not pass its annotations on.
        if is_preset && kind == KaitoKind::Workspace {
            warn_about_other_engine(&overrides, findings);
        }
        workload::refuse_settings_of_other_kind(kind, &overrides, findings);
        let nodes = Nodes { count, ..Nodes::choose(deployment, &overrides, is_preset, context, findings) };
        let set = SetSettings::choose(&overrides, findings);
        let inference = build_inference(deployment, worker, &overrides, context, findings);
        // vLLM itself loads the model of a template, and does not know KAITO's names.
        if deployment.image.is_some() && deployment.engine.kind == EngineType::Vllm {
            model_alias::warn_about_alias(deployment, self, findings);
        }
        if findings.error_count() > errors {
            return None;
        }
        let (inference, supporting) = inference?;
        let gateway_backend = serving_pods::gateway_backend(deployment, kind, is_preset, context);
        let (manifests, service) = assemble(deployment, worker, (kind, set), nodes, inference, supporting);
        Some(Translation { manifests, endpoint: Some(Endpoint { service, port: 80 }), gateway_backend })
    }

    fn ordered_instance_type<'d>(&self, deployment: &'d Deployment) -> Option<&'d str> {
        overrides::instance_type(deployment)
    }

    fn launcher(
        &self,
        deployment: &Deployment,
        context: &TranslationContext<'_>,
        findings: &mut Findings<'_>,
    ) -> Option<Launcher> {
        if deployment.engine.kind != EngineType::Vllm {
            return None;
        }
        let overrides = overrides::read_overrides(deployment, findings);
        let Some((image, _)) = &deployment.image else {
            return Some(Launcher { instance_type: overrides.instance_type, ..base_images::launcher(context) });
        };
        deployment.model.id.as_ref().map(|_| template::vllm_launcher(image, &overrides))
    }

    fn import(&self, source: &ImportSource<'_>) -> Result<Draft, ImportRefusal> {
        import::import(source)
    }

    fn starter(&self, request: StarterRequest) -> Starter {
        starter::starter(request)
    }

    fn resolve_model_alias(&self, name: &str) -> Option<&'static str> {
        kubefoundry_facts::kaito_preset_model(name)
    }

    fn replica_selector(&self, object: &serde_json::Value) -> Option<String> {
        serving_pods::selector(object)
    }

    fn translate_status(&self, observed: &serde_json::Value) -> Result<Status, StatusError> {
        status::translate(observed)
    }
}

/// The engines that KAITO runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KaitoEngine {
    Vllm,
    Llamacpp,
}

impl KaitoEngine {
    /// Converts an engine type. Returns `None` for the engines that `config.yaml` does not list: a deployment with one
    /// of them is refused before it is translated.
    const fn new(engine: EngineType) -> Option<Self> {
        match engine {
            EngineType::Vllm => Some(Self::Vllm),
            EngineType::Llamacpp => Some(Self::Llamacpp),
            _ => None,
        }
    }
}

/// Removes prefix caching that is only a default of the API group. vLLM and llama.cpp cache prefixes anyway, and
/// presets and LocalAI cannot take the switch.
fn without_default_caching(deployment: &Deployment) -> Cow<'_, Deployment> {
    let enabled = deployment.engine.enable_prefix_caching;
    if enabled.is_none_or(|enabled| enabled.is_written() || !enabled.value) {
        return Cow::Borrowed(deployment);
    }
    let mut deployment = deployment.clone();
    deployment.engine.enable_prefix_caching = None;
    Cow::Owned(deployment)
}

/// Warns about the annotation with which KAITO runs a preset with Transformers (api/v1beta1/labels.go,
/// `GetWorkspaceRuntimeName`).
fn warn_about_other_engine(overrides: &Overrides, findings: &mut Findings<'_>) {
    let annotations = overrides.metadata.as_ref().and_then(|metadata| metadata.annotations.as_ref());
    let runtime = annotations.into_iter().flat_map(|annotations| &annotations.0).find(|(key, _)| key == RUNTIME);
    if let Some((key, value)) = runtime.filter(|(_, value)| value == OTHER_RUNTIME) {
        let path = overrides::path().metadata().annotations().key(key.clone());
        let message = format!(
            "{path} is {value:?}: KAITO runs the preset with Transformers, and what is checked about vLLM does not hold"
        );
        findings.report(&codes::OTHER_ENGINE, &path, message).help("remove it to run vLLM");
    }
}

/// Reports an affinity. KAITO replaces that of its pods (pkg/workspace/manifests/manifests.go).
fn refuse_affinity(deployment: &Deployment, findings: &mut Findings<'_>) {
    if deployment.pod_spec.affinity.is_none() {
        return;
    }
    let spec = || ModelDeployment::path().spec();
    let path = spec().pod_template().spec().affinity();
    let message = format!("{path} would have no effect: KAITO replaces it by an affinity for its label selector");
    findings
        .report(&common::FIELD_NOT_SUPPORTED, &path, message)
        .help(format!("select nodes by {}, or use another provider", spec().node_selector()));
}

/// Builds the inference section and the objects that it refers to. Returns `None` after reporting errors.
fn build_inference(
    deployment: &Deployment,
    worker: &Worker,
    overrides: &Overrides,
    context: &TranslationContext<'_>,
    findings: &mut Findings<'_>,
) -> Option<(Inference, Vec<Manifest>)> {
    match (KaitoEngine::new(deployment.engine.kind)?, &deployment.image) {
        (KaitoEngine::Vllm | KaitoEngine::Llamacpp, Some((image, _))) => {
            let template = template::build_template(deployment, worker, image, overrides, context, findings)?;
            let inference = Inference { template: Some(template), ..Inference::default() };
            Some((inference, pod::claims(deployment)))
        }
        (KaitoEngine::Llamacpp, None) => {
            findings
                .report(
                    &codes::LLAMACPP_IMAGE_REQUIRED,
                    ModelDeployment::path().spec().image(),
                    "spec.image is required for llamacpp: KAITO has no default image for it",
                )
                .help(
                    "set it to an image such as ghcr.io/ggml-org/llama.cpp:server, or to an AIKit image that contains \
                     the model",
                );
            None
        }
        (KaitoEngine::Vllm, None) => {
            template::ignore_runner(overrides, findings);
            let (inference, config) = preset::build_inference(deployment, worker, overrides, context, findings)?;
            Some((inference, config.into_iter().collect()))
        }
    }
}

/// Assembles the objects in the order in which they must be applied: KAITO's webhook requires the ConfigMap to exist.
/// Returns them with the name of the Service.
fn assemble(
    deployment: &Deployment,
    worker: &Worker,
    (kind, set): (KaitoKind, SetSettings),
    nodes: Nodes,
    inference: Inference,
    mut manifests: Vec<Manifest>,
) -> (Vec<Manifest>, String) {
    let name = &deployment.metadata.name;
    let Nodes { count, instance_type, label_selector, preferred: preferred_nodes, partition } = nodes;
    let (main, service) = match kind {
        KaitoKind::Workspace => {
            let resource = Resource { count, instance_type, label_selector, preferred_nodes, partition };
            let body = Workspace { resource, inference };
            (Manifest::new(manifests::API_VERSION, kind.as_str(), name, body), name.clone())
        }
        KaitoKind::InferenceSet => {
            let service = format!("{name}-inference");
            let selector = serving_pods::labels(kind, name);
            manifests.push(kubefoundry_kubernetes::pod::http_service(&service, selector, 80, start_command::PORT));
            let has_resource = instance_type.is_some() || partition.is_some();
            let resource = has_resource.then_some(InferenceSetResource { instance_type, partition });
            let spec = InferenceSet {
                replicas: worker.replicas.value,
                node_count_limit: set.node_count_limit,
                auto_upgrade: set.auto_upgrade,
                label_selector,
                template: InferenceSetTemplate { resource, inference },
            };
            (Manifest::new(manifests::API_VERSION, kind.as_str(), name, SpecBody { spec }), service)
        }
    };
    let source = deployment.model.source.value.as_str();
    manifests.push(main.with_label(deployment.api_group.label("model-source"), source));
    (manifests, service)
}
