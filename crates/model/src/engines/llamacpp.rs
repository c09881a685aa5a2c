//! llama.cpp's `llama-server`.

use super::grammar::{Grammar, Setting};

/// How llama.cpp is told what a deployment says.
pub(super) static GRAMMAR: Grammar = Grammar {
    display_name: "llama.cpp",
    model: "model",
    served_name: "alias",
    context_length: "ctx-size",
    trust_remote_code: Setting::Ignored("a GGUF file carries no code that llama.cpp would run"),
    prefix_caching_on: Setting::Switch("cache-prompt"),
    prefix_caching_off: Setting::Off("cache-prompt", "no-cache-prompt"),
    enforce_eager: Setting::Ignored("llama.cpp has no eager mode to force"),
    // GPUs are split by layer automatically (docs/design/0008).
    parallelism: None,
};
