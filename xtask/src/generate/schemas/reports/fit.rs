//! The schema of what is known about the memory of workers.

use serde_json::{Value, json};

use super::{flag, list, number, object, place_of_name, reference, text, words};

fn bounds(description: &str) -> Value {
    object(
        description,
        vec![
            ("min", number("The lower bound; 0 if nothing is known.", 0)),
            ("max?", number("The upper bound; absent if none is known.", 0)),
        ],
    )
}

/// Returns the fields of a worker. Every number of bytes is one of a single GPU.
fn worker_fields() -> Vec<(&'static str, Value)> {
    let gpu = object(
        "The GPU of the worker; absent if it is not known.",
        vec![
            ("name", text("What names it: a product label, an instance type, or an option.")),
            ("memory", bounds("Bytes of memory: what the driver reports, and the nominal size.")),
        ],
    );
    let parallelism = object(
        "How the model is split; absent if the sizes have an error, or if the engine chooses them when it starts.",
        vec![
            ("tensor", number("The tensor parallel size.", 1)),
            ("pipeline", number("The pipeline parallel size.", 1)),
            ("data", number("The data parallel size.", 1)),
        ],
    );
    vec![
        ("role", words("The role of the worker.", &["aggregated", "prefill", "decode"])),
        ("model?", text("The model as the deployment names it.")),
        ("isKnownModel", flag("Whether facts about the model are known.")),
        ("replicas", number("The number of replicas.", 0)),
        ("gpus", number("The GPUs of one replica.", 0)),
        ("gpu?", gpu),
        ("parallelism?", parallelism),
        ("context?", number("Tokens of the longest sequence: those written, or else the model's own.", 0)),
        ("fit", words("Whether a sequence of the full context fits.", &["fits", "marginal", "cannot", "unknown"])),
        ("weights?", bounds("Bytes of weights on the GPU that has most of them.")),
        ("kvCachePerThousandTokens?", bounds("Bytes that 1,000 tokens take in the KV cache.")),
        ("kvCache?", bounds("Bytes that a sequence of the full context takes in the KV cache.")),
        ("other?", bounds("Bytes of activations, CUDA graphs and buffers.")),
        ("usable?", bounds("Bytes that the engine may use.")),
        ("largestContext?", number("The most tokens of a sequence that surely fit.", 0)),
        ("sequences?", bounds("Sequences of the full context for which the KV cache of one replica has place.")),
    ]
}

/// Returns the schema of a worker of an explained deployment.
pub(super) fn worker() -> Value {
    object("A worker that runs on GPUs. Every number of bytes is one of a single GPU.", worker_fields())
}

/// Returns the schema of a worker with its place and the GPUs on which it fits.
pub(super) fn located_worker() -> Value {
    let alternative = object(
        "On how many GPUs of a product the worker fits.",
        vec![
            ("gpu", text("The name of the GPU.")),
            ("memory", number("The nominal bytes of its memory.", 0)),
            ("fewest?", number("The fewest GPUs on which the worker may fit; absent if no node has enough.", 1)),
            ("fewestSurely?", number("The fewest GPUs on which it surely fits; absent if that is not certain.", 1)),
            (
                "tensorParallel",
                list("The tensor parallel sizes with which it may fit.", &json!({"type": "integer", "minimum": 1})),
            ),
        ],
    );
    let mut fields = place_of_name();
    fields.push(("object", reference("The ModelDeployment.")));
    fields.extend(worker_fields());
    fields.push((
        "alternatives",
        list("Every known GPU of the worker's resource, by name; empty if the model is not known.", &alternative),
    ));
    object("A worker that runs on GPUs. Every number of bytes is one of a single GPU.", fields)
}
