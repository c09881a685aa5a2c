//! The declared fields of documents: the shape of the value at a path, and its description as Markdown.

use kubefoundry_composition::BUILTIN;
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_kubernetes::header::Header;
use kubefoundry_kubernetes::wire::{FieldShape, ObjectShape, Shape};
use kubefoundry_reference::{DocumentedKind, KINDS, describe_constraints, nested_object, type_name};
use kubefoundry_yaml::append;
use kubefoundry_yaml::field_path::{FieldPath, Segment};
use serde_json::Value;

/// A declared value: its shape, and the field that holds it unless it is the document, or an item of a list or a mapping.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Declared {
    pub(crate) shape: Shape,
    pub(crate) field: Option<FieldShape>,
}

/// Finds the kind of a document. If `apiVersion` is still being typed, the kind alone decides.
pub(crate) fn kind_of(header: &Header) -> Option<&'static DocumentedKind> {
    let same_kind = || KINDS.iter().filter(|kind| *kind.name == *header.kind);
    same_kind()
        .find(|kind| (kind.versions)().iter().any(|version| **version == *header.api_version))
        .or_else(|| same_kind().next().filter(|_| header.api_version.is_empty() || header.api_group().is_some()))
}

/// Finds the declaration of the value at a path. The fields of `spec.provider.overrides` are those of the provider that
/// `provider` names, or else of the one that the document names.
pub(crate) fn declared_at(
    header: &Header,
    document: &Value,
    path: &FieldPath,
    provider: Option<&str>,
) -> Option<Declared> {
    let kind = kind_of(header)?;
    let mut declared = Declared { shape: Shape::Object(kind.object()?), field: None };
    let overrides = FieldPath::from(ModelDeployment::path().spec().provider().overrides());
    let has_overrides = kind.name == kubefoundry_deployment::wire::KIND;
    for (position, segment) in path.segments().iter().enumerate() {
        declared = step(&declared.shape, segment)?;
        if has_overrides && position + 1 == overrides.segments().len() && path.starts_with(&overrides) {
            let named = named_provider(document);
            let shape = provider.or(named.as_deref()).and_then(|name| BUILTIN.find_provider(name))?.info().overrides;
            declared.shape = shape;
        }
    }
    Some(declared)
}

/// Returns the provider that a ModelDeployment names.
pub(crate) fn named_provider(document: &Value) -> Option<String> {
    let path = FieldPath::from(ModelDeployment::path().spec().provider().name());
    document.pointer(&path.json_pointer())?.as_str().map(str::to_owned)
}

fn step(shape: &Shape, segment: &Segment) -> Option<Declared> {
    match (shape, segment) {
        (Shape::Object(object), Segment::Key(key)) => {
            let field = object.field(key)?;
            Some(Declared { shape: field.full_shape(), field: Some(*field) })
        }
        (Shape::Map(value), Segment::Key(_)) => Some(Declared { shape: **value, field: None }),
        (Shape::List(item), Segment::Index(_)) => Some(Declared { shape: **item, field: None }),
        (Shape::OneOf(shapes), segment) => shapes.iter().find_map(|shape| step(shape, segment)),
        _ => None,
    }
}

/// Returns the object that a value of this shape is. Unlike [`nested_object`], it enters no list or mapping.
pub(crate) fn object_of(shape: &Shape) -> Option<&'static ObjectShape> {
    match shape {
        Shape::Object(object) => Some(object),
        Shape::OneOf(shapes) => shapes.iter().find_map(object_of),
        _ => None,
    }
}

/// Returns the words that a value can be, each with its description.
pub(crate) fn words_of(declared: &Declared) -> Vec<(&'static str, &'static str)> {
    let mut words = words_of_shape(&declared.shape);
    if let Some(allowed) = declared.field.and_then(|field| field.facets.allowed_values) {
        words.extend(allowed.iter().map(|word| (*word, "")));
    }
    words
}

fn words_of_shape(shape: &Shape) -> Vec<(&'static str, &'static str)> {
    match shape {
        Shape::Enum(words) => words.values.to_vec(),
        Shape::Boolean => vec![("true", ""), ("false", "")],
        Shape::OneOf(shapes) => shapes.iter().flat_map(words_of_shape).collect(),
        _ => Vec::new(),
    }
}

/// Describes a field in Markdown: its path and type, its documentation, and what its value must be.
pub(crate) fn describe(kind: &DocumentedKind, path: &FieldPath, declared: &Declared) -> String {
    let mut text = format!("`{path}` *{}*", type_name(&declared.shape).replace('*', "\\*"));
    let doc = match &declared.field {
        Some(field) => field.doc,
        None => nested_object(&declared.shape).map_or("", |object| object.doc),
    };
    if !doc.is_empty() {
        append!(text, "\n\n{}", one_paragraph(doc));
    }
    let mut values = declared.field.as_ref().map(describe_constraints).unwrap_or_default();
    let versions = kind.versions_with(&path.to_string());
    if versions.len() < (kind.versions)().len() {
        values.push(format!("only in {}", versions.join(", ")));
    }
    write_list(&mut text, values);
    if let Shape::Enum(words) = declared.shape {
        write_list(&mut text, words.values.iter().map(|(word, doc)| format!("`{word}`: {}", one_paragraph(doc))));
    }
    text
}

/// Adds a Markdown list after a text.
pub(crate) fn write_list(text: &mut String, items: impl IntoIterator<Item = String>) {
    for (index, item) in items.into_iter().enumerate() {
        append!(text, "{}- {item}", if index == 0 { "\n\n" } else { "\n" });
    }
}

/// Joins the lines of documentation.
pub(crate) fn one_paragraph(doc: &str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn header(api_version: &str, kind: &str) -> Header {
        Header { api_version: api_version.into(), kind: kind.into(), ..Header::default() }
    }

    fn declared(path: &str, document: &Value) -> Option<Declared> {
        let header = header("kubefoundry.ai/v1alpha1", "ModelDeployment");
        declared_at(&header, document, &FieldPath::try_parse(path).unwrap(), None)
    }

    #[test]
    fn finds_the_shape_below_lists_and_mappings() {
        let of = |path: &str| declared(path, &Value::Null).map(|declared| type_name(&declared.shape));
        assert_eq!(of("spec.env[0].name").as_deref(), Some("string"));
        assert_eq!(of("spec.engine.args[\"max-num-seqs\"]").as_deref(), Some("string"));
        assert_eq!(of("spec.env").as_deref(), Some("[]EnvVar"));
        assert_eq!(of("spec.engine.typ"), None);
        assert_eq!(of("spec.provider.overrides.x"), None, "no provider is named");
    }

    #[test]
    fn overrides_have_the_fields_of_the_named_provider() {
        let document = json!({"spec": {"provider": {"name": "kaito"}}});
        let overrides = declared("spec.provider.overrides", &document).unwrap();
        assert!(object_of(&overrides.shape).unwrap().field("instanceType").is_some());
    }

    #[test]
    fn the_kind_decides_while_the_version_is_typed() {
        for (api_version, kind, found) in [
            ("kubefoundry.ai/v1alpha1", "ModelDeployment", true),
            ("", "ModelDeployment", true),
            ("kubefoundry.ai/v1", "ModelDeployment", true),
            ("example.com/v1", "ModelDeployment", false),
            ("kubefoundry.ai/v1alpha1", "Deployment", false),
        ] {
            assert_eq!(kind_of(&header(api_version, kind)).is_some(), found, "{api_version} {kind}");
        }
    }

    #[test]
    fn describes_a_field_and_its_words() {
        let path = FieldPath::try_parse("spec.engine.type").unwrap();
        let text = describe(&KINDS[0], &path, &declared("spec.engine.type", &Value::Null).unwrap());
        assert!(text.starts_with("`spec.engine.type` *string*\n\n"), "{text}");
        assert!(text.contains("\n- one of vllm, sglang, trtllm, llamacpp") && text.contains("\n- `vllm`: "), "{text}");
        let path = FieldPath::try_parse("spec.probes").unwrap();
        let text = describe(&KINDS[0], &path, &declared("spec.probes", &Value::Null).unwrap());
        assert!(text.contains("- only in "), "{text}");
    }
}
