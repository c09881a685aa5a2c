//! Choice of the image and of the Ray version that decides the flags.

use super::codes::RAY_VERSION_ASSUMED;
use super::{NAME, RUNTIMES};
use crate::ir::Deployment;
use crate::provider::TranslationContext;
use crate::providers::image;
use kubefoundry_diagnostics::Findings;
use kubefoundry_yaml::field_path::FieldPath;

/// The repository of Ray's images with vLLM.
const REPOSITORY: &str = "rayproject/ray-llm";
/// The Python and CUDA versions of the default image, which are in every tag.
const VARIANT: &str = "py312-cu130";

/// The image of head and workers, which must be the same, and its Ray version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RayRuntime<'v> {
    pub(super) image: String,
    /// `rayVersion`: the version in the image's tag, if it has one.
    pub(super) ray_version: Option<String>,
    /// The version of [`RUNTIMES`] whose flags are used.
    pub(super) flags_version: &'v str,
}

/// Chooses the image and the Ray version.
pub(super) fn choose_runtime<'c>(
    deployment: &Deployment,
    context: &TranslationContext<'c>,
    findings: &mut Findings<'_>,
) -> RayRuntime<'c> {
    let default = context.runtime;
    let Some((image, path)) = &deployment.image else {
        let image = format!("{REPOSITORY}:{default}-{VARIANT}");
        image::check_default_image(NAME, "Ray and vLLM", deployment, context, findings);
        return RayRuntime {
            image: context.image(&image),
            ray_version: Some(default.to_owned()),
            flags_version: default,
        };
    };
    let reported = tag_version(image);
    let known = reported.and_then(|version| RUNTIMES.iter().find(|known| **known == version));
    if known.is_none() {
        report_assumed_version(image, path, reported, default, findings);
    }
    RayRuntime {
        image: context.image(image),
        ray_version: reported.map(str::to_owned),
        flags_version: known.copied().unwrap_or(default),
    }
}

fn report_assumed_version(
    image: &str,
    path: &FieldPath,
    reported: Option<&str>,
    default: &str,
    findings: &mut Findings<'_>,
) {
    let found = match reported {
        Some(version) => format!("the flags of Ray {version}, the version of image {image}, are not known"),
        None => format!("the Ray version of image {image} is not known"),
    };
    findings
        .report(&RAY_VERSION_ASSUMED, path, format!("{found}; engine flags are checked and written as for {default}"))
        .help(format!(
            "use an image with its Ray version in the tag, such as ray-llm:2.56.0 (known: {})",
            RUNTIMES.join(", ")
        ));
}

/// Returns the Ray version in an image's tag: `2.56.0-py312-cu130`, `ray-2.48.0-py311-cu128`. Only images with `ray` in
/// their name count: the tag of another image is a version of something else.
fn tag_version(image: &str) -> Option<&str> {
    let (path, tag) = kubefoundry_kubernetes::image::path_and_tag(image);
    let name = path.rsplit('/').next().unwrap_or(path);
    if !name.split(['-', '_', '.']).any(|word| word == "ray") {
        return None;
    }
    let tag = tag?;
    image::leading_version(tag.strip_prefix("ray-").unwrap_or(tag))
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
