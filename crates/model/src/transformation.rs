//! The transformation of ModelDeployments: a deployment becomes the objects of the selected provider. Deployments are
//! independent of each other, so their order determines only the order of the output.

use std::borrow::Cow;

use serde_json::Value;

use super::catalog::Catalog;
use super::conformance;
use super::gateway;
use super::object_metadata::ObjectMetadata;
use super::rule_environment::RuleVariables;
use super::{patches, select, validate};
use kubefoundry_deployment::codes;
use kubefoundry_deployment::hardware::{self, check_vendor};
use kubefoundry_deployment::ir::{Deployment, EngineContainer, LeafEntry};
use kubefoundry_deployment::known_gpus::KnownGpus;
use kubefoundry_deployment::known_models::KnownModels;
use kubefoundry_deployment::placement;
use kubefoundry_deployment::wire::{CONFIGURATION_KIND, InferenceProviderConfig, KIND, ModelDeployment};
use kubefoundry_diagnostics::{Code, FieldRef, Findings, Severity};
use kubefoundry_engines as engines;
use kubefoundry_facts::fit::WorkerFit;
use kubefoundry_kubernetes::api_group::{API_GROUPS, ApiGroup};
use kubefoundry_kubernetes::header::Header;
use kubefoundry_kubernetes::manifest::{self, Manifest};
use kubefoundry_kubernetes::wire::{Read as _, Reader};
use kubefoundry_provider::model_alias::warn_about_alias;
use kubefoundry_provider::{Provider, TranslationContext};
use kubefoundry_transform::{
    Decision, GpuCount, GroupKind, InputObject, ObjectSet, PatchedObject, PodPart, ResolvedField, RunContext,
    Selection, ServedName, StepBudget, Thoroughness, Transform, TransformOutput, owner_reference,
};
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::{FieldPart, Node};

/// The API version of the first group. The other groups have their own.
const API_VERSION: &str = "kubefoundry.ai/v1alpha1";

/// Texts that occur in every document about models: each API group as the prefix of a label, an annotation or an
/// apiVersion. A test compares them with the groups.
const MARKER_TEXTS: &[&str] = &["kubefoundry.ai/", "kubeairunway.ai/", "airunway.ai/"];

/// The annotation, without the prefix of its API group, by which a third-party provider finds its deployments.
const PROVIDER_ANNOTATION: &str = "provider";

/// The transformation of ModelDeployments.
#[derive(Debug)]
pub struct ModelDeployments;

impl Transform for ModelDeployments {
    type Settings = KnownModels;

    fn name(&self) -> &'static str {
        "model"
    }

    fn kind(&self) -> (&'static str, &'static str) {
        (API_VERSION, KIND)
    }

    fn has_group(&self, group: &str) -> bool {
        ApiGroup::find(group).is_some()
    }

    fn version(&self, group: &str) -> &'static str {
        ApiGroup::find(group).map_or("", |api_group| api_group.version)
    }

    fn configuration_kind(&self) -> Option<&'static str> {
        Some(CONFIGURATION_KIND)
    }

    fn schema_kinds(&self) -> &'static [GroupKind] {
        const KINDS: &[GroupKind] = &[gateway::KINDS[0].group_kind(), gateway::KINDS[1].group_kind()];
        KINDS
    }

    fn owns_groups(&self) -> bool {
        true
    }

    fn needs_set(&self) -> bool {
        false
    }

    fn owner_annotation(&self) -> &'static str {
        manifest::MODEL_DEPLOYMENT
    }

    fn mark_groups(&self) -> &'static [ApiGroup] {
        API_GROUPS
    }

    fn marker_texts(&self) -> &'static [&'static str] {
        MARKER_TEXTS
    }

    fn handles(&self, _: &Node<'_>, _: &KnownModels) -> bool {
        true
    }

    fn handled_description(&self) -> &'static str {
        "every ModelDeployment is rendered"
    }

    /// A deployment that an earlier run passed on has the annotation of its provider.
    fn is_passed_on(&self, root: &Node<'_>) -> bool {
        let annotations = root.get("metadata").and_then(|metadata| metadata.get("annotations"));
        annotations.is_some_and(|annotations| {
            let is_mark =
                |key: &str| API_GROUPS.iter().any(|it| key.strip_prefix(it.label_prefix) == Some(PROVIDER_ANNOTATION));
            annotations.entries().iter().any(|entry| is_mark(&entry.key) && entry.node.as_str().is_some())
        })
    }

    fn report_misnamed(&self, header: &Header, _: &KnownModels, findings: &mut Findings<'_>) {
        if &*header.kind != KIND {
            return;
        }
        let Header { api_version, kind, .. } = header;
        let versions: Vec<String> = API_GROUPS.iter().map(ApiGroup::api_version).collect();
        let expected = versions.join(" or ");
        if !header.group().is_empty() {
            report_foreign(header.group(), findings);
        } else if api_version.is_empty() {
            let root = findings.scope().root;
            let written =
                root.get("apiVersion").filter(|it| it.value != kubefoundry_yaml::Value::Null && it.as_str().is_none());
            if let Some(written) = written {
                let message = format!("apiVersion of a {kind} is {}, expected {expected}", written.describe());
                findings.report(&codes::WRONG_TYPE, "apiVersion", message);
                return;
            }
            let reported = findings.report(
                &codes::REQUIRED_FIELD,
                FieldRef::key(&FieldPath::parse("apiVersion")),
                format!("apiVersion is required for a {kind}, expected {expected}"),
            );
            let keys = root.entries().iter().map(|entry| entry.key.as_ref());
            if let Some(near) =
                kubefoundry_yaml::text::closest("apiVersion", keys.filter(|key| !["apiVersion", "kind"].contains(key)))
            {
                reported.help(format!("rename {near:?} to apiVersion"));
            }
        } else {
            let message = format!("apiVersion {api_version:?} of a {kind} is unknown, expected {expected}");
            findings.report(&codes::UNKNOWN_VERSION, "apiVersion", message);
        }
    }

    fn check_patch(&self, kind: &str, root: &Node<'_>, findings: &mut Findings<'_>) {
        let (path, mut reader) = (FieldPath::root(), Reader::for_patch(findings));
        if kind == KIND {
            ModelDeployment::read(root, &path, &mut reader);
        } else {
            InferenceProviderConfig::read(root, &path, &mut reader);
        }
    }

    /// Returns none: providers and analyses share the codes of this transformation.
    fn codes(&self) -> &'static [&'static Code] {
        &[]
    }

    fn run(&self, object: &InputObject<'_>, set: &ObjectSet<'_, '_, KnownModels>, out: &mut TransformOutput<'_>) {
        // It stays without one until the object is read far enough.
        let Some(decision) = out.decision.take() else { return };
        let Some(catalog) = Catalog::downcast(set.context.configuration) else { return };
        let Some(api_group) = ApiGroup::find(object.header.group()) else { return };
        let findings = &mut out.findings;
        let Some(wire) =
            ModelDeployment::read(&object.root, &FieldPath::root(), &mut Reader::strict(findings).in_group(api_group))
        else {
            return;
        };
        let assumptions = select::assumptions(&wire, api_group, catalog);
        let Some(mut deployment) = validate::validate_with_assumptions(&wire, api_group, assumptions, findings) else {
            return;
        };
        set.settings.describe_model(&mut deployment, findings);
        out.pod_parts.extend(free_form_pod_parts(&deployment));
        check_vendor(&deployment, findings);
        set.context.settings.with(|gpus: &KnownGpus| gpus.describe_nodes(set.context.nodes, &mut deployment));
        let run = DeploymentRun { object, deployment: &deployment, catalog, context: set.context };
        let rendering = run.render(decision, &mut out.steps, findings);
        out.decision = Some(rendering.decision);
        out.served_name = rendering.served_name;
        out.finished = rendering.manifests;
        out.patched = rendering.patched;
        out.passed_on = rendering.passed_on;
        out.pod_parts.extend(rendering.pod_parts);
    }
}

/// Returns the fields of the pods whose structure is that of Kubernetes, if they are written.
fn free_form_pod_parts(deployment: &Deployment) -> Vec<PodPart> {
    let spec = || ModelDeployment::path().spec();
    let settings = &deployment.pod_spec;
    let mut parts = Vec::new();
    let mut add = |is_written: bool, path: &dyn Fn() -> FieldPath, field| {
        if is_written {
            parts.push(PodPart { path: path(), field: Cow::Borrowed(field) });
        }
    };
    let pod = || spec().pod_template().spec();
    add(settings.affinity.is_some(), &|| pod().affinity().into(), "affinity");
    let spreads = !settings.topology_spread_constraints.is_empty();
    add(spreads, &|| pod().topology_spread_constraints().into(), "topologySpreadConstraints");
    add(settings.security_context.is_some(), &|| pod().security_context().into(), "securityContext");
    add(!settings.volumes.is_empty(), &|| pod().volumes().into(), "volumes");
    let mut add_container = |container: &EngineContainer, path: &dyn Fn(&'static str) -> FieldPath| {
        let EngineContainer { probes, volume_mounts, security_context } = container;
        let probe = |name: &'static str| path("probes").key(name);
        add(probes.startup.is_some(), &|| probe("startup"), "containers.*.startupProbe");
        add(probes.readiness.is_some(), &|| probe("readiness"), "containers.*.readinessProbe");
        add(probes.liveness.is_some(), &|| probe("liveness"), "containers.*.livenessProbe");
        add(!volume_mounts.is_empty(), &|| path("volumeMounts"), "containers.*.volumeMounts");
        add(security_context.is_some(), &|| path("securityContext"), "containers.*.securityContext");
    };
    add_container(&deployment.engine_container, &|field| FieldPath::from(spec()).key(field));
    for worker in deployment.workload.workers() {
        let Some(role) = worker.role_path().map(FieldPath::from) else { continue };
        add_container(&worker.written_container, &|field| role.key(field));
    }
    parts
}

/// Reports a ModelDeployment of an unknown API group.
fn report_foreign(group: &str, findings: &mut Findings<'_>) {
    let groups: Vec<&str> = API_GROUPS.iter().map(|api_group| api_group.name).collect();
    let message = format!("a {KIND} of the API group {group} is not supported, expected {}", groups.join(" or "));
    let reported = findings.report(&codes::FOREIGN_MODEL_DEPLOYMENT, "apiVersion", message);
    if let Some(meant) = kubefoundry_yaml::text::closest(group, groups.iter().copied()) {
        reported.help(format!("did you mean {meant}/v1alpha1?"));
    }
}

/// The rendering of a validated deployment.
struct DeploymentRun<'r> {
    object: &'r InputObject<'r>,
    deployment: &'r Deployment,
    catalog: &'r Catalog,
    context: &'r RunContext<'r>,
}

/// The result of rendering a deployment.
struct Rendering {
    decision: Decision,
    served_name: Option<ServedName>,
    manifests: Vec<Manifest>,
    patched: Vec<PatchedObject>,
    passed_on: Option<Value>,
    /// Parts of pods that the overrides say.
    pod_parts: Vec<PodPart>,
}

impl Rendering {
    fn new(decision: Decision) -> Self {
        let (manifests, patched, pod_parts) = (Vec::new(), Vec::new(), Vec::new());
        Self { decision, served_name: None, manifests, patched, passed_on: None, pod_parts }
    }
}

impl DeploymentRun<'_> {
    /// Renders the deployment. A deployment with errors is not rendered, but its other errors are found.
    fn render(&self, decision: Decision, steps: &mut StepBudget, findings: &mut Findings<'_>) -> Rendering {
        if !findings.has_errors() {
            let rendering = self.select_and_translate(decision, steps, findings);
            let provider = rendering.decision.provider();
            if let Some(name) = provider
                && rendering.manifests.is_empty()
                && rendering.passed_on.is_none()
                && !findings.has_errors()
            {
                // A provider that returns nothing should have reported why. If it has not, the run must still not
                // succeed.
                let display = self.catalog.find_provider(name).map_or(name, |provider| provider.display_name());
                let (engine, mode) = (self.deployment.engine.kind, self.deployment.workload.mode());
                let message = format!("{display} cannot render {engine} in {mode} mode");
                findings.report(
                    &codes::ENGINE_NOT_SUPPORTED,
                    ModelDeployment::path().spec().engine().engine_type(),
                    message,
                );
            }
            return rendering;
        }
        // Nothing is rendered, but the run continues to find the other mistakes. If the provider was selected despite
        // an error, only errors are kept: with the error corrected, another provider may be selected.
        let mut later_findings = Findings::new(self.object.scope());
        let Rendering { decision, pod_parts, .. } = self.select_and_translate(decision, steps, &mut later_findings);
        let explicit = decision.selection.as_ref().is_some_and(|selection| selection.explicit);
        let min_severity = if explicit { Severity::Warning } else { Severity::Error };
        // The provider's requirement for GPUs is reported besides the engine's (MD-2.1 and MD-2.7).
        findings.extend_without_echoes(later_findings, min_severity, &codes::PROVIDER_REQUIRES_GPU);
        Rendering { pod_parts, ..Rendering::new(decision) }
    }

    fn select_and_translate(
        &self,
        decision: Decision,
        steps: &mut StepBudget,
        findings: &mut Findings<'_>,
    ) -> Rendering {
        let Self { deployment, catalog, context, .. } = *self;
        let every_rule = context.thoroughness != Thoroughness::Needed;
        let prior_choice = context.chosen.filter(|_| deployment.provider.name.is_none());
        let mut selection = prior_choice.map_or_else(
            || {
                let variables = RuleVariables::new(&self.object.root, deployment);
                select::select(deployment, catalog, variables, every_rule, steps, findings)
            },
            Selection::from_prior_choice,
        );
        let keeps_all = context.thoroughness == Thoroughness::Everything;
        if !keeps_all {
            // With many deployments and rules, the assessments would need more memory than the rest of the run.
            selection.candidates = Vec::new();
        }
        let mut rendering = Rendering::new(decision);
        let decision = &mut rendering.decision;
        if keeps_all {
            decision.fields = resolve_fields(deployment, self.object);
        }
        let selection = decision.selection.insert(selection);
        let provider = selection.provider.as_deref().and_then(|name| catalog.find_provider(name));
        decision.gpus = count_gpus(deployment, provider.and_then(|it| it.ordered_instance_type(deployment)));
        let Some(name) = selection.provider.clone() else { return rendering };
        let Some(provider) = provider else {
            select::check_claims(&name, deployment, catalog, findings);
            rendering.passed_on = Some(pass_on(self.object, deployment.api_group, &name, selection, findings));
            return rendering;
        };
        let errors_before = findings.error_count();
        select::check_compatibility(&name, deployment, catalog, selection.explicit, findings);
        if findings.error_count() > errors_before {
            return rendering;
        }
        if let Some(nodes) = context.nodes {
            placement::check_nodes(deployment, (provider.info().placement)(deployment), nodes, findings);
        }
        let Some(crd_version) = conformance::choose_crd_version(provider, context, findings) else { return rendering };
        let pinned = context.runtimes.get(&name).map(String::as_str);
        let runtime = pinned.or_else(|| provider.info().runtimes.first().copied()).unwrap_or_default().to_owned();
        let translation_context = TranslationContext {
            crd_version: &crd_version,
            runtime: &runtime,
            runtime_pinned: pinned.is_some(),
            images: context.images,
            schemas: context.schemas,
            settings: context.settings,
        };
        for other in catalog.providers().iter().filter(|other| other.name() != name) {
            warn_about_alias(deployment, *other, findings);
        }
        rendering.pod_parts = provider.pod_parts(deployment);
        let object_metadata = ObjectMetadata::read(deployment, findings);
        let translation = provider.translate(deployment, &translation_context, findings);
        if keeps_all {
            decision.workers = self.describe_workers(provider, &translation_context);
        }
        decision.crd_version = Some(crd_version);
        let is_known = pinned.is_some() || !provider.info().chooses_runtime_itself;
        decision.runtime = Some(runtime).filter(|_| is_known);
        let Some(translation) = translation else { return rendering };
        rendering.served_name = self.served_name(findings);
        let of_gateway = gateway::render(deployment, provider, &translation, context, findings);
        decision.endpoint = translation.endpoint;
        let mut manifests = translation.manifests;
        // The main object stays the last one.
        let main = manifests.len().saturating_sub(1);
        manifests.splice(main..main, of_gateway);
        self.mark_owned(&mut manifests, decision.reason(), findings);
        if let Some(main) = manifests.last_mut() {
            object_metadata.add_to(main, findings);
        }
        let patched = patches::apply(deployment, provider, &mut manifests, context.schemas, findings);
        if let Some(schemas) = context.schemas {
            decision.schema_fingerprint =
                conformance::check_manifests(&manifests, &patched, provider, schemas, findings);
        }
        rendering.patched = patched;
        rendering.manifests = manifests;
        rendering
    }

    /// Describes the workers, also those of a deployment that cannot be translated. The translation has reported the
    /// findings.
    fn describe_workers(&self, provider: &dyn Provider, context: &TranslationContext<'_>) -> Vec<WorkerFit> {
        let mut repeated = Findings::new(self.object.scope());
        let launcher = provider.launcher(self.deployment, context, &mut repeated);
        launcher.map(|it| engines::describe_workers(self.deployment, &it, &mut repeated)).unwrap_or_default()
    }

    /// Returns the written name of the model in requests. A provider that does not use it has reported that.
    fn served_name(&self, findings: &Findings<'_>) -> Option<ServedName> {
        let written = self.deployment.model.served_name.as_ref().filter(|name| name.is_written())?;
        let path = FieldPath::from(ModelDeployment::path().spec().model().served_name());
        let is_ignored = findings.iter().any(|finding| {
            finding.code.id == codes::FIELD_IGNORED.id
                && finding.location.as_ref().is_some_and(|location| location.path == path)
        });
        let span = self.object.root.locate(&path, FieldPart::Value);
        (!is_ignored).then(|| ServedName { name: written.value.clone(), path, span })
    }

    /// Adds the metadata that identify the owner to every object: namespace, labels, annotations and owner reference.
    fn mark_owned(&self, manifests: &mut [Manifest], reason: Option<&str>, findings: &mut Findings<'_>) {
        let api_group = self.deployment.api_group;
        let metadata = &self.deployment.metadata;
        let owner = self
            .context
            .owner_references
            .then(|| owner_reference(api_group.api_version(), KIND, &metadata.name, metadata.uid.as_deref(), findings));
        let owner = owner.flatten();
        let main = manifests.len().saturating_sub(1);
        for (position, manifest) in manifests.iter_mut().enumerate() {
            manifest.metadata.namespace.clone_from(&metadata.namespace);
            let has_labels = api_group.labels_claims || manifest.kind != "PersistentVolumeClaim";
            let group_labels =
                metadata.labels.iter().filter(|(key, _)| has_labels && key.starts_with(api_group.label_prefix));
            for (key, value) in group_labels {
                manifest.metadata.labels.insert(key.clone(), Value::from(value.as_str()));
            }
            let namespace = metadata.namespace.as_deref();
            manifest::mark_owned(manifest, api_group, manifest::MODEL_DEPLOYMENT, namespace, &metadata.name);
            if position == main
                && let Some(reason) = reason
            {
                manifest.metadata.annotations.insert(api_group.label("selected-reason"), Value::from(reason));
            }
            // A claim has no owner, so that its data outlive the deployment.
            if manifest.kind != "PersistentVolumeClaim" {
                manifest.metadata.owner_references.extend(owner.clone());
            }
        }
    }
}

/// Counts the GPUs that a deployment asks for by type, in the order of its workers. `ordered` is the instance type that its
/// provider orders.
fn count_gpus(deployment: &Deployment, ordered: Option<&str>) -> Vec<GpuCount> {
    let mut all: Vec<GpuCount> = Vec::new();
    for worker in deployment.workload.workers() {
        let count = u64::from(worker.replicas.value) * u64::from(worker.total_gpus());
        let resource = worker.gpu_type.value.as_str();
        let gpu = hardware::find_gpu(deployment, worker, ordered).filter(|_| hardware::WHOLE_GPUS.contains(&resource));
        let memory = gpu.map(|gpu| gpu.max_memory.saturating_mul(count));
        match all.iter_mut().find(|gpus| *gpus.resource == *resource) {
            Some(gpus) => {
                gpus.count += count;
                gpus.memory = gpus.memory.zip(memory).map(|(one, other)| one.saturating_add(other));
            }
            None if count > 0 => all.push(GpuCount { resource: resource.into(), count, memory }),
            None => {}
        }
    }
    all
}

fn resolve_fields(deployment: &Deployment, object: &InputObject<'_>) -> Vec<ResolvedField> {
    let field = |leaf: LeafEntry| ResolvedField::new(&leaf.path, leaf.value, leaf.origin, &object.root, object.text);
    let mut fields: Vec<ResolvedField> = deployment.leaves().into_iter().map(field).collect();
    // The decisions of all deployments are kept, and the vector has the allocation of the leaves, which are larger.
    fields.shrink_to_fit();
    fields
}

/// Returns the ModelDeployment with the annotations by which a third-party provider, or its KRM function later in the
/// pipeline, finds it.
fn pass_on(
    object: &InputObject<'_>,
    api_group: &ApiGroup,
    provider: &str,
    selection: &Selection,
    findings: &mut Findings<'_>,
) -> Value {
    let spec = ModelDeployment::path().spec();
    findings
        .report(
            &codes::PASSED_ON,
            if selection.explicit { FieldRef::from(spec.provider().name()) } else { spec.into() },
            format!("kubefoundry does not render for provider {provider:?}; the {KIND} is passed on as it is"),
        )
        .help(format!(
            "the provider's controller or KRM function selects it by the annotation {}",
            api_group.label(PROVIDER_ANNOTATION)
        ));
    let mut object = object.to_json();
    let metadata = object.as_object_mut().and_then(|object| object.get_mut("metadata")).and_then(Value::as_object_mut);
    if let Some(metadata) = metadata {
        let annotations = metadata.entry("annotations").or_insert_with(|| Value::Object(serde_json::Map::new()));
        if annotations.is_null() {
            *annotations = Value::Object(serde_json::Map::new());
        }
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.insert(api_group.label(PROVIDER_ANNOTATION), Value::from(provider));
            let reason = selection.reason.as_deref().unwrap_or_default();
            annotations.insert(api_group.label("selected-reason"), Value::from(reason));
        }
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marker_texts_are_the_prefixes_of_the_groups() {
        assert_eq!(MARKER_TEXTS, API_GROUPS.iter().map(|api_group| api_group.label_prefix).collect::<Vec<_>>());
    }

    #[test]
    fn api_version_is_that_of_the_first_group() {
        assert_eq!(API_VERSION, API_GROUPS[0].api_version());
    }
}
