//! Compares an object with its rendering leaf by leaf, and finds the differences that no finding says.
//!
//! This is written independently of `kubefoundry_convert::import::compare`, which decides what `import` reports: flags
//! are read with the tables of the engines, as their argument parsers read them.

use std::collections::BTreeMap;

use kubefoundry_composition::PROVIDERS;
use kubefoundry_convert::import::Residue;
use kubefoundry_engines::flags::{self, FlagKind, FlagTable, Repetition, Spelling};
use kubefoundry_engines::{CommandLine, expand_variables, script_item};
use kubefoundry_kubernetes::api_group::API_GROUPS;
use kubefoundry_provider::draft::{items_at, required_node_labels, string_at};
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::field_path::FieldPath;
use serde_json::{Map, Value, json};

/// Flags with the value that their program has without them.
const DEFAULT_FLAGS: &[(&str, &str)] = &[
    ("tensor-parallel-size", "1"),
    ("pipeline-parallel-size", "1"),
    ("data-parallel-size", "1"),
    ("tp-size", "1"),
    ("pp-size", "1"),
    ("dp-size", "1"),
    ("disaggregation-mode", "agg"),
    ("http-port", "8000"),
    ("http-host", "0.0.0.0"),
];
/// Flags with the name that newer releases give them, and which mean the same there.
const RENAMED_FLAGS: &[(&str, &str)] = &[("publish-events-and-metrics", "publish-kv-events")];
/// The keys that identify the items of lists, as the schemas of Kubernetes and Ray say.
const ITEM_KEYS: [&str; 4] = ["mountPath", "name", "containerPort", "groupName"];

/// Returns the differences that no entry of the residue and no message says.
pub(super) fn unsaid(
    original: &Value,
    rendered: &Value,
    objects: &[Value],
    residue: &[&Residue],
    messages: &[&str],
) -> Vec<String> {
    let mut original = original.clone();
    resolve(&mut original, &BTreeMap::new(), objects);
    let original = &original;
    let config_maps = objects.iter().filter(|object| string_at(object, "/kind") == Some("ConfigMap"));
    let texts = config_maps.filter_map(|object| object.get("data")?.as_object()).flat_map(Map::values);
    let files = texts.filter_map(|text| mapping(text.as_str()?)?.as_object().cloned()).collect();
    let kind = string_at(original, "/kind").unwrap_or_default();
    let mut walk = Walk { kind, files, differences: Vec::new() };
    walk.values(&FieldPath::root(), &graph_form(user_fields(original)), &graph_form(user_fields(rendered)));
    let said = |difference: &Difference| {
        residue.iter().any(|entry| covers(entry, difference))
            || difference.flag.as_deref().is_some_and(|flag| messages.iter().any(|message| message.contains(flag)))
            || difference.values.as_ref().is_some_and(|(one, other)| {
                // A value in another form, which a finding names with both.
                messages.iter().any(|message| message.contains(one) && message.contains(other))
            })
    };
    walk.differences.into_iter().filter(|difference| !said(difference)).map(|difference| difference.text).collect()
}

/// Replaces the references to variables in command lines by values that the object or a ConfigMap states.
fn resolve(value: &mut Value, inherited: &BTreeMap<String, String>, objects: &[Value]) {
    match value {
        Value::Object(_) => {
            let mut variables = inherited.clone();
            let own = items_at(value, "/envs").iter().chain(items_at(value, "/env"));
            for variable in own {
                let name = string_at(variable, "/name").unwrap_or_default().to_owned();
                let config_map = string_at(variable, "/valueFrom/configMapKeyRef/name").and_then(|name| {
                    objects.iter().find(|object| {
                        string_at(object, "/kind") == Some("ConfigMap")
                            && string_at(object, "/metadata/name") == Some(name)
                    })
                });
                let key = string_at(variable, "/valueFrom/configMapKeyRef/key").unwrap_or_default();
                let value = string_at(variable, "/value").or_else(|| config_map?.get("data")?.get(key)?.as_str());
                match value.filter(|value| !value.contains("$(")) {
                    Some(value) => drop(variables.insert(name, value.to_owned())),
                    None => drop(variables.remove(&name)),
                }
            }
            let script = script_item(value);
            let Some(fields) = value.as_object_mut() else { return };
            for (key, field) in fields {
                if !matches!(key.as_str(), "command" | "args") {
                    resolve(field, &variables, objects);
                    continue;
                }
                for (index, word) in field.as_array_mut().into_iter().flatten().enumerate() {
                    let Some(text) = word.as_str() else { continue };
                    let mut text = text.to_owned();
                    for (name, value) in &variables {
                        text = text.replace(&format!("$({name})"), value);
                    }
                    if script == Some((key.as_str(), index)) {
                        text = expand_variables(&text, |name| variables.get(name).cloned());
                    }
                    *word = json!(text);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| resolve(item, inherited, objects)),
        _ => {}
    }
}

struct Difference {
    path: String,
    /// The flag that differs, if the difference is one of command lines.
    flag: Option<String>,
    /// Both values as JSON, if both are texts.
    values: Option<(String, String)>,
    text: String,
}

/// Returns whether an entry of the residue is at the path of a difference, above it or below it.
fn covers(entry: &Residue, difference: &Difference) -> bool {
    let is_prefix = |above: &str, below: &str| {
        below.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    let (entry_path, path) = (common_path(&entry.path), common_path(&difference.path));
    let text = format!("{:?} {:?}", entry.given, entry.rendered);
    let is_there = is_prefix(&entry_path, &path) || is_prefix(&path, &entry_path);
    if let Some(flag) = &difference.flag {
        let says_flag = text.replace('_', "-").contains(flag.as_str());
        let is_whole = !entry_path.contains(".args[") && !text.contains("--");
        return is_prefix(&path, &entry_path) && (says_flag || is_whole) || is_prefix(&entry_path, &path);
    }
    // The position of a variable depends on how the lists of variables are merged.
    let variables = |path: &str| path.find(".envs").map(|position| path[..position].to_owned());
    match (variables(&path), variables(&entry_path)) {
        (Some(one), Some(other)) => {
            one == other && (is_there || names(&difference.text).iter().all(|name| text.contains(name)))
        }
        // The residue has the flag that was compared as a variable.
        (Some(one), None) if entry_path.starts_with(&one) && text.contains("--router-mode") => {
            names(&difference.text) == ["DYN_ROUTER_MODE"]
        }
        _ => is_there,
    }
}

/// Returns the names of the variables in the text of a difference.
fn names(text: &str) -> Vec<String> {
    text.split("\"name\":\"").skip(1).filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())).collect()
}

/// Returns a path with the fields of a component's container where the older CRD version has them.
fn common_path(path: &str) -> String {
    let mut path = path.replace(".extraPodSpec.mainContainer.env", ".envs");
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        path = path.replace(&format!(".extraPodSpec.mainContainer.{probe}"), &format!(".{probe}"));
    }
    path
}

/// Returns an object without what servers write.
fn user_fields(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.shift_remove("status");
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|key, _| matches!(key.as_str(), "name" | "namespace" | "labels" | "annotations"));
    }
    object
}

/// Returns a graph with the fields of components where the newer CRD version has them: variables, probes and claims in the
/// container, shared memory in its own field, and the router mode of the frontend as a variable.
fn graph_form(mut object: Value) -> Value {
    if string_at(&object, "/kind") != Some("DynamoGraphDeployment") {
        return object;
    }
    if let Some(claims) = object.pointer_mut("/spec/pvcs").and_then(Value::as_array_mut) {
        claims.retain(|claim| claim.get("create") != Some(&json!(false)));
    }
    let shared: Vec<Value> = ["envs", "env"]
        .into_iter()
        .filter_map(|field| object.get_mut("spec")?.as_object_mut()?.shift_remove(field))
        .flat_map(|list| list.as_array().cloned().unwrap_or_default())
        .collect();
    if let Some(services) = object.pointer_mut("/spec/services").and_then(Value::as_object_mut) {
        for (_, service) in services.iter_mut() {
            if !shared.is_empty() {
                let own = service.get("envs").and_then(Value::as_array).cloned().unwrap_or_default();
                *at(service, "envs") = json!([shared.clone(), own].concat());
            }
            let own: Vec<(&str, Value)> = ["envs", "livenessProbe", "readinessProbe", "startupProbe", "volumeMounts"]
                .into_iter()
                .filter_map(|field| Some((field, service.as_object_mut()?.shift_remove(field)?)))
                .collect();
            for (field, value) in own {
                match field {
                    "envs" => {
                        let env = at(at(at(service, "extraPodSpec"), "mainContainer"), "env");
                        let inner = env.as_array().cloned().unwrap_or_default();
                        *env = json!([value.as_array().cloned().unwrap_or_default(), inner].concat());
                    }
                    "volumeMounts" => {
                        for mount in value.as_array().into_iter().flatten() {
                            if mount.get("useAsCompilationCache") == Some(&json!(true)) {
                                append(at(service, "volumeMounts"), mount.clone());
                                continue;
                            }
                            let pod = at(service, "extraPodSpec");
                            let (name, path) = (mount.get("name"), mount.get("mountPoint"));
                            let claim = json!({"name": name, "persistentVolumeClaim": {"claimName": name}});
                            append(at(pod, "volumes"), claim);
                            append(
                                at(at(pod, "mainContainer"), "volumeMounts"),
                                json!({"name": name, "mountPath": path}),
                            );
                        }
                    }
                    probe => *at(at(at(service, "extraPodSpec"), "mainContainer"), probe) = value,
                }
            }
            let size = take_memory_volume(at(service, "extraPodSpec"), "/mainContainer");
            if let Some(size) = size {
                *at(service, "sharedMemory") = json!({"size": size});
            }
            let is_frontend = string_at(service, "/componentType") == Some("frontend");
            let container = at(at(service, "extraPodSpec"), "mainContainer");
            set_router_mode(container);
            remove_own_address(container);
            remove_unused_directory(container, is_frontend);
        }
    }
    for component in object.pointer_mut("/spec/components").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(size) =
            component.pointer_mut("/podTemplate/spec").and_then(|pod| take_memory_volume(pod, "/containers/0"))
        {
            *at(component, "sharedMemorySize") = json!(size);
        }
        let is_frontend = string_at(component, "/type") == Some("frontend");
        if !shared.is_empty() {
            let containers = at(at(at(component, "podTemplate"), "spec"), "containers");
            if !containers.is_array() {
                *containers = json!([{"name": "main"}]);
            }
            let container = &mut containers[0];
            let own = container.get("env").and_then(Value::as_array).cloned().unwrap_or_default();
            *at(container, "env") = json!([shared.clone(), own].concat());
        }
        if let Some(container) = component.pointer_mut("/podTemplate/spec/containers/0") {
            set_router_mode(container);
            remove_own_address(container);
            remove_unused_directory(container, is_frontend);
        }
    }
    object
}

/// Removes the address of the pod that a worker of vLLM sets by itself.
fn remove_own_address(container: &mut Value) {
    if let Some(env) = container.get_mut("env").and_then(Value::as_array_mut) {
        env.retain(|variable| {
            string_at(variable, "/name") != Some("VLLM_NIXL_SIDE_CHANNEL_HOST")
                || string_at(variable, "/valueFrom/fieldRef/fieldPath") != Some("status.podIP")
        });
    }
}

/// Returns a field, and adds it if it is absent.
fn at<'v>(value: &'v mut Value, field: &str) -> &'v mut Value {
    &mut value[field]
}

fn append(list: &mut Value, item: Value) {
    match list.as_array_mut() {
        Some(items) => items.push(item),
        None => *list = json!([item]),
    }
}

/// Removes a volume in memory at `/dev/shm` and returns its size.
fn take_memory_volume(pod: &mut Value, container: &str) -> Option<Value> {
    let mounts = items_at(pod, &format!("{container}/volumeMounts")).iter();
    let mut names = mounts
        .filter(|mount| string_at(mount, "/mountPath").is_some_and(|path| path.trim_end_matches('/') == "/dev/shm"));
    let name = names.next()?.get("name")?.clone();
    let volume = items_at(pod, "/volumes").iter().find(|volume| volume.get("name") == Some(&name))?;
    let size = volume.pointer("/emptyDir/sizeLimit")?.clone();
    if volume.pointer("/emptyDir/medium") != Some(&json!("Memory")) {
        return None;
    }
    for list in [format!("{container}/volumeMounts"), "/volumes".to_owned()] {
        pod.pointer_mut(&list)?.as_array_mut()?.retain(|item| item.get("name") != Some(&name));
    }
    Some(size)
}

/// Removes the directory of a frontend that runs the command of the operator.
fn remove_unused_directory(container: &mut Value, is_frontend: bool) {
    let has_command = !items_at(container, "/command").is_empty() || !items_at(container, "/args").is_empty();
    if let Some(fields) = container.as_object_mut().filter(|_| is_frontend && !has_command) {
        fields.shift_remove("workingDir");
    }
}

/// Writes the router mode of a frontend as a variable.
fn set_router_mode(container: &mut Value) {
    let Ok(line) = CommandLine::read(container) else { return };
    if !line.program.iter().any(|word| word == "dynamo.frontend") {
        return;
    }
    let flags = read_flags(&line.texts(), &tables(&line.program));
    if let Some(mode) = flags.get("router-mode").and_then(|values| values.first()) {
        append(at(container, "env"), json!({"name": "DYN_ROUTER_MODE", "value": mode}));
    }
}

/// Returns whether a value says nothing.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.values().all(is_empty),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

struct Walk<'k> {
    kind: &'k str,
    /// The mappings in the ConfigMaps of the input, which engines read as files.
    files: Vec<Map<String, Value>>,
    differences: Vec<Difference>,
}

impl Walk<'_> {
    fn differ(&mut self, path: &FieldPath, original: &Value, rendered: &Value) {
        if is_empty(original) && is_empty(rendered) {
            return;
        }
        let path = path.to_string();
        let text = format!("{path}: {original} / {rendered}");
        let values =
            (original.is_string() && rendered.is_string()).then(|| (original.to_string(), rendered.to_string()));
        self.differences.push(Difference { path, flag: None, values, text });
    }

    fn values(&mut self, path: &FieldPath, original: &Value, rendered: &Value) {
        match (original, rendered) {
            (Value::Object(original), Value::Object(rendered)) => {
                let (original, rendered) = (unified(original), unified(rendered));
                self.objects(path, &original, &rendered);
            }
            (Value::Array(original), Value::Array(rendered)) => self.lists(path, original, rendered),
            (Value::Object(fields), Value::Null) => {
                for (key, value) in unified(fields) {
                    self.values(&path.key(key), &value, &Value::Null);
                }
            }
            (Value::Null, Value::Object(fields)) => {
                for (key, value) in unified(fields) {
                    self.values(&path.key(key), &Value::Null, &value);
                }
            }
            (Value::String(one), Value::String(other)) if one != other => match (mapping(one), mapping(other)) {
                (Some(one), Some(other)) => self.values(path, &one, &other),
                _ => self.differ(path, original, rendered),
            },
            _ if original == rendered || text_of(original).is_some() && text_of(original) == text_of(rendered) => {}
            (Value::Null, only) | (only, Value::Null) if self.is_server_default(path, only) => {}
            (Value::Null, _) if is_marker(path) => {}
            _ => self.differ(path, original, rendered),
        }
    }

    fn is_server_default(&self, path: &FieldPath, value: &Value) -> bool {
        let text = path.to_string();
        let mut defaults = PROVIDERS.iter().flat_map(|provider| provider.info().server_defaults);
        let is_port_protocol = text.ends_with("protocol") && *value == json!("TCP");
        is_port_protocol
            || defaults.any(|default| {
                let is_there =
                    text.strip_suffix(default.path).is_some_and(|above| above.is_empty() || above.ends_with('.'));
                (default.kind.is_empty() || default.kind == self.kind)
                    && is_there
                    && (default.value.is_empty()
                        || serde_json::from_str::<Value>(default.value).ok().as_ref() == Some(value))
            })
    }

    fn objects(&mut self, path: &FieldPath, original: &Map<String, Value>, rendered: &Map<String, Value>) {
        let is_container = |fields: &Map<String, Value>| fields.contains_key("command") || fields.contains_key("args");
        let has_commands = is_container(original) || is_container(rendered);
        let has_commands = has_commands && original.get("args").is_none_or(Value::is_array);
        if has_commands && path.to_string() != "" && !path.to_string().ends_with("Probe.exec") {
            self.commands(path, original, rendered);
        }
        let is_services = path.to_string() == "spec.services";
        let pairs: BTreeMap<String, String> =
            if is_services { pair_services(original, rendered) } else { BTreeMap::new() };
        for (key, value) in original {
            if has_commands && matches!(key.as_str(), "command" | "args") {
                continue;
            }
            let at = path.key(key.clone());
            let other = pairs.get(key).unwrap_or(key);
            if other != key {
                self.differ(&at, &json!(key), &json!(other));
            }
            self.values(&at, value, rendered.get(other).unwrap_or(&Value::Null));
        }
        for (key, value) in rendered {
            let is_compared = has_commands && matches!(key.as_str(), "command" | "args");
            let is_paired =
                original.contains_key(key) && !pairs.contains_key(key) || pairs.values().any(|other| other == key);
            if !is_compared && !is_paired {
                // The reference of core/v1 calls the ports of a container informative; only names are referred to.
                let is_port = |port: &Value| port.as_object().is_some_and(|port| port.keys().eq(["containerPort"]));
                let lists_ports = key == "ports" && value.as_array().is_some_and(|ports| ports.iter().all(is_port));
                let is_implied = key == "backendFramework" && path.to_string() == "spec" || lists_ports;
                if !is_implied {
                    self.values(&path.key(key.clone()), &Value::Null, value);
                }
            }
        }
    }

    fn lists(&mut self, path: &FieldPath, original: &[Value], rendered: &[Value]) {
        let all = || original.iter().chain(rendered);
        let key = ITEM_KEYS.iter().find(|key| all().all(|item| item.get(**key).is_some()));
        let is_components = path.to_string() == "spec.components";
        let is_groups = path.to_string().ends_with("workerGroupSpecs");
        let mut rest: Vec<&Value> = rendered.iter().collect();
        for (index, item) in original.iter().enumerate() {
            let at = path.index(index);
            let position = match key {
                Some(_) if is_components => rest.iter().position(|other| is_same_part(item, other)),
                Some(_) if is_groups || original.len() == 1 && rendered.len() == 1 => (!rest.is_empty()).then_some(0),
                Some(key) => rest.iter().position(|other| other.get(*key) == item.get(*key)),
                None if original.len() == 1 && rendered.len() == 1 => (!rest.is_empty()).then_some(0),
                None => rest.iter().position(|other| *other == item),
            };
            let other = position.map_or(&Value::Null, |position| rest.remove(position));
            self.values(&at, item, other);
        }
        for other in rest {
            self.differ(path, &Value::Null, other);
        }
    }

    /// Compares two command lines: the programs, and the value of each flag.
    fn commands(&mut self, path: &FieldPath, original: &Map<String, Value>, rendered: &Map<String, Value>) {
        let read = |fields: &Map<String, Value>| CommandLine::read(&Value::Object(fields.clone()));
        let command = path.key("command");
        let (original_line, mut rendered_line) = match (read(original), read(rendered)) {
            (Ok(one), Ok(other)) => (one, other),
            (Err(_), _) => {
                let words = |fields: &Map<String, Value>| json!([fields.get("command"), fields.get("args")]);
                // A script that cannot be read runs the same only if it is the same.
                if words(original) != words(rendered) {
                    self.differ(&path.key("args"), &words(original), &words(rendered));
                }
                return;
            }
            (_, Err(error)) => return self.differ(path, &Value::Null, &json!(error.to_string())),
        };
        let frontend = ["python3", "-m", "dynamo.frontend"];
        if rendered_line.program.is_empty() && original_line.program == frontend {
            // The operator runs this by default.
            rendered_line.program = frontend.map(str::to_owned).to_vec();
        }
        if original_line.program != rendered_line.program {
            self.differ(&command, &json!(original_line.program), &json!(rendered_line.program));
        }
        let tables = tables(&original_line.program);
        let (mut one, mut other) =
            (read_flags(&original_line.texts(), &tables), read_flags(&rendered_line.texts(), &tables));
        for flags in [&mut one, &mut other] {
            for (old, new) in RENAMED_FLAGS {
                if let Some(values) = flags.remove(*old) {
                    flags.entry((*new).to_owned()).or_insert(values);
                }
            }
            let model = ["model", "model-path"].iter().find_map(|name| flags.get(*name)).cloned();
            if let Some(model) = model {
                // An engine serves a model under its id.
                flags.entry("served-model-name".to_owned()).or_insert(model);
            }
            flags.retain(|name, values| {
                !DEFAULT_FLAGS.iter().any(|(flag, value)| name == flag && values.as_slice() == [json!(*value)])
            });
        }
        if original_line.program == frontend {
            // It is compared as a variable.
            one.remove("router-mode");
            other.remove("router-mode");
        }
        let has = |line: &CommandLine, text: &str| line.left_out.iter().any(|word| word.text == text);
        for word in original_line.left_out.iter().filter(|word| !has(&rendered_line, &word.text)) {
            self.differ(&path.key(word.field).index(word.index), &json!(word.text), &Value::Null);
        }
        for word in rendered_line.left_out.iter().filter(|word| !has(&original_line, &word.text)) {
            self.differ(&path.key(word.field).index(word.index), &Value::Null, &json!(word.text));
        }
        if one.contains_key("config") {
            // The engine reads a file before its flags, so a flag with the value in the file changes nothing.
            for (key, value) in self.files.iter().flatten() {
                let word = format!("--{key}={}", text_of(value).unwrap_or_else(|| value.to_string()));
                let read = read_flags(&[word], &tables).into_iter();
                for (name, values) in read.filter(|(name, values)| other.get(name) == Some(values)) {
                    one.entry(name).or_insert(values);
                }
            }
        }
        let names: std::collections::BTreeSet<&String> = one.keys().chain(other.keys()).collect();
        for name in names {
            if one.get(name) != other.get(name) {
                let text = format!("{path}: --{name}: {:?} / {:?}", one.get(name), other.get(name));
                self.differences.push(Difference {
                    path: path.to_string(),
                    flag: Some(name.clone()),
                    values: None,
                    text,
                });
            }
        }
    }
}

/// Returns a number or a text as text.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(text.clone()),
        _ => None,
    }
}

/// Returns a mapping that is written as YAML text.
fn mapping(text: &str) -> Option<Value> {
    let parsed = yaml::parse(text, &yaml::Limits::default());
    let value = parsed.documents.first()?.root.to_json();
    value.is_object().then_some(value)
}

/// Returns whether a path is a label or annotation of ownership.
fn is_marker(path: &FieldPath) -> bool {
    let text = path.to_string();
    let is_metadata = text.starts_with("metadata.labels") || text.starts_with("metadata.annotations");
    is_metadata && API_GROUPS.iter().any(|group| text.contains(group.label_prefix))
}

/// Returns the fields of an object in one of the forms that Kubernetes treats alike.
fn unified(fields: &Map<String, Value>) -> Map<String, Value> {
    let mut fields = fields.clone();
    // A request of an extended resource is equal to its limit.
    if let Some(limits) = fields.get("limits").and_then(Value::as_object).cloned()
        && let Some(requests) = fields.get_mut("requests").and_then(Value::as_object_mut)
    {
        let is_extended = |name: &str| name.contains('/') || name == "gpu";
        requests.retain(|name, amount| {
            !is_extended(name) || limits.get(name).is_none_or(|limit| text_of(limit) != text_of(amount))
        });
    }
    let is_latest = fields.get("image").and_then(Value::as_str).map(|image| {
        let name = image.rsplit('/').next().unwrap_or(image);
        !name.contains('@') && (!name.contains(':') || name.ends_with(":latest"))
    });
    let policy = fields.get("imagePullPolicy").and_then(Value::as_str);
    if matches!((is_latest, policy), (Some(true), Some("Always")) | (Some(false), Some("IfNotPresent"))) {
        fields.shift_remove("imagePullPolicy");
    }
    // A Python module that is given no relative path runs the same in every directory.
    if fields.contains_key("workingDir") && runs_anywhere(&fields) {
        fields.shift_remove("workingDir");
    }
    let labels = fields.get("affinity").and_then(required_node_labels);
    if let Some(labels) = labels {
        let selector = fields.entry("nodeSelector").or_insert_with(|| json!({}));
        if let Some(selector) = selector.as_object_mut() {
            selector.extend(labels);
        }
        let affinity = fields.get_mut("affinity").and_then(|affinity| affinity.get_mut("nodeAffinity"));
        if let Some(affinity) = affinity.and_then(Value::as_object_mut) {
            affinity.shift_remove("requiredDuringSchedulingIgnoredDuringExecution");
        }
    }
    let line = fields.contains_key("command").then(|| CommandLine::read(&Value::Object(fields.clone())));
    if let Some(Ok(line)) = line.filter(|line| line.as_ref().is_ok_and(|line| !line.assignments.is_empty())) {
        let env = fields.entry("env").or_insert_with(|| json!([]));
        for (name, value) in line.assignments {
            if let Some(env) = env.as_array_mut() {
                env.push(json!({"name": name, "value": value}));
            }
        }
    }
    // Kubernetes uses the last variable of a name.
    if let Some(env) = fields.get_mut("env").and_then(Value::as_array_mut) {
        let all = env.clone();
        let mut index = 0;
        env.retain(|variable| {
            index += 1;
            let name = variable.get("name");
            !all.iter().skip(index).any(|later| later.get("name") == name)
        });
    }
    fields
}

fn runs_anywhere(container: &Map<String, Value>) -> bool {
    let Ok(line) = CommandLine::read(&Value::Object(container.clone())) else { return false };
    let is_relative = |text: &String| {
        let value = text.rsplit('=').next().unwrap_or(text);
        value.starts_with("./")
            || value.starts_with("../")
            || value.contains('/')
                && value.rsplit_once('.').is_some_and(|(_, end)| end == "yaml")
                && !value.starts_with('/')
    };
    line.program.iter().any(|word| word == "-m") && !line.texts().iter().any(is_relative)
}

/// Returns the tables of the flags that a program reads, newest first.
fn tables(program: &[String]) -> Vec<FlagTable> {
    let module = program.iter().find_map(|word| word.strip_prefix("dynamo."));
    let names: &[&str] = match module {
        Some("vllm") => &["dynamo-vllm", "vllm"],
        Some("sglang") => &["dynamo-sglang", "sglang"],
        Some("trtllm") => &["dynamo-trtllm"],
        Some("frontend") => &["dynamo-frontend"],
        _ if program.iter().any(|word| word.contains("vllm")) => &["vllm"],
        _ => &["llama-server"],
    };
    let of_program = |name: &&str| {
        let mut tables: Vec<FlagTable> = flags::tables_by_version(name).map(|(_, table)| table).collect();
        tables.reverse();
        tables
    };
    names.iter().flat_map(of_program).collect()
}

/// Reads the flags of a command line as the program's argument parser does: the canonical name, and the values. Words
/// that belong to no flag are under the empty name.
fn read_flags(words: &[String], tables: &[FlagTable]) -> BTreeMap<String, Vec<Value>> {
    let mut flags: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let is_flag = |word: &str| {
        let name = word.trim_start_matches('-');
        word.starts_with("--") && !name.is_empty()
            || word.starts_with('-') && name.starts_with(|first: char| first.is_ascii_alphabetic())
    };
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        if !is_flag(word) {
            flags.entry(String::new()).or_default().push(value_of(word));
            continue;
        }
        let (name, joined) = word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
        let written = name.trim_start_matches('-').replace('_', "-");
        // `--config.key value` sets a key of a JSON value.
        let known = tables.iter().find_map(|table| table.lookup(&written));
        let (name, kind, repeat, spelling) = known.map_or(
            (written.clone(), FlagKind::OptionalValue, Repetition::List, Spelling::Name),
            |(flag, spelling)| (flag.name.to_owned(), flag.kind, flag.repeat, spelling),
        );
        let mut values: Vec<Value> = joined.map(value_of).into_iter().collect();
        if joined.is_none() {
            let most = match (kind, repeat) {
                (FlagKind::Switch | FlagKind::Pair, _) => 0,
                (_, Repetition::List) => usize::MAX,
                _ => 1,
            };
            while values.len() < most
                && let Some(next) = words.next_if(|next| !is_flag(next))
            {
                values.push(value_of(next));
            }
        }
        if spelling == Spelling::Off {
            values = vec![json!("false")];
        } else if values.is_empty() {
            values = vec![json!("true")];
        }
        if repeat == Repetition::Append {
            flags.entry(name).or_default().extend(values);
        } else {
            flags.insert(name, values);
        }
    }
    flags
}

/// Returns a value of a flag; JSON is compared by value.
fn value_of(text: &str) -> Value {
    let is_json = text.trim_start().starts_with(['{', '[']);
    is_json.then(|| serde_json::from_str(text).ok()).flatten().unwrap_or_else(|| json!(text.replace("$$(", "$(")))
}

/// The parts of a graph, by what they do.
#[derive(PartialEq, Eq)]
enum Part<'n> {
    Frontend,
    Prefill,
    /// A decode worker, or the only worker.
    Worker,
    Other(&'n str),
}

fn part<'v>(component: &'v Value, name: &'v str) -> Part<'v> {
    let kind = string_at(component, "/subComponentType")
        .or_else(|| string_at(component, "/componentType"))
        .or_else(|| string_at(component, "/type"))
        .unwrap_or_default();
    let containers = items_at(component, "/podTemplate/spec/containers").iter();
    let container = component.pointer("/extraPodSpec/mainContainer").into_iter().chain(containers).next();
    let line = container.and_then(|container| CommandLine::read(container).ok()).unwrap_or_default();
    let flags = read_flags(&line.texts(), &tables(&line.program));
    let is_prefill =
        flags.get("disaggregation-mode") == Some(&vec![json!("prefill")]) || flags.contains_key("is-prefill-worker");
    match kind {
        "frontend" => Part::Frontend,
        "main" if line.program.iter().any(|word| word == "dynamo.frontend") || name == "Frontend" => Part::Frontend,
        "prefill" => Part::Prefill,
        "worker" | "decode" | "main" if is_prefill => Part::Prefill,
        "worker" | "decode" | "main" => Part::Worker,
        _ => Part::Other(name),
    }
}

fn is_same_part(one: &Value, other: &Value) -> bool {
    let name = |component: &Value| string_at(component, "/name").unwrap_or_default().to_owned();
    let (one_name, other_name) = (name(one), name(other));
    part(one, &one_name) == part(other, &other_name)
}

/// Returns the names of components in an object, each with the name in the rendering.
fn pair_services(original: &Map<String, Value>, rendered: &Map<String, Value>) -> BTreeMap<String, String> {
    let mut pairs = BTreeMap::new();
    for (name, service) in original {
        let own = part(service, name);
        let other = rendered.iter().find(|(other, service)| part(service, other) == own);
        if let Some((other, _)) = other {
            pairs.insert(name.clone(), other.clone());
        }
    }
    pairs
}
