//! llama.cpp's `llama-server`.

use crate::profile::{BooleanSetting, EngineProfile, Examples};

pub(crate) static PROFILE: EngineProfile = EngineProfile {
    display_name: "llama.cpp",
    requires_gpu: false,
    table: "llama-server",
    program: "llama-server",
    examples: Examples {
        model: "org/model/model.gguf",
        image: Some("ghcr.io/ggml-org/llama.cpp:server-cuda"),
        number: "threads",
        text: "chat-template",
        json: "chat-template-kwargs",
        list: "lora",
    },
    model: "model",
    served_name: "alias",
    // Without an alias, llama-server names the model after the file that it loads.
    answers_to_model: false,
    context_length: "ctx-size",
    context_length_warning: None,
    trust_remote_code: BooleanSetting::Ignored("a GGUF file contains no code to run"),
    prefix_caching_on: BooleanSetting::Switch("cache-prompt"),
    prefix_caching_off: BooleanSetting::OffForm("cache-prompt", "no-cache-prompt"),
    enforce_eager: BooleanSetting::Ignored("llama.cpp has no eager mode"),
    // GPUs are split by layer automatically (docs/design/0008).
    parallelism: None,
};
