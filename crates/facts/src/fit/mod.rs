//! Whether a model fits a GPU: its weights, one sequence of the whole context in the KV cache, and what the engine
//! needs beside them, against the share of the GPU's memory that the engine may use.
//!
//! All sizes are intervals. What is not known counts 0 in the lower bound and nothing in the upper one, which then is
//! absent: so [`Fit::Cannot`] is certain, and [`Fit::Fits`] needs everything to be known. `docs/fit.md` has the
//! formulas, their sources, and how far they are off.
//!
//! ```
//! use kubefoundry_facts::fit::{Fit, Interval, Settings, assess};
//! let model = kubefoundry_facts::model("meta-llama/Llama-3.3-70B-Instruct").unwrap();
//! let l4 = kubefoundry_facts::gpu("L4-24GB").unwrap();
//! let settings = Settings { context: Some(8192), ..Settings::default() };
//! let assessment = assess(&model, &settings, Interval::between(l4.min_memory, l4.max_memory), 900);
//! assert_eq!(assessment.fit, Fit::Cannot);
//! ```

mod interval;
mod kv_cache;
mod scheme;
mod weights;
mod worker;

pub use interval::Interval;
pub use kv_cache::{kv_cache_per_sequence, kv_cache_per_token};
pub use weights::weights;
pub use worker::{ExpertSpread, GpuAlternative, RankLayout, WorkerFit, WorkerGpu, WrittenTypes};

use crate::model::Model;

/// How a model is run, as far as memory depends on it.
///
/// ```
/// use kubefoundry_facts::fit::Settings;
/// let settings = Settings { tensor_parallel: 8, context: Some(32_768), ..Settings::default() };
/// assert_eq!(settings.pipeline_parallel, 1);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings<'a> {
    /// GPUs over which the matrices of a layer are spread. Where attention is run in data parallel replicas, the GPUs
    /// of one replica.
    pub tensor_parallel: u32,
    /// GPUs, or groups of GPUs, over which the layers are spread.
    pub pipeline_parallel: u32,
    /// GPUs over which routed experts are spread, if these are more than those of tensor parallelism; otherwise 1. vLLM
    /// spreads them over tensor x data parallel size: whole with `--enable-expert-parallel`, in slices without it.
    pub expert_parallel: u32,
    /// GPUs over which the tokens of the cache are spread (`--decode-context-parallel-size`).
    pub context_parallel: u32,
    /// Tokens of the longest sequence; the model's own if absent (`max_position_embeddings`). vLLM does not start
    /// unless the cache holds them; for engines that do, SGLang and TensorRT-LLM, 0 asks for the weights alone.
    pub context: Option<u64>,
    /// Type of the weights, as written: `bfloat16`. Absent and `auto` are the checkpoint's own.
    pub dtype: Option<&'a str>,
    /// Quantization, as written: `fp8`. The checkpoint's own needs none.
    pub quantization: Option<&'a str>,
    /// Type of the cache, as written: `fp8_e4m3`. Absent and `auto` are the model's own.
    pub kv_cache_dtype: Option<&'a str>,
}

impl Default for Settings<'_> {
    fn default() -> Self {
        Self {
            tensor_parallel: 1,
            pipeline_parallel: 1,
            expert_parallel: 1,
            context_parallel: 1,
            context: None,
            dtype: None,
            quantization: None,
            kv_cache_dtype: None,
        }
    }
}

/// The bytes that a model needs of the GPU that has the most to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Demand {
    /// Weights.
    pub weights: Interval,
    /// The KV cache of one sequence of the whole context.
    pub kv_cache: Interval,
    /// Activations, CUDA graphs, buffers of communication.
    pub overhead: Interval,
}

impl Demand {
    /// Returns the sum.
    pub fn total(&self) -> Interval {
        self.weights.plus(self.kv_cache).plus(self.overhead)
    }
}

/// Whether a model fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fit {
    /// The upper bound of the demand is within the lower bound of the memory.
    Fits,
    /// It depends on what is not known exactly.
    Marginal,
    /// The lower bound of the demand is above the upper bound of the memory.
    Cannot,
    /// The upper bound of the demand is not known, and the lower bound decides nothing.
    Unknown,
}

impl Fit {
    /// Returns the word for it.
    ///
    /// ```
    /// assert_eq!(kubefoundry_facts::fit::Fit::Cannot.as_str(), "cannot");
    /// ```
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fits => "fits",
            Self::Marginal => "marginal",
            Self::Cannot => "cannot",
            Self::Unknown => "unknown",
        }
    }
}

/// What is known about a model on a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Assessment {
    /// What it needs of a GPU.
    pub demand: Demand,
    /// What the engine may use of the GPU: memory x utilization.
    pub budget: Interval,
    /// Whether that is enough.
    pub fit: Fit,
    /// The most tokens of a sequence that surely fit, up to the model's own limit; absent if no number surely does.
    pub largest_context: Option<u64>,
    /// The fewest and the most sequences of the whole context that the cache has place for; absent if a bound is not
    /// known.
    pub sequences_at_full_context: Option<(u64, u64)>,
}

/// What an engine needs beside weights and cache, at most, on one GPU: 0.3 GiB outside of PyTorch and up to 1.9 GiB for
/// CUDA graphs.
const MAX_OVERHEAD: u64 = 9 << 28;

/// Buffers of NCCL and of custom all-reduces with several GPUs: 2.1 to 3.6 GiB were measured.
const MAX_COMMUNICATION: u64 = 7 << 29;

/// Buffers of all-to-all communication between experts (DeepEP).
const MAX_EXPERT_COMMUNICATION: u64 = 4 << 30;

/// What an encoder's largest batch of images takes while vLLM measures.
const MAX_ENCODER_ACTIVATIONS: u64 = 4 << 30;

/// Bytes for each word of the vocabulary: logits of up to 1024 sequences with copies for sampling, 16 bytes each.
const MAX_LOGIT_BYTES: u64 = 16 << 10;

/// Bytes for each unit of the hidden size: up to 8192 tokens at a time, each with 16 numbers of 2 bytes.
const MAX_ACTIVATION_BYTES: u64 = 256 << 10;

/// The largest vocabulary of the models known here, for models whose own is not known.
const MAX_VOCAB: u32 = 1 << 18;

/// The largest hidden size of the models known here, for models whose own is not known.
const MAX_HIDDEN: u32 = 1 << 14;

/// Returns what an engine needs beside weights and cache.
///
/// The lower bound is 0: SGLang and TensorRT-LLM apply their memory fraction to weights and cache, and vLLM measures
/// with few sequences and tokens as little as 0.1 GiB (`v1/worker/gpu_worker.py`, `determine_available_memory`).
///
/// The upper bound is 2.25 GiB, with several GPUs 3.5 GiB more, and activations: 16 KiB for each word of the vocabulary
/// and 256 KiB for each unit of the hidden size. vLLM 0.19 was measured with 0.75 GiB (Granite 3.1 2B, 49 thousand
/// words) to 4.0 GiB (Gemma 3, 262 thousand words), almost in proportion to the vocabulary; encoders take up to
/// 4 GiB more. `docs/fit.md` has the source.
pub fn overhead(model: &Model, settings: &Settings<'_>) -> Interval {
    let size = |size: Option<u32>, max: u32| u64::from(size.unwrap_or(max));
    let activations = MAX_LOGIT_BYTES
        .saturating_mul(size(model.vocab, MAX_VOCAB))
        .saturating_add(MAX_ACTIVATION_BYTES.saturating_mul(size(model.hidden, MAX_HIDDEN)));
    let gpus = settings.tensor_parallel.max(settings.pipeline_parallel).max(settings.expert_parallel);
    let buffers = if gpus > 1 { MAX_COMMUNICATION } else { 0 }
        + if settings.expert_parallel > 1 { MAX_EXPERT_COMMUNICATION } else { 0 }
        + if weights::has_encoder(model) { MAX_ENCODER_ACTIVATIONS } else { 0 };
    Interval::between(0, MAX_OVERHEAD.saturating_add(buffers).saturating_add(activations))
}

/// Assesses whether a model fits GPUs of a memory, of which the engine may use a number of permille.
///
/// - `Cannot`: the lower bound of the demand is above the upper bound of the memory.
/// - `Fits`: the upper bound of the demand is known, and not above the lower bound of the memory.
/// - `Unknown`: the upper bound is not known, and the lower bound is within the lower bound of the memory.
/// - `Marginal`: otherwise.
///
/// More memory never turns `Fits` into `Cannot`, and more context never turns `Cannot` into `Fits`.
///
/// ```
/// use kubefoundry_facts::fit::{Fit, Interval, Settings, assess};
/// let model = kubefoundry_facts::model("meta-llama/Llama-3.1-8B-Instruct").unwrap();
/// let h100 = Interval::exactly(79 << 30);
/// let assessment = assess(&model, &Settings { context: Some(8192), ..Settings::default() }, h100, 900);
/// assert_eq!((assessment.fit, assessment.largest_context), (Fit::Fits, Some(131_072)));
/// ```
pub fn assess(model: &Model, settings: &Settings<'_>, gpu_memory: Interval, utilization_permille: u32) -> Assessment {
    let budget = gpu_memory.permille(utilization_permille);
    let weights = weights(model, settings);
    let overhead = overhead(model, settings);
    let kv_cache = match settings.context.or(model.max_position) {
        Some(tokens) => kv_cache_per_sequence(model, settings, tokens),
        None => Interval::UNKNOWN,
    };
    let demand = Demand { weights, kv_cache, overhead };
    let total = demand.total();
    let fit = if budget.max.is_some_and(|max| total.min > max) {
        Fit::Cannot
    } else {
        match total.max {
            Some(max) if max <= budget.min => Fit::Fits,
            None if total.min <= budget.min => Fit::Unknown,
            _ => Fit::Marginal,
        }
    };
    // What surely is left for the cache.
    let rest = weights.plus(overhead);
    let left = rest.max.and_then(|max| budget.min.checked_sub(max));
    let sequences = || {
        let most = budget.max?.saturating_sub(rest.min).checked_div(kv_cache.min)?;
        let fewest = left.unwrap_or(0).checked_div(kv_cache.max?)?;
        rest.max.map(|_| (fewest, most.max(fewest)))
    };
    Assessment {
        demand,
        budget,
        fit,
        largest_context: left.and_then(|left| kv_cache::tokens_in(model, settings, left)),
        sequences_at_full_context: sequences(),
    }
}

#[cfg(test)]
mod tests;
