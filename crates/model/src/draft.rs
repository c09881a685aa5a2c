//! The result of importing a provider's object: the parts of a deployment, before the importer removes those that
//! rendering produces by default.

use kubefoundry_yaml::field_path::FieldPath;
use serde_json::{Map, Value};

use super::engines::ImportedFlag;
use super::ir::{EngineType, Role};

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

/// Returns the string at a JSON pointer.
pub fn string_at<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    value.pointer(pointer).and_then(Value::as_str)
}

/// Returns the items of the list at a JSON pointer, or an empty slice.
pub fn items_at<'v>(value: &'v Value, pointer: &str) -> &'v [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns the strings of the list at a JSON pointer. Items of other types are skipped.
pub fn strings_at(value: &Value, pointer: &str) -> Vec<String> {
    items_at(value, pointer).iter().filter_map(Value::as_str).map(str::to_owned).collect()
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
    /// Parts of the object whose names differ from those in the rendering.
    pub renames: PartRenames,
    /// Fields whose values the object does not state, with the reason for the assumption.
    pub assumptions: Vec<(FieldPath, &'static str)>,
}

/// Parts of an object, such as components, whose names differ from those in the rendering.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PartRenames {
    /// The path of the mapping whose keys are such names: `spec.services`. Items of lists have the name in `name`.
    pub mapping: &'static str,
    /// The name in the object and the name in the rendering, for each part.
    pub pairs: Vec<(String, String)>,
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
            hugging_face_token: None,
            image_pull_secrets: Vec::new(),
            node_selector: Map::new(),
            tolerations: Vec::new(),
            owned_siblings: Vec::new(),
            renames: PartRenames::default(),
            assumptions: Vec::new(),
        }
    }
}

impl WorkerDraft {
    /// Creates one replica of a role without GPUs.
    pub fn new(role: Role) -> Self {
        Self { role, replicas: 1, gpu_count: 0, gpu_type: None, memory: None, cpu: None, flags: Vec::new() }
    }
}
