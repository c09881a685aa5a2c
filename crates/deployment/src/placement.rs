//! Which nodes of the cluster can run the pods of a deployment.
//!
//! Source: the filters of the scheduler for a pod with a node selector, tolerations and resource requests
//! (`pkg/scheduler/framework/plugins`: `nodeaffinity`, `tainttoleration`, `nodeunschedulable`, `noderesources`). What
//! other pods use of a node is not looked at.

use std::fmt;

use super::ir::{Amount, ContainerResources, Deployment, Role, Worker, amount_of};
use crate::codes;
use crate::wire::ModelDeployment;
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_kubernetes::cluster_node::{ClusterNode, Taint};
use kubefoundry_kubernetes::quantity::billionths;

/// What of a worker's pod decides on which nodes it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PodPlacement {
    /// The scheduler places a pod with the node selector, the tolerations and the resources of the deployment.
    Scheduled,
    /// The provider's controller places it on nodes with the labels of the node selector.
    ByLabels,
    /// The provider's controller orders nodes for it.
    OnNewNodes,
}

/// Why a node cannot run a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Obstacle<'a> {
    Label { key: &'a str, asked: &'a str, offered: Option<&'a str> },
    Taint(&'a Taint),
    Cordon,
    Resource { name: &'a str, asked: i128, offered: i128 },
}

impl Obstacle<'_> {
    /// Returns whether the node has nothing at all of a resource: it is of another kind.
    fn is_of_kind(&self) -> bool {
        matches!(self, Self::Resource { offered: 0, .. })
    }
}

impl fmt::Display for Obstacle<'_> {
    /// Writes the end of a sentence about the node.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Label { key, asked, offered: Some(offered) } => {
                write!(f, "has {key}={offered} instead of {key}={asked}")
            }
            Self::Label { key, asked, offered: None } => write!(f, "does not have the label {key}={asked}"),
            Self::Taint(taint) => write!(f, "has the taint {taint}, which is not tolerated"),
            Self::Cordon => f.write_str("is cordoned"),
            Self::Resource { name, asked, offered: 0 } => {
                write!(f, "offers no {name}, but the pod asks for {}", amount(name, *asked))
            }
            Self::Resource { name, asked, offered } => {
                let of = if *name == "memory" { "of " } else { "" };
                write!(f, "offers {} {of}{name}, but the pod asks for {}", amount(name, *offered), amount(name, *asked))
            }
        }
    }
}

/// Formats an amount of a resource: memory in GiB, others in units.
fn amount(resource: &str, billionths: i128) -> String {
    #[expect(clippy::cast_precision_loss, reason = "the amount is only shown")]
    let units = billionths as f64 / 1e9;
    if resource == "memory" { format!("{:.1} GiB", units / f64::from(1 << 30)) } else { format!("{units}") }
}

/// Returns what a worker's pod asks for, by resource, in billionths.
fn requests(worker: &Worker) -> Vec<(&str, i128)> {
    let gpus = i128::from(worker.gpu_count.value) * 1_000_000_000;
    let gpus = Some((worker.gpu_type.value.as_str(), gpus)).filter(|(_, count)| *count > 0);
    // The API server sets a request that is absent to the limit.
    let ContainerResources { requests, limits, .. } = &worker.container;
    let is_requested = |limit: &&Amount| amount_of(requests, &limit.resource).is_none();
    let others = requests.iter().chain(limits.iter().filter(is_requested));
    let others = others.filter_map(|amount| Some((amount.resource.as_str(), billionths(&amount.quantity)?)));
    let others = others.filter(|(resource, _)| *resource != worker.gpu_type.value);
    gpus.into_iter().chain(others).collect()
}

fn labels_in_the_way<'a>(deployment: &'a Deployment, node: &'a ClusterNode) -> impl Iterator<Item = Obstacle<'a>> {
    deployment.node_selector.iter().filter_map(|(key, asked)| {
        let offered = node.labels.get(key).map(String::as_str);
        (offered != Some(asked)).then_some(Obstacle::Label { key, asked, offered })
    })
}

/// Returns the taints that keep a worker's pod away. One whose key is the resource of the GPUs does not count: the
/// admission plugin `ExtendedResourceToleration` tolerates it, and a dump does not show whether a cluster has that.
fn taints_in_the_way<'a>(
    deployment: &'a Deployment,
    worker: &'a Worker,
    node: &'a ClusterNode,
) -> impl Iterator<Item = Obstacle<'a>> {
    let is_tolerated = |taint: &Taint| {
        taint.key == worker.gpu_type.value
            || deployment.tolerations.iter().any(|toleration| taint.is_tolerated_by(toleration))
    };
    node.taints.iter().filter(move |taint| !is_tolerated(taint)).map(Obstacle::Taint)
}

fn resources_in_the_way<'a>(worker: &'a Worker, node: &'a ClusterNode) -> impl Iterator<Item = Obstacle<'a>> {
    requests(worker).into_iter().filter_map(|(name, asked)| {
        let offered = node.allocatable.get(name).copied().unwrap_or_default();
        (offered < asked).then_some(Obstacle::Resource { name, asked, offered })
    })
}

/// Returns the nodes on which the pod of a worker may run, now or once they take pods again.
pub(crate) fn possible_nodes<'a>(
    deployment: &'a Deployment,
    worker: &'a Worker,
    nodes: &'a [ClusterNode],
) -> impl Iterator<Item = &'a ClusterNode> {
    nodes.iter().filter(move |node| {
        labels_in_the_way(deployment, node).next().is_none()
            && taints_in_the_way(deployment, worker, node).next().is_none()
            && resources_in_the_way(worker, node).next().is_none()
    })
}

/// Warns about a worker on several nodes for whose pods the cluster has too few GPUs. A node with enough GPUs can run
/// several of them.
fn check_node_count(deployment: &Deployment, worker: &Worker, nodes: &[ClusterNode], findings: &mut Findings<'_>) {
    let asked = requests(worker);
    let pods_on = |node: &ClusterNode| {
        let offered = |name: &str| node.allocatable.get(name).copied().unwrap_or_default();
        asked.iter().filter_map(|(name, amount)| offered(name).checked_div(*amount)).min().unwrap_or_default()
    };
    let pods: i128 = possible_nodes(deployment, worker, nodes).map(pods_on).sum();
    let wanted = worker.nodes.value;
    // Where no pod fits, the nearest node is described.
    if wanted == 1 || worker.replicas.value == 0 || pods == 0 || pods >= i128::from(wanted) {
        return;
    }
    let path = worker.nodes_path();
    let message = format!(
        "{path} is {wanted}, but the nodes of the cluster can run only {pods} of the {wanted} pods of a worker"
    );
    findings.report(&codes::NO_NODE_FITS, &path, message).help("ask for at most what the nodes offer, or add nodes");
}

/// Warns about workers that no node of the cluster can run, and says what the nearest node lacks.
pub fn check_nodes(
    deployment: &Deployment,
    placement: PodPlacement,
    nodes: &[ClusterNode],
    findings: &mut Findings<'_>,
) {
    if placement == PodPlacement::OnNewNodes {
        return;
    }
    for worker in deployment.workload.workers() {
        if placement == PodPlacement::Scheduled {
            check_node_count(deployment, worker, nodes, findings);
        }
        let obstacles = |node| {
            let mut all: Vec<Obstacle<'_>> = labels_in_the_way(deployment, node).collect();
            if placement == PodPlacement::Scheduled {
                all.extend(taints_in_the_way(deployment, worker, node));
                all.extend(node.is_cordoned.then_some(Obstacle::Cordon));
                all.extend(resources_in_the_way(worker, node));
            }
            (node, all)
        };
        // A node of another kind is not near, and neither is one that is not selected, however little else it lacks.
        let distance = |(_, obstacles): &(&ClusterNode, Vec<Obstacle<'_>>)| {
            let labels = obstacles.iter().filter(|obstacle| matches!(obstacle, Obstacle::Label { .. })).count();
            (obstacles.iter().any(Obstacle::is_of_kind), labels, obstacles.len())
        };
        let Some((nearest, obstacles)) = nodes.iter().map(obstacles).min_by_key(distance) else { continue };
        let Some(first) = obstacles.first().filter(|_| worker.replicas.value > 0) else { continue };
        let spec = ModelDeployment::path().spec();
        let place: FieldRef = match first {
            Obstacle::Label { .. } => spec.node_selector().into(),
            Obstacle::Taint(_) => spec.tolerations().into(),
            Obstacle::Cordon => FieldRef::from(spec),
            Obstacle::Resource { name, .. } => {
                let ContainerResources { requests, limits, .. } = &worker.container;
                let amount = amount_of(requests, name).or_else(|| amount_of(limits, name));
                FieldRef::value(&amount.map_or_else(|| worker.gpu_count_path(), |amount| amount.path.clone()))
            }
        };
        let help = match first {
            Obstacle::Label { .. } => "select labels that nodes of the cluster have, or label a node".to_owned(),
            Obstacle::Taint(Taint { key, effect, .. }) => {
                format!("add to spec.tolerations: {{key: {key}, operator: Exists, effect: {effect}}}")
            }
            Obstacle::Cordon => "uncordon the node".to_owned(),
            Obstacle::Resource { .. } => "ask for at most what a node offers, or add larger nodes".to_owned(),
        };
        let role = if worker.role == Role::Aggregated {
            "a worker".to_owned()
        } else {
            format!("a {} worker", worker.role.as_str())
        };
        let reasons: Vec<String> = obstacles.iter().map(ToString::to_string).collect();
        let message = format!(
            "no node of the cluster can run {role}: {} comes closest, but it {}",
            nearest.name,
            reasons.join(", and it ")
        );
        findings.report(&codes::NO_NODE_FITS, place, message).help(help);
    }
}
