//! Support for each field of a deployment.

use kubefoundry_provider::support::Support::{Partly, Rendered};
use kubefoundry_provider::support::{FieldSupport, row, spec};

/// Returns the fields that Dynamo treats differently from [the default](kubefoundry_provider::support::default_rows).
pub(super) fn deviations() -> Vec<FieldSupport> {
    vec![
        row(
            spec().model().id(),
            Rendered,
            "the workers' --model (SGLang: --model-path); also required with source custom",
        ),
        row(spec().model().served_name(), Rendered, "--served-model-name; derived from the id if absent"),
        row(spec().model().source(), Partly, "huggingface is rendered; custom is refused without a model.id"),
        row(
            spec().model().storage().volumes(),
            Partly,
            "volumes of the worker pods (also of the frontend, if model.id is a path on one), generated claims come first; the first \
         compilationCache is passed to the operator, further ones and those of SGLang and TensorRT-LLM are mounted with a \
         warning; the first modelCache sets HF_HOME; one at /dev/shm is refused",
        ),
        row(
            spec().provider().overrides(),
            Rendered,
            "routerMode, frontend, worker, prefill, decode, runtimeVersion; other keys cause a warning",
        ),
        row(
            spec().engine().engine_type(),
            Rendered,
            "backendFramework, image, command, component names; llamacpp is refused",
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
            "flags and configuration keys; server flags, and flags that the operator or the serving mode sets, are refused",
        ),
        row(spec().engine().extra_args(), Partly, "as engine.args; for TensorRT-LLM only flags of the wrapper"),
        row(spec().serving().mode(), Rendered, "one worker component, or a prefill and a decode component"),
        row(spec().image(), Rendered, "image of every component; a tag that is not a version causes a warning"),
        row(
            spec().env(),
            Rendered,
            "environment of the workers; variables for access to the hub (HF_ENDPOINT, proxies) also on the frontend",
        ),
        row(spec().frontend().replicas(), Rendered, "replicas of the frontend; an override that differs is refused"),
        row(
            spec().frontend().args(),
            Partly,
            "flags of the frontend; flags that the operator sets, and an override of the router mode that differs, are refused",
        ),
        row(
            spec().frontend().env(),
            Partly,
            "environment of the frontend; variables that the operator sets, and DYN_ROUTER_MODE, are refused",
        ),
        row(
            spec().frontend().resources().requests(),
            Rendered,
            "requests of the frontend, over cpu 2 and memory 4Gi; null removes one of these",
        ),
        row(spec().frontend().resources().limits(), Rendered, "limits of the frontend"),
        row(
            spec().node_selector(),
            Rendered,
            "node selector of the workers; the frontend needs no GPU node and would occupy one",
        ),
    ]
}
