//! Checks for values that KubeRay or Ray would refuse or silently change on the cluster.

use crate::codes;
use crate::ir::Deployment;
use crate::providers::{metadata, pod};
use crate::wire::ModelDeployment;
use kubefoundry_diagnostics::Findings;

/// The limit for the name of a RayService, from which names of other objects are derived (`MaxRayServiceNameLength` in
/// ray-operator/controllers/ray/utils/constant.go).
const MAX_NAME_LENGTH: usize = 47;

/// The labels that KubeRay overwrites on pods. They are not written, because old operators let the template win and
/// then lose track of their pods (`labelPod` and `BuildPod` in ray-operator/controllers/ray/common/pod.go).
pub(super) const RESERVED_POD_LABELS: [&str; 4] =
    ["ray.io/cluster", "ray.io/group", "ray.io/node-type", "ray.io/serve"];

/// The volume that KubeRay adds for `/dev/shm`. It would mistake a storage volume of this name for it.
const SHARED_MEMORY_VOLUME: &str = "shared-mem";

/// Checks the parts of a deployment that do not depend on overrides, image and engine flags.
pub(super) fn check_deployment(deployment: &Deployment, findings: &mut Findings<'_>) {
    check_name(deployment, findings);
    check_model(deployment, findings);
    metadata::warn_about_ignored_pod_labels(deployment, "KubeRay", &RESERVED_POD_LABELS, findings);
    pod::refuse_shared_memory_name(deployment, SHARED_MEMORY_VOLUME, "KubeRay", findings);
    pod::ignore_further_compilation_caches(deployment, findings);
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
    let name = &deployment.metadata.name;
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) {
        findings
            .report(
                &codes::INVALID_NAME,
                ModelDeployment::path().metadata().name(),
                format!("metadata.name is {name:?}, expected a name that starts with a letter"),
            )
            .help("rename it: KubeRay names Services after it, and their names start with a letter");
    }
}

fn check_model(deployment: &Deployment, findings: &mut Findings<'_>) {
    let model = &deployment.model;
    match &model.id {
        None => {
            findings
                .report(
                    &codes::MODEL_ID_NEEDED,
                    ModelDeployment::path().spec().model(),
                    "the model has no id, but Ray Serve needs one",
                )
                .help("set spec.model.id to the absolute path of the model in the image");
        }
        Some(id) if id.to_ascii_lowercase().ends_with(".gguf") => {
            findings
                .report(
                    &codes::FIELD_NOT_SUPPORTED,
                    ModelDeployment::path().spec().model().id(),
                    "spec.model.id names a GGUF file, which Ray Serve does not serve",
                )
                .help("use the id of the model's original weights, or the engine llamacpp on kaito");
        }
        Some(_) => {}
    }
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
