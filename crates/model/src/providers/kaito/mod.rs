//! KAITO: a model becomes a `Workspace`, or an `InferenceSet` for other than one replica.
//!
//! ```text
//! overrides ─ workload (which kind) ─ nodes (where) ─┬─ preset + config_map   vLLM, KAITO's image
//!                                                    └─ template + llamacpp   vLLM or llamacpp, the user's image
//! ```

mod behavior;
pub mod codes;
mod config_map;
mod import;
mod llamacpp;
mod nodes;
pub mod overrides;
pub(crate) mod preset;
mod runner;
mod settings;
mod status;
mod support;
mod target;
mod template;
mod workload;

use crate::wire::ModelDeployment;
use kubefoundry_transform::Section;
use std::borrow::Cow;

use crate::codes as common;
use crate::draft::{Draft, NotImportable, Subject};
use crate::ir::{Deployment, EngineType, Worker, Workload};
use crate::provider::{Behavior, Context, Provider, Status, StatusError, Translation};
use crate::providers::pod;
use crate::support::FieldSupport;
use kubefoundry_diagnostics::{Code, Findings};
use kubefoundry_kubernetes::manifest::Manifest;
use kubefoundry_kubernetes::pod::{StringMap, WithSpec};
use kubefoundry_kubernetes::wire::{Describe as _, Shape};
use kubefoundry_transform::Endpoint;
use nodes::Nodes;
use overrides::Overrides;
use target::{Inference, InferenceSet, InferenceSetResource, InferenceSetTemplate, Resource, Workspace};
use workload::Kind;

/// KAITO.
#[derive(Debug)]
pub struct Kaito;

impl Provider for Kaito {
    fn name(&self) -> &'static str {
        "kaito"
    }
    fn display_name(&self) -> &'static str {
        "KAITO"
    }
    fn config(&self) -> &'static str {
        include_str!("config.yaml")
    }
    fn readme(&self) -> &'static str {
        include_str!("README.md")
    }
    fn targets(&self) -> &'static [&'static str] {
        &[target::API_VERSION]
    }
    fn runtimes(&self) -> &'static [&'static str] {
        &[]
    }
    fn overrides(&self) -> Shape {
        overrides::Overrides::SHAPE
    }

    fn section(&self) -> Option<Section> {
        Some(Section::of::<settings::Kaito>())
    }

    fn codes(&self) -> &'static [&'static Code] {
        codes::CODES
    }
    fn field_support(&self) -> &'static [FieldSupport] {
        support::FIELDS
    }
    fn behaviors(&self) -> &'static [Behavior] {
        behavior::BEHAVIORS
    }

    fn translate(
        &self,
        deployment: &Deployment,
        context: &Context<'_>,
        findings: &mut Findings<'_>,
    ) -> Option<Translation> {
        let Workload::Aggregated(worker) = &deployment.workload else {
            let message = "KAITO does not support disaggregated mode";
            findings.report(&common::MODE_NOT_SUPPORTED, &ModelDeployment::path().spec().serving().mode(), message);
            return None;
        };
        let errors = findings.errors();
        let deployment = &*without_default_caching(deployment);
        let overrides = overrides::read(deployment, findings);
        let kind = workload::choose(deployment, worker, &overrides, findings);
        let is_preset = deployment.image.is_none() && deployment.engine.kind == EngineType::Vllm;
        let nodes = Nodes::of(deployment, &overrides, is_preset, context, findings);
        let inference = inference(deployment, worker, &overrides, context, findings);
        if findings.errors() > errors {
            return None;
        }
        let (inference, supporting) = inference?;
        Some(assemble(deployment, worker, kind, nodes, inference, supporting))
    }

    fn imports(&self) -> &'static [(&'static str, &'static str)] {
        &[("kaito.sh", "Workspace"), ("kaito.sh", "InferenceSet")]
    }

    fn import(&self, subject: &Subject<'_>) -> Result<Draft, NotImportable> {
        import::import(subject)
    }

    fn translate_status(&self, observed: &serde_json::Value) -> Result<Status, StatusError> {
        status::translate(observed)
    }
}

/// A deployment that says nothing of prefix caching where only its dialect does: vLLM and llama.cpp cache prefixes unless
/// they are told not to, and a preset or LocalAI could not be told.
fn without_default_caching(deployment: &Deployment) -> Cow<'_, Deployment> {
    let enabled = deployment.engine.enable_prefix_caching;
    if enabled.is_none_or(|enabled| enabled.is_written() || !enabled.value) {
        return Cow::Borrowed(deployment);
    }
    let mut deployment = deployment.clone();
    deployment.engine.enable_prefix_caching = None;
    Cow::Owned(deployment)
}

/// What runs, and the objects that it needs first. `None` means that findings say why not.
fn inference(
    deployment: &Deployment,
    worker: &Worker,
    overrides: &Overrides,
    context: &Context<'_>,
    findings: &mut Findings<'_>,
) -> Option<(Inference, Vec<Manifest>)> {
    match (deployment.engine.kind, &deployment.image) {
        // The provider's capabilities keep them out.
        (EngineType::Sglang | EngineType::Trtllm, _) => None,
        (EngineType::Vllm | EngineType::Llamacpp, Some((image, _))) => {
            let template = template::template(deployment, worker, image, overrides, context, findings)?;
            let inference = Inference { template: Some(template), ..Inference::default() };
            Some((inference, pod::claims(deployment)))
        }
        (EngineType::Llamacpp, None) => {
            findings
                .report(
                    &codes::LLAMACPP_IMAGE_REQUIRED,
                    &ModelDeployment::path().spec().image(),
                    "spec.image is required for llamacpp: KAITO has no default image for it",
                )
                .help("such as ghcr.io/ggml-org/llama.cpp:server, or an AIKit image with the model in it");
            None
        }
        (EngineType::Vllm, None) => {
            template::ignore_runner(overrides, findings);
            let (inference, config) = preset::inference(deployment, worker, findings)?;
            Some((inference, config.into_iter().collect()))
        }
    }
}

/// The objects in the order in which they are applied: KAITO's webhook wants the ConfigMap to exist already.
fn assemble(
    deployment: &Deployment,
    worker: &Worker,
    kind: Kind,
    nodes: Nodes,
    inference: Inference,
    mut manifests: Vec<Manifest>,
) -> Translation {
    let name = &deployment.metadata.name;
    let Nodes { instance_type, label_selector } = nodes;
    let (main, service) = match kind {
        Kind::Workspace => {
            let resource = Resource { count: 1, instance_type, label_selector };
            let body = Workspace { resource, inference };
            (Manifest::new(target::API_VERSION, kind.as_str(), name, body), name.clone())
        }
        Kind::InferenceSet => {
            let service = format!("{name}-inference");
            let mut selector = StringMap::one("inferenceset.kaito.sh/created-by", name);
            selector.push("apps.kubernetes.io/pod-index", "0");
            manifests.push(kubefoundry_kubernetes::pod::service(&service, selector, 80, template::PORT));
            let resource = instance_type.map(|instance_type| InferenceSetResource { instance_type });
            let spec = InferenceSet {
                replicas: worker.replicas.value,
                label_selector,
                template: InferenceSetTemplate { resource, inference },
            };
            (Manifest::new(target::API_VERSION, kind.as_str(), name, WithSpec { spec }), service)
        }
    };
    let source = deployment.model.source.value.as_str();
    manifests.push(main.label(deployment.dialect.label("model-source"), source));
    Translation { manifests, endpoint: Endpoint { service, port: 80 } }
}
