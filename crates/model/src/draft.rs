//! What an import reads out of an object of a provider: the parts of a deployment, before it is known which of them a
//! rendering would make by itself.

use kubefoundry_yaml::field_path::FieldPath;
use serde_json::{Map, Value};

use super::engines::ImportedFlag;
use super::ir::{EngineType, Role};

/// An object to read, and what lies beside it.
#[derive(Debug, Clone, Copy)]
pub struct ImportSource<'s> {
    /// The object.
    pub object: &'s Value,
    /// Objects of the same namespace: claims, ConfigMaps, Services.
    pub siblings: &'s [&'s Value],
}

impl<'s> ImportSource<'s> {
    /// A text in the object, by its JSON pointer.
    pub fn string_at(&self, pointer: &str) -> Option<&'s str> {
        string_at(self.object, pointer)
    }

    /// The object's name.
    pub fn name(&self) -> &'s str {
        self.string_at("/metadata/name").unwrap_or_default()
    }

    /// The object of this kind and name that lies beside it, and its position there.
    pub fn find_sibling(&self, kind: &str, name: &str) -> Option<(usize, &'s Value)> {
        let objects = self.siblings.iter().copied().enumerate();
        let named = |object: &Value| {
            string_at(object, "/kind") == Some(kind) && string_at(object, "/metadata/name") == Some(name)
        };
        objects.into_iter().find(|(_, object)| named(object))
    }
}

/// A text in a value, by its JSON pointer.
pub fn string_at<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    value.pointer(pointer).and_then(Value::as_str)
}

/// The items of a list in a value, by its JSON pointer; none when there is no list.
pub fn items_at<'v>(value: &'v Value, pointer: &str) -> &'v [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The texts of a list in a value, by its JSON pointer.
pub fn strings_at(value: &Value, pointer: &str) -> Vec<String> {
    items_at(value, pointer).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The entries of a mapping of texts in a value, by its JSON pointer.
pub fn string_entries_at(value: &Value, pointer: &str) -> Map<String, Value> {
    let mapping = value.pointer(pointer).and_then(Value::as_object).cloned().unwrap_or_default();
    mapping.into_iter().filter(|(_, value)| value.is_string()).collect()
}

/// A count in a value, by its JSON pointer: a number, or text of one.
pub fn count_at(value: &Value, pointer: &str) -> Option<u32> {
    match value.pointer(pointer)? {
        Value::Number(number) => number.as_u64().and_then(|number| u32::try_from(number).ok()),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

/// A quantity in a value, by its JSON pointer, as text.
pub fn quantity_at(value: &Value, pointer: &str) -> Option<String> {
    match value.pointer(pointer)? {
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(text.clone()),
        _ => None,
    }
}

/// Why no deployment can be read out of an object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ImportRefusal(pub String);

/// The parts of a deployment.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// Which engine.
    pub engine: EngineType,
    /// The model's id, when it is not among the flags.
    pub model_id: Option<String>,
    /// The name in the API, when it is not among the flags.
    pub served_name: Option<String>,
    /// Whether the model is in the image.
    pub is_custom: bool,
    /// `spec.model.storage.volumes`.
    pub volumes: Vec<Value>,
    /// `spec.provider.overrides`.
    pub overrides: Map<String, Value>,
    /// One kind of worker, or prefill and decode.
    pub workers: Vec<WorkerDraft>,
    /// The image of the engine.
    pub image: Option<String>,
    /// Whether the provider could do without an image of the user's.
    pub has_default_image: bool,
    /// Environment of the engine.
    pub env: Vec<Value>,
    /// Labels of the pods.
    pub pod_labels: Map<String, Value>,
    /// Annotations of the pods.
    pub pod_annotations: Map<String, Value>,
    /// The Secret with the token.
    pub hugging_face_token: Option<String>,
    /// Secrets to pull images with.
    pub image_pull_secrets: Vec<Value>,
    /// Labels that nodes must have.
    pub node_selector: Map<String, Value>,
    /// Taints that are tolerated.
    pub tolerations: Vec<Value>,
    /// Which objects beside it are parts of the same deployment.
    pub parts: Vec<usize>,
    /// Parts of the object that have other names than in a rendering.
    pub names: PartRenames,
    /// Fields that had to be made up, and why.
    pub assumed: Vec<(FieldPath, &'static str)>,
}

/// Names of an object's parts, such as components, that differ from those that a rendering gives them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PartRenames {
    /// The mapping whose keys are such names: `spec.services`. Items of lists have them as `name`.
    pub mapping: &'static str,
    /// Each name in the object, and the one that a rendering gives that part.
    pub pairs: Vec<(String, String)>,
}

/// One kind of worker.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkerDraft {
    /// What it does.
    pub role: Role,
    /// How many.
    pub replicas: u32,
    /// GPUs of each.
    pub gpu_count: u32,
    /// The GPU's resource name.
    pub gpu_type: Option<String>,
    /// Memory of each.
    pub memory: Option<String>,
    /// CPU of each.
    pub cpu: Option<String>,
    /// What sets the engine.
    pub flags: Vec<ImportedFlag>,
}

impl Draft {
    /// One of an engine, with nothing else.
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
            parts: Vec::new(),
            names: PartRenames::default(),
            assumed: Vec::new(),
        }
    }
}

impl WorkerDraft {
    /// One worker of a role, without GPUs.
    pub fn new(role: Role) -> Self {
        Self { role, replicas: 1, gpu_count: 0, gpu_type: None, memory: None, cpu: None, flags: Vec::new() }
    }
}
