//! The result of importing a provider's object: the parts of a deployment, before the importer removes those that
//! rendering produces by default.

use kubefoundry_yaml::field_path::FieldPath;
use serde_json::{Map, Value};

use kubefoundry_deployment::ir::{EngineType, Role};
use kubefoundry_engines::{ImportedFlag, Launcher};

/// A provider's object to import, with the other objects of its namespace.
#[derive(Debug, Clone, Copy)]
pub struct ImportSource<'s> {
    /// The provider's main object.
    pub object: &'s Value,
    /// Other objects of the same namespace: claims, ConfigMaps, Services.
    pub siblings: &'s [&'s Value],
}

impl<'s> ImportSource<'s> {
    /// Returns the string at a JSON pointer of the object.
    pub fn string_at(&self, pointer: &str) -> Option<&'s str> {
        string_at(self.object, pointer)
    }

    /// Returns `metadata.name`, or an empty string.
    pub fn name(&self) -> &'s str {
        self.string_at("/metadata/name").unwrap_or_default()
    }

    /// Finds another object by kind and name. Returns its index in [`Self::siblings`] with it.
    pub fn find_sibling(&self, kind: &str, name: &str) -> Option<(usize, &'s Value)> {
        let objects = self.siblings.iter().copied().enumerate();
        let named = |object: &Value| {
            string_at(object, "/kind") == Some(kind) && string_at(object, "/metadata/name") == Some(name)
        };
        objects.into_iter().find(|(_, object)| named(object))
    }
}

/// An imported object beside the rendering of its draft.
pub struct Refinement<'r> {
    /// The imported object, in the form of [`Provider::unify`](crate::Provider::unify).
    pub object: &'r Value,
    /// The main object of the rendering, in the same form.
    pub rendering: &'r Value,
    /// Returns whether two values differ in more than their form. An absent value is null.
    pub differs: &'r dyn Fn(&Value, &Value) -> bool,
}

/// Returns whether a value is a list or a mapping with nothing in it.
pub fn is_empty_collection(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// Returns the string at a JSON pointer.
pub fn string_at<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    value.pointer(pointer).and_then(Value::as_str)
}

/// Returns the items of the list at a JSON pointer, or an empty slice.
pub fn items_at<'v>(value: &'v Value, pointer: &str) -> &'v [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns the entries of the mapping at a JSON pointer whose values are strings.
pub fn string_entries_at(value: &Value, pointer: &str) -> Map<String, Value> {
    let mapping = value.pointer(pointer).and_then(Value::as_object).cloned().unwrap_or_default();
    mapping.into_iter().filter(|(_, value)| value.is_string()).collect()
}

/// Returns the count at a JSON pointer: a number, or a string that holds one.
pub fn count_at(value: &Value, pointer: &str) -> Option<u32> {
    match value.pointer(pointer)? {
        Value::Number(number) => number.as_u64().and_then(|number| u32::try_from(number).ok()),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

/// Returns the Kubernetes quantity at a JSON pointer, a number or a string, as a string.
pub fn quantity_at(value: &Value, pointer: &str) -> Option<String> {
    match value.pointer(pointer)? {
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(text.clone()),
        _ => None,
    }
}

/// The field of a node affinity that the scheduler must observe.
pub const REQUIRED_AFFINITY: &str = "requiredDuringSchedulingIgnoredDuringExecution";

/// Returns the labels that a required node affinity demands, if a node selector can express them: one term whose
/// expressions have one value each.
pub fn required_node_labels(affinity: &Value) -> Option<Map<String, Value>> {
    let terms = affinity.pointer(&format!("/nodeAffinity/{REQUIRED_AFFINITY}/nodeSelectorTerms"))?.as_array()?;
    let [term] = terms.as_slice() else { return None };
    let term = term.as_object()?;
    let expressions =
        term.get("matchExpressions")?.as_array().filter(|expressions| term.len() == 1 && !expressions.is_empty())?;
    let mut labels = Map::new();
    for expression in expressions {
        let key = string_at(expression, "/key").filter(|_| string_at(expression, "/operator") == Some("In"))?;
        let [value] = items_at(expression, "/values") else { return None };
        let previous = labels.insert(key.to_owned(), Value::from(value.as_str()?));
        if previous.is_some() {
            return None;
        }
    }
    Some(labels)
}

/// The reason why an object cannot be imported, as the end of the sentence `<object> cannot be imported: `.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ImportRefusal(pub String);

/// The parts of an imported deployment.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// The engine, known from the object's command or kind.
    pub engine: EngineType,
    /// `None` where the model is among the flags of the workers.
    pub model_id: Option<String>,
    /// The model's name in the API. `None` where it is among the flags of the workers.
    pub served_name: Option<String>,
    /// Whether the model is in the image (`source: custom`).
    pub is_custom: bool,
    /// `spec.model.storage.volumes`.
    pub volumes: Vec<Value>,
    /// `spec.provider.overrides`.
    pub overrides: Map<String, Value>,
    /// One aggregated worker, or prefill and decode.
    pub workers: Vec<WorkerDraft>,
    /// The image of the engine's container.
    pub image: Option<String>,
    /// Whether the provider has a default image, so that `image` can be omitted.
    pub has_default_image: bool,
    /// `spec.env`.
    pub env: Vec<Value>,
    /// `spec.podTemplate.metadata.labels`.
    pub pod_labels: Map<String, Value>,
    /// `spec.podTemplate.metadata.annotations`.
    pub pod_annotations: Map<String, Value>,
    /// `spec.resources.sharedMemory`.
    pub shared_memory: Option<String>,
    /// `spec.probes`.
    pub probes: Map<String, Value>,
    /// `spec.volumeMounts`.
    pub volume_mounts: Vec<Value>,
    /// `spec.securityContext`.
    pub security_context: Option<Value>,
    /// `spec.frontend`.
    pub frontend: Map<String, Value>,
    /// `spec.podTemplate.spec`.
    pub pod_spec: Map<String, Value>,
    /// The name of the Secret with the token.
    pub hugging_face_token: Option<String>,
    /// `spec.imagePullSecrets`.
    pub image_pull_secrets: Vec<Value>,
    /// `spec.nodeSelector`.
    pub node_selector: Map<String, Value>,
    /// `spec.tolerations`.
    pub tolerations: Vec<Value>,
    /// Indices in [`ImportSource::siblings`] of the objects that belong to the same deployment.
    pub owned_siblings: Vec<usize>,
    /// What is written differently in the object and in the rendering, but means the same.
    pub equivalents: Equivalents,
    /// Values that the object has in another form, each with a help.
    pub resolutions: Vec<(String, &'static str)>,
    /// Fields whose values the object does not state, with the reason for the assumption.
    pub assumptions: Vec<(FieldPath, &'static str)>,
}

/// What is written differently in an object and in its rendering, but means the same.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Equivalents {
    /// Parts of the object whose names differ from those in the rendering.
    pub renames: PartRenames,
    /// Names of flags in the object, each with the canonical name.
    pub flag_names: Vec<(String, String)>,
    /// Flags with the value that the engine has without them.
    pub default_flags: Vec<ImportedFlag>,
    /// The command line that the provider runs in a container without one, such as a frontend.
    pub default_program: &'static [&'static str],
    /// Fields that make no difference in a rendering because the object implies them.
    pub implied_fields: Vec<(FieldPath, Value)>,
    /// Texts of the object, each with the text in the rendering that means the same.
    pub texts: Vec<(String, String)>,
}

impl Equivalents {
    /// Replaces the name of a flag by the canonical one.
    pub fn canonical_flag(&self, mut flag: ImportedFlag) -> ImportedFlag {
        if let Some((_, canonical)) = self.flag_names.iter().find(|(name, _)| *name == flag.name) {
            flag.name.clone_from(canonical);
        }
        flag
    }

    /// Converts the flags to canonical names, and remembers the names that were converted.
    pub fn canonicalize(&mut self, flags: Vec<ImportedFlag>, launcher: &Launcher) -> Vec<ImportedFlag> {
        for flag in &flags {
            let is_known = self.flag_names.iter().any(|(name, _)| *name == flag.name);
            if let Some(canonical) = launcher.canonical_name(&flag.name).filter(|_| !is_known) {
                self.flag_names.push((flag.name.clone(), canonical.to_owned()));
            }
        }
        flags.into_iter().map(|flag| self.canonical_flag(flag)).collect()
    }
}

/// Parts of an object, such as components, whose names differ from those in the rendering.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PartRenames {
    /// The path of the mapping whose keys are such names: `spec.services`. Items of lists have the name in `name`.
    pub mapping: &'static str,
    /// The name in the object and the name in the rendering, for each part.
    pub pairs: Vec<(String, String)>,
}

impl PartRenames {
    /// Returns the name in the rendering of a part of the object.
    pub fn rendered_name(&self, imported: &str) -> String {
        let pair = self.pairs.iter().find(|(name, _)| name == imported);
        pair.map_or(imported, |(_, rendered)| rendered).to_owned()
    }
}

/// The workers of one role.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkerDraft {
    /// The role that these workers play.
    pub role: Role,
    /// The number of replicas, 1 unless the object states another.
    pub replicas: u32,
    /// GPUs of each replica.
    pub gpu_count: u32,
    /// The resource name of the GPUs. `None` for the default, `nvidia.com/gpu`.
    pub gpu_type: Option<String>,
    /// Memory of each replica.
    pub memory: Option<String>,
    /// CPU request of each replica.
    pub cpu: Option<String>,
    /// Nodes that each replica spans.
    pub nodes: u32,
    /// Requests, limits and claims of the container that the other fields do not state, as in a core/v1
    /// ResourceRequirements.
    pub resources: Map<String, Value>,
    /// Environment variables of the container. `None` if they are those of the draft.
    pub env: Option<Vec<Value>>,
    /// Probes, mounts and security of the container that the draft does not have, by their fields in `spec.scaling.<role>`.
    pub container: Map<String, Value>,
    /// All flags of the engine, those of typed fields included.
    pub flags: Vec<ImportedFlag>,
}

impl Draft {
    /// Creates an empty draft. It has a default image unless an importer says otherwise.
    pub fn new(engine: EngineType) -> Self {
        Self {
            engine,
            model_id: None,
            served_name: None,
            is_custom: false,
            volumes: Vec::new(),
            overrides: Map::new(),
            workers: Vec::new(),
            image: None,
            has_default_image: true,
            env: Vec::new(),
            pod_labels: Map::new(),
            pod_annotations: Map::new(),
            shared_memory: None,
            probes: Map::new(),
            volume_mounts: Vec::new(),
            security_context: None,
            frontend: Map::new(),
            pod_spec: Map::new(),
            hugging_face_token: None,
            image_pull_secrets: Vec::new(),
            node_selector: Map::new(),
            tolerations: Vec::new(),
            owned_siblings: Vec::new(),
            equivalents: Equivalents::default(),
            resolutions: Vec::new(),
            assumptions: Vec::new(),
        }
    }
}

impl WorkerDraft {
    /// Creates one replica of a role without GPUs.
    pub fn new(role: Role) -> Self {
        Self {
            role,
            replicas: 1,
            gpu_count: 0,
            gpu_type: None,
            memory: None,
            cpu: None,
            nodes: 1,
            resources: Map::new(),
            env: None,
            container: Map::new(),
            flags: Vec::new(),
        }
    }
}
