//! Which image a deployment runs, and which Ray is in it.

use super::codes::RAY_VERSION_ASSUMED;
use super::{NAME, RUNTIMES};
use crate::ir::Deployment;
use crate::provider::TranslationContext;
use crate::providers::image;
use kubefoundry_diagnostics::Findings;
use kubefoundry_yaml::field_path::FieldPath;

/// Where Ray publishes images with vLLM.
const REPOSITORY: &str = "rayproject/ray-llm";
/// The Python and CUDA of the default image: both are in every tag.
const VARIANT: &str = "py312-cu130";

/// The image of head and workers (Ray wants one on all), and the Ray in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Runtime<'v> {
    /// The image.
    pub(super) image: String,
    /// `rayVersion`: what the image says of itself, if it does.
    pub(super) ray_version: Option<String>,
    /// The Ray version, one of [`RUNTIMES`], whose flags are used.
    pub(super) flags: &'v str,
}

/// Chooses the image.
pub(super) fn runtime<'c>(
    deployment: &Deployment,
    context: &TranslationContext<'c>,
    findings: &mut Findings<'_>,
) -> Runtime<'c> {
    let default = context.runtime;
    let Some((image, path)) = &deployment.image else {
        let image = format!("{REPOSITORY}:{default}-{VARIANT}");
        image::check_default(NAME, "Ray and vLLM", deployment, context, findings);
        return Runtime { image: context.image(&image), ray_version: Some(default.to_owned()), flags: default };
    };
    let said = tag_version(image);
    let known = said.and_then(|version| RUNTIMES.iter().find(|known| **known == version));
    if known.is_none() {
        assume(image, path, said, default, findings);
    }
    Runtime {
        image: context.image(image),
        ray_version: said.map(str::to_owned),
        flags: known.copied().unwrap_or(default),
    }
}

fn assume(image: &str, path: &FieldPath, said: Option<&str>, default: &str, findings: &mut Findings<'_>) {
    let found = match said {
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

/// The Ray version that an image's tag says: `2.56.0-py312-cu130`, `ray-2.48.0-py311-cu128`. Only an image that has
/// `ray` in its name is believed: the tag of another is a version of something else.
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
    fn a_ray_image_says_its_version() {
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
    fn other_images_say_none() {
        for image in
            ["ray-llm", "localhost:5000/ray-llm", "ray-llm:nightly", "ray-llm:2.56", "mistray:1.2.3", "app:1.2.3"]
        {
            assert_eq!(tag_version(image), None, "{image}");
        }
    }
}
