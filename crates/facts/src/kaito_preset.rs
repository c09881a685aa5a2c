//! KAITO's own names for presets, each with the Hugging Face id of its model (pkg/utils/plugin/plugin.go of
//! kaito-project/kaito 0.11). KAITO takes the id as well, since 0.11.

/// The names with their ids, sorted by name.
const PRESET_ALIASES: &[(&str, &str)] = &[
    ("deepseek-r1-0528", "deepseek-ai/deepseek-r1-0528"),
    ("deepseek-r1-distill-llama-8b", "deepseek-ai/deepseek-r1-distill-llama-8b"),
    ("deepseek-r1-distill-qwen-14b", "deepseek-ai/deepseek-r1-distill-qwen-14b"),
    ("deepseek-v3-0324", "deepseek-ai/deepseek-v3-0324"),
    ("gemma-3-27b-instruct", "google/gemma-3-27b-it"),
    ("gemma-3-4b-instruct", "google/gemma-3-4b-it"),
    ("gpt-oss-120b", "openai/gpt-oss-120b"),
    ("gpt-oss-20b", "openai/gpt-oss-20b"),
    ("llama-3.1-8b-instruct", "meta-llama/llama-3.1-8b-instruct"),
    ("llama-3.3-70b-instruct", "meta-llama/llama-3.3-70b-instruct"),
    ("ministral-3-14b-instruct", "mistralai/ministral-3-14b-instruct-2512"),
    ("ministral-3-3b-instruct", "mistralai/ministral-3-3b-instruct-2512"),
    ("ministral-3-8b-instruct", "mistralai/ministral-3-8b-instruct-2512"),
    ("mistral-7b", "mistralai/mistral-7b-v0.3"),
    ("mistral-7b-instruct", "mistralai/mistral-7b-instruct-v0.3"),
    ("mistral-large-3-675b-instruct", "mistralai/mistral-large-3-675b-instruct-2512"),
    ("phi-3-medium-128k-instruct", "microsoft/phi-3-medium-128k-instruct"),
    ("phi-3-medium-4k-instruct", "microsoft/phi-3-medium-4k-instruct"),
    ("phi-3-mini-128k-instruct", "microsoft/phi-3-mini-128k-instruct"),
    ("phi-3-mini-4k-instruct", "microsoft/phi-3-mini-4k-instruct"),
    ("phi-3.5-mini-instruct", "microsoft/phi-3.5-mini-instruct"),
    ("phi-4", "microsoft/phi-4"),
    ("phi-4-mini-instruct", "microsoft/phi-4-mini-instruct"),
    ("qwen2.5-coder-32b-instruct", "qwen/qwen2.5-coder-32b-instruct"),
    ("qwen2.5-coder-7b-instruct", "qwen/qwen2.5-coder-7b-instruct"),
];

/// Returns the Hugging Face id of a preset that has a name of KAITO's own, whatever the case of its letters.
///
/// ```
/// assert_eq!(kubefoundry_facts::kaito_preset_model("phi-4"), Some("microsoft/phi-4"));
/// assert_eq!(kubefoundry_facts::kaito_preset_model("microsoft/phi-4"), None);
/// ```
pub fn kaito_preset_model(name: &str) -> Option<&'static str> {
    PRESET_ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(name)).map(|(_, id)| *id)
}
