//! What becomes of every field of a deployment.

use crate::support::Support::{Partly, Rendered};
use crate::support::{FieldSupport, row};

/// One row for every field.
pub(super) static FIELDS: &[FieldSupport] = &[
    row("spec.model.id", Rendered, "the workers' --model (SGLang: --model-path); needed with source custom too"),
    row("spec.model.servedName", Rendered, "--served-model-name; derived from the id when absent"),
    row("spec.model.source", Partly, "huggingface is rendered; custom is refused without a model.id"),
    row(
        "spec.model.storage.volumes[]",
        Partly,
        "volumes of the worker pods (the frontend too where model.id is a path on one), claims to make first; the first \
         compilationCache is the operator's own, further ones and those of SGLang and TensorRT-LLM are mounted with a \
         warning; the first modelCache sets HF_HOME; one at /dev/shm is refused",
    ),
    row("spec.provider.overrides", Rendered, "routerMode, frontend, runtimeVersion; other keys are warned about"),
    row("spec.engine.type", Rendered, "backendFramework, image, command, component names; llamacpp is not run"),
    row("spec.engine.contextLength", Rendered, "--max-model-len, --context-length, --max-seq-len (with a warning)"),
    row(
        "spec.engine.trustRemoteCode",
        Rendered,
        "--trust-remote-code; a key of --override-engine-args for TensorRT-LLM",
    ),
    row("spec.engine.enablePrefixCaching", Rendered, "the engine's switch or key; false is refused with routerMode kv"),
    row("spec.engine.enforceEager", Rendered, "the engine's switch or key"),
    row("spec.engine.image", Rendered, "as spec.image"),
    row(
        "spec.engine.args.*",
        Partly,
        "flags and configuration keys; server flags and those that the operator or the serving mode sets are refused",
    ),
    row("spec.engine.extraArgs[]", Partly, "as engine.args; for TensorRT-LLM flags of the wrapper only"),
    row("spec.serving.mode", Rendered, "one worker component, or a prefill and a decode component"),
    row("spec.scaling.replicas", Rendered, "replicas of the worker, 0 included"),
    row("spec.scaling.prefill.replicas", Rendered, "replicas of the prefill worker"),
    row("spec.scaling.prefill.gpu.count", Rendered, "GPU limit of the prefill worker, and its parallelism"),
    row("spec.scaling.prefill.gpu.type", Partly, "the GPU's resource name; other than NVIDIA's needs an image"),
    row("spec.scaling.prefill.memory", Rendered, "memory request and limit of the prefill worker"),
    row("spec.scaling.decode.replicas", Rendered, "replicas of the decode worker"),
    row("spec.scaling.decode.gpu.count", Rendered, "GPU limit of the decode worker, and its parallelism"),
    row("spec.scaling.decode.gpu.type", Partly, "the GPU's resource name; other than NVIDIA's needs an image"),
    row("spec.scaling.decode.memory", Rendered, "memory request and limit of the decode worker"),
    row("spec.resources.gpu.count", Partly, "GPU limit of the worker, and its parallelism; 0 is refused"),
    row("spec.resources.gpu.type", Partly, "the GPU's resource name; other than NVIDIA's needs an image"),
    row("spec.resources.memory", Rendered, "memory request and limit of the worker"),
    row("spec.resources.cpu", Rendered, "CPU request of the worker"),
    row("spec.image", Rendered, "image of every component; a tag that is no version is warned about"),
    row(
        "spec.env[]",
        Rendered,
        "environment of the workers; what reaches the hub (HF_ENDPOINT, proxies) of the frontend too",
    ),
    row("spec.podTemplate.metadata.labels.*", Rendered, "labels of all pods"),
    row("spec.podTemplate.metadata.annotations.*", Rendered, "annotations of all pods"),
    row("spec.secrets.huggingFaceToken", Rendered, "all keys of the secret as environment of every component"),
    row("spec.imagePullSecrets[]", Rendered, "of every component"),
    row("spec.nodeSelector.*", Rendered, "of the workers; the frontend needs no GPU node and would hold one"),
    row("spec.tolerations[]", Rendered, "of every component"),
];
