//! What becomes of the fields of a deployment.

use crate::support::Support::{Partly, Rendered};
use crate::support::{FieldSupport, row, spec};

/// The fields that are not treated as [`defaults`](crate::support::default_rows) says.
pub(super) fn deviations() -> Vec<FieldSupport> {
    vec![
        row(
            spec().model().id(),
            Rendered,
            "the workers' --model (SGLang: --model-path); needed with source custom too",
        ),
        row(spec().model().served_name(), Rendered, "--served-model-name; derived from the id when absent"),
        row(spec().model().source(), Partly, "huggingface is rendered; custom is refused without a model.id"),
        row(
            spec().model().storage().volumes(),
            Partly,
            "volumes of the worker pods (the frontend too where model.id is a path on one), claims to make first; the first \
         compilationCache is the operator's own, further ones and those of SGLang and TensorRT-LLM are mounted with a \
         warning; the first modelCache sets HF_HOME; one at /dev/shm is refused",
        ),
        row(
            spec().provider().overrides(),
            Rendered,
            "routerMode, frontend, runtimeVersion; other keys are warned about",
        ),
        row(
            spec().engine().engine_type(),
            Rendered,
            "backendFramework, image, command, component names; llamacpp is not run",
        ),
        row(
            spec().engine().context_length(),
            Rendered,
            "--max-model-len, --context-length, --max-seq-len (with a warning)",
        ),
        row(
            spec().engine().trust_remote_code(),
            Rendered,
            "--trust-remote-code; a key of --override-engine-args for TensorRT-LLM",
        ),
        row(
            spec().engine().enable_prefix_caching(),
            Rendered,
            "the engine's switch or key; false is refused with routerMode kv",
        ),
        row(
            spec().engine().args(),
            Partly,
            "flags and configuration keys; server flags and those that the operator or the serving mode sets are refused",
        ),
        row(spec().engine().extra_args(), Partly, "as engine.args; for TensorRT-LLM flags of the wrapper only"),
        row(spec().serving().mode(), Rendered, "one worker component, or a prefill and a decode component"),
        row(spec().image(), Rendered, "image of every component; a tag that is no version is warned about"),
        row(
            spec().env(),
            Rendered,
            "environment of the workers; what reaches the hub (HF_ENDPOINT, proxies) of the frontend too",
        ),
        row(spec().node_selector(), Rendered, "of the workers; the frontend needs no GPU node and would hold one"),
    ]
}
