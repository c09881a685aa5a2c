//! Support for each field of a deployment.

use kubefoundry_provider::support::Support::{Partly, Rendered};
use kubefoundry_provider::support::{FieldSupport, row, spec};

/// Returns the fields that KubeRay treats differently from [the default](kubefoundry_provider::support::default_rows).
pub(super) fn deviations() -> Vec<FieldSupport> {
    vec![
        row(spec().model().id(), Partly, "model_source; GGUF files are refused, and so is a model without an id"),
        row(
            spec().model().served_name(),
            Partly,
            "model_id, derived from the id if absent; with source custom the id itself; colons are refused",
        ),
        row(
            spec().model().source(),
            Partly,
            "custom makes the id the model's name in the API, and is refused without an id",
        ),
        row(
            spec().model().storage().volumes(),
            Partly,
            "volumes of the worker pods (the head loads no model), generated claims come first; the first modelCache sets HF_HOME, \
         the first compilationCache VLLM_CACHE_ROOT, and further compilation caches cause a warning",
        ),
        row(
            spec().provider().overrides(),
            Partly,
            "head.resources, head.rayStartParams, acceleratorType; routerMode is refused, other keys cause a warning",
        ),
        row(spec().engine().engine_type(), Partly, "vllm; other engines are refused"),
        row(spec().engine().context_length(), Rendered, "engine_kwargs.max_model_len"),
        row(spec().engine().trust_remote_code(), Rendered, "engine_kwargs.trust_remote_code"),
        row(spec().engine().enable_prefix_caching(), Rendered, "engine_kwargs.enable_prefix_caching"),
        row(spec().engine().enforce_eager(), Rendered, "engine_kwargs.enforce_eager"),
        row(spec().engine().args(), Partly, "engine_kwargs; flags of vLLM's own program and HTTP server are refused"),
        row(
            spec().engine().extra_args(),
            Partly,
            "engine_kwargs; flags of vLLM's own program and HTTP server are refused",
        ),
        row(spec().serving().mode(), Rendered, "build_openai_app and one worker group, or build_pd_openai_app and two"),
        row(
            spec().scaling().replicas(),
            Rendered,
            "Serve replicas and worker pods; 0 scales from zero on the first request",
        ),
        row(spec().image(), Rendered, "image of head and workers, and rayVersion if its tag contains a version"),
        row(
            spec().pod_template().metadata().labels(),
            Partly,
            "labels of head and workers; labels that KubeRay sets itself cause a warning",
        ),
        row(
            spec().node_selector(),
            Rendered,
            "node selector of the workers; the head needs no GPU node and would occupy one",
        ),
    ]
}
