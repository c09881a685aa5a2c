//! Facts about GPUs.

use crate::line::{Line, find, lines};

static GPUS: &str = include_str!("../data/gpus.txt");

/// A GPU.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Gpu {
    /// The name: `H100-SXM-80GB`.
    pub name: &'static str,
    /// The resource that its device plugin offers: `nvidia.com/gpu`.
    pub resource: &'static str,
    /// The least bytes of memory that a driver reports: with ECC, and without what it keeps for itself. 93 % of the
    /// nominal size if no record was at hand.
    pub min_memory: u64,
    /// The bytes of memory that the vendor states, with its GB read as GiB: no driver reports more.
    pub max_memory: u64,
    /// CUDA compute capability: `(9, 0)`; absent for other vendors.
    pub capability: Option<(u8, u8)>,
    /// Values of the label `nvidia.com/gpu.product`, as gpu-feature-discovery writes them, or
    /// `amd.com/gpu.product-name`.
    pub labels: Vec<&'static str>,
    /// The most GPUs that a node has.
    pub per_node: Option<u32>,
    /// Where the facts are from.
    pub source: &'static str,
}

impl Gpu {
    fn from_line(line: &Line<'static>) -> Self {
        Self {
            name: line.name,
            resource: line.required("resource"),
            min_memory: line.required_number("minMemory"),
            max_memory: line.required_number("maxMemory"),
            capability: line.two_numbers("capability", '.'),
            labels: line.list("labels"),
            per_node: line.number("perNode"),
            source: line.required("source"),
        }
    }
}

/// Finds a GPU by its name, whatever the case of its letters.
pub fn gpu(name: &str) -> Option<Gpu> {
    Some(Gpu::from_line(&find(GPUS, name)?))
}

/// Returns all GPUs, in the order of their names in lower case.
pub(crate) fn gpus() -> impl Iterator<Item = Gpu> {
    lines(GPUS).map(|line| Gpu::from_line(&line))
}

/// Finds a GPU by the value of its product label. A suffix such as `-SHARED` or `-MIG-1g.5gb` means a part of a GPU,
/// which is not found.
pub fn gpu_by_label(label: &str) -> Option<Gpu> {
    gpus().find(|gpu| gpu.labels.contains(&label))
}

/// Finds the GPUs that a person may mean by a name: the one with this name or product label, or those that only their
/// form distinguishes. `H100-80GB` is the card for PCIe and the module for SXM. Empty if there is none.
///
/// ```
/// let names = |name| kubefoundry_facts::gpus_named(name).iter().map(|gpu| gpu.name).collect::<Vec<_>>();
/// assert_eq!(names("L4-24GB"), ["L4-24GB"]);
/// assert_eq!(names("h100-80gb"), ["H100-PCIE-80GB", "H100-SXM-80GB"]);
/// assert_eq!(names("NVIDIA-H100-80GB-HBM3"), ["H100-SXM-80GB"]);
/// assert!(names("H100").is_empty());
/// ```
pub fn gpus_named(name: &str) -> Vec<Gpu> {
    if let Some(gpu) = gpu(name).or_else(|| gpu_by_label(name)) {
        return vec![gpu];
    }
    let Some((family, size)) = name.rsplit_once('-') else { return Vec::new() };
    let is_meant = |line: &Line<'_>| {
        // A form is the one word between the family and the size.
        let mut words = line.name.split('-');
        words.next().is_some_and(|word| word.eq_ignore_ascii_case(family))
            && words.next_back().is_some_and(|word| word.eq_ignore_ascii_case(size))
            && words.next().is_some_and(|form| FORMS.contains(&form))
            && words.next().is_none()
    };
    lines(GPUS).filter(is_meant).map(|line| Gpu::from_line(&line)).collect()
}

/// The forms in which one GPU is sold with the same memory.
const FORMS: &[&str] = &["NVL", "PCIE", "SXM"];

/// Returns the names of all GPUs.
///
/// ```
/// assert!(kubefoundry_facts::gpu_names().any(|name| name == "L4-24GB"));
/// ```
pub fn gpu_names() -> impl Iterator<Item = &'static str> {
    lines(GPUS).map(|line| line.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_a_form_means_gpus_of_one_size() {
        let names = |name| gpus_named(name).iter().map(|gpu| gpu.name).collect::<Vec<_>>();
        assert_eq!(names("A100-40GB"), ["A100-PCIE-40GB", "A100-SXM-40GB"]);
        assert_eq!(names("H200-141GB"), ["H200-NVL-141GB", "H200-SXM-141GB"]);
        // Another size, a word that is not a form, and a part of a GPU.
        for name in ["H100-81GB", "RTX-96GB", "RTX-PRO-96GB", "", "-", "A100-SXM4-80GB-MIG-1g.10gb"] {
            assert!(gpus_named(name).is_empty(), "{name}");
        }
        for gpu in gpu_names().filter_map(gpu) {
            assert_eq!(gpus_named(gpu.name), [gpu]);
        }
    }

    #[test]
    fn lines_are_sorted_and_complete() {
        let names: Vec<String> = lines(GPUS).map(|line| line.name.to_ascii_lowercase()).collect();
        assert!(names.len() >= 30 && names.windows(2).all(|pair| pair[0] < pair[1]));
        for name in names {
            let gpu = gpu(&name.to_ascii_uppercase()).unwrap();
            assert!(!gpu.source.is_empty() && gpu.min_memory < gpu.max_memory, "{name}");
            // The interval is narrow enough to decide something.
            assert!(gpu.min_memory >= gpu.max_memory / 100 * 90, "{name}");
            assert_eq!(gpu.capability.is_some(), gpu.resource == "nvidia.com/gpu", "{name}");
            assert!(!gpu.labels.is_empty() || gpu.resource != "nvidia.com/gpu", "{name}");
        }
    }

    #[test]
    fn the_page_names_every_gpu() {
        let page = include_str!("../../../docs/fit.md");
        for name in gpu_names() {
            assert!(page.contains(&format!("`{name}`")), "{name}: not in docs/fit.md");
        }
    }

    #[test]
    fn a_label_belongs_to_one_gpu() {
        let labels: Vec<(&str, &str)> =
            lines(GPUS).flat_map(|line| line.list("labels").into_iter().map(move |label| (label, line.name))).collect();
        for (label, name) in labels {
            assert_eq!(gpu_by_label(label).map(|gpu| gpu.name), Some(name), "{label}");
        }
        assert_eq!(gpu_by_label("NVIDIA-A100-SXM4-80GB-MIG-1g.10gb"), None);
        assert_eq!(gpu_by_label("NVIDIA-H100-80GB-HBM3").and_then(|gpu| gpu.capability), Some((9, 0)));
    }
}
