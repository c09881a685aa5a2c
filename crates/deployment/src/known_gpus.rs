//! The GPUs that the options name for the nodes of deployments, and GPUs of a user's own.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::hardware::{INSTANCE_TYPE_LABELS, PRODUCT_LABELS, WHOLE_GPUS, find_instance_type, find_product};
use super::ir::{Deployment, KnownGpu, NodeGpu, Role, Worker};
use super::placement::possible_nodes;
use kubefoundry_diagnostics::Findings;
use kubefoundry_facts::{gpu, gpu_names, gpus_named};
use kubefoundry_kubernetes::cluster_node::ClusterNode;
use kubefoundry_kubernetes::quantity::billionths;
use kubefoundry_kubernetes::wire::{Map, Syntax};
use kubefoundry_kubernetes::{string_enum, wire_object};
use kubefoundry_transform::codes::INVALID_OPTION;
use kubefoundry_transform::{TransformSettings, refuse_found};
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::closest;

wire_object! {
    /// The GPUs of your nodes. A product label or an instance type in a deployment wins over them.
    pub struct GpuSettings {
        /// The GPU of all nodes that no other entry names: a GPU of docs/fit.md, a product label, or one of `products`.
        default: String = "default",
        /// The GPU by the namespace of a deployment.
        namespaces: Map<String> = "namespaces",
        /// The GPU by the labels of a deployment's `nodeSelector`. The first entry that matches wins.
        node_selectors: Vec<SelectedGpu> = "nodeSelectors",
        /// GPUs of your own, by a name or by the value of their product label.
        products: Map<OwnGpu> = "products",
    }
}

wire_object! {
    /// The GPU of the nodes with some labels.
    pub struct SelectedGpu {
        /// Labels that must all be in `nodeSelector`.
        match_labels: Map<String> = "matchLabels" [required()],
        /// The GPU of these nodes.
        gpu: String = "gpu" [required()],
    }
}

wire_object! {
    /// A GPU of your own.
    pub struct OwnGpu {
        /// The memory of one GPU, as its vendor states it: `96Gi`.
        memory: String = "memory" [required(), syntax(Syntax::Quantity)],
        /// The CUDA compute capability, quoted: `"9.0"`. Unknown if absent.
        compute_capability: String = "computeCapability",
        /// The vendor, whose device plugin offers the GPU.
        vendor: GpuVendor = "vendor" [default("\"nvidia\"")],
    }
}

string_enum! {
    /// The vendor of a GPU.
    pub enum GpuVendor {
        /// `nvidia.com/gpu`.
        Nvidia = "nvidia",
        /// `amd.com/gpu`.
        Amd = "amd",
    }
}

/// Words of product labels that say nothing about the model of a GPU.
const VENDOR_WORDS: &[&str] = &["AMD", "Instinct", "NVIDIA", "Tesla"];

/// The GPUs that the options name.
#[derive(Debug, Clone, Default)]
pub struct KnownGpus {
    /// `None` for one that is not described rightly, which has been reported.
    products: BTreeMap<String, Option<Arc<KnownGpu>>>,
    selectors: Vec<SelectedNodes>,
    namespaces: BTreeMap<String, Arc<KnownGpu>>,
    default: Option<Arc<KnownGpu>>,
}

/// The GPU of the nodes with some labels.
#[derive(Debug, Clone)]
struct SelectedNodes {
    labels: Vec<(String, String)>,
    gpu: Arc<KnownGpu>,
}

impl TransformSettings for KnownGpus {
    type Section = GpuSettings;

    const KEY: &'static str = "gpus";

    const DOC: &'static str = "The GPUs of your nodes, for checks of deployments that do not name theirs.\n";

    fn apply_found(&mut self, mut section: GpuSettings, findings: &mut Findings<'_>) {
        let path = FieldPath::root().key(Self::KEY).key("products");
        if let Some(products) = &mut section.products {
            products.0.retain(|(name, own)| {
                let Some(known) = known_gpu(name) else { return true };
                if let Some(contradiction) = contradiction(&known, own) {
                    refuse_found(&path.key(name.clone()), &contradiction, findings);
                }
                // What is known of it stays, even what the file leaves out.
                false
            });
        }
        self.apply(section, findings);
    }

    fn apply(&mut self, section: GpuSettings, findings: &mut Findings<'_>) {
        let GpuSettings { default, namespaces, node_selectors, products } = section;
        let section = || FieldPath::root().key(Self::KEY);
        for (name, own) in products.unwrap_or_default().0 {
            let path = section().key("products").key(name.clone());
            let gpu = describe(&name, &own, &path, findings).map(Arc::new);
            self.products.insert(name, gpu);
        }
        if let Some(selectors) = node_selectors {
            self.selectors.clear();
            for (position, SelectedGpu { match_labels, gpu }) in selectors.into_iter().enumerate() {
                let path = section().key("nodeSelectors").index(position);
                let (Some(labels), Some(name)) = (match_labels, gpu) else { continue };
                if labels.0.is_empty() {
                    let message = format!("{path}.matchLabels has no labels, expected at least one");
                    findings
                        .report(&INVALID_OPTION, &path.key("matchLabels"), message)
                        .help("for the nodes that no entry names, set gpus.default");
                } else if let Some(gpu) = self.find(&name, &path.key("gpu"), findings) {
                    self.selectors.push(SelectedNodes { labels: labels.0, gpu });
                }
            }
        }
        for (namespace, name) in namespaces.unwrap_or_default().0 {
            let path = section().key("namespaces").key(namespace.clone());
            if let Some(gpu) = self.find(&name, &path, findings) {
                self.namespaces.insert(namespace, gpu);
            }
        }
        if let Some(name) = default {
            self.default = self.find(&name, &section().key("default"), findings);
        }
    }
}

/// Returns what is known about the GPUs of a name without options.
fn known_gpu(name: &str) -> Option<KnownGpu> {
    let gpus: Vec<KnownGpu> = gpus_named(name).iter().map(|gpu| KnownGpu::from_gpu(name, gpu)).collect();
    KnownGpu::any_of(name.to_owned(), &gpus)
}

/// Returns how a GPU of the options contradicts what is known about it, if it does.
fn contradiction(known: &KnownGpu, own: &OwnGpu) -> Option<String> {
    let memory = own.memory.as_deref().and_then(bytes_of)?;
    if memory < known.min_memory || known.max_memory < memory {
        let gib = |bytes: u64| bytes >> 30;
        return Some(format!(
            "makes the memory of a known GPU {} GiB instead of {} GiB",
            gib(memory),
            gib(known.max_memory)
        ));
    }
    let capability = own.compute_capability.as_deref();
    if let (Some((major, minor)), Some(stated)) = (known.capability, capability)
        && format!("{major}.{minor}") != stated
    {
        return Some(format!("makes the compute capability of a known GPU {stated:?} instead of {major}.{minor}"));
    }
    let resource = resource_of(own);
    let known_resource = known.resource.as_deref().filter(|known| *known != resource)?;
    Some(format!("has a known GPU offered as {resource} instead of {known_resource}"))
}

fn bytes_of(quantity: &str) -> Option<u64> {
    const BILLION: i128 = 1_000_000_000;
    billionths(quantity).and_then(|amount| u64::try_from(amount / BILLION).ok())
}

/// Returns the resource that the device plugin of a GPU offers.
fn resource_of(own: &OwnGpu) -> &'static str {
    match own.vendor.unwrap_or(GpuVendor::Nvidia) {
        GpuVendor::Nvidia => "nvidia.com/gpu",
        GpuVendor::Amd => "amd.com/gpu",
    }
}

/// Returns a GPU of the options, or reports what cannot be read.
fn describe(name: &str, own: &OwnGpu, path: &FieldPath, findings: &mut Findings<'_>) -> Option<KnownGpu> {
    let bytes = bytes_of(own.memory.as_deref()?);
    let path_of_capability = path.key("computeCapability");
    let capability = own.compute_capability.as_deref().and_then(|text| {
        let capability =
            text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        if capability.is_none() {
            let message = format!("{path_of_capability} is {text:?}, expected two numbers such as \"9.0\"");
            findings.report(&INVALID_OPTION, &path_of_capability, message);
        }
        capability
    });
    Some(KnownGpu {
        resource: Some(Cow::Borrowed(resource_of(own))),
        capability,
        ..KnownGpu::from_nominal_memory(name, bytes?)
    })
}

impl KnownGpus {
    /// Finds a GPU by what an option calls it, or reports that there is none. The option is part of the GPU's name in
    /// messages, because the deployment does not show where the name comes from.
    fn find(&self, name: &str, path: &FieldPath, findings: &mut Findings<'_>) -> Option<Arc<KnownGpu>> {
        let named_by = format!("{name} ({path})");
        let gpus = match self.products.get(name) {
            Some(own) => vec![own.as_deref()?.clone()],
            None => gpus_named(name).iter().map(|gpu| KnownGpu::from_gpu(name, gpu)).collect(),
        };
        let found = KnownGpu::any_of(named_by, &gpus).map(Arc::new);
        if found.is_none() {
            let message = format!("{path} is {name:?}, but no facts about such a GPU are known");
            let near = self.near_names(name);
            let help = if near.is_empty() {
                "name a GPU of docs/fit.md, or describe it in gpus.products".to_owned()
            } else {
                format!("did you mean {}? A GPU of your own is described in gpus.products", near.join(" or "))
            };
            findings.report(&INVALID_OPTION, path, message).help(help);
        }
        found
    }

    /// Returns the names that are like another one: those that begin with its first word, or the closest.
    fn near_names(&self, name: &str) -> Vec<String> {
        let mut all: Vec<&str> = gpu_names().collect();
        all.extend(self.products.keys().map(String::as_str));
        let is_vendor = |word: &&str| VENDOR_WORDS.iter().any(|vendor| word.eq_ignore_ascii_case(vendor));
        let model = name.split(['-', '_', ' ']).find(|word| !is_vendor(word)).unwrap_or_default();
        let is_like = |known: &&&str| known.split('-').next().is_some_and(|first| first.eq_ignore_ascii_case(model));
        let near: Vec<String> = all.iter().filter(is_like).map(|known| (*known).to_owned()).collect();
        if !near.is_empty() {
            return near;
        }
        all.extend(gpu_names().filter_map(gpu).flat_map(|gpu| gpu.labels));
        closest(name, all).map(str::to_owned).into_iter().collect()
    }

    /// Adds what the options and the nodes of the cluster say about the GPU of a deployment's nodes to it.
    pub fn describe_nodes(&self, nodes: Option<&[ClusterNode]>, deployment: &mut Deployment) {
        let selector = &deployment.node_selector;
        let value_of = |label: &str| selector.iter().find(|(key, _)| key == label).map(|(_, value)| value.as_str());
        let product = PRODUCT_LABELS.iter().find_map(|label| self.products.get(value_of(label)?)?.as_ref());
        let is_selected = |nodes: &&SelectedNodes| nodes.labels.iter().all(|(key, value)| value_of(key) == Some(value));
        let selected = self.selectors.iter().find(is_selected);
        let of_namespace = deployment.metadata.namespace.as_ref().and_then(|name| self.namespaces.get(name));
        deployment.node_gpu = NodeGpu {
            selected: product.cloned(),
            of_cluster: nodes.map_or_else(Vec::new, |nodes| self.gpus_of_cluster(deployment, nodes)),
            by_selector: selected.map(|nodes| Arc::clone(&nodes.gpu)),
            by_default: of_namespace.or(self.default.as_ref()).cloned(),
        };
    }
}

impl KnownGpus {
    /// Returns the GPU of the nodes on which the pods of each role may run. Nothing is known if that is not known of
    /// each of these nodes.
    fn gpus_of_cluster(&self, deployment: &Deployment, nodes: &[ClusterNode]) -> Vec<(Role, Arc<KnownGpu>)> {
        let workers = deployment.workload.workers().into_iter();
        let workers = workers.filter(|worker| WHOLE_GPUS.contains(&worker.gpu_type.value.as_str()));
        let gpu_of = |worker: &Worker| {
            // Many nodes are alike, and a product is looked up once.
            let names: Option<BTreeSet<NodeName<'_>>> =
                possible_nodes(deployment, worker, nodes).map(NodeName::of_node).collect();
            let is_offered = |gpu: &Arc<KnownGpu>| gpu.resource.as_deref() == Some(worker.gpu_type.value.as_str());
            let gpus: Option<Vec<Arc<KnownGpu>>> =
                names?.into_iter().map(|name| self.gpu_of_node(name).filter(is_offered)).collect();
            let gpus = gpus?;
            let named_by: Vec<&str> = gpus.iter().map(|gpu| gpu.named_by.as_str()).collect();
            let named_by = format!("{} (nodes of the cluster)", named_by.join(" or "));
            KnownGpu::any_of(named_by, gpus.iter().map(AsRef::as_ref)).map(Arc::new)
        };
        workers.filter_map(|worker| Some((worker.role, gpu_of(worker)?))).collect()
    }

    fn gpu_of_node(&self, name: NodeName<'_>) -> Option<Arc<KnownGpu>> {
        match name {
            NodeName::Product(product) => match self.products.get(product) {
                Some(own) => own.clone(),
                None => find_product(product),
            },
            NodeName::InstanceType(name) => find_instance_type(name)?.gpu.clone(),
        }
    }
}

/// What names the GPUs of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum NodeName<'n> {
    /// The value of a product label.
    Product(&'n str),
    /// The instance type of a cloud, of a node without a product label.
    InstanceType(&'n str),
}

impl<'n> NodeName<'n> {
    fn of_node(node: &'n ClusterNode) -> Option<Self> {
        let value_of = |labels: &[&str]| labels.iter().find_map(|label| node.labels.get(*label)).map(String::as_str);
        value_of(PRODUCT_LABELS).map(Self::Product).or_else(|| value_of(INSTANCE_TYPE_LABELS).map(Self::InstanceType))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_share_the_family_or_the_spelling() {
        let mut gpus = KnownGpus::default();
        let own = KnownGpu::from_nominal_memory("Acme-X1", 1);
        gpus.products.insert("Acme-X1".to_owned(), Some(Arc::new(own)));
        assert_eq!(gpus.near_names("NVIDIA-T4"), ["T4-16GB"]);
        assert_eq!(gpus.near_names("Tesla V100"), ["V100-16GB", "V100-32GB"]);
        assert_eq!(gpus.near_names("acme"), ["Acme-X1"]);
        assert_eq!(gpus.near_names("Akme-X1"), ["Acme-X1"]);
        assert_eq!(gpus.near_names("NVIDIA-L4O"), ["NVIDIA-L4"]);
        assert_eq!(gpus.near_names(""), Vec::<String>::new());
    }
}
