//! The GPU of the nodes on which a deployment runs.

use std::borrow::Cow;
use std::sync::Arc;

use super::Role;
use kubefoundry_facts::{Gpu, InstanceType};

/// A GPU on which a deployment runs.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownGpu {
    /// What names it: a product label, an instance type or an option.
    pub named_by: String,
    /// The resource that its device plugin offers, if that is known: `nvidia.com/gpu`.
    pub resource: Option<Cow<'static, str>>,
    /// The least bytes of memory of one GPU.
    pub min_memory: u64,
    /// The most bytes of memory of one GPU.
    pub max_memory: u64,
    /// The CUDA compute capability, if it is known and the GPU has one.
    pub capability: Option<(u8, u8)>,
}

impl KnownGpu {
    /// Returns a GPU of which facts are known.
    pub fn from_gpu(named_by: &str, gpu: &Gpu) -> Self {
        Self {
            named_by: named_by.to_owned(),
            resource: Some(Cow::Borrowed(gpu.resource)),
            min_memory: gpu.min_memory,
            max_memory: gpu.max_memory,
            capability: gpu.capability,
        }
    }

    /// Returns a GPU of which only the nominal bytes of memory are known. The driver reports up to a tenth less.
    pub fn from_nominal_memory(named_by: &str, memory: u64) -> Self {
        Self {
            named_by: named_by.to_owned(),
            resource: None,
            min_memory: memory / 10 * 9,
            max_memory: memory,
            capability: None,
        }
    }

    /// Returns the GPU of an instance type. Of a GPU that is not known by itself, the cloud's own figure is nominal.
    pub fn from_instance_type(instance_type: &InstanceType) -> Option<Self> {
        if let Some(gpu) = instance_type.gpu() {
            return Some(Self::from_gpu(instance_type.name, &gpu));
        }
        let memory = instance_type.gpu_memory.checked_div(instance_type.gpus.into())?;
        Some(Self::from_nominal_memory(instance_type.name, memory))
    }

    /// Returns what is true of each of several GPUs: memory from the least to the most, and what they agree on. `None`
    /// if there are no GPUs.
    pub fn any_of<'g>(named_by: String, gpus: impl IntoIterator<Item = &'g Self>) -> Option<Self> {
        let mut gpus = gpus.into_iter();
        let mut any = Self { named_by, ..gpus.next()?.clone() };
        for gpu in gpus {
            any.min_memory = any.min_memory.min(gpu.min_memory);
            any.max_memory = any.max_memory.max(gpu.max_memory);
            any.capability = any.capability.filter(|capability| gpu.capability == Some(*capability));
            any.resource = any.resource.filter(|resource| gpu.resource.as_ref() == Some(resource));
        }
        Some(any)
    }
}

/// The GPU of a deployment's nodes, as far as it follows from the options and the nodes of the cluster. What the
/// deployment itself says of a known product is not here.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NodeGpu {
    /// The GPU of the options that the node selector names by its product label.
    pub selected: Option<Arc<KnownGpu>>,
    /// The GPU of the nodes of the cluster on which the pods of a role may run.
    pub of_cluster: Vec<(Role, Arc<KnownGpu>)>,
    /// The GPU that the options give for the nodes of the node selector.
    pub by_selector: Option<Arc<KnownGpu>>,
    /// The GPU that the options give for a deployment that names no nodes with another one.
    pub by_default: Option<Arc<KnownGpu>>,
}
