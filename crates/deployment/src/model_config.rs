//! Reads the facts of a model from its `config.json`, as Hugging Face's models have one.
//!
//! Families of models name the same thing differently, and a multimodal model describes its language model in a part of
//! its own. `xtask/python/model_facts` reads public models in the same way. What is absent or cannot be used is not known:
//! nothing is guessed.

use std::borrow::Cow;

use crate::codes;
use kubefoundry_diagnostics::Findings;
use kubefoundry_facts::Model;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::shorten;
use kubefoundry_yaml::{Node, Value};

/// Names of the part that describes the language model of a multimodal one.
const TEXT_PARTS: &[&str] = &["text_config", "llm_config", "language_config"];

/// Types of positions that do not stretch the context beyond the one for which the model was trained.
const PLAIN_POSITIONS: &[&str] = &["default", "mrope", "proportional"];

/// Types of layers whose cache grows with the context. Sparse attention chooses among all tokens, so it keeps them all.
const GROWING_LAYERS: &[&str] = &["full_attention", "attention", "deepseek_sparse_attention", "sparse_attention"];

/// The most that a number may be; no model comes near it. Sums over such numbers stay within 128 bits.
const MAX_NUMBER: u32 = 1 << 30;

const EXPECTED_NUMBER: &str = "a whole number up to 1073741824";

/// A configuration whose keys are searched in the language model's part first.
struct Config<'c, 'f, 'd> {
    whole: &'c Node<'c>,
    text: &'c Node<'c>,
    text_path: FieldPath,
    findings: &'f mut Findings<'d>,
}

/// Returns the facts that a `config.json` states about a model. Reports values that cannot be used, and a file without any
/// fact.
pub(crate) fn model_from_config(id: &str, root: &Node<'_>, findings: &mut Findings<'_>) -> Model {
    let part = TEXT_PARTS.iter().find_map(|part| Some((part, root.get(part).filter(|node| is_mapping(node))?)));
    let (text, text_path) = part.map_or((root, FieldPath::root()), |(key, node)| (node, FieldPath::parse(key)));
    let mut config = Config { whole: root, text, text_path, findings };
    let mut model = Model::default();
    model.id = Cow::Owned(id.to_owned());
    model.source = Cow::Borrowed("config.json");
    model.architectures = texts(root.get("architectures"));
    config.read_attention(&mut model);
    config.read_layers(&mut model);
    config.read_feed_forward(&mut model);
    model.vocab = config.number(&["vocab_size"]);
    model.tied_embeddings = config.flag("tie_word_embeddings");
    model.max_position = config.number(&["max_position_embeddings"]).map(u64::from);
    model.has_rope_scaling = config.has_rope_scaling();
    model.dtype = config.text(&["torch_dtype", "dtype"]);
    config.read_quantization(&mut model);
    if model.architectures.is_empty() && model.heads.is_none() && model.layers.is_none() {
        let message = format!(
            "the file has no facts about {id}, expected a config.json with architectures, num_attention_heads or \
             num_hidden_layers"
        );
        config.findings.report(&codes::INVALID_MODEL_CONFIG, &FieldPath::root(), message);
    }
    model
}

impl<'c> Config<'c, '_, '_> {
    /// Returns the value of the first key that has one, and its place. Null is not a value.
    fn get(&self, keys: &[&str]) -> Option<(&'c Node<'c>, FieldPath)> {
        let parts = [(self.text, &self.text_path), (self.whole, &FieldPath::root())];
        parts.into_iter().find_map(|(part, path)| {
            let found = |key: &&str| {
                Some((part.get(key).filter(|node| node.value != Value::Null)?, path.key((*key).to_owned())))
            };
            keys.iter().find_map(found)
        })
    }

    /// Returns a number above zero: configurations write 0 for what a model does not have.
    fn number(&mut self, keys: &[&str]) -> Option<u32> {
        let (node, path) = self.get(keys)?;
        match node.value {
            Value::Integer(0) => None,
            Value::Integer(number) => {
                let usable = u32::try_from(number).ok().filter(|number| *number <= MAX_NUMBER);
                if usable.is_none() {
                    self.report(&path, &number.to_string(), EXPECTED_NUMBER);
                }
                usable
            }
            _ => {
                self.report(&path, node.describe(), EXPECTED_NUMBER);
                None
            }
        }
    }

    fn text(&mut self, keys: &[&str]) -> Option<Cow<'static, str>> {
        let (node, path) = self.get(keys)?;
        let text = node.as_str().map(|text| Cow::Owned(text.to_ascii_lowercase()));
        if text.is_none() {
            self.report(&path, node.describe(), "text");
        }
        text
    }

    fn flag(&mut self, key: &str) -> Option<bool> {
        let (node, path) = self.get(&[key])?;
        if let Value::Bool(value) = node.value {
            return Some(value);
        }
        self.report(&path, node.describe(), "true or false");
        None
    }

    fn report(&mut self, path: &FieldPath, found: &str, expected: &str) {
        let message = format!("{path} is {}, expected {expected}: it is taken as unknown", shorten(found));
        self.findings.report(&codes::INVALID_MODEL_CONFIG, path, message);
    }

    fn read_attention(&mut self, model: &mut Model) {
        model.heads = self.number(&["num_attention_heads"]);
        model.kv_heads = self.number(&["num_key_value_heads"]).or(model.heads);
        // Models that were pruned by layers have other heads in each, which no fact describes.
        if self.get(&["block_configs"]).is_some() {
            model.kv_heads = None;
        }
        model.head_dim = self.number(&["head_dim", "attention_head_dim"]);
        model.value_head_dim = self.number(&["v_head_dim"]);
        model.full_kv_heads = self.number(&["num_global_key_value_heads"]);
        model.full_head_dim = self.number(&["global_head_dim"]);
        model.sliding_kv_heads = self.number(&["swa_num_key_value_heads"]);
        model.sliding_head_dim = self.number(&["swa_head_dim"]);
        model.mla_rank = self.number(&["kv_lora_rank"]);
        model.mla_rope_dim = self.number(&["qk_rope_head_dim"]);
        model.mla_nope_dim = self.number(&["qk_nope_head_dim"]);
        model.mla_query_rank = self.number(&["q_lora_rank"]);
    }

    /// Reads how many layers there are, and which of them keep every token in the cache.
    fn read_layers(&mut self, model: &mut Model) {
        let listed = self.get(&["layers_block_type"]).and_then(|(node, _)| u32::try_from(node.items().len()).ok());
        model.layers = self.number(&["num_hidden_layers"]).or(listed.filter(|layers| *layers > 0));
        let window = self.sliding_window();
        let types = self.layer_types(model.layers);
        let growing = |types: &[bool]| u32::try_from(types.iter().filter(|grows| **grows).count()).ok();
        let unknown = ["linear_attn_config", "compress_ratios", "attention_chunk_size", "block_configs"];
        let first_full = self.number(&["max_window_layers"]);
        match types {
            Some(types) if types.iter().all(|grows| *grows) => {}
            Some(types) => {
                model.is_hybrid = true;
                model.full_attention_layers = growing(&types);
            }
            None if unknown.iter().any(|key| self.get(&[key]).is_some()) => model.is_hybrid = true,
            None if window.is_some() => {
                model.is_hybrid = true;
                model.full_attention_layers = first_full.filter(|first| model.layers.is_some_and(|all| *first < all));
            }
            None => {}
        }
        model.sliding_window = window.filter(|_| model.is_hybrid);
    }

    /// Returns the tokens of a sliding window that is in use. Qwen gives a window and says with another key that it is not
    /// used.
    fn sliding_window(&mut self) -> Option<u64> {
        if self.get(&["use_sliding_window"]).is_some_and(|(node, _)| node.value == Value::Bool(false)) {
            return None;
        }
        self.number(&["sliding_window", "sliding_window_size"]).map(u64::from)
    }

    /// Returns for each layer whether its cache grows with the context, if the configuration lists them.
    fn layer_types(&self, layers: Option<u32>) -> Option<Vec<bool>> {
        let limit = layers.and_then(|layers| usize::try_from(layers).ok()).unwrap_or(usize::MAX);
        if let Some((types, _)) = self.get(&["layer_types", "layers_block_type"]) {
            let grows = |node: &Node<'_>| node.as_str().is_some_and(|kind| GROWING_LAYERS.contains(&kind));
            return Some(types.items().iter().take(limit).map(grows).collect());
        }
        if let Some((pattern, _)) = self.get(&["hybrid_override_pattern"]) {
            return Some(pattern.as_str()?.bytes().take(limit).map(|block| block == b'*').collect());
        }
        let (pattern, _) = self.get(&["hybrid_layer_pattern"])?;
        Some(pattern.items().iter().take(limit).map(|node| node.value == Value::Integer(0)).collect())
    }

    /// Reads the sizes of feed-forward layers and experts.
    fn read_feed_forward(&mut self, model: &mut Model) {
        model.hidden = self.number(&["hidden_size"]);
        model.mtp_layers = self.number(&["num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules"]);
        let is_squared = |(node, _): (&Node<'_>, FieldPath)| node.as_str() == Some("relu2");
        model.is_ungated = self.get(&["mlp_hidden_act", "hidden_act"]).is_some_and(is_squared);
        model.intermediate = self.number(&["intermediate_size"]);
        model.experts = self.number(&["n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts"]);
        if model.experts.is_none() {
            return;
        }
        model.moe_intermediate = self.number(&["moe_intermediate_size", "expert_intermediate_size"]);
        // These families give the size of experts as `intermediate_size`, and that of dense layers by a key of their own.
        let dense = self.number(&["intermediate_size_mlp", "dense_intermediate_size"]);
        if dense.is_some() {
            model.moe_intermediate = model.intermediate;
            model.intermediate = dense;
        }
        model.moe_intermediate = model.moe_intermediate.or(model.intermediate);
        model.moe_hidden = self.number(&["moe_latent_size", "routed_expert_hidden_size"]);
        let per_token = ["num_experts_per_tok", "experts_per_token", "num_experts_per_token", "top_k_experts"];
        model.experts_per_token = self.number(&per_token);
        let shared = self.number(&[
            "shared_expert_intermediate_size",
            "moe_shared_expert_intermediate_size",
            "share_expert_dim",
            "shared_intermediate_size",
        ]);
        model.shared_experts = self.number(&["n_shared_experts", "num_shared_experts"]).or(shared.map(|_| 1));
        model.shared_intermediate = shared.filter(|size| Some(*size) != model.moe_intermediate);
        model.dense_layers = self.dense_layers(model.layers);
        let is_pattern = |kind: &str| kind.bytes().filter(|block| *block == b'E').count();
        let moe_layers = match (self.get(&["hybrid_override_pattern"]), self.get(&["layers_block_type"])) {
            (Some((pattern, _)), _) => pattern.as_str().map(is_pattern),
            (None, Some((types, _))) => Some(types.items().iter().filter(|kind| kind.as_str() == Some("moe")).count()),
            (None, None) => None,
        };
        model.moe_layers = moe_layers.and_then(|count| u32::try_from(count).ok()).filter(|count| *count > 0);
    }

    /// Returns how many layers have no experts, if the configuration says so.
    fn dense_layers(&mut self, layers: Option<u32>) -> Option<u32> {
        let limit = layers.and_then(|layers| usize::try_from(layers).ok()).unwrap_or(usize::MAX);
        let count = |node: &Node<'_>, is_dense: &dyn Fn(&Node<'_>) -> bool| {
            let dense = node.items().iter().take(limit).filter(|layer| is_dense(layer)).count();
            u32::try_from(dense).ok().filter(|dense| *dense > 0)
        };
        if let Some((frequencies, _)) = self.get(&["moe_layer_freq"])
            && matches!(frequencies.value, Value::Sequence(_))
        {
            return count(frequencies, &|layer| layer.value == Value::Integer(0));
        }
        if let Some((types, _)) = self.get(&["mlp_layer_types"]) {
            return count(types, &|layer| layer.as_str() == Some("dense"));
        }
        if let Some(first) = self.number(&["first_k_dense_replace"]) {
            return Some(first);
        }
        let step = self.number(&["interleave_moe_layer_step"]).filter(|step| *step > 1)?;
        layers.map(|layers| layers - layers / step)
    }

    fn has_rope_scaling(&self) -> bool {
        let is_stretched = |description: &Node<'_>| {
            let mut types = ["rope_type", "type"].into_iter().filter_map(|key| description.get(key)?.as_str());
            types.any(|kind| !PLAIN_POSITIONS.contains(&kind))
        };
        ["rope_scaling", "rope_parameters"].iter().filter_map(|key| self.get(&[key])).any(|(positions, _)| {
            // Some families have one description for each type of layer.
            is_stretched(positions) || positions.entries().iter().any(|entry| is_stretched(&entry.node))
        })
    }

    /// Reads the quantization of the checkpoint. The modules that it leaves alone are taken as unknown.
    fn read_quantization(&mut self, model: &mut Model) {
        model.expert_dtype = self.text(&["expert_dtype"]);
        let Some((described, path)) = self.get(&["quantization_config", "compression_config"]) else { return };
        if !is_mapping(described) {
            self.report(&path, described.describe(), "a mapping");
            return;
        }
        let text = |key: &str| described.get(key)?.as_str().map(|text| Cow::Owned(text.to_ascii_lowercase()));
        // A configuration that ModelOpt wrote may lack the method.
        model.quantization = Some(text("quant_method").unwrap_or(Cow::Borrowed("modelopt")));
        model.quantization_format = text("format").or_else(|| text("quant_algo"));
        let number = |node: Option<&Node<'_>>| match node?.value {
            Value::Integer(number) => u32::try_from(number).ok().filter(|number| (1..=MAX_NUMBER).contains(number)),
            _ => None,
        };
        let block = described.get("weight_block_size").map(Node::items).unwrap_or_default();
        model.quantization_block = number(block.first()).zip(number(block.get(1)));
        let weights = described.get("config_groups").and_then(|groups| groups.get("group_0")?.get("weights"));
        model.quantization_group = number(weights.and_then(|weights| weights.get("group_size")))
            .or_else(|| number(described.get("group_size")));
        let scheme = described.get("kv_cache_scheme").or_else(|| described.get("kv_cache_quant_algo"));
        model.kv_cache_quantization = scheme.and_then(kv_cache_type);
    }
}

/// Returns the type of the KV cache that a scheme describes, by its name or by its kind and bits.
fn kv_cache_type(scheme: &Node<'_>) -> Option<Cow<'static, str>> {
    if let Some(name) = scheme.as_str() {
        return Some(Cow::Owned(name.to_ascii_lowercase()));
    }
    let name = match (scheme.get("type")?.as_str()?, &scheme.get("num_bits")?.value) {
        ("float", Value::Integer(8)) => "fp8",
        ("int", Value::Integer(8)) => "int8",
        ("float", Value::Integer(4)) => "fp4",
        _ => return None,
    };
    Some(Cow::Borrowed(name))
}

fn is_mapping(node: &Node<'_>) -> bool {
    matches!(node.value, Value::Mapping(_))
}

fn texts(node: Option<&Node<'_>>) -> Vec<Cow<'static, str>> {
    let items = node.map(Node::items).unwrap_or_default();
    items.iter().filter_map(Node::as_str).map(|text| Cow::Owned(text.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kubefoundry_diagnostics::DocumentScope;
    use kubefoundry_diagnostics::source::SourceId;
    use kubefoundry_yaml::{Limits, parse};

    /// Reads a configuration, and returns the places of the findings.
    fn read(text: &str) -> (Model, Vec<String>) {
        let parsed = parse(text, &Limits::default());
        let root = &parsed.documents.first().unwrap_or_else(|| panic!("{text}")).root;
        let scope = DocumentScope { source: SourceId(0), text, document: 0, root, object: None };
        let mut findings = Findings::new(scope);
        let model = model_from_config("acme/private", root, &mut findings);
        let places = findings.into_diagnostics().into_iter().map(|it| it.location.unwrap().path.to_string()).collect();
        (model, places)
    }

    /// A configuration gives the same facts as those that the Python reader took from it.
    #[test]
    fn the_facts_are_those_of_public_models() {
        let (model, places) = read(
            r#"{"architectures": ["DeepseekV3ForCausalLM"], "num_attention_heads": 128, "num_key_value_heads": 128,
                "v_head_dim": 128, "num_hidden_layers": 61, "kv_lora_rank": 512, "qk_rope_head_dim": 64,
                "qk_nope_head_dim": 128, "q_lora_rank": 1536, "hidden_size": 7168, "intermediate_size": 18432,
                "moe_intermediate_size": 2048, "n_routed_experts": 256, "num_experts_per_tok": 8, "n_shared_experts": 1,
                "first_k_dense_replace": 3, "num_nextn_predict_layers": 1, "vocab_size": 129280, "moe_layer_freq": 1,
                "tie_word_embeddings": false, "max_position_embeddings": 163840, "torch_dtype": "bfloat16",
                "rope_scaling": {"type": "yarn", "factor": 40},
                "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}"#,
        );
        assert!(places.is_empty(), "{places:?}");
        let mut known = kubefoundry_facts::model("deepseek-ai/DeepSeek-V3").unwrap();
        (known.id, known.source) = (model.id.clone(), model.source.clone());
        // The reader leaves the modules that are not quantized unknown.
        known.ignored_modules.clear();
        assert_eq!(model, known);
    }

    #[test]
    fn the_language_model_of_a_multimodal_one_is_described() {
        let (model, places) = read(
            r#"{"architectures": ["Gemma3ForConditionalGeneration"], "hidden_size": 1,
                "text_config": {"num_attention_heads": 8, "num_key_value_heads": null, "hidden_size": 2560,
                    "num_hidden_layers": 3, "sliding_window": 1024,
                    "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
                    "rope_parameters": {"full_attention": {"rope_type": "default"}}}}"#,
        );
        assert!(places.is_empty() && !model.has_rope_scaling);
        assert_eq!((model.heads, model.kv_heads, model.hidden), (Some(8), Some(8), Some(2560)));
        assert_eq!((model.is_hybrid, model.full_attention_layers, model.sliding_window), (true, Some(1), Some(1024)));
    }

    #[test]
    fn what_cannot_be_used_is_unknown_and_reported() {
        let (model, places) = read(
            r#"{"architectures": ["A"], "num_attention_heads": "32", "vocab_size": 99999999999999, "hidden_size": -1,
                "max_position_embeddings": 1.5, "num_experts": 0, "tie_word_embeddings": 1, "torch_dtype": 16,
                "quantization_config": "fp8", "text_config": []}"#,
        );
        let expected = [
            "num_attention_heads",
            "hidden_size",
            "vocab_size",
            "tie_word_embeddings",
            "max_position_embeddings",
            "torch_dtype",
            "quantization_config",
        ];
        assert_eq!(places, expected);
        assert_eq!((model.heads, model.vocab, model.quantization, model.experts), (None, None, None, None));
        for nothing in ["{}", "[]", "7", r#"{"model_type": "x"}"#] {
            assert_eq!(read(nothing).1, [""], "{nothing}");
        }
    }

    /// The sums over the largest numbers that are accepted do not overflow.
    #[test]
    fn the_largest_numbers_can_be_added() {
        let keys = [
            "num_attention_heads",
            "num_key_value_heads",
            "head_dim",
            "v_head_dim",
            "num_hidden_layers",
            "hidden_size",
            "intermediate_size",
            "moe_intermediate_size",
            "num_experts",
            "num_experts_per_tok",
            "n_shared_experts",
            "shared_expert_intermediate_size",
            "vocab_size",
            "max_position_embeddings",
            "num_nextn_predict_layers",
        ];
        let numbers: Vec<String> = keys.iter().map(|key| format!("{key:?}: {MAX_NUMBER}")).collect();
        for mla in ["", r#""kv_lora_rank": 1073741824, "q_lora_rank": 1073741824, "qk_rope_head_dim": 1073741824,"#] {
            for architecture in ["LlamaForCausalLM", "Qwen3MoeForCausalLM", "DeepseekV3ForCausalLM", "Unknown"] {
                let text = format!("{{\"architectures\": [{architecture:?}], {mla} {}}}", numbers.join(", "));
                let (model, places) = read(&text);
                assert!(places.is_empty(), "{places:?}");
                let settings = kubefoundry_facts::fit::Settings {
                    tensor_parallel: 8,
                    pipeline_parallel: 2,
                    expert_parallel: 8,
                    context_parallel: 1,
                    context: Some(u64::from(MAX_NUMBER)),
                    dtype: None,
                    quantization: None,
                    kv_cache_dtype: None,
                };
                let memory = kubefoundry_facts::fit::Interval::between(1 << 36, 1 << 37);
                let assessment = kubefoundry_facts::fit::assess(&model, &settings, memory, 900);
                assert!(assessment.demand.total().to_string().contains("GiB"), "{architecture}");
            }
        }
    }
}
