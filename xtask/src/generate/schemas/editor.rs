//! JSON Schemas for editors, in draft 7, which yaml-language-server supports. No schema refers to another file, so a
//! single file is enough to use one.

use kubefoundry::registry;
use kubefoundry_actor as actor;
use kubefoundry_actor::AsyncActor;
use kubefoundry_compiler::options::render::{API_VERSION as RENDER_API_VERSION, SeverityOrOff};
use kubefoundry_composition::{BUILTIN, PROVIDERS};
use kubefoundry_deployment::wire::{
    CONFIGURATION_KIND, EngineType, InferenceProviderConfig, KIND, ModelDeployment, OBJECT_FIELDS,
};
use kubefoundry_kubernetes::api_group::{API_GROUPS, ApiGroup};
use kubefoundry_kubernetes::wire::{Describe as _, Facets, FieldShape, ObjectShape, Shape, StringEnum as _};
use kubefoundry_yaml::field_path::Segment;
use serde_json::{Value, json};

use super::{DESCRIPTIONS, Object, arguments, description, documented, json as parse, snippets, syntax};
use crate::Failure;

const DRAFT: &str = "http://json-schema.org/draft-07/schema#";

/// Returns every schema, with the name of its file.
pub(super) fn all() -> Result<Vec<(String, Value)>, Failure> {
    let ours: Vec<String> = API_GROUPS.iter().map(ApiGroup::api_version).collect();
    let mut deployment = root(&ModelDeployment::SHAPE, KIND, &ours)?;
    deployment["allOf"] = API_GROUPS.iter().map(group_constraints).collect();
    let config = root(&InferenceProviderConfig::SHAPE, CONFIGURATION_KIND, &ours)?;
    let actor = root(&AsyncActor::SHAPE, actor::KIND, &[actor::API_VERSION.to_owned()])?;
    let render = render()?;
    let mut any = any(
        &ours,
        &[(KIND, &titled(KIND, &deployment)), (CONFIGURATION_KIND, &titled(CONFIGURATION_KIND, &config))],
        &titled(RENDER, &render),
    );
    if let Some(branches) = any["allOf"].as_array_mut() {
        branches.push(json!({
            "if": {
                "required": ["apiVersion", "kind"],
                "properties": {"apiVersion": {"enum": [actor::API_VERSION]}, "kind": {"enum": [actor::KIND]}},
            },
            "then": titled(actor::KIND, &actor),
        }));
        // A document that has a kind is completed by the snippets of that kind only.
        let kinds = [KIND, CONFIGURATION_KIND, RENDER, actor::KIND];
        let all: Value = kinds.iter().flat_map(|kind| snippets::of_kind(kind)).collect();
        branches.push(json!({"if": {"required": ["kind"]}, "else": {"defaultSnippets": all}}));
    }
    // An editor shows the nearest title above a field, so this one has a title only in the branches.
    let files = [
        ("kubefoundry", any),
        ("modeldeployment", titled(KIND, &deployment)),
        ("inferenceproviderconfig", titled(CONFIGURATION_KIND, &config)),
        ("asyncactor", titled(actor::KIND, &actor)),
        ("render", titled(RENDER, &render)),
    ];
    let drafted = |schema: Value| with_first("$schema", DRAFT, &schema);
    Ok(files.into_iter().map(|(name, schema)| (name.to_owned(), drafted(schema))).collect())
}

/// The kind of the options.
pub(super) const RENDER: &str = "Render";

/// Returns the schema of a kind with its title and its snippets.
fn titled(kind: &str, schema: &Value) -> Value {
    let mut titled = with_first("title", kind, schema);
    titled["defaultSnippets"] = snippets::of_kind(kind).into();
    titled
}

/// Returns a schema with another keyword before its own.
fn with_first(keyword: &str, value: &str, schema: &Value) -> Value {
    let own = schema.as_object().cloned().unwrap_or_default();
    Object(Object::default().with(keyword, value).0.into_iter().chain(own).collect()).into()
}

/// Returns the schema of a kind, with its `apiVersion` and `kind` fixed.
fn root(shape: &Shape, kind: &str, versions: &[String]) -> Result<Value, Failure> {
    let Shape::Object(shape) = shape else {
        return Err(Failure::Broken(format!("{kind} is not an object")));
    };
    let mut schema = object(shape, false)?;
    schema["properties"]["apiVersion"]["enum"] = json!(versions);
    schema["properties"]["kind"]["enum"] = json!([kind]);
    if schema["required"].is_array() {
        schema["properties"]["metadata"]["required"] = json!(["name"]);
    }
    Ok(schema)
}

/// Returns the conditional schema with the additional requirements of an API group.
fn group_constraints(api_group: &ApiGroup) -> Value {
    let mut then = json!({"properties": {"spec": {"properties": {}}}});
    if let Shape::Object(deployment) = ModelDeployment::SHAPE {
        for path in deployment.absent_in(api_group.name) {
            let keys = path.segments().iter().filter_map(Segment::as_key);
            *keys.fold(&mut then, |schema, key| &mut schema["properties"][key]) = json!(false);
        }
    }
    let spec = &mut then["properties"]["spec"];
    if !api_group.chooses_engine {
        spec["required"] = json!(["engine"]);
        spec["properties"]["engine"]["required"] = json!(["type"]);
    }
    if !api_group.assumes_gpu {
        spec["allOf"] = workload().into();
    }
    if let Some(most) = &api_group.ceilings {
        let gpu = json!({"properties": {"count": {"maximum": most.gpus}}});
        let role = json!({"properties": {"replicas": {"maximum": most.replicas}, "gpu": gpu}});
        spec["properties"]["resources"]["properties"]["gpu"] = gpu;
        let scaling = &mut spec["properties"]["scaling"]["properties"];
        scaling["replicas"] = json!({"maximum": most.replicas});
        scaling["prefill"] = role.clone();
        scaling["decode"] = role;
    }
    json!({
        "if": {"required": ["apiVersion"], "properties": {"apiVersion": {"enum": [api_group.api_version()]}}},
        "then": then,
    })
}

/// Returns the schema of the options, with all known versions and diagnostic codes.
fn render() -> Result<Value, Failure> {
    let mut schema =
        root(&kubefoundry_compiler::options::render::shape(&BUILTIN), RENDER, &[RENDER_API_VERSION.to_owned()])?;
    let metadata = schema["properties"]["metadata"].as_object_mut();
    metadata.and_then(|metadata| metadata.remove("required"));
    for provider in PROVIDERS {
        let chosen = ["auto"].as_slice();
        let crd_versions = (
            "crdVersions",
            provider.info().crd_versions,
            chosen,
            " `auto` chooses a version that the CRDs of `--crds` serve.",
        );
        let (option, versions, more, note) = crd_versions;
        if let Some(default) = versions.first() {
            let what = format!("{} version; {default} by default.{note}", provider.display_name());
            let words = [versions, more].concat();
            schema["properties"][option]["properties"][provider.name()] =
                documented(&what).with("type", "string").with("enum", words).into();
        }
        let runtimes = provider.info().runtimes;
        if let Some(default) = runtimes.first() {
            let what = format!(
                "{} version; {default} by default. A newer one, or one with a suffix of an image's tag, is accepted.",
                provider.display_name()
            );
            schema["properties"]["runtimes"]["properties"][provider.name()] =
                documented(&what).with("type", "string").with("examples", runtimes).into();
        }
    }
    severities(&mut schema["properties"]["severities"]);
    // `apiVersion` and `kind` are optional in an inline configuration.
    let items = schema["properties"]["providers"]["items"].as_object_mut();
    items.and_then(|items| items.remove("required"));
    Ok(schema)
}

/// Adds all codes to the schema of the severities, by their identifiers and by their names, and refuses other keys. YAML
/// 1.1 reads `off` as a boolean.
fn severities(schema: &mut Value) {
    let mut codes: Vec<_> = registry::codes().collect();
    codes.sort_by_key(|code| code.id);
    let words: Vec<Value> = SeverityOrOff::VARIANTS.iter().map(|(word, _)| json!(word)).chain([json!(false)]).collect();
    let mut properties = Object::default();
    for (key, code, other) in
        codes.iter().map(|code| (code.id, code, code.name)).chain(codes.iter().map(|code| (code.name, code, code.id)))
    {
        let text = format!("{other}: {}. {} by default.", code.summary, code.severity);
        properties = properties.with(key, documented(&text).with("enum", words.clone()));
    }
    schema["additionalProperties"] = json!(false);
    schema["properties"] = properties.into();
}

/// Creates the schema for any document: one of our kinds is checked by its own schema, any other document is accepted.
fn any(versions: &[String], kinds: &[(&str, &Value)], render: &Value) -> Value {
    let mut branches = Vec::new();
    let lists: Vec<String> = kinds.iter().map(|(kind, _)| format!("{kind}List")).collect();
    let names: Vec<&str> = kinds.iter().map(|(kind, _)| *kind).chain(lists.iter().map(String::as_str)).collect();
    for (kind, schema) in kinds {
        branches.push(json!({
            "if": {
                "required": ["apiVersion", "kind"],
                "properties": {"apiVersion": {"enum": versions}, "kind": {"enum": [kind]}},
            },
            "then": schema,
        }));
    }
    branches.push(json!({
        "if": {"required": ["kind"], "properties": {"apiVersion": {"enum": versions}}},
        "then": {"properties": {"kind": {"enum": names}}},
    }));
    branches.push(json!({
        "if": {"required": ["apiVersion"], "properties": {"apiVersion": {"enum": [RENDER_API_VERSION]}}},
        "then": render,
    }));
    branches.push(json!({
        "if": {
            "required": ["kind"],
            "anyOf": [
                {"properties": {"apiVersion": {"enum": ["v1"]}, "kind": {"enum": ["List"]}}},
                {"properties": {"apiVersion": {"enum": versions}, "kind": {"enum": lists}}},
            ],
        },
        "then": {"properties": {"items": {"type": ["array", "null"], "items": {"$ref": "#"}}}},
    }));
    json!({
        "description": "A document of kubefoundry's is checked by its kind; any other document is ignored.",
        "allOf": branches,
    })
}

/// Returns the schema of an object. `nullable` permits null, which YAML reads for a key without a value.
fn object(shape: &ObjectShape, nullable: bool) -> Result<Value, Failure> {
    let mut properties = Object::default();
    for field in shape.fields {
        properties = properties.with(field.key, property(field)?);
    }
    let required: Vec<&str> = shape
        .fields
        .iter()
        .filter(|field| field.facets.required || always_required(shape.name).contains(&field.key))
        .map(|field| field.key)
        .collect();
    Ok(documented(&description(shape.doc))
        .with("type", or_null("object", nullable))
        .with_some("required", (!required.is_empty()).then_some(required))
        .with("additionalProperties", false)
        .with("properties", properties)
        .with_some("allOf", conditions(shape.name)?)
        .with_some("defaultSnippets", snippets::of_object(shape.name))
        .into())
}

fn or_null(kind: &str, nullable: bool) -> Value {
    if nullable { json!([kind, "null"]) } else { json!(kind) }
}

fn property(field: &FieldShape) -> Result<Value, Failure> {
    let inner = value(&field.full_shape(), &field.facets, !field.facets.required)?;
    let mut text = description(field.doc);
    if let Shape::Enum(words) = field.full_shape() {
        for (word, doc) in words.values {
            text = format!("{text}\n\n- `{word}`: {}", description(doc));
        }
    }
    let mut schema = documented(&text);
    if let Value::Object(inner) = inner {
        schema.0.extend(inner.into_iter().filter(|(key, _)| !DESCRIPTIONS.contains(&key.as_str())));
    }
    Ok(schema.with_some("default", field.facets.default.map(parse).transpose()?).into())
}

fn value(shape: &Shape, facets: &Facets, nullable: bool) -> Result<Value, Failure> {
    Ok(match shape {
        Shape::Any => json!({}),
        Shape::Literal(text) => json!({"enum": [parse(text)?]}),
        Shape::String => match facets.allowed_values {
            Some(words) => json!({"type": "string", "enum": ([words, &[""]].concat())}),
            None => text(&["string"], facets, nullable),
        },
        Shape::Timestamp => json!({"type": or_null("string", nullable), "format": "date-time"}),
        Shape::Boolean => json!({"type": or_null("boolean", nullable)}),
        Shape::Integer(bits) => {
            let most = if *bits == 32 { i64::from(i32::MAX) } else { i64::MAX };
            let least = -most - 1;
            Object::default()
                .with("type", or_null("integer", nullable))
                .with("minimum", facets.minimum.unwrap_or(least))
                .with("maximum", facets.maximum.unwrap_or(most))
                .into()
        }
        Shape::IntegerOrString => text(&["string", "integer"], facets, nullable),
        Shape::List(items) => Object::default()
            .with("type", or_null("array", nullable))
            .with_some("maxItems", facets.max_items)
            .with("items", value(items, &Facets::NONE, false)?)
            .into(),
        Shape::Map(values) => Object::default()
            .with("type", or_null("object", nullable))
            .with_some("maxProperties", facets.max_entries)
            .with("additionalProperties", value(values, &Facets::NONE, false)?)
            .into(),
        Shape::Object(shape) => object(shape, nullable)?,
        // An empty string is refused here, so that the editor marks a value that is not finished yet.
        Shape::Enum(words) => {
            let list: Vec<&str> = words.values.iter().map(|(word, _)| *word).collect();
            let docs: Vec<String> = words.values.iter().map(|(_, doc)| description(doc)).collect();
            let plain: Vec<String> = docs.iter().map(|doc| doc.replace('`', "")).collect();
            let markdown = (plain != docs).then_some(docs);
            Object::default()
                .with("type", "string")
                .with("enum", list)
                .with("enumDescriptions", plain)
                .with_some("markdownEnumDescriptions", markdown)
                .into()
        }
        Shape::OneOf(shapes) => {
            let any: Result<Vec<Value>, Failure> =
                shapes.iter().map(|shape| value(shape, &Facets::NONE, false)).collect();
            json!({"anyOf": any?})
        }
    })
}

fn text(types: &[&str], facets: &Facets, nullable: bool) -> Value {
    let types: Vec<&str> = types.iter().copied().chain(nullable.then_some("null")).collect();
    let checks = facets.syntax.map(syntax::checks).unwrap_or_default();
    let expected: Vec<&str> = checks
        .iter()
        .map(|check| check.expected)
        .enumerate()
        .map(|(index, text)| if index == 0 { text } else { text.strip_prefix("a quantity ").unwrap_or(text) })
        .collect();
    let most = checks.iter().filter_map(|check| check.max_length).chain(facets.max_length).min();
    let empty = if facets.required { "" } else { "^$|" };
    Object::default()
        .with("type", if let [one] = types.as_slice() { json!(one) } else { json!(types) })
        .with_some("minLength", facets.required.then_some(1))
        .with_some("maxLength", most)
        .with_some("minimum", (types.contains(&"integer") && !checks.is_empty()).then_some(1))
        .with_some("pattern", checks.last().map(|check| format!("{empty}{}", check.pattern)))
        .with_some("patternErrorMessage", (!checks.is_empty()).then(|| format!("expected {}", expected.join(", "))))
        .into()
}

/// Documents a field of the provider's object in the overrides.
const MERGED_FIELD: &str =
    "A field of the provider's object, which is merged into it. Only in airunway.ai; elsewhere, write it in patches.";

/// Returns fields that are always required, but whose absence the CRD reports by a rule with its own message.
fn always_required(object: &str) -> &'static [&'static str] {
    match object {
        "ModelDeploymentSpec" => &["model"],
        _ => &[],
    }
}

/// Returns the constraints that depend on the value of another field.
fn conditions(object: &str) -> Result<Option<Value>, Failure> {
    let when = |field: &str, words: &[&str]| json!({"required": [field], "properties": {field: {"enum": words}}});
    let list = match object {
        "Model" => vec![json!({"if": when("source", &["custom"]), "then": {}, "else": {"required": ["id"]}})],
        "Engine" => EngineType::VARIANTS
            .iter()
            .map(|(word, engine)| {
                json!({"if": when("type", &[word]), "then": {"properties": {"args": arguments::schema(*engine)}}})
            })
            .collect(),
        "Provider" => {
            let mut list = Vec::new();
            for provider in PROVIDERS {
                let mut overrides = value(&provider.info().overrides, &Facets::NONE, true)?;
                // An editor does not know the API group of the document, and in one of them these are merged.
                if let Some(fields) = overrides.get_mut("properties").and_then(Value::as_object_mut) {
                    for field in OBJECT_FIELDS {
                        fields.entry(*field).or_insert_with(|| json!({"description": MERGED_FIELD}));
                    }
                }
                list.push(json!({
                    "if": when("name", &[provider.name()]),
                    "then": {"properties": {"overrides": overrides}},
                }));
            }
            list
        }
        "StorageVolume" => vec![
            json!({"if": {"required": ["size"]}, "else": {"required": ["claimName"]}}),
            json!({"if": when("purpose", &["modelCache", "compilationCache"]), "else": {"required": ["mountPath"]}}),
        ],
        _ => return Ok(None),
    };
    Ok(Some(Value::Array(list)))
}

/// Returns the fields that a serving mode and an engine require.
fn workload() -> Vec<Value> {
    let disaggregated = json!({"required": ["serving"], "properties": {"serving": {"required": ["mode"], "properties": {"mode": {"enum": ["disaggregated"]}}}}});
    // Limits can count GPUs, and claims can be for GPUs; `lint` looks at their names.
    let in_resources = json!({"type": "object", "anyOf": [{"required": ["limits"]}, {"required": ["claims"]}]});
    let count = json!({"required": ["gpu"], "properties": {"gpu": {"type": "object", "required": ["count"]}}});
    let own_resources = json!({"required": ["resources"], "properties": {"resources": in_resources}});
    let role = json!({"type": "object", "anyOf": [count, own_resources]});
    let any_role = json!({"type": "object"});
    let gpu_engine = json!({"required": ["engine"], "properties": {"engine": {"required": ["type"], "properties": {"type": {"enum": ["vllm", "sglang", "trtllm"]}}}}});
    let positive = json!({"type": "object", "required": ["gpu"], "properties": {"gpu": {"type": "object", "required": ["count"], "properties": {"count": {"minimum": 1}}}}});
    let gpus = json!({"type": "object", "anyOf": [positive, in_resources]});
    // The instance type of a KAITO preset counts the GPUs.
    let on_instance_type = json!({"required": ["provider"], "properties": {"provider": {"required": ["name", "overrides"], "properties": {"name": {"enum": ["kaito"]}, "overrides": {"type": "object", "required": ["instanceType"]}}}}});
    let needs_gpus = json!({"allOf": [gpu_engine, {"not": on_instance_type}]});
    vec![json!({
        "if": disaggregated,
        "then": {
            "required": ["scaling"],
            "properties": {
                "scaling": {"type": "object", "required": ["prefill", "decode"], "properties": {"prefill": any_role, "decode": any_role}},
            },
            "if": own_resources,
            "else": {"properties": {"scaling": {"properties": {"prefill": role, "decode": role}}}},
        },
        "else": {"if": needs_gpus, "then": {"required": ["resources"], "properties": {"resources": gpus}}},
    })]
}
