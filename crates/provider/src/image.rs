//! Versions in image tags, and checks of default images.

use crate::TranslationContext;
use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::Deployment;
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::Findings;

/// Returns the last part of an image's repository: `vllm-runtime` of `nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.4.0`.
pub fn repository_name(image: &str) -> &str {
    let (path, _) = kubefoundry_kubernetes::image::path_and_tag(image);
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns whether a GPU resource is NVIDIA's (`nvidia.com/gpu`, `nvidia.com/mig-1g.5gb`). Default images support no
/// others.
pub fn is_nvidia(gpu_type: &str) -> bool {
    gpu_type.starts_with("nvidia.com/")
}

/// Checks a deployment that uses the default image (docs/design/0010). The image does not support other GPUs than
/// NVIDIA's, and an unpinned version changes when kubefoundry is upgraded. `contents` is what a custom image must
/// contain.
pub fn check_default_image(
    provider: &str,
    contents: &str,
    deployment: &Deployment,
    context: &TranslationContext<'_>,
    findings: &mut Findings<'_>,
) {
    for worker in deployment.workload.workers() {
        let gpu = &worker.gpu_type.value;
        if worker.gpu_count.value > 0 && !is_nvidia(gpu) {
            let path = worker.gpu_path().gpu_type();
            let message = format!("{path} is {gpu}, but the default image supports only nvidia.com/gpu");
            findings
                .report(&codes::ACCELERATOR_NEEDS_IMAGE, &path, message)
                .help(format!("set spec.image to an image with {contents} for that accelerator"));
        }
    }
    if !context.runtime_pinned {
        let message = format!(
            "the runtime version of {provider} is not pinned ({} now); it changes when kubefoundry is upgraded",
            context.runtime
        );
        findings
            .report(&codes::UNPINNED_RUNTIME, ModelDeployment::path().spec().engine().engine_type(), message)
            .help(format!("add to kubefoundry.yaml: runtimes: {{{provider}: {}}}", context.runtime));
    }
}
