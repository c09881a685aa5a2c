//! The GPUs on which a deployment runs: as far as it says, by the labels of the nodes that it selects or by the
//! instance type that its provider orders; and otherwise as the nodes of the cluster or the options say.

use super::ir::{Deployment, KnownGpu, Worker};
use crate::codes;
use crate::wire::ModelDeployment;
use kubefoundry_diagnostics::Findings;
use kubefoundry_facts::{gpu_by_label, instance_type};

/// Labels whose value is the product name of a GPU.
pub(crate) const PRODUCT_LABELS: &[&str] = &["nvidia.com/gpu.product", "amd.com/gpu.product-name"];

/// Labels whose value is the instance type of a cloud.
pub(crate) const INSTANCE_TYPE_LABELS: &[&str] =
    &["node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"];

/// The resources that offer whole GPUs.
pub(crate) const WHOLE_GPUS: &[&str] = &["nvidia.com/gpu", "amd.com/gpu"];

/// Returns the GPU that a worker gets, if it is known.
///
/// What the deployment says comes first: a product label or an instance type in its node selector, then the instance
/// type that is `ordered` for it. If it says nothing, the nodes of the cluster decide on which its pods may run, and
/// then the options: by its node selector, its namespace, or for all. A product or an instance type about which nothing
/// is known is neither of the last two.
///
/// The options apply to whole GPUs of the vendor that they name.
pub fn find_gpu(deployment: &Deployment, worker: &Worker, ordered: Option<&str>) -> Option<KnownGpu> {
    let resource = worker.gpu_type.value.as_str();
    let known = &deployment.node_gpu;
    let of_resource = |gpu: &&KnownGpu| WHOLE_GPUS.contains(&resource) && gpu.resource.as_deref() == Some(resource);
    if let Some(gpu) = known.selected.as_deref().filter(of_resource) {
        return Some(gpu.clone());
    }
    let selected = deployment.node_selector.iter().find_map(|(label, value)| {
        if PRODUCT_LABELS.contains(&label.as_str()) {
            return gpu_by_label(value).map(|gpu| KnownGpu::from_gpu(value, &gpu));
        }
        let is_instance_type = INSTANCE_TYPE_LABELS.contains(&label.as_str());
        KnownGpu::from_instance_type(&instance_type(value).filter(|_| is_instance_type)?)
    });
    if let Some(gpu) = selected {
        // A GPU of another vendor than the resource is a mistake of its own.
        return Some(gpu).filter(|gpu| !WHOLE_GPUS.contains(&resource) || of_resource(&gpu));
    }
    if let Some(ordered) = ordered {
        return KnownGpu::from_instance_type(&instance_type(ordered)?);
    }
    if let Some((_, gpu)) = known.of_cluster.iter().find(|(role, _)| *role == worker.role) {
        return Some(gpu.clone());
    }
    if let Some(gpu) = known.by_selector.as_deref() {
        return Some(gpu).filter(of_resource).cloned();
    }
    let names_nodes = |(label, _): &(String, String)| {
        PRODUCT_LABELS.contains(&label.as_str()) || INSTANCE_TYPE_LABELS.contains(&label.as_str())
    };
    if deployment.node_selector.iter().any(names_nodes) {
        return None;
    }
    known.by_default.as_deref().filter(of_resource).cloned()
}

/// The labels of GPUs, and the resource that the device plugin of the same vendor offers.
const VENDOR_LABELS: &[(&str, &str)] = &[("nvidia.com/gpu.", "nvidia.com/gpu"), ("amd.com/gpu.", "amd.com/gpu")];

/// Warns about a node selector for GPUs of another vendor than the resource that the pods ask for. No node has both, so
/// the scheduler finds none.
pub(crate) fn check_vendor(deployment: &Deployment, findings: &mut Findings<'_>) {
    // Both roles have GPUs of one vendor.
    let Some(worker) = deployment.workload.workers().into_iter().find(|worker| worker.gpu_count.value > 0) else {
        return;
    };
    let asked = worker.gpu_type.value.as_str();
    if !WHOLE_GPUS.contains(&asked) {
        return;
    }
    for (label, value) in &deployment.node_selector {
        let by_label =
            VENDOR_LABELS.iter().find(|(prefix, _)| label.starts_with(prefix)).map(|(_, resource)| *resource);
        let by_type = || {
            let is_type = INSTANCE_TYPE_LABELS.contains(&label.as_str());
            Some(instance_type(value).filter(|_| is_type)?.gpu()?.resource)
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
