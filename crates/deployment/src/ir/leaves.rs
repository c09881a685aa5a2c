//! Lists every value of a deployment with its field path, in the order of the specification (docs/specification.md,
//! MD-1).
//!
//! The functions destructure each struct without `..`, so that a new field does not compile until it is listed here.

use crate::wire::{self, ContainerClaim, ModelDeployment, PodResourceClaim, StorageVolume};
use serde_json::Value as Json;

use super::{
    Deployment, Engine, EngineContainer, FieldOrigin, Frontend, Gateway, Leaf, Metadata, Model, NewClaim, PodSettings,
    Probes, ProviderRequest, RoleEngine, Volume, Worker, Workload, WrittenResources,
};
use kubefoundry_kubernetes::wire::{
    ConfigMapKeySelector, EnvVar, EnvVarSource, FieldSelector, FileKeySelector, ListPath, PathOf,
    ResourceFieldSelector, SecretKeySelector, Toleration,
};
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::{Node, Value};

/// A value of a deployment with its field path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeafEntry {
    /// The field that holds the value, or that would hold it if the user wrote it.
    pub path: FieldPath,
    /// The value as JSON text.
    pub value: String,
    /// Whether the value was written, defaulted or derived.
    pub origin: FieldOrigin,
}

impl Deployment {
    /// Returns every value with its field path, in the order of the specification. A field without a value has no
    /// entry, and lists and mappings are represented by their items. Values that were ignored with a warning are not in
    /// the deployment.
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
            resources,
            shared_memory,
            engine_container,
            pod_spec,
            hugging_face_token,
            image_pull_secrets,
            node_selector,
            node_gpu: _,
            tolerations,
            frontend,
            gateway,
        } = self;
        let mut leaves = LeafList(Vec::new());
        let spec = || ModelDeployment::path().spec();
        leaves.add_written(ModelDeployment::path().api_version(), api_group.api_version());
        leaves.add_written(ModelDeployment::path().kind(), crate::wire::KIND);
        leaves.add_metadata(metadata);
        leaves.add_model(model);
        leaves.add_provider(provider);
        let engine_image_path = FieldPath::from(spec().engine().image());
        let (engine_image, spec_image) = match image {
            Some((image, path)) if *path == engine_image_path => (Some(image), None),
            Some((image, _)) => (None, Some(image)),
            None => (None, None),
        };
        leaves.add_engine(engine, engine_image);
        leaves.add(spec().serving().mode(), workload.mode().as_str(), *mode_origin);
        leaves.add_workload(workload);
        leaves.add_optional(spec().resources().shared_memory(), shared_memory.clone());
        let amounts = [spec().resources().requests().into(), spec().resources().limits().into()];
        leaves.add_resources(amounts, &spec().resources().claims(), resources);
        leaves.add_optional(spec().image(), spec_image.cloned());
        for (index, variable) in env.iter().enumerate() {
            leaves.add_variable(&spec().env().index(index), variable);
        }
        leaves.add_engine_container(
            &spec().probes(),
            &spec().volume_mounts().into(),
            &spec().security_context().into(),
            engine_container,
        );
        leaves.add_pairs(&spec().pod_template().metadata().labels(), pod_labels);
        leaves.add_pairs(&spec().pod_template().metadata().annotations(), pod_annotations);
        leaves.add_pod_settings(pod_spec);
        leaves.add_optional(spec().secrets().hugging_face_token(), hugging_face_token.clone());
        for (index, name) in image_pull_secrets.iter().enumerate() {
            leaves.add_written(spec().image_pull_secrets().index(index).name(), name.clone());
        }
        leaves.add_pairs(&spec().node_selector(), node_selector);
        for (index, toleration) in tolerations.iter().enumerate() {
            leaves.add_toleration(&spec().tolerations().index(index), toleration);
        }
        leaves.add_frontend(frontend);
        if let Some(gateway) = gateway {
            leaves.add_gateway(gateway);
        }
        leaves.0
    }
}

/// Collects leaves. The methods `add_*` take a value apart and push its leaves.
struct LeafList(Vec<LeafEntry>);

impl LeafList {
    fn add(&mut self, path: impl Into<FieldPath>, value: impl Into<Json>, origin: FieldOrigin) {
        self.0.push(LeafEntry { path: path.into(), value: value.into().to_string(), origin });
    }

    fn add_written(&mut self, path: impl Into<FieldPath>, value: impl Into<Json>) {
        self.add(path, value, FieldOrigin::Written);
    }

    /// Adds a written value, if there is one.
    fn add_optional<T: Into<Json>>(&mut self, path: impl Into<FieldPath>, value: Option<T>) {
        if let Some(value) = value {
            self.add_written(path, value);
        }
    }

    fn add_leaf<T: Clone + Into<Json>>(&mut self, path: impl Into<FieldPath>, leaf: &Leaf<T>) {
        self.add(path, leaf.value.clone(), leaf.origin);
    }

    fn add_pairs(&mut self, path: &FieldPath, pairs: &[(String, String)]) {
        for (key, value) in pairs {
            self.add_written(path.key(key.clone()), value.clone());
        }
    }

    fn add_metadata(&mut self, metadata: &Metadata) {
        let Metadata { name, namespace, uid, labels, annotations } = metadata;
        let path = || ModelDeployment::path().metadata();
        self.add_written(path().name(), name.clone());
        self.add_optional(path().namespace(), namespace.clone());
        self.add_optional(path().uid(), uid.clone());
        self.add_pairs(&path().labels(), labels);
        self.add_pairs(&path().annotations(), annotations);
    }

    fn add_model(&mut self, model: &Model) {
        let Model { id, served_name, source, volumes, facts: _ } = model;
        let path = || ModelDeployment::path().spec().model();
        self.add_optional(path().id(), id.clone());
        if let Some(served_name) = served_name {
            self.add_leaf(path().served_name(), served_name);
        }
        self.add(path().source(), source.value.as_str(), source.origin);
        for (index, volume) in volumes.iter().enumerate() {
            self.add_volume(&path().storage().volumes().index(index), volume);
        }
    }

    fn add_volume(&mut self, path: &PathOf<StorageVolume>, volume: &Volume) {
        let Volume { name, purpose, mount_path, claim_name, new_claim, read_only } = volume;
        self.add_written(path.clone().name(), name.clone());
        self.add(path.clone().purpose(), purpose.value.as_str(), purpose.origin);
        self.add_leaf(path.clone().mount_path(), mount_path);
        self.add_leaf(path.clone().claim_name(), claim_name);
        if let Some(NewClaim { size, storage_class_name, access_mode }) = new_claim {
            self.add_written(path.clone().size(), size.clone());
            self.add_optional(path.clone().storage_class_name(), storage_class_name.clone());
            self.add(path.clone().access_mode(), access_mode.value.as_str(), access_mode.origin);
        }
        self.add_leaf(path.clone().read_only(), read_only);
    }

    fn add_provider(&mut self, provider: &ProviderRequest) {
        let ProviderRequest { name, overrides } = provider;
        self.add_optional(ModelDeployment::path().spec().provider().name(), name.clone());
        if let Some(overrides) = overrides {
            self.add_tree(ModelDeployment::path().spec().provider().overrides().into(), overrides);
        }
    }

    /// Adds the scalars of a free-form value. An empty collection is a leaf.
    fn add_tree(&mut self, path: FieldPath, node: &Node<'_>) {
        match &node.value {
            Value::Sequence(items) if !items.is_empty() => {
                for (index, item) in items.iter().enumerate() {
                    self.add_tree(path.index(index), item);
                }
            }
            Value::Mapping(entries) if !entries.is_empty() => {
                for entry in entries {
                    self.add_tree(path.key(entry.key.clone().into_owned()), &entry.node);
                }
            }
            _ => self.add_written(path, node.to_json()),
        }
    }

    fn add_engine(&mut self, engine: &Engine, image: Option<&String>) {
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
        self.add_optional(path().context_length(), *context_length);
        self.add_leaf(path().trust_remote_code(), trust_remote_code);
        if let Some(enabled) = enable_prefix_caching {
            self.add_leaf(path().enable_prefix_caching(), enabled);
        }
        self.add_leaf(path().enforce_eager(), enforce_eager);
        self.add_optional(path().image(), image.cloned());
        self.add_pairs(&path().args(), args);
        for (index, element) in extra_args.iter().enumerate() {
            self.add_written(path().extra_args().index(index), element.clone());
        }
    }

    fn add_workload(&mut self, workload: &Workload) {
        match workload {
            Workload::Aggregated(worker) => self.add_worker(worker),
            Workload::Disaggregated { prefill, decode } => {
                self.add_worker(prefill);
                self.add_worker(decode);
            }
        }
    }

    fn add_worker(&mut self, worker: &Worker) {
        let Worker {
            role: _,
            replicas,
            gpu_count,
            gpu_type,
            nodes,
            memory,
            cpu,
            written,
            container: _,
            gpu_limit: _,
            engine,
            env,
            written_container,
            engine_container: _,
        } = worker;
        self.add_leaf(worker.replicas_path(), replicas);
        self.add_leaf(worker.gpu_path().count(), gpu_count);
        self.add_leaf(worker.gpu_path().gpu_type(), gpu_type);
        // A default that is not part of every deployment would be in every explanation.
        self.add_optional(worker.nodes_path(), nodes.is_written().then_some(nodes.value));
        self.add_optional(worker.memory_path(), memory.clone());
        self.add_optional(worker.cpu_path(), cpu.clone());
        let Some(path) = worker.role_path() else { return };
        let RoleEngine { args, extra_args } = engine;
        let args_path = FieldPath::from(path.clone().engine().args());
        for (name, value) in args {
            self.add_written(args_path.key(name.clone()), value.clone());
        }
        for (index, element) in extra_args.iter().enumerate() {
            self.add_written(path.clone().engine().extra_args().index(index), element.clone());
        }
        for (index, variable) in env.iter().enumerate() {
            self.add_variable(&path.clone().env().index(index), variable);
        }
        let resources = || path.clone().resources();
        self.add_resources(
            [resources().requests().into(), resources().limits().into()],
            &resources().claims(),
            written,
        );
        self.add_engine_container(
            &path.clone().probes(),
            &path.clone().volume_mounts().into(),
            &path.clone().security_context().into(),
            written_container,
        );
    }

    fn add_resources(
        &mut self,
        [requests_path, limits_path]: [FieldPath; 2],
        claims_path: &ListPath<PathOf<ContainerClaim>>,
        resources: &WrittenResources,
    ) {
        let WrittenResources { requests, limits, claims } = resources;
        for (path, amounts) in [(requests_path, requests), (limits_path, limits)] {
            for (resource, amount) in amounts {
                self.add_written(path.key(resource.clone()), amount.clone());
            }
        }
        for (index, ContainerClaim { name, request }) in claims.iter().enumerate() {
            let path = claims_path.clone().index(index);
            self.add_optional(path.clone().name(), name.clone());
            self.add_optional(path.request(), request.clone());
        }
    }

    fn add_gateway(&mut self, gateway: &Gateway) {
        let Gateway { enabled, http_route_ref, model_name } = gateway;
        let path = || ModelDeployment::path().spec().gateway();
        self.add_leaf(path().enabled(), enabled);
        self.add_optional(path().http_route_ref(), http_route_ref.clone());
        self.add_optional(path().model_name(), model_name.clone());
    }

    fn add_frontend(&mut self, frontend: &Frontend) {
        let Frontend { replicas, args, env, requests, limits } = frontend;
        let path = || ModelDeployment::path().spec().frontend();
        self.add_optional(path().replicas(), *replicas);
        self.add_pairs(&path().args(), args);
        for (index, variable) in env.iter().enumerate() {
            self.add_variable(&path().env().index(index), variable);
        }
        let resources = || path().resources();
        let lists: [(FieldPath, _); 2] =
            [(resources().requests().into(), requests), (resources().limits().into(), limits)];
        for (path, amounts) in lists {
            for (resource, amount) in amounts {
                self.add_written(path.key(resource.clone()), amount.clone());
            }
        }
    }

    fn add_probes(&mut self, path: &PathOf<wire::Probes>, probes: &Probes) {
        let Probes { startup, readiness, liveness } = probes;
        let path = || path.clone();
        let paths = [path().startup().into(), path().readiness().into(), path().liveness().into()];
        for (path, probe) in paths.into_iter().zip([startup, readiness, liveness]) {
            if let Some(probe) = probe {
                self.add_tree(path, probe);
            }
        }
    }

    fn add_pod_settings(&mut self, settings: &PodSettings) {
        let PodSettings {
            affinity,
            topology_spread_constraints,
            priority_class_name,
            scheduler_name,
            service_account_name,
            runtime_class_name,
            termination_grace_period_seconds,
            resource_claims,
            security_context,
            host_ipc,
            volumes,
        } = settings;
        let path = || ModelDeployment::path().spec().pod_template().spec();
        if let Some(affinity) = affinity {
            self.add_tree(path().affinity().into(), affinity);
        }
        for (index, constraint) in topology_spread_constraints.iter().enumerate() {
            self.add_tree(FieldPath::from(path().topology_spread_constraints()).index(index), constraint);
        }
        self.add_optional(path().priority_class_name(), priority_class_name.clone());
        self.add_optional(path().scheduler_name(), scheduler_name.clone());
        self.add_optional(path().service_account_name(), service_account_name.clone());
        self.add_optional(path().runtime_class_name(), runtime_class_name.clone());
        self.add_optional(path().termination_grace_period_seconds(), *termination_grace_period_seconds);
        for (index, claim) in resource_claims.iter().enumerate() {
            let PodResourceClaim { name, resource_claim_name, resource_claim_template_name } = claim;
            let path = path().resource_claims().index(index);
            self.add_optional(path.clone().name(), name.clone());
            self.add_optional(path.clone().resource_claim_name(), resource_claim_name.clone());
            self.add_optional(path.resource_claim_template_name(), resource_claim_template_name.clone());
        }
        if let Some(context) = security_context {
            self.add_tree(path().security_context().into(), context);
        }
        self.add_optional(path().host_ipc(), *host_ipc);
        for (index, volume) in volumes.iter().enumerate() {
            self.add_tree(FieldPath::from(path().volumes()).index(index), volume);
        }
    }

    fn add_engine_container(
        &mut self,
        probes_path: &PathOf<wire::Probes>,
        mounts_path: &FieldPath,
        security_path: &FieldPath,
        container: &EngineContainer,
    ) {
        let EngineContainer { probes, volume_mounts, security_context } = container;
        self.add_probes(probes_path, probes);
        for (index, mount) in volume_mounts.iter().enumerate() {
            self.add_tree(mounts_path.index(index), mount);
        }
        if let Some(context) = security_context {
            self.add_tree(security_path.clone(), context);
        }
    }

    fn add_variable(&mut self, path: &PathOf<EnvVar>, variable: &EnvVar) {
        let EnvVar { name, value, value_from } = variable;
        self.add_optional(path.clone().name(), name.clone());
        self.add_optional(path.clone().value(), value.clone());
        if let Some(source) = value_from {
            self.add_variable_source(&path.clone().value_from(), source);
        }
    }

    fn add_variable_source(&mut self, path: &PathOf<EnvVarSource>, source: &EnvVarSource) {
        let EnvVarSource { field_ref, resource_field_ref, config_map_key_ref, secret_key_ref, file_key_ref } = source;
        if let Some(FieldSelector { api_version, field_path }) = field_ref {
            self.add_optional(path.clone().field_ref().api_version(), api_version.clone());
            self.add_optional(path.clone().field_ref().field_path(), field_path.clone());
        }
        if let Some(ResourceFieldSelector { container_name, resource, divisor }) = resource_field_ref {
            self.add_optional(path.clone().resource_field_ref().container_name(), container_name.clone());
            self.add_optional(path.clone().resource_field_ref().resource(), resource.clone());
            self.add_optional(
                path.clone().resource_field_ref().divisor(),
                divisor.as_ref().map(|divisor| divisor.0.clone()),
            );
        }
        if let Some(ConfigMapKeySelector { name, key, optional }) = config_map_key_ref {
            self.add_optional(path.clone().config_map_key_ref().name(), name.clone());
            self.add_optional(path.clone().config_map_key_ref().key(), key.clone());
            self.add_optional(path.clone().config_map_key_ref().optional(), *optional);
        }
        if let Some(SecretKeySelector { name, key, optional }) = secret_key_ref {
            self.add_optional(path.clone().secret_key_ref().name(), name.clone());
            self.add_optional(path.clone().secret_key_ref().key(), key.clone());
            self.add_optional(path.clone().secret_key_ref().optional(), *optional);
        }
        if let Some(FileKeySelector { volume_name, path: file, key, optional }) = file_key_ref {
            self.add_optional(path.clone().file_key_ref().volume_name(), volume_name.clone());
            self.add_optional(path.clone().file_key_ref().path(), file.clone());
            self.add_optional(path.clone().file_key_ref().key(), key.clone());
            self.add_optional(path.clone().file_key_ref().optional(), *optional);
        }
    }

    fn add_toleration(&mut self, path: &PathOf<Toleration>, toleration: &Toleration) {
        let Toleration { key, operator, value, effect, toleration_seconds } = toleration;
        self.add_optional(path.clone().key(), key.clone());
        self.add_optional(path.clone().operator(), operator.clone());
        self.add_optional(path.clone().value(), value.clone());
        self.add_optional(path.clone().effect(), effect.clone());
        self.add_optional(path.clone().toleration_seconds(), *toleration_seconds);
    }
}
