//! Validation of a ModelDeployment: its defaults, and all checks that need neither a provider nor a flag table.
//!
//! ```text
//! wire::ModelDeployment ─┬─ metadata ─ model ─ storage ─ engine ─ workload ─ pod ─┬─ ir::Deployment
//!                        └──────────────────── Findings ──────────────────────────┘
//! ```
//! Each module checks its own fields and reports every error, not only the first. The functions of
//! `kubefoundry_kubernetes` check the syntax of values, and its `Checker` turns their results into findings.

mod engine;
mod frontend;
mod gateway;
pub mod messages;
mod metadata;
mod model;
mod pod;
mod resources;
mod shared_memory;
mod storage;
#[cfg(test)]
pub(crate) mod tests;
mod tolerations;
mod volumes;
mod workload;

pub use metadata::READ_ANNOTATIONS;

use kubefoundry_deployment::ir::{Deployment, EngineType, NodeGpu, ProviderRequest};
use kubefoundry_deployment::wire;
use kubefoundry_diagnostics::Findings;
use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_kubernetes::check::{Checker, non_empty};

/// Validates a deployment and applies its defaults (docs/specification.md, MD-1 and MD-2).
///
/// `wire` is the document of `findings` after reading, and `api_group` is its API group. Capabilities of providers,
/// overrides and engine flags are checked elsewhere.
///
/// A deployment is returned even if it has errors, as long as its parts could be read: the later checks of flags and
/// overrides then report their errors in the same run, and a deployment with errors is never rendered. `None` means
/// that a required part is missing. A field that could not be read already has a finding and gets no second one.
pub fn validate(
    wire: &wire::ModelDeployment,
    api_group: &'static ApiGroup,
    findings: &mut Findings<'_>,
) -> Option<Deployment> {
    validate_with_assumptions(wire, api_group, Assumptions::default(), findings)
}

/// What others decide about a deployment that does not say it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Assumptions {
    /// The engine of a deployment that names none, if its API group allows that
    /// ([`default_engine`](super::select::default_engine)).
    pub engine: Option<EngineType>,
    /// Whether the provider chooses the GPUs, so that the deployment need not count them.
    pub has_gpu: bool,
}

/// Validates a deployment like [`validate`], with assumptions about what it does not say.
pub fn validate_with_assumptions(
    wire: &wire::ModelDeployment,
    api_group: &'static ApiGroup,
    assumptions: Assumptions,
    findings: &mut Findings<'_>,
) -> Option<Deployment> {
    let empty = wire::ModelDeploymentSpec::default();
    let spec = wire.spec.as_ref().unwrap_or(&empty);
    let mut check = Checker { api_group: Some(api_group), findings };
    let metadata = metadata::validate_metadata(wire.metadata.as_ref(), &mut check);
    let image = pod::validate_image(spec, &mut check);
    let name = metadata.as_ref().map_or("", |metadata| metadata.name.as_str());
    let model = model::validate_model(spec, name, image.is_some(), &mut check);
    let provider = validate_provider(spec, &mut check);
    let engine = engine::validate_engine(spec.engine.as_ref(), assumptions.engine, &mut check);
    let resources = resources::validate_common(spec, &mut check);
    let workload = workload::validate_workload(spec, assumptions.has_gpu, &resources, &mut check);
    let pod = pod::validate_pod(spec, &mut check);
    let frontend = frontend::validate_frontend(spec.frontend.as_ref(), &mut check);
    let (mode_origin, mut workload) = workload?;
    for worker in workload.workers_mut() {
        worker.engine_container = pod.engine_container.merged_with(&worker.written_container);
    }
    resources::check_claims(&workload.workers(), &pod.settings.resource_claims, &resources, &mut check);
    if let Some(model) = &model {
        storage::warn_about_single_node_claims(&model.volumes, &workload, &mut check);
    }
    let storage = model.as_ref().map(|model| model.volumes.as_slice()).unwrap_or_default();
    let has_mounts = workload.workers().iter().any(|worker| !worker.engine_container.volume_mounts.is_empty());
    // Most deployments have neither.
    if has_mounts || !pod.settings.volumes.is_empty() {
        let mounts = volumes::mount_lists(&pod.engine_container, &workload);
        volumes::check_volumes(&pod.settings.volumes, &mounts, storage, &mut check);
    }
    let shared_memory = spec.resources.as_ref().and_then(|resources| non_empty(resources.shared_memory.as_deref()));
    if let Some(size) = shared_memory {
        let volumes = model.as_ref().map(|model| model.volumes.as_slice()).unwrap_or_default();
        shared_memory::check_shared_memory(size, &workload, volumes, &mut check);
    }
    Some(Deployment {
        api_group,
        metadata: metadata?,
        model: model?,
        provider,
        engine: engine?,
        mode_origin,
        workload,
        image,
        env: pod.env,
        resources,
        shared_memory: shared_memory.map(str::to_owned),
        pod_labels: pod.labels,
        pod_annotations: pod.annotations,
        engine_container: pod.engine_container,
        pod_spec: pod.settings,
        hugging_face_token: pod.hugging_face_token,
        image_pull_secrets: pod.image_pull_secrets,
        node_selector: pod.node_selector,
        node_gpu: NodeGpu::default(),
        tolerations: pod.tolerations,
        frontend,
        gateway: gateway::validate_gateway(spec.gateway.as_ref(), &mut check),
    })
}

/// Validates the requested provider. Selection checks whether it exists.
fn validate_provider(spec: &wire::ModelDeploymentSpec, check: &mut Checker<'_, '_>) -> ProviderRequest {
    let Some(wire::Provider { name, overrides }) = &spec.provider else {
        return ProviderRequest::default();
    };
    let name = kubefoundry_kubernetes::check::non_empty(name.as_deref());
    if let Some(name) = name {
        check.check_single_line(&wire::ModelDeployment::path().spec().provider().name(), name);
    }
    ProviderRequest { name: name.map(str::to_owned), overrides: overrides.clone() }
}
