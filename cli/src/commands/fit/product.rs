//! The GPUs on which a worker fits, grouped by what is true of them.

use std::collections::BTreeMap;

use kubefoundry_facts::fit::{GpuAlternative, WorkerFit};

use super::FitRow;

/// GPUs on which a worker fits with the same numbers.
pub(super) struct ProductGroup {
    /// The fewest GPUs on which it may fit; absent if it fits on no number that one node has.
    pub(super) fewest: Option<u32>,
    /// The fewest GPUs on which it surely fits.
    pub(super) fewest_surely: Option<u32>,
    /// The tensor parallel sizes with which it may fit.
    pub(super) tensor_sizes: Vec<u32>,
    /// The names of the GPUs, sorted.
    pub(super) products: Vec<&'static str>,
}

/// Groups alternatives, those on the fewest GPUs first. GPUs on which the worker does not fit are last.
fn group(alternatives: Vec<GpuAlternative>) -> Vec<ProductGroup> {
    let mut groups: BTreeMap<_, Vec<&'static str>> = BTreeMap::new();
    for GpuAlternative { gpu, fewest, fewest_surely, tensor_sizes, .. } in alternatives {
        let key = (fewest.unwrap_or(u32::MAX), fewest_surely.unwrap_or(u32::MAX), tensor_sizes);
        groups.entry(key).or_default().push(gpu);
    }
    let known = |number: u32| (number != u32::MAX).then_some(number);
    let group = |((fewest, surely, tensor_sizes), products)| ProductGroup {
        fewest: known(fewest),
        fewest_surely: known(surely),
        tensor_sizes,
        products,
    };
    groups.into_iter().map(group).collect()
}

/// What is true of one or more workers.
pub(super) struct Alternatives<'r> {
    /// The titles of the workers.
    pub(super) titles: Vec<String>,
    /// One of the workers.
    pub(super) worker: &'r WorkerFit,
    pub(super) groups: Vec<ProductGroup>,
}

/// Returns the alternatives of every worker of a known model. Workers with the same answer share it.
pub(super) fn alternatives<'r>(rows: &[FitRow<'r>]) -> Vec<Alternatives<'r>> {
    let mut all: Vec<Alternatives<'r>> = Vec::new();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.worker.facts.is_some()) {
        let worker = row.worker;
        // What the alternatives depend on.
        let key = format!(
            "{:?}",
            (
                worker.facts.as_ref().map(|facts| &facts.id),
                worker.layout.map(|it| (it.pipeline, it.data, it.attention_replicas, it.experts, it.context)),
                (&worker.resource, worker.full_context()),
                (&worker.types, worker.utilization_permille),
            )
        );
        let index = *seen.entry(key).or_insert(all.len());
        match all.get_mut(index) {
            Some(known) => known.titles.push(row.title()),
            None => {
                all.push(Alternatives { titles: vec![row.title()], worker, groups: group(worker.alternatives()) });
            }
        }
    }
    all
}

/// The most titles that are shown of workers with the same answer.
const MAX_TITLES: usize = 3;

impl Alternatives<'_> {
    /// Formats the titles of the workers, and the context that they are about.
    pub(super) fn heading(&self) -> String {
        let shown = self.titles.iter().take(MAX_TITLES).cloned().collect::<Vec<_>>().join(", ");
        let more = match self.titles.len().saturating_sub(MAX_TITLES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let context = self.worker.full_context().map_or_else(String::new, |tokens| format!(", context {tokens}"));
        let model = self.worker.model.as_deref().unwrap_or_default();
        format!("{shown}{more}: {model}{context}")
    }
}

impl ProductGroup {
    /// Formats the three figures: GPUs, GPUs that surely suffice, tensor parallel sizes.
    pub(super) fn figures(&self) -> [String; 3] {
        let number = |number: Option<u32>| number.map_or_else(|| super::figures::UNKNOWN.to_owned(), |n| n.to_string());
        let sizes: Vec<String> = self.tensor_sizes.iter().map(u32::to_string).collect();
        let sizes = if sizes.is_empty() { super::figures::UNKNOWN.to_owned() } else { sizes.join(", ") };
        [number(self.fewest), number(self.fewest_surely), sizes]
    }
}
