//! Suggests GPUs for a model that is known: how many of which kind one replica needs.

use kubefoundry_facts::fit::WorkerFit;

/// The GPUs that are suggested, of those that many clouds offer, the smallest first.
const OFFERED: &[&str] = &["L4-24GB", "L40S-48GB", REFERENCE, "H200-SXM-141GB"];

/// The GPU whose number is the default.
pub(super) const REFERENCE: &str = "H100-SXM-80GB";

/// How many GPUs one replica of a model needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GpuSuggestion {
    /// The number of GPUs of the kind [`REFERENCE`].
    pub(super) count: u32,
    /// A sentence about each kind.
    pub(super) sentence: String,
}

/// Suggests GPUs for a worker. Returns `None` if its model is not known, or fits on no number of GPUs of one node.
pub(super) fn suggest_gpus(worker: &WorkerFit) -> Option<GpuSuggestion> {
    let alternatives = worker.alternatives();
    let find = |name: &str| alternatives.iter().find(|alternative| alternative.gpu == name);
    // All numbers of one sentence are equally certain.
    let is_certain = find(REFERENCE)?.fewest_surely.is_some();
    let fewest = |name: &str| find(name).and_then(|gpu| if is_certain { gpu.fewest_surely } else { gpu.fewest });
    let count = fewest(REFERENCE)?;
    let kinds: Vec<String> = OFFERED.iter().filter_map(|name| Some(format!("{} x {name}", fewest(name)?))).collect();
    let verb = if is_certain { "fits on" } else { "may fit on" };
    let context = worker.full_context().map_or(String::new(), |tokens| format!(", with a context of {tokens} tokens"));
    Some(GpuSuggestion { count, sentence: format!("One replica {verb} {}{context}.", kinds.join(" or ")) })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn worker(model: &str) -> WorkerFit {
        let mut worker = WorkerFit::new("aggregated", Some(model), "nvidia.com/gpu", 1, 1);
        worker.facts = kubefoundry_facts::model(model).map(Arc::new);
        worker
    }

    #[test]
    fn a_known_model_has_a_suggestion() {
        let suggestion = suggest_gpus(&worker("Qwen/Qwen3-32B")).unwrap();
        assert!(suggestion.count >= 1, "{suggestion:?}");
        assert!(suggestion.sentence.contains(&format!("{} x H100-SXM-80GB", suggestion.count)), "{suggestion:?}");
        assert_eq!(suggest_gpus(&worker("acme/private")), None);
    }

    #[test]
    fn every_offered_gpu_is_known() {
        for name in OFFERED {
            assert!(kubefoundry_facts::gpu(name).is_some(), "{name}");
        }
    }
}
