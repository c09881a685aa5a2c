//! Compares an imported object with its rendering, field by field.

use serde_json::{Map, Value};

use kubefoundry_deployment::wire;
use kubefoundry_engines::{CommandLine, CommandWord, ImportedFlag, flags_from_argv};
use kubefoundry_kubernetes::api_group::API_GROUPS;
use kubefoundry_kubernetes::server_fields;
use kubefoundry_kubernetes::wire::metadata;
use kubefoundry_model::composition::Composition;
use kubefoundry_provider::ServerDefault;
use kubefoundry_provider::draft::{Equivalents, REQUIRED_AFFINITY, required_node_labels};
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::field_path::{FieldPath, Segment};

/// A field that differs between an imported object and its rendering.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldDifference {
    /// The path in the imported object.
    pub path: FieldPath,
    /// The imported value; `None` if only the rendering has the field.
    pub original: Option<Value>,
    /// The rendered value; `None` if only the imported object has the field.
    pub rendered: Option<Value>,
}

/// The keys that identify the items of Kubernetes lists.
const ITEM_KEYS: &[&str] = &["name", "mountPath", "containerPort"];

/// The fields of a container that hold its command line.
const COMMAND_FIELDS: [&str; 2] = ["command", "args"];

/// The annotation with the reason of a selection. It is ignored, because the configurations of that time are unknown.
const SELECTED_REASON_SUFFIX: &str = "/selected-reason";

/// The names, without their prefix, of the labels and annotations that every rendered object gets.
const MARKER_NAMES: &[&str] = &["managed-by", "model-deployment", "selected-reason", "model-source"];

/// Returns the differences between an imported object and its rendering. `equivalents` are what the two write
/// differently.
///
/// It ignores the fields that servers and clients set, the labels and annotations of ownership, and order where order
/// has no effect: that of flags, and that of lists whose items have names. It also ignores different forms of the same
/// pod; `comparable_form` lists them.
pub fn differences(
    composition: &Composition,
    original: &Value,
    rendered: &Value,
    equivalents: &Equivalents,
) -> Vec<FieldDifference> {
    let kind = original.get("kind").and_then(Value::as_str).unwrap_or_default();
    let mut collector = DifferenceCollector { composition, equivalents, kind, differences: Vec::new() };
    let (original, rendered) = (comparable_form(composition, original), comparable_form(composition, rendered));
    collector.compare_values(&FieldPath::root(), &original, &rendered);
    collector.differences
}

/// Returns whether two values differ in more than their form. An absent value is null.
pub(super) fn values_differ(
    composition: &Composition,
    original: &Value,
    rendered: &Value,
    equivalents: &Equivalents,
) -> bool {
    let mut collector = DifferenceCollector { composition, equivalents, kind: "", differences: Vec::new() };
    let wrap = |value: &Value| Map::from_iter([("value".to_owned(), value.clone())]);
    collector.compare_objects(&FieldPath::root(), &wrap(original), &wrap(rendered));
    !collector.differences.is_empty()
}

/// Returns an object without the fields that servers and clients set.
fn user_fields(object: &Value) -> Value {
    let mut object = object.clone();
    server_fields::remove(&mut object);
    if let Some(metadata) = object.pointer_mut("/metadata").and_then(Value::as_object_mut) {
        // The new owner is the ModelDeployment that results from the import.
        if let Some(owners) = metadata.get_mut("ownerReferences").and_then(Value::as_array_mut) {
            owners.retain(|owner| owner.get("kind").and_then(Value::as_str) != Some(wire::KIND));
        }
    }
    if let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        let is_about_storage = |key: &str| STORAGE_ANNOTATION_PREFIXES.iter().any(|prefix| key.starts_with(prefix));
        annotations.retain(|key, _| !key.ends_with(SELECTED_REASON_SUFFIX) && !is_about_storage(key));
    }
    object
}

/// Returns an object in the form that is compared: without the fields that servers and clients set, and with every pod
/// in one of the forms that Kubernetes treats alike.
pub(super) fn comparable_form(composition: &Composition, object: &Value) -> Value {
    let mut object = user_fields(object);
    unify_pods(&mut object);
    if let Some(provider) = composition.providers().iter().find(|provider| provider.owns(&object)) {
        provider.unify(&mut object);
    }
    object
}

/// Removes what makes no difference in pods, at every depth: a request that repeats the limit of an extended resource,
/// the pull policy that the image's tag implies, and a working directory that the command line does not use. A required
/// affinity to a single value of a label becomes a node selector.
fn unify_pods(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            set_script_variables(fields);
            remove_repeated_requests(fields);
            remove_implied_pull_policy(fields);
            remove_unused_directory(fields);
            unify_node_affinity(fields);
            fields.values_mut().for_each(unify_pods);
        }
        Value::Array(items) => items.iter_mut().for_each(unify_pods),
        _ => {}
    }
}

/// Adds the variables that a script sets to those of its container.
fn set_script_variables(container: &mut Map<String, Value>) {
    if !container.contains_key("command") {
        return;
    }
    let Ok(line) = CommandLine::read(&Value::Object(container.clone())) else { return };
    if line.assignments.is_empty() {
        return;
    }
    let env = container.entry("env").or_insert_with(|| Value::Array(Vec::new()));
    let Some(env) = env.as_array_mut() else { return };
    for (name, value) in line.assignments {
        env.retain(|variable| variable.get("name").and_then(Value::as_str) != Some(name.as_str()));
        env.push(serde_json::json!({"name": name, "value": value}));
    }
}

/// Removes requests that are equal to their limits, because Kubernetes sets them. A request of CPUs stays, because the
/// field of a ModelDeployment for CPUs is only a request.
fn remove_repeated_requests(resources: &mut Map<String, Value>) {
    let Some(limits) = resources.get("limits").and_then(Value::as_object).cloned() else { return };
    let Some(requests) = resources.get_mut("requests").and_then(Value::as_object_mut) else { return };
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    requests.retain(|name, amount| name == "cpu" || limits.get(name).is_none_or(|limit| text(limit) != text(amount)));
}

/// Removes the pull policy of a container if it is the one that Kubernetes derives from the tag of the image.
fn remove_implied_pull_policy(container: &mut Map<String, Value>) {
    let Some(image) = container.get("image").and_then(Value::as_str) else { return };
    let has_digest = image.contains('@');
    let tag = kubefoundry_kubernetes::image::path_and_tag(image).1.unwrap_or("latest");
    let implied = if tag == "latest" && !has_digest { "Always" } else { "IfNotPresent" };
    if container.get("imagePullPolicy").and_then(Value::as_str) == Some(implied) {
        container.shift_remove("imagePullPolicy");
    }
}

/// Removes the working directory of a container that runs a Python module and names no file by a relative path.
fn remove_unused_directory(container: &mut Map<String, Value>) {
    if !container.contains_key("workingDir") {
        return;
    }
    let Ok(line) = CommandLine::read(&Value::Object(container.clone())) else { return };
    let runs_module = line.program.iter().any(|word| word == "-m");
    let is_relative_file = |text: &str| {
        let value = text.rsplit('=').next().unwrap_or(text);
        let extension = value.rsplit_once('.').map_or("", |(_, extension)| extension);
        value.starts_with('.')
            || !value.starts_with(['/', '-', '{', '['])
                && ["json", "jinja", "py", "txt", "yaml", "yml"].contains(&extension)
    };
    if runs_module && !line.arguments.iter().any(|word| is_relative_file(&word.text)) {
        container.shift_remove("workingDir");
    }
}

/// Moves the labels of a required node affinity to the node selector of the pod if each has a single value.
fn unify_node_affinity(pod: &mut Map<String, Value>) {
    let Some(labels) = pod.get("affinity").and_then(required_node_labels) else { return };
    let selector = pod.entry("nodeSelector").or_insert_with(|| Value::Object(Map::new()));
    let Some(selector) = selector.as_object_mut() else { return };
    if labels.iter().any(|(key, value)| selector.get(key).is_some_and(|other| other != value)) {
        return;
    }
    selector.extend(labels);
    if let Some(node_affinity) = pod.get_mut("affinity").and_then(|affinity| affinity.get_mut("nodeAffinity"))
        && let Some(node_affinity) = node_affinity.as_object_mut()
    {
        node_affinity.shift_remove(REQUIRED_AFFINITY);
    }
}

struct DifferenceCollector<'n> {
    composition: &'n Composition,
    equivalents: &'n Equivalents,
    kind: &'n str,
    differences: Vec<FieldDifference>,
}

impl DifferenceCollector<'_> {
    /// Records a difference, unless only the rendering has the field and it is a marker, or one of the two lacks the
    /// field and the other has the default that a server sets.
    fn add(&mut self, path: &FieldPath, original: Option<&Value>, rendered: Option<&Value>) {
        let is_marker = original.is_none() && is_marker(path);
        let is_default = match (original, rendered) {
            (Some(only), None) | (None, Some(only)) => is_default(self.composition, self.kind, path, only),
            _ => false,
        };
        let is_implied = original.is_none()
            && self.equivalents.implied_fields.iter().any(|(field, value)| field == path && rendered == Some(value));
        if !is_marker && !is_default && !is_implied {
            let (original, rendered) = (original.cloned(), rendered.cloned());
            self.differences.push(FieldDifference { path: path.clone(), original, rendered });
        }
    }

    fn compare_values(&mut self, path: &FieldPath, original: &Value, rendered: &Value) {
        match (original, rendered) {
            (Value::Object(original), Value::Object(rendered)) => self.compare_objects(path, original, rendered),
            (Value::Array(original), Value::Array(rendered)) => self.compare_lists(path, original, rendered),
            // Some fields hold a configuration as YAML text, in which only the values matter and not the layout.
            (Value::String(one), Value::String(other)) if one != other => {
                if self.equivalents.texts.iter().any(|(text, equal)| text == one && equal == other) {
                    return;
                }
                match (parse_mapping(one), parse_mapping(other)) {
                    (Some(one), Some(other)) => self.compare_values(path, &one, &other),
                    _ => self.add(path, Some(original), Some(rendered)),
                }
            }
            _ if same_scalar(self.kind, path, original, rendered) => {}
            _ => self.add(path, Some(original), Some(rendered)),
        }
    }

    /// Compares two mappings field by field, with the new names of renamed entries.
    fn compare_objects(&mut self, path: &FieldPath, original: &Map<String, Value>, rendered: &Map<String, Value>) {
        // Only the map of components has renamed entries.
        let has_renames =
            !self.equivalents.renames.pairs.is_empty() && path.to_string() == self.equivalents.renames.mapping;
        let rendered_key = |key: &str| {
            let renamed = self.equivalents.renames.pairs.iter().find(|(original, _)| has_renames && original == key);
            renamed.map_or(key.to_owned(), |(_, rendered)| rendered.clone())
        };
        let has_command = self.compare_commands(path, original, rendered);
        let is_compared = |key: &str| has_command && COMMAND_FIELDS.contains(&key);
        let own_keys = original.keys().filter(|key| !is_compared(key));
        let keys: Vec<(&String, String)> = own_keys.map(|key| (key, rendered_key(key))).collect();
        for (key, rendered_key) in &keys {
            let at = path.key((*key).clone());
            let values = (
                original.get(*key).filter(|value| is_non_empty(value)),
                rendered.get(rendered_key).filter(|value| is_non_empty(value)),
            );
            match values {
                (Some(original), Some(rendered)) => {
                    if *key != rendered_key {
                        self.add(&at, Some(&Value::from(key.as_str())), Some(&Value::from(rendered_key.as_str())));
                    }
                    self.compare_values(&at, original, rendered);
                }
                (Some(original), None) => self.add(&at, Some(original), None),
                (None, Some(rendered)) => self.compare_added(&at, rendered),
                (None, None) => {}
            }
        }
        for (key, value) in rendered.iter().filter(|(_, value)| is_non_empty(value)) {
            if !keys.iter().any(|(_, rendered_key)| rendered_key == key) && !is_compared(key) {
                self.compare_added(&path.key(key.clone()), value);
            }
        }
    }

    /// Compares the command lines of two containers by their program and their flags, however they are divided into
    /// `command` and `args`. Returns whether it has compared them.
    fn compare_commands(
        &mut self,
        path: &FieldPath,
        original: &Map<String, Value>,
        rendered: &Map<String, Value>,
    ) -> bool {
        let is_container = |fields: &Map<String, Value>| {
            COMMAND_FIELDS.iter().any(|field| {
                fields.get(*field).is_some_and(|words| {
                    words.as_array().is_some_and(|words| !words.is_empty() && words.iter().all(Value::is_string))
                })
            })
        };
        if !is_container(original) {
            return false;
        }
        let read = |fields: &Map<String, Value>| CommandLine::read(&Value::Object(fields.clone()));
        let (Ok(original), Ok(mut rendered)) = (read(original), read(rendered)) else { return false };
        if rendered.program.is_empty() && rendered.arguments.is_empty() {
            // Without a command line, the provider runs its own.
            if original.program.is_empty() || original.program != self.equivalents.default_program {
                return false;
            }
            rendered.program.clone_from(&original.program);
        }
        let is_kept = |word: &CommandWord| rendered.left_out.iter().any(|other| other.text == word.text);
        for word in original.left_out.iter().filter(|word| !is_kept(word)) {
            self.add(&path.key(word.field).index(word.index), Some(&Value::from(word.text.as_str())), None);
        }
        if original.program != rendered.program {
            let program = |line: &CommandLine| Some(Value::from(line.program.clone())).filter(is_non_empty);
            self.add(&path.key("command"), program(&original).as_ref(), program(&rendered).as_ref());
        }
        self.compare_arguments(path, &original.arguments, &rendered.texts());
        true
    }

    /// Records a field that only the rendering has. Labels and annotations are recorded one by one, because some of
    /// them are markers, which are not differences.
    fn compare_added(&mut self, path: &FieldPath, rendered: &Value) {
        match rendered {
            Value::Object(entries) if *path == *metadata().labels() || *path == *metadata().annotations() => {
                for (key, value) in entries {
                    self.add(&path.key(key.clone()), None, Some(value));
                }
            }
            _ => {
                if let Some(rendered) = without_defaults(self.composition, self.kind, path, rendered) {
                    self.add(path, None, Some(&rendered));
                }
            }
        }
    }

    /// Compares two lists: flags as flags, items with names by their names, and other items as a whole.
    fn compare_lists(&mut self, path: &FieldPath, original: &[Value], rendered: &[Value]) {
        let all: Vec<&Value> = original.iter().chain(rendered).collect();
        // A single item on both sides can only correspond, even if its name differs.
        if let ([one], [other]) = (original, rendered)
            && one.is_object()
            && other.is_object()
        {
            self.compare_values(&path.index(0), one, other);
            return;
        }
        let provider_keys = self
            .composition
            .providers()
            .iter()
            .flat_map(|provider| provider.info().list_keys)
            .flat_map(|list| list.keys);
        // A volume can be mounted at several paths.
        let is_mounts = path.segments().last().and_then(Segment::as_key) == Some("volumeMounts");
        let mount_key = is_mounts.then_some(&"mountPath");
        let mut keys = mount_key.into_iter().chain(ITEM_KEYS).chain(provider_keys);
        let Some(key) = keys.find(|key| all.iter().all(|item| item.get(**key).is_some())) else {
            self.compare_unnamed_items(path, original, rendered);
            return;
        };
        let name = |item: &Value| item.get(*key).map_or(String::new(), Value::to_string);
        let rendered_name = |item: &Value| {
            let name = name(item);
            let renamed = self.equivalents.renames.pairs.iter().find(|(original, _)| format!("{original:?}") == name);
            renamed.map_or(name, |(_, rendered)| Value::from(rendered.as_str()).to_string())
        };
        let expected: Vec<String> = original.iter().map(rendered_name).collect();
        for (index, (item, expected)) in original.iter().zip(&expected).enumerate() {
            let at = path.index(index);
            match rendered.iter().find(|other| name(other) == *expected) {
                Some(other) => self.compare_values(&at, item, other),
                None => self.add(&at, Some(item), None),
            }
        }
        for other in rendered.iter().filter(|other| !expected.contains(&name(other))) {
            self.add(path, None, Some(other));
        }
        // An environment variable may refer to earlier ones, so the order can matter.
        let refers = |item: &Value| item.get("value").and_then(Value::as_str).is_some_and(|value| value.contains("$("));
        let order = |items: &[Value]| items.iter().map(name).collect::<Vec<_>>();
        let mut sorted = (expected.clone(), order(rendered));
        sorted.0.sort();
        sorted.1.sort();
        if original.iter().any(refers) && sorted.0 == sorted.1 && expected != order(rendered) {
            self.add(path, Some(&Value::from(expected)), Some(&Value::from(order(rendered))));
        }
    }

    /// Compares lists whose items have no names: records the items that only one of them has.
    fn compare_unnamed_items(&mut self, path: &FieldPath, original: &[Value], rendered: &[Value]) {
        let mut unmatched: Vec<&Value> = rendered.iter().collect();
        let mut has_lost_items = false;
        for (index, item) in original.iter().enumerate() {
            if let Some(position) = unmatched.iter().position(|other| *other == item) {
                unmatched.remove(position);
            } else {
                has_lost_items = true;
                self.add(&path.index(index), Some(item), None);
            }
        }
        for other in &unmatched {
            self.add(path, None, Some(other));
        }
        let differs_only_in_order = !has_lost_items && unmatched.is_empty() && original != rendered;
        if differs_only_in_order {
            self.add(path, Some(&Value::from(original.to_vec())), Some(&Value::from(rendered.to_vec())));
        }
    }

    /// Compares flags of a command line, independent of their order and spelling.
    fn compare_arguments(&mut self, container: &FieldPath, original: &[CommandWord], rendered: &[String]) {
        let is_default = |flag: &ImportedFlag| self.equivalents.default_flags.contains(flag);
        let canonical = |flag| self.equivalents.canonical_flag(flag);
        let mut candidates: Vec<ImportedFlag> =
            flags_from_argv(rendered).into_iter().map(canonical).filter(|flag| !is_default(flag)).collect();
        let mut unmatched = Vec::new();
        let mut words = original.iter();
        let texts: Vec<String> = original.iter().map(|word| word.text.clone()).collect();
        // Equal flags are paired before the rest, so that a repeated flag is not reported with the wrong value.
        for flag in flags_from_argv(&texts) {
            let Some(word) = words.next() else { break };
            let is_joined = word.text.starts_with("--") && word.text.contains('=');
            if !flag.name.is_empty() && !is_joined {
                words.by_ref().take(flag.values.len()).for_each(|_| {});
            }
            let at = container.key(word.field).index(word.index);
            let flag = canonical(flag);
            let is_equal =
                |candidate: &ImportedFlag| candidate.name == flag.name && same_values(&candidate.values, &flag.values);
            match candidates.iter().position(is_equal) {
                Some(position) => drop(candidates.remove(position)),
                None if is_default(&flag) => {}
                None => unmatched.push((at, flag)),
            }
        }
        // The remaining flags have another value or exist on one side only.
        for (at, flag) in unmatched {
            let position = candidates.iter().position(|other| other.name == flag.name && !flag.name.is_empty());
            let replacement = position.map(|position| candidates.remove(position));
            self.add(&at, Some(&flag_text(&flag)), replacement.as_ref().map(flag_text).as_ref());
        }
        for flag in &candidates {
            self.add(&container.key("args"), None, Some(&flag_text(flag)));
        }
    }
}

/// Returns a flag as it is written on a command line.
fn flag_text(flag: &ImportedFlag) -> Value {
    let values = flag.values.join(" ");
    Value::from(match (flag.name.as_str(), flag.values.len()) {
        ("", _) => values,
        (name, 0) => format!("--{name}"),
        (name, 1) => format!("--{name}={values}"),
        (name, _) => format!("--{name} {values}"),
    })
}

/// Returns whether two lists of values are equal. JSON texts are compared by value.
pub(super) fn same_values(original: &[String], rendered: &[String]) -> bool {
    let json = |values: &[String]| match values {
        [value] if value.trim_start().starts_with(['{', '[']) => serde_json::from_str::<Value>(value).ok(),
        _ => None,
    };
    original == rendered || json(original).is_some_and(|one| json(rendered) == Some(one))
}

/// Returns whether a value is not empty. An empty value, or one of empty values only, is equivalent to an absent one.
fn is_non_empty(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Object(fields) => fields.values().any(is_non_empty),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    }
}

/// Returns whether two scalars are equal, or are a number and its text where the reader takes both: a quantity, or a
/// setting in a ConfigMap, which KAITO passes on as text.
fn same_scalar(kind: &str, path: &FieldPath, original: &Value, rendered: &Value) -> bool {
    let is_quantity = path.to_string().split(['.', '[']).any(|step| matches!(step, "limits" | "requests"));
    let as_text = |value: &Value| match value {
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(text.clone()),
        _ => None,
    };
    let takes_text = is_quantity || kind == "ConfigMap";
    original == rendered || takes_text && as_text(original).is_some() && as_text(original) == as_text(rendered)
}

/// Parses a text as a YAML mapping. Returns `None` for any other text.
pub(super) fn parse_mapping(text: &str) -> Option<Value> {
    let parsed = yaml::parse(text, &yaml::Limits::default());
    let [document] = parsed.documents.as_slice() else { return None };
    Some(document.root.to_json()).filter(|value| value.is_object() && parsed.failure.is_none())
}

const fn server_default(kind: &'static str, path: &'static str, value: &'static str) -> ServerDefault {
    ServerDefault { kind, path, value }
}

/// Fields of built-in types that an API server or a controller sets by default. Providers list those of their own
/// kinds.
const BUILT_IN_DEFAULTS: &[ServerDefault] = &[
    server_default("", "protocol", r#""TCP""#),
    server_default("HTTPRoute", "group", r#""gateway.networking.k8s.io""#),
    server_default("HTTPRoute", "kind", r#""Gateway""#),
    server_default("HTTPRoute", "weight", "1"),
    server_default("InferencePool", "endpointPickerRef.failureMode", r#""FailClose""#),
    server_default("InferencePool", "endpointPickerRef.group", r#""""#),
    server_default("InferencePool", "endpointPickerRef.kind", r#""Service""#),
    server_default("InferencePool", "spec.appProtocol", r#""http""#),
    server_default("PersistentVolumeClaim", "spec.volumeMode", r#""Filesystem""#),
    server_default("PersistentVolumeClaim", "spec.volumeName", ""),
    server_default("Service", "spec.clusterIP", ""),
    server_default("Service", "spec.clusterIPs", ""),
    server_default("Service", "spec.internalTrafficPolicy", r#""Cluster""#),
    server_default("Service", "spec.ipFamilies", ""),
    server_default("Service", "spec.ipFamilyPolicy", ""),
    server_default("Service", "spec.sessionAffinity", r#""None""#),
    server_default("Service", "spec.type", r#""ClusterIP""#),
];

/// Returns a value without the fields that have the default of a server. Returns `None` if nothing remains.
fn without_defaults(composition: &Composition, kind: &str, path: &FieldPath, value: &Value) -> Option<Value> {
    let Value::Object(fields) = value else {
        return (!is_default(composition, kind, path, value)).then(|| value.clone());
    };
    let remaining = fields.iter().filter_map(|(key, value)| {
        Some((key.clone(), without_defaults(composition, kind, &path.key(key.clone()), value)?))
    });
    let remaining = Value::Object(remaining.collect());
    (is_non_empty(&remaining) && !is_default(composition, kind, path, value)).then_some(remaining)
}

/// Returns whether a field has the default that a server sets.
fn is_default(composition: &Composition, kind: &str, path: &FieldPath, value: &Value) -> bool {
    let text = path.to_string();
    let provider_defaults = composition.providers().iter().flat_map(|provider| provider.info().server_defaults);
    BUILT_IN_DEFAULTS.iter().chain(provider_defaults).any(|field| {
        let has_path = text.strip_suffix(field.path).is_some_and(|above| above.is_empty() || above.ends_with('.'));
        let has_value = || serde_json::from_str::<Value>(field.value).is_ok_and(|default| default == *value);
        (field.kind.is_empty() || field.kind == kind) && has_path && (field.value.is_empty() || has_value())
    })
}

/// Prefixes of annotations that bind storage to a claim.
const STORAGE_ANNOTATION_PREFIXES: &[&str] =
    &["pv.kubernetes.io/", "volume.kubernetes.io/", "volume.beta.kubernetes.io/"];

/// Returns whether a field is a label or annotation of ownership.
fn is_marker(path: &FieldPath) -> bool {
    let kubefoundry_yaml::field_path::Segment::Key(key) =
        path.segments().last().cloned().unwrap_or(kubefoundry_yaml::field_path::Segment::Index(0))
    else {
        return false;
    };
    let is_metadata = path.starts_with(&metadata().labels()) || path.starts_with(&metadata().annotations());
    is_metadata && API_GROUPS.iter().any(|api_group| MARKER_NAMES.iter().any(|name| *api_group.label(name) == *key))
}

#[cfg(test)]
mod tests {
    use kubefoundry_composition::BUILTIN;
    use serde_json::json;

    use super::*;
    use kubefoundry_provider::draft::PartRenames;

    fn difference_lines(original: &Value, rendered: &Value) -> Vec<String> {
        let pairs = vec![("decode".to_owned(), "VllmDecodeWorker".to_owned())];
        let renames = PartRenames { mapping: "spec.services", pairs };
        let equivalents = Equivalents { renames, ..Equivalents::default() };
        let differences = differences(&BUILTIN, original, rendered, &equivalents);
        let line = |it: FieldDifference| {
            let show = |value: Option<Value>| value.map_or("-".to_owned(), |value| value.to_string());
            format!("{}: {} {}", it.path, show(it.original), show(it.rendered))
        };
        differences.into_iter().map(line).collect()
    }

    #[test]
    fn equal_flags_are_paired_first() {
        let original = json!({"args": ["--model", "a", "--seed", "1", "--seed", "2", "-tp", "2"]});
        let rendered = json!({"args": ["--seed=2", "--model=a"]});
        assert_eq!(
            difference_lines(&original, &rendered),
            ["args[2]: \"--seed=1\" -", "args[6]: \"-tp\" -", "args[7]: \"2\" -",]
        );
    }

    #[test]
    fn server_defaults_are_not_differences() {
        let original = json!({
            "kind": "Service",
            "metadata": {"name": "a", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
            "spec": {"clusterIP": "10.0.0.1", "type": "ClusterIP", "ports": [{"port": 80, "protocol": "TCP"}]},
        });
        assert_eq!(
            difference_lines(
                &original,
                &json!({"kind": "Service", "metadata": {"annotations": {}, "name": "a"}, "spec": {"ports": [{"port": 80}]}})
            ),
            [] as [&str; 0]
        );
        let original = json!({"kind": "Service", "spec": {"type": "NodePort"}});
        assert_eq!(difference_lines(&original, &json!({"kind": "Service"})).len(), 1);
    }

    #[test]
    fn reports_every_field_that_differs() {
        let original = json!({
            "kind": "A", "status": {"x": 1},
            "metadata": {"uid": "u", "labels": {"a": "b"}, "annotations": {"kubefoundry.ai/managed-by": "other"}},
            "spec": {
                "args": ["--model", "a/b", "--seed=1", "stray", "--config={\"a\": 1}"],
                "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                "limits": {"gpu": 1},
                "tolerations": [{"effect": "NoSchedule"}, {"effect": "NoExecute"}],
                "text": "a: 1\nb: 2\n",
                "count": 1,
                "empty": {},
            },
        });
        let rendered = json!({
            "kind": "A",
            "metadata": {
                "labels": {"kubefoundry.ai/managed-by": "kubefoundry"},
                "annotations": {"kubefoundry.ai/managed-by": "kubefoundry"},
            },
            "spec": {
                "args": ["--config={\"a\":1}", "--model=a/b", "--seed=2", "--more"],
                "env": [{"name": "B", "value": "2"}, {"name": "A", "value": "0"}, {"name": "C"}],
                "limits": {"gpu": "1"},
                "tolerations": [{"effect": "NoExecute"}],
                "text": "b: 2\na: 2\n",
                "count": "1",
                "new": [1],
            },
        });
        assert_eq!(
            difference_lines(&original, &rendered),
            [
                "metadata.labels.a: \"b\" -",
                "metadata.annotations[\"kubefoundry.ai/managed-by\"]: \"other\" \"kubefoundry\"",
                "spec.args[2]: \"--seed=1\" \"--seed=2\"",
                "spec.args[3]: \"stray\" -",
                "spec.args: - \"--more\"",
                "spec.env[0].value: \"1\" \"0\"",
                "spec.env: - {\"name\":\"C\"}",
                "spec.tolerations[0]: {\"effect\":\"NoSchedule\"} -",
                "spec.text.a: 1 2",
                "spec.count: 1 \"1\"",
                "spec.new: - [1]",
            ]
        );
        assert_eq!(difference_lines(&original, &original), [""; 0]);
    }

    #[test]
    fn reports_the_new_name_of_a_part_once() {
        let original = json!({"spec": {"services": {"decode": {"replicas": 2}, "other": {}}}});
        let rendered = json!({"spec": {"services": {"VllmDecodeWorker": {"replicas": 1}}}});
        assert_eq!(
            difference_lines(&original, &rendered),
            ["spec.services.decode: \"decode\" \"VllmDecodeWorker\"", "spec.services.decode.replicas: 2 1"]
        );
    }

    #[test]
    fn the_order_of_variables_matters_if_one_refers_to_another() {
        let original = json!({"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "$(A)"}]});
        let rendered = json!({"env": [{"name": "B", "value": "$(A)"}, {"name": "A", "value": "1"}]});
        assert_eq!(difference_lines(&original, &rendered).len(), 1);
    }
}
