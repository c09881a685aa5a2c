//! Generated objects that raw patches of the user changed.

use serde_json::Value;

use kubefoundry_yaml as yaml;
use kubefoundry_yaml::field_path::{FieldPath, Segment};

/// A generated object that raw patches changed.
#[derive(Debug, Clone, PartialEq)]
pub struct PatchedObject {
    /// The index of the object among the generated ones.
    pub position: usize,
    /// The object before the first patch.
    pub before: Value,
    /// The field of the input that holds all patches.
    pub patches: FieldPath,
    /// The field of the object whose text is a configuration in YAML, which patches can change, too.
    pub text: Option<FieldPath>,
    /// Every value that a patch wrote or removed, in the order of the patches.
    pub writes: Vec<PatchWrite>,
}

/// A value of a generated object that a patch wrote or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchWrite {
    /// The field of the generated object.
    pub path: FieldPath,
    /// The field inside the text at `path`, if the patch changes a text that holds YAML.
    pub inside: Option<FieldPath>,
    /// The field of the input that has the value.
    pub patch: FieldPath,
}

impl PatchedObject {
    /// Returns the configuration in the text of a state of the object, with the field of the text.
    pub fn configuration(&self, object: &Value) -> Option<(&FieldPath, Value)> {
        let field = self.text.as_ref()?;
        Some((field, read_configuration(object, field)?))
    }

    /// Returns the field of the input whose patch wrote the value at a path, or a value above or below it.
    ///
    /// ```
    /// use kubefoundry_transform::{PatchWrite, PatchedObject};
    /// use kubefoundry_yaml::field_path::FieldPath;
    /// let path = FieldPath::parse;
    /// let write = PatchWrite { path: path("spec.a.b"), inside: None, patch: path("patches.merge.spec.a.b") };
    /// let (before, patches) = (serde_json::json!({}), path("patches"));
    /// let object = PatchedObject { position: 0, before, patches, text: None, writes: vec![write] };
    /// let patch_of = |text| object.patch_of(&path(text), None).map(|patch| patch.to_string());
    /// assert_eq!(patch_of("spec.a.b.c").as_deref(), Some("patches.merge.spec.a.b"));
    /// assert_eq!(patch_of("spec.a").as_deref(), Some("patches.merge.spec.a"));
    /// assert_eq!(patch_of("spec.c"), None);
    /// ```
    pub fn patch_of(&self, path: &FieldPath, inside: Option<&FieldPath>) -> Option<FieldPath> {
        // A text with YAML continues in its content, so one list of segments has both.
        let depth = |path: &FieldPath, inside: Option<&FieldPath>| {
            path.segments().len() + inside.map_or(0, |inside| inside.segments().len())
        };
        let wanted = depth(path, inside);
        let related = self.writes.iter().filter_map(|write| {
            let written = depth(&write.path, write.inside.as_ref());
            let pairs = segments(&write.path, write.inside.as_ref()).zip(segments(path, inside));
            let shared = pairs.take_while(|(one, other)| one == other).count();
            (shared == wanted.min(written)).then_some((write, written))
        });
        let (write, written) = related.max_by_key(|(_, written)| (*written).min(wanted))?;
        // A patch has the shape of the object, so it has as many steps below the wanted value as the object.
        Some((wanted..written).fold(write.patch.clone(), |patch, _| patch.parent()))
    }
}

fn segments<'p>(path: &'p FieldPath, inside: Option<&'p FieldPath>) -> impl Iterator<Item = &'p Segment> {
    path.segments().iter().chain(inside.map(FieldPath::segments).unwrap_or_default())
}

/// Returns the mapping that the text in a field of an object holds as YAML.
///
/// ```
/// use kubefoundry_transform::read_configuration;
/// use kubefoundry_yaml::field_path::FieldPath;
/// let read = |text: &str| read_configuration(&serde_json::json!({"text": text}), &FieldPath::parse("text"));
/// assert_eq!(read("applications: []"), Some(serde_json::json!({"applications": []})));
/// assert_eq!(read("not a configuration"), None);
/// ```
pub fn read_configuration(object: &Value, field: &FieldPath) -> Option<Value> {
    let text = object.pointer(&field.json_pointer())?.as_str()?;
    let parsed = yaml::parse(text, &yaml::Limits::default());
    let [document] = parsed.documents.as_slice() else { return None };
    Some(document.root.to_json()).filter(|value| parsed.failure.is_none() && value.is_object())
}
