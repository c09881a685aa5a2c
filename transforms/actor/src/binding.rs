//! Binding: adds the adapter and the sidecar to the pods of an existing workload.

use super::codes;
use super::explanation;
use super::inject::{self, Injection, InjectionError};
use super::ir::{Actor, Binding, Reference};
use super::layout::{LAYOUTS, Layout};
use super::pod::{self, Volumes};
use super::target::{self, ReplicaOwner, ResolveError, ResolvedTarget, ScaledWorkload};
use super::url::Url;
use super::{KIND, MANAGED_BY};
use crate::ObjectSet;
use crate::wire::{AsyncActor, GROUP};
use kubefoundry_diagnostics::{DiagnosticBuilder, FieldRef, Findings};
use kubefoundry_kubernetes::server_fields;
use kubefoundry_transform::{ChangedObject, GeneratedResource, InputObject, ObjectPosition, TransformOutput};
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::Node;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::{closest, shorten};

/// The result of adding an actor to its target.
pub(super) struct Bound {
    /// The object that an autoscaler scales.
    pub(super) scales: ScaledWorkload,
    /// The object that gets the containers, as a phrase.
    pub(super) target: String,
}

/// Adds an actor to its target.
pub(super) fn bind(
    actor: &Actor,
    binding: &Binding,
    object: &InputObject<'_>,
    set: &ObjectSet<'_, '_>,
    out: &mut TransformOutput<'_>,
) -> Option<Bound> {
    let path = FieldPath::from(AsyncActor::path().spec().workload_ref());
    let settings = set.settings;
    let resolved = match target::resolve(&binding.reference, actor.namespace.as_deref(), set, settings) {
        Ok(resolved) => resolved,
        Err(error) => {
            report_resolve_error(&error, actor, &binding.reference, set, &mut out.findings);
            return None;
        }
    };
    if let Some(version) = resolved.api_version.as_ref().filter(|it| **it != binding.reference.api_version) {
        let at = path.key("apiVersion");
        let message = format!("{at} is {}, but the target in the input has {version}", binding.reference.api_version);
        out.findings.report(&codes::TARGET_VERSION, &at, message).help(format!("change it to {version}"));
    }
    report_shared_target(object, &resolved, set, &path, &mut out.findings);
    if report_duplicate_target(&resolved, set, &path, &mut out.findings) {
        return None;
    }
    report_scaling_conflict(actor, &resolved, &mut out.findings);
    report_knative_limits(actor, &resolved, set, &mut out.findings);
    report_kserve_container(&resolved, set, &mut out.findings);
    report_sleeping_target(actor, &resolved, set, &mut out.findings);
    // Replace the additions of an earlier run, whether for this actor or for one that no longer exists.
    let mut original = inject::strip(&resolved.object, resolved.layout);
    if original.pointer("/metadata/uid").is_some() {
        // The object was read from a cluster, whose server refuses what it has written itself.
        server_fields::remove(&mut original);
    }
    let injection = injection(actor, binding, &resolved, &original);
    match inject::inject(&original, resolved.layout, &injection) {
        Ok(changed) => out.changed.push(ChangedObject { position: resolved.target, object: changed }),
        Err(error) => report_injection_error(&error, &resolved, set, &mut out.findings),
    }
    let target = explanation::in_namespace(actor, resolved.layout.kind, &resolved.name);
    Some(Bound { scales: resolved.scales, target })
}

fn injection(actor: &Actor, binding: &Binding, resolved: &ResolvedTarget, original: &serde_json::Value) -> Injection {
    let empty = serde_json::Map::new();
    let spec = resolved.layout.pod_spec.iter().try_fold(original, |value, key| value.get(*key));
    let spec = spec.and_then(serde_json::Value::as_object).unwrap_or(&empty);
    let volumes = Volumes::with_free_names(&pod::items(spec, "volumes").map(pod::name_of).collect());
    let volumes = if resolved.knative { volumes.without_tmp() } else { volumes };
    let mut used = pod::declared_ports(spec);
    used.extend(binding.target_url.as_deref().and_then(Url::parse).and_then(Url::port_in_pod));
    // KServe's predictor declares the ports of a model server outside of its containers.
    used.extend(spec.values().flat_map(pod::container_ports));
    if resolved.layout.kind == "InferenceService" || resolved.knative {
        // KServe's model servers, and Knative containers without a declared port, listen on this port.
        used.insert(8080);
    }
    used.extend(ray_metrics_port(original, resolved.layout));
    let gateway = actor.gateway.as_deref().unwrap_or_default();
    let sidecar = pod::sidecar(actor, gateway, pod::metrics_port(&used), &volumes);
    let adapter = pod::adapter(actor, binding, &volumes, !resolved.knative);
    let kind = binding.reference.kind.to_ascii_lowercase();
    Injection {
        actor: actor.name.clone(),
        containers: vec![pod::json(adapter), pod::json(sidecar)],
        volumes: volumes.list().into_iter().map(pod::json).collect(),
        labels: pod::own_labels(&actor.name, &kind).to_vec(),
        grace_period: (!resolved.knative).then_some(actor.graceful_shutdown),
        service_account: actor.service_account(),
        scales: actor.scaling.is_some(),
    }
}

/// Returns the port at which the head of a Ray cluster serves its metrics. KubeRay sets it in the command of the head, and
/// its container need not declare it (`DefaultMetricsPort` in ray-project/kuberay).
fn ray_metrics_port(object: &serde_json::Value, layout: &Layout) -> Option<u16> {
    if layout.group != "ray.io" {
        return None;
    }
    let head = layout.pod_spec.get(..layout.pod_spec.len() - 2)?;
    let head = head.iter().try_fold(object, |value, key| value.get(*key));
    let given = head.and_then(|head| head.get("rayStartParams")?.get("metrics-export-port")?.as_str()?.parse().ok());
    Some(given.unwrap_or(8080))
}

/// Returns the workload to which an actor of the input adds containers. Returns `None` for an actor that adds none or
/// that cannot be read.
pub(super) fn claim(object: &InputObject<'_>) -> Option<Reference> {
    if &*object.header.kind != KIND || object.header.group() != GROUP {
        return None;
    }
    let spec = object.root.get("spec")?;
    let is_detached = spec.get("strategy").and_then(Node::as_str) == Some("detached");
    let reference = spec.get("workloadRef").filter(|_| !is_detached)?;
    let text = |key: &str| reference.get(key).and_then(Node::as_str).map(str::to_owned);
    Some(Reference { api_version: text("apiVersion")?, kind: text("kind")?, name: text("name")? })
}

/// Resolves the target of an actor of the input, if it may be the object of this name.
pub(super) fn claimed(
    object: &InputObject<'_>,
    namespace: Option<&str>,
    name: &str,
    set: &ObjectSet<'_, '_>,
) -> Option<ResolvedTarget> {
    if object.header.namespace.as_deref() != namespace {
        return None;
    }
    // Compare names first: resolving a reference searches the whole set, which is too slow for every pair of actors.
    let reference = claim(object).filter(|it| target::may_mean(&it.name, name))?;
    target::resolve(&reference, namespace, set, set.settings).ok()
}

/// Reports a target that an earlier actor of the input uses too.
fn report_shared_target(
    object: &InputObject<'_>,
    own: &ResolvedTarget,
    set: &ObjectSet<'_, '_>,
    path: &FieldPath,
    findings: &mut Findings<'_>,
) {
    let earlier = set.inputs.iter().take_while(|other| !std::ptr::eq(*other, object));
    let same = |other: &ResolvedTarget| {
        let scales = matches!(own.scales, ScaledWorkload::Workload { .. }) && other.scales == own.scales;
        other.target == own.target || scales
    };
    let (namespace, Some(reference)) = (object.header.namespace.as_deref(), claim(object)) else { return };
    let claims = |other: &&InputObject<'_>| claimed(other, namespace, &reference.name, set).is_some_and(|it| same(&it));
    let Some(other) = earlier.filter(|other| other.header.name != object.header.name).find(claims) else { return };
    let message = format!("{path} is already the target of AsyncActor {}", other.header.name);
    let span = other.root.locate(&AsyncActor::path().metadata().name(), yaml::FieldPart::Value);
    findings
        .report(&codes::TARGET_SHARED, FieldRef::key(path), message)
        .related_in(other.source, other.document, span, "the other actor")
        .help("bind one of them to another target, or set spec.strategy: detached and spec.runtime.targetURL on one");
}

/// Reports other objects of the input that have the identity of the target but other fields: only one of them would get
/// the containers, and the other would be lost. The output of an earlier run is not one of them. Returns whether there is
/// one.
fn report_duplicate_target(
    resolved: &ResolvedTarget,
    set: &ObjectSet<'_, '_>,
    path: &FieldPath,
    findings: &mut Findings<'_>,
) -> bool {
    let ObjectPosition::Input(position) = resolved.target else { return false };
    let Some(target) = set.inputs.get(position) else { return false };
    let own = &target.header;
    let is_same = |other: &&InputObject<'_>| {
        let header = &other.header;
        header.group() == own.group()
            && header.kind == own.kind
            && header.namespace == own.namespace
            && header.name == own.name
    };
    let others = set.inputs.iter().filter(is_same).filter(|other| !std::ptr::eq(*other, target));
    let is_bound = inject::managed_by(&resolved.object).is_some();
    let differs = |other: &&InputObject<'_>| {
        let object = other.root.to_json();
        object != resolved.object && inject::managed_by(&object).is_some() == is_bound
    };
    let Some(other) = others.rev().find(differs) else { return false };
    let message = format!("{path} means two different objects of the input: {} {} occurs twice", own.kind, own.name);
    let span = other.root.locate(&AsyncActor::path().metadata().name(), yaml::FieldPart::Value);
    let reported = findings
        .report(&codes::TARGET_DUPLICATE, FieldRef::key(path), message)
        .related_in(other.source, other.document, span, "the second one")
        .help("remove one of the two, or give it another name");
    relate_to_target(reported, resolved, set);
    true
}

/// The fields of a predictor that name a model server of KServe. With one of them, `containers` are additions.
const MODEL_SERVERS: &[&str] = &[
    "huggingface",
    "lightgbm",
    "model",
    "onnx",
    "paddle",
    "pmml",
    "pytorch",
    "sklearn",
    "tensorflow",
    "triton",
    "xgboost",
];

/// Reports a predictor whose own container KServe would no longer find. It names a single container `kserve-container`,
/// but with the adapter and the sidecar there are three (`CustomPredictor` and `components/predictor.go` in
/// kserve/kserve).
fn report_kserve_container(resolved: &ResolvedTarget, set: &ObjectSet<'_, '_>, findings: &mut Findings<'_>) {
    if resolved.layout.kind != "InferenceService" {
        return;
    }
    let object = inject::strip(&resolved.object, resolved.layout);
    let Some(predictor) = object.pointer("/spec/predictor").and_then(serde_json::Value::as_object) else { return };
    let Some(first) = pod::items(predictor, "containers").next() else { return };
    if MODEL_SERVERS.iter().any(|server| predictor.get(*server).is_some_and(|server| !server.is_null())) {
        return;
    }
    let name = pod::name_of(first);
    if name.is_empty() || name == KSERVE_CONTAINER {
        return;
    }
    let has_later = pod::items(predictor, "containers").any(|container| pod::name_of(container) == KSERVE_CONTAINER);
    let (problem, help) = if has_later {
        ("KServe replaces the first one", format!("move {KSERVE_CONTAINER} to the beginning of containers"))
    } else {
        ("KServe does not find it among several containers", format!("rename it to {KSERVE_CONTAINER}"))
    };
    let message =
        format!("the first container of the target is {}, expected {KSERVE_CONTAINER}: {problem}", shorten(name));
    let place = FieldRef::key(&AsyncActor::path().spec().workload_ref());
    relate_to_target(findings.report(&codes::KSERVE_CONTAINER, place, message).help(help), resolved, set);
}

/// The name of the container that serves in an InferenceService.
const KSERVE_CONTAINER: &str = "kserve-container";

/// Reports a target that Knative scales to zero. It counts requests and not messages, so nothing wakes the actor.
fn report_sleeping_target(
    actor: &Actor,
    resolved: &ResolvedTarget,
    set: &ObjectSet<'_, '_>,
    findings: &mut Findings<'_>,
) {
    // Scaling of such a target is an error.
    if !resolved.knative || actor.scaling.is_some() {
        return;
    }
    let at = |pointer: &str| resolved.object.pointer(pointer);
    let (sleeps, field) = if resolved.layout.kind == "InferenceService" {
        let min = at("/spec/predictor/minReplicas").and_then(serde_json::Value::as_i64);
        (min == Some(0), "spec.predictor.minReplicas: 1")
    } else {
        let annotations = at("/spec/template/metadata/annotations");
        let min = ["autoscaling.knative.dev/min-scale", "autoscaling.knative.dev/minScale"]
            .into_iter()
            .find_map(|key| annotations?.get(key)?.as_str()?.parse::<u32>().ok());
        (min.unwrap_or(0) == 0, "the annotation autoscaling.knative.dev/min-scale: \"1\" in spec.template")
    };
    if !sleeps {
        return;
    }
    let message = "Knative scales the target to zero without requests, and messages in the queue do not wake it";
    let place = FieldRef::key(&AsyncActor::path().spec().workload_ref());
    let reported = findings.report(&codes::TARGET_SLEEPS, place, message).help(format!("set {field} in the target"));
    relate_to_target(reported, resolved, set);
}

/// Reports scaling where another controller sets the replicas.
fn report_scaling_conflict(actor: &Actor, resolved: &ResolvedTarget, findings: &mut Findings<'_>) {
    if actor.scaling.is_none() {
        return;
    }
    let path = FieldPath::from(AsyncActor::path().spec().scaling().enabled());
    match (&resolved.scales, resolved.replica_owner) {
        (ScaledWorkload::Knative, _) => {
            let message = format!("{path} is true, but Knative already scales the target");
            findings.report(&codes::KNATIVE_SCALING, &path, message).help("remove spec.scaling");
        }
        (ScaledWorkload::Ray, _) => {
            let message = format!(
                "{path} has no effect: the actor runs in the head of a Ray cluster, which is a \
                                   single pod"
            );
            findings
                .report(&codes::RAY_SCALING, &path, message)
                .help("remove spec.scaling, and let Ray Serve autoscale the workers");
        }
        (ScaledWorkload::Workload { kind, name, .. }, Some(ReplicaOwner::Kaito)) => {
            let message = format!("{path} is true, but KAITO resets the replicas of {kind} {name}");
            findings
                .report(&codes::TARGET_KEEPS_REPLICAS, &path, message)
                .help("remove spec.scaling: KAITO alone sets the replicas");
        }
        (ScaledWorkload::Workload { kind, name, .. }, Some(ReplicaOwner::Kserve)) => {
            let message = format!("{path} is true, but KServe creates its own autoscaler for {kind} {name}");
            findings
                .report(&codes::TARGET_KEEPS_REPLICAS, &path, message)
                .help("annotate the InferenceService with serving.kserve.io/autoscalerClass: external");
        }
        (ScaledWorkload::Workload { .. }, None) => {}
    }
}

/// Reports what Knative does not support (`PodSpecMask`, `reservedPaths`, `validateContainersPorts` and the feature
/// flag
/// `multi-container-probing` of knative/serving).
fn report_knative_limits(
    actor: &Actor,
    resolved: &ResolvedTarget,
    set: &ObjectSet<'_, '_>,
    findings: &mut Findings<'_>,
) {
    if !resolved.knative {
        return;
    }
    let message = format!(
        "Knative allows probes on one container only, no volume at /tmp and no grace period: the adapter has no \
         probes, /tmp is not shared, and spec.timeout.gracefulShutdown ({} seconds) has no effect",
        actor.graceful_shutdown
    );
    findings
        .report(&codes::KNATIVE_LIMITS, FieldRef::key(&AsyncActor::path().spec().workload_ref()), message)
        .help("timeoutSeconds of the target limits how long Knative waits for a request");
    // KServe declares the ports of the services that it creates.
    if resolved.layout.kind == "Service" && !has_ports(&inject::strip(&resolved.object, resolved.layout)) {
        let message = "no container of the target declares a port, so Knative cannot tell which of them serves";
        let reported = findings
            .report(&codes::KNATIVE_PORT, FieldRef::key(&AsyncActor::path().spec().workload_ref()), message)
            .help("declare the port on the container that serves, such as ports: [{containerPort: 8080}]");
        relate_to_target(reported, resolved, set);
    }
}

fn has_ports(service: &serde_json::Value) -> bool {
    let containers = service.pointer("/spec/template/spec/containers").and_then(serde_json::Value::as_array);
    containers.into_iter().flatten().any(|container| pod::container_ports(container).next().is_some())
}

/// Help for a target to which no containers can be added.
const UNSUPPORTED_TARGET_HELP: &str =
    "set spec.strategy: detached and spec.runtime.targetURL, to run the adapter in its own Deployment";

fn report_resolve_error(
    error: &ResolveError,
    actor: &Actor,
    reference: &Reference,
    set: &ObjectSet<'_, '_>,
    findings: &mut Findings<'_>,
) {
    let path = FieldPath::from(AsyncActor::path().spec().workload_ref());
    let Reference { api_version, kind, name } = reference;
    match error {
        ResolveError::Kind => {
            let message = format!("{path} is a {kind} of {api_version}, whose pod template is not known");
            let reported = findings.report(&codes::TARGET_KIND, &path.key("kind"), message);
            let kinds = LAYOUTS.iter().filter(|layout| layout.group == reference.group()).map(|layout| layout.kind);
            match closest(kind, kinds) {
                Some(meant) => reported
                    .help(format!("did you mean {meant:?}?"))
                    .replace_with(format!("change it to {meant}"), meant),
                None => reported.help(UNSUPPORTED_TARGET_HELP),
            };
        }
        ResolveError::Source => {
            let message = format!("{path} is a {kind}, expected the object that it is rendered to");
            let has_pods = |generated: &&GeneratedResource| {
                let layout = Layout::find(&generated.identity.group, &generated.identity.kind);
                layout.is_some_and(|it| {
                    it.pod_spec.iter().try_fold(&generated.object, |value, key| value.get(*key)).is_some()
                })
            };
            let generated = set.generated.iter().filter(|generated| *generated.identity.name == **name).find(has_pods);
            let help = match generated {
                Some(generated) => format!("refer to {} {name} of {}", generated.identity.kind, generated.api_version),
                None => UNSUPPORTED_TARGET_HELP.to_owned(),
            };
            findings.report(&codes::TARGET_KIND, &path.key("kind"), message).help(help);
        }
        ResolveError::Missing => {
            let namespace = actor.namespace.as_deref().map_or_else(String::new, |namespace| format!("{namespace}/"));
            let message = format!("the target {kind} {namespace}{name} is not in the input");
            let elsewhere = suggest_target(reference, set);
            let reported = findings.report(&codes::TARGET_MISSING, &path.key("name"), message);
            match elsewhere {
                Some(elsewhere) => reported.help(elsewhere),
                None => reported.help(format!("add its file to the input; or {UNSUPPORTED_TARGET_HELP}")),
            };
        }
        ResolveError::Template(has) => {
            let message = format!("{kind} {name} has no pod template to add to: it has {has}");
            findings
                .report(&codes::TARGET_WITHOUT_TEMPLATE, FieldRef::key(&path), message)
                .help(UNSUPPORTED_TARGET_HELP);
        }
        ResolveError::ModelMesh => {
            let message = format!("{kind} {name} runs in ModelMesh, where models have no pods of their own");
            findings
                .report(&codes::TARGET_WITHOUT_TEMPLATE, FieldRef::key(&path), message)
                .help(UNSUPPORTED_TARGET_HELP);
        }
    }
}

/// Suggests an object that may be intended: one of the same kind in another namespace, or with a similar name.
fn suggest_target(reference: &Reference, set: &ObjectSet<'_, '_>) -> Option<String> {
    let inputs =
        set.inputs.iter().map(|it| (it.header.group(), &*it.header.kind, &it.header.namespace, &*it.header.name));
    let generated =
        set.generated.iter().map(|it| &it.identity).map(|it| (&*it.group, &*it.kind, &it.namespace, &*it.name));
    let same: Vec<_> = inputs
        .chain(generated)
        .filter(|(group, kind, ..)| *group == reference.group() && *kind == reference.kind)
        .map(|(.., namespace, name)| (namespace.as_deref(), name))
        .collect();
    if let Some((namespace, _)) = same.iter().find(|(_, name)| *name == reference.name) {
        let place = namespace.map_or_else(|| "without a namespace".to_owned(), |it| format!("in namespace {it}"));
        return Some(format!("move the actor to the namespace of its target: there is one {place}"));
    }
    let meant = closest(&reference.name, same.iter().map(|(_, name)| *name))?;
    Some(format!("did you mean {meant:?}?"))
}

fn report_injection_error(
    error: &InjectionError,
    resolved: &ResolvedTarget,
    set: &ObjectSet<'_, '_>,
    findings: &mut Findings<'_>,
) {
    let path = FieldPath::from(AsyncActor::path().spec().workload_ref());
    let place = FieldRef::key(&path);
    let reported = match error {
        InjectionError::Shape(at, expected) => {
            let message = format!("the target's {at} is not {expected}, so nothing can be added to it");
            findings.report(&codes::TARGET_WITHOUT_TEMPLATE, place, message)
        }
        InjectionError::Container(name) => {
            let message = format!("the target already has a container {name}, but not the annotation {MANAGED_BY}");
            findings
                .report(&codes::TARGET_OCCUPIED, place, message)
                .help("rename or remove the container: only containers that kubefoundry added are replaced")
        }
        InjectionError::Label(key) => {
            let message =
                format!("the pods of the target already have the label {key}, but not the annotation {MANAGED_BY}");
            findings.report(&codes::TARGET_OCCUPIED, place, message).help("remove the label from the target")
        }
        InjectionError::ServiceAccount(name) => {
            let message = super::service_account_message(name);
            findings
                .report(&codes::SERVICE_ACCOUNT, place, message)
                .help("remove it from the target: with the actor, the pods would get the actor's role instead of that of the account")
        }
    };
    relate_to_target(reported, resolved, set);
}

/// Adds the position of the target to a finding, if the target is in the input.
fn relate_to_target(reported: DiagnosticBuilder<'_, '_>, resolved: &ResolvedTarget, set: &ObjectSet<'_, '_>) {
    if let ObjectPosition::Input(position) = resolved.target
        && let Some(target) = set.inputs.get(position)
    {
        let span = target.root.locate(&AsyncActor::path().metadata().name(), yaml::FieldPart::Value);
        reported.related_in(target.source, target.document, span, "the target");
    }
}
