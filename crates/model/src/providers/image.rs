//! What images say of themselves, and what default images need.

use crate::codes;
use crate::ir::Deployment;
use crate::provider::TranslationContext;
use crate::wire::ModelDeployment;
use kubefoundry_diagnostics::Findings;

/// The `MAJOR.MINOR.PATCH` that a text starts with, when it ends there or a suffix follows: `1.4.0`, `1.4.0-rc1`,
/// `2.56.0-py312`.
pub(super) fn leading_version(text: &str) -> Option<&str> {
    let (version, suffix) = text.find(['-', '+']).map_or((text, None), |at| {
        let (version, suffix) = text.split_at(at);
        (version, suffix.get(1..))
    });
    (suffix != Some("") && is_version(version)).then_some(version)
}

/// Whether a text is `MAJOR.MINOR.PATCH`: three numbers without leading zeros.
pub(super) fn is_version(text: &str) -> bool {
    let number = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) && (part == "0" || !part.starts_with('0'))
    };
    text.split('.').count() == 3 && text.split('.').all(number)
}

/// Whether a GPU resource is NVIDIA's (`nvidia.com/gpu`, `nvidia.com/mig-1g.5gb`): what default images drive.
pub(super) fn is_nvidia(gpu_type: &str) -> bool {
    gpu_type.starts_with("nvidia.com/")
}

/// Reports what a default image cannot do: keep its version when this program is upgraded, unless that is pinned, and
/// drive other GPUs than NVIDIA's (docs/design/0010). `wanted` is what an image for those has in it.
pub(super) fn check_default(
    provider: &str,
    wanted: &str,
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
                .help(format!("set spec.image to an image with {wanted} for that accelerator"));
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
    fn versions_are_three_numbers_and_perhaps_a_suffix() {
        for text in ["1.4.0", "1.4.0-rc1.cuda13", "1.4.0+build", "1.4.0-0.1"] {
            assert_eq!(leading_version(text), Some("1.4.0"), "{text}");
        }
        for text in ["", "latest", "1.4", "1.4.0.1", "1.04.0", "1.4.0-", "1..0", "v1.4.0", "1.4.x"] {
            assert_eq!(leading_version(text), None, "{text}");
        }
    }
}
