//! Images that upstream projects publish, and the engines that they can run.

use super::image::repository_name;
use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::{Deployment, EngineType};
use kubefoundry_diagnostics::Findings;
use kubefoundry_kubernetes::image::path_and_tag;

/// The software in a published image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageContents {
    /// Dynamo with the worker of one engine.
    Dynamo(EngineType),
    /// Ray, with or without vLLM.
    Ray,
    /// An engine with its own server.
    Engine(EngineType),
}

impl ImageContents {
    /// Returns what the image contains, for messages.
    fn describe(self) -> &'static str {
        match self {
            Self::Dynamo(EngineType::Vllm) => "Dynamo with vLLM",
            Self::Dynamo(EngineType::Sglang) => "Dynamo with SGLang",
            Self::Dynamo(_) => "Dynamo with TensorRT-LLM",
            Self::Ray => "Ray",
            Self::Engine(EngineType::Vllm) => "vLLM's own server",
            Self::Engine(EngineType::Sglang) => "SGLang's own server",
            Self::Engine(EngineType::Llamacpp) => "llama.cpp",
            Self::Engine(EngineType::Trtllm) => "TensorRT-LLM's own server",
        }
    }
}

/// Returns the contents of a published image, by the end of its repository: registries and prefixes of mirrors differ.
/// `None` for any other image.
pub fn contents(image: &str) -> Option<ImageContents> {
    let (path, _) = path_and_tag(image);
    let mut parts = path.rsplit('/');
    let (name, owner) = (parts.next().unwrap_or_default(), parts.next());
    Some(match name {
        "vllm-runtime" => ImageContents::Dynamo(EngineType::Vllm),
        "sglang-runtime" => ImageContents::Dynamo(EngineType::Sglang),
        "tensorrtllm-runtime" => ImageContents::Dynamo(EngineType::Trtllm),
        "ray-llm" => ImageContents::Ray,
        "ray" if owner == Some("rayproject") => ImageContents::Ray,
        "vllm-openai" => ImageContents::Engine(EngineType::Vllm),
        "sglang" if owner == Some("lmsysorg") => ImageContents::Engine(EngineType::Sglang),
        "llama.cpp" => ImageContents::Engine(EngineType::Llamacpp),
        _ => return None,
    })
}

/// Reports a published image that cannot run the engine. Other images are believed.
pub fn check_contents(
    deployment: &Deployment,
    program: &str,
    can_run: impl Fn(ImageContents) -> bool,
    help: &str,
    findings: &mut Findings<'_>,
) {
    let Some((image, path)) = &deployment.image else { return };
    if let Some(found) = contents(image).filter(|found| !can_run(*found)) {
        let message = format!("the image {} contains {}, expected {program}", repository_name(image), found.describe());
        findings.report(&codes::FOREIGN_IMAGE, path, message).help(help);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_images_are_known_in_every_registry() {
        for (image, expected) in [
            ("nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.4.0", Some(ImageContents::Dynamo(EngineType::Vllm))),
            ("mirror:5000/sglang-runtime@sha256:0", Some(ImageContents::Dynamo(EngineType::Sglang))),
            ("vllm/vllm-openai:v0.26.0", Some(ImageContents::Engine(EngineType::Vllm))),
            ("lmsysorg/sglang:v0.5.16", Some(ImageContents::Engine(EngineType::Sglang))),
            ("team/sglang:1", None),
            ("rayproject/ray:2.56.0", Some(ImageContents::Ray)),
            ("team/ray:2.56.0", None),
            ("nginx:1.4.0", None),
        ] {
            assert_eq!(contents(image), expected, "{image}");
        }
    }
}
