//! Choice of the image and of the Dynamo version that decides the flags.

use super::backend::Backend;
use super::codes::{
    IMAGE_WITHOUT_VERSION, RUNTIME_VERSION_MISMATCH, RUNTIME_VERSION_REQUIRED, UNKNOWN_RUNTIME_VERSION,
};
use super::overrides;
use super::runtimes::RELEASES;
use super::settings::DynamoSettings;
use super::{NAME, RUNTIMES};
use kubefoundry_deployment::ir::Deployment;
use kubefoundry_diagnostics::Findings;
use kubefoundry_provider::image;
use kubefoundry_provider::known_images::{self, ImageContents};
use kubefoundry_provider::releases::{FoundRelease, Release, find_release};
use kubefoundry_provider::runtime_version::leading_version;
use kubefoundry_provider::{RuntimeMatch, TranslationContext};
use kubefoundry_yaml::field_path::FieldPath;

/// The registry of Dynamo's runtime images.
pub(super) const REGISTRY: &str = "nvcr.io/nvidia/ai-dynamo";

/// The image of every component, and the release whose flags its workers take.
#[derive(Debug, Clone)]
pub(super) struct DynamoRuntime {
    pub(super) image: String,
    pub(super) release: &'static Release,
    /// Whether the image is known to have exactly that release: NVIDIA's own image, from any registry.
    pub(super) is_exact: bool,
}

/// Chooses the image and the runtime version.
///
/// A custom image runs on the workers and on the frontend. An image that can run a worker (`python3 -m dynamo.vllm`)
/// contains the frontend, because both are in one wheel (ai-dynamo 1.1.1, 1.4.0, 1.6.1). The frontend then finds the
/// tokenizer of a model in the image, and nothing is pulled from a registry that the user did not name.
pub(super) fn choose_runtime(
    deployment: &Deployment,
    backend: &Backend,
    settings: &DynamoSettings,
    context: &TranslationContext<'_>,
    findings: &mut Findings<'_>,
) -> DynamoRuntime {
    let Some((image, path)) = &deployment.image else {
        let image = format!("{REGISTRY}/{}:{}", backend.image, context.runtime);
        image::check_default_image(NAME, "Dynamo", deployment, context, findings);
        check_runtime_override(settings, context.runtime, findings);
        let FoundRelease { release, relation } = default_release(context);
        return DynamoRuntime { image: context.image(&image), release, is_exact: relation == RuntimeMatch::Same };
    };
    let FoundRelease { release, relation } = custom_release(image, path, settings, context, findings);
    let is_published = image::repository_name(image) == backend.image && tag_version(image).is_some();
    DynamoRuntime { image: context.image(image), release, is_exact: relation == RuntimeMatch::Same && is_published }
}

/// Returns the release of the default image.
fn default_release(context: &TranslationContext<'_>) -> FoundRelease {
    let found = find_release(RELEASES, context.runtime).or_else(|| find_release(RELEASES, RUNTIMES[0]));
    found.unwrap_or(FoundRelease { release: &RELEASES[0], relation: RuntimeMatch::Oldest })
}

/// Returns the release to use for a custom image. Like the operator, it reads the version from the override, or else
/// from the tag (deploy/operator/internal/runtimeversion of ai-dynamo/dynamo). A missing or unknown version is reported;
/// a missing one is that of the default image.
fn custom_release(
    image: &str,
    path: &FieldPath,
    settings: &DynamoSettings,
    context: &TranslationContext<'_>,
    findings: &mut Findings<'_>,
) -> FoundRelease {
    let declared = settings.runtime_version.as_deref();
    // The tag of an image without Dynamo, which is reported elsewhere, is not a version of Dynamo.
    if known_images::contents(image).is_some_and(|contents| !matches!(contents, ImageContents::Dynamo(_))) {
        return FoundRelease { relation: RuntimeMatch::NearestOlder, ..default_release(context) };
    }
    let Some(version) = declared.or_else(|| tag_version(image)) else {
        report_missing_version(image, path, context, findings);
        return FoundRelease { relation: RuntimeMatch::NearestOlder, ..default_release(context) };
    };
    let nearest = find_release(RELEASES, version).unwrap_or_else(|| default_release(context));
    if nearest.relation == RuntimeMatch::Same {
        return nearest;
    }
    let override_path = overrides::path().runtime_version();
    let (place, found, help) = if declared.is_some() {
        let help = format!("if the image has another version of Dynamo, correct {override_path}");
        (&*override_path, format!("{override_path} is {version}"), help)
    } else {
        let help = format!("if the image has another version of Dynamo, set {override_path}");
        (path, format!("the image's tag is {version}"), help)
    };
    let what = match nearest.relation {
        RuntimeMatch::Oldest => "older than every known release",
        RuntimeMatch::NearestOlder | RuntimeMatch::Same => "not a known release",
    };
    let release = nearest.release.version;
    let message = format!("{found}, which is {what} of Dynamo; engine flags are checked and written as for {release}");
    findings.report(&UNKNOWN_RUNTIME_VERSION, place, message).help(help);
    nearest
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
pub(super) fn tag_version(image: &str) -> Option<&str> {
    let tag = kubefoundry_kubernetes::image::path_and_tag(image).1?;
    leading_version(tag.strip_prefix(['v', 'V']).unwrap_or(tag))
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
