//! What `explain` shows of an actor: its mode, its queue, the workload that it resolved to, and every value with its
//! origin.

use serde_json::{Value as Json, json};

use super::ir::{Actor, Mode, Scaling};
use super::options::TransportKind;
use super::target::ScaledWorkload;
use super::wire::{ActorStrategy, AsyncActor};
use kubefoundry_transform::{DerivedFact, FieldOrigin, ResolvedField};
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::{Node, Value};

/// Describes an actor. `target` is the object that gets its containers, and `scales` the one whose replicas KEDA sets.
pub(super) fn explain(actor: &Actor, target: Option<String>, scales: Option<&ScaledWorkload>) -> Vec<DerivedFact> {
    let fact = |name, value: String| DerivedFact { name, value };
    let mode = match &actor.mode {
        Mode::Standalone(_) => "Standalone",
        Mode::Binding(binding) if binding.strategy == ActorStrategy::Detached => "Binding (detached)",
        Mode::Binding(_) => "Binding",
    };
    let mut facts = vec![fact("mode", mode.to_owned())];
    facts.extend(target.map(|target| fact("resolved target", target)));
    if let (Some(_), Some(ScaledWorkload::Workload { kind, name, .. })) = (&actor.scaling, scales) {
        facts.push(fact("scaled by KEDA", in_namespace(actor, kind, name)));
    }
    if let Some(transport) = &actor.transport {
        let kind = match transport.kind {
            TransportKind::RabbitMq(_) => "rabbitmq",
            TransportKind::Sqs(_) => "sqs",
        };
        facts.push(fact("queue", format!("{} ({kind})", actor.queue())));
    }
    facts
}

/// Returns an object as a phrase: `Deployment vision/triton`.
pub(super) fn in_namespace(actor: &Actor, kind: &str, name: &str) -> String {
    let namespace = actor.namespace.as_deref().map_or_else(String::new, |namespace| format!("{namespace}/"));
    format!("{kind} {namespace}{name}")
}

/// Returns every value that is written, and every default that applies, section by section.
pub(super) fn fields(actor: &Actor, root: &Node<'_>) -> Vec<ResolvedField> {
    let effective = effective_values(actor);
    let spec = || AsyncActor::path().spec();
    let sections: [FieldPath; 11] = [
        AsyncActor::path().api_version().into(),
        AsyncActor::path().kind().into(),
        AsyncActor::path().metadata().into(),
        spec().transport().into(),
        spec().workload().into(),
        spec().workload_ref().into(),
        spec().runtime().into(),
        spec().strategy().into(),
        spec().sidecar().into(),
        spec().timeout().into(),
        spec().scaling().into(),
    ];
    let mut fields = Vec::new();
    for section in sections {
        let mut written = Vec::new();
        if let Some(node) = root.at(&section) {
            collect_leaves(node, &section, &mut written);
        }
        for (path, value) in &effective {
            if !path.starts_with(&section) {
                continue;
            }
            let own = written.iter().position(|(own, _)| own == path).map(|position| written.remove(position));
            // A 0 that stands for the default is a default.
            let is_written = own.is_some_and(|(_, own)| own == *value);
            let origin = if is_written { FieldOrigin::Written } else { FieldOrigin::Defaulted };
            fields.push(ResolvedField::new(path, value.to_string(), origin, root, ""));
        }
        fields.extend(
            written
                .into_iter()
                .map(|(path, value)| ResolvedField::new(&path, value.to_string(), FieldOrigin::Written, root, "")),
        );
    }
    fields
}

/// Returns the fields that have a value whether they are written or not.
fn effective_values(actor: &Actor) -> Vec<(FieldPath, Json)> {
    let spec = || AsyncActor::path().spec();
    let mut values: Vec<(FieldPath, Json)> = Vec::new();
    match &actor.mode {
        Mode::Standalone(workload) => {
            values.push((spec().workload().kind().into(), json!(workload.kind.as_str())));
            if actor.scaling.is_none() {
                values.push((spec().workload().replicas().into(), json!(workload.replicas)));
            }
            values.push((spec().workload().python_executable().into(), json!(workload.python)));
        }
        Mode::Binding(binding) => values.push((spec().strategy().into(), json!(binding.strategy.as_str()))),
    }
    values.push((spec().sidecar().image().into(), json!(actor.sidecar.image)));
    values.push((spec().sidecar().image_pull_policy().into(), json!(actor.sidecar.pull_policy.as_str())));
    values.push((spec().timeout().processing().into(), json!(actor.processing)));
    values.push((spec().timeout().graceful_shutdown().into(), json!(actor.graceful_shutdown)));
    values.push((spec().scaling().enabled().into(), json!(actor.scaling.is_some())));
    if let Some(scaling) = &actor.scaling {
        let Scaling { min_replicas, max_replicas, polling_interval, cooldown_period, queue_length, advanced: _ } =
            scaling;
        values.push((spec().scaling().min_replicas().into(), json!(min_replicas)));
        values.push((spec().scaling().max_replicas().into(), json!(max_replicas)));
        values.push((spec().scaling().polling_interval().into(), json!(polling_interval)));
        values.push((spec().scaling().cooldown_period().into(), json!(cooldown_period)));
        values.push((spec().scaling().queue_length().into(), json!(queue_length)));
    }
    values
}

/// Collects the values of a tree that are not empty, with their paths.
fn collect_leaves(node: &Node<'_>, path: &FieldPath, leaves: &mut Vec<(FieldPath, Json)>) {
    match &node.value {
        Value::Null => {}
        Value::Mapping(entries) => {
            for entry in entries {
                collect_leaves(&entry.node, &path.key(entry.key.clone().into_owned()), leaves);
            }
        }
        Value::Sequence(items) => {
            for (index, item) in items.iter().enumerate() {
                collect_leaves(item, &path.index(index), leaves);
            }
        }
        _ => leaves.push((path.clone(), node.to_json())),
    }
}
