//! The cache of keys and values: what a token and a sequence take of a GPU's memory.

use super::interval::narrow;
use super::{Interval, Settings};
use crate::model::Model;

/// Architectures all of whose layers keep every key and value, if `config.json` says nothing else.
const FULL_ATTENTION: &[&str] = &[
    "DeepseekV2ForCausalLM",
    "DeepseekV32ForCausalLM",
    "DeepseekV3ForCausalLM",
    "Glm4MoeForCausalLM",
    "GlmMoeDsaForCausalLM",
    "GraniteForCausalLM",
    "KimiK25ForConditionalGeneration",
    "LlamaForCausalLM",
    "MiMoForCausalLM",
    "MiniMaxM2ForCausalLM",
    "Mistral3ForConditionalGeneration",
    "MistralLarge3ForCausalLM",
    "MixtralForCausalLM",
    "Qwen2ForCausalLM",
    "Qwen2VLForConditionalGeneration",
    "Qwen2_5_VLForConditionalGeneration",
    "Qwen3ForCausalLM",
    "Qwen3MoeForCausalLM",
    "Qwen3VLForConditionalGeneration",
    "Qwen3VLMoeForConditionalGeneration",
];

/// Architectures with layers of several kinds whose full layers have the model's heads and dimension of a head.
const HYBRID: &[&str] = &[
    "Gemma2ForCausalLM",
    "Gemma3ForCausalLM",
    "Gemma3ForConditionalGeneration",
    "GptOssForCausalLM",
    "NemotronHForCausalLM",
    "Qwen3NextForCausalLM",
    "Qwen3_5ForConditionalGeneration",
    "Qwen3_5MoeForConditionalGeneration",
];

/// Engines reserve whole blocks: of 16 tokens mostly, of 128 in some attention backends.
const MAX_BLOCK: u64 = 256;

/// The most bytes that a layer without keys and values keeps of a sequence: Mamba and linear attention have 64 to 256
/// heads with a state of 128 x 128 or fewer numbers of 4 bytes, which are 4 MiB to 16 MiB.
const MAX_STATE: u64 = 16 << 20;

/// The bytes of a token in DeepSeek's sparse attention beside the cache: a key of 128 bytes and its scale (vLLM
/// `model_executor/models/deepseek_v2.py`, the indexer's cache).
const INDEXER_BYTES: u64 = 132;

/// Returns the bytes that a token takes in the cache of each GPU.
///
/// Without latent attention: full layers x 2 x KV heads of the GPU x dimension of a head x bytes, where a GPU has at
/// least one KV head (`num_hidden_layers`, `num_key_value_heads`, `head_dim`; vLLM `config/model.py`
/// (`get_num_kv_heads`) and `v1/kv_cache_interface.py` (`FullAttentionSpec`)). With it: layers x (`kv_lora_rank` +
/// `qk_rope_head_dim`) x bytes, on each GPU alike (`MLAAttentionSpec`). Pipeline parallelism divides the layers, decode
/// context parallelism the tokens. Layers not known to keep every token count 0 in the lower bound.
///
/// ```
/// use kubefoundry_facts::fit::{Settings, kv_cache_per_token};
/// let model = kubefoundry_facts::model("meta-llama/Llama-3.1-8B-Instruct").unwrap();
/// let bytes = kv_cache_per_token(&model, &Settings::default());
/// assert_eq!((bytes.min, bytes.max), (131_072, Some(131_072)));
/// ```
pub fn kv_cache_per_token(model: &Model, settings: &Settings<'_>) -> Interval {
    let (Some(layers), Some(numbers)) = (model.layers.map(u64::from), numbers_per_layer(model, settings)) else {
        return Interval::UNKNOWN;
    };
    let (min_bits, max_bits) = bits(model, settings);
    let [pipeline, context] =
        [settings.pipeline_parallel, settings.context_parallel].map(|size| u64::from(size.max(1)));
    let shared = |number: u128| narrow(number / u128::from(context));
    let bytes = |layers: u64, bits: u64| u128::from(layers) * u128::from(numbers) * u128::from(bits);
    let min = shared(bytes(full_layers(model), min_bits) / 8 / u128::from(pipeline));
    let stage = layers.div_ceil(pipeline);
    let mut scales = 0;
    if model.has_mla() {
        // An FP8 cache with latent attention has 656 bytes for 576 numbers (vLLM `fp8_ds_mla`).
        scales = stage.saturating_mul(numbers / 4 + if has_indexer(model) { INDEXER_BYTES } else { 0 });
    } else if max_bits == 8 {
        // Formats with a scale for each token and head.
        scales = stage.saturating_mul(numbers / 8);
    }
    let is_exact = max_bits > 8 && !has_indexer(model);
    let max = bytes(stage, max_bits).div_ceil(8) + if is_exact { 0 } else { u128::from(scales) };
    Interval::between(min, narrow(max.div_ceil(u128::from(context))))
}

/// Returns the bytes that a sequence of a context takes in the cache of each GPU: those of its tokens, in whole blocks,
/// and what layers without keys and values keep.
///
/// ```
/// use kubefoundry_facts::fit::{Settings, kv_cache_per_sequence};
/// let model = kubefoundry_facts::model("meta-llama/Llama-3.1-8B-Instruct").unwrap();
/// assert_eq!(kv_cache_per_sequence(&model, &Settings::default(), 131_072).to_string(), "16.0 GiB");
/// ```
pub fn kv_cache_per_sequence(model: &Model, settings: &Settings<'_>, tokens: u64) -> Interval {
    let token = kv_cache_per_token(model, settings);
    let reserved = tokens.saturating_add(MAX_BLOCK - 1) / MAX_BLOCK * MAX_BLOCK;
    Interval {
        min: token.min.saturating_mul(tokens),
        max: token.max.map(|max| max.saturating_mul(reserved).saturating_add(states(model, settings))),
    }
}

/// Returns the most tokens of a sequence whose cache certainly takes no more than these bytes.
pub(super) fn tokens_in(model: &Model, settings: &Settings<'_>, bytes: u64) -> Option<u64> {
    let token = kv_cache_per_token(model, settings).max.filter(|max| *max > 0)?;
    let tokens = bytes.checked_sub(states(model, settings))? / token / MAX_BLOCK * MAX_BLOCK;
    let tokens = model.max_position.map_or(tokens, |max| tokens.min(max));
    (tokens > 0).then_some(tokens)
}

/// Returns the most bytes that the layers without keys and values keep of a sequence.
fn states(model: &Model, settings: &Settings<'_>) -> u64 {
    let layers = u64::from(model.layers.unwrap_or_default());
    let has_window_alone = is_of(model, &["GptOss", "Gemma2", "Gemma3", "Mistral", "Phi3", "Llama"]);
    let others = if has_window_alone { 0 } else { layers.saturating_sub(full_layers(model)) };
    others.div_ceil(u64::from(settings.pipeline_parallel.max(1))).saturating_mul(MAX_STATE)
}

/// Returns how many layers are known to keep every key and value.
fn full_layers(model: &Model) -> u64 {
    let is_in = |list: &[&str]| model.architectures.iter().any(|architecture| list.contains(&architecture.as_ref()));
    let layers = model.layers.unwrap_or_default();
    let full = match model.full_attention_layers {
        Some(full) if is_in(FULL_ATTENTION) || is_in(HYBRID) => full.min(layers),
        None if !model.is_hybrid && is_in(FULL_ATTENTION) => layers,
        _ => 0,
    };
    u64::from(full)
}

/// Returns the numbers that a full layer keeps of a token on each GPU.
fn numbers_per_layer(model: &Model, settings: &Settings<'_>) -> Option<u64> {
    if let Some(rank) = model.mla_rank {
        return Some(u64::from(rank) + u64::from(model.mla_rope_dim?));
    }
    let heads = u64::from(model.kv_heads?.div_ceil(settings.tensor_parallel.max(1)).max(1));
    Some((2 * heads).saturating_mul(u64::from(head_dim(model)?)))
}

/// Returns the dimension of a head: hidden size / heads, if `config.json` does not say. Gemma has a default of its own.
pub(super) fn head_dim(model: &Model) -> Option<u32> {
    if is_of(model, &["Gemma"]) {
        return model.head_dim;
    }
    model.head_dim.or_else(|| {
        let (hidden, heads) = (model.hidden?, model.heads.filter(|heads| *heads > 0)?);
        (hidden % heads == 0).then_some(hidden / heads)
    })
}

/// Returns the fewest and the most bits of a number in the cache (`--kv-cache-dtype`). `auto` is the model's type, but
/// the checkpoint's own if that one names a type for the cache (`kv_cache_scheme`, `kv_cache_quant_algo`), as those
/// of llm-compressor and ModelOpt do, and 8 bits with DeepSeek's sparse attention in vLLM.
fn bits(model: &Model, settings: &Settings<'_>) -> (u64, u64) {
    let name = settings.kv_cache_dtype.unwrap_or("auto").to_ascii_lowercase();
    match name.as_str() {
        "auto" => {
            let scheme = super::scheme::scheme(model, settings);
            let [min, max] = [scheme.plain.min, scheme.plain.max].map(|bits| u64::from(bits / 1000));
            let own = model.kv_cache_quantization.as_deref();
            let may_be_smaller =
                own.is_some() || has_indexer(model) || (scheme.is_checkpoint && !has_plain_cache(model));
            let has_four = own.map_or(scheme.quantized.min < 5_000, |own| !own.contains('8'));
            let least = if has_four { 4 } else { 8 };
            (if may_be_smaller { min.min(least) } else { min }, max)
        }
        "half" | "float16" | "fp16" | "bfloat16" | "bf16" => (16, 16),
        "float" | "float32" | "fp32" => (32, 32),
        name if name.contains("fp4") || name.contains("int4") => (4, 8),
        name if name.contains("fp8") || name.contains("int8") => (8, 8),
        _ => (1, 32),
    }
}

/// Whether the checkpoint is of a kind that names no type for the cache.
fn has_plain_cache(model: &Model) -> bool {
    match model.quantization.as_deref() {
        Some("fp8") => model.quantization_block.is_some(),
        Some(method) => ["mxfp4", "awq", "gptq"].contains(&method),
        None => false,
    }
}

fn has_indexer(model: &Model) -> bool {
    is_of(model, &["DeepseekV32", "GlmMoeDsa"])
}

pub(super) fn is_of(model: &Model, families: &[&str]) -> bool {
    model.architectures.iter().any(|architecture| families.iter().any(|family| architecture.starts_with(family)))
}
