//! Every value of a deployment with its field path, in the order of the specification (docs/specification.md, MD-1).
//!
//! Structs are taken apart field by field, so that a new field does not compile until it is listed here.

use crate::wire::{ModelDeployment, StorageVolume};
use serde_json::Value as Json;

use super::{
    Deployment, Engine, FieldOrigin, Leaf, Metadata, Model, NewClaim, ProviderRequest, Volume, Worker, Workload,
};
use kubefoundry_kubernetes::wire::{
    ConfigMapKeySelector, EnvVar, EnvVarSource, FieldSelector, FileKeySelector, PathOf, ResourceFieldSelector,
    SecretKeySelector, Toleration,
};
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::{Node, Value};

/// One value of a deployment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeafEntry {
    /// The field that holds it, or would if it were written.
    pub path: FieldPath,
    /// The value as JSON text.
    pub value: String,
    /// Where it came from.
    pub origin: FieldOrigin,
}

impl Deployment {
    /// Every value with its field path, in the order of the specification. A field without a value has no entry; lists
    /// and mappings appear as their items. Values that were ignored with a warning are not part of a deployment.
    pub fn leaves(&self) -> Vec<LeafEntry> {
        let Self {
            api_group,
            metadata,
            model,
            provider,
            engine,
            mode_origin,
            workload,
            image,
            env,
            pod_labels,
            pod_annotations,
            hugging_face_token,
            image_pull_secrets,
            node_selector,
            tolerations,
        } = self;
        let mut leaves = Leaves(Vec::new());
        let spec = || ModelDeployment::path().spec();
        leaves.written(ModelDeployment::path().api_version(), api_group.api_version());
        leaves.written(ModelDeployment::path().kind(), crate::wire::KIND);
        leaves.metadata(metadata);
        leaves.model(model);
        leaves.provider(provider);
        let in_engine = FieldPath::from(spec().engine().image());
        let (engine_image, spec_image) = match image {
            Some((image, path)) if *path == in_engine => (Some(image), None),
            Some((image, _)) => (None, Some(image)),
            None => (None, None),
        };
        leaves.engine(engine, engine_image);
        leaves.add(spec().serving().mode(), workload.mode().as_str(), *mode_origin);
        leaves.workload(workload);
        leaves.optional(spec().image(), spec_image.cloned());
        for (index, variable) in env.iter().enumerate() {
            leaves.variable(&spec().env().index(index), variable);
        }
        leaves.pairs(&spec().pod_template().metadata().labels(), pod_labels);
        leaves.pairs(&spec().pod_template().metadata().annotations(), pod_annotations);
        leaves.optional(spec().secrets().hugging_face_token(), hugging_face_token.clone());
        for (index, name) in image_pull_secrets.iter().enumerate() {
            leaves.written(spec().image_pull_secrets().index(index).name(), name.clone());
        }
        leaves.pairs(&spec().node_selector(), node_selector);
        for (index, toleration) in tolerations.iter().enumerate() {
            leaves.toleration(&spec().tolerations().index(index), toleration);
        }
        leaves.0
    }
}

struct Leaves(Vec<LeafEntry>);

impl Leaves {
    fn add(&mut self, path: impl Into<FieldPath>, value: impl Into<Json>, origin: FieldOrigin) {
        self.0.push(LeafEntry { path: path.into(), value: value.into().to_string(), origin });
    }

    fn written(&mut self, path: impl Into<FieldPath>, value: impl Into<Json>) {
        self.add(path, value, FieldOrigin::Written);
    }

    fn optional<T: Into<Json>>(&mut self, path: impl Into<FieldPath>, value: Option<T>) {
        if let Some(value) = value {
            self.written(path, value);
        }
    }

    fn leaf<T: Clone + Into<Json>>(&mut self, path: impl Into<FieldPath>, leaf: &Leaf<T>) {
        self.add(path, leaf.value.clone(), leaf.origin);
    }

    fn pairs(&mut self, path: &FieldPath, pairs: &[(String, String)]) {
        for (key, value) in pairs {
            self.written(path.key(key.clone()), value.clone());
        }
    }

    fn metadata(&mut self, metadata: &Metadata) {
        let Metadata { name, namespace, uid, labels, annotations } = metadata;
        let path = || ModelDeployment::path().metadata();
        self.written(path().name(), name.clone());
        self.optional(path().namespace(), namespace.clone());
        self.optional(path().uid(), uid.clone());
        self.pairs(&path().labels(), labels);
        self.pairs(&path().annotations(), annotations);
    }

    fn model(&mut self, model: &Model) {
        let Model { id, served_name, source, volumes } = model;
        let path = || ModelDeployment::path().spec().model();
        self.optional(path().id(), id.clone());
        if let Some(served_name) = served_name {
            self.leaf(path().served_name(), served_name);
        }
        self.add(path().source(), source.value.as_str(), source.origin);
        for (index, volume) in volumes.iter().enumerate() {
            self.volume(&path().storage().volumes().index(index), volume);
        }
    }

    fn volume(&mut self, path: &PathOf<StorageVolume>, volume: &Volume) {
        let Volume { name, purpose, mount_path, claim_name, new_claim, read_only } = volume;
        self.written(path.clone().name(), name.clone());
        self.add(path.clone().purpose(), purpose.value.as_str(), purpose.origin);
        self.leaf(path.clone().mount_path(), mount_path);
        self.leaf(path.clone().claim_name(), claim_name);
        if let Some(NewClaim { size, storage_class_name, access_mode }) = new_claim {
            self.written(path.clone().size(), size.clone());
            self.optional(path.clone().storage_class_name(), storage_class_name.clone());
            self.add(path.clone().access_mode(), access_mode.value.as_str(), access_mode.origin);
        }
        self.leaf(path.clone().read_only(), read_only);
    }

    fn provider(&mut self, provider: &ProviderRequest) {
        let ProviderRequest { name, overrides } = provider;
        self.optional(ModelDeployment::path().spec().provider().name(), name.clone());
        if let Some(overrides) = overrides {
            self.tree(ModelDeployment::path().spec().provider().overrides().into(), overrides);
        }
    }

    /// The scalars of a free-form value; an empty collection stands for itself.
    fn tree(&mut self, path: FieldPath, node: &Node<'_>) {
        match &node.value {
            Value::Sequence(items) if !items.is_empty() => {
                for (index, item) in items.iter().enumerate() {
                    self.tree(path.index(index), item);
                }
            }
            Value::Mapping(entries) if !entries.is_empty() => {
                for entry in entries {
                    self.tree(path.key(entry.key.clone().into_owned()), &entry.node);
                }
            }
            _ => self.written(path, node.to_json()),
        }
    }

    fn engine(&mut self, engine: &Engine, image: Option<&String>) {
        let Engine {
            kind,
            kind_origin,
            context_length,
            trust_remote_code,
            enable_prefix_caching,
            enforce_eager,
            args,
            extra_args,
        } = engine;
        let path = || ModelDeployment::path().spec().engine();
        self.add(path().engine_type(), kind.as_str(), *kind_origin);
        self.optional(path().context_length(), *context_length);
        self.leaf(path().trust_remote_code(), trust_remote_code);
        if let Some(enabled) = enable_prefix_caching {
            self.leaf(path().enable_prefix_caching(), enabled);
        }
        self.leaf(path().enforce_eager(), enforce_eager);
        self.optional(path().image(), image.cloned());
        self.pairs(&path().args(), args);
        for (index, element) in extra_args.iter().enumerate() {
            self.written(path().extra_args().index(index), element.clone());
        }
    }

    fn workload(&mut self, workload: &Workload) {
        match workload {
            Workload::Aggregated(worker) => self.worker(worker),
            Workload::Disaggregated { prefill, decode } => {
                self.worker(prefill);
                self.worker(decode);
            }
        }
    }

    fn worker(&mut self, worker: &Worker) {
        let Worker { role: _, replicas, gpu_count, gpu_type, memory, cpu } = worker;
        self.leaf(worker.replicas_path(), replicas);
        self.leaf(worker.gpu_path().count(), gpu_count);
        self.leaf(worker.gpu_path().gpu_type(), gpu_type);
        self.optional(worker.memory_path(), memory.clone());
        self.optional(worker.cpu_path(), cpu.clone());
    }

    fn variable(&mut self, path: &PathOf<EnvVar>, variable: &EnvVar) {
        let EnvVar { name, value, value_from } = variable;
        self.optional(path.clone().name(), name.clone());
        self.optional(path.clone().value(), value.clone());
        if let Some(source) = value_from {
            self.variable_source(&path.clone().value_from(), source);
        }
    }

    fn variable_source(&mut self, path: &PathOf<EnvVarSource>, source: &EnvVarSource) {
        let EnvVarSource { field_ref, resource_field_ref, config_map_key_ref, secret_key_ref, file_key_ref } = source;
        if let Some(FieldSelector { api_version, field_path }) = field_ref {
            self.optional(path.clone().field_ref().api_version(), api_version.clone());
            self.optional(path.clone().field_ref().field_path(), field_path.clone());
        }
        if let Some(ResourceFieldSelector { container_name, resource, divisor }) = resource_field_ref {
            self.optional(path.clone().resource_field_ref().container_name(), container_name.clone());
            self.optional(path.clone().resource_field_ref().resource(), resource.clone());
            self.optional(
                path.clone().resource_field_ref().divisor(),
                divisor.as_ref().map(|divisor| divisor.0.clone()),
            );
        }
        if let Some(ConfigMapKeySelector { name, key, optional }) = config_map_key_ref {
            self.optional(path.clone().config_map_key_ref().name(), name.clone());
            self.optional(path.clone().config_map_key_ref().key(), key.clone());
            self.optional(path.clone().config_map_key_ref().optional(), *optional);
        }
        if let Some(SecretKeySelector { name, key, optional }) = secret_key_ref {
            self.optional(path.clone().secret_key_ref().name(), name.clone());
            self.optional(path.clone().secret_key_ref().key(), key.clone());
            self.optional(path.clone().secret_key_ref().optional(), *optional);
        }
        if let Some(FileKeySelector { volume_name, path: file, key, optional }) = file_key_ref {
            self.optional(path.clone().file_key_ref().volume_name(), volume_name.clone());
            self.optional(path.clone().file_key_ref().path(), file.clone());
            self.optional(path.clone().file_key_ref().key(), key.clone());
            self.optional(path.clone().file_key_ref().optional(), *optional);
        }
    }

    fn toleration(&mut self, path: &PathOf<Toleration>, toleration: &Toleration) {
        let Toleration { key, operator, value, effect, toleration_seconds } = toleration;
        self.optional(path.clone().key(), key.clone());
        self.optional(path.clone().operator(), operator.clone());
        self.optional(path.clone().value(), value.clone());
        self.optional(path.clone().effect(), effect.clone());
        self.optional(path.clone().toleration_seconds(), *toleration_seconds);
    }
}
