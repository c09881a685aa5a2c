//! The transformation of `AsyncActor` (asya.sh). An actor with its own workload becomes a Deployment or StatefulSet. An
//! actor that binds to an existing workload adds two containers to that workload. Both can have KEDA objects for
//! scaling.
//!
//! The crate is internal: only the package `kubefoundry` promises a stable interface.
//!
//! ```text
//! wire::AsyncActor ─ validate ─ ir::Actor ─┬─ standalone ──────────────────────────┬─ keda ─ TransformOutput
//!                       options ─┘         └─ binding ─ target ─ inject (and strip) ┘
//! ```
//! Source: deliveryhero/asya. Standalone actors follow its operator v0.1.1. Binding follows its ADR-001, which the
//! operator does not implement. `docs/actor.md` lists the differences.

mod binding;
pub mod codes;
mod explanation;
mod formula;
mod inject;
mod ir;
mod keda;
mod layout;
pub mod options;
mod pod;
mod queue;
mod standalone;
pub mod status;
mod target;
#[cfg(test)]
mod tests;
mod transport;
mod unbind;
mod url;
mod validate;
pub mod wire;

pub use wire::{API_VERSION, AsyncActor, KIND};

use serde::Serialize;

use self::ir::{Actor, Mode};
use self::options::Settings;
use self::wire::{ActorStrategy as Strategy, GROUP};
use kubefoundry_diagnostics::{Code, FieldRef, Findings};
use kubefoundry_kubernetes::header::Header;
use kubefoundry_kubernetes::manifest::Manifest;
use kubefoundry_kubernetes::pod::StringMap;
use kubefoundry_kubernetes::wire::{Read as _, Reader};
use kubefoundry_transform::{GroupKind, InputObject, Thoroughness, Transform, TransformOutput};
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::closest;
use kubefoundry_yaml::{Node, Value};

/// The name of the container that runs the handler.
const RUNTIME: &str = "asya-runtime";
/// The name of the container that connects to the transport.
const SIDECAR: &str = "asya-sidecar";
/// The directory of the socket that connects the two containers.
const SOCKET_DIR: &str = "/var/run/asya";
/// The ConfigMap with the script that runs handlers. Each namespace has one.
const RUNTIME_CONFIG_MAP: &str = "asya-runtime";
/// The key of the script in that ConfigMap.
const RUNTIME_SCRIPT: &str = "asya_runtime.py";
/// The path at which the script is mounted.
const RUNTIME_SCRIPT_PATH: &str = "/opt/asya/asya_runtime.py";
/// Default image of the sidecar.
const DEFAULT_SIDECAR_IMAGE: &str = "asya-sidecar:latest";
/// Names of the actors at which routes end.
const END_ACTORS: [&str; 2] = ["happy-end", "error-end"];
/// Variables of the sidecar that users cannot replace, because the other containers depend on them.
const RESERVED_ENVIRONMENT: [&str; 3] = ["ASYA_ACTOR_NAME", "ASYA_SOCKET_DIR", "ASYA_TRANSPORT"];
/// Annotation that names the actor whose containers were added to an object.
const MANAGED_BY: &str = "asya.sh/managed-by";
/// Annotation with the mode of the actor: `Standalone` or `Binding`.
const MODE: &str = "asya.sh/mode";
/// Annotation that records how to restore the object when the actor is removed.
const RESTORE: &str = "asya.sh/restore";

/// The objects of a run that the transformation can access.
type ObjectSet<'s, 't> = kubefoundry_transform::ObjectSet<'s, 't, Settings>;

/// The transformation of actors.
#[derive(Debug)]
pub struct Actors;

impl Transform for Actors {
    type Settings = Settings;

    fn name(&self) -> &'static str {
        "actor"
    }

    fn kind(&self) -> (&'static str, &'static str) {
        (API_VERSION, KIND)
    }

    fn owner_annotation(&self) -> &'static str {
        "async-actor"
    }

    fn change_annotation(&self) -> Option<&'static str> {
        Some(MANAGED_BY)
    }

    fn marker_texts(&self) -> &'static [&'static str] {
        &["asya.sh/", KIND]
    }

    fn needs_object(&self, header: &Header) -> bool {
        let (group, kind) = (header.group(), &*header.kind);
        match (group, kind) {
            ("", "ConfigMap") => &*header.name == RUNTIME_CONFIG_MAP,
            ("", "Secret")
            | ("keda.sh", "ScaledObject")
            | ("autoscaling", "HorizontalPodAutoscaler")
            | ("rabbitmq.com" | "sqs.services.k8s.aws", "Queue") => true,
            _ => target::is_target(group, kind),
        }
    }

    /// The upstream operator creates the workload of a standalone actor but does not support binding. An actor that
    /// binds is therefore always handled here; a standalone one only if the options configure transports.
    fn handles(&self, root: &Node<'_>, settings: &Settings) -> bool {
        let has = |field: &&str| root.get("spec").is_some_and(|spec| spec.entry(field).is_some());
        // The API server writes the default strategy into every stored actor.
        let strategy = root.get("spec").and_then(|spec| spec.get("strategy")?.as_str());
        let binds = ["workloadRef", "runtime"].iter().any(has) || has(&"strategy") && strategy != Some("inject");
        let binds = binds && newer_release(root).is_none();
        !settings.transports.is_empty() || binds
    }

    fn handled_description(&self) -> &'static str {
        "set actor.transports in the Render options, or spec.workloadRef: other AsyncActors are left to their operator"
    }

    fn report_misnamed(&self, header: &Header, settings: &Settings, findings: &mut Findings<'_>) {
        if &*header.kind != KIND || !self.handles(findings.scope().root, settings) {
            return;
        }
        let message =
            format!("apiVersion {:?} of an AsyncActor is not supported, expected {API_VERSION}", header.api_version);
        let reported = findings.report(&codes::FOREIGN_ACTOR, "apiVersion", message).help(format!(
            "change it to {API_VERSION}, or turn {} off if it belongs to another product",
            codes::FOREIGN_ACTOR.id
        ));
        // The object of another product must keep its group, so only a misspelled one is corrected.
        if header.group() == GROUP || closest(header.group(), [GROUP]).is_some() {
            reported.replace_with(format!("change it to {API_VERSION}"), API_VERSION);
        }
    }

    fn schema_kinds(&self) -> &'static [GroupKind] {
        &[
            ("keda.sh", "ScaledObject"),
            ("keda.sh", "TriggerAuthentication"),
            ("serving.knative.dev", "Service"),
            ("serving.kserve.io", "InferenceService"),
            ("ray.io", "RayCluster"),
            (GROUP, KIND),
        ]
    }

    fn codes(&self) -> &'static [&'static Code] {
        codes::CODES
    }

    fn run(&self, object: &InputObject<'_>, set: &ObjectSet<'_, '_>, out: &mut TransformOutput<'_>) {
        if let Some(field) = newer_release(&object.root) {
            report_newer_release(field, &mut out.findings);
            return;
        }
        let read = AsyncActor::read(&object.root, &FieldPath::root(), &mut Reader::strict(&mut out.findings));
        let Some(wire) = read else { return };
        let Some(actor) = validate::validate(&wire, set.settings, set.context.images, &mut out.findings) else {
            return;
        };
        runtime_script(&actor, set, out);
        queue::generate_queue(&actor, set, out);
        service_account(&actor, out);
        let mut target = None;
        let (scales, own) = match &actor.mode {
            Mode::Standalone(workload) => (Some(standalone::generate_workload(&actor, workload, out)), true),
            Mode::Binding(binding) if binding.strategy == Strategy::Detached => {
                (Some(standalone::generate_adapter(&actor, binding, out)), true)
            }
            Mode::Binding(binding) => {
                let bound = binding::bind(&actor, binding, object, set, out);
                let (scales, bound_to) = bound.map(|bound| (bound.scales, bound.target)).unzip();
                target = bound_to;
                (scales, false)
            }
        };
        if let Some(decision) = out.decision.as_mut().filter(|_| set.context.thoroughness == Thoroughness::Everything) {
            decision.facts = explanation::explain(&actor, target, scales.as_ref());
            decision.fields = explanation::fields(&actor, &object.root);
        }
        if let Some(scales) = scales {
            keda::generate_keda_objects(&actor, &scales, own, set, out);
        }
    }

    fn revisit(&self, position: usize, set: &ObjectSet<'_, '_>, out: &mut TransformOutput<'_>) {
        unbind::revisit(position, set, out);
    }
}

/// Returns the field that shows that an actor belongs to a release of Asya after v0.1.1, where AsyncActors are claims of
/// Crossplane with other fields.
fn newer_release(root: &Node<'_>) -> Option<&'static str> {
    let spec = root.get("spec")?;
    let has = |field: &str| spec.entry(field).is_some();
    if has("workload") || has("runtime") {
        return None;
    }
    if let Some(reference) = spec.get("workloadRef") {
        // There a reference has only kind and name, and means that a webhook changes the workload.
        let is_newer = reference.entry("kind").is_some() && reference.entry("apiVersion").is_none() && !has("strategy");
        return is_newer.then_some("workloadRef");
    }
    ["actor", "handler", "image"].into_iter().find(|field| has(field))
}

fn report_newer_release(field: &str, findings: &mut Findings<'_>) {
    let path = FieldPath::from(AsyncActor::path().spec()).key(field.to_owned());
    let cause = match field {
        "workloadRef" => "has no apiVersion",
        _ => "is not a field of its AsyncActors",
    };
    let message = format!(
        "this AsyncActor is for a release of Asya after v0.1.1, which kubefoundry does not render: {path} {cause}"
    );
    findings.report(&codes::NEWER_ACTOR, FieldRef::key(&path), message).help(
        "apply it where that release of Asya runs, and keep it out of this input; or write it with spec.transport and \
         spec.workload, or with spec.workloadRef and spec.runtime, for Asya v0.1.1",
    );
}

#[derive(Debug, Serialize)]
struct ConfigMap {
    data: StringMap,
}

/// The body of an object that has only metadata.
#[derive(Debug, Serialize)]
struct EmptyBody {}

/// Generates the ConfigMap with the script that runs handlers, or reports where it is expected.
fn runtime_script(actor: &Actor, set: &ObjectSet<'_, '_>, out: &mut TransformOutput<'_>) {
    let name = RUNTIME_CONFIG_MAP;
    if let Some(script) = &set.settings.runtime_script {
        let body = ConfigMap { data: StringMap::from_entry(RUNTIME_SCRIPT, script) };
        let manifest = Manifest::new("v1", "ConfigMap", name, body)
            .with_label("app.kubernetes.io/name", name)
            .with_label("app.kubernetes.io/component", name)
            .with_label("app.kubernetes.io/part-of", "asya");
        out.shared.push(queue::keep(manifest));
        return;
    }
    let Some((_, given)) = set.find_input("", "ConfigMap", actor.namespace.as_deref(), name) else {
        let message =
            format!("ConfigMap {name} with {RUNTIME_SCRIPT} is not in the input, so the cluster must have it");
        out.findings.report(&codes::RUNTIME_SCRIPT, AsyncActor::path().metadata().name(), message).help(format!(
            "add it to the input{}, or the text of src/asya-runtime/asya_runtime.py in the sources of Asya to the \
             options as actor.runtimeScript: the Asya operator creates it only where it runs an AsyncActor itself",
            in_namespace(actor)
        ));
        return;
    };
    let data = given.root.get("data");
    let script = data.and_then(|data| data.get(RUNTIME_SCRIPT)).map(|script| &script.value);
    if !matches!(script, Some(Value::String(script)) if !script.is_empty()) {
        let message = format!("ConfigMap {name} in the input has no key {RUNTIME_SCRIPT}, which the actor runs");
        let span = given.root.locate(&FieldPath::parse("data"), kubefoundry_yaml::FieldPart::Key);
        out.findings
            .report(&codes::RUNTIME_SCRIPT_MISSING, AsyncActor::path().metadata().name(), message)
            .related_in(given.source, given.document, span, "expected here")
            .help("add the script under that key; it comes with the Asya operator: src/asya-runtime/asya_runtime.py");
    }
}

/// Returns the namespace of an actor as a phrase for messages.
fn in_namespace(actor: &Actor) -> String {
    actor.namespace.as_deref().map_or_else(String::new, |namespace| format!(" in namespace {namespace}"))
}

/// Generates the service account with the role of the transport, if it has one.
fn service_account(actor: &Actor, out: &mut TransformOutput<'_>) {
    let role = actor.transport.as_ref().and_then(options::Transport::role);
    if let (Some(name), Some(role)) = (actor.service_account(), role) {
        let manifest = Manifest::new("v1", "ServiceAccount", name, EmptyBody {});
        out.manifests.push(manifest.with_annotation("eks.amazonaws.com/role-arn", role));
    }
}

/// Returns the upstream operator's message for a service account that conflicts with the generated one.
fn service_account_message(name: &str) -> String {
    let name = kubefoundry_yaml::text::shorten(name);
    format!(
        "cannot use custom serviceAccountName {name:?} when IRSA (actorRoleArn) is configured: remove serviceAccountName \
         from spec or disable IRSA"
    )
}
