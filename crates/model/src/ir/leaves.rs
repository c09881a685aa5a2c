//! Every value of a deployment with its field path, in the order of the specification (docs/specification.md, MD-1).
//!
//! Structs are taken apart field by field, so that a new field does not compile until it is listed here.

use crate::wire::ModelDeployment;
use serde_json::Value as Json;

use super::{Deployment, Engine, Leaf, Metadata, Model, NewClaim, Origin, ProviderRequest, Volume, Worker, Workload};
use kubefoundry_kubernetes::wire::{
    ConfigMapKeySelector, EnvVar, EnvVarSource, FieldSelector, FileKeySelector, ResourceFieldSelector,
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
    pub origin: Origin,
}

impl Deployment {
    /// Every value with its field path, in the order of the specification. A field without a value has no entry; lists
    /// and mappings appear as their items. Values that were ignored with a warning are not part of a deployment.
    pub fn leaves(&self) -> Vec<LeafEntry> {
        let Self {
            dialect,
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
        let spec = FieldPath::from(ModelDeployment::path().spec());
        leaves.written(FieldPath::from(ModelDeployment::path().api_version()), dialect.api_version());
        leaves.written(FieldPath::from(ModelDeployment::path().kind()), crate::wire::KIND);
        leaves.metadata(metadata);
        leaves.model(model);
        leaves.provider(provider);
        let in_engine = FieldPath::from(ModelDeployment::path().spec().engine().image());
        let (engine_image, spec_image) = match image {
            Some((image, path)) if *path == in_engine => (Some(image), None),
            Some((image, _)) => (None, Some(image)),
            None => (None, None),
        };
        leaves.engine(engine, engine_image);
        leaves.add(spec.join("serving.mode"), workload.mode().as_str(), *mode_origin);
        leaves.workload(workload);
        leaves.optional(spec.join("image"), spec_image.cloned());
        for (index, variable) in env.iter().enumerate() {
            leaves.variable(&spec.join("env").index(index), variable);
        }
        leaves.pairs(&spec.join("podTemplate.metadata.labels"), pod_labels);
        leaves.pairs(&spec.join("podTemplate.metadata.annotations"), pod_annotations);
        leaves.optional(spec.join("secrets.huggingFaceToken"), hugging_face_token.clone());
        for (index, name) in image_pull_secrets.iter().enumerate() {
            leaves.written(spec.join("imagePullSecrets").index(index).key("name"), name.clone());
        }
        leaves.pairs(&spec.join("nodeSelector"), node_selector);
        for (index, toleration) in tolerations.iter().enumerate() {
            leaves.toleration(&spec.join("tolerations").index(index), toleration);
        }
        leaves.0
    }
}

struct Leaves(Vec<LeafEntry>);

impl Leaves {
    fn add(&mut self, path: FieldPath, value: impl Into<Json>, origin: Origin) {
        self.0.push(LeafEntry { path, value: value.into().to_string(), origin });
    }

    fn written(&mut self, path: FieldPath, value: impl Into<Json>) {
        self.add(path, value, Origin::Written);
    }

    fn optional<T: Into<Json>>(&mut self, path: FieldPath, value: Option<T>) {
        if let Some(value) = value {
            self.written(path, value);
        }
    }

    fn leaf<T: Clone + Into<Json>>(&mut self, path: FieldPath, leaf: &Leaf<T>) {
        self.add(path, leaf.value.clone(), leaf.origin);
    }

    fn pairs(&mut self, path: &FieldPath, pairs: &[(String, String)]) {
        for (key, value) in pairs {
            self.written(path.key(key.clone()), value.clone());
        }
    }

    fn metadata(&mut self, metadata: &Metadata) {
        let Metadata { name, namespace, uid, labels, annotations } = metadata;
        let path = FieldPath::from(ModelDeployment::path().metadata());
        self.written(path.join("name"), name.clone());
        self.optional(path.join("namespace"), namespace.clone());
        self.optional(path.join("uid"), uid.clone());
        self.pairs(&path.join("labels"), labels);
        self.pairs(&path.join("annotations"), annotations);
    }

    fn model(&mut self, model: &Model) {
        let Model { id, served_name, source, volumes } = model;
        let path = FieldPath::from(ModelDeployment::path().spec().model());
        self.optional(path.join("id"), id.clone());
        if let Some(served_name) = served_name {
            self.leaf(path.join("servedName"), served_name);
        }
        self.add(path.join("source"), source.value.as_str(), source.origin);
        for (index, volume) in volumes.iter().enumerate() {
            self.volume(&path.join("storage.volumes").index(index), volume);
        }
    }

    fn volume(&mut self, path: &FieldPath, volume: &Volume) {
        let Volume { name, purpose, mount_path, claim_name, new_claim, read_only } = volume;
        self.written(path.join("name"), name.clone());
        self.add(path.join("purpose"), purpose.value.as_str(), purpose.origin);
        self.leaf(path.join("mountPath"), mount_path);
        self.leaf(path.join("claimName"), claim_name);
        if let Some(NewClaim { size, storage_class_name, access_mode }) = new_claim {
            self.written(path.join("size"), size.clone());
            self.optional(path.join("storageClassName"), storage_class_name.clone());
            self.add(path.join("accessMode"), access_mode.value.as_str(), access_mode.origin);
        }
        self.leaf(path.join("readOnly"), read_only);
    }

    fn provider(&mut self, provider: &ProviderRequest) {
        let ProviderRequest { name, overrides } = provider;
        self.optional(FieldPath::from(ModelDeployment::path().spec().provider().name()), name.clone());
        if let Some(overrides) = overrides {
            self.tree(FieldPath::parse(ProviderRequest::OVERRIDES), overrides);
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
        let path = FieldPath::from(ModelDeployment::path().spec().engine());
        self.add(path.join("type"), kind.as_str(), *kind_origin);
        self.optional(path.join("contextLength"), *context_length);
        self.leaf(path.join("trustRemoteCode"), trust_remote_code);
        if let Some(enabled) = enable_prefix_caching {
            self.leaf(path.join("enablePrefixCaching"), enabled);
        }
        self.leaf(path.join("enforceEager"), enforce_eager);
        self.optional(path.join("image"), image.cloned());
        self.pairs(&path.join("args"), args);
        for (index, element) in extra_args.iter().enumerate() {
            self.written(path.join("extraArgs").index(index), element.clone());
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
        self.leaf(worker.path("gpu.count"), gpu_count);
        self.leaf(worker.path("gpu.type"), gpu_type);
        self.optional(worker.path("memory"), memory.clone());
        self.optional(worker.path("cpu"), cpu.clone());
    }

    fn variable(&mut self, path: &FieldPath, variable: &EnvVar) {
        let EnvVar { name, value, value_from } = variable;
        self.optional(path.join("name"), name.clone());
        self.optional(path.join("value"), value.clone());
        if let Some(source) = value_from {
            self.variable_source(&path.join("valueFrom"), source);
        }
    }

    fn variable_source(&mut self, path: &FieldPath, source: &EnvVarSource) {
        let EnvVarSource { field_ref, resource_field_ref, config_map_key_ref, secret_key_ref, file_key_ref } = source;
        if let Some(FieldSelector { api_version, field_path }) = field_ref {
            self.optional(path.join("fieldRef.apiVersion"), api_version.clone());
            self.optional(path.join("fieldRef.fieldPath"), field_path.clone());
        }
        if let Some(ResourceFieldSelector { container_name, resource, divisor }) = resource_field_ref {
            self.optional(path.join("resourceFieldRef.containerName"), container_name.clone());
            self.optional(path.join("resourceFieldRef.resource"), resource.clone());
            self.optional(path.join("resourceFieldRef.divisor"), divisor.as_ref().map(|divisor| divisor.0.clone()));
        }
        if let Some(ConfigMapKeySelector { name, key, optional }) = config_map_key_ref {
            self.optional(path.join("configMapKeyRef.name"), name.clone());
            self.optional(path.join("configMapKeyRef.key"), key.clone());
            self.optional(path.join("configMapKeyRef.optional"), *optional);
        }
        if let Some(SecretKeySelector { name, key, optional }) = secret_key_ref {
            self.optional(path.join("secretKeyRef.name"), name.clone());
            self.optional(path.join("secretKeyRef.key"), key.clone());
            self.optional(path.join("secretKeyRef.optional"), *optional);
        }
        if let Some(FileKeySelector { volume_name, path: file, key, optional }) = file_key_ref {
            self.optional(path.join("fileKeyRef.volumeName"), volume_name.clone());
            self.optional(path.join("fileKeyRef.path"), file.clone());
            self.optional(path.join("fileKeyRef.key"), key.clone());
            self.optional(path.join("fileKeyRef.optional"), *optional);
        }
    }

    fn toleration(&mut self, path: &FieldPath, toleration: &Toleration) {
        let Toleration { key, operator, value, effect, toleration_seconds } = toleration;
        self.optional(path.join("key"), key.clone());
        self.optional(path.join("operator"), operator.clone());
        self.optional(path.join("value"), value.clone());
        self.optional(path.join("effect"), effect.clone());
        self.optional(path.join("tolerationSeconds"), *toleration_seconds);
    }
}
