//! What becomes of every field of a deployment.

use crate::support::Support::{Partly, Rendered};
use crate::support::{FieldSupport, row};

/// One row for every field.
pub(super) static FIELDS: &[FieldSupport] = &[
    row("spec.model.id", Partly, "model_source; GGUF files are refused, and so is a model without an id"),
    row(
        "spec.model.servedName",
        Partly,
        "model_id, derived from the id when absent; with source custom the id itself; colons are refused",
    ),
    row("spec.model.source", Partly, "custom makes the id the model's name in the API, and is refused without an id"),
    row(
        "spec.model.storage.volumes[]",
        Partly,
        "volumes of the worker pods (the head loads no model), claims to make first; the first modelCache sets HF_HOME, \
         the first compilationCache VLLM_CACHE_ROOT, and further compilation caches are warned about",
    ),
    row(
        "spec.provider.overrides",
        Partly,
        "head.resources, head.rayStartParams, acceleratorType; routerMode is refused, other keys are warned about",
    ),
    row("spec.engine.type", Partly, "vllm; others are not run"),
    row("spec.engine.contextLength", Rendered, "engine_kwargs.max_model_len"),
    row("spec.engine.trustRemoteCode", Rendered, "engine_kwargs.trust_remote_code"),
    row("spec.engine.enablePrefixCaching", Rendered, "engine_kwargs.enable_prefix_caching"),
    row("spec.engine.enforceEager", Rendered, "engine_kwargs.enforce_eager"),
    row("spec.engine.image", Rendered, "as spec.image"),
    row("spec.engine.args.*", Partly, "engine_kwargs; flags of vLLM's own program and HTTP server are refused"),
    row("spec.engine.extraArgs[]", Partly, "engine_kwargs; flags of vLLM's own program and HTTP server are refused"),
    row("spec.serving.mode", Rendered, "build_openai_app and one worker group, or build_pd_openai_app and two"),
    row("spec.scaling.replicas", Rendered, "Serve replicas and worker pods; 0 scales from zero on the first request"),
    row("spec.scaling.prefill.replicas", Rendered, "replicas and pods of the prefill group"),
    row("spec.scaling.prefill.gpu.count", Rendered, "GPU limit of the prefill pods, and their parallelism"),
    row("spec.scaling.prefill.gpu.type", Partly, "the GPU's resource name; other than NVIDIA's needs an image"),
    row("spec.scaling.prefill.memory", Rendered, "memory request and limit of the prefill pods"),
    row("spec.scaling.decode.replicas", Rendered, "replicas and pods of the decode group"),
    row("spec.scaling.decode.gpu.count", Rendered, "GPU limit of the decode pods, and their parallelism"),
    row("spec.scaling.decode.gpu.type", Partly, "the GPU's resource name; other than NVIDIA's needs an image"),
    row("spec.scaling.decode.memory", Rendered, "memory request and limit of the decode pods"),
    row("spec.resources.gpu.count", Partly, "GPU limit of the worker pods, and their parallelism; 0 is refused"),
    row("spec.resources.gpu.type", Partly, "the GPU's resource name; other than NVIDIA's needs an image"),
    row("spec.resources.memory", Rendered, "memory request and limit of the worker pods"),
    row("spec.resources.cpu", Rendered, "CPU request of the worker pods"),
    row("spec.image", Rendered, "image of head and workers, and rayVersion when its tag says one"),
    row("spec.env[]", Rendered, "environment of head and workers"),
    row(
        "spec.podTemplate.metadata.labels.*",
        Partly,
        "labels of head and workers; a warning for those that KubeRay sets itself",
    ),
    row("spec.podTemplate.metadata.annotations.*", Rendered, "annotations of head and workers"),
    row("spec.secrets.huggingFaceToken", Rendered, "all keys of the secret as environment of head and workers"),
    row("spec.imagePullSecrets[]", Rendered, "of head and workers"),
    row("spec.nodeSelector.*", Rendered, "of the workers; the head needs no GPU node and would hold one"),
    row("spec.tolerations[]", Rendered, "of head and workers"),
];
