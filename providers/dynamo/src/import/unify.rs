//! Brings a graph into one of the forms that Dynamo's operator treats alike, so that two graphs can be compared.

use serde_json::{Map, Value, json};

use crate::frontend::ROUTER_MODE;
use crate::settings::frontend::ROUTER_MODE_FLAG;
use kubefoundry_engines::{CommandLine, script_item};
use kubefoundry_provider::draft::{items_at, quantity_at, string_at};
use kubefoundry_provider::import_pod::PROBES;

/// The address at which a worker of vLLM offers its KV blocks.
const SIDE_CHANNEL_HOST: &str = "VLLM_NIXL_SIDE_CHANNEL_HOST";

/// Unifies the components of a graph.
pub(crate) fn unify(graph: &mut Value) {
    distribute_environment(graph);
    let Some(spec) = graph.get_mut("spec").and_then(Value::as_object_mut) else { return };
    // A claim that exists anyway is not created. The operator needs the entry only for a compilation cache.
    let services = spec.get("services").and_then(Value::as_object);
    let mounts = services.into_iter().flatten().flat_map(|(_, service)| items_at(service, "/volumeMounts"));
    let caches: Vec<Value> =
        mounts.filter(|mount| is_cache(mount)).filter_map(|mount| mount.get("name").cloned()).collect();
    if let Some(claims) = spec.get_mut("pvcs").and_then(Value::as_array_mut) {
        claims.retain(|claim| {
            claim.get("create") != Some(&Value::Bool(false))
                || claim.get("name").is_some_and(|name| caches.contains(name))
        });
    }
    for service in spec.get_mut("services").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut) {
        unify_service(service);
    }
    for component in spec.get_mut("components").and_then(Value::as_array_mut).into_iter().flatten() {
        unify_component(component);
    }
}

/// Moves the variables of a graph to its components, which have others of the same name instead
/// (internal/dynamo/graph.go).
pub(crate) fn distribute_environment(graph: &mut Value) {
    let Some(spec) = graph.get_mut("spec").and_then(Value::as_object_mut) else { return };
    let shared: Vec<Value> =
        ["envs", "env"].into_iter().filter_map(|field| spec.shift_remove(field)).flat_map(into_items).collect();
    if shared.is_empty() {
        return;
    }
    for service in spec.get_mut("services").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut) {
        prepend_variables(service, "envs", &shared);
    }
    for component in spec.get_mut("components").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(pod) = entry(component, "podTemplate").and_then(|template| entry(template, "spec")) else { continue };
        if !items_at(pod, "/containers").iter().any(|container| string_at(container, "/name") == Some("main")) {
            push(pod, "containers", json!({"name": "main"}));
        }
        let containers = pod.get_mut("containers").and_then(Value::as_array_mut).into_iter().flatten();
        for container in containers.filter(|container| string_at(container, "/name") == Some("main")) {
            prepend_variables(container, "env", &shared);
        }
    }
}

fn into_items(value: Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items,
        _ => Vec::new(),
    }
}

/// Adds variables before those of the same list, unless it has one of the same name.
fn prepend_variables(owner: &mut Value, list: &str, shared: &[Value]) {
    let own = items_at(owner, &format!("/{list}")).to_vec();
    let is_own = |variable: &&Value| own.iter().any(|other| other.get("name") == variable.get("name"));
    let all: Vec<Value> = shared.iter().filter(|variable| !is_own(variable)).chain(&own).cloned().collect();
    if let Some(fields) = owner.as_object_mut() {
        fields.insert(list.to_owned(), Value::Array(all));
    }
}

/// Unifies a component of `v1alpha1`: the operator merges its fields into those of the container (internal/dynamo/graph.go).
fn unify_service(service: &mut Value) {
    move_claims(service);
    if let Some(size) = take_shared_memory(service, "/extraPodSpec", "/extraPodSpec/mainContainer")
        && service.pointer("/sharedMemory/size").is_none()
    {
        service["sharedMemory"] = json!({"size": size});
    }
    let container = service.pointer("/extraPodSpec/mainContainer");
    let is_frontend = string_at(service, "/componentType") == Some("frontend") || container.is_some_and(runs_frontend);
    merge_container(service, is_frontend);
    if is_frontend {
        move_router_mode(service, "/extraPodSpec/mainContainer", "", "envs");
    }
    remove_own_address(service, "/envs");
}

/// Moves the variables and probes of a component's container to the component.
fn merge_container(service: &mut Value, is_frontend: bool) {
    let Some(container) = service.pointer_mut("/extraPodSpec/mainContainer").and_then(Value::as_object_mut) else {
        return;
    };
    if is_frontend {
        remove_unused_directory(container);
    }
    let env = container.shift_remove("env");
    let probes: Vec<(&str, Value)> =
        PROBES.iter().filter_map(|(_, field)| Some((*field, container.shift_remove(*field)?))).collect();
    let Some(service) = service.as_object_mut() else { return };
    for (name, probe) in probes {
        service.entry(name).or_insert(probe);
    }
    if let Some(Value::Array(env)) = env {
        let all = service.entry("envs").or_insert_with(|| json!([]));
        let Some(all) = all.as_array_mut() else { return };
        all.retain(|variable| !env.iter().any(|other| other.get("name") == variable.get("name")));
        all.extend(env);
    }
}

/// Unifies a component of `v1beta1`.
fn unify_component(component: &mut Value) {
    let containers = items_at(component, "/podTemplate/spec/containers");
    let Some(position) = containers.iter().position(|container| string_at(container, "/name") == Some("main")) else {
        return;
    };
    let pointer = format!("/podTemplate/spec/containers/{position}");
    if let Some(size) = take_shared_memory(component, "/podTemplate/spec", &pointer)
        && component.get("sharedMemorySize").is_none()
    {
        component["sharedMemorySize"] = json!(size);
    }
    remove_own_address(component, &format!("{pointer}/env"));
    if string_at(component, "/type") == Some("frontend") {
        move_router_mode(component, &pointer, &pointer, "env");
        if let Some(container) = component.pointer_mut(&pointer).and_then(Value::as_object_mut) {
            remove_unused_directory(container);
        }
    }
}

/// Returns whether a container runs the frontend, whatever the type of its component is.
fn runs_frontend(container: &Value) -> bool {
    CommandLine::read(container).is_ok_and(|line| line.program.iter().any(|word| word == "dynamo.frontend"))
}

/// Writes the command of a script, if it does nothing else, as a command without a shell.
fn write_plain_command(container: &mut Map<String, Value>) {
    let command = Value::Object(container.clone());
    if script_item(&command).is_none() {
        return;
    }
    if let Ok(line) = CommandLine::read(&command)
        && line.left_out.is_empty()
        && line.assignments.is_empty()
    {
        container.insert("args".to_owned(), json!(line.texts()));
        container.insert("command".to_owned(), json!(line.program));
    }
}

/// Makes the router mode of a frontend a variable, as which it is rendered. The flag wins over the variable
/// (components/src/dynamo/frontend/frontend_args.py). `owner` has the variables in `list`.
fn move_router_mode(frontend: &mut Value, container: &str, owner: &str, list: &str) {
    let Some(fields) = frontend.pointer_mut(container).and_then(Value::as_object_mut) else { return };
    write_plain_command(fields);
    let Some(args) = fields.get_mut("args").and_then(Value::as_array_mut) else { return };
    let text = |word: &Value| word.as_str().map(str::to_owned);
    let flag = format!("--{ROUTER_MODE_FLAG}");
    let Some(position) = args.iter().position(|word| {
        word.as_str()
            .is_some_and(|word| word == flag || word.strip_prefix(&flag).is_some_and(|rest| rest.starts_with('=')))
    }) else {
        return;
    };
    let joined = args.get(position).and_then(text).and_then(|word| Some(word.split_once('=')?.1.to_owned()));
    let length = if joined.is_some() { 1 } else { 2 };
    let Some(mode) = joined.or_else(|| args.get(position + 1).and_then(text)) else { return };
    args.drain(position..position + length);
    if args.is_empty() {
        fields.shift_remove("args");
    }
    if let Some(owner) = frontend.pointer_mut(owner).and_then(Value::as_object_mut) {
        let all = owner.entry(list).or_insert_with(|| json!([]));
        if let Some(all) = all.as_array_mut() {
            all.retain(|variable| string_at(variable, "/name") != Some(ROUTER_MODE));
            all.push(json!({"name": ROUTER_MODE, "value": mode}));
        }
    }
}

/// Removes the working directory of a frontend that runs the operator's command.
fn remove_unused_directory(container: &mut Map<String, Value>) {
    let is_empty = |field: &str| container.get(field).and_then(Value::as_array).is_none_or(Vec::is_empty);
    if is_empty("command") && is_empty("args") {
        container.shift_remove("workingDir");
    }
}

/// Takes a volume in memory at `/dev/shm`, which the field for shared memory gives as well, and returns its size.
fn take_shared_memory(component: &mut Value, pod: &str, container: &str) -> Option<String> {
    let mounts = items_at(component, &format!("{container}/volumeMounts"));
    let is_at =
        |mount: &&Value| string_at(mount, "/mountPath").is_some_and(|path| path.trim_end_matches('/') == "/dev/shm");
    let name = mounts.iter().find(is_at).and_then(|mount| string_at(mount, "/name"))?.to_owned();
    let volumes = items_at(component, &format!("{pod}/volumes"));
    let volume = volumes.iter().find(|volume| string_at(volume, "/name") == Some(name.as_str()))?;
    let size = quantity_at(volume, "/emptyDir/sizeLimit")
        .filter(|_| string_at(volume, "/emptyDir/medium") == Some("Memory"))?;
    for list in [format!("{container}/volumeMounts"), format!("{pod}/volumes")] {
        if let Some(items) = component.pointer_mut(&list).and_then(Value::as_array_mut) {
            items.retain(|item| string_at(item, "/name") != Some(name.as_str()));
        }
    }
    Some(size)
}

/// Moves the claims that a component of `v1alpha1` mounts by its own fields to its pod.
fn move_claims(service: &mut Value) {
    let mounts: Vec<Value> =
        items_at(service, "/volumeMounts").iter().filter(|mount| !is_cache(mount)).cloned().collect();
    if mounts.is_empty() {
        return;
    }
    if let Some(own) = service.get_mut("volumeMounts").and_then(Value::as_array_mut) {
        own.retain(is_cache);
    }
    for mount in mounts {
        let (Some(name), Some(path)) = (string_at(&mount, "/name"), string_at(&mount, "/mountPoint")) else { continue };
        let Some(pod) = entry(service, "extraPodSpec") else { return };
        push(pod, "volumes", json!({"name": name, "persistentVolumeClaim": {"claimName": name}}));
        let Some(container) = entry(pod, "mainContainer") else { return };
        push(container, "volumeMounts", json!({"name": name, "mountPath": path}));
    }
}

/// Returns whether a mount is one of a compilation cache.
fn is_cache(mount: &Value) -> bool {
    mount.get("useAsCompilationCache") == Some(&Value::Bool(true))
}

/// Removes the address of the side channel of NIXL if it is the address of the pod, which the worker sets by itself
/// (`ensure_side_channel_host` in components/src/dynamo/vllm/args.py).
fn remove_own_address(component: &mut Value, list: &str) {
    let is_own = |variable: &Value| {
        string_at(variable, "/name") == Some(SIDE_CHANNEL_HOST)
            && string_at(variable, "/valueFrom/fieldRef/fieldPath") == Some("status.podIP")
    };
    if let Some(env) = component.pointer_mut(list).and_then(Value::as_array_mut) {
        env.retain(|variable| !is_own(variable));
    }
}

/// Returns a field, and adds it as an empty mapping if it is absent.
fn entry<'v>(value: &'v mut Value, field: &str) -> Option<&'v mut Value> {
    Some(value.as_object_mut()?.entry(field).or_insert_with(|| json!({})))
}

fn push(value: &mut Value, field: &str, item: Value) {
    let Some(fields) = value.as_object_mut() else { return };
    if let Some(items) = fields.entry(field).or_insert_with(|| json!([])).as_array_mut() {
        items.push(item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_of_a_component_are_unified() {
        let mut graph = json!({"spec": {
            "pvcs": [{"name": "a", "create": false}, {"name": "b", "create": true}, {"name": "c", "create": false}],
            "services": {"w": {
                "componentType": "worker",
                "envs": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                "volumeMounts": [{"name": "a", "mountPoint": "/a"}, {"name": "c", "useAsCompilationCache": true}],
                "extraPodSpec": {
                    "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}}],
                    "mainContainer": {
                        "env": [
                            {"name": "A", "value": "3"},
                            {"name": SIDE_CHANNEL_HOST, "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
                        ],
                        "livenessProbe": {"periodSeconds": 1},
                        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm/"}],
                    },
                },
            }},
        }});
        unify(&mut graph);
        assert_eq!(
            graph,
            json!({"spec": {
                "pvcs": [{"name": "b", "create": true}, {"name": "c", "create": false}],
                "services": {"w": {
                    "componentType": "worker",
                    "envs": [{"name": "B", "value": "2"}, {"name": "A", "value": "3"}],
                    "volumeMounts": [{"name": "c", "useAsCompilationCache": true}],
                    "extraPodSpec": {
                        "volumes": [{"name": "a", "persistentVolumeClaim": {"claimName": "a"}}],
                        "mainContainer": {"volumeMounts": [{"name": "a", "mountPath": "/a"}]},
                    },
                    "sharedMemory": {"size": "8Gi"},
                    "livenessProbe": {"periodSeconds": 1},
                }},
            }})
        );
    }

    #[test]
    fn a_frontend_without_a_command_runs_in_any_directory() {
        let component = |kind: &str, args: &[&str]| {
            json!({"spec": {"components": [{"type": kind, "podTemplate": {"spec": {"containers": [
                {"name": "main", "workingDir": "/w", "args": args},
            ]}}}]}})
        };
        let has_directory = |mut graph: Value| {
            unify(&mut graph);
            graph.pointer("/spec/components/0/podTemplate/spec/containers/0/workingDir").is_some()
        };
        assert!(!has_directory(component("frontend", &[])));
        assert!(has_directory(component("frontend", &["--x"])));
        assert!(has_directory(component("worker", &[])));
    }
}
