//! Validation of standalone mode: the workload of the actor.

use crate::wire::AsyncActor;
use serde_json::Map;

use crate::codes::{
    FIELD_REPLACED, HANDLER_MISSING, RESERVED_CONTAINER, RESERVED_NAME, RUNTIME_COMMAND, RUNTIME_CONTAINER,
};
use crate::ir::Workload;
use crate::pod::{Volumes, own_labels};
use crate::wire::{ActorTimeout, ActorWorkload, ActorWorkloadKind};
use crate::{END_ACTORS, RUNTIME, RUNTIME_SCRIPT, RUNTIME_SCRIPT_PATH, SIDECAR, SOCKET_DIR};
use kubefoundry_diagnostics::FieldRef;
use kubefoundry_kubernetes::check::{Checker, non_empty};
use kubefoundry_kubernetes::names;
use kubefoundry_transform::codes;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::shorten;
use kubefoundry_yaml::{Node, Value};

pub(super) fn workload(
    wire: &ActorWorkload,
    actor: &str,
    scales: bool,
    timeout: Option<&ActorTimeout>,
    check: &mut Checker<'_, '_>,
) -> Option<Workload> {
    let path = FieldPath::from(AsyncActor::path().spec().workload());
    let kind = wire.kind.unwrap_or(ActorWorkloadKind::Deployment);
    let replicas = wire.replicas.unwrap_or(1);
    if scales && wire.replicas.is_some() {
        let at = path.key("replicas");
        let message = format!("{at} has no effect while scaling is enabled: KEDA sets the replicas");
        check.findings.report(&FIELD_REPLACED, FieldRef::key(&at), message).help("remove it");
    }
    let python = non_empty(wire.python_executable.as_deref()).unwrap_or("python3").to_owned();
    check.check_single_line(&path.key("pythonExecutable"), &python);
    let at = path.key("template");
    let template = wire.template.clone()?;
    if let Some(metadata) = &template.metadata {
        labels(metadata, actor, kind, &at.key("metadata"), check);
    }
    if kind == ActorWorkloadKind::StatefulSet && names::dns_1123_label(actor).is_err() {
        let message = format!(
            "metadata.name is {actor:?}, expected a name without '.': it becomes a part of the names of the pods' hosts"
        );
        check.findings.report(&codes::INVALID_NAME, AsyncActor::path().metadata().name(), message);
    }
    let at = at.key("spec");
    let Some(spec) = &template.spec else {
        check.report_missing(&at);
        return None;
    };
    if !is_mapping(spec, &at, check) {
        return None;
    }
    containers(spec, actor, &at, check);
    pods(spec, &at, check);
    volumes(spec, &at, check);
    grace_period(spec, timeout, &at, check);
    let object = |node: Option<&Node<'_>>| match node.map(Node::to_json) {
        Some(serde_json::Value::Object(object)) => object,
        _ => Map::new(),
    };
    Some(Workload { kind, replicas, python, metadata: object(template.metadata.as_ref()), spec: object(Some(spec)) })
}

/// Reports containers that the upstream operator rejects, in its order and with its messages.
fn containers(spec: &Node<'_>, actor: &str, path: &FieldPath, check: &mut Checker<'_, '_>) {
    let containers = list(spec, "containers", path, check);
    for (index, _) in containers.iter().enumerate().filter(|(_, container)| is_named(container, SIDECAR)) {
        let message = format!(
            "container name '{SIDECAR}' is reserved for the injected sidecar and cannot be defined in the AsyncActor spec"
        );
        let at = path.key("containers").index(index).key("name");
        check.findings.report(&RESERVED_CONTAINER, &at, message).help("give the container another name");
    }
    let init = list(spec, "initContainers", path, check);
    for (index, _) in init.iter().enumerate().filter(|(_, container)| is_named(container, SIDECAR)) {
        let message = format!(
            "init container name '{SIDECAR}' is reserved for operator use and cannot be defined in the AsyncActor spec"
        );
        let at = path.key("initContainers").index(index).key("name");
        check.findings.report(&RESERVED_CONTAINER, &at, message).help("give the init container another name");
    }
    let mut number = 0;
    for (index, container) in containers.iter().enumerate().filter(|(_, container)| is_named(container, RUNTIME)) {
        let at = path.key("containers").index(index);
        number += 1;
        if container.get("command").is_some_and(has_command) {
            let message = format!("container '{RUNTIME}' cannot override command (command is managed by operator)");
            let place = FieldRef::key(&at.key("command"));
            check.findings.report(&RUNTIME_COMMAND, place, message).help("remove it: ASYA_HANDLER names the handler");
        }
        mounts_and_environment(container, actor, &at, check);
        report_missing_handler(container, &at, check);
    }
    if number != 1 {
        let message = format!("workload must contain exactly one container named '{RUNTIME}', but found {number}");
        let place = FieldRef::key(&path.key("containers"));
        check
            .findings
            .report(&RUNTIME_CONTAINER, place, message)
            .help(format!("give the container that runs the handler the name {RUNTIME}"));
    }
}

/// Reports what the API server refuses in the pods of a Deployment or StatefulSet, apart from fields and types. Those are
/// checked against the schema of pods.
fn pods(spec: &Node<'_>, path: &FieldPath, check: &mut Checker<'_, '_>) {
    let text = |node: &Node<'_>, key: &str| node.get(key).and_then(Node::as_str).unwrap_or_default().to_owned();
    let at = path.key("restartPolicy");
    let policy = text(spec, "restartPolicy");
    if !matches!(policy.as_str(), "" | "Always") {
        let message =
            format!("{at} is {:?}, expected Always, the only policy of Deployments and StatefulSets", shorten(&policy));
        check.findings.report(&codes::INVALID_VALUE, &at, message).help("remove it");
    }
    let mut names = Vec::new();
    for field in ["initContainers", "containers"] {
        for (index, container) in spec.get(field).map(Node::items).unwrap_or_default().iter().enumerate() {
            let at = path.key(field).index(index);
            for key in ["name", "image"] {
                if check.is_absent_or_empty(&at.key(key)) && matches!(container.value, Value::Mapping(_)) {
                    check.report_missing(&at.key(key));
                }
            }
            let name = text(container, "name");
            // Containers of these names have errors of their own.
            if !matches!(name.as_str(), "" | RUNTIME | SIDECAR) && names.contains(&name) {
                let at = at.key("name");
                let message = format!("{at} is {:?}, which an earlier container already has", shorten(&name));
                check.findings.report(&codes::DUPLICATE_ENTRY, &at, message).help("give the container another name");
            }
            names.push(name);
        }
    }
}

/// Returns whether a command is set. An empty list is not a command. A value of a wrong type counts as one, because it
/// would be replaced too.
fn has_command(command: &Node<'_>) -> bool {
    command.value != Value::Null && !matches!(&command.value, Value::Sequence(items) if items.is_empty())
}

/// Reports mounts and variables of the runtime container that collide with the added ones.
fn mounts_and_environment(container: &Node<'_>, actor: &str, path: &FieldPath, check: &mut Checker<'_, '_>) {
    for (index, mount) in container.get("volumeMounts").map(Node::items).unwrap_or_default().iter().enumerate() {
        let Some(mounted) = mount.get("mountPath").and_then(Node::as_str) else { continue };
        if [SOCKET_DIR, "/tmp", RUNTIME_SCRIPT_PATH].contains(&mounted.trim_end_matches('/')) {
            let at = path.key("volumeMounts").index(index).key("mountPath");
            reserved(&at, mounted, "where kubefoundry mounts another volume", check);
        }
    }
    let mut own = vec![("ASYA_SOCKET_DIR", SOCKET_DIR)];
    if END_ACTORS.contains(&actor) {
        own.push(("ASYA_ENABLE_VALIDATION", "false"));
    }
    for (index, variable) in container.get("env").map(Node::items).unwrap_or_default().iter().enumerate() {
        let name = variable.get("name").and_then(Node::as_str);
        let Some((name, value)) = own.iter().find(|(own, _)| name == Some(own)) else { continue };
        if variable.get("value").and_then(Node::as_str) != Some(value) {
            let at = path.key("env").index(index);
            let message = format!("{at} has no effect: kubefoundry sets {name} to {value}");
            check.findings.report(&FIELD_REPLACED, &at, message).help("remove it");
        }
    }
}

/// Reports a runtime container that nothing tells its handler. An image may do so, too, but none of Asya's does.
fn report_missing_handler(container: &Node<'_>, path: &FieldPath, check: &mut Checker<'_, '_>) {
    let env = container.get("env").map(Node::items).unwrap_or_default();
    let from = container.get("envFrom").map(Node::items).unwrap_or_default();
    if from.is_empty() && !env.iter().any(|variable| is_named(variable, "ASYA_HANDLER")) {
        let message = format!("{path} has no variable ASYA_HANDLER, without which {RUNTIME_SCRIPT} ends at once");
        check
            .findings
            .report(&HANDLER_MISSING, path, message)
            .help("add it to env, with the module and the function as its value: module.function");
    }
}

fn volumes(spec: &Node<'_>, path: &FieldPath, check: &mut Checker<'_, '_>) {
    let own = Volumes::default();
    for (index, volume) in list(spec, "volumes", path, check).iter().enumerate() {
        if let Some(name) = volume.get("name").and_then(Node::as_str).filter(|name| own.names().contains(name)) {
            let at = path.key("volumes").index(index).key("name");
            reserved(&at, name, "the name of a volume that kubefoundry adds", check);
        }
    }
}

fn labels(metadata: &Node<'_>, actor: &str, kind: ActorWorkloadKind, path: &FieldPath, check: &mut Checker<'_, '_>) {
    if !is_mapping(metadata, path, check) {
        return;
    }
    for field in ["labels", "annotations"] {
        texts(metadata.get(field), field == "labels", &path.key(field), check);
    }
    let Some(labels) = metadata.get("labels").filter(|labels| labels.value != Value::Null) else { return };
    let path = path.key("labels");
    if !is_mapping(labels, &path, check) {
        return;
    }
    for (key, own) in own_labels(actor, &kind.as_str().to_ascii_lowercase()) {
        let declared = labels.get(key);
        if declared.is_some_and(|declared| declared.as_str() != Some(own.as_str())) {
            let at = path.key(key);
            let message = format!("{at} is not {own:?}, the value that selects the pods");
            check.findings.report(&RESERVED_NAME, FieldRef::key(&at), message).help("remove it");
        }
    }
}

/// Checks labels or annotations. YAML reads values such as 1.10 and true as numbers and booleans, and changes them.
fn texts(node: Option<&Node<'_>>, is_labels: bool, path: &FieldPath, check: &mut Checker<'_, '_>) {
    let mut entries = Vec::new();
    for entry in node.map(Node::entries).unwrap_or_default() {
        let at = path.key(entry.key.clone().into_owned());
        match entry.node.as_str() {
            Some(text) => entries.push((entry.key.clone().into_owned(), text.to_owned())),
            None if entry.node.value == Value::Null => {}
            None => {
                let message = format!("{at} is {}, expected a string", entry.node.describe());
                check.findings.report(&codes::WRONG_TYPE, &at, message).help("quote it");
            }
        }
    }
    if is_labels {
        check.check_labels(path, &entries);
    } else {
        check.check_annotations(path, &entries);
    }
}

fn grace_period(spec: &Node<'_>, timeout: Option<&ActorTimeout>, path: &FieldPath, check: &mut Checker<'_, '_>) {
    let counts = timeout.and_then(|timeout| timeout.graceful_shutdown).unwrap_or(30);
    let declared = spec.get("terminationGracePeriodSeconds").map(|node| &node.value);
    if declared.is_some_and(|declared| *declared != Value::Null && *declared != Value::Integer(counts.into())) {
        let at = path.key("terminationGracePeriodSeconds");
        let message = format!("{at} has no effect: spec.timeout.gracefulShutdown is {counts} seconds");
        check.findings.report(&FIELD_REPLACED, FieldRef::key(&at), message).help(
            "remove it, and set \
                                                                                  spec.timeout.gracefulShutdown",
        );
    }
}

fn reserved(path: &FieldPath, value: &str, why: &str, check: &mut Checker<'_, '_>) {
    let message = format!("{path} is {value}, {why}");
    check.findings.report(&RESERVED_NAME, path, message).help("change or remove it");
}

fn is_named(container: &Node<'_>, name: &str) -> bool {
    container.get("name").and_then(Node::as_str) == Some(name)
}

/// Returns a list in the pod spec, and reports a value that is not a list of mappings.
fn list<'n>(spec: &'n Node<'_>, field: &'static str, path: &FieldPath, check: &mut Checker<'_, '_>) -> &'n [Node<'n>] {
    let Some(node) = spec.get(field).filter(|node| node.value != Value::Null) else { return &[] };
    if !matches!(node.value, Value::Sequence(_)) {
        let at = path.key(field);
        let message = format!("{at} is {}, expected a list", node.describe());
        check.findings.report(&codes::WRONG_TYPE, &at, message);
    }
    for (index, item) in node.items().iter().enumerate() {
        is_mapping(item, &path.key(field).index(index), check);
    }
    node.items()
}

fn is_mapping(node: &Node<'_>, path: &FieldPath, check: &mut Checker<'_, '_>) -> bool {
    let is = matches!(node.value, Value::Mapping(_));
    if !is {
        let message = format!("{path} is {}, expected a mapping", node.describe());
        check.findings.report(&codes::WRONG_TYPE, path, message);
    }
    is
}
