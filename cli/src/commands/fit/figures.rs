//! The words and numbers about one worker.

use kubefoundry_facts::fit::{Assessment, Interval, WorkerFit};
use kubefoundry_reports::fit::verdict;

const MIB: u64 = 1 << 20;

/// What stands for a figure that is not known.
pub(super) const UNKNOWN: &str = "-";

/// The figures of a worker, in the order of the columns.
pub(super) struct Figures {
    pub(super) model: String,
    pub(super) gpus: String,
    pub(super) fit: &'static str,
    pub(super) weights: String,
    pub(super) kv_cache: String,
    pub(super) context: String,
    pub(super) sequences: String,
    pub(super) largest_context: String,
}

/// The titles of the columns.
pub(super) const COLUMNS: [&str; 8] =
    ["MODEL", "GPUS", "FIT", "WEIGHTS", "KV PER 1K TOKENS", "CONTEXT", "SEQUENCES", "LARGEST CONTEXT"];

impl Figures {
    pub(super) fn new(worker: &WorkerFit) -> Self {
        let assessment = worker.assess();
        let optional = |text: Option<String>| text.unwrap_or_else(|| UNKNOWN.to_owned());
        let sequences = assessment.and_then(|it| it.sequences_at_full_context);
        Self {
            model: optional(worker.model.as_deref().map(str::to_owned)),
            gpus: format_gpus(worker),
            fit: verdict(assessment),
            weights: optional(worker.weights().filter(|it| is_known(*it)).map(|it| it.to_string())),
            kv_cache: optional(worker.kv_cache_per_thousand_tokens().filter(|it| is_known(*it)).map(format_mebibytes)),
            context: optional(worker.full_context().map(|tokens| tokens.to_string())),
            sequences: optional(sequences.map(format_range)),
            largest_context: optional(assessment.and_then(|it| it.largest_context).map(|tokens| tokens.to_string())),
        }
    }

    /// Returns the figures in the order of [`COLUMNS`].
    pub(super) fn cells(self) -> [String; 8] {
        let Self { model, gpus, fit, weights, kv_cache, context, sequences, largest_context } = self;
        [model, gpus, fit.to_owned(), weights, kv_cache, context, sequences, largest_context]
    }
}

/// Whether any bound is known.
fn is_known(interval: Interval) -> bool {
    interval != Interval::UNKNOWN
}

/// Formats the GPUs of a worker: `2 x 4 NVIDIA-H100-80GB-HBM3` of two replicas.
fn format_gpus(worker: &WorkerFit) -> String {
    let product = worker.gpu.as_ref().map_or(&*worker.resource, |gpu| &gpu.name);
    match worker.replicas {
        1 => format!("{} {product}", worker.gpus),
        replicas => format!("{replicas} x {} {product}", worker.gpus),
    }
}

/// Formats a range of numbers: `3 to 5`, or `3`.
pub(super) fn format_range((fewest, most): (u64, u64)) -> String {
    if fewest == most { fewest.to_string() } else { format!("{fewest} to {most}") }
}

/// Formats bytes in MiB. The lower bound is rounded down and the upper one up.
fn format_mebibytes(interval: Interval) -> String {
    let least = interval.min / MIB;
    match interval.max.map(|max| max.div_ceil(MIB)) {
        Some(most) if most <= least + 1 => format!("{most} MiB"),
        Some(most) => format!("{least} to {most} MiB"),
        None => format!("at least {least} MiB"),
    }
}

/// Formats the sum of what a worker needs of each GPU, part by part with their names, and what the engine can use. Returns
/// nothing if the model, the split or the GPU is not known.
pub(in crate::commands) fn format_parts(worker: &WorkerFit) -> Option<[(&'static str, Interval); 5]> {
    let Assessment { demand, budget, .. } = worker.assess()?;
    Some([
        ("weights", demand.weights),
        ("KV cache of one sequence", demand.kv_cache),
        ("other", demand.overhead),
        ("sum", demand.total()),
        ("usable", budget),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mebibytes_are_rounded_outwards() {
        let text = |min: u64, max: Option<u64>| format_mebibytes(Interval { min, max });
        assert_eq!(text(125 * MIB, Some(125 * MIB)), "125 MiB");
        assert_eq!(text(125 * MIB + 1, Some(125 * MIB + 1)), "126 MiB");
        assert_eq!(text(0, Some(70 * MIB + 1)), "0 to 71 MiB");
        assert_eq!(text(2 * MIB, None), "at least 2 MiB");
    }
}
