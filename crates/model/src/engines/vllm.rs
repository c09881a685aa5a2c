//! vLLM (docs: engine arguments of the runtime's version; facts in `flags/data`).

use super::grammar::{Examples, Grammar, ParallelismFlags, Setting};

/// How vLLM is told what a deployment says.
pub(super) static GRAMMAR: Grammar = Grammar {
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
    trust_remote_code: Setting::Switch("trust-remote-code"),
    prefix_caching_on: Setting::Switch("enable-prefix-caching"),
    // Valid in every version; 0.33 adds `--disable-prefix-caching` beside it.
    prefix_caching_off: Setting::Off("enable-prefix-caching", "no-enable-prefix-caching"),
    enforce_eager: Setting::Switch("enforce-eager"),
    parallelism: Some(ParallelismFlags {
        tensor: "tensor-parallel-size",
        pipeline: "pipeline-parallel-size",
        data: Some("data-parallel-size"),
        data_inside_tensor: None,
    }),
};
