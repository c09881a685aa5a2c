//! The JSON report of `fit`.

use kubefoundry_diagnostics::ObjectRef;
use kubefoundry_diagnostics::render::{JsonFindings, ReportVersion, to_report};
use kubefoundry_facts::fit::{Assessment, Interval, WorkerFit};
use serde::Serialize;

use crate::run::{LocatedDecision, RunResult};

/// Formats the fit of the workers of a run with
/// [`Thoroughness::Everything`](kubefoundry_compiler::Thoroughness::Everything).
pub fn json<O>(run: RunResult<'_, O>) -> String {
    let mut locator = run.locator();
    let workers = run.locate_decisions(&mut locator).flat_map(|located| {
        let workers = located.decision.workers.iter();
        workers.map(move |worker| LocatedWorker::new(&located, worker))
    });
    to_report(&FitReport { version: ReportVersion, workers: workers.collect(), diagnostics: run.findings_json() })
}

/// Returns the word for the fit of a worker.
pub fn verdict(assessment: Option<Assessment>) -> &'static str {
    assessment.map_or("unknown", |assessment| assessment.fit.as_str())
}

/// What `kubefoundry fit --output json` prints.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FitReport<'r> {
    version: ReportVersion,
    /// Every worker that runs on GPUs, in input order.
    workers: Vec<LocatedWorker<'r>>,
    /// Every finding, by file, line and code.
    diagnostics: JsonFindings,
}

/// A worker that runs on GPUs. Every number of bytes is one of a single GPU.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct LocatedWorker<'r> {
    /// The file, as it was given; `-` is standard input.
    file: &'r str,
    /// The position of the document in the file, from 0.
    document: usize,
    /// The line of its name, from 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    line: usize,
    /// The column of its name, from 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    column: usize,
    /// The ModelDeployment.
    object: &'r ObjectRef,
    #[serde(flatten)]
    worker: Worker<'r>,
    /// Every known GPU of the worker's resource, by name; empty if the model is not known.
    alternatives: Vec<Alternative<'r>>,
}

/// A worker that runs on GPUs. Every number of bytes is one of a single GPU.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Worker<'r> {
    /// The role of the worker.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["aggregated", "prefill", "decode"])))]
    role: &'r str,
    /// The model as the deployment names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'r str>,
    /// Whether facts about the model are known.
    is_known_model: bool,
    /// The number of replicas.
    replicas: u32,
    /// The GPUs of one replica.
    gpus: u32,
    /// The GPU of the worker; absent if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    gpu: Option<Gpu<'r>>,
    /// How the model is split; absent if the sizes have an error, or if the engine chooses them when it starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    parallelism: Option<Parallelism>,
    /// Tokens of the longest sequence: those written, or else the model's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<u64>,
    /// Whether a sequence of the full context fits.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["fits", "marginal", "cannot", "unknown"])))]
    fit: &'static str,
    /// Bytes of weights on the GPU that has most of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    weights: Option<Bounds>,
    /// Bytes that 1,000 tokens take in the KV cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    kv_cache_per_thousand_tokens: Option<Bounds>,
    /// Bytes that a sequence of the full context takes in the KV cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    kv_cache: Option<Bounds>,
    /// Bytes of activations, CUDA graphs and buffers.
    #[serde(skip_serializing_if = "Option::is_none")]
    other: Option<Bounds>,
    /// Bytes that the engine may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    usable: Option<Bounds>,
    /// The most tokens of a sequence that surely fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    largest_context: Option<u64>,
    /// Sequences of the full context for which the KV cache of one replica has place.
    #[serde(skip_serializing_if = "Option::is_none")]
    sequences: Option<Bounds>,
}

/// The GPU of a worker.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Gpu<'r> {
    /// What names it: a product label, an instance type, or an option.
    name: &'r str,
    /// Bytes of memory: what the driver reports, and the nominal size.
    memory: Bounds,
}

/// How a model is split.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Parallelism {
    /// The tensor parallel size.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    tensor: u32,
    /// The pipeline parallel size.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pipeline: u32,
    /// The data parallel size.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    data: u32,
}

/// The bounds of a number.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Bounds {
    /// The lower bound; 0 if nothing is known.
    min: u64,
    /// The upper bound; absent if none is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<u64>,
}

/// On how many GPUs of a product the worker fits.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
struct Alternative<'r> {
    /// The name of the GPU.
    gpu: &'r str,
    /// The nominal bytes of its memory.
    memory: u64,
    /// The fewest GPUs on which the worker may fit; absent if no node has enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    fewest: Option<u32>,
    /// The fewest GPUs on which it surely fits; absent if that is not certain.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    fewest_surely: Option<u32>,
    /// The tensor parallel sizes with which it may fit.
    #[cfg_attr(feature = "schema", schemars(inner(range(min = 1))))]
    tensor_parallel: Vec<u32>,
}

impl<'r> LocatedWorker<'r> {
    fn new(located: &LocatedDecision<'r>, fit: &'r WorkerFit) -> Self {
        let alternatives = fit.alternatives().into_iter().map(|it| Alternative {
            gpu: it.gpu,
            memory: it.memory,
            fewest: it.fewest,
            fewest_surely: it.fewest_surely,
            tensor_parallel: it.tensor_sizes,
        });
        Self {
            file: located.file,
            document: located.document,
            line: located.line,
            column: located.column,
            object: &located.decision.object,
            worker: fit.into(),
            alternatives: alternatives.collect(),
        }
    }
}

impl<'r> From<&'r WorkerFit> for Worker<'r> {
    fn from(worker: &'r WorkerFit) -> Self {
        let assessment = worker.assess();
        let sequences = assessment.and_then(|it| it.sequences_at_full_context);
        Self {
            role: worker.role,
            model: worker.model.as_deref(),
            is_known_model: worker.facts.is_some(),
            replicas: worker.replicas,
            gpus: worker.gpus,
            gpu: worker.gpu.as_ref().map(|gpu| Gpu { name: &gpu.name, memory: gpu.memory.into() }),
            parallelism: worker.layout.map(|it| Parallelism {
                tensor: it.tensor,
                pipeline: it.pipeline,
                data: it.data,
            }),
            context: worker.full_context(),
            fit: verdict(assessment),
            weights: worker.weights().map(Bounds::from),
            kv_cache_per_thousand_tokens: worker.kv_cache_per_thousand_tokens().map(Bounds::from),
            kv_cache: assessment.map(|it| it.demand.kv_cache.into()),
            other: assessment.map(|it| it.demand.overhead.into()),
            usable: assessment.map(|it| it.budget.into()),
            largest_context: assessment.and_then(|it| it.largest_context),
            sequences: sequences.map(|(min, max)| Bounds { min, max: Some(max) }),
        }
    }
}

impl From<Interval> for Bounds {
    fn from(Interval { min, max }: Interval) -> Self {
        Self { min, max }
    }
}
