//! Generated objects as items. This is the only place that looks into what the engine made.

use std::collections::BTreeMap;

use kubefoundry_compiler::Output;
use kubefoundry_kubernetes::manifest::Identity;
use kubefoundry_yaml::Node;
use kubefoundry_yaml::edit::normalize_value;
use serde_json::{Map, Value};

use crate::item::{self, INDEX, Origin, PACKAGE, PATH};

/// The file of a generated object: beside its ModelDeployment's, named as `render --out-dir` names it.
pub(crate) fn file_name(identity: &Identity) -> String {
    format!("{}_{}.yaml", identity.kind.to_ascii_lowercase(), identity.name)
}

/// Hands out places in files, each once.
#[derive(Debug, Default)]
pub(crate) struct Places {
    next: BTreeMap<(Option<String>, String), usize>,
}

impl Places {
    /// The places that items are at.
    pub(crate) fn taken_by<'o>(origins: impl Iterator<Item = &'o Origin>) -> Self {
        let mut places = Self::default();
        for Origin { package, path, index } in origins {
            let next = places.next.entry((package.clone(), path.clone())).or_default();
            *next = (*next).max(index + 1);
        }
        places
    }

    /// A place for a new object, beside its source.
    pub(crate) fn beside(&mut self, source: &Origin, identity: &Identity) -> Origin {
        let path = format!("{}{}", source.folder(), file_name(identity));
        let next = self.next.entry((source.package.clone(), path.clone())).or_default();
        let index = *next;
        *next += 1;
        Origin { package: source.package.clone(), path, index }
    }
}

/// A generated object in the place of its file; where the source has no file, it has none either.
pub(crate) fn new_item(output: &Output, place: Option<&Origin>) -> Value {
    let mut notes = Vec::new();
    if let Some(Origin { package, path, index }) = place {
        notes.extend(INDEX.map(|key| (key.to_owned(), index.to_string())));
        notes.extend(PATH.map(|key| (key.to_owned(), path.clone())));
        notes.extend(package.iter().map(|package| (PACKAGE.to_owned(), package.clone())));
    }
    with_notes(output.object.clone(), notes)
}

/// A generated object in the place of what it replaces: with the client's notes on that, by which it knows the file,
/// and kpt the comments.
pub(crate) fn replacement(output: &Output, replaced: &Node<'_>) -> Value {
    let annotations = replaced.get("metadata").and_then(|metadata| metadata.get("annotations"));
    let notes = annotations.map(Node::entries).unwrap_or_default().iter();
    let notes = notes.filter(|entry| item::is_bookkeeping(&entry.key));
    let notes = notes.filter_map(|entry| Some((entry.key.clone().into_owned(), entry.node.as_str()?.to_owned())));
    with_notes(without_notes(output.object.clone()), notes.collect())
}

/// Whether an item is the generated object already, but for a client's notes.
pub(crate) fn is_same(output: &Output, given: &Node<'_>) -> bool {
    without_notes(normalize_value(output.object.clone())) == without_notes(given.to_json())
}

/// A generated object without any client's notes.
pub(crate) fn plain(output: &Output) -> Value {
    without_notes(output.object.clone())
}

fn without_notes(mut object: Value) -> Value {
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

fn with_notes(mut object: Value, notes: Vec<(String, String)>) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
        && !notes.is_empty()
    {
        let annotations = metadata.entry("annotations").or_insert_with(|| Value::Object(Map::new()));
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.extend(notes.into_iter().map(|(key, note)| (key, Value::from(note))));
        }
    }
    object
}

fn annotations_mut(object: &mut Value) -> Option<&mut Map<String, Value>> {
    object.get_mut("metadata")?.get_mut("annotations")?.as_object_mut()
}
