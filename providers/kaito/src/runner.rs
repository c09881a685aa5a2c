//! Inference of the llamacpp runner from the image's name, and the forms of model ids.

use super::overrides::Runner;
use kubefoundry_kubernetes::image::path_and_tag;
use kubefoundry_provider::image::repository_name;

/// Infers the runner of an image from its name.
pub(super) fn infer_runner(image: &str) -> Option<Runner> {
    let (path, tag) = path_and_tag(image);
    let name = repository_name(image);
    if name.contains("llama-cpp-runner") || is_aikit_runner(image) {
        Some(Runner::Download)
    } else if path.split('/').any(|part| part == "aikit") {
        Some(Runner::Aikit)
    } else if name.contains("llama-server")
        || (matches!(name, "llama.cpp" | "llama-cpp") && tag.is_some_and(|tag| tag.starts_with("server")))
    {
        Some(Runner::Server)
    } else {
        None
    }
}

/// Returns whether an image is a runner of AIKit, such as `…/aikit/runners/llama-cpp-cpu`. Unlike other AIKit images,
/// runners download a model when they start.
fn is_aikit_runner(image: &str) -> bool {
    let (path, _) = path_and_tag(image);
    let mut parts = path.rsplit('/');
    parts.next().is_some_and(|name| name.starts_with("llama-cpp"))
        && parts.next() == Some("runners")
        && parts.next() == Some("aikit")
}

/// The meaning of a model id for llama.cpp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModelRef<'i> {
    /// A file in the image or on a volume.
    Path(&'i str),
    /// A Hugging Face repository, and a file in it if the id names one.
    Repository(&'i str, Option<&'i str>),
    /// A name without an organization.
    Bare,
}

impl<'i> ModelRef<'i> {
    /// Parses a model id: an absolute path, `org/name` or `org/name/file.gguf`.
    pub(super) fn parse(id: &'i str) -> Self {
        if id.starts_with('/') {
            return Self::Path(id);
        }
        let Some((organization, rest)) = id.split_once('/') else { return Self::Bare };
        match rest.split_once('/') {
            Some((name, file)) => {
                let end = organization.len() + 1 + name.len();
                Self::Repository(id.get(..end).unwrap_or(id), Some(file))
            }
            None => Self::Repository(id, None),
        }
    }
}

/// Returns the argument that names the model of a downloading runner: LocalAI's `huggingface://org/repo/file`. AIKit's
/// runners accept that form for repositories only, and take a file by its URL (kaito-project/aikit
/// pkg/aikit2llb/inference/runner.go).
pub(super) fn download_argument(image: &str, repository: &str, file: Option<&str>) -> String {
    match file {
        Some(file) if is_aikit_runner(image) => format!("https://huggingface.co/{repository}/resolve/main/{file}"),
        Some(file) => format!("huggingface://{repository}/{file}"),
        None => format!("huggingface://{repository}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn infers_the_runner_from_the_image() {
        for (image, runner) in [
            ("ghcr.io/sozercan/llama-cpp-runner:latest", Some(Runner::Download)),
            ("ghcr.io/kaito-project/aikit/runners/llama-cpp-cuda:latest", Some(Runner::Download)),
            ("ghcr.io/kaito-project/aikit/llama3.2:3b", Some(Runner::Aikit)),
            ("ghcr.io/ggml-org/llama.cpp:server-cuda", Some(Runner::Server)),
            ("registry.example.com:5000/llama-server@sha256:abc", Some(Runner::Server)),
            ("ghcr.io/ggml-org/llama.cpp:light", None),
            ("ghcr.io/sozercan/llama3.2:3b", None),
            ("localhost:5000/model", None),
        ] {
            assert_eq!(infer_runner(image), runner, "{image}");
        }
    }

    #[test]
    fn parses_model_ids() {
        assert_eq!(ModelRef::parse("org/name"), ModelRef::Repository("org/name", None));
        assert_eq!(ModelRef::parse("org/name/m.gguf"), ModelRef::Repository("org/name", Some("m.gguf")));
        assert_eq!(ModelRef::parse("/models/m.gguf"), ModelRef::Path("/models/m.gguf"));
        assert_eq!(ModelRef::parse("name"), ModelRef::Bare);
    }

    #[test]
    fn aikit_runners_take_a_file_by_url() {
        let aikit = "ghcr.io/kaito-project/aikit/runners/llama-cpp-cpu:latest";
        assert_eq!(download_argument(aikit, "o/n", None), "huggingface://o/n");
        assert_eq!(download_argument(aikit, "o/n", Some("m.gguf")), "https://huggingface.co/o/n/resolve/main/m.gguf");
        assert_eq!(download_argument("x/llama-cpp-runner", "o/n", Some("m.gguf")), "huggingface://o/n/m.gguf");
    }
}
