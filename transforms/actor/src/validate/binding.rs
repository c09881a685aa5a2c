//! Validation of binding mode: the referenced workload and the adapter.

use crate::codes::{RUNTIME_MISPLACED, TARGET_NAMESPACE, TARGET_URL};
use crate::ir::{Binding, Reference};
use crate::url::Url;
use crate::wire::AsyncActor;
use crate::wire::{ActorRuntime, ActorStrategy, ActorWorkloadReference, AsyncActorSpec};
use kubefoundry_diagnostics::FieldRef;
use kubefoundry_kubernetes::check::{Checker, non_empty};
use kubefoundry_transform::codes;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::shorten;

/// Reports fields of binding mode in an actor that has its own workload. The default strategy has no effect there, and the
/// API server writes it into every stored actor.
pub(super) fn report_misplaced_fields(spec: &AsyncActorSpec, check: &mut Checker<'_, '_>) {
    for field in ["runtime", "strategy"] {
        let path = FieldPath::from(AsyncActor::path().spec()).key(field);
        let is_default = field == "strategy" && spec.strategy == Some(ActorStrategy::Inject);
        if check.is_present(&path) && !is_default {
            let message = format!("{path} is for actors with spec.workloadRef, but this one has spec.workload");
            check
                .findings
                .report(&RUNTIME_MISPLACED, FieldRef::key(&path), message)
                .help("remove it, or replace spec.workload by spec.workloadRef");
        }
    }
}

pub(super) fn binding(spec: &AsyncActorSpec, namespace: Option<&str>, check: &mut Checker<'_, '_>) -> Option<Binding> {
    let strategy = spec.strategy.unwrap_or(ActorStrategy::Inject);
    let reference = spec.workload_ref.as_ref().and_then(|reference| self::reference(reference, namespace, check));
    let path = FieldPath::from(AsyncActor::path().spec().runtime());
    if check.is_absent(&path) {
        check
            .findings
            .report(&RUNTIME_MISPLACED, FieldRef::key(&path), "spec.runtime is required with spec.workloadRef")
            .help("set spec.runtime.image and spec.runtime.handler for the adapter that calls the workload");
    }
    let ActorRuntime { image, handler, target_url } = spec.runtime.clone()?;
    check.check_single_line(&path.key("handler"), handler.as_deref().unwrap_or_default());
    let target_url = non_empty(target_url.as_deref()).map(str::to_owned);
    let at = path.key("targetURL");
    if let Some(url) = &target_url {
        if Url::parse(url).is_none() {
            let message = format!("{at} is {:?}, expected an address such as http://model:8000/v1", shorten(url));
            check.findings.report(&TARGET_URL, &at, message);
        }
    } else if strategy == ActorStrategy::Detached && check.is_absent_or_empty(&at) {
        let message = format!("{at} is required with strategy: detached, because the adapter runs in its own pods");
        check.findings.report(&codes::REQUIRED_FIELD, &at, message);
    }
    Some(Binding { reference: reference?, strategy, image: image?, handler: handler?, target_url })
}

fn reference(wire: &ActorWorkloadReference, actors: Option<&str>, check: &mut Checker<'_, '_>) -> Option<Reference> {
    let path = FieldPath::from(AsyncActor::path().spec().workload_ref());
    let ActorWorkloadReference { api_version, kind, name, namespace } = wire;
    if let Some(namespace) = non_empty(namespace.as_deref())
        && Some(namespace) != actors
    {
        let at = path.key("namespace");
        let own = actors.unwrap_or("not set");
        let message = format!("{at} is {:?}, expected the namespace of the actor, which is {own}", shorten(namespace));
        check.findings.report(&TARGET_NAMESPACE, &at, message).help(
            "remove it, and put the actor into the namespace \
                                                                     of its target",
        );
    }
    let non_empty_text = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    Some(Reference {
        api_version: non_empty_text(api_version)?,
        kind: non_empty_text(kind)?,
        name: non_empty_text(name)?,
    })
}
