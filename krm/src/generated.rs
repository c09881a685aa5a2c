//! Converts generated objects to items. Only this module reads the content of generated objects.

use std::collections::BTreeMap;

use kubefoundry_compiler::Output;
use kubefoundry_kubernetes::manifest::Identity;
use kubefoundry_yaml::Node;
use kubefoundry_yaml::edit::normalize_value;
use serde_json::{Map, Value};

use crate::item::{self, INDEX, Origin, PACKAGE, PATH};

/// Returns the file name of a generated object, the same as with `render --out-dir`.
pub(crate) fn file_name(identity: &Identity) -> String {
    format!("{}_{}.yaml", identity.kind.to_ascii_lowercase(), identity.name)
}

/// Assigns a file and an unused document index to each new object.
#[derive(Debug, Default)]
pub(crate) struct FileIndexes {
    /// The next unused document index, by package and path.
    next: BTreeMap<(Option<String>, String), usize>,
}

impl FileIndexes {
    /// Records the indexes that existing items use.
    pub(crate) fn from_origins<'o>(origins: impl Iterator<Item = &'o Origin>) -> Self {
        let mut indexes = Self::default();
        for Origin { package, path, index } in origins {
            let next = indexes.next.entry((package.clone(), path.clone())).or_default();
            *next = (*next).max(index + 1);
        }
        indexes
    }

    /// Returns the origin of a new object: a file in the folder of its source.
    pub(crate) fn assign(&mut self, source: &Origin, identity: &Identity) -> Origin {
        let path = format!("{}{}", source.folder(), file_name(identity));
        let next = self.next.entry((source.package.clone(), path.clone())).or_default();
        let index = *next;
        *next += 1;
        Origin { package: source.package.clone(), path, index }
    }
}

/// Converts a generated object to a new item. It has no file annotations if its source has no file.
pub(crate) fn new_item(output: &Output, origin: Option<&Origin>) -> Value {
    let mut annotations_to_add = Vec::new();
    if let Some(Origin { package, path, index }) = origin {
        annotations_to_add.extend(INDEX.map(|key| (key.to_owned(), index.to_string())));
        annotations_to_add.extend(PATH.map(|key| (key.to_owned(), path.clone())));
        annotations_to_add.extend(package.iter().map(|package| (PACKAGE.to_owned(), package.clone())));
    }
    with_annotations(output.object.clone(), annotations_to_add)
}

/// Converts a generated object to a replacement of an item. It keeps the client's bookkeeping annotations, which
/// identify the file and, for kpt, the comments.
pub(crate) fn replacement(output: &Output, replaced: &Node<'_>) -> Value {
    let annotations = replaced.get("metadata").and_then(|metadata| metadata.get("annotations"));
    let annotations_to_add = annotations.map(Node::entries).unwrap_or_default().iter();
    let annotations_to_add = annotations_to_add.filter(|entry| item::is_bookkeeping(&entry.key));
    let annotations_to_add =
        annotations_to_add.filter_map(|entry| Some((entry.key.clone().into_owned(), entry.node.as_str()?.to_owned())));
    with_annotations(without_bookkeeping(output.object.clone()), annotations_to_add.collect())
}

/// Whether an item equals the generated object, ignoring bookkeeping annotations.
pub(crate) fn is_up_to_date(output: &Output, item: &Node<'_>) -> bool {
    without_bookkeeping(normalize_value(output.object.clone())) == without_bookkeeping(item.to_json())
}

/// Converts a generated object to an item without bookkeeping annotations.
pub(crate) fn plain_item(output: &Output) -> Value {
    without_bookkeeping(output.object.clone())
}

fn without_bookkeeping(mut object: Value) -> Value {
    if let Some(annotations) = annotations_mut(&mut object) {
        annotations.retain(|key, _| !item::is_bookkeeping(key));
        if annotations.is_empty()
            && let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
        {
            metadata.shift_remove("annotations");
        }
    }
    object
}

fn with_annotations(mut object: Value, annotations_to_add: Vec<(String, String)>) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
        && !annotations_to_add.is_empty()
    {
        let annotations = metadata.entry("annotations").or_insert_with(|| Value::Object(Map::new()));
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.extend(annotations_to_add.into_iter().map(|(key, value)| (key, Value::from(value))));
        }
    }
    object
}

fn annotations_mut(object: &mut Value) -> Option<&mut Map<String, Value>> {
    object.get_mut("metadata")?.get_mut("annotations")?.as_object_mut()
}
