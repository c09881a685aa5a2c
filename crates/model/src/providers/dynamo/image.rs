//! Choice of the image and of the Dynamo version that decides the flags.

use super::backend::Backend;
use super::codes::{
    IMAGE_WITHOUT_VERSION, RUNTIME_VERSION_MISMATCH, RUNTIME_VERSION_REQUIRED, UNKNOWN_RUNTIME_VERSION,
};
use super::overrides::{self, DynamoSettings};
use super::{NAME, RUNTIMES};
use crate::ir::Deployment;
use crate::provider::TranslationContext;
use crate::providers::image;
use kubefoundry_diagnostics::Findings;
use kubefoundry_yaml::field_path::FieldPath;

/// The registry of Dynamo's runtime images.
pub(super) const REGISTRY: &str = "nvcr.io/nvidia/ai-dynamo";

/// The image of every component, and the runtime version whose flags its workers take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DynamoRuntime<'v> {
    pub(super) image: String,
    /// A version of [`RUNTIMES`].
    pub(super) version: &'v str,
}

/// Chooses the image and the runtime version.
///
/// A custom image runs on the workers and on the frontend. An image that can run a worker (`python3 -m dynamo.vllm`)
/// contains the frontend, because both are in one wheel (ai-dynamo 1.1.1, 1.4.0, 1.6.1). The frontend then finds the
/// tokenizer of a model in the image, and nothing is pulled from a registry that the user did not name.
pub(super) fn choose_runtime<'c>(
    deployment: &Deployment,
    backend: &Backend,
    settings: &DynamoSettings,
    context: &TranslationContext<'c>,
    findings: &mut Findings<'_>,
) -> DynamoRuntime<'c> {
    let Some((image, path)) = &deployment.image else {
        let image = format!("{REGISTRY}/{}:{}", backend.image, context.runtime);
        image::check_default_image(NAME, "Dynamo", deployment, context, findings);
        check_runtime_override(settings, context.runtime, findings);
        return DynamoRuntime { image: context.image(&image), version: context.runtime };
    };
    let version = custom_version(image, path, settings, context, findings);
    DynamoRuntime { image: context.image(image), version }
}

/// Returns the known runtime version to use for a custom image. Like the operator, it reads the version from the
/// override, or else from the tag (deploy/operator/internal/runtimeversion of ai-dynamo/dynamo). A missing or unknown
/// version is reported, and the default is returned.
fn custom_version<'v>(
    image: &str,
    path: &FieldPath,
    settings: &DynamoSettings,
    context: &TranslationContext<'v>,
    findings: &mut Findings<'_>,
) -> &'v str {
    let default = context.runtime;
    let declared = settings.runtime_version.as_deref();
    let Some(version) = declared.or_else(|| tag_version(image)) else {
        report_missing_version(image, path, context, findings);
        return default;
    };
    if let Some(known) = RUNTIMES.iter().find(|known| **known == version) {
        return known;
    }
    let override_path = overrides::path().runtime_version();
    let (place, found, help) = if declared.is_some() {
        let help = format!(
            "in kubefoundry.yaml, set the known version whose flags are closest, such as runtimes: {{{NAME}: \
             {default}}}"
        );
        (&*override_path, format!("{override_path} is {version}"), help)
    } else {
        let help = format!("if the image has another version of Dynamo, set {override_path}");
        (path, format!("the image's tag is {version}"), help)
    };
    let message = format!(
        "{found}, which is not a known version of Dynamo ({}); engine flags are checked and written as for {default}",
        RUNTIMES.join(", ")
    );
    findings.report(&UNKNOWN_RUNTIME_VERSION, place, message).help(help);
    default
}

/// Reports a custom image without a known version. Operators from 1.5 refuse it. If the installed CRDs are known, the
/// presence of `runtimeVersionOverride`, which came with 1.5, tells whether the cluster's operator does.
fn report_missing_version(
    image: &str,
    path: &FieldPath,
    context: &TranslationContext<'_>,
    findings: &mut Findings<'_>,
) {
    let help = format!("set {} to the version of Dynamo in the image", overrides::path().runtime_version());
    let (code, what) = match context.schema_has("DynamoGraphDeployment", override_field_path(context.crd_version)) {
        None => (&IMAGE_WITHOUT_VERSION, "Dynamo operators from 1.5 on reject it"),
        Some(true) => (&RUNTIME_VERSION_REQUIRED, "the operator of this cluster rejects it"),
        Some(false) => return,
    };
    findings
        .report(code, path, format!("the tag of image {image} is not a version such as 1.4.0, and {what}"))
        .help(help);
}

/// Returns the path of `runtimeVersionOverride` in a CRD version.
fn override_field_path(crd_version: &str) -> &'static str {
    if crd_version.ends_with("/v1alpha1") {
        "spec.services.*.runtimeVersionOverride"
    } else {
        "spec.components.*.runtimeVersionOverride"
    }
}

fn check_runtime_override(settings: &DynamoSettings, runtime: &str, findings: &mut Findings<'_>) {
    if let Some(version) = settings.runtime_version.as_deref().filter(|version| *version != runtime) {
        let path = overrides::path().runtime_version();
        let message = format!("{path} is {version}, but the default image is for {runtime}");
        findings
            .report(&RUNTIME_VERSION_MISMATCH, &path, message)
            .help(format!("remove it, or add to kubefoundry.yaml: runtimes: {{{NAME}: {version}}}"));
    }
}

/// Returns the version in an image's tag without a leading `v` and without a suffix after `-` or `+`, or `None` if the
/// tag is not a semantic version.
fn tag_version(image: &str) -> Option<&str> {
    let tag = kubefoundry_kubernetes::image::path_and_tag(image).1?;
    image::leading_version(tag.strip_prefix(['v', 'V']).unwrap_or(tag))
}

#[cfg(test)]
mod tests {
    use super::tag_version;

    #[test]
    fn reads_the_version_of_a_tag_as_the_operator_does() {
        assert_eq!(tag_version("nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.4.0"), Some("1.4.0"));
        assert_eq!(tag_version("localhost:5000/vllm:v1.4.0-rc1.cuda13"), Some("1.4.0"));
        assert_eq!(tag_version("vllm:1.4.0@sha256:0123"), Some("1.4.0"));
    }

    #[test]
    fn reads_no_version_from_other_tags() {
        for image in
            ["vllm", "localhost:5000/vllm", "vllm:latest", "vllm:1.4", "vllm:01.4.0", "vllm:1.4.0-", "a@sha256:0"]
        {
            assert_eq!(tag_version(image), None, "{image}");
        }
    }
}
