//! The GPUs on which a deployment runs: as far as it says, by the labels of the nodes that it selects or by the
//! instance type that its provider orders; and otherwise as the nodes of the cluster or the options say.

use std::borrow::Cow;
use std::sync::Arc;

use super::fact_cache::FactCache;
use super::ir::{Deployment, KnownGpu, Worker};
use crate::codes;
use crate::wire::ModelDeployment;
use kubefoundry_diagnostics::Findings;
use kubefoundry_facts::InstanceType;

/// Labels whose value is the product name of a GPU.
pub(crate) const PRODUCT_LABELS: &[&str] = &["nvidia.com/gpu.product", "amd.com/gpu.product-name"];

/// Labels whose value is the instance type of a cloud.
pub(crate) const INSTANCE_TYPE_LABELS: &[&str] =
    &["node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"];

/// The resources that offer whole GPUs.
pub const WHOLE_GPUS: &[&str] = &["nvidia.com/gpu", "amd.com/gpu"];

/// An instance type, and its GPU if that is known.
#[derive(Debug)]
pub struct KnownInstanceType {
    /// What is known about the instance type.
    pub facts: InstanceType,
    /// Its GPU, with its size.
    pub gpu: Option<Arc<KnownGpu>>,
}

/// Finds an instance type by its name, whatever the case of its letters.
pub fn find_instance_type(name: &str) -> Option<Arc<KnownInstanceType>> {
    static INSTANCE_TYPES: FactCache<String, Option<Arc<KnownInstanceType>>> = FactCache::new();
    let find = || {
        let facts = kubefoundry_facts::instance_type(name)?;
        let gpu = KnownGpu::from_instance_type(&facts).map(Arc::new);
        Some(Arc::new(KnownInstanceType { facts, gpu }))
    };
    INSTANCE_TYPES.get_or_find(name, find)
}

/// Finds a GPU by the value of its product label.
pub(crate) fn find_product(label: &str) -> Option<Arc<KnownGpu>> {
    static PRODUCTS: FactCache<String, Option<Arc<KnownGpu>>> = FactCache::new();
    let find = || Some(Arc::new(KnownGpu::from_gpu(label, &kubefoundry_facts::gpu_by_label(label)?)));
    PRODUCTS.get_or_find(label, find)
}

/// Returns the GPU that a worker gets, if it is known.
///
/// What the deployment says comes first: a product label or an instance type in its node selector, then the instance
/// type that is `ordered` for it. If it says nothing, the nodes of the cluster decide on which its pods may run, and
/// then the options: by its node selector, its namespace, or for all. A product or an instance type about which nothing
/// is known is neither of the last two.
///
/// The options apply to whole GPUs of the vendor that they name.
pub fn find_gpu(deployment: &Deployment, worker: &Worker, ordered: Option<&str>) -> Option<Arc<KnownGpu>> {
    let resource = worker.gpu_type.value.as_str();
    let known = &deployment.node_gpu;
    let of_resource =
        |gpu: &&Arc<KnownGpu>| WHOLE_GPUS.contains(&resource) && gpu.resource.as_deref() == Some(resource);
    if let Some(gpu) = known.selected.as_ref().filter(of_resource) {
        return Some(Arc::clone(gpu));
    }
    let selected = deployment.node_selector.iter().find_map(|(label, value)| {
        if PRODUCT_LABELS.contains(&label.as_str()) {
            return find_product(value);
        }
        let is_instance_type = INSTANCE_TYPE_LABELS.contains(&label.as_str());
        if is_instance_type { find_instance_type(value)?.gpu.clone() } else { None }
    });
    if let Some(gpu) = selected {
        // A GPU of another vendor than the resource is a mistake of its own.
        return Some(gpu).filter(|gpu| !WHOLE_GPUS.contains(&resource) || of_resource(&gpu));
    }
    if let Some(ordered) = ordered {
        return find_instance_type(ordered)?.gpu.clone();
    }
    if let Some((_, gpu)) = known.of_cluster.iter().find(|(role, _)| *role == worker.role) {
        return Some(Arc::clone(gpu));
    }
    if let Some(gpu) = known.by_selector.as_ref() {
        return Some(gpu).filter(of_resource).cloned();
    }
    let names_nodes = |(label, _): &(String, String)| {
        PRODUCT_LABELS.contains(&label.as_str()) || INSTANCE_TYPE_LABELS.contains(&label.as_str())
    };
    if deployment.node_selector.iter().any(names_nodes) {
        return None;
    }
    known.by_default.as_ref().filter(of_resource).cloned()
}

/// The labels of GPUs, and the resource that the device plugin of the same vendor offers.
const VENDOR_LABELS: &[(&str, &str)] = &[("nvidia.com/gpu.", "nvidia.com/gpu"), ("amd.com/gpu.", "amd.com/gpu")];

/// Warns about a node selector for GPUs of another vendor than the resource that the pods ask for. No node has both, so
/// the scheduler finds none.
pub fn check_vendor(deployment: &Deployment, findings: &mut Findings<'_>) {
    // Both roles have GPUs of one vendor.
    let Some(worker) = deployment.workload.workers().into_iter().find(|worker| worker.gpu_count.value > 0) else {
        return;
    };
    let asked = worker.gpu_type.value.as_str();
    if !WHOLE_GPUS.contains(&asked) {
        return;
    }
    for (label, value) in &deployment.node_selector {
        let by_label = VENDOR_LABELS
            .iter()
            .find(|(prefix, _)| label.starts_with(prefix))
            .map(|(_, resource)| Cow::Borrowed(*resource));
        let by_type = || {
            let is_type = INSTANCE_TYPE_LABELS.contains(&label.as_str());
            if is_type { find_instance_type(value)?.gpu.as_ref()?.resource.clone() } else { None }
        };
        let Some(offered) = by_label.or_else(by_type).filter(|offered| *offered != asked) else { continue };
        let path = ModelDeployment::path().spec().node_selector().key(label.clone());
        let field = worker.gpu_path().gpu_type();
        let message =
            format!("{path} selects nodes with {offered}, but the pods ask for {asked}, so they stay Pending");
        findings
            .report(&codes::OTHER_VENDORS_NODES, &path, message)
            .help(format!("select nodes that offer {asked}, or set {field} to {offered}"));
    }
}
