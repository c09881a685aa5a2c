//! Compresses the JSON text of objects that are kept with LZ4, which costs little time for objects of a few kilobytes.
//!
//! The objects of a kind resemble each other more than the parts of one object do: field names, images, arguments,
//! managed fields. So the first objects of a kind become the dictionary of the later ones.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use serde::de::DeserializeOwned;
use serde_json::Value;

use kubefoundry_controller_runtime::mutex::lock;

/// Maximum size of a dictionary, which has to be read for each object that is compressed.
const MAX_DICTIONARY_BYTES: usize = 16 * 1024;
/// Maximum number of kinds with a dictionary.
const MAX_DICTIONARIES: usize = 64;
/// An object whose text does not shrink to this part extends the dictionary of its kind.
const GOOD_RATIO: usize = 4;

/// The dictionaries by `apiVersion` and `kind`.
type Dictionaries = BTreeMap<(String, String), Arc<[u8]>>;

/// The current dictionaries. An object keeps the one with which it was compressed.
static DICTIONARIES: Mutex<Dictionaries> = Mutex::new(Dictionaries::new());

/// Compressed JSON text.
#[derive(Debug, Clone)]
pub struct CompressedJson {
    bytes: Box<[u8]>,
    dictionary: Arc<[u8]>,
}

impl CompressedJson {
    pub(crate) fn from_value(object: &Value) -> Self {
        let name = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        Self::new((name("apiVersion"), name("kind")), &object.to_string())
    }

    /// Compresses objects together. They share a dictionary with all others that are.
    pub fn from_values(objects: &[Value]) -> Self {
        Self::new(<(String, String)>::default(), &kubefoundry_yaml::infallible::to_json_text(objects))
    }

    fn new(kind: (String, String), text: &str) -> Self {
        let dictionary = dictionaries().get(&kind).cloned().unwrap_or_default();
        let bytes = compress(text, &dictionary);
        if bytes.len() * GOOD_RATIO > text.len() {
            extend(kind, &dictionary, text);
        }
        Self { bytes: bytes.into_boxed_slice(), dictionary }
    }

    /// Returns the compressed size in bytes, without the dictionary.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Returns what [`Self::from_value`] compressed. Null, after an error in the log, if it cannot be read.
    pub(crate) fn to_value(&self) -> Value {
        self.read().unwrap_or_default()
    }

    /// Returns what [`Self::from_values`] compressed. None if it cannot be read: objects can be nested as deep as
    /// serde_json reads, and are one level deeper here.
    pub fn to_values(&self) -> Option<Vec<Value>> {
        self.read()
    }

    fn read<T: DeserializeOwned>(&self) -> Option<T> {
        let text = match &*self.dictionary {
            [] => lz4_flex::decompress_size_prepended(&self.bytes),
            dictionary => lz4_flex::block::decompress_size_prepended_with_dict(&self.bytes, dictionary),
        };
        let text = text.inspect_err(|error| tracing::error!(%error, "an object that is kept cannot be decompressed"));
        let read = serde_json::from_slice(&text.ok()?);
        read.inspect_err(|error| tracing::error!(%error, "an object that is kept cannot be read")).ok()
    }
}

fn dictionaries() -> MutexGuard<'static, Dictionaries> {
    lock(&DICTIONARIES)
}

fn compress(text: &str, dictionary: &[u8]) -> Vec<u8> {
    match dictionary {
        [] => lz4_flex::compress_prepend_size(text.as_bytes()),
        _ => lz4_flex::block::compress_prepend_size_with_dict(text.as_bytes(), dictionary),
    }
}

/// Appends a text to the dictionary of a kind, unless another thread has changed it or it would become too large.
fn extend(kind: (String, String), before: &Arc<[u8]>, text: &str) {
    let mut all = dictionaries();
    let is_current =
        all.get(&kind).map_or(before.is_empty() && all.len() < MAX_DICTIONARIES, |now| Arc::ptr_eq(now, before));
    if is_current && before.len() + text.len() <= MAX_DICTIONARY_BYTES {
        all.insert(kind, [before, text.as_bytes()].concat().into());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// serde_json reads 127 levels.
    #[test]
    fn objects_that_cannot_be_read_back_are_not_empty() {
        let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!({"a": inner}));
        assert_eq!(CompressedJson::from_value(&nested(127)).to_value(), nested(127));
        assert_eq!(CompressedJson::from_values(&[nested(126)]).to_values(), Some(vec![nested(126)]));
        assert_eq!(CompressedJson::from_values(&[nested(127)]).to_values(), None);
    }

    /// A deployment of a kind that no other test has.
    fn deployment(kind: &str, name: usize) -> Value {
        let owned =
            json!({"f:status": {"f:phase": {}, "f:message": {}, "f:conditions": {"k:{\"type\":\"Ready\"}": {}}}});
        json!({
            "apiVersion": "compression.test/v1", "kind": kind,
            "metadata": {"name": format!("phi-{name}"), "uid": format!("{name:036}"), "managedFields": [
                {"manager": "kaito-provider", "operation": "Apply", "subresource": "status", "fieldsV1": owned},
            ]},
            "spec": {"model": {"id": "org/phi"}, "engine": {"type": "vllm", "args": {"max-model-len": name}}},
            "status": {"phase": "Running", "message": "all replicas are ready", "replicas": {"desired": 1, "ready": 1}},
        })
    }

    #[test]
    fn objects_are_read_back_with_the_dictionary_of_their_time() {
        let all: Vec<Value> = (0..50).map(|number| deployment("Small", number)).collect();
        let compressed: Vec<CompressedJson> = all.iter().map(CompressedJson::from_value).collect();
        for (before, after) in all.iter().zip(&compressed) {
            assert_eq!(*before, after.to_value());
        }
        let (first, last) = (&compressed[0], &compressed[49]);
        assert!(last.bytes.len() * 3 < first.bytes.len(), "{} and {}", first.bytes.len(), last.bytes.len());
    }

    #[test]
    fn a_dictionary_does_not_grow_for_ever() {
        let random = |seed: usize| {
            let digits = (0..3000_usize).map(|index| ((index + 1) * (seed + 7919) * 2_654_435_761) % 997);
            json!({"apiVersion": "compression.test/v1", "kind": "Random", "spec": digits.collect::<Vec<_>>()})
        };
        for seed in 0..20 {
            assert_eq!(CompressedJson::from_value(&random(seed)).to_value(), random(seed));
        }
        let known =
            dictionaries().get(&("compression.test/v1".to_owned(), "Random".to_owned())).map_or(0, |it| it.len());
        assert!(known <= MAX_DICTIONARY_BYTES, "{known}");
    }
}
