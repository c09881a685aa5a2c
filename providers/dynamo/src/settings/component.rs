//! What the overrides say about single components: name, type, and fields of the pods and of the container that no field
//! of a deployment has.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::RESERVED_POD_LABELS;
use crate::codes::{COMPONENT_FIELD_ELSEWHERE, COMPONENT_SETTING_WITHOUT_EFFECT};
use crate::component::ComponentKind;
use crate::overrides::{self, ComponentMetadata, StackFlag, WorkerComponent, WorkerType};
use crate::settings::frontend::merge_entries;
use kubefoundry_deployment::codes;
use kubefoundry_deployment::ir::{Deployment, Role};
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_deployment::wire::RESERVED_KEYS;
use kubefoundry_diagnostics::{FieldRef, Findings};
use kubefoundry_kubernetes::check::Checker;
use kubefoundry_kubernetes::pod::PodMetadata;
use kubefoundry_kubernetes::wire::{self, Nullable, PathOf, ValuePath};
use kubefoundry_provider::draft::is_empty_collection;
use kubefoundry_transform::PodPart;
use kubefoundry_yaml::Node;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::infallible::to_json;
use kubefoundry_yaml::text::shorten;

/// The maximum length of a component's name (`v1beta1`'s CRD).
const MAX_NAME_CHARS: usize = 63;

/// The settings of one component.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ComponentSettings {
    pub(crate) name: Option<String>,
    pub(crate) kind: Option<ComponentKind>,
    /// Flags that are not added.
    pub(crate) omitted_flags: Vec<StackFlag>,
    /// Labels and annotations of the pods, `None` for a removed one.
    metadata: ComponentMetadata,
    /// Fields of core/v1 PodSpec, `null` for a removed one.
    pub(crate) pod: Map<String, Value>,
    /// Fields of core/v1 Container, `null` for a removed one.
    pub(crate) container: Map<String, Value>,
}

/// The settings of the components of workers.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct WorkerSettings(pub(crate) Vec<(Role, ComponentSettings)>);

/// The fields of the frontend's container that other fields decide.
pub(crate) const FRONTEND_FIELDS_ELSEWHERE: &[&str] =
    &["args", "command", "env", "envFrom", "image", "name", "resources"];
/// The fields of an engine's container that other fields decide.
pub(crate) const WORKER_FIELDS_ELSEWHERE: &[&str] = &[
    "args",
    "command",
    "env",
    "envFrom",
    "image",
    "livenessProbe",
    "name",
    "readinessProbe",
    "resources",
    "securityContext",
    "startupProbe",
    "volumeMounts",
];

/// Returns what decides a field of a container, for the end of a sentence.
fn decided_by(field: &str, is_frontend: bool) -> String {
    let spec = || ModelDeployment::path().spec();
    let path: FieldPath = match (field, is_frontend) {
        ("args" | "command", true) => spec().frontend().args().into(),
        ("args" | "command", false) => spec().engine().args().into(),
        ("env", true) => spec().frontend().env().into(),
        ("env", false) => spec().env().into(),
        ("envFrom", true) => overrides::path().frontend().hugging_face_token().into(),
        ("envFrom", false) => spec().secrets().hugging_face_token().into(),
        ("image", true) => overrides::path().frontend().image().into(),
        ("image", false) => spec().image().into(),
        ("livenessProbe", _) => spec().probes().liveness().into(),
        ("readinessProbe", _) => spec().probes().readiness().into(),
        ("resources", true) => spec().frontend().resources().into(),
        ("resources", false) => spec().resources().into(),
        ("securityContext", _) => spec().security_context().into(),
        ("startupProbe", _) => spec().probes().startup().into(),
        ("volumeMounts", _) => spec().volume_mounts().into(),
        _ => return "Dynamo's operator decides it".to_owned(),
    };
    format!("{path} decides it")
}

impl ComponentSettings {
    /// Reads the settings of the frontend, and reports what is wrong in them.
    pub(crate) fn of_frontend(
        deployment: &Deployment,
        name: Option<String>,
        metadata: Option<ComponentMetadata>,
        pod: Option<wire::Map<Node<'static>>>,
        container: Option<wire::Map<Node<'static>>>,
        findings: &mut Findings<'_>,
    ) -> Self {
        let path = || overrides::path().frontend();
        let name = name.filter(|name| check_name(name, &path().name(), findings));
        let elsewhere = |field: &str| FRONTEND_FIELDS_ELSEWHERE.contains(&field).then(|| decided_by(field, true));
        Self {
            name,
            kind: None,
            omitted_flags: Vec::new(),
            metadata: check_metadata(metadata, || path().metadata(), deployment, findings),
            pod: read_pod(pod, || path().pod().into(), findings),
            container: read_fields(container, || path().container().into(), elsewhere, findings),
        }
    }

    fn of_worker(
        deployment: &Deployment,
        worker: WorkerComponent,
        path: &PathOf<WorkerComponent>,
        findings: &mut Findings<'_>,
    ) -> Self {
        let WorkerComponent { name, component_type, omit_flags, metadata, pod, container } = worker;
        let elsewhere = |field: &str| WORKER_FIELDS_ELSEWHERE.contains(&field).then(|| decided_by(field, false));
        let path = || path.clone();
        Self {
            name: name.filter(|name| check_name(name, &path().name(), findings)),
            kind: component_type.map(|kind| match kind {
                WorkerType::Worker => ComponentKind::Worker,
                WorkerType::Prefill => ComponentKind::Prefill,
                WorkerType::Decode => ComponentKind::Decode,
            }),
            omitted_flags: omit_flags.unwrap_or_default(),
            metadata: check_metadata(metadata, || path().metadata(), deployment, findings),
            pod: read_pod(pod, || path().pod().into(), findings),
            container: read_fields(container, || path().container().into(), elsewhere, findings),
        }
    }
}

impl ComponentSettings {
    /// Merges the labels and annotations of the component over those of all pods.
    pub(crate) fn merge_metadata(&self, common: Option<PodMetadata>) -> Option<PodMetadata> {
        if self.metadata == ComponentMetadata::default() {
            return common;
        }
        let mut merged = common.unwrap_or_default();
        let ComponentMetadata { labels, annotations } = &self.metadata;
        for (target, changes) in [(&mut merged.labels, labels), (&mut merged.annotations, annotations)] {
            let changes = changes.iter().flat_map(|changes| &changes.0);
            merge_entries(&mut target.0, changes.map(|(key, Nullable(value))| (key, value)));
        }
        (merged != PodMetadata::default()).then_some(merged)
    }
}

/// Checks labels and annotations like those of all pods, and refuses the labels that the operator sets.
fn check_metadata(
    metadata: Option<ComponentMetadata>,
    path: impl Fn() -> PathOf<ComponentMetadata>,
    deployment: &Deployment,
    findings: &mut Findings<'_>,
) -> ComponentMetadata {
    let Some(metadata) = metadata else { return ComponentMetadata::default() };
    let written = |map: &Option<wire::Map<Nullable<String>>>| -> Vec<(String, String)> {
        let entries = map.iter().flat_map(|map| &map.0);
        entries.filter_map(|(key, Nullable(value))| Some((key.clone(), value.clone()?))).collect()
    };
    let (labels, annotations) = (written(&metadata.labels), written(&metadata.annotations));
    let (labels_path, annotations_path) = (FieldPath::from(path().labels()), FieldPath::from(path().annotations()));
    let mut check = Checker { api_group: Some(deployment.api_group), findings };
    check.check_labels(&labels_path, &labels);
    check.check_reserved_keys(&labels_path, RESERVED_KEYS, &labels);
    check.check_annotations(&annotations_path, &annotations);
    check.check_reserved_keys(&annotations_path, RESERVED_KEYS, &annotations);
    for (key, _) in labels.iter().filter(|(key, _)| RESERVED_POD_LABELS.contains(&key.as_str())) {
        let at = labels_path.key(key.clone());
        let message = format!("{at} cannot be set here: Dynamo's operator decides it");
        findings.report(&COMPONENT_FIELD_ELSEWHERE, FieldRef::key(&at), message).help("remove it here");
    }
    metadata
}

impl WorkerSettings {
    /// Reads the settings of the worker, and of the prefill and the decode workers. Those of workers that the deployment
    /// does not have are reported.
    pub(crate) fn read(
        deployment: &Deployment,
        [worker, prefill, decode]: [Option<WorkerComponent>; 3],
        findings: &mut Findings<'_>,
    ) -> Self {
        let mut settings = Vec::new();
        for (role, worker) in [(Role::Aggregated, worker), (Role::Prefill, prefill), (Role::Decode, decode)] {
            let Some(worker) = worker else { continue };
            let path = worker_path(role);
            if !deployment.workload.workers().into_iter().any(|worker| worker.role == role) {
                let mode = deployment.workload.mode();
                let path = FieldPath::from(path);
                let message = format!("{path} has no effect: in {mode} mode there is no such component");
                findings.report(&COMPONENT_SETTING_WITHOUT_EFFECT, FieldRef::key(&path), message).help("remove it");
                continue;
            }
            let read = ComponentSettings::of_worker(deployment, worker, &path, findings);
            check_mode_is_not_omitted(role, &read, &path, findings);
            settings.push((role, read));
        }
        Self(settings)
    }

    /// Warns about an omitted flag that is not added anyway.
    pub(crate) fn check_omitted_flags(&self, role: Role, added: &[StackFlag], findings: &mut Findings<'_>) {
        let flags = self.of(role).map(|settings| settings.omitted_flags.as_slice()).unwrap_or_default();
        for (index, flag) in flags.iter().enumerate().filter(|(_, flag)| !added.contains(flag)) {
            let path = worker_path(role).omit_flags().index(index);
            let message = format!("{path} is {}, which these workers do not get anyway", flag.as_str());
            findings.report(&COMPONENT_SETTING_WITHOUT_EFFECT, &path, message).help("remove it");
        }
    }

    /// Returns the flags that any workers omit.
    pub(crate) fn omitted_flags(&self) -> Vec<&'static str> {
        self.0.iter().flat_map(|(_, settings)| &settings.omitted_flags).map(|flag| flag.as_str()).collect()
    }

    /// Returns the settings of the workers of a role.
    pub(crate) fn of(&self, role: Role) -> Option<&ComponentSettings> {
        self.0.iter().find(|(other, _)| *other == role).map(|(_, settings)| settings)
    }
}

/// Returns the path of the overrides of the workers of a role.
pub(crate) fn worker_path(role: Role) -> PathOf<WorkerComponent> {
    match role {
        Role::Aggregated => overrides::path().worker(),
        Role::Prefill => overrides::path().prefill(),
        Role::Decode => overrides::path().decode(),
    }
}

/// Reports workers other than those that decode without the flag that gives them their role. Without it, a worker decodes
/// what others prefill, and prefills what they do not.
fn check_mode_is_not_omitted(
    role: Role,
    settings: &ComponentSettings,
    path: &PathOf<WorkerComponent>,
    findings: &mut Findings<'_>,
) {
    let position = settings.omitted_flags.iter().position(|flag| *flag == StackFlag::DisaggregationMode);
    if let Some(index) = position.filter(|_| role == Role::Prefill) {
        let path = path.clone().omit_flags().index(index);
        let message = format!("{path} is disaggregation-mode, without which no worker prefills");
        findings.report(&COMPONENT_FIELD_ELSEWHERE, &path, message).help("remove it here");
    }
}

/// Returns whether a component may have a name (`spec.components[].name` of `v1beta1`).
pub(crate) fn is_name(name: &str) -> bool {
    let is_alphanumeric = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = name.as_bytes();
    bytes.len() <= MAX_NAME_CHARS
        && is_alphanumeric(bytes.first())
        && is_alphanumeric(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
}

fn check_name(name: &str, path: &ValuePath, findings: &mut Findings<'_>) -> bool {
    if is_name(name) {
        return true;
    }
    let message = format!(
        "{path} is {:?}, expected at most {MAX_NAME_CHARS} letters, digits and '-', starting and ending with a letter or \
         digit",
        shorten(name)
    );
    findings.report(&codes::INVALID_NAME, path, message);
    false
}

fn read_pod(
    fields: Option<wire::Map<Node<'static>>>,
    path: impl Fn() -> FieldPath,
    findings: &mut Findings<'_>,
) -> Map<String, Value> {
    let elsewhere = |field: &str| (field == "containers").then(|| "the container has its own key".to_owned());
    read_fields(fields, path, elsewhere, findings)
}

/// Returns the fields that overrides may set, and reports the others.
fn read_fields(
    fields: Option<wire::Map<Node<'static>>>,
    path: impl Fn() -> FieldPath,
    elsewhere: impl Fn(&str) -> Option<String>,
    findings: &mut Findings<'_>,
) -> Map<String, Value> {
    let mut read = Map::new();
    for (field, value) in fields.map(|fields| fields.0).unwrap_or_default() {
        match elsewhere(&field) {
            Some(reason) => {
                let at = path().with_key(field);
                let message = format!("{at} cannot be set here: {reason}");
                findings.report(&COMPONENT_FIELD_ELSEWHERE, FieldRef::key(&at), message).help("remove it here");
            }
            None => drop(read.insert(field, value.to_json())),
        }
    }
    read
}

/// A part of a pod, as the deployment says it or with the fields that a component replaces.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum PodFields<T> {
    /// The part without replaced fields.
    Generated(T),
    /// The fields of the part after the replacement.
    Replaced(Map<String, Value>),
}

impl<T: Serialize> PodFields<T> {
    /// Replaces fields of a part.
    pub(crate) fn replace(part: T, replaced: &Map<String, Value>) -> Self {
        if replaced.is_empty() {
            return Self::Generated(part);
        }
        let mut fields = match to_json(&part) {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        for (key, value) in replaced {
            // A list or mapping that is empty says as much as an absent one.
            let is_empty = is_empty_collection(value);
            if value.is_null() || is_empty && fields.get(key).is_some_and(|value| !value.is_null()) {
                fields.shift_remove(key);
            } else if !is_empty {
                fields.insert(key.clone(), value.clone());
            }
        }
        Self::Replaced(fields)
    }
}

/// Returns the paths of the fields of pods that a frontend or a worker replaces, each with its place in core/v1 PodSpec.
pub(crate) fn pod_parts(deployment: &Deployment) -> Vec<PodPart> {
    let mut parts = Vec::new();
    let Some(written) = &deployment.provider.overrides else { return parts };
    let path = FieldPath::from(overrides::path());
    for component in ["frontend", "worker", "prefill", "decode"] {
        for (part, prefix) in [("pod", ""), ("container", "containers.*.")] {
            let fields = written.get(component).and_then(|overrides| overrides.get(part)).map(Node::entries);
            for entry in fields.into_iter().flatten() {
                let path = path.key(component).key(part).key(entry.key.clone().into_owned());
                parts.push(PodPart { path, field: format!("{prefix}{}", entry.key).into() });
            }
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_replaced_added_and_removed() {
        let part = json!({"tolerations": [1], "affinity": {"a": 1}, "nodeSelector": {"a": "b"}});
        let replaced = json!({"tolerations": [], "affinity": null, "nodeSelector": {"c": "d"}, "dnsPolicy": "None"});
        let PodFields::Replaced(fields) = PodFields::replace(part, replaced.as_object().unwrap()) else {
            panic!("expected replaced fields");
        };
        assert_eq!(Value::Object(fields), json!({"nodeSelector": {"c": "d"}, "dnsPolicy": "None"}));
    }

    #[test]
    fn names_are_those_of_the_crd() {
        assert!(is_name("VllmWorker") && is_name("a") && is_name("0-9"));
        assert!(!is_name("") && !is_name("-a") && !is_name("a-") && !is_name("a.b") && !is_name(&"a".repeat(64)));
    }
}
