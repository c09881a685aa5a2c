//! ConfigMaps whose names a rendering derives from their content.

use serde_json::Value;

use super::compare::differences;
use super::input::ParsedObject;
use kubefoundry_kubernetes::wire::metadata;
use kubefoundry_model::composition::Composition;
use kubefoundry_provider::draft::{Equivalents, string_at};

/// Treats the name of an imported ConfigMap like that of the rendered one if only their names differ. Returns a sentence
/// about each, because clients may read the imported one, too.
pub(super) fn unify_names(
    composition: &Composition,
    parts: &[&ParsedObject<'_>],
    rendered: &[Value],
    equivalents: &mut Equivalents,
) -> Option<String> {
    let is_config_map = |object: &Value| string_at(object, "/kind") == Some("ConfigMap");
    let mut imported = parts.iter().map(|part| &part.value).filter(|object| is_config_map(object));
    let mut rendered = rendered.iter().filter(|object| is_config_map(object));
    // With several, it is not certain which of them belong together.
    let (Some(one), None, Some(other), None) = (imported.next(), imported.next(), rendered.next(), rendered.next())
    else {
        return None;
    };
    let (old, new) = (string_at(one, "/metadata/name")?, string_at(other, "/metadata/name")?);
    let is_name = |difference: &super::compare::FieldDifference| difference.path == *metadata().name();
    if old == new || !differences(composition, one, other, equivalents).iter().all(is_name) {
        return None;
    }
    equivalents.texts.push((old.to_owned(), new.to_owned()));
    Some(format!("ConfigMap {old:?} is rendered as {new:?}, with the same data, and the old one is no longer used"))
}
