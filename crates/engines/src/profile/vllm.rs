//! vLLM. The names are those of its engine arguments; the flags of each version are in `flags/data`.

use crate::profile::{BooleanSetting, EngineProfile, Examples, ParallelismFlags};

pub(crate) static PROFILE: EngineProfile = EngineProfile {
    display_name: "vLLM",
    requires_gpu: true,
    table: "vllm",
    program: "vLLM",
    examples: Examples {
        model: "org/model",
        image: None,
        number: "max-num-seqs",
        text: "revision",
        json: "override-generation-config",
        list: "ignore-patterns",
    },
    model: "model",
    served_name: "served-model-name",
    answers_to_model: true,
    context_length: "max-model-len",
    context_length_warning: None,
    trust_remote_code: BooleanSetting::Switch("trust-remote-code"),
    prefix_caching_on: BooleanSetting::Switch("enable-prefix-caching"),
    // Valid in every version; 0.33 adds `--disable-prefix-caching` beside it.
    prefix_caching_off: BooleanSetting::OffForm("enable-prefix-caching", "no-enable-prefix-caching"),
    enforce_eager: BooleanSetting::Switch("enforce-eager"),
    parallelism: Some(ParallelismFlags {
        tensor: "tensor-parallel-size",
        pipeline: "pipeline-parallel-size",
        data: Some("data-parallel-size"),
        data_inside_tensor: None,
    }),
};
