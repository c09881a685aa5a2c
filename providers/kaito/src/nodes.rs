//! The nodes of a workload: instance type and node labels, and checks of them against the cluster's KAITO.

use std::borrow::Cow;

use super::codes::{
    INSTANCE_TYPE_MISSING, INSTANCE_TYPE_REFUSED, INSTANCE_TYPE_REQUIRED, MODEL_NEEDS_NODES, SELECTS_EVERY_NODE,
    UNSUITABLE_INSTANCE_TYPE,
};
use super::manifests::{LabelSelector, Partition};
use super::overrides::{self, Overrides};
use super::partition::choose_partition;
use super::settings::KaitoInstallation;
use super::workload::KaitoKind;
use kubefoundry_deployment::codes;
use kubefoundry_deployment::hardware::find_instance_type;
use kubefoundry_deployment::ir::{Deployment, Leaf, NVIDIA_GPU, Worker};
use kubefoundry_deployment::known_models::checkpoint_size;
use kubefoundry_deployment::placement::PodPlacement;
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_facts::InstanceType;
use kubefoundry_kubernetes::names;
use kubefoundry_kubernetes::pod::StringMap;
use kubefoundry_provider::TranslationContext;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::{closest, shorten};

/// The labels that KAITO sets on nodes and removes from selectors (api/v1beta1/labels.go, SanitizedMatchLabels).
const RESERVED_LABELS: &[&str] =
    &["kaito.sh/workspace", "kaito.sh/workspacenamespace", "kaito.sh/ragengine", "kaito.sh/ragenginenamespace"];

/// The nodes of a workload.
#[derive(Debug)]
pub(super) struct Nodes {
    /// The number of nodes, if it is not left to KAITO.
    pub(super) count: Option<u32>,
    /// The instance type to provision.
    pub(super) instance_type: Option<String>,
    /// The labels that nodes must have.
    pub(super) label_selector: LabelSelector,
    /// The names of the nodes to run on first.
    pub(super) preferred: Vec<String>,
    /// The part of the GPUs of a node.
    pub(super) partition: Option<Partition>,
}

impl Nodes {
    /// Chooses the nodes of a deployment (docs/design/0011): the instance type of the overrides, and the labels of
    /// `nodeSelector`, or else every Linux node.
    pub(super) fn choose(
        deployment: &Deployment,
        overrides: &Overrides,
        is_preset: bool,
        context: &TranslationContext<'_>,
        findings: &mut Findings<'_>,
    ) -> Self {
        let instance_type = overrides.instance_type.clone();
        // An invalid instance type has been reported and is not missing.
        let is_missing = !overrides::is_written(deployment, "instanceType");
        let lacks_selector = is_preset && deployment.node_selector.is_empty();
        if let Some(instance_type) = &instance_type {
            check_gpus(instance_type, deployment, is_preset, findings);
        }
        check_instance_type(instance_type.as_deref(), is_missing, lacks_selector, context, findings);
        // If the options do not say whether KAITO provisions nodes, the finding about the instance type asks for that
        // first and names the selector as the other way: only one of the two can be needed.
        if lacks_selector && is_missing && node_auto_provisioning(context) == Some(false) {
            findings
                .report(
                    &SELECTS_EVERY_NODE,
                    ModelDeployment::path().spec().node_selector(),
                    "without spec.nodeSelector a KAITO preset selects every Linux node, and KAITO rejects it unless \
                     all of them have the same NVIDIA GPU",
                )
                .help("select the GPU nodes, for example with spec.nodeSelector: {apps: llm}");
        }
        for (key, _) in deployment.node_selector.iter().filter(|(key, _)| RESERVED_LABELS.contains(&key.as_str())) {
            let path = ModelDeployment::path().spec().node_selector().key(key.clone());
            findings
                .report(
                    &codes::FIELD_IGNORED,
                    FieldRef::key(&path),
                    format!("{path} has no effect: KAITO sets this label itself"),
                )
                .help("remove it, and select nodes by your own labels");
        }
        let match_labels = if deployment.node_selector.is_empty() {
            StringMap::from_entry("kubernetes.io/os", "linux")
        } else {
            deployment.node_selector.as_slice().into()
        };
        Self {
            count: None,
            instance_type,
            label_selector: LabelSelector { match_labels },
            preferred: check_preferred_nodes(overrides, findings),
            partition: choose_partition(deployment, overrides, context, findings),
        }
    }
}

/// Returns the number of nodes to ask for, and warns that KAITO may take another one.
///
/// A template is one pod of a StatefulSet (pkg/workspace/manifests/manifests.go). For a preset, KAITO's planner counts
/// the nodes by the size of the model and the memory of the GPUs, and starts a Ray cluster over them. It takes the
/// requested number only where it does not know that memory (pkg/workspace/estimator/nodesestimator/estimator.go,
/// `EstimateNodeCount`, and pkg/model/interface.go, `buildVLLMInferenceCommand`).
pub(super) fn requested_nodes(
    worker: &Worker,
    kind: KaitoKind,
    is_template: bool,
    findings: &mut Findings<'_>,
) -> Option<u32> {
    if worker.nodes.value == 1 {
        return None;
    }
    let path = worker.nodes_path();
    let planned =
        "KAITO's planner chooses the number of nodes by the size of the model and the memory of the instance type";
    let by_instance_type = "remove it, and choose the number of nodes by spec.provider.overrides.instanceType";
    let (message, help) = match kind {
        _ if is_template => (
            format!("{path} has no effect: KAITO runs a template in one pod on one node"),
            "remove it, and use a preset (without an image), whose nodes KAITO plans, or provider dynamo or kuberay",
        ),
        KaitoKind::InferenceSet => (format!("{path} has no effect: {planned}"), by_instance_type),
        KaitoKind::Workspace => (
            format!("{path} becomes resource.count, which is deprecated and mostly has no effect: {planned}"),
            by_instance_type,
        ),
    };
    findings.report(&codes::FIELD_IGNORED, FieldRef::key(&path), message).help(help);
    (kind == KaitoKind::Workspace && !is_template).then_some(worker.nodes.value)
}

/// Returns the worker as one pod runs it: KAITO decides how a preset is spread over nodes.
pub(super) fn on_one_node(worker: &Worker) -> Cow<'_, Worker> {
    if worker.nodes.value == 1 {
        return Cow::Borrowed(worker);
    }
    Cow::Owned(Worker { nodes: Leaf::defaulted(1), ..worker.clone() })
}

/// Returns the names of the preferred nodes, after reporting those that no node can have.
fn check_preferred_nodes(overrides: &Overrides, findings: &mut Findings<'_>) -> Vec<String> {
    let nodes = overrides.preferred_nodes.clone().unwrap_or_default();
    for (index, name) in nodes.iter().enumerate() {
        if let Err(expected) = names::dns_1123_subdomain(name) {
            let path = FieldPath::from(overrides::path().preferred_nodes()).with_index(index);
            let message = format!("{path} is {:?}, expected {expected}", shorten(name));
            findings.report(&codes::INVALID_NAME, &path, message).help("write the name of a node");
        }
    }
    nodes
}

/// Returns what decides on which nodes the pods of a deployment run. With an instance type, KAITO orders nodes if too
/// few with the labels exist. Without one it takes the nodes that have them, and tolerates their taints as it sees fit.
pub(super) fn placement(deployment: &Deployment) -> PodPlacement {
    if overrides::is_written(deployment, "instanceType") { PodPlacement::OnNewNodes } else { PodPlacement::ByLabels }
}

/// Warns about an instance type that KAITO does not know, or that has fewer GPUs than a pod of the deployment. A preset
/// takes the GPUs that the instance type has.
///
/// KAITO refuses a type that it does not know, except for those whose names begin like Azure's with GPUs and without
/// (api/v1beta1/workspace_validation.go, `validateCreateWithInference`).
fn check_gpus(instance_type: &str, deployment: &Deployment, is_preset: bool, findings: &mut Findings<'_>) {
    let path = overrides::path().instance_type();
    let worker_gpus = deployment.workload.workers().iter().map(|worker| worker.gpu_count.value).max().unwrap_or(0);
    let Some(known) = find_instance_type(instance_type) else {
        let message = if instance_type.starts_with("Standard_D") && (is_preset || worker_gpus > 0) {
            format!("{path} is {instance_type}, but virtual machines of Azure's D series have no GPU")
        } else if !instance_type.starts_with("Standard_N") && !instance_type.starts_with("Standard_D") {
            format!("{path} is {instance_type:?}, which KAITO does not know, and it refuses such a type")
        } else {
            return;
        };
        // A name of the D series is right in itself, so it is not a misspelling of another.
        let is_misspelled = !instance_type.starts_with("Standard_D");
        let closest = closest(instance_type, kubefoundry_facts::instance_type_names()).filter(|_| is_misspelled);
        let help = closest.map_or_else(
            || "set it to an instance type with GPUs, such as Standard_NC24ads_A100_v4".to_owned(),
            |closest| format!("did you mean {closest}?"),
        );
        findings.report(&UNSUITABLE_INSTANCE_TYPE, &path, message).help(help);
        return;
    };
    let facts = &known.facts;
    let resource = known.gpu.as_ref().and_then(|gpu| gpu.resource.as_deref()).unwrap_or(NVIDIA_GPU);
    let asked = deployment.workload.workers().into_iter().next().map_or(NVIDIA_GPU, |worker| &worker.gpu_type.value);
    if resource != asked && (is_preset || worker_gpus > 0) {
        let message = format!("{path} is {instance_type}, whose GPUs are {resource}, but a pod asks for {asked}");
        findings
            .report(&UNSUITABLE_INSTANCE_TYPE, &path, message)
            .help(format!("set it to an instance type that has {asked}"));
        return;
    }
    if is_preset {
        check_preset(facts, deployment, findings);
    }
    if !is_preset && worker_gpus > facts.gpus {
        let message = format!(
            "{} is {instance_type}, which has {}, but a pod asks for {worker_gpus}",
            path,
            count_gpus(facts.gpus)
        );
        let count = ModelDeployment::path().spec().resources().gpu().count();
        findings
            .report(&UNSUITABLE_INSTANCE_TYPE, &path, message)
            .help(format!("choose an instance type with {worker_gpus} GPUs, or set {count} to {}", facts.gpus));
    }
}

/// Checks a preset against the GPUs of its instance type. KAITO chooses a tensor parallel size of at most the GPUs of a
/// node, and several nodes with a stage of the pipeline each for a model that does not fit one (pkg/model/interface.go,
/// `configureParallelism`). A size in the settings replaces KAITO's, because it comes later on the command line
/// (presets/workspace/inference/vllm/inference_api.py, `parse_args`).
fn check_preset(facts: &InstanceType, deployment: &Deployment, findings: &mut Findings<'_>) {
    let (name, gpus) = (facts.name, facts.gpus);
    let find = |flag: &str| deployment.engine.args.iter().find(|(key, _)| key.replace('_', "-") == flag);
    let written = find("tensor-parallel-size");
    if let Some((key, size)) = written.and_then(|(key, value)| Some((key, value.parse::<u32>().ok()?)))
        && size > gpus
        // With both sizes written, the parts may be on several nodes.
        && find("pipeline-parallel-size").is_none()
    {
        let path = ModelDeployment::path().spec().engine().args().key(key.clone());
        let message =
            format!("{path} is {size}, but a node of {name} has {}, and vLLM does not start", count_gpus(gpus));
        findings.report(&UNSUITABLE_INSTANCE_TYPE, &path, message).help(format!(
            "remove it, since KAITO chooses it by the GPUs of a node, or choose an instance type with {size} GPUs"
        ));
    }
    let Some(model) = deployment.model.facts.as_deref() else { return };
    let size = checkpoint_size(model);
    if size.min > facts.gpu_memory {
        let (memory, nodes) = (facts.gpu_memory >> 30, size.min.div_ceil(facts.gpu_memory));
        let path = overrides::path().instance_type();
        let message = format!(
            "the weights of {} ({size}) do not fit {name}, whose GPUs have {memory} GiB: KAITO orders at least {nodes} \
             nodes for a replica",
            model.id
        );
        findings
            .report(&MODEL_NEEDS_NODES, path, message)
            .help("choose an instance type with more memory if one node should be enough");
    }
}

fn count_gpus(gpus: u32) -> String {
    if gpus == 1 { "1 GPU".to_owned() } else { format!("{gpus} GPUs") }
}

/// Checks the instance type, or its absence, as KAITO's webhook does (api/v1beta1/workspace_validation.go,
/// validateCreate): it is required if KAITO provisions nodes, which is the default, and refused otherwise.
fn check_instance_type(
    instance_type: Option<&str>,
    is_missing: bool,
    lacks_selector: bool,
    context: &TranslationContext<'_>,
    findings: &mut Findings<'_>,
) {
    let path = overrides::path().instance_type();
    match (node_auto_provisioning(context), instance_type) {
        (Some(true), None) if is_missing => {
            let message = format!("{path} is required when KAITO provisions nodes (kaito.nodeAutoProvisioning: true)");
            findings
                .report(&INSTANCE_TYPE_REQUIRED, &path, message)
                .help("set it to an instance type, such as Standard_NC24ads_A100_v4");
        }
        (Some(false), Some(given)) => {
            let message =
                format!("{path} is {given:?}, but KAITO provisions no nodes (kaito.nodeAutoProvisioning: false)");
            findings
                .report(&INSTANCE_TYPE_REFUSED, &path, message)
                .help("remove it, and select nodes with spec.nodeSelector");
        }
        (None, None) if is_missing => {
            let message = format!("{path} is required when KAITO provisions nodes, which is its default");
            let select = if lacks_selector { ", and select the GPU nodes with spec.nodeSelector" } else { "" };
            findings.report(&INSTANCE_TYPE_MISSING, &path, message).help(format!(
                "set it to an instance type, or, if the cluster has the nodes, add to kubefoundry.yaml: kaito: \
                 {{nodeAutoProvisioning: false}}{select}"
            ));
        }
        _ => {}
    }
}

/// Returns whether the cluster's KAITO provisions nodes, or `None` if the options do not say.
fn node_auto_provisioning(context: &TranslationContext<'_>) -> Option<bool> {
    context.settings.with(|kaito: &KaitoInstallation| kaito.node_auto_provisioning)
}
