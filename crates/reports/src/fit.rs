//! The JSON report of `fit`.

use kubefoundry_diagnostics::render::to_report;
use kubefoundry_facts::fit::{Assessment, Interval, WorkerFit};
use serde_json::{Map, Value, json};

use crate::run::{LocatedDecision, RunResult};

/// Formats the fit of the workers of a run with
/// [`Thoroughness::Everything`](kubefoundry_compiler::Thoroughness::Everything).
pub fn json<O>(run: RunResult<'_, O>) -> String {
    let mut locator = run.locator();
    let decisions: Vec<LocatedDecision<'_>> = run.locate_decisions(&mut locator).collect();
    let workers: Vec<Value> = decisions
        .iter()
        .flat_map(|located| located.decision.workers.iter().map(move |worker| located_worker(located, worker)))
        .collect();
    to_report(&json!({"version": 1, "workers": workers, "diagnostics": run.findings_json()}))
}

/// Returns the word for the fit of a worker.
pub fn verdict(assessment: Option<Assessment>) -> &'static str {
    assessment.map_or("unknown", |assessment| assessment.fit.as_str())
}

fn located_worker(located: &LocatedDecision<'_>, fit: &WorkerFit) -> Value {
    let mut fields = Map::new();
    fields.insert("file".to_owned(), json!(located.file));
    fields.insert("document".to_owned(), json!(located.document));
    fields.insert("line".to_owned(), json!(located.line));
    fields.insert("column".to_owned(), json!(located.column));
    fields.insert("object".to_owned(), json!(located.decision.object));
    fields.append(&mut worker(fit));
    let alternatives = fit.alternatives().into_iter().map(|it| {
        let mut fields = Map::new();
        fields.insert("gpu".to_owned(), json!(it.gpu));
        fields.insert("memory".to_owned(), json!(it.memory));
        insert(&mut fields, "fewest", it.fewest);
        insert(&mut fields, "fewestSurely", it.fewest_surely);
        fields.insert("tensorParallel".to_owned(), json!(it.tensor_sizes));
        Value::Object(fields)
    });
    fields.insert("alternatives".to_owned(), alternatives.collect());
    Value::Object(fields)
}

/// Returns what is known about a worker. Sizes are bytes of each GPU; what is not known is absent.
pub fn worker(worker: &WorkerFit) -> Map<String, Value> {
    let mut fields = Map::new();
    let assessment = worker.assess();
    fields.insert("role".to_owned(), json!(worker.role));
    insert(&mut fields, "model", worker.model.as_deref());
    fields.insert("isKnownModel".to_owned(), json!(worker.facts.is_some()));
    fields.insert("replicas".to_owned(), json!(worker.replicas));
    fields.insert("gpus".to_owned(), json!(worker.gpus));
    let gpu = worker.gpu.as_ref().map(|gpu| json!({"name": gpu.name, "memory": bounds(gpu.memory)}));
    insert(&mut fields, "gpu", gpu);
    let layout = worker.layout.map(|it| json!({"tensor": it.tensor, "pipeline": it.pipeline, "data": it.data}));
    insert(&mut fields, "parallelism", layout);
    insert(&mut fields, "context", worker.full_context());
    fields.insert("fit".to_owned(), json!(verdict(assessment)));
    insert(&mut fields, "weights", worker.weights().map(bounds));
    insert(&mut fields, "kvCachePerThousandTokens", worker.kv_cache_per_thousand_tokens().map(bounds));
    insert(&mut fields, "kvCache", assessment.map(|it| bounds(it.demand.kv_cache)));
    insert(&mut fields, "other", assessment.map(|it| bounds(it.demand.overhead)));
    insert(&mut fields, "usable", assessment.map(|it| bounds(it.budget)));
    insert(&mut fields, "largestContext", assessment.and_then(|it| it.largest_context));
    let sequences = assessment.and_then(|it| it.sequences_at_full_context);
    insert(&mut fields, "sequences", sequences.map(|(min, max)| json!({"min": min, "max": max})));
    fields
}

fn insert(fields: &mut Map<String, Value>, name: &str, value: Option<impl Into<Value>>) {
    fields.extend(value.map(|value| (name.to_owned(), value.into())));
}

/// Returns the bounds of a number; `max` is absent if there is none.
fn bounds(Interval { min, max }: Interval) -> Value {
    let mut fields = Map::from_iter([("min".to_owned(), Value::from(min))]);
    insert(&mut fields, "max", max);
    Value::Object(fields)
}
