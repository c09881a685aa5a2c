//! Choice of the image and of the Ray version that decides the flags.

use super::codes::RAY_VERSION_ASSUMED;
use super::runtimes::RELEASES;
use super::{NAME, RUNTIMES};
use kubefoundry_deployment::ir::Deployment;
use kubefoundry_diagnostics::Findings;
use kubefoundry_provider::image;
use kubefoundry_provider::known_images::{self, ImageContents};
use kubefoundry_provider::releases::{FoundRelease, Release, find_release};
use kubefoundry_provider::runtime_version::leading_version;
use kubefoundry_provider::{RuntimeMatch, TranslationContext};
use kubefoundry_yaml::field_path::FieldPath;

/// The repository of Ray's images with vLLM.
const REPOSITORY: &str = "rayproject/ray-llm";
/// The Python and CUDA versions of the images, which are in every tag.
const VARIANT: &str = "py312-cu130";
/// The Python and CUDA versions of the images before [`FIRST_WITH_VARIANT`].
const OLD_VARIANT: &str = "py311-cu128";
/// The first release whose images have [`VARIANT`].
const FIRST_WITH_VARIANT: &str = "2.56.0";

/// The image of head and workers, which must be the same, and its Ray version.
#[derive(Debug, Clone)]
pub(super) struct RayRuntime {
    pub(super) image: String,
    /// `rayVersion`: the version in the image's tag, if it has one.
    pub(super) ray_version: Option<String>,
    /// The release whose flags are used.
    pub(super) release: &'static Release,
    /// Whether the image is known to have exactly that release: Ray's own image, from any registry.
    pub(super) is_exact: bool,
}

/// Chooses the image and the Ray version.
pub(super) fn choose_runtime(
    deployment: &Deployment,
    context: &TranslationContext<'_>,
    findings: &mut Findings<'_>,
) -> RayRuntime {
    let Some((image, path)) = &deployment.image else {
        let FoundRelease { release, relation } = default_release(context);
        image::check_default_image(NAME, "Ray and vLLM", deployment, context, findings);
        return RayRuntime {
            image: context.image(&format!("{REPOSITORY}:{}", default_tag(context.runtime, release))),
            ray_version: leading_version(context.runtime).map(str::to_owned),
            release,
            is_exact: relation == RuntimeMatch::Same,
        };
    };
    let reported = tag_version(image);
    let found = reported.and_then(|version| find_release(RELEASES, version));
    let FoundRelease { release, relation } =
        found.unwrap_or_else(|| FoundRelease { relation: RuntimeMatch::NearestOlder, ..default_release(context) });
    // The version of an image without Ray, which is reported elsewhere, does not matter.
    let has_ray = known_images::contents(image).is_none_or(|contents| contents == ImageContents::Ray);
    if relation != RuntimeMatch::Same && has_ray {
        report_assumed_version(image, path, reported, release.version, findings);
    }
    RayRuntime {
        image: context.image(image),
        ray_version: reported.map(str::to_owned),
        release,
        is_exact: relation == RuntimeMatch::Same && image::repository_name(image) == "ray-llm",
    }
}

/// Returns the release of the default image.
fn default_release(context: &TranslationContext<'_>) -> FoundRelease {
    let found = find_release(RELEASES, context.runtime).or_else(|| find_release(RELEASES, RUNTIMES[0]));
    found.unwrap_or(FoundRelease { release: &RELEASES[0], relation: RuntimeMatch::Oldest })
}

/// Returns the tag of the default image. A runtime with a suffix (`2.52.0-py311-cu128`) is a tag itself.
fn default_tag(runtime: &str, release: &Release) -> String {
    if runtime.contains('-') {
        return runtime.to_owned();
    }
    let variant = if release.is_before(FIRST_WITH_VARIANT) { OLD_VARIANT } else { VARIANT };
    format!("{runtime}-{variant}")
}

fn report_assumed_version(
    image: &str,
    path: &FieldPath,
    reported: Option<&str>,
    release: &str,
    findings: &mut Findings<'_>,
) {
    let found = match reported {
        Some(version) => format!("the flags of Ray {version}, the version of image {image}, are not known"),
        None => format!("the Ray version of image {image} is not known"),
    };
    findings
        .report(&RAY_VERSION_ASSUMED, path, format!("{found}; engine flags are checked and written as for {release}"))
        .help(format!("use an image with a known Ray version in the tag, such as ray-llm:{}", RUNTIMES[0]));
}

/// Returns the Ray version in an image's tag: `2.56.0-py312-cu130`, `ray-2.48.0-py311-cu128`. Only images with `ray` in
/// their name count: the tag of another image is a version of something else.
fn tag_version(image: &str) -> Option<&str> {
    let (_, tag) = kubefoundry_kubernetes::image::path_and_tag(image);
    if !image::repository_name(image).split(['-', '_', '.']).any(|word| word == "ray") {
        return None;
    }
    let tag = tag?;
    leading_version(tag.strip_prefix("ray-").unwrap_or(tag))
}

#[cfg(test)]
mod tests {
    use super::tag_version;

    #[test]
    fn reads_the_version_of_a_ray_image() {
        for image in [
            "rayproject/ray-llm:2.56.0-py312-cu130",
            "localhost:5000/ray-llm:ray-2.56.0-py311-cu128",
            "registry.example.com/team/ray:2.56.0",
            "ray:2.56.0@sha256:0123",
        ] {
            assert_eq!(tag_version(image), Some("2.56.0"), "{image}");
        }
    }

    #[test]
    fn reads_no_version_from_other_images() {
        for image in
            ["ray-llm", "localhost:5000/ray-llm", "ray-llm:nightly", "ray-llm:2.56", "mistray:1.2.3", "app:1.2.3"]
        {
            assert_eq!(tag_version(image), None, "{image}");
        }
    }
}
