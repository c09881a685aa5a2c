//! What KubeRay and Ray refuse, or would quietly do otherwise, and only shows on a cluster.

use crate::codes;
use crate::ir::Deployment;
use crate::providers::{metadata, pod};
use crate::wire::ModelDeployment;
use kubefoundry_diagnostics::Findings;

/// The longest name of a RayService: names of its objects are made from it (`MaxRayServiceNameLength` in
/// ray-operator/controllers/ray/utils/constant.go).
const NAME: usize = 47;

/// Labels that KubeRay sets on pods itself, whatever the template says; old operators let the template win, and lose
/// their pods. They are not written (`labelPod` and `BuildPod` in
/// ray-operator/controllers/ray/common/pod.go).
pub(super) const LABELS: [&str; 4] = ["ray.io/cluster", "ray.io/group", "ray.io/node-type", "ray.io/serve"];

/// The volume that KubeRay adds for `/dev/shm`; it would take a storage volume of that name for its own.
const SHARED_MEMORY: &str = "shared-mem";

/// Reports everything about a deployment that does not depend on overrides, image and engine flags.
pub(super) fn all(deployment: &Deployment, findings: &mut Findings<'_>) {
    name(deployment, findings);
    model(deployment, findings);
    metadata::ignore_pod_labels(deployment, "KubeRay", &LABELS, findings);
    pod::refuse_shared_memory_name(deployment, SHARED_MEMORY, "KubeRay", findings);
    pod::ignore_further_compilation_caches(deployment, findings);
}

/// The name is checked by the controller only (`ValidateRayServiceMetadata`): the apiserver takes what then never runs.
fn name(deployment: &Deployment, findings: &mut Findings<'_>) {
    metadata::name_fits(
        deployment,
        NAME,
        "a RayService",
        "shorten it: KubeRay derives names of Ray clusters and Services from it, 63 characters at most",
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

fn model(deployment: &Deployment, findings: &mut Findings<'_>) {
    let model = &deployment.model;
    match &model.id {
        None => {
            findings
                .report(
                    &codes::MODEL_ID_NEEDED,
                    ModelDeployment::path().spec().model(),
                    "the model has no id, but Ray Serve needs one",
                )
                .help("set model.id to the absolute path of the model in the image");
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
    // `get_base_model_id` in ray/llm/_internal/common/utils/lora_utils.py.
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
