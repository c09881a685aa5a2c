//! The form in which derived schemas are published: as short as a hand-written one, and without what only Rust knows.

use kubefoundry::registry;
use serde_json::{Map, Value, json};

use crate::Failure;
use crate::generate::schemas::description;

/// The keywords of the schemas, in the order in which they are written.
const KEYWORDS: [&str; 16] = [
    "description",
    "type",
    "const",
    "enum",
    "examples",
    "pattern",
    "minimum",
    "maximum",
    "required",
    "properties",
    "additionalProperties",
    "items",
    "uniqueItems",
    "dependencies",
    "$schema",
    "title",
];

/// Brings a derived schema into the form that is published.
pub(super) fn simplify(schema: &mut Value) -> Result<(), Failure> {
    let Value::Object(keywords) = schema else { return Ok(()) };
    remove_null_of_optional(keywords);
    keywords.get_mut("oneOf").and_then(Value::as_array_mut).into_iter().flatten().try_for_each(simplify)?;
    for keyword in ["items", "additionalProperties"] {
        keywords.get_mut(keyword).map_or(Ok(()), simplify)?;
    }
    let properties = keywords.get_mut("properties").and_then(Value::as_object_mut);
    properties.into_iter().flat_map(Map::values_mut).try_for_each(simplify)?;
    if let Some(Value::Array(variants)) = keywords.remove("oneOf") {
        let is_object = variants.iter().all(|variant| variant["type"] == "object");
        if is_object {
            merge_objects(keywords, variants);
        } else {
            merge_words(keywords, variants);
        }
    }
    if keywords.get("additionalProperties") == Some(&Value::Bool(true)) {
        keywords.remove("additionalProperties");
    }
    // Rust's types of integers: JSON Schema does not know these formats.
    keywords.remove("format");
    if keywords.contains_key("const") {
        keywords.retain(|keyword, _| ["description", "const"].contains(&keyword.as_str()));
    }
    if let Some(Value::String(text)) = keywords.get_mut("description") {
        *text = description(text);
        if text.contains("[`") || text.contains("](") {
            return Err(Failure::Broken(format!("the schema of a report would show a link of Rust: {text}")));
        }
    }
    if keywords.get("pattern").is_some_and(|pattern| pattern == "^KF[0-9]{4}$") {
        let mut codes: Vec<&str> = registry::codes().map(|code| code.id).collect();
        codes.sort_unstable();
        keywords.insert("examples".to_owned(), json!(codes));
    }
    let mut derived = std::mem::take(keywords);
    *keywords = KEYWORDS.iter().filter_map(|keyword| derived.remove_entry(*keyword)).collect();
    match derived.keys().next() {
        Some(keyword) => Err(Failure::Broken(format!("the schema of a report has a keyword with no place: {keyword}"))),
        None => Ok(()),
    }
}

/// Describes an enum without fields by its words.
fn merge_words(keywords: &mut Map<String, Value>, variants: Vec<Value>) {
    let words = variants.into_iter().flat_map(|mut variant| match (variant["const"].take(), variant["enum"].take()) {
        (_, Value::Array(words)) => words,
        (word, _) => vec![word],
    });
    keywords.insert("enum".to_owned(), words.collect());
    keywords.insert("type".to_owned(), json!("string"));
}

/// Describes an enum with fields as one object, which has the fields of all variants. They stand first, as they are written.
fn merge_objects(keywords: &mut Map<String, Value>, variants: Vec<Value>) {
    let (mut properties, mut required) = (Map::new(), None::<Vec<Value>>);
    for mut variant in variants {
        let of_variant = variant["required"].as_array().cloned().unwrap_or_default();
        let shared = required.unwrap_or_else(|| of_variant.clone()).into_iter();
        required = Some(shared.filter(|name| of_variant.contains(name)).collect());
        let meaning = variant["description"].take();
        for (name, mut field) in variant["properties"].as_object_mut().map(std::mem::take).unwrap_or_default() {
            // The tag, which only the variants describe.
            let Some(word) = field.get_mut("const").map(Value::take) else {
                properties.entry(name).or_insert(field);
                continue;
            };
            let tag = properties.entry(name).or_insert(json!({"description": "", "type": "string", "enum": []}));
            let known = tag["description"].as_str().unwrap_or_default();
            let meaning =
                format!("{known} `{}`: {}", word.as_str().unwrap_or_default(), meaning.as_str().unwrap_or_default());
            tag["description"] = json!(meaning.trim_start());
            tag["enum"].as_array_mut().into_iter().for_each(|words| words.push(word.clone()));
        }
    }
    for (keyword, first) in [("properties", properties.into()), ("required", required.into_iter().flatten().collect())]
    {
        let rest = keywords.remove(keyword);
        keywords.insert(keyword.to_owned(), joined(first, rest));
    }
}

/// Appends the fields of an object, or the items of a list.
fn joined(first: Value, rest: Option<Value>) -> Value {
    match (first, rest) {
        (Value::Object(mut first), Some(Value::Object(rest))) => {
            first.extend(rest);
            first.into()
        }
        (Value::Array(mut first), Some(Value::Array(rest))) => {
            first.extend(rest);
            first.into()
        }
        (first, _) => first,
    }
}

/// Returns whether a schema is that of null alone.
fn is_null(schema: &Value) -> bool {
    schema["type"] == "null"
}

/// A field that may be absent is never null, although its type in Rust is an `Option`.
fn remove_null_of_optional(keywords: &mut Map<String, Value>) {
    let required = keywords.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let properties = keywords.get_mut("properties").and_then(Value::as_object_mut);
    let optional = properties.into_iter().flatten().filter(|(name, _)| !required.contains(&json!(name)));
    for field in optional.filter_map(|(_, field)| field.as_object_mut()) {
        let is_nullable = |schemas: &&mut Vec<Value>| schemas.len() == 2 && schemas.last().is_some_and(is_null);
        let schemas = field.get_mut("anyOf").and_then(Value::as_array_mut).filter(is_nullable).map(std::mem::take);
        if let Some(Value::Object(described)) = schemas.and_then(|schemas| schemas.into_iter().next()) {
            field.remove("anyOf");
            for (keyword, value) in described {
                field.entry(keyword).or_insert(value);
            }
        }
        if let Some(Value::Array(words)) = field.get_mut("enum") {
            words.retain(|word| !word.is_null());
        }
        if let Some(Value::Array(types)) = field.get_mut("type") {
            types.retain(|name| name != "null");
            if let [name] = types.as_slice() {
                let name = name.clone();
                field.insert("type".to_owned(), name);
            }
        }
    }
}
