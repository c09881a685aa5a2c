//! TensorRT-LLM under a wrapper, which takes few flags. Other settings are keys of the LLM API's configuration.

use crate::profile::{BooleanSetting, ConfigValue, EngineProfile, Examples, ParallelismFlags};

pub(crate) static PROFILE: EngineProfile = EngineProfile {
    display_name: "TensorRT-LLM",
    requires_gpu: true,
    table: "trtllm",
    program: "TensorRT-LLM",
    examples: Examples {
        model: "org/model",
        image: None,
        number: "max-batch-size",
        text: "revision",
        json: "speculative-config",
        list: "output-modalities",
    },
    model: "model",
    served_name: "served-model-name",
    answers_to_model: true,
    context_length: "max-seq-len",
    context_length_warning: Some((CONTEXT_LENGTH_WARNING, CONTEXT_LENGTH_HELP)),
    trust_remote_code: BooleanSetting::ConfigKey(&["trust_remote_code"], ConfigValue::Bool(true)),
    prefix_caching_on: BooleanSetting::ConfigKey(&["kv_cache_config", "enable_block_reuse"], ConfigValue::Bool(true)),
    prefix_caching_off: BooleanSetting::ConfigKey(&["kv_cache_config", "enable_block_reuse"], ConfigValue::Bool(false)),
    enforce_eager: BooleanSetting::ConfigKey(&["cuda_graph_config"], ConfigValue::Null),
    parallelism: Some(ParallelismFlags {
        tensor: "tensor-parallel-size",
        pipeline: "pipeline-parallel-size",
        // Attention data parallelism shares the tensor parallel GPUs and has no size of its own.
        data: None,
        data_inside_tensor: None,
    }),
};

/// The warning for a `contextLength` (docs/specification.md MD-6.1).
const CONTEXT_LENGTH_WARNING: &str =
    "contextLength becomes --max-seq-len, but a prebuilt TensorRT-LLM engine keeps its own limit";

const CONTEXT_LENGTH_HELP: &str = "build the engine for at least this length, or, if models are loaded from \
                                   checkpoints, which have no such limit, add to kubefoundry.yaml: severities: \
                                   {context-length-limited: off}";
