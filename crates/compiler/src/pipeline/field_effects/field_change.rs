//! Generates other values of a field, with which a deployment is tried to learn the effect of the field.

use serde_json::{Value as Json, json};

use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_kubernetes::api_group::API_GROUPS;
use kubefoundry_kubernetes::wire::{Describe as _, Facets, Shape};
use kubefoundry_provider::Provider;
use kubefoundry_yaml::Node;
use kubefoundry_yaml::field_path::{FieldPath, Segment};

/// An edit of a field: a new value, or its removal.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldChange {
    /// The field.
    pub path: FieldPath,
    /// The new value; `None` removes the field.
    pub value: Option<Json>,
}

impl FieldChange {
    /// Creates an edit that sets a field.
    pub fn set(path: impl Into<FieldPath>, value: impl Into<Json>) -> Self {
        Self { path: path.into(), value: Some(value.into()) }
    }

    /// Creates an edit that removes a field.
    pub fn remove(path: impl Into<FieldPath>) -> Self {
        Self { path: path.into(), value: None }
    }

    /// Applies the edit and returns whether it changed the tree.
    pub fn apply(&self, root: &mut Node<'_>) -> bool {
        if let Some(value) = &self.value {
            let node = Node::from(value).to_owned_node();
            return root.at(&self.path).is_none_or(|before| before.value != node.value)
                && root.insert_at(&self.path, node);
        }
        let was_present = root.remove_at(&self.path);
        if was_present {
            prune(root, &self.path);
        }
        was_present
    }
}

/// Removes the mappings above a removed field that are now empty.
fn prune(root: &mut Node<'_>, path: &FieldPath) {
    let mut above = path.parent();
    while above.segments().len() > 1 && matches!(above.segments().last(), Some(Segment::Key(_))) {
        if !root.at(&above).is_some_and(|node| node.to_json() == json!({})) || !root.remove_at(&above) {
            return;
        }
        above = above.parent();
    }
}

/// Returns a tree with edits applied, or `None` if they change nothing.
pub fn apply_edits<'t>(root: &Node<'t>, edits: &[FieldChange]) -> Option<Node<'t>> {
    let mut changed = root.clone();
    let mut is_changed = false;
    for edit in edits {
        is_changed |= edit.apply(&mut changed);
    }
    is_changed.then_some(changed)
}

/// A variant of a deployment with another value in a field.
#[derive(Debug)]
pub(crate) struct Variant {
    pub(crate) edits: Vec<FieldChange>,
    /// Whether the value is one of the enum values of the field.
    pub(crate) is_enum_value: bool,
    /// Whether the variant removes a parent of the field, and with it other fields.
    pub(crate) removes_parent: bool,
}

/// Returns variants of a document with other values than `value` in a field, those that are most likely valid first.
/// The last ones remove the field and its parents.
pub(crate) fn variants(
    path: &FieldPath,
    value: &Json,
    root: &Node<'_>,
    providers: &[&str],
    provider: Option<&'static dyn Provider>,
) -> Vec<Variant> {
    let mut values = Vec::new();
    let mut is_enum_value = false;
    let mut variants: Vec<Variant> = Vec::new();
    let deployment = ModelDeployment::path;
    if *path == *deployment().kind() {
        // No other kind is a deployment.
        return variants;
    }
    if *path == *deployment().api_version() {
        values.extend(API_GROUPS.iter().map(|api_group| Json::from(api_group.api_version())));
    } else if *path == *deployment().spec().provider().name() {
        values.extend(providers.iter().map(|name| Json::from(*name)));
    } else if *path == *deployment().spec().serving().mode() {
        variants.extend(switch_serving_mode(root).map(|edits| Variant {
            edits,
            is_enum_value: true,
            removes_parent: false,
        }));
    } else {
        let (shape, facets) = find_shape(path, provider);
        is_enum_value = facets.allowed_values.is_some() || matches!(shape, Shape::Enum(_));
        values.extend(other_values(shape, facets, value));
    }
    values.retain(|other| other != value);
    variants.extend(values.into_iter().map(|value| Variant {
        edits: vec![FieldChange::set(path.clone(), value)],
        is_enum_value,
        removes_parent: false,
    }));
    if root.at(path).is_some() {
        let mut removed = path.clone();
        while removed.segments().len() > 2 {
            variants.push(Variant {
                edits: vec![FieldChange::remove(removed.clone())],
                is_enum_value: false,
                removes_parent: removed != *path,
            });
            removed = removed.parent();
        }
    }
    variants
}

/// Returns the edits that switch to the other serving mode. The two modes declare GPUs and memory in different fields,
/// so the mode cannot be changed alone.
pub fn switch_serving_mode(root: &Node<'_>) -> Option<Vec<FieldChange>> {
    let value_at = |path: &FieldPath| root.at(path).map(Node::to_json);
    let spec = || ModelDeployment::path().spec();
    let is_disaggregated = value_at(&spec().serving().mode()) == Some(json!("disaggregated"));
    if is_disaggregated {
        let prefill = value_at(&spec().scaling().prefill())?;
        let mut resources = json!({"gpu": prefill.get("gpu")?});
        if let (Some(memory), Some(fields)) = (prefill.get("memory"), resources.as_object_mut()) {
            fields.insert("memory".to_owned(), memory.clone());
        }
        return Some(vec![
            FieldChange::set(spec().serving().mode(), "aggregated"),
            FieldChange::remove(spec().scaling().prefill()),
            FieldChange::remove(spec().scaling().decode()),
            FieldChange::set(spec().resources(), resources),
        ]);
    }
    let gpu = value_at(&spec().resources().gpu()).unwrap_or_else(|| json!({"count": 1}));
    let memory = value_at(&spec().resources().memory()).unwrap_or_else(|| json!("32Gi"));
    let role = json!({"gpu": gpu, "memory": memory});
    Some(vec![
        FieldChange::set(spec().serving().mode(), "disaggregated"),
        FieldChange::remove(spec().resources()),
        FieldChange::remove(spec().scaling().replicas()),
        FieldChange::set(spec().scaling().prefill(), role.clone()),
        FieldChange::set(spec().scaling().decode(), role),
    ])
}

/// Returns the shape and the facets of a field.
pub fn find_shape(path: &FieldPath, provider: Option<&'static dyn Provider>) -> (Shape, Facets) {
    let overrides = FieldPath::from(ModelDeployment::path().spec().provider().overrides());
    let mut shape = ModelDeployment::SHAPE;
    let mut facets = Facets::NONE;
    for (depth, segment) in path.segments().iter().enumerate() {
        if depth == overrides.segments().len() && path.starts_with(&overrides) {
            shape = provider.map_or(Shape::Any, |provider| provider.info().overrides);
        }
        (shape, facets) = match (shape, segment) {
            (Shape::Object(object), Segment::Key(key)) => {
                let field = object.fields.iter().find(|field| field.key == key);
                field.map_or((Shape::Any, Facets::NONE), |field| (field.full_shape(), field.facets))
            }
            (Shape::List(item), Segment::Index(_)) | (Shape::Map(item), Segment::Key(_)) => (*item, Facets::NONE),
            _ => (Shape::Any, Facets::NONE),
        };
    }
    (shape, facets)
}

/// Returns other values for a field of this shape: all its enum values, or values near the current one.
fn other_values(shape: Shape, facets: Facets, value: &Json) -> Vec<Json> {
    if let Some(words) = facets.allowed_values {
        return words.iter().map(|word| json!(word)).collect();
    }
    match (shape, value) {
        (Shape::Enum(words), _) => words.values.iter().map(|(word, _)| json!(word)).collect(),
        (_, Json::Bool(value)) => vec![json!(!value)],
        (_, Json::Number(number)) => match number.as_i64() {
            Some(number) => other_numbers(number),
            None => number.as_f64().map(|number| json!(number / 2.0)).into_iter().collect(),
        },
        (_, Json::String(text)) => similar_texts(text).into_iter().map(Json::from).collect(),
        _ => Vec::new(),
    }
}

/// Returns numbers near `number`: neighbors and multiples first, because they are likely to be valid.
fn other_numbers(number: i64) -> Vec<Json> {
    let next =
        [number.checked_add(1), number.checked_mul(2), Some(number / 2), number.checked_sub(1), Some(0), Some(1)];
    let mut numbers: Vec<i64> = Vec::new();
    for other in next.into_iter().flatten() {
        if other != number && other >= 0 && !numbers.contains(&other) {
            numbers.push(other);
        }
    }
    numbers.into_iter().map(Json::from).collect()
}

/// Returns texts of the same form, each with one letter or digit replaced by the next one. The form stays because many
/// fields hold quantities, versions or JSON, and any other text would be refused.
fn similar_texts(text: &str) -> Vec<String> {
    let characters: Vec<(usize, char)> = text.char_indices().filter(|(_, c)| c.is_ascii_alphanumeric()).collect();
    let changed = |character: Option<&(usize, char)>| {
        let (offset, c) = *character?;
        let (before, after) = (text.get(..offset)?, text.get(offset + c.len_utf8()..)?);
        Some(format!("{before}{}{after}", next_character(c)))
    };
    let mut others = match text {
        "true" => vec!["false".to_owned()],
        "false" => vec!["true".to_owned()],
        _ => Vec::new(),
    };
    let middle = characters.get(characters.len() / 2);
    others.extend(change_every_leaf(text));
    others.extend([characters.last(), characters.first(), middle].into_iter().filter_map(changed));
    others.push(format!("{text}x"));
    others
}

/// Returns a JSON text with every value changed, so that a single attempt shows the effects of all of them.
fn change_every_leaf(text: &str) -> Option<String> {
    let mut value: Json =
        serde_json::from_str(text).ok().filter(|value: &Json| value.is_object() || value.is_array())?;
    change_leaves(&mut value);
    Some(value.to_string()).filter(|other| other != text)
}

/// Changes every value below `value` in place.
fn change_leaves(value: &mut Json) {
    match value {
        Json::Object(fields) => fields.values_mut().for_each(change_leaves),
        Json::Array(items) => items.iter_mut().for_each(change_leaves),
        Json::Bool(flag) => *flag = !*flag,
        Json::Number(number) => {
            let other = match number.as_i64() {
                Some(number) => other_numbers(number).into_iter().next(),
                None => number.as_f64().map(|number| json!(number / 2.0)),
            };
            if let Some(other) = other {
                *value = other;
            }
        }
        Json::String(text) => {
            if let Some(other) = similar_texts(text).into_iter().next() {
                *text = other;
            }
        }
        Json::Null => {}
    }
}

fn next_character(c: char) -> char {
    match c {
        '9' => '8',
        'z' => 'y',
        'Z' => 'Y',
        '0'..='8' | 'a'..='y' | 'A'..='Y' => char::from_u32(u32::from(c) + 1).unwrap_or(c),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kubefoundry_composition::BUILTIN;

    #[test]
    fn similar_texts_keep_the_form() {
        assert_eq!(similar_texts("32Gi"), ["32Gj", "42Gi", "32Hi", "32Gix"]);
        assert_eq!(similar_texts("0.99"), ["0.98", "1.99", "0.89", "0.99x"]);
        assert_eq!(similar_texts(""), ["x"]);
        assert_eq!(similar_texts(r#"{"a":[1,"b"],"c":true}"#)[0], r#"{"a":[2,"c"],"c":false}"#);
        assert_eq!(similar_texts("true").first().map(String::as_str), Some("false"));
    }

    #[test]
    fn empty_parents_are_removed_with_a_field() {
        let mut root =
            Node::from(&json!({"spec": {"serving": {"mode": "aggregated"}, "model": {"id": "a"}}})).to_owned_node();
        assert!(FieldChange::remove(FieldPath::parse("spec.serving.mode")).apply(&mut root));
        assert_eq!(root.to_json(), json!({"spec": {"model": {"id": "a"}}}));
        assert!(!FieldChange::set(FieldPath::parse("spec.model.id"), "a").apply(&mut root));
    }

    #[test]
    fn enum_values_come_from_the_schema() {
        let words = |path: FieldPath| {
            other_values(find_shape(&path, BUILTIN.find_provider("dynamo")).0, Facets::NONE, &json!("x"))
        };
        assert!(words(FieldPath::parse("spec.engine.type")).contains(&json!("llamacpp")));
        assert!(
            words(FieldPath::parse("spec.model.storage.volumes").index(0).key("purpose")).contains(&json!("custom"))
        );
    }
}
