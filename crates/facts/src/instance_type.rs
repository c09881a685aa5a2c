//! Facts about instance types of clouds.

use crate::gpu::{Gpu, gpu};
use crate::line::{Line, find, lines};

static INSTANCE_TYPES: &str = include_str!("../data/instance-types.txt");

/// An instance type with GPUs.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct InstanceType {
    /// The name: `Standard_NC24ads_A100_v4`.
    pub name: &'static str,
    /// The cloud: `azure`, `aws`.
    pub cloud: &'static str,
    /// How many GPUs it has.
    pub gpus: u32,
    /// The nominal bytes of memory of all its GPUs ([`Gpu::max_memory`]).
    pub gpu_memory: u64,
    /// The name of its GPU, if that one is known.
    pub gpu_name: Option<&'static str>,
    /// Where the facts are from.
    pub source: &'static str,
}

impl InstanceType {
    fn from_line(line: &Line<'static>) -> Self {
        Self {
            name: line.name,
            cloud: line.required("cloud"),
            gpus: line.required_number("gpus"),
            gpu_memory: line.required_number("gpuMemory"),
            gpu_name: line.get("gpu"),
            source: line.required("source"),
        }
    }

    /// Returns its GPU, if that one is known.
    pub fn gpu(&self) -> Option<Gpu> {
        gpu(self.gpu_name?)
    }
}

/// Finds an instance type by its name. Case matters to clouds, but not here: a wrong one is another mistake.
pub fn instance_type(name: &str) -> Option<InstanceType> {
    Some(InstanceType::from_line(&find(INSTANCE_TYPES, name)?))
}

/// Returns the names of all instance types.
///
/// ```
/// assert!(kubefoundry_facts::instance_type_names().any(|name| name == "Standard_NC24ads_A100_v4"));
/// ```
pub fn instance_type_names() -> impl Iterator<Item = &'static str> {
    lines(INSTANCE_TYPES).map(|line| line.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::lines;

    #[test]
    fn lines_are_sorted_and_name_known_gpus() {
        let names: Vec<String> = lines(INSTANCE_TYPES).map(|line| line.name.to_ascii_lowercase()).collect();
        assert!(names.len() >= 49 && names.windows(2).all(|pair| pair[0] < pair[1]));
        for name in names {
            let instance = instance_type(&name).unwrap();
            let gpu = instance.gpu().unwrap_or_else(|| panic!("{name}: its GPU is not in gpus.txt"));
            assert!(!instance.source.is_empty() && instance.gpus > 0, "{name}");
            assert_eq!(instance.gpu_memory, u64::from(instance.gpus) * gpu.max_memory, "{name}");
            assert!(gpu.per_node.is_none_or(|most| instance.gpus <= most), "{name}");
        }
        assert_eq!(instance_type("Standard_NC24ads_A100_v4").and_then(|it| it.gpu_name), Some("A100-PCIE-80GB"));
        assert_eq!(instance_type("Standard_D4s_v5"), None);
    }
}
