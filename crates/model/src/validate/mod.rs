//! From what was written to what is meant: defaults, and every check that needs neither a provider nor a flag table.
//!
//! ```text
//! wire::ModelDeployment ─┬─ metadata ─ model ─ storage ─ engine ─ workload ─ pod ─┬─ ir::Deployment
//!                        └──────────────────── Findings ──────────────────────────┘
//! ```
//! Every part looks at its own fields and reports all it finds; nothing stops at the first. What the syntax of a
//! value must be is for the small functions of `kubefoundry_kubernetes`; its `Checker` turns their answers into findings.

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
/// `wire` is the document that `findings` looks at, as it was read; `api_group` is its group's. Whether a provider can
/// take the deployment, what its overrides say and what the engine's flags mean is checked elsewhere.
///
/// A deployment comes back even when findings name errors, as long as its parts could be read, so that what is checked
/// later (flags, overrides) is found in the same run; with an error it is never rendered. `None` means that a part is
/// missing. A field that could not be read has its finding already and draws no second one.
pub fn validate(
    wire: &wire::ModelDeployment,
    api_group: &'static ApiGroup,
    findings: &mut Findings<'_>,
) -> Option<Deployment> {
    validate_with_default_engine(wire, api_group, None, findings)
}

/// The same with the engine that runs a deployment which names none, where its API group lets it
/// ([`default_engine`](super::select::default_engine)).
pub fn validate_with_default_engine(
    wire: &wire::ModelDeployment,
    api_group: &'static ApiGroup,
    engine: Option<EngineType>,
    findings: &mut Findings<'_>,
) -> Option<Deployment> {
    let empty = wire::ModelDeploymentSpec::default();
    let spec = wire.spec.as_ref().unwrap_or(&empty);
    let mut check = Checker { api_group: Some(api_group), findings };
    let metadata = metadata::metadata(wire.metadata.as_ref(), &mut check);
    let image = pod::image(spec, &mut check);
    let name = metadata.as_ref().map_or("", |metadata| metadata.name.as_str());
    let model = model::model(spec, name, image.is_some(), &mut check);
    let provider = provider(spec, &mut check);
    let engine = engine::engine(spec.engine.as_ref(), engine, &mut check);
    let workload = workload::workload(spec, &mut check);
    let pod = pod::pod(spec, &mut check);
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

/// Which provider is asked for; whether it exists is for selection to say.
fn provider(spec: &wire::ModelDeploymentSpec, check: &mut Checker<'_, '_>) -> ProviderRequest {
    let Some(wire::Provider { name, overrides }) = &spec.provider else {
        return ProviderRequest::default();
    };
    let name = kubefoundry_kubernetes::check::non_empty(name.as_deref());
    if let Some(name) = name {
        check.check_single_line(&wire::ModelDeployment::path().spec().provider().name(), name);
    }
    ProviderRequest { name: name.map(str::to_owned), overrides: overrides.clone() }
}
