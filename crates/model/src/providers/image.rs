//! Versions in image tags, and checks of default images.

use crate::codes;
use crate::ir::Deployment;
use crate::provider::TranslationContext;
use crate::wire::ModelDeployment;
use kubefoundry_diagnostics::Findings;

/// Returns the `MAJOR.MINOR.PATCH` at the start of a text, if nothing or a suffix follows it: `1.4.0`, `1.4.0-rc1`,
/// `2.56.0-py312`.
pub(super) fn leading_version(text: &str) -> Option<&str> {
    let (version, suffix) = text.find(['-', '+']).map_or((text, None), |index| {
        let (version, suffix) = text.split_at(index);
        (version, suffix.get(1..))
    });
    (suffix != Some("") && is_version(version)).then_some(version)
}

/// Returns whether a text is `MAJOR.MINOR.PATCH`: three numbers without leading zeros.
pub(super) fn is_version(text: &str) -> bool {
    let is_number = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) && (part == "0" || !part.starts_with('0'))
    };
    text.split('.').count() == 3 && text.split('.').all(is_number)
}

/// Returns whether a GPU resource is NVIDIA's (`nvidia.com/gpu`, `nvidia.com/mig-1g.5gb`). Default images support no
/// others.
pub(super) fn is_nvidia(gpu_type: &str) -> bool {
    gpu_type.starts_with("nvidia.com/")
}

/// Checks a deployment that uses the default image (docs/design/0010). The image does not support other GPUs than
/// NVIDIA's, and an unpinned version changes when kubefoundry is upgraded. `contents` is what a custom image must
/// contain.
pub(super) fn check_default_image(
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_three_numbers_and_an_optional_suffix() {
        for text in ["1.4.0", "1.4.0-rc1.cuda13", "1.4.0+build", "1.4.0-0.1"] {
            assert_eq!(leading_version(text), Some("1.4.0"), "{text}");
        }
        for text in ["", "latest", "1.4", "1.4.0.1", "1.04.0", "1.4.0-", "1..0", "v1.4.0", "1.4.x"] {
            assert_eq!(leading_version(text), None, "{text}");
        }
    }
}
