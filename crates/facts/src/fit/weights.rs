//! The weights that each GPU holds.

use std::ops::Range;

use super::interval::narrow;
use super::kv_cache::{head_dim, is_of};
use super::scheme::{Bits, Scheme, scheme};
use super::{Interval, Settings};
use crate::model::Model;

/// What the layers of a family of architectures consist of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Family {
    mixer: Mixer,
    feed_forward: FeedForward,
}

/// The part of a layer that mixes tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mixer {
    /// Attention with the sizes of `config.json` in every layer.
    Attention,
    /// Attention of unknown shape, or none in some layers: nothing is certain.
    Loose,
}

/// The part of a layer that does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FeedForward {
    /// Experts in every layer, or in none.
    Regular,
    /// Experts in all but the dense layers, of which `config.json` says how many (`first_k_dense_replace`,
    /// `moe_layer_freq`, `interleave_moe_layer_step`). Any number of layers may be dense if it does not.
    Leading,
    /// Experts and a dense layer in every layer.
    Both,
    /// Layers that are experts alone, of which `config.json` lists the positions, among others. They have two matrices.
    Alone,
}

/// Families by the beginning of `architectures`; the first that matches counts. Others are not known: their weights are
/// known from the sizes of their files alone.
///
/// Source: the model files of vLLM 0.33 (`model_executor/models`) and each family's `config.json`.
const FAMILIES: &[(&str, Family)] = &[
    ("DeepseekV4", Family::new(Mixer::Loose, FeedForward::Regular)),
    ("Deepseek", Family::new(Mixer::Attention, FeedForward::Leading)),
    ("Gemma2", Family::new(Mixer::Attention, FeedForward::Regular)),
    ("Gemma3For", Family::new(Mixer::Attention, FeedForward::Regular)),
    ("Gemma4", Family::new(Mixer::Loose, FeedForward::Both)),
    ("GlmMoeDsa", Family::new(Mixer::Attention, FeedForward::Leading)),
    ("Glm4Moe", Family::new(Mixer::Attention, FeedForward::Leading)),
    ("GptOss", Family::new(Mixer::Attention, FeedForward::Regular)),
    ("GraniteForCausalLM", Family::new(Mixer::Attention, FeedForward::Regular)),
    ("KimiK25", Family::new(Mixer::Attention, FeedForward::Leading)),
    ("KimiK3", Family::new(Mixer::Loose, FeedForward::Leading)),
    ("Llama4", Family::new(Mixer::Attention, FeedForward::Leading)),
    ("LlamaForCausalLM", Family::new(Mixer::Attention, FeedForward::Regular)),
    ("MiMoForCausalLM", Family::new(Mixer::Attention, FeedForward::Regular)),
    ("MiMoV2Flash", Family::new(Mixer::Loose, FeedForward::Leading)),
    ("MiniMaxM2", Family::new(Mixer::Attention, FeedForward::Regular)),
    ("MiniMaxM3", Family::new(Mixer::Loose, FeedForward::Leading)),
    ("Mistral", Family::new(Mixer::Attention, FeedForward::Leading)),
    ("Mixtral", Family::new(Mixer::Attention, FeedForward::Regular)),
    ("NemotronHFor", Family::new(Mixer::Loose, FeedForward::Alone)),
    ("Phi3ForCausalLM", Family::new(Mixer::Attention, FeedForward::Regular)),
    ("Qwen2_5_VL", Family::new(Mixer::Attention, FeedForward::Regular)),
    ("Qwen2ForCausalLM", Family::new(Mixer::Attention, FeedForward::Regular)),
    ("Qwen2VL", Family::new(Mixer::Attention, FeedForward::Regular)),
    ("Qwen3For", Family::new(Mixer::Attention, FeedForward::Regular)),
    ("Qwen3Moe", Family::new(Mixer::Attention, FeedForward::Regular)),
    ("Qwen3VL", Family::new(Mixer::Attention, FeedForward::Regular)),
    ("Qwen3Next", Family::new(Mixer::Loose, FeedForward::Regular)),
    ("Qwen3_5", Family::new(Mixer::Loose, FeedForward::Regular)),
    ("Step3p7", Family::new(Mixer::Loose, FeedForward::Leading)),
];

impl Family {
    const fn new(mixer: Mixer, feed_forward: FeedForward) -> Self {
        Self { mixer, feed_forward }
    }

    fn of(model: &Model) -> Option<Self> {
        FAMILIES.iter().find(|(start, _)| is_of(model, &[start])).map(|(_, family)| *family)
    }
}

/// The weights of a mixer of unknown shape are at most this multiple of the square of the hidden size. Of the models in
/// aiconfigurator-core 0.12 with such layers, Qwen3.5-122B-A10B has the most: 9.4 times.
const MAX_MIXER_SQUARES: u128 = 16;

/// Vision and audio encoders: the largest of the models here have some 1.4 billion weights of 16 bits.
const MAX_ENCODER: u64 = 4 << 30;

/// A repository's files hold the model's weights once or twice (`original/` beside `model-*.safetensors`), and some
/// things that no engine loads. In tenths.
const MAX_COPIES_TENTHS: u128 = 21;

/// What engines hold above what they load: alignment, padding, layers that a quantization leaves alone. vLLM reports
/// 2.5 % more for Qwen3-4B on ROCm and 2.9 % for Llama 3.1 405B FP8 than the formulas give at most.
const MAX_PADDING_PERMILLE: u32 = 50;

/// Families without shared experts.
const NO_SHARED_EXPERTS: &[&str] = &["GptOss", "MiniMaxM2", "Mixtral", "Qwen3Moe", "Qwen3VLMoe"];

/// Returns the bytes of weights on the GPU that has the most of them.
///
/// The sum of, with h the hidden size (`hidden_size`):
///
/// - the embedding and the output layer: `vocab_size` x h each, or once if they are tied (`tie_word_embeddings`);
/// - attention: h x head dimension x (2 x heads + 2 x KV heads) for each layer; with latent attention h x (query rank +
///   KV rank + rotary dimension) + query rank x heads x (both dimensions of a key) + KV rank x heads x (dimensions of a
///   key without rotary and of a value) + heads x value dimension x h (`q_lora_rank`, `kv_lora_rank`,
///   `qk_rope_head_dim`, `qk_nope_head_dim`, `v_head_dim`);
/// - feed-forward: 3 x h x `intermediate_size` for each dense layer;
/// - experts: 3 x h x `moe_intermediate_size` for each routed and shared one, and a router of h x experts.
///
/// each times its bits (see [`Settings`]): vLLM `model_executor/models` (`llama.py`, `qwen3_moe.py`, `deepseek_v2.py`,
/// `gpt_oss.py`). Tensor parallelism divides all but the router and the compressing matrices of latent attention, KV
/// heads down to one of each GPU; expert parallelism divides routed experts; pipeline parallelism divides the layers
/// (`distributed/utils.py`, `get_pp_indices`). The lower bound is what an even spread gives. The upper bound has
/// the fullest stage, biases, encoders, what latent attention keeps twice, and 5 % for padding.
///
/// Files say the same within bounds: what is loaded is at least their size / 2.1, and at most their size. If both are
/// known, the narrower bounds count.
///
/// ```
/// use kubefoundry_facts::fit::{Settings, weights};
/// let model = kubefoundry_facts::model("meta-llama/Llama-3.3-70B-Instruct").unwrap();
/// let bytes = weights(&model, &Settings::default());
/// assert!(bytes.min <= 141_107_412_992 && bytes.max.unwrap() >= 141_107_412_992);
/// ```
pub fn weights(model: &Model, settings: &Settings<'_>) -> Interval {
    let scheme = scheme(model, settings);
    let split = Split::new(settings);
    let both = |split: &Split| (computed(model, &scheme, split), from_files(model, &scheme, split));
    let (of_sizes, of_files) = both(&split);
    // Whether they contradict each other is decided before anything is divided, so that more GPUs change nothing of it.
    let (all_sizes, all_files) = both(&Split { tensor: 1, pipeline: 1, expert: 1 });
    let agree = all_sizes.agrees(all_files);
    let Interval { min, max } = if agree { of_sizes.both(of_files) } else { of_sizes.either(of_files) };
    let padded = max.map(|max| Interval::exactly(max).permille(1000 + MAX_PADDING_PERMILLE));
    Interval { min, max: padded.and_then(|padded| padded.max) }
}

/// Over how many GPUs weights are spread.
#[derive(Debug, Clone, Copy)]
struct Split {
    tensor: u128,
    pipeline: u128,
    expert: u128,
}

impl Split {
    fn new(settings: &Settings<'_>) -> Self {
        let size = |size: u32| u128::from(size.max(1));
        Self {
            tensor: size(settings.tensor_parallel),
            pipeline: size(settings.pipeline_parallel),
            expert: size(settings.expert_parallel),
        }
    }

    /// The most GPUs over which any engine spreads something that is not attention.
    fn widest(&self) -> u128 {
        self.tensor.max(self.expert)
    }
}

/// Bytes of a part on a GPU, as bounds.
#[derive(Debug, Clone, Copy, Default)]
struct Part {
    min: u128,
    max: u128,
}

impl Part {
    fn of(weights: u128, bits: Bits) -> Self {
        Self::between(weights, weights, bits)
    }

    fn between(min: u128, max: u128, bits: Bits) -> Self {
        Self {
            min: min.saturating_mul(u128::from(bits.min)) / 8000,
            max: max.saturating_mul(u128::from(bits.max)).div_ceil(8000),
        }
    }

    fn plus(self, other: Self) -> Self {
        Self { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    fn times(self, times: u128) -> Self {
        Self { min: self.min.saturating_mul(times), max: self.max.saturating_mul(times) }
    }

    /// Divides by the most GPUs that share it for the lower bound, and by the fewest for the upper one.
    fn over(self, most: u128, fewest: u128) -> Self {
        Self { min: self.min / most.max(1), max: self.max.div_ceil(fewest.max(1)) }
    }
}

/// Returns the weights as the sizes in `config.json` give them.
fn computed(model: &Model, scheme: &Scheme, split: &Split) -> Interval {
    let (Some(family), Some(hidden), Some(layers)) = (Family::of(model), model.hidden, model.layers) else {
        return Interval::UNKNOWN;
    };
    let (hidden, layers) = (u128::from(hidden), u128::from(layers));
    let attention = attention(model, family, hidden, scheme, split);
    // Norms, biases and routers are small; the lower bound goes without them.
    let small = Part { min: 0, max: Part::of(hidden * 16, scheme.plain).max };
    let stage = layers.div_ceil(split.pipeline);
    let mixers = Part {
        min: attention.min.saturating_mul(layers) / split.pipeline,
        max: attention.plus(small).times(stage).max,
    };
    let forward = feed_forward(model, family, hidden, layers, scheme, split);
    let (ends, has_ends) = embeddings(model, hidden, scheme, split);
    let min = mixers.min.saturating_add(u128::from(forward.min)).saturating_add(ends.min);
    let max = forward.max.filter(|_| has_ends).map(|forward| {
        let encoder = if has_encoder(model) { MAX_ENCODER } else { 0 };
        narrow(mixers.max.saturating_add(u128::from(forward)).saturating_add(ends.max)).saturating_add(encoder)
    });
    Interval { min: narrow(min), max }
}

/// Returns the bytes of attention that a GPU has of a layer.
fn attention(model: &Model, family: Family, hidden: u128, scheme: &Scheme, split: &Split) -> Part {
    let bits = of_part(model, scheme, "attention");
    let at_most = Part::between(0, hidden * hidden * MAX_MIXER_SQUARES, bits).over(1, split.tensor);
    let exact = match family.mixer {
        Mixer::Attention if model.has_mla() => latent_attention(model, hidden, bits, scheme, split),
        Mixer::Attention => grouped_attention(model, hidden, bits, split),
        Mixer::Loose => None,
    };
    exact.unwrap_or(at_most)
}

/// Returns the bytes of attention whose KV heads each serve a group of heads.
fn grouped_attention(model: &Model, hidden: u128, bits: Bits, split: &Split) -> Option<Part> {
    let [heads, kv_heads, dim] = [model.heads?, model.kv_heads?, head_dim(model)?].map(u128::from);
    let queries = Part::of(2 * hidden * heads * dim, bits).over(split.tensor, split.tensor);
    let kv = kv_heads.div_ceil(split.tensor).max(1);
    Some(queries.plus(Part::of(2 * hidden * kv * dim, bits)))
}

/// Returns the bytes of multi-head latent attention.
fn latent_attention(model: &Model, hidden: u128, bits: Bits, scheme: &Scheme, split: &Split) -> Option<Part> {
    let [heads, rank, rope] = [model.heads?, model.mla_rank?, model.mla_rope_dim?].map(u128::from);
    let [nope, value, query] = [model.mla_nope_dim?, model.value_head_dim?, model.mla_query_rank?].map(u128::from);
    let compressing = Part::of(hidden * (rank + rope + query), bits);
    let queries = heads * (nope + rope) * if query > 0 { query } else { hidden };
    let keys_and_values = rank * heads * (nope + value);
    let spread = Part::of(queries + keys_and_values + heads * value * hidden, bits);
    // vLLM keeps the matrices of keys and values once more without quantization, to multiply them into queries and
    // outputs; DeepSeek's sparse attention has an indexer.
    let twice = Part::of(keys_and_values, scheme.plain).max;
    let indexer = if is_of(model, &["DeepseekV32", "GlmMoeDsa"]) { hidden * hidden / 2 } else { 0 };
    let more = Part { min: 0, max: twice.saturating_add(Part::of(indexer, scheme.plain).max) };
    Some(compressing.plus(spread.plus(more).over(split.tensor, split.tensor)))
}

/// Returns the bytes of all feed-forward layers that a GPU has.
fn feed_forward(model: &Model, family: Family, hidden: u128, layers: u128, scheme: &Scheme, split: &Split) -> Interval {
    let stage = layers.div_ceil(split.pipeline);
    let width = model.intermediate.map(u128::from);
    let dense =
        |width: u128| Part::of(3 * hidden * width, of_part(model, scheme, "dense")).over(split.widest(), split.tensor);
    let alone = family.feed_forward == FeedForward::Alone;
    if alone && model.experts.is_none() {
        // A layer that is feed-forward alone is no larger than the bound of one that mixes: it has 7 to 8 squares.
        return Interval::exactly(0);
    }
    let Some(experts) = model.experts.filter(|experts| *experts > 0).map(u128::from) else {
        // A family that always has experts, though their number is not known.
        let may_have_experts = model.moe_intermediate.is_some() || is_of(model, ALWAYS_EXPERTS);
        return match width.map(dense) {
            Some(_) | None if may_have_experts => Interval::UNKNOWN,
            Some(dense) => Interval::between(
                narrow(dense.min.saturating_mul(layers) / split.pipeline),
                narrow(dense.max.saturating_mul(stage)),
            ),
            None => Interval::UNKNOWN,
        };
    };
    let Some(expert_width) = model.moe_intermediate.or(model.intermediate).map(u128::from) else {
        return Interval::UNKNOWN;
    };
    let matrices = if alone { 2 } else { 3 };
    let inner = model.moe_hidden.map_or(hidden, u128::from);
    let size = Expert { matrices, hidden: inner, width: expert_width };
    let routed = routed_experts(experts, size, of_part(model, scheme, "experts"), scheme, split);
    let shared_bits = of_part(model, scheme, "shared");
    let shared = match (model.shared_intermediate, model.shared_experts) {
        (Some(width), _) => Part::of(matrices * hidden * u128::from(width), shared_bits),
        (None, Some(count)) => Part::of(matrices * hidden * expert_width * u128::from(count), shared_bits),
        (None, None) if is_of(model, NO_SHARED_EXPERTS) => Part::default(),
        // None, or up to two.
        (None, None) => Part::between(0, 3 * hidden * expert_width * 2, shared_bits),
    };
    // With expert parallelism some engines have the shared experts on each GPU.
    let shared = shared.over(split.widest(), if split.expert > 1 { 1 } else { split.tensor });
    let router = Part { min: 0, max: Part::of(hidden * experts, Bits { min: 0, max: 32_000 }).max };
    // What leads into the size of experts and out of it.
    let latent = if model.moe_hidden.is_some() { Part::of(2 * hidden * inner, scheme.plain).max } else { 0 };
    let with_experts = routed.plus(shared).plus(router).plus(Part { min: 0, max: latent });
    let leading = u128::from(model.dense_layers.unwrap_or_default()).min(layers);
    let dense_layer = width.map_or(Part { min: 0, max: with_experts.max }, dense);
    let (min, max) = match family.feed_forward {
        FeedForward::Leading if model.dense_layers.is_none() => {
            let fuller = with_experts.max.max(dense_layer.max);
            (with_experts.min.min(dense_layer.min).saturating_mul(layers), fuller.saturating_mul(stage))
        }
        FeedForward::Regular | FeedForward::Leading => {
            let all = with_experts.min.saturating_mul(layers - leading);
            let experts_here = (layers - leading).min(stage);
            let fuller = with_experts.max.max(if leading > 0 { dense_layer.max } else { 0 });
            let rest = dense_layer.max.saturating_mul(stage - experts_here);
            let max = if fuller > with_experts.max {
                fuller.saturating_mul(stage)
            } else {
                with_experts.max.saturating_mul(experts_here).saturating_add(rest)
            };
            (all.saturating_add(dense_layer.min.saturating_mul(leading)), max)
        }
        FeedForward::Alone => {
            let Some(blocks) = model.moe_layers else { return Interval::UNKNOWN };
            let blocks = u128::from(blocks).min(layers);
            (with_experts.min.saturating_mul(blocks), with_experts.max.saturating_mul(blocks.min(stage)))
        }
        FeedForward::Both => {
            let both = with_experts.plus(Part { min: dense_layer.min, max: dense_layer.max.saturating_mul(2) });
            (both.min.saturating_mul(layers), both.max.saturating_mul(stage))
        }
    };
    Interval::between(narrow(min / split.pipeline), narrow(max))
}

/// Families of which no member is without experts.
const ALWAYS_EXPERTS: &[&str] = &[
    "DeepseekV2",
    "DeepseekV3",
    "DeepseekV4",
    "Glm4Moe",
    "GlmMoeDsa",
    "GptOss",
    "KimiK25",
    "Llama4",
    "MiMoV2Flash",
    "MiniMax",
    "MistralLarge3",
    "Mistral3",
    "Gemma4",
    "Mixtral",
    "Qwen3Moe",
    "Qwen3Next",
    "Qwen3VLMoe",
    "Qwen3_5Moe",
    "Step3p7",
];

/// The size of an expert.
#[derive(Debug, Clone, Copy)]
struct Expert {
    matrices: u128,
    hidden: u128,
    width: u128,
}

/// Returns the bytes of the routed experts of a layer on a GPU.
fn routed_experts(experts: u128, size: Expert, bits: Bits, scheme: &Scheme, split: &Split) -> Part {
    let Expert { matrices, hidden, width } = size;
    let least = Part::of(matrices * hidden * width * experts, bits).min / split.widest();
    // Whole experts with expert parallelism, slices of all of them without; MXFP4 kernels take multiples of 256.
    let pad = |size: u128| if scheme.pads_experts { size.next_multiple_of(256) } else { size };
    let slices = (split.tensor / split.expert).max(1);
    let here = experts.div_ceil(split.expert);
    let (slice, padded) = (pad(width.div_ceil(slices)), pad(hidden));
    let biases = Part::of(here * (2 * slice + padded), scheme.plain).max;
    Part { min: least, max: Part::of(matrices * padded * slice * here, bits).max.saturating_add(biases) }
}

/// Returns the bytes of the embedding and the output layer, and whether the upper bound is known.
///
/// With pipeline parallelism a stage has one of them.
fn embeddings(model: &Model, hidden: u128, scheme: &Scheme, split: &Split) -> (Part, bool) {
    let Some(vocab) = model.vocab.map(u128::from) else {
        return (Part::default(), false);
    };
    let plain = Part::of(vocab * hidden, scheme.plain);
    let head = Part::between(
        if model.tied_embeddings == Some(false) { vocab * hidden } else { 0 },
        if model.tied_embeddings == Some(true) { 0 } else { vocab * hidden },
        Bits { min: scheme.quantized.min.min(scheme.plain.min), max: scheme.plain.max },
    );
    // Embeddings of some GGUF and bitsandbytes checkpoints are quantized, too.
    let embedding = Part { min: if scheme.quantized.min < 4_000 { 0 } else { plain.min }, max: plain.max };
    let both = embedding.plus(head);
    let max = if split.pipeline > 1 { plain.max } else { both.max };
    (Part { min: both.min / split.pipeline, max }.over(split.widest(), split.tensor), true)
}

/// Returns the bits of a part of the layers: `attention`, `dense`, `shared` or `experts`.
fn of_part(model: &Model, scheme: &Scheme, part: &str) -> Bits {
    if !scheme.is_checkpoint {
        return scheme.quantized;
    }
    let either =
        Bits { min: scheme.quantized.min.min(scheme.plain.min), max: scheme.quantized.max.max(scheme.plain.max) };
    if model.ignored_modules.is_empty() {
        // Many checkpoints leave attention and shared experts alone, and some all but the experts.
        let is_certain = part == "experts" || (part == "dense" && model.experts.is_none());
        return if is_certain { scheme.quantized } else { either };
    }
    let (layers, dense) = (model.layers.unwrap_or(u32::MAX), model.dense_layers.unwrap_or_default());
    let layers = match part {
        "shared" | "experts" => dense..layers,
        "dense" if model.experts.is_some() => 0..model.dense_layers.unwrap_or(layers),
        _ => 0..layers,
    };
    let patterns = model.ignored_modules.iter().filter(|pattern| has_layer_of(pattern, &layers));
    let ignored = patterns.map(|pattern| ignores(pattern, part)).max().unwrap_or(Ignored::No);
    match ignored {
        Ignored::No => scheme.quantized,
        Ignored::Partly => either,
        Ignored::Wholly => scheme.plain,
    }
}

/// Whether a pattern of ignored modules may mean one of these layers: `layers.0-2+61.mlp` means 0, 1, 2 and 61.
fn has_layer_of(pattern: &str, layers: &Range<u32>) -> bool {
    let Some((_, rest)) = pattern.split_once("layers.") else {
        return true;
    };
    let is_end = |c: char| !c.is_ascii_digit() && c != '-' && c != '+';
    let numbers = rest.split_once(is_end).map_or(rest, |(numbers, _)| numbers);
    let mut spans = numbers.split('+').map(|span| {
        let (first, last) = span.split_once('-').unwrap_or((span, span));
        Some((first.parse::<u32>().ok()?, last.parse::<u32>().ok()?))
    });
    // What is not read may mean any layer.
    spans.any(|span| span.is_none_or(|(first, last)| first < layers.end && last >= layers.start))
}

/// How much of a part a pattern of ignored modules names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Ignored {
    No,
    Partly,
    Wholly,
}

/// Returns how much of a part of the layers a pattern names: `layers.*.self_attn` all attention, `layers.0-2.mlp` some
/// of everything that is not attention, and `lm_head` nothing.
fn ignores(pattern: &str, part: &str) -> Ignored {
    let has = |words: &[&str]| words.iter().any(|word| pattern.contains(word));
    let is_router = ["gate", "router"].iter().any(|name| pattern.trim_end_matches(['*', '.', '$']).ends_with(name));
    if is_router || has(&["lm_head", "embed", "visual", "vision", "norm", "mtp", "conv1d"]) {
        return Ignored::No;
    }
    let shared = has(&["shared_expert"]);
    let names_it = match part {
        "attention" => has(&["attn", "attention", "mixer"]),
        "shared" => shared,
        "experts" => has(&["experts"]) && !shared,
        _ => has(&["mlp", "_proj"]) && !has(&["attn", "attention", "mixer", "expert"]),
    };
    // A whole layer, or what may be anything.
    let is_general = pattern.contains("layers.") || pattern.starts_with("re:") || pattern.starts_with('*');
    let names_any = is_general && !has(&["attn", "attention", "mixer", "mlp", "expert", "_proj"]);
    let end = pattern.trim_end_matches(['*', '.', '$']);
    let is_everywhere = pattern.starts_with("re:.*") || pattern.contains("layers.*");
    let names_all = is_everywhere && ["self_attn", "shared_experts", "experts"].iter().any(|name| end.ends_with(name));
    match (names_it, names_all) {
        (true, true) if part != "dense" => Ignored::Wholly,
        (true, _) => Ignored::Partly,
        _ if names_any || (part != "attention" && end.rsplit('.').next() == Some("mlp")) => Ignored::Partly,
        _ => Ignored::No,
    }
}

/// Whether the model has an encoder for images or sound.
pub(super) fn has_encoder(model: &Model) -> bool {
    let marks = ["ForConditionalGeneration", "VL", "Vision", "MultiModal", "Omni"];
    model.architectures.iter().any(|architecture| marks.iter().any(|mark| architecture.contains(mark)))
}

/// Returns the weights as the size of the repository's files bounds them.
fn from_files(model: &Model, scheme: &Scheme, split: &Split) -> Interval {
    let Some(files) = model.file_bytes.map(u128::from) else {
        return Interval::UNKNOWN;
    };
    // Files of an unquantized checkpoint have 16 bits a weight, or 32 if `config.json` says so.
    let stored: u128 = if model.dtype.as_deref() == Some("float32") { 32_000 } else { 16_000 };
    let (least, most) = if scheme.is_checkpoint {
        (files, files)
    } else {
        let least = u128::from(scheme.quantized.min).min(stored) * files / stored;
        (least, (u128::from(scheme.plain.max) * files).div_ceil(16_000).max(files))
    };
    let min = least * 10 / MAX_COPIES_TENTHS / split.widest() / split.pipeline;
    // Engines convert experts of 4 bits: SGLang has 125.7 GiB of DeepSeek-V4-Pro on each of eight H200, of 805 GiB of
    // files. MXFP4 kernels take padded sizes.
    let most = if is_of(model, &["DeepseekV4"]) {
        most * 2
    } else if scheme.pads_experts {
        most * 6 / 5
    } else {
        most
    };
    let stage = if split.pipeline == 1 {
        Some(most)
    } else {
        // The fullest stage, and the embedding or the output layer.
        model.layers.filter(|layers| *layers > 0).zip(model.hidden).map(|(layers, hidden)| {
            let layers = u128::from(layers);
            let end = u128::from(model.vocab.unwrap_or(1 << 18)) * u128::from(hidden) * 4;
            (most * layers.div_ceil(split.pipeline)).div_ceil(layers).saturating_add(end).min(most)
        })
    };
    let max = stage.map(|stage| {
        // Not all is divided: KV heads down to one, routers, compressing matrices, encoders in some engines.
        let whole = if split.tensor == 1 { stage } else { (stage / split.tensor).saturating_mul(9) / 8 };
        let encoder = if split.tensor > 1 && has_encoder(model) { MAX_ENCODER } else { 0 };
        narrow(whole.saturating_add(u128::from(encoder)).min(stage))
    });
    Interval { min: narrow(min), max }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_name_parts() {
        for (pattern, ignored) in [
            ("layers.*.self_attn", ["wholly", "no", "no", "no"]),
            ("re:.*self_attn.*", ["wholly", "no", "no", "no"]),
            ("layers.*.self_attn.q_a_proj", ["partly", "no", "no", "no"]),
            ("layers.5.mixer.q_proj", ["partly", "no", "no", "no"]),
            ("layers.*.mlp.shared_experts*", ["no", "no", "wholly", "no"]),
            (r"re:.*mlp\.(gate|up|gate_up|down)_proj.*", ["no", "partly", "no", "no"]),
            ("layers.*.mlp*", ["no", "partly", "partly", "partly"]),
            ("layers.0-2.*", ["partly", "partly", "partly", "partly"]),
            ("layers.*.mlp.gate", ["no", "no", "no", "no"]),
            ("lm_head", ["no", "no", "no", "no"]),
            ("head", ["no", "no", "no", "no"]),
            ("re:.*", ["partly", "partly", "partly", "partly"]),
        ] {
            let parts = ["attention", "dense", "shared", "experts"];
            let names = parts.map(|part| format!("{:?}", ignores(pattern, part)).to_lowercase());
            assert_eq!(names, ignored, "{pattern}");
        }
    }

    #[test]
    fn patterns_name_layers() {
        assert!(has_layer_of("layers.*.mlp", &(3..61)) && has_layer_of("lm_head", &(3..61)));
        assert!(has_layer_of("layers.0-2+61.mlp", &(0..3)) && !has_layer_of("layers.0-2+61*", &(3..61)));
        assert!(has_layer_of("layers.3.mlp", &(3..61)) && !has_layer_of("layers.61*", &(0..61)));
    }
}
