//! Facts about models, most of which are those of their `config.json`.

use std::borrow::Cow;

use crate::line::{Line, find};

static MODELS: &str = include_str!("../data/models.txt");

/// What is known of a model. A field is absent if it is not known, or if the model has no such thing.
///
/// Names in brackets are keys of `config.json`; families of models name the same thing differently, and
/// `xtask/python/model_facts` lists the other names. A multimodal model has the facts of its language model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Model {
    /// The id on Hugging Face, in its own spelling.
    pub id: Cow<'static, str>,
    /// The classes that the model is written for (`architectures`).
    pub architectures: Vec<Cow<'static, str>>,
    /// Attention heads (`num_attention_heads`).
    pub heads: Option<u32>,
    /// Key and value heads (`num_key_value_heads`); as many as attention heads if `config.json` does not say.
    pub kv_heads: Option<u32>,
    /// Elements of a head (`head_dim`). If absent, a head has `hidden / heads` elements, unless the model has multi-head
    /// latent attention.
    pub head_dim: Option<u32>,
    /// Elements of the value of a head (`v_head_dim`), if the model has multi-head latent attention, or if keys and values
    /// differ.
    pub value_head_dim: Option<u32>,
    /// Key and value heads of layers with full attention, if the others differ (`num_global_key_value_heads`).
    pub full_kv_heads: Option<u32>,
    /// Elements of a head of layers with full attention, if the others differ (`global_head_dim`).
    pub full_head_dim: Option<u32>,
    /// Key and value heads of layers with a sliding window, if the others differ (`swa_num_key_value_heads`).
    pub sliding_kv_heads: Option<u32>,
    /// Elements of a head of layers with a sliding window, if the others differ (`swa_head_dim`).
    pub sliding_head_dim: Option<u32>,
    /// Layers (`num_hidden_layers`). Where attention, Mamba and feed-forward blocks alternate, every block is a layer.
    pub layers: Option<u32>,
    /// Layers whose KV cache grows with the context (from `layer_types` and the like); absent if all of them, or if it is
    /// not known which.
    pub full_attention_layers: Option<u32>,
    /// Whether some layers keep less than the whole context: those with a sliding window, Mamba, linear or compressed
    /// attention (from `layer_types` and the like). Sparse attention keeps all of it.
    pub is_hybrid: bool,
    /// Tokens that layers with a sliding window keep (`sliding_window`).
    pub sliding_window: Option<u64>,
    /// Elements of the compressed keys and values of a token and layer (`kv_lora_rank`): the model has multi-head latent
    /// attention.
    pub mla_rank: Option<u32>,
    /// Elements of the rotary part of a key (`qk_rope_head_dim`), with multi-head latent attention.
    pub mla_rope_dim: Option<u32>,
    /// Elements of the other part of a key (`qk_nope_head_dim`), with multi-head latent attention.
    pub mla_nope_dim: Option<u32>,
    /// Elements of a compressed query (`q_lora_rank`), with multi-head latent attention.
    pub mla_query_rank: Option<u32>,
    /// Elements of the state of a token (`hidden_size`).
    pub hidden: Option<u32>,
    /// Elements between the matrices of a dense feed-forward layer (`intermediate_size`).
    pub intermediate: Option<u32>,
    /// Elements between the matrices of an expert (`moe_intermediate_size`).
    pub moe_intermediate: Option<u32>,
    /// Whether feed-forward layers and experts are two matrices, not three with one for a gate (`mlp_hidden_act` is
    /// `relu2`).
    pub is_ungated: bool,
    /// Elements that enter an expert, if not `hidden` (`moe_latent_size`).
    pub moe_hidden: Option<u32>,
    /// Routed experts of a layer (`n_routed_experts`, `num_experts`).
    pub experts: Option<u32>,
    /// Routed experts that a token passes in a layer (`num_experts_per_tok`).
    pub experts_per_token: Option<u32>,
    /// Experts of a layer that every token passes (`n_shared_experts`).
    pub shared_experts: Option<u32>,
    /// Elements between the matrices of a shared expert, if not `moe_intermediate` (`shared_expert_intermediate_size`).
    pub shared_intermediate: Option<u32>,
    /// Layers without experts in a model that has experts, mostly the first ones (`first_k_dense_replace`).
    pub dense_layers: Option<u32>,
    /// Layers with experts, where attention, Mamba and feed-forward blocks alternate (`layers_block_type`).
    pub moe_layers: Option<u32>,
    /// Layers for multi-token prediction, beyond `layers` (`num_nextn_predict_layers`).
    pub mtp_layers: Option<u32>,
    /// Tokens of the vocabulary (`vocab_size`).
    pub vocab: Option<u32>,
    /// Whether the output layer uses the embedding's weights (`tie_word_embeddings`).
    pub tied_embeddings: Option<bool>,
    /// Tokens of context that the model was trained or configured for (`max_position_embeddings`).
    pub max_position: Option<u64>,
    /// Whether `config.json` stretches positions (`rope_scaling`); `max_position` then is not a plain limit.
    pub has_rope_scaling: bool,
    /// Type of the weights, those that are not quantized in a quantized checkpoint (`torch_dtype`): `bfloat16`.
    pub dtype: Option<Cow<'static, str>>,
    /// Method of a quantized checkpoint (`quantization_config.quant_method`): `fp8`, `mxfp4`, `awq`, `modelopt`,
    /// `compressed-tensors`.
    pub quantization: Option<Cow<'static, str>>,
    /// Number format, if the method has several (`quantization_config.quant_algo`, `.format`): `nvfp4`, `pack-quantized`;
    /// `mixed_precision` if layers differ.
    pub quantization_format: Option<Cow<'static, str>>,
    /// Rows and columns of weights that share a scale (`quantization_config.weight_block_size`).
    pub quantization_block: Option<(u32, u32)>,
    /// Weights of a row that share a scale (`quantization_config.group_size`).
    pub quantization_group: Option<u32>,
    /// Type of the KV cache for which the checkpoint has scales (`quantization_config.kv_cache_scheme`): `fp8`.
    pub kv_cache_quantization: Option<Cow<'static, str>>,
    /// Type of the weights of experts, if they are stored in another one (`expert_dtype`): `fp4`.
    pub expert_dtype: Option<Cow<'static, str>>,
    /// Modules whose weights are not quantized (`quantization_config.ignore`, `.modules_to_not_convert`), as patterns:
    /// `layers.0-2+61.mlp.gate` is that module of layers 0 to 2 and 61, `layers.*` all layers, and `re:` starts a regular
    /// expression. Normalization layers are left out.
    pub ignored_modules: Vec<Cow<'static, str>>,
    /// Bytes of the repository's weight files as KAITO lists them. Repositories with copies count twice.
    pub file_bytes: Option<u64>,
    /// Whether the model can only be downloaded with a token.
    pub is_gated: Option<bool>,
    /// The tool call parser of vLLM that its documentation, or the model's, names for the model.
    pub tool_parser: Option<Cow<'static, str>>,
    /// The reasoning parser that vLLM's documentation names for the model.
    pub reasoning_parser: Option<Cow<'static, str>>,
    /// Where the facts are from: names and versions, separated by `+`.
    pub source: Cow<'static, str>,
}

impl Model {
    fn from_line(line: &Line<'static>) -> Self {
        let name = line.name;
        let line = line.pairs();
        let text = |key: &str| line.get(key).map(Cow::Borrowed);
        let texts = |key: &str| line.list(key).into_iter().map(Cow::Borrowed).collect();
        let flag = |key: &str| line.get(key).map(|value| value == "true");
        Self {
            id: Cow::Borrowed(name),
            architectures: texts("architectures"),
            heads: line.number("heads"),
            kv_heads: line.number("kvHeads"),
            head_dim: line.number("headDim"),
            value_head_dim: line.number("valueHeadDim"),
            full_kv_heads: line.number("fullKvHeads"),
            full_head_dim: line.number("fullHeadDim"),
            sliding_kv_heads: line.number("slidingKvHeads"),
            sliding_head_dim: line.number("slidingHeadDim"),
            layers: line.number("layers"),
            full_attention_layers: line.number("fullLayers"),
            is_hybrid: line.get("hybrid").is_some(),
            sliding_window: line.number("slidingWindow"),
            mla_rank: line.number("mlaRank"),
            mla_rope_dim: line.number("mlaRopeDim"),
            mla_nope_dim: line.number("mlaNopeDim"),
            mla_query_rank: line.number("mlaQueryRank"),
            hidden: line.number("hidden"),
            intermediate: line.number("intermediate"),
            moe_intermediate: line.number("moeIntermediate"),
            is_ungated: line.get("ungated").is_some(),
            moe_hidden: line.number("moeHidden"),
            experts: line.number("experts"),
            experts_per_token: line.number("expertsPerToken"),
            shared_experts: line.number("sharedExperts"),
            shared_intermediate: line.number("sharedIntermediate"),
            dense_layers: line.number("denseLayers"),
            moe_layers: line.number("moeLayers"),
            mtp_layers: line.number("mtpLayers"),
            vocab: line.number("vocab"),
            tied_embeddings: flag("tied"),
            max_position: line.number("maxPosition"),
            has_rope_scaling: line.get("ropeScaling").is_some(),
            dtype: text("dtype"),
            quantization: text("quantization"),
            quantization_format: text("quantizationFormat"),
            quantization_block: line.two_numbers("block", 'x'),
            quantization_group: line.number("group"),
            kv_cache_quantization: text("kvCacheQuantization"),
            expert_dtype: text("expertDtype"),
            ignored_modules: texts("ignored"),
            file_bytes: line.number("fileBytes"),
            is_gated: flag("gated"),
            tool_parser: text("toolParser"),
            reasoning_parser: text("reasoningParser"),
            source: Cow::Borrowed(line.required("source")),
        }
    }

    /// Returns whether the model has multi-head latent attention, whose heads share one compressed cache.
    pub fn has_mla(&self) -> bool {
        self.mla_rank.is_some()
    }

    /// Returns whether a tensor parallel size is one with which engines load the model: it divides the attention heads,
    /// and divides or is a multiple of the key and value heads. `None` if the heads are not known.
    ///
    /// Sources: vLLM `config/model.py` (`verify_with_parallel_config`) for attention heads, and the attention classes in
    /// `model_executor/models` for key and value heads.
    pub fn accepts_tensor_parallel(&self, size: u32) -> Option<bool> {
        let heads = self.heads?;
        let divides_heads = size > 0 && heads.is_multiple_of(size);
        let suits_kv_heads = self.has_mla()
            || self.kv_heads.is_none_or(|kv| kv > 0 && (kv.is_multiple_of(size) || size.is_multiple_of(kv)));
        Some(divides_heads && suits_kv_heads)
    }

    /// Returns the tensor parallel sizes up to `max` with which engines load the model, in ascending order; none if the
    /// heads are not known.
    pub fn tensor_parallel_sizes(&self, max: u32) -> Vec<u32> {
        (1..=max).filter(|size| self.accepts_tensor_parallel(*size) == Some(true)).collect()
    }
}

/// Finds a model by its id on Hugging Face, whatever the case of its letters.
pub fn model(id: &str) -> Option<Model> {
    find(MODELS, id).map(|line| Model::from_line(&line))
}

/// Returns all models, in the order of their ids in lower case.
#[cfg(test)]
pub(crate) fn models() -> impl Iterator<Item = Model> {
    crate::line::lines(MODELS).map(|line| Model::from_line(&line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::lines;

    #[test]
    fn lines_are_sorted_and_found() {
        let names: Vec<String> = lines(MODELS).map(|line| line.name.to_ascii_lowercase()).collect();
        assert!(names.len() >= 139 && names.is_sorted() && names.windows(2).all(|pair| pair[0] != pair[1]));
        for name in names {
            assert!(find(MODELS, &name.to_ascii_uppercase()).is_some(), "{name}");
        }
        assert_eq!((model("a"), model("zzz/zzz")), (None, None));
    }

    #[test]
    fn every_line_has_a_source() {
        for line in lines(MODELS) {
            let model = Model::from_line(&line);
            assert!(
                !model.source.is_empty() && !model.architectures.is_empty() && model.heads.is_some(),
                "{}",
                line.name
            );
        }
    }

    /// Checks conclude from the absence of a method that a model is not quantized.
    #[test]
    fn every_quantized_model_names_its_method() {
        let marks = ["awq", "gptq", "fp8", "fp4", "int4", "int8", "w8a8", "w4a16", "bnb", "4bit", "8bit"];
        for model in models().filter(|model| model.quantization.is_none()) {
            let id = model.id.to_lowercase();
            assert!(!marks.iter().any(|mark| id.contains(mark)), "{id}");
        }
    }

    /// A key that no field reads, and a field whose key no line has, would both go unnoticed: the debug text of a model
    /// shows each field that it has, so every field must differ from its default in some model, and every value of a line
    /// must occur.
    #[test]
    fn every_field_is_that_of_some_line_and_every_key_is_read() {
        let models: Vec<Model> = lines(MODELS).map(|line| Model::from_line(&line)).collect();
        let fields = |model: &Model| -> Vec<String> {
            format!("{model:#?}")
                .lines()
                .filter(|line| line.starts_with("    ") && !line.starts_with("     "))
                .map(str::to_owned)
                .collect()
        };
        let defaults = fields(&Model::default());
        for default in &defaults {
            let name = default.trim().split(':').next().unwrap();
            let is_set = |model: &Model| {
                fields(model).iter().any(|field| field.trim().starts_with(&format!("{name}:")) && field != default)
            };
            assert!(models.iter().any(is_set), "no line has {name}");
        }
        let keys: std::collections::BTreeSet<&str> = MODELS
            .lines()
            .flat_map(|line| line.split(' ').skip(1))
            .filter_map(|pair| Some(pair.split_once('=')?.0))
            .collect();
        // The name has no key.
        assert_eq!(keys.len() + 1, fields(&models[0]).iter().filter(|field| field.contains(':')).count(), "{keys:?}");
    }

    #[test]
    fn the_facts_of_a_configuration_are_those_of_its_family() {
        let deepseek = model("deepseek-ai/DeepSeek-V3").unwrap();
        assert_eq!(
            (deepseek.experts_per_token, deepseek.shared_experts, deepseek.dense_layers),
            (Some(8), Some(1), Some(3))
        );
        assert_eq!((deepseek.quantization_block, deepseek.mla_nope_dim), (Some((128, 128)), Some(128)));
        let gpt = model("openai/gpt-oss-20b").unwrap();
        assert_eq!((gpt.layers, gpt.full_attention_layers, gpt.sliding_window), (Some(24), Some(12), Some(128)));
        assert!(gpt.is_hybrid && gpt.ignored_modules.contains(&Cow::Borrowed("layers.*.self_attn")));
        let nemotron = model("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16").unwrap();
        assert_eq!((nemotron.full_attention_layers, nemotron.moe_layers), (Some(6), Some(23)));
        // Qwen 3 names a sliding window, and says with another key that it is not used.
        let qwen = model("Qwen/Qwen3-8B").unwrap();
        assert!(!qwen.is_hybrid && qwen.sliding_window.is_none());
        let awq = model("Qwen/Qwen3-8B-AWQ").unwrap();
        assert_eq!((awq.intermediate, awq.quantization.as_deref()), (qwen.intermediate, Some("awq")));
    }

    /// 28 attention heads and 4 key and value heads: 7 and 14 divide the first, but suit not the second.
    #[test]
    fn sizes_suit_both_kinds_of_heads() {
        let coder = model("Qwen/Qwen2.5-Coder-7B-Instruct").unwrap();
        assert_eq!(coder.tensor_parallel_sizes(28), [1, 2, 4, 28]);
        let phi = model("microsoft/phi-4").unwrap();
        assert_eq!(phi.tensor_parallel_sizes(8), [1, 2, 5]);
    }
}
