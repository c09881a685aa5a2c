//! The labels and annotations of an imported object, which `spec.provider.overrides.metadata` keeps.

use serde_json::{Map, Value, json};

use kubefoundry_deployment::wire::SharedOverrides;
use kubefoundry_kubernetes::api_group::{self, API_GROUPS, ApiGroup};
use kubefoundry_model::object_metadata::owner_of_key;
use kubefoundry_provider::draft::{Draft, string_entries_at};
use kubefoundry_yaml::field_path::{FieldPath, Segment};

/// Adds the labels and annotations that a user wrote to the overrides of a draft. What kubefoundry and other tools set
/// stays out: they set it again.
pub(super) fn keep_user_metadata(object: &Value, draft: &mut Draft) {
    let mut metadata = Map::new();
    for field in ["labels", "annotations"] {
        let mut entries = string_entries_at(object, &format!("/metadata/{field}"));
        entries.retain(|key, _| owner_of_key(key).is_none());
        if !entries.is_empty() {
            metadata.insert(field.to_owned(), Value::Object(entries));
        }
    }
    if !metadata.is_empty() {
        draft.overrides.insert("metadata".to_owned(), json!(metadata));
    }
}

/// Returns the label or annotation at or above a path in the overrides.
pub(super) fn entry_at(path: &FieldPath) -> Option<FieldPath> {
    let metadata = FieldPath::from(SharedOverrides::path_of_metadata());
    let [Segment::Key(field), Segment::Key(key), ..] = path.segments().get(metadata.segments().len()..)? else {
        return None;
    };
    path.starts_with(&metadata).then(|| metadata.key(field.clone()).with_key(key.clone()))
}

/// Returns the API group of the labels and annotations on an object, or the default group if it has none of them.
pub(super) fn api_group_of(object: &Value) -> &'static ApiGroup {
    let has_markers = |api_group: &&ApiGroup| {
        let annotations = string_entries_at(object, "/metadata/annotations");
        let labels = string_entries_at(object, "/metadata/labels");
        annotations.contains_key(&api_group.label("model-deployment"))
            || labels.contains_key(&api_group.label("managed-by"))
    };
    API_GROUPS.iter().find(has_markers).unwrap_or(api_group::DEFAULT)
}
