//! Differential tests of the checker against the `jsonschema` crate: both must report the same violations with the same
//! messages.
//!
//! The crate validates JSON Schema, so a structural schema is first translated to a JSON Schema with the semantics of
//! the API server that also refuses the fields that the API server drops.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::paths::LocationSegment;
use jsonschema::{Draft, Keyword, ValidationError, Validator};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::pattern::PatternCache;
use crate::references::Resolver;
use crate::structural::{CheckScope, Checker, ValueRole};
use crate::violation::{self, RefusalReason, RootSchema};
use crate::walk_path::WalkPath;
use crate::{CrdDefinition, CrdSchema, ReferenceResolver, SchemaViolation, format, well_formed};
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::field_path::FieldPath;

/// A structural schema translated to JSON Schema, and its validator.
struct ReferenceValidator {
    schema: Value,
    validator: Validator,
}

impl ReferenceValidator {
    fn new(schema: &Value) -> Self {
        let options = jsonschema::options()
            .with_draft(Draft::Draft7)
            .offline()
            .with_keyword("x-re2-pattern", |_, pattern, _| {
                Ok(Box::new(PatternKeyword(pattern.as_str().unwrap_or_default().to_owned()))
                    as Box<dyn for<'i> Keyword<'i>>)
            })
            .should_validate_formats(true)
            .with_format("duration", |text: &str| format::is_valid("duration", text))
            .with_format("byte", |text: &str| format::is_valid("byte", text));
        let mut strict = to_json_schema(schema);
        add_type_meta(&mut strict);
        let validator = options.build(&strict).unwrap_or_else(|error| panic!("{error} of {strict}"));
        Self { schema: schema.clone(), validator }
    }

    fn check(&self, object: &Value) -> Vec<SchemaViolation> {
        let mut violations = Vec::new();
        for error in self.validator.iter_errors(object) {
            self.push_violation(&error, object, &mut violations);
        }
        // For some schemas, `jsonschema` reports an unknown field also as missing.
        let is_unknown_field = |violation: &SchemaViolation| *violation.code == crate::codes::FIELD_NOT_IN_SCHEMA;
        let unknown: Vec<FieldPath> =
            violations.iter().filter(|it| is_unknown_field(it)).map(|it| it.path.clone()).collect();
        violations.retain(|it| {
            is_unknown_field(it) || !it.message.starts_with("is required, but missing") || !unknown.contains(&it.path)
        });
        sorted_and_deduplicated(violations)
    }

    fn push_violation(&self, error: &ValidationError<'_>, object: &Value, out: &mut Vec<SchemaViolation>) {
        let path = error_path(error, object);
        let value = error.instance().clone().into_owned();
        let refuse = |reason: &RefusalReason<'_>| {
            violation::refused_value(root_schema(&self.schema), reason, &value, path.clone())
        };
        match error.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected } => {
                let unknown =
                    |name: &String| violation::unknown_field(root_schema(&self.schema), &path, name, &value[name]);
                out.extend(unexpected.iter().map(unknown));
            }
            ValidationErrorKind::Required { property } => {
                out.push(violation::missing_field(&path, property.as_str().unwrap()));
            }
            ValidationErrorKind::Type { kind } => {
                let kinds: Vec<String> = match kind {
                    TypeKind::Single(kind) => vec![kind.to_string()],
                    TypeKind::Multiple(kinds) => kinds.into_iter().map(|kind| kind.to_string()).collect(),
                };
                out.push(refuse(&RefusalReason::Type(kinds.iter().map(String::as_str).collect())));
            }
            ValidationErrorKind::Enum { options } => {
                out.push(refuse(&RefusalReason::Enum(options.as_array().unwrap())));
            }
            ValidationErrorKind::Custom { message, .. } => out.push(refuse(&RefusalReason::Pattern(message))),
            ValidationErrorKind::Format { format } => out.push(refuse(&RefusalReason::Format(format))),
            kind => {
                let keywords = [
                    "allOf",
                    "anyOf",
                    "exclusiveMaximum",
                    "exclusiveMinimum",
                    "maxItems",
                    "maxLength",
                    "maxProperties",
                    "maximum",
                    "minItems",
                    "minLength",
                    "minProperties",
                    "minimum",
                    "multipleOf",
                    "not",
                    "oneOf",
                    "uniqueItems",
                ];
                let keyword = keywords.into_iter().find(|keyword| *keyword == kind.keyword());
                out.push(refuse(&RefusalReason::Keyword(keyword.unwrap_or_else(|| panic!("{kind:?}")))));
            }
        }
    }
}

struct PatternKeyword(String);

impl<'i> Keyword<'i> for PatternKeyword {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        if self.is_valid(instance) { Ok(()) } else { Err(ValidationError::custom(self.0.clone())) }
    }

    fn is_valid(&self, instance: &'i Value) -> bool {
        instance.as_str().is_none_or(|text| PatternCache::default().is_match(&self.0, text))
    }
}

fn error_path(error: &ValidationError<'_>, object: &Value) -> FieldPath {
    let mut at = Some(object);
    let mut path = FieldPath::root();
    for segment in error.instance_path().segments() {
        let text = match &segment {
            LocationSegment::Property(name) => name.to_string(),
            LocationSegment::Index(index) => index.to_string(),
        };
        let index = at.filter(|at| at.is_array()).and_then(|_| text.parse::<usize>().ok());
        (at, path) = match index {
            Some(index) => (at.and_then(|at| at.get(index)), path.index(index)),
            None => (at.and_then(|at| at.get(text.as_str())), path.key(text)),
        };
    }
    path
}

/// Keywords with the same meaning in structural schemas and JSON Schema.
const SHARED_KEYWORDS: &[&str] = &[
    "enum",
    "maxItems",
    "maxLength",
    "maxProperties",
    "minItems",
    "minLength",
    "minProperties",
    "multipleOf",
    "required",
    "uniqueItems",
];

const FORMATS: &[&str] = &["byte", "date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "uri"];

/// Translates a declaring schema to JSON Schema.
fn to_json_schema(schema: &Value) -> Value {
    let mut strict = to_json_constraints(schema);
    let is_true = |key: &str| schema.get(key).and_then(Value::as_bool).unwrap_or(false);
    let with_null =
        |kinds: &[&str]| -> Value { kinds.iter().copied().chain(is_true("nullable").then_some("null")).collect() };
    if is_true("x-kubernetes-int-or-string") {
        strict.insert("type".to_owned(), with_null(&["integer", "string"]));
    } else if let Some(kind) = schema.get("type").and_then(Value::as_str) {
        strict.insert("type".to_owned(), if is_true("nullable") { with_null(&[kind]) } else { json!(kind) });
        let format = schema.get("format").and_then(Value::as_str);
        if let Some((minimum, maximum)) = format.and_then(|format| format::numeric_range(kind, format)) {
            let all = strict.entry("allOf").or_insert_with(|| json!([]));
            all.as_array_mut().unwrap().push(json!({"minimum": minimum, "maximum": maximum}));
        }
    }
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        let properties = properties.iter().map(|(name, property)| (name.clone(), to_json_schema(property)));
        strict.insert("properties".to_owned(), properties.collect::<Map<_, _>>().into());
    }
    let additional = match schema.get("additionalProperties") {
        Some(schema @ Value::Object(fields)) if !fields.is_empty() => Some(to_json_schema(schema)),
        Some(Value::Object(_) | Value::Bool(true)) => None,
        _ if is_true("x-kubernetes-preserve-unknown-fields") => None,
        _ => Some(json!(false)),
    };
    if let Some(additional) = additional {
        // Without `properties` beside it, `jsonschema` does not name the refused field.
        strict.entry("properties").or_insert_with(|| json!({}));
        strict.insert("additionalProperties".to_owned(), additional);
    }
    if let Some(items) = schema.get("items") {
        strict.insert("items".to_owned(), to_json_schema(items));
    }
    let mut strict = Value::Object(strict);
    if is_true("x-kubernetes-embedded-resource") {
        add_type_meta(&mut strict);
        let required = strict.as_object_mut().unwrap().entry("required").or_insert_with(|| json!([]));
        let required = required.as_array_mut().unwrap();
        for name in ["apiVersion", "kind"].map(Value::from) {
            if !required.contains(&name) {
                required.push(name);
            }
        }
    }
    strict
}

/// Translates the keywords that constrain values.
fn to_json_constraints(schema: &Value) -> Map<String, Value> {
    let mut strict = Map::new();
    for keyword in SHARED_KEYWORDS {
        if let Some(value) = schema.get(keyword) {
            strict.insert((*keyword).to_owned(), value.clone());
        }
    }
    if let Some(pattern) = schema.get("pattern") {
        strict.insert("x-re2-pattern".to_owned(), pattern.clone());
    }
    for (keyword, exclusive) in [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")] {
        if let Some(limit) = schema.get(keyword) {
            let is_exclusive = schema.get(exclusive).and_then(Value::as_bool).unwrap_or(false);
            strict.insert(if is_exclusive { exclusive } else { keyword }.to_owned(), limit.clone());
        }
    }
    if let Some(format) = schema.get("format").and_then(Value::as_str).filter(|format| FORMATS.contains(format)) {
        strict.insert("format".to_owned(), Value::from(format));
    }
    let is_usable = |schema: &Value| PatternCache::default().are_usable(schema, Resolver::default());
    for keyword in ["allOf", "anyOf", "oneOf"] {
        if let Some(schemas) = schema.get(keyword).and_then(Value::as_array)
            && (keyword != "oneOf" || schemas.iter().all(is_usable))
        {
            strict.insert(keyword.to_owned(), schemas.iter().map(to_json_junctor).collect());
        }
    }
    if let Some(schema) = schema.get("not").filter(|schema| is_usable(schema)) {
        strict.insert("not".to_owned(), to_json_junctor(schema));
    }
    strict
}

/// Translates a schema inside `allOf`, `anyOf`, `oneOf` or `not`.
fn to_json_junctor(schema: &Value) -> Value {
    let mut strict = to_json_constraints(schema);
    if let Some(kind) = schema.get("type") {
        strict.insert("type".to_owned(), kind.clone());
    }
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        let properties = properties.iter().map(|(name, property)| (name.clone(), to_json_junctor(property)));
        strict.insert("properties".to_owned(), properties.collect::<Map<_, _>>().into());
    }
    for keyword in ["items", "additionalProperties"] {
        if let Some(schema) = schema.get(keyword).filter(|schema| schema.is_object()) {
            strict.insert(keyword.to_owned(), to_json_junctor(schema));
        }
    }
    Value::Object(strict)
}

fn add_type_meta(strict: &mut Value) {
    let properties = strict.as_object_mut().unwrap().entry("properties").or_insert_with(|| json!({}));
    let properties = properties.as_object_mut().unwrap();
    for field in ["apiVersion", "kind"] {
        properties.entry(field).or_insert_with(|| json!({"type": "string"}));
    }
    properties.insert("metadata".to_owned(), json!({"type": "object"}));
}

fn root_schema(schema: &Value) -> RootSchema<'_> {
    RootSchema { schema, depth: 0, resolver: Resolver::default() }
}

fn check_with_checker(schema: &Value, object: &Value) -> Vec<SchemaViolation> {
    let (patterns, root) = (PatternCache::default(), FieldPath::root());
    let mut violations = Vec::new();
    let checker = Checker { root: root_schema(schema), patterns: &patterns, scope: CheckScope::Everything };
    checker.check(schema, object, &WalkPath::Start(&root), ValueRole::WholeObject, &mut violations);
    // `jsonschema` does not report patterns that cannot be evaluated.
    violations.retain(|violation| *violation.code != crate::codes::CRD_RULE_NOT_EVALUATED);
    sorted_and_deduplicated(violations)
}

fn sorted_and_deduplicated(mut violations: Vec<SchemaViolation>) -> Vec<SchemaViolation> {
    violations.sort();
    violations.dedup();
    violations
}

/// A xorshift generator: pseudo-random numbers that are the same in every run.
struct Xorshift(u64);

impl Xorshift {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        let position = self.below(from.len());
        &from[position]
    }
}

/// Generates an object that mostly satisfies a schema. `size` limits the number of its values.
fn generate_object(schema: &Value, random: &mut Xorshift, size: &mut usize) -> Value {
    *size = size.saturating_sub(1);
    if let Some(options) = schema["enum"].as_array() {
        return random.pick(options).clone();
    }
    if schema["x-kubernetes-int-or-string"] == true {
        return if random.below(2) == 0 { json!(80) } else { json!("500m") };
    }
    match schema["type"].as_str() {
        Some("string") if schema["format"] == "date-time" => json!("2026-01-01T00:00:00Z"),
        Some("string") => json!("text"),
        Some("integer") => json!(random.below(40)),
        Some("number") => json!(0.5),
        Some("boolean") => json!(true),
        Some("array") => {
            let length = if *size == 0 { 0 } else { 1 + random.below(2) };
            (0..length).map(|_| generate_object(&schema["items"], random, size)).collect()
        }
        Some("object") => {
            let mut fields = Map::new();
            let required: Vec<&str> =
                schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                if required.contains(&name.as_str()) || name == "spec" || *size > 0 && random.below(4) == 0 {
                    fields.insert(name.clone(), generate_object(property, random, size));
                }
            }
            if schema["additionalProperties"].is_object() && *size > 0 {
                fields.insert("any-key".to_owned(), generate_object(&schema["additionalProperties"], random, size));
            }
            Value::Object(fields)
        }
        _ => json!({"free": ["form"]}),
    }
}

/// Changes one value of an object: replaces, removes, renames or duplicates it.
fn mutate(object: &mut Value, random: &mut Xorshift) {
    let mut pointers = Vec::new();
    collect_pointers(object, String::new(), &mut pointers);
    if pointers.is_empty() {
        return;
    }
    let pointer = random.pick(&pointers).clone();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let name = name.replace("~1", "/").replace("~0", "~");
    match (random.below(6), object.pointer_mut(parent).unwrap()) {
        (0, Value::Object(fields)) => drop(fields.remove(&name)),
        (1, Value::Object(fields)) => {
            let value = fields.remove(&name).unwrap();
            fields.insert(format!("{name}X"), value);
        }
        (2, Value::Array(items)) => items.push(items[0].clone()),
        _ => {
            let replacements = [
                json!(null),
                json!(true),
                json!(0),
                json!(-1),
                json!(1.0),
                json!(2.5),
                json!(3_000_000_000_u64),
                json!(u64::MAX),
                json!(1e300),
                json!(""),
                json!("text"),
                json!("500m"),
                json!("A b"),
                json!("x".repeat(300)),
                json!([]),
                json!({}),
                json!(["a", "a"]),
                json!([1, 1.0]),
                json!({"name": "x"}),
                json!([{"name": "x"}]),
                json!("5"),
            ];
            *object.pointer_mut(&pointer).unwrap() = random.pick(&replacements).clone();
        }
    }
}

fn collect_pointers(value: &Value, at: String, out: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                collect_pointers(value, format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), out);
            }
        }
        Value::Array(items) => {
            for (position, value) in items.iter().enumerate() {
                collect_pointers(value, format!("{at}/{position}"), out);
            }
        }
        _ => {}
    }
    if !at.is_empty() {
        out.push(at);
    }
}

/// Returns the schemas of the CRDs in a folder, each with a name.
#[allow(clippy::disallowed_methods, reason = "a test reads the CRDs of the repository")]
fn schemas_in_folder(folder: &Path) -> Vec<(String, Value)> {
    let mut schemas = Vec::new();
    // The order of a folder differs between file systems, and the random cases of a test depend on it.
    let files: BTreeSet<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    for file in files {
        if file.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        for document in yaml::parse(&text, &crate::kind_candidates::LIMITS).documents {
            let crd = document.root.to_json();
            for version in crd["spec"]["versions"].as_array().into_iter().flatten() {
                let name = format!("{} {}", file.display(), version["name"]);
                schemas.push((name, version["schema"]["openAPIV3Schema"].clone()));
            }
        }
    }
    schemas
}

/// Checks objects with one to three mutations against every CRD of the repository.
#[test]
fn agrees_with_jsonschema_on_mutated_objects() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
    let schemas = schemas_in_folder(&folder);
    assert!(schemas.len() >= 5, "{}", schemas.len());
    let (mut refused, mut accepted, mut random) = (0, 0, Xorshift(20_261_122));
    for (name, schema) in &schemas {
        assert_eq!(well_formed::check(schema), Ok(()), "{name}");
        let reference = ReferenceValidator::new(schema);
        for _ in 0..=1000 / schemas.len() {
            let mut object = generate_object(schema, &mut random, &mut 40);
            for _ in 0..=random.below(3) {
                mutate(&mut object, &mut random);
            }
            let violations = check_with_checker(schema, &object);
            assert_eq!(violations, reference.check(&object), "{name}: {object}");
            *if violations.is_empty() { &mut accepted } else { &mut refused } += 1;
        }
    }
    assert!(refused > 500 && accepted > 50, "{refused} refused, {accepted} accepted");
}

/// Generates schemas that use every keyword of the language.
fn any_schema() -> impl Strategy<Value = Value> {
    let constraint = prop_oneof![
        Just(json!({"type": "string"})),
        Just(json!({"type": "integer"})),
        Just(json!({"enum": ["text", 7, null]})),
        Just(json!({"enum": ["a"]})),
        // For numbers inside lists and mappings, `jsonschema` and the API server disagree.
        Just(json!({"enum": [1.0, {"a": "text"}]})),
        Just(json!({"pattern": "^t"})),
        Just(json!({"pattern": "^(?!x)"})),
        Just(json!({"minLength": 2, "maxLength": 4})),
        Just(json!({"minimum": 7, "exclusiveMinimum": true})),
        Just(json!({"maximum": 7.5})),
        Just(json!({"minimum": -2.5, "maximum": 3_000_000_000_u64, "exclusiveMaximum": true})),
        Just(json!({"multipleOf": 7})),
        Just(json!({"multipleOf": 0.5})),
        Just(json!({"minItems": 1, "maxItems": 1})),
        Just(json!({"uniqueItems": true})),
        Just(json!({"minProperties": 1, "maxProperties": 1})),
        Just(json!({"required": ["a", "b"]})),
        Just(json!({"required": ["a"]})),
        Just(json!({"properties": {"a": {"type": "integer"}, "b": {"enum": ["text"]}}})),
        Just(json!({"properties": {"a": {"maximum": 1}}, "additionalProperties": {"type": "string"}})),
        Just(json!({"items": {"minimum": 8}})),
        prop::sample::select(FORMATS).prop_map(|format| json!({"format": format})),
    ];
    let junctor = prop_oneof![
        (prop::sample::select(&["allOf", "anyOf", "oneOf"][..]), prop::collection::vec(constraint.clone(), 1..4))
            .prop_map(|(keyword, constraints)| json!({keyword: constraints})),
        constraint.clone().prop_map(|constraint| json!({"not": constraint})),
        prop::collection::vec(constraint.clone(), 1..3)
            .prop_map(|constraints| json!({"allOf": [{"anyOf": constraints}]})),
        constraint,
        Just(json!({"nullable": true})),
        Just(json!({"x-kubernetes-preserve-unknown-fields": true})),
    ];
    let leaf = prop_oneof![
        Just(json!({"type": "string"})),
        Just(json!({"type": "integer", "format": "int32"})),
        Just(json!({"type": "integer", "format": "int64", "nullable": true})),
        Just(json!({"type": "number", "format": "float"})),
        Just(json!({"type": "boolean"})),
        Just(json!({"type": "array"})),
        Just(json!({"x-kubernetes-int-or-string": true})),
        Just(json!({"x-kubernetes-int-or-string": true, "nullable": true})),
        Just(json!({})),
    ];
    let merge = |(mut schema, constraints): (Value, Vec<Value>)| -> Value {
        for constraint in constraints {
            for (keyword, value) in constraint.as_object().unwrap() {
                // Declaring keywords stay, and the first of two equal constraints.
                schema.as_object_mut().unwrap().entry(keyword).or_insert_with(|| value.clone());
            }
        }
        schema
    };
    let leaf = (leaf, prop::collection::vec(junctor.clone(), 0..3)).prop_map(merge);
    leaf.prop_recursive(3, 12, 3, move |inner| {
        let declared = prop_oneof![
            prop::collection::btree_map("[abc]", inner.clone(), 0..3)
                .prop_map(|properties| json!({"type": "object", "properties": properties})),
            inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            inner.prop_map(|values| json!({"type": "object", "additionalProperties": values})),
            Just(json!({"type": "object", "x-kubernetes-embedded-resource": true})),
        ];
        (declared, prop::collection::vec(junctor.clone(), 0..3)).prop_map(merge)
    })
}

fn any_value() -> impl Strategy<Value = Value> {
    let texts: &[&str] = &[
        "text",
        "",
        "a",
        "é",
        "2026-02-29",
        "2024-02-29",
        "2026-01-01T00:00:00Z",
        "2026-01-01t25:00:00Z",
        "2026-01-01T00:00:00.5+01:00",
        "2026-01-01T00:00:00",
        "1h",
        "YQ==",
        "a@b.c",
        "a@[127.0.0.1]",
        "a@-b",
        "a..b@c",
        "@b",
        "host.name",
        "host_name",
        "127.0.0.1",
        "1.2.3",
        "::1",
        "1::2::3",
        "https://a@b:80/c?d#e",
        "https://[::1]:8/x",
        "https://a:b/",
        "urn:x",
        "/a",
        "a%2",
        "http://a b",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        Just(json!(true)),
        prop::sample::select(&[7.0, 1.0, -2.5, 0.5, 1e300, 3.5e38, 14.5][..]).prop_map(Value::from),
        prop::sample::select(&[0, 1, 7, 8, 14, -3, 3_000_000_000_i64, i64::MIN][..]).prop_map(Value::from),
        Just(json!(u64::MAX)),
        prop::sample::select(texts).prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[abcd]|apiVersion|kind|metadata", inner, 0..4)
                .prop_map(|fields| json!(fields)),
        ]
    })
}

/// Shared schemas by their reference.
#[derive(Debug, Default)]
struct SharedSchemas(Map<String, Value>);

impl ReferenceResolver for SharedSchemas {
    fn resolve(&self, reference: &str) -> Option<&Value> {
        self.0.get(reference)
    }

    fn may_have_default(&self, reference: &str) -> bool {
        self.0.get(reference).is_some_and(|schema| schema.to_string().contains("\"default\":"))
    }
}

impl SharedSchemas {
    /// Returns a reference to the schema, or the schema with references inside, chosen at random.
    fn share(&mut self, schema: &Value, random: &mut Xorshift) -> Value {
        let Value::Object(keywords) = schema else { return schema.clone() };
        let mut shared = Map::new();
        for (keyword, value) in keywords {
            let value = match (keyword.as_str(), value) {
                ("properties", Value::Object(schemas)) => {
                    let schemas = schemas.iter().map(|(name, schema)| (name.clone(), self.share(schema, random)));
                    Value::Object(schemas.collect())
                }
                ("items" | "additionalProperties" | "not", schema) => self.share(schema, random),
                ("allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => {
                    schemas.iter().map(|schema| self.share(schema, random)).collect()
                }
                (_, other) => other.clone(),
            };
            shared.insert(keyword.clone(), value);
        }
        let shared = Value::Object(shared);
        if random.below(2) == 0 {
            return shared;
        }
        let reference = format!("r{}", self.0.len());
        self.0.insert(reference.clone(), shared);
        Value::from(reference)
    }

    /// Returns a definition with the schema, and one with references to parts of it.
    fn definitions_with_and_without_references(schema: &Value, random: &mut Xorshift) -> [CrdDefinition; 2] {
        let crd = |schema: &Value| {
            json!({"spec": {"group": "g", "names": {"kind": "K"}, "versions": [
                {"name": "v1", "served": true, "schema": {"openAPIV3Schema": schema}},
            ]}})
        };
        let mut shared = Self::default();
        let by_reference = crd(&shared.share(schema, random));
        let shared: &'static Self = Box::leak(Box::new(shared));
        [
            CrdDefinition::from_value(crd(schema), "").unwrap(),
            CrdDefinition::with_references(by_reference, "", shared).unwrap(),
        ]
    }
}

/// Compares the results of all checks of an object by two schemas.
fn assert_equal_results([plain, by_reference]: [&CrdSchema; 2], object: &Value) {
    assert_eq!(by_reference.check(object), plain.check(object), "{object}");
    assert_eq!(by_reference.check_outline(object), plain.check_outline(object), "{object}");
    let mut pointers = Vec::new();
    collect_pointers(object, String::new(), &mut pointers);
    for pointer in pointers.iter().filter(|pointer| !pointer.contains('~')) {
        let steps = pointer.split('/').skip(1);
        let path = steps.fold(FieldPath::root(), |path, step| match step.parse() {
            Ok(index) => path.index(index),
            Err(_) => path.key(step.to_owned()),
        });
        let paths = [path];
        assert_eq!(
            by_reference.check_paths(object, &paths),
            plain.check_paths(object, &paths),
            "{pointer} of {object}"
        );
    }
    for part in ["spec", "a", "a.b", "a.*"] {
        let at = FieldPath::parse("elsewhere");
        assert_eq!(by_reference.check_part(part, object, &at), plain.check_part(part, object, &at), "{part} {object}");
        assert_eq!(by_reference.has_field(part), plain.has_field(part), "{part}");
    }
}

/// Uses every CRD of the repository, with about half of its subschemas behind references.
#[test]
fn references_give_the_same_result_on_mutated_objects() {
    let schemas = schemas_in_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas"));
    let (mut refused, mut accepted, mut random) = (0, 0, Xorshift(20_261_123));
    for (_, schema) in &schemas {
        let pair = SharedSchemas::definitions_with_and_without_references(schema, &mut random);
        let [plain, by_reference] = [&pair[0], &pair[1]].map(|it| it.version("v1").unwrap().schema().unwrap());
        for _ in 0..=1000 / schemas.len() {
            let mut object = generate_object(schema, &mut random, &mut 40);
            for _ in 0..=random.below(3) {
                mutate(&mut object, &mut random);
            }
            assert_equal_results([plain, by_reference], &object);
            *if plain.check_outline(&object).is_empty() { &mut accepted } else { &mut refused } += 1;
        }
    }
    assert!(refused > 500 && accepted > 10, "{refused} refused, {accepted} accepted");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]

    #[test]
    fn agrees_with_jsonschema_on_any_schema(schema in any_schema(), value in any_value()) {
        let schema = json!({"type": "object", "properties": {"a": schema}});
        prop_assert_eq!(well_formed::check(&schema), Ok(()));
        let object = json!({"a": value});
        prop_assert_eq!(check_with_checker(&schema, &object), ReferenceValidator::new(&schema).check(&object), "{} {}", schema, object);
    }

    #[test]
    fn references_give_the_same_result_on_any_schema(schema in any_schema(), value in any_value(), seed in 1_u64..) {
        let schema = json!({"type": "object", "properties": {"a": with_defaults(schema)}});
        let pair = SharedSchemas::definitions_with_and_without_references(&schema, &mut Xorshift(seed));
        let schemas = [&pair[0], &pair[1]].map(|it| it.version("v1").unwrap().schema().unwrap());
        assert_equal_results(schemas, &json!({"a": value}));
    }

    #[test]
    fn an_outline_check_ignores_scalar_values(schema in any_schema(), value in any_value(), other in any_value()) {
        let schema = json!({"type": "object", "properties": {"a": with_defaults(schema)}});
        let pair = SharedSchemas::definitions_with_and_without_references(&schema, &mut Xorshift(1));
        let schema = pair[0].version("v1").unwrap().schema().unwrap();
        let same_outline = json!({"a": replace_scalars(&value, &other)});
        prop_assert_eq!(paths_and_codes(&schema.check_outline(&json!({"a": value}))), paths_and_codes(&schema.check_outline(&same_outline)));
    }
}

fn paths_and_codes(violations: &[SchemaViolation]) -> Vec<(String, &'static str)> {
    violations.iter().map(|violation| (violation.path.to_string(), violation.code.id)).collect()
}

/// Replaces every scalar by another one of the same type.
fn replace_scalars(value: &Value, other: &Value) -> Value {
    match (value, other) {
        (Value::Object(fields), _) => {
            let fields = fields.iter().map(|(name, value)| (name.clone(), replace_scalars(value, other)));
            Value::Object(fields.collect())
        }
        (Value::Array(items), _) => items.iter().map(|item| replace_scalars(item, other)).collect(),
        (Value::String(_), Value::String(_)) => other.clone(),
        (Value::String(_), _) => json!("another"),
        (Value::Number(number), _) if crate::number::is_whole(number) => json!(-70_000_000_000_i64),
        (Value::Number(_), _) => json!(0.125),
        (Value::Bool(value), _) => json!(!value),
        (Value::Null, _) => Value::Null,
    }
}

/// Adds a default to every property of type string.
fn with_defaults(mut schema: Value) -> Value {
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        for property in properties.values_mut() {
            *property = with_defaults(property.take());
            if property["type"] == "string" {
                property["default"] = json!("text");
            }
        }
    }
    schema
}
