//! Checks for values that KubeRay or Ray would refuse or silently change on the cluster.

use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::{Deployment, Workload};
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::Findings;
use kubefoundry_provider::known_images::ImageContents;
use kubefoundry_provider::releases::Release;
use kubefoundry_provider::{known_images, metadata, pod};

/// The limit for the name of a RayService, from which names of other objects are derived (`MaxRayServiceNameLength` in
/// ray-operator/controllers/ray/utils/constant.go).
const MAX_NAME_LENGTH: usize = 47;

/// The labels that KubeRay overwrites on pods. They are not written, because old operators let the template win and
/// then lose track of their pods (`labelPod` and `BuildPod` in ray-operator/controllers/ray/common/pod.go).
pub(super) const RESERVED_POD_LABELS: [&str; 4] =
    ["ray.io/cluster", "ray.io/group", "ray.io/node-type", "ray.io/serve"];

/// The volume that KubeRay adds for `/dev/shm`. It would mistake a storage volume of this name for it.
const SHARED_MEMORY_VOLUME: &str = "shared-mem";

/// The first Ray release whose placement groups take `bundle_per_worker`, which binds a role to its group of workers
/// (`ray/llm/_internal/serve/core/configs/llm_config.py` of Ray 2.54.0 and 2.55.0).
const FIRST_WITH_ROLE_BUNDLES: &str = "2.55.0";

/// Checks the parts of a deployment that do not depend on overrides and engine flags.
pub(super) fn check_deployment(deployment: &Deployment, release: &Release, findings: &mut Findings<'_>) {
    check_roles(deployment, release, findings);
    known_images::check_contents(
        deployment,
        "Ray with vLLM",
        |contents| contents == ImageContents::Ray,
        "remove spec.image, or use an image with Ray and vLLM, such as rayproject/ray-llm",
        findings,
    );
    metadata::refuse_frontend(deployment, "KubeRay", findings);
    check_name(deployment, findings);
    check_model(deployment, findings);
    metadata::warn_about_ignored_pod_labels(deployment, "KubeRay", &RESERVED_POD_LABELS, findings);
    pod::refuse_shared_memory_name(deployment, SHARED_MEMORY_VOLUME, "KubeRay", findings);
    pod::ignore_further_compilation_caches(deployment, findings);
}

/// Refuses disaggregated mode on releases that cannot bind a role to its workers.
fn check_roles(deployment: &Deployment, release: &Release, findings: &mut Findings<'_>) {
    if matches!(deployment.workload, Workload::Disaggregated { .. }) && release.is_before(FIRST_WITH_ROLE_BUNDLES) {
        let message = format!("Ray {} does not support disaggregated mode", release.version);
        findings.report(&codes::FIELD_NOT_SUPPORTED, ModelDeployment::path().spec().serving().mode(), message).help(
            format!("use Ray {FIRST_WITH_ROLE_BUNDLES} or newer: older releases cannot bind a role to its workers"),
        );
    }
}

/// Checks the name as the controller does (`ValidateRayServiceMetadata`). The API server would accept an object that
/// never runs.
fn check_name(deployment: &Deployment, findings: &mut Findings<'_>) {
    metadata::check_name_length(
        deployment,
        MAX_NAME_LENGTH,
        "a RayService",
        "shorten it: KubeRay derives the names of Ray clusters and Services from it, which may have at most 63 characters",
        findings,
    );
    metadata::check_name_start(deployment, "KubeRay", findings);
}

fn check_model(deployment: &Deployment, findings: &mut Findings<'_>) {
    let model = &deployment.model;
    if model.id.is_none() {
        findings
            .report(
                &codes::MODEL_ID_NEEDED,
                ModelDeployment::path().spec().model(),
                "the model has no id, but Ray Serve needs one",
            )
            .help(metadata::MODEL_ID_HELP);
    }
    metadata::refuse_gguf(deployment, "Ray Serve", findings);
    // Ray Serve splits the name: `get_base_model_id` in ray/llm/_internal/common/utils/lora_utils.py.
    if let Some(name) = model.served_name.as_ref().filter(|name| name.value.contains(':')) {
        let message = format!(
            "spec.model.servedName is {:?}: Ray Serve reads what follows a colon as the name of an adapter",
            name.value
        );
        findings
            .report(&codes::INVALID_SERVED_NAME, ModelDeployment::path().spec().model().served_name(), message)
            .help("use a name without colons");
    }
}
