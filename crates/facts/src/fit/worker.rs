//! The memory of one worker of a deployment: what its model needs, and on which GPUs it fits.

use std::sync::Arc;

use super::{Assessment, Fit, Interval, Settings, assess, kv_cache_per_token, weights};
use crate::gpu::{Gpu, gpus};
use crate::model::Model;

/// The GPUs of a node if a GPU's own number is not known.
const MAX_GPUS_PER_NODE: u32 = 8;

/// The tokens by which [`WorkerFit::kv_cache_per_thousand_tokens`] counts.
const THOUSAND: u64 = 1000;

/// How the ranks of a worker share its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankLayout {
    /// The tensor parallel size.
    pub tensor: u32,
    /// The pipeline parallel size.
    pub pipeline: u32,
    /// The data parallel size.
    pub data: u32,
    /// How many replicas of attention the tensor parallel ranks hold (SGLang's `--enable-dp-attention`).
    pub attention_replicas: u32,
    /// Over which ranks routed experts are spread.
    pub experts: ExpertSpread,
    /// The decode context parallel size.
    pub context: u32,
}

impl Default for RankLayout {
    fn default() -> Self {
        Self { tensor: 1, pipeline: 1, data: 1, attention_replicas: 1, experts: ExpertSpread::InTensor, context: 1 }
    }
}

/// Over which ranks routed experts are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpertSpread {
    /// Each expert is split like the other matrices.
    InTensor,
    /// Whole experts are spread over the tensor parallel ranks.
    OverTensor,
    /// Experts are spread over tensor x data parallel ranks.
    OverTensorAndData,
}

impl RankLayout {
    /// Returns the GPUs that the ranks use.
    pub fn gpus(self) -> u64 {
        let data = if self.attention_replicas > 1 { 1 } else { self.data };
        u64::from(self.tensor).saturating_mul(u64::from(self.pipeline)).saturating_mul(u64::from(data))
    }

    /// Returns the settings on which the memory of a rank depends.
    pub fn settings(self) -> Settings<'static> {
        let attention = self.tensor.checked_div(self.attention_replicas).unwrap_or(self.tensor);
        Settings {
            tensor_parallel: attention.max(1),
            pipeline_parallel: self.pipeline,
            expert_parallel: match self.experts {
                ExpertSpread::InTensor => 1,
                ExpertSpread::OverTensor => self.tensor,
                ExpertSpread::OverTensorAndData => self.tensor.saturating_mul(self.data),
            },
            context_parallel: self.context,
            ..Settings::default()
        }
    }
}

/// One worker of a deployment, as far as its memory depends on it.
///
/// ```
/// use std::sync::Arc;
/// use kubefoundry_facts::fit::{Fit, Interval, RankLayout, WorkerFit, WorkerGpu};
/// let model = kubefoundry_facts::model("meta-llama/Llama-3.1-8B-Instruct").unwrap();
/// let mut worker = WorkerFit::new("aggregated", Some("meta-llama/Llama-3.1-8B-Instruct"), "nvidia.com/gpu", 1, 1);
/// worker.facts = Some(Arc::new(model));
/// worker.gpu = Some(Box::new(WorkerGpu { name: "L4".to_owned(), memory: Interval::between(22 << 30, 24 << 30) }));
/// worker.layout = Some(RankLayout::default());
/// worker.context = Some(131_072);
/// assert_eq!(worker.assess().map(|assessment| assessment.fit), Some(Fit::Cannot));
/// worker.context = Some(8192);
/// assert_eq!(worker.assess().map(|assessment| assessment.fit), Some(Fit::Fits));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerFit {
    /// The role of the worker: `aggregated`, `prefill` or `decode`.
    pub role: &'static str,
    /// The model as the deployment names it.
    pub model: Option<Box<str>>,
    /// What is known about the model; absent if nothing is, or if a flag replaces parts of its configuration.
    pub facts: Option<Arc<Model>>,
    /// The resource that the worker's GPUs are requested by: `nvidia.com/gpu`.
    pub resource: Box<str>,
    /// The worker's GPU, if it is known.
    pub gpu: Option<Box<WorkerGpu>>,
    /// The GPUs of one replica.
    pub gpus: u32,
    /// The number of replicas.
    pub replicas: u32,
    /// How the model is split; absent if the sizes have an error, or if a program chooses them when it starts.
    pub layout: Option<RankLayout>,
    /// The longest context that is written, in tokens.
    pub context: Option<u64>,
    /// The types that are written, if any is.
    pub types: Option<Box<WrittenTypes>>,
    /// The share of a GPU's memory that the engine may use, in permille.
    pub utilization_permille: u32,
}

/// The GPU of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerGpu {
    /// What names it: a product label, an instance type, or an option.
    pub name: String,
    /// Its bytes of memory.
    pub memory: Interval,
}

/// The types of numbers that a worker's engine has to use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WrittenTypes {
    /// The type of the weights, as written.
    pub dtype: Option<String>,
    /// The quantization, as written.
    pub quantization: Option<String>,
    /// The type of the cache, as written.
    pub kv_cache_dtype: Option<String>,
}

/// On how many GPUs of a product a worker fits.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GpuAlternative {
    /// The name of the GPU.
    pub gpu: &'static str,
    /// The nominal bytes of its memory.
    pub memory: u64,
    /// The fewest GPUs on which the worker may fit; absent if it fits on no number that one node has.
    pub fewest: Option<u32>,
    /// The fewest GPUs on which it surely fits; absent if that is certain of no number that one node has.
    pub fewest_surely: Option<u32>,
    /// The tensor parallel sizes with which it may fit.
    pub tensor_sizes: Vec<u32>,
}

impl WorkerFit {
    /// Describes a worker of which only its size is known so far.
    pub fn new(role: &'static str, model: Option<&str>, resource: &str, gpus: u32, replicas: u32) -> Self {
        Self {
            role,
            model: model.map(Box::from),
            facts: None,
            resource: resource.into(),
            gpu: None,
            gpus,
            replicas,
            layout: None,
            context: None,
            types: None,
            utilization_permille: 1000,
        }
    }

    fn settings(&self, layout: RankLayout) -> Settings<'_> {
        let text =
            |of: fn(&WrittenTypes) -> &Option<String>| self.types.as_deref().and_then(|types| of(types).as_deref());
        Settings {
            context: self.full_context(),
            dtype: text(|types| &types.dtype),
            quantization: text(|types| &types.quantization),
            kv_cache_dtype: text(|types| &types.kv_cache_dtype),
            ..layout.settings()
        }
    }

    /// Returns the tokens of the longest sequence: those that are written, or else the model's own.
    pub fn full_context(&self) -> Option<u64> {
        self.context.or_else(|| self.facts.as_ref()?.max_position)
    }

    /// Assesses whether a sequence of the full context fits the worker's GPU. Returns `None` if the model, the split or
    /// the GPU is not known.
    pub fn assess(&self) -> Option<Assessment> {
        let memory = self.gpu.as_ref()?.memory;
        Some(assess(self.facts.as_ref()?, &self.settings(self.layout?), memory, self.utilization_permille))
    }

    /// Returns the bytes of weights on the GPU that has most of them. Returns `None` if the model or the split is not
    /// known.
    pub fn weights(&self) -> Option<Interval> {
        Some(weights(self.facts.as_ref()?, &self.settings(self.layout?)))
    }

    /// Returns the bytes that 1,000 tokens take in the cache of each GPU. Returns `None` if the model or the split is not
    /// known.
    pub fn kv_cache_per_thousand_tokens(&self) -> Option<Interval> {
        let Interval { min, max } = kv_cache_per_token(self.facts.as_ref()?, &self.settings(self.layout?));
        Some(Interval { min: min.saturating_mul(THOUSAND), max: max.map(|max| max.saturating_mul(THOUSAND)) })
    }

    /// Returns the fewest and the most sequences of the full context for which the caches of all replicas have place.
    /// Returns `None` if a bound is not known.
    pub fn capacity(&self) -> Option<(u64, u64)> {
        let (fewest, most) = self.assess()?.sequences_at_full_context?;
        let caches = u64::from(self.replicas).saturating_mul(u64::from(self.layout?.data));
        Some((fewest.saturating_mul(caches), most.saturating_mul(caches)))
    }

    /// Returns for each known GPU of the worker's resource on how many of them the worker fits, in the order of their
    /// names: the tensor parallel size varies, and the other sizes stay. Empty if the model is not known.
    pub fn alternatives(&self) -> Vec<GpuAlternative> {
        let Some(model) = self.facts.as_deref() else { return Vec::new() };
        gpus().filter(|gpu| gpu.resource == &*self.resource).map(|gpu| self.alternative(model, &gpu)).collect()
    }

    fn alternative(&self, model: &Model, gpu: &Gpu) -> GpuAlternative {
        let memory = Interval::between(gpu.min_memory, gpu.max_memory);
        let most = gpu.per_node.unwrap_or(MAX_GPUS_PER_NODE);
        let sizes = self.sizes(model, memory, most);
        let gpus = |(_, gpus, _): &(u32, u32, Fit)| *gpus;
        GpuAlternative {
            gpu: gpu.name,
            memory: gpu.max_memory,
            fewest: sizes.first().map(gpus),
            fewest_surely: sizes.iter().find(|(_, _, fit)| *fit == Fit::Fits).map(gpus),
            tensor_sizes: sizes.iter().map(|(tensor, _, _)| *tensor).collect(),
        }
    }

    /// Returns the fewest of the worker's own GPUs on which it may fit, and on which it surely fits; absent if that is so
    /// for no number that one node has. Returns `None` if the model or the GPU is not known.
    pub fn fewest_gpus(&self) -> Option<(Option<u32>, Option<u32>)> {
        let memory = self.gpu.as_ref()?.memory;
        let sizes = self.sizes(self.facts.as_ref()?, memory, MAX_GPUS_PER_NODE);
        let surely = sizes.iter().find(|(_, _, fit)| *fit == Fit::Fits);
        Some((sizes.first().map(|(_, gpus, _)| *gpus), surely.map(|(_, gpus, _)| *gpus)))
    }

    /// Returns the tensor parallel sizes with which the worker may fit GPUs of a memory, each with the number of GPUs and
    /// the answer.
    fn sizes(&self, model: &Model, memory: Interval, most: u32) -> Vec<(u32, u32, Fit)> {
        let mut sizes = Vec::new();
        for tensor in 1..=most {
            let layout = RankLayout { tensor, ..self.layout.unwrap_or_default() };
            let Some(gpus) = u32::try_from(layout.gpus()).ok().filter(|gpus| *gpus <= most) else { break };
            if !is_valid_split(model, layout) {
                continue;
            }
            let fit = assess(model, &self.settings(layout), memory, self.utilization_permille).fit;
            if fit != Fit::Cannot {
                sizes.push((tensor, gpus, fit));
            }
        }
        sizes
    }
}

/// Whether an engine loads the model with this split, as far as is known.
fn is_valid_split(model: &Model, layout: RankLayout) -> bool {
    layout.tensor.is_multiple_of(layout.attention_replicas.max(1))
        && model.accepts_tensor_parallel(layout.settings().tensor_parallel) != Some(false)
        && model.divided_block(layout.tensor, layout.experts != ExpertSpread::InTensor).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(id: &str) -> WorkerFit {
        let mut worker = WorkerFit::new("aggregated", Some(id), "nvidia.com/gpu", 1, 1);
        worker.facts = crate::model(id).map(Arc::new);
        worker.utilization_permille = 900;
        worker
    }

    fn on<'a>(alternatives: &'a [GpuAlternative], gpu: &str) -> &'a GpuAlternative {
        alternatives.iter().find(|alternative| alternative.gpu == gpu).unwrap()
    }

    /// 131 GiB of weights in 16 bits: two GPUs of 80 GiB leave no place for the cache of 131,072 tokens, four do.
    #[test]
    fn fewest_gpus_depend_on_weights_cache_and_heads() {
        let mut llama = worker("meta-llama/Llama-3.3-70B-Instruct");
        let alternatives = llama.alternatives();
        let h100 = on(&alternatives, "H100-SXM-80GB");
        assert_eq!((h100.fewest, h100.fewest_surely, &h100.tensor_sizes[..]), (Some(4), Some(4), &[4, 8][..]));
        assert_eq!(on(&alternatives, "T4-16GB").fewest, None);
        llama.context = Some(1024);
        assert_eq!(on(&llama.alternatives(), "H100-SXM-80GB").fewest, Some(2));
        // 28 heads are not split into 8 parts.
        let qwen = worker("Qwen/Qwen2.5-Coder-7B-Instruct");
        assert_eq!(on(&qwen.alternatives(), "H100-SXM-80GB").tensor_sizes, [1, 2, 4]);
        assert!(worker("acme/private").alternatives().is_empty());
    }

    /// More memory never needs more GPUs, and what surely fits may fit.
    #[test]
    fn alternatives_are_monotone_in_memory() {
        for model in crate::model::models() {
            let all = worker(&model.id).alternatives();
            for one in &all {
                let surely = one.fewest_surely.unwrap_or(u32::MAX);
                assert!(one.fewest.unwrap_or(u32::MAX) <= surely, "{} on {}", model.id, one.gpu);
            }
            let same_node = all.iter().filter(|it| crate::gpu(it.gpu).unwrap().per_node == Some(8));
            let mut same_node: Vec<_> = same_node.map(|it| (crate::gpu(it.gpu).unwrap(), it)).collect();
            same_node.sort_by_key(|(gpu, _)| (gpu.min_memory, gpu.max_memory));
            for pair in same_node.windows(2) {
                let [(small, less), (large, more)] = pair else { unreachable!() };
                if small.max_memory <= large.max_memory {
                    let fewest = |it: &GpuAlternative| it.fewest.unwrap_or(u32::MAX);
                    assert!(fewest(more) <= fewest(less), "{}: {} and {}", model.id, small.name, large.name);
                }
            }
        }
    }

    #[test]
    fn capacity_counts_the_caches_of_all_replicas_and_data_parallel_ranks() {
        let mut llama = worker("meta-llama/Llama-3.1-8B-Instruct");
        llama.gpu = Some(Box::new(WorkerGpu { name: "H100".to_owned(), memory: Interval::exactly(79 << 30) }));
        llama.layout = Some(RankLayout::default());
        let (fewest, most) = llama.capacity().unwrap();
        assert!(fewest >= 2 && most >= fewest, "{fewest} {most}");
        llama.replicas = 3;
        llama.layout = Some(RankLayout { data: 2, ..RankLayout::default() });
        assert_eq!(llama.capacity(), Some((fewest * 6, most * 6)));
    }
}
