//! Compares an imported object with its rendering, field by field.

use serde_json::{Map, Value};

use kubefoundry_kubernetes::api_group::API_GROUPS;
use kubefoundry_kubernetes::wire::metadata;
use kubefoundry_model::draft::PartRenames;
use kubefoundry_model::engines::{ImportedFlag, flags_from_argv};
use kubefoundry_model::provider::ServerDefault;
use kubefoundry_model::providers::PROVIDERS;
use kubefoundry_model::wire;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::field_path::FieldPath;

/// A field that differs between an imported object and its rendering.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldDifference {
    /// The path in the imported object.
    pub path: FieldPath,
    /// The imported value; `None` if only the rendering has the field.
    pub given: Option<Value>,
    /// The rendered value; `None` if only the imported object has the field.
    pub rendered: Option<Value>,
}

/// The keys that identify the items of Kubernetes lists.
const KEYS: &[&str] = &["name", "mountPath", "containerPort"];

/// Fields that an API server or a client sets without a user's intention.
const WRITTEN_BY_OTHERS: &[&str] = &[
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// Annotations in which a client stores a copy of the object.
const REPEATED: &[&str] = &["kubectl.kubernetes.io/last-applied-configuration"];

/// The annotation with the reason of a selection. It is ignored, because the configurations of that time are unknown.
const REASON: &str = "/selected-reason";

/// Labels and annotations of every rendered object.
const MARKS: &[&str] = &["managed-by", "model-deployment", "selected-reason", "model-source"];

/// Returns the differences between an imported object and its rendering. It ignores fields that servers and clients
/// set, the labels and annotations of ownership, and orders without effect: of flags, and of lists whose items have
/// names.
/// `names` are items and entries with another name in the rendering.
pub fn differences(given: &Value, rendered: &Value, names: &PartRenames) -> Vec<FieldDifference> {
    let kind = given.get("kind").and_then(Value::as_str).unwrap_or_default();
    let mut found = Comparison { names, kind, found: Vec::new() };
    let (given, rendered) = (user_fields(given), user_fields(rendered));
    found.compare_values(&FieldPath::root(), &given, &rendered);
    found.found
}

/// Returns an object without the fields that servers and clients set.
fn user_fields(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.shift_remove("status");
    }
    if let Some(metadata) = object.pointer_mut("/metadata").and_then(Value::as_object_mut) {
        metadata.retain(|key, _| !WRITTEN_BY_OTHERS.contains(&key.as_str()));
        // The new owner is the ModelDeployment that results from the import.
        if let Some(owners) = metadata.get_mut("ownerReferences").and_then(Value::as_array_mut) {
            owners.retain(|owner| owner.get("kind").and_then(Value::as_str) != Some(wire::KIND));
        }
    }
    if let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        let is_of_storage = |key: &str| OF_STORAGE.iter().any(|prefix| key.starts_with(prefix));
        annotations.retain(|key, _| !REPEATED.contains(&key.as_str()) && !key.ends_with(REASON) && !is_of_storage(key));
    }
    object
}

struct Comparison<'n> {
    names: &'n PartRenames,
    kind: &'n str,
    found: Vec<FieldDifference>,
}

impl Comparison<'_> {
    fn add(&mut self, path: &FieldPath, given: Option<&Value>, rendered: Option<&Value>) {
        let is_mark = given.is_none() && is_mark(path);
        let is_default = rendered.is_none() && given.is_some_and(|given| is_default(self.kind, path, given));
        if !is_mark && !is_default {
            let (given, rendered) = (given.cloned(), rendered.cloned());
            self.found.push(FieldDifference { path: path.clone(), given, rendered });
        }
    }

    fn compare_values(&mut self, path: &FieldPath, given: &Value, rendered: &Value) {
        match (given, rendered) {
            (Value::Object(one), Value::Object(other)) => self.compare_objects(path, one, other),
            (Value::Array(one), Value::Array(other)) => self.compare_lists(path, one, other),
            (Value::String(one), Value::String(other)) if one != other => match (mapping(one), mapping(other)) {
                (Some(one), Some(other)) => self.compare_values(path, &one, &other),
                _ => self.add(path, Some(given), Some(rendered)),
            },
            _ if same_scalar(path, given, rendered) => {}
            _ => self.add(path, Some(given), Some(rendered)),
        }
    }

    fn compare_objects(&mut self, path: &FieldPath, given: &Map<String, Value>, rendered: &Map<String, Value>) {
        // Only the map of components has renamed entries.
        let renames = !self.names.pairs.is_empty() && path.to_string() == self.names.mapping;
        let ours = |key: &str| {
            let renamed = self.names.pairs.iter().find(|(theirs, _)| renames && theirs == key);
            renamed.map_or(key.to_owned(), |(_, ours)| ours.clone())
        };
        let keys: Vec<(&String, String)> = given.keys().map(|key| (key, ours(key))).collect();
        for (key, ours) in &keys {
            let at = path.key((*key).clone());
            let (one, other) = (
                given.get(*key).filter(|value| is_non_empty(value)),
                rendered.get(ours).filter(|value| is_non_empty(value)),
            );
            match (one, other) {
                (Some(one), Some(other)) => {
                    if *key != ours {
                        self.add(&at, Some(&Value::from(key.as_str())), Some(&Value::from(ours.as_str())));
                    }
                    self.compare_values(&at, one, other);
                }
                (Some(one), None) => self.add(&at, Some(one), None),
                (None, Some(other)) => self.compare_added(&at, other),
                (None, None) => {}
            }
        }
        for (key, other) in rendered.iter().filter(|(_, other)| is_non_empty(other)) {
            if !keys.iter().any(|(_, ours)| ours == key) {
                self.compare_added(&path.key(key.clone()), other);
            }
        }
    }

    /// Records a field that only the rendering has; labels and annotations are recorded one by one.
    fn compare_added(&mut self, path: &FieldPath, rendered: &Value) {
        match rendered {
            Value::Object(entries) if *path == *metadata().labels() || *path == *metadata().annotations() => {
                for (key, value) in entries {
                    self.add(&path.key(key.clone()), None, Some(value));
                }
            }
            _ => self.add(path, None, Some(rendered)),
        }
    }

    fn compare_lists(&mut self, path: &FieldPath, given: &[Value], rendered: &[Value]) {
        let is_args = path.to_string().ends_with("args");
        if let (Some(one), Some(other), true) = (texts(given), texts(rendered), is_args) {
            self.compare_arguments(path, &one, &other);
            return;
        }
        let all: Vec<&Value> = given.iter().chain(rendered).collect();
        if let ([one], [other]) = (given, rendered)
            && one.is_object()
            && other.is_object()
        {
            self.compare_values(&path.index(0), one, other);
            return;
        }
        let of_providers = PROVIDERS.iter().flat_map(|provider| provider.info().list_keys).flat_map(|list| list.keys);
        let mut keys = KEYS.iter().chain(of_providers);
        let Some(key) = keys.find(|key| all.iter().all(|item| item.get(**key).is_some())) else {
            self.compare_unnamed_items(path, given, rendered);
            return;
        };
        let name = |item: &Value| item.get(*key).map_or(String::new(), Value::to_string);
        let ours = |item: &Value| {
            let name = name(item);
            let renamed = self.names.pairs.iter().find(|(theirs, _)| format!("{theirs:?}") == name);
            renamed.map_or(name, |(_, ours)| Value::from(ours.as_str()).to_string())
        };
        let expected: Vec<String> = given.iter().map(ours).collect();
        for (index, (item, expected)) in given.iter().zip(&expected).enumerate() {
            let at = path.index(index);
            match rendered.iter().find(|other| name(other) == *expected) {
                Some(other) => self.compare_values(&at, item, other),
                None => self.add(&at, Some(item), None),
            }
        }
        for other in rendered.iter().filter(|other| !expected.contains(&name(other))) {
            self.add(path, None, Some(other));
        }
        // A variable may refer to earlier ones, so the order can matter.
        let uses = |item: &&Value| item.get("value").and_then(Value::as_str).is_some_and(|value| value.contains("$("));
        let order = |items: &[Value]| items.iter().map(name).collect::<Vec<_>>();
        let mut sorted = (expected.clone(), order(rendered));
        sorted.0.sort();
        sorted.1.sort();
        if given.iter().any(|item| uses(&item)) && sorted.0 == sorted.1 && expected != order(rendered) {
            self.add(path, Some(&Value::from(expected)), Some(&Value::from(order(rendered))));
        }
    }

    /// Compares lists whose items have no names: records the items that only one of them has.
    fn compare_unnamed_items(&mut self, path: &FieldPath, given: &[Value], rendered: &[Value]) {
        let mut left: Vec<&Value> = rendered.iter().collect();
        let mut lost = false;
        for (index, item) in given.iter().enumerate() {
            if let Some(position) = left.iter().position(|other| *other == item) {
                left.remove(position);
            } else {
                lost = true;
                self.add(&path.index(index), Some(item), None);
            }
        }
        for other in &left {
            self.add(path, None, Some(other));
        }
        let is_order = !lost && left.is_empty() && given != rendered;
        if is_order {
            self.add(path, Some(&Value::from(given.to_vec())), Some(&Value::from(rendered.to_vec())));
        }
    }

    /// Compares flags of a command line, independent of their order and spelling.
    fn compare_arguments(&mut self, path: &FieldPath, given: &[String], rendered: &[String]) {
        let (one, mut other) = (flags_from_argv(given), flags_from_argv(rendered));
        let mut left = Vec::new();
        let mut start = 0;
        for flag in one {
            let at = path.index(start);
            let is_joined = given.get(start).is_some_and(|element| element.starts_with("--") && element.contains('='));
            start += if flag.name.is_empty() || is_joined { 1 } else { 1 + flag.values.len() };
            let same =
                |candidate: &ImportedFlag| candidate.name == flag.name && same_values(&candidate.values, &flag.values);
            match other.iter().position(same) {
                Some(position) => drop(other.remove(position)),
                None => left.push((at, flag)),
            }
        }
        // The remaining flags have another value or exist on one side only.
        for (at, flag) in left {
            let position = other.iter().position(|other| other.name == flag.name && !flag.name.is_empty());
            let replaced = position.map(|position| other.remove(position));
            self.add(&at, Some(&flag_text(&flag)), replaced.as_ref().map(flag_text).as_ref());
        }
        for flag in &other {
            self.add(path, None, Some(&flag_text(flag)));
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
pub(super) fn same_values(given: &[String], rendered: &[String]) -> bool {
    let json = |values: &[String]| match values {
        [value] if value.starts_with(['{', '[']) => serde_json::from_str::<Value>(value).ok(),
        _ => None,
    };
    given == rendered || json(given).is_some_and(|one| json(rendered) == Some(one))
}

fn texts(items: &[Value]) -> Option<Vec<String>> {
    items.iter().map(|item| item.as_str().map(str::to_owned)).collect()
}

/// Returns whether a value is not empty. An empty value is equivalent to an absent one.
fn is_non_empty(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    }
}

/// Returns whether two scalars are equal, or are the same quantity, once as a number and once as text.
fn same_scalar(path: &FieldPath, given: &Value, rendered: &Value) -> bool {
    let is_amount = path.to_string().split(['.', '[']).any(|step| matches!(step, "limits" | "requests"));
    let plain = |value: &Value| match value {
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(text.clone()),
        _ => None,
    };
    given == rendered || is_amount && plain(given).is_some() && plain(given) == plain(rendered)
}

/// Parses a text of several lines as a mapping.
fn mapping(text: &str) -> Option<Value> {
    let parsed = yaml::parse(text, &yaml::Limits::default());
    let [document] = parsed.documents.as_slice() else { return None };
    Some(document.root.to_json()).filter(|value| value.is_object() && parsed.failure.is_none())
}

const fn server_default(kind: &'static str, path: &'static str, value: &'static str) -> ServerDefault {
    ServerDefault { kind, path, value }
}

/// Fields of built-in types that an API server or a controller sets by default. Providers list those of their own
/// kinds.
const BUILT_IN: &[ServerDefault] = &[
    server_default("", "protocol", r#""TCP""#),
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

/// Returns whether a field has the default that a server sets.
fn is_default(kind: &str, path: &FieldPath, value: &Value) -> bool {
    let text = path.to_string();
    let of_providers = PROVIDERS.iter().flat_map(|provider| provider.info().server_defaults);
    BUILT_IN.iter().chain(of_providers).any(|field| {
        let is_there = text.strip_suffix(field.path).is_some_and(|above| above.is_empty() || above.ends_with('.'));
        let same = || serde_json::from_str::<Value>(field.value).is_ok_and(|default| default == *value);
        (field.kind.is_empty() || field.kind == kind) && is_there && (field.value.is_empty() || same())
    })
}

/// Prefixes of annotations that bind storage to a claim.
const OF_STORAGE: &[&str] = &["pv.kubernetes.io/", "volume.kubernetes.io/", "volume.beta.kubernetes.io/"];

/// Returns whether a field is a label or annotation of ownership.
fn is_mark(path: &FieldPath) -> bool {
    let kubefoundry_yaml::field_path::Segment::Key(key) =
        path.segments().last().cloned().unwrap_or(kubefoundry_yaml::field_path::Segment::Index(0))
    else {
        return false;
    };
    let of_metadata = path.starts_with(&metadata().labels()) || path.starts_with(&metadata().annotations());
    of_metadata && API_GROUPS.iter().any(|api_group| MARKS.iter().any(|mark| *api_group.label(mark) == *key))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(given: &Value, rendered: &Value) -> Vec<String> {
        let pairs = vec![("decode".to_owned(), "VllmDecodeWorker".to_owned())];
        let differences = differences(given, rendered, &PartRenames { mapping: "spec.services", pairs });
        let line = |it: FieldDifference| {
            let show = |value: Option<Value>| value.map_or("-".to_owned(), |value| value.to_string());
            format!("{}: {} {}", it.path, show(it.given), show(it.rendered))
        };
        differences.into_iter().map(line).collect()
    }

    #[test]
    fn equal_flags_are_paired_first() {
        let given = json!({"args": ["--model", "a", "--seed", "1", "--seed", "2", "-tp", "2"]});
        let rendered = json!({"args": ["--seed=2", "--model=a"]});
        assert_eq!(found(&given, &rendered), ["args[2]: \"--seed=1\" -", "args[6]: \"-tp\" -", "args[7]: \"2\" -",]);
    }

    #[test]
    fn server_defaults_are_not_differences() {
        let given = json!({
            "kind": "Service",
            "metadata": {"name": "a", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
            "spec": {"clusterIP": "10.0.0.1", "type": "ClusterIP", "ports": [{"port": 80, "protocol": "TCP"}]},
        });
        assert_eq!(
            found(
                &given,
                &json!({"kind": "Service", "metadata": {"annotations": {}, "name": "a"}, "spec": {"ports": [{"port": 80}]}})
            ),
            [] as [&str; 0]
        );
        let given = json!({"kind": "Service", "spec": {"type": "NodePort"}});
        assert_eq!(found(&given, &json!({"kind": "Service"})).len(), 1);
    }

    #[test]
    fn every_field_that_differs_is_found() {
        let given = json!({
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
            found(&given, &rendered),
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
        assert_eq!(found(&given, &given), [""; 0]);
    }

    #[test]
    fn names_of_parts_are_one_difference_each() {
        let given = json!({"spec": {"services": {"decode": {"replicas": 2}, "other": {}}}});
        let rendered = json!({"spec": {"services": {"VllmDecodeWorker": {"replicas": 1}}}});
        assert_eq!(
            found(&given, &rendered),
            ["spec.services.decode: \"decode\" \"VllmDecodeWorker\"", "spec.services.decode.replicas: 2 1"]
        );
    }

    #[test]
    fn the_order_of_variables_matters_where_they_use_each_other() {
        let given = json!({"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "$(A)"}]});
        let rendered = json!({"env": [{"name": "B", "value": "$(A)"}, {"name": "A", "value": "1"}]});
        assert_eq!(found(&given, &rendered).len(), 1);
    }
}
