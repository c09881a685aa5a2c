//! The number of GPUs that deployments request.

use std::collections::BTreeMap;

use kubefoundry_compiler::Decision;
use kubefoundry_deployment::wire::{ModelDeployment, RoleScaling};
use kubefoundry_kubernetes::wire::{PathOf, ValuePath};

/// The GPUs of the workers of one role.
struct WorkerGpus {
    replicas: u64,
    nodes: u64,
    /// The GPUs on each node of a worker.
    count: u64,
}

impl WorkerGpus {
    fn total(&self) -> u64 {
        self.replicas.saturating_mul(self.nodes).saturating_mul(self.count)
    }

    /// Formats the factors: `2 × 4`, or `2 × 2 nodes × 8`.
    fn factors(&self) -> String {
        let nodes = if self.nodes > 1 { format!("{} nodes × ", self.nodes) } else { String::new() };
        format!("{} × {nodes}{}", self.replicas, self.count)
    }
}

/// Formats the number of GPUs of all replicas, with the factors if there are several: `8 (2 × 4)`.
///
/// Returns `None` if the deployment has errors that prevented reading its serving mode or GPU counts.
pub(super) fn format_gpus(decision: &Decision) -> Option<String> {
    let value = |path: &ValuePath| {
        let path = path.to_string();
        decision.fields.iter().find(|field| field.path == path).map(|field| field.value.as_str())
    };
    let number = |path: &ValuePath| value(path).and_then(|text| text.parse::<u64>().ok());
    let spec = || ModelDeployment::path().spec();
    if value(&spec().serving().mode())? == "\"disaggregated\"" {
        let role = |role: PathOf<RoleScaling>| {
            let replicas = number(&role.clone().replicas()).unwrap_or(1);
            let nodes = number(&role.clone().nodes()).unwrap_or(1);
            Some(WorkerGpus { replicas, nodes, count: number(&role.gpu().count())? })
        };
        let (prefill, decode) = (role(spec().scaling().prefill())?, role(spec().scaling().decode())?);
        let total = prefill.total().saturating_add(decode.total());
        return Some(format!("{total} (prefill {}, decode {})", prefill.factors(), decode.factors()));
    }
    let worker = WorkerGpus {
        replicas: number(&spec().scaling().replicas()).unwrap_or(1),
        nodes: number(&spec().resources().nodes()).unwrap_or(1),
        count: number(&spec().resources().gpu().count()).unwrap_or(0),
    };
    match worker.total() {
        0 => Some("0".to_owned()),
        total if total == worker.count => Some(total.to_string()),
        total => Some(format!("{total} ({})", worker.factors())),
    }
}

/// The GPUs of several deployments, by resource.
#[derive(Default)]
pub(super) struct GpuSum<'d> {
    by_resource: BTreeMap<&'d str, u64>,
    /// Whether a deployment has errors that prevent reading its GPUs.
    is_partial: bool,
}

impl<'d> GpuSum<'d> {
    /// Adds the GPUs of a deployment. `None` is a deployment without a decision.
    pub(super) fn add(&mut self, decision: Option<&'d Decision>) {
        self.is_partial |= decision.is_none();
        for gpus in decision.iter().flat_map(|decision| &decision.gpus) {
            let sum = self.by_resource.entry(&gpus.resource).or_default();
            *sum = sum.saturating_add(gpus.count);
        }
    }

    /// Returns the resource of all GPUs if it is the only one.
    pub(super) fn only_resource(&self) -> Option<&'d str> {
        self.by_resource.keys().next().copied().filter(|_| self.by_resource.len() == 1)
    }

    /// Formats the sums: `12`, or `12 nvidia.com/gpu, 4 amd.com/gpu` with the resources.
    pub(super) fn format(&self, with_resources: bool) -> String {
        let sums = self
            .by_resource
            .iter()
            .map(|(resource, count)| if with_resources { format!("{count} {resource}") } else { count.to_string() });
        let sums = sums.collect::<Vec<_>>().join(", ");
        match (sums.is_empty(), self.is_partial) {
            (true, true) => "unknown".to_owned(),
            (true, false) => "0".to_owned(),
            (false, true) => format!("at least {sums}"),
            (false, false) => sums,
        }
    }
}
