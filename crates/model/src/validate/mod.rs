//! Validation of a ModelDeployment: its defaults, and all checks that need neither a provider nor a flag table.
//!
//! ```text
//! wire::ModelDeployment ─┬─ metadata ─ model ─ storage ─ engine ─ workload ─ pod ─┬─ ir::Deployment
//!                        └──────────────────── Findings ──────────────────────────┘
//! ```
//! Each module checks its own fields and reports every error, not only the first. The functions of
//! `kubefoundry_kubernetes` check the syntax of values, and its `Checker` turns their results into findings.

mod engine;
mod metadata;
mod model;
mod pod;
mod storage;
#[cfg(test)]
pub(crate) mod tests;
mod tolerations;
mod workload;

use super::ir::{Deployment, EngineType, ProviderRequest};
use crate::codes;
use crate::wire;
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_kubernetes::check::Checker;

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
    validate_with_default_engine(wire, api_group, None, findings)
}

/// Validates a deployment like [`validate`]. `engine` is the engine of a deployment that names none, if its API group
/// allows that ([`default_engine`](super::select::default_engine)).
pub fn validate_with_default_engine(
    wire: &wire::ModelDeployment,
    api_group: &'static ApiGroup,
    engine: Option<EngineType>,
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
    let engine = engine::validate_engine(spec.engine.as_ref(), engine, &mut check);
    let workload = workload::validate_workload(spec, &mut check);
    let pod = pod::validate_pod(spec, &mut check);
    if check.is_present(&wire::ModelDeployment::path().spec().gateway()) {
        let place = FieldRef::key(&wire::ModelDeployment::path().spec().gateway());
        check
            .findings
            .report(&codes::GATEWAY_NOT_RENDERED, place, "spec.gateway is not rendered yet")
            .help("remove it, and write the InferencePool and the HTTPRoute yourself");
    }
    let (mode_origin, workload) = workload?;
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
        pod_labels: pod.labels,
        pod_annotations: pod.annotations,
        hugging_face_token: pod.hugging_face_token,
        image_pull_secrets: pod.image_pull_secrets,
        node_selector: pod.node_selector,
        tolerations: pod.tolerations,
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
