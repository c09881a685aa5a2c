//! SGLang. The names are those of its `ServerArgs`; the flags of each version are in `flags/data`.

use crate::profile::{BooleanSetting, EngineProfile, Examples, ParallelismFlags};

pub(crate) static PROFILE: EngineProfile = EngineProfile {
    display_name: "SGLang",
    requires_gpu: true,
    table: "sglang",
    program: "SGLang",
    examples: Examples {
        model: "org/model",
        image: None,
        number: "max-running-requests",
        text: "revision",
        json: "preferred-sampling-params",
        list: "log-requests-target",
    },
    model: "model-path",
    served_name: "served-model-name",
    answers_to_model: true,
    context_length: "context-length",
    context_length_warning: None,
    trust_remote_code: BooleanSetting::Switch("trust-remote-code"),
    // The radix cache is on unless it is disabled; there is no flag to turn it on.
    prefix_caching_on: BooleanSetting::Default,
    prefix_caching_off: BooleanSetting::Switch("disable-radix-cache"),
    enforce_eager: BooleanSetting::ReplacedSwitch(
        "disable-cuda-graph",
        &[("cuda-graph-backend-decode", "disabled"), ("cuda-graph-backend-prefill", "disabled")],
    ),
    parallelism: Some(ParallelismFlags {
        tensor: "tp-size",
        pipeline: "pp-size",
        data: Some("dp-size"),
        data_inside_tensor: Some("enable-dp-attention"),
    }),
};
