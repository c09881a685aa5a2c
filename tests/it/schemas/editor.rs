//! The schemas for editors against `lint`: they refuse every mistake of shape that it reports, and nothing that it
//!

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use jsonschema::Validator;
use kubefoundry::schemas::SCHEMAS as SCHEMAS_OF_FILES;
use kubefoundry_compiler::options::render::API_VERSION;
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_yaml as yaml;
use serde_json::{Map, Value, json};

use super::{kind_of, schema_file};
use crate::common::{case_folders, compile_all, compile_case, read_case};

/// The schemas, by kind; `""` is the schema for any document.
static SCHEMAS: LazyLock<BTreeMap<&str, Validator>> = LazyLock::new(|| {
    let files = [
        ("", "kubefoundry.json"),
        ("ModelDeployment", "modeldeployment.json"),
        ("InferenceProviderConfig", "inferenceproviderconfig.json"),
        ("Render", "render.json"),
    ];
    let compile = |(kind, file)| {
        let schema: Value = serde_json::from_str(&schema_file(file)).unwrap();
        assert!(jsonschema::meta::is_valid(&schema), "{file} is not JSON Schema");
        (kind, jsonschema::draft7::new(&schema).unwrap())
    };
    files.into_iter().map(compile).collect()
});

fn kind_of_any(object: &Value) -> Option<&str> {
    let render =
        object["apiVersion"] == kubefoundry_compiler::options::render::API_VERSION && object["kind"] == "Render";
    if render { Some("Render") } else { kind_of(object).map(|(_, kind)| kind) }
}

/// Returns the errors of a document by the schema of its kind. The schema for any document must agree.
fn findings(document: &Value) -> Vec<String> {
    let messages = |validator: &Validator| {
        let mut messages: Vec<String> =
            validator.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path())).collect();
        messages.sort();
        messages
    };
    let any = messages(&SCHEMAS[""]);
    if let Some(validator) = kind_of_any(document).and_then(|kind| SCHEMAS.get(kind)) {
        assert_eq!(messages(validator), any, "{document}");
    }
    any
}

fn documents(sources: &SourceSet) -> Vec<(Purpose, Value)> {
    let mut all = Vec::new();
    for (_, source) in sources.iter() {
        for document in yaml::parse(&source.text, &yaml::Limits::default()).documents {
            all.push((source.purpose, document.root.to_json()));
        }
    }
    all
}

/// An editor marks nothing in a valid case, except unknown overrides, for which `lint` has a warning.
#[test]
fn valid_documents_are_not_marked() {
    let mut accepted = 0;
    for folder in case_folders() {
        let sources = read_case(&folder);
        let compilation = compile_case(&folder);
        let warned = compilation.diagnostics.iter().any(|found| matches!(found.code.name, "override-unknown"));
        if compilation.has_errors() || warned || is_patched(&sources) {
            continue;
        }
        for (_, document) in documents(&sources) {
            let findings = findings(&document);
            assert!(findings.is_empty(), "{}: {findings:#?}", folder.display());
            accepted += 1;
        }
    }
    assert!(accepted > 150, "{accepted}");
}

fn is_of_another_group(api_version: &str) -> bool {
    ApiGroup::find(api_version.rsplit_once('/').map_or("", |(group, _)| group)).is_none()
}

/// Returns whether a case contains patches, which are incomplete objects.
fn is_patched(sources: &SourceSet) -> bool {
    sources.iter().any(|(_, source)| source.text.contains("kind: Kustomization"))
}

/// An editor marks every mistake of shape: wrong types, unknown fields, unknown enum values, numbers out of range.
#[test]
fn mistakes_of_shape_are_marked() {
    let mut refused = BTreeMap::new();
    for folder in case_folders() {
        let sources = read_case(&folder);
        for (purpose, mut shapes) in [(Purpose::Input, Vec::new()), (Purpose::Options, Vec::new())] {
            for found in &compile_case(&folder).diagnostics {
                let in_file =
                    |location: &kubefoundry_diagnostics::Location| sources.get(location.source).purpose == purpose;
                let shape = matches!(found.code.id, "KF0112" | "KF0113" | "KF0114" | "KF0116" | "KF0601");
                // Kinds of other groups have no schema here.
                let other = found.object.as_ref().is_some_and(|object| is_of_another_group(&object.api_version));
                if shape && !other && found.location.as_ref().is_some_and(in_file) {
                    shapes.push(found.code.id);
                }
            }
            if shapes.is_empty() || is_patched(&sources) {
                continue;
            }
            let marked =
                documents(&sources).iter().any(|(of, document)| *of == purpose && !findings(document).is_empty());
            assert!(marked, "{}: nothing is marked, and the engine reports {shapes:?}", folder.display());
            for shape in shapes {
                *refused.entry(shape).or_insert(0) += 1;
            }
        }
    }
    for code in ["KF0112", "KF0113", "KF0114", "KF0116", "KF0601"] {
        assert!(refused.contains_key(code), "no case shows {code}: {refused:?}");
    }
}

/// The names and the identifiers of codes are keys of `severities`, and nothing else is, as in `lint`.
#[test]
fn severities_of_unknown_codes_are_marked() {
    let options =
        |key: &str, level: Value| json!({"apiVersion": API_VERSION, "kind": "Render", "severities": {key: level}});
    for code in kubefoundry::registry::codes() {
        for key in [code.id, code.name] {
            assert_eq!(findings(&options(key, "error".into())), [""; 0], "{key}");
        }
    }
    // YAML 1.1 reads `off` as `false`.
    assert_eq!(findings(&options("unpinned-runtime", false.into())), [""; 0]);
    for (key, level) in [("unpinned-runtimes", json!(false)), ("KF9999", json!("off")), ("KF0503", json!("loud"))] {
        assert_eq!(findings(&options(key, level)).len(), 1, "{key}");
    }
}

/// Collects every schema that has a keyword.
fn schemas_with<'s>(keyword: &str, schema: &'s Value, found: &mut Vec<&'s Map<String, Value>>) {
    match schema {
        Value::Object(keywords) => {
            if keywords.contains_key(keyword) {
                found.push(keywords);
            }
            keywords.values().for_each(|value| schemas_with(keyword, value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| schemas_with(keyword, item, found)),
        _ => {}
    }
}

/// `description` is plain text. An editor that shows it as Markdown escapes the back-quotes.
#[test]
fn markdown_is_in_descriptions_for_markdown_only() {
    for schema in SCHEMAS_OF_FILES.iter().filter(|schema| !schema.is_crd) {
        let value: Value = serde_json::from_str(&schema.text()).unwrap();
        let mut described = Vec::new();
        schemas_with("description", &value, &mut described);
        let mut marked_up = 0;
        for keywords in described {
            // A property of this name is a schema.
            let Some(text) = keywords["description"].as_str() else { continue };
            assert!(!text.contains('`'), "{}: {text}", schema.name);
            if let Some(markdown) = keywords.get("markdownDescription") {
                assert_eq!(markdown.as_str().unwrap().replace('`', ""), text, "{}", schema.name);
                marked_up += 1;
            }
        }
        assert!(marked_up > 0, "{}: no description has Markdown", schema.name);
    }
}

/// Writes a snippet as an editor inserts it, with the defaults of its places. The values have no quotes.
fn insert_snippet(body: &Value, indent: usize, out: &mut String) {
    let margin = " ".repeat(indent);
    match body {
        Value::Object(fields) => {
            for (key, value) in fields {
                if value.is_object() || value.is_array() {
                    writeln!(out, "{margin}{key}:").unwrap();
                    insert_snippet(value, indent + 2, out);
                } else {
                    write!(out, "{margin}{key}: ").unwrap();
                    insert_snippet(value, 0, out);
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                let mut text = String::new();
                insert_snippet(item, indent + 2, &mut text);
                write!(out, "{margin}- {}", text.trim_start()).unwrap();
            }
        }
        Value::String(text) => {
            let places = regex::Regex::new(r"\$\{[0-9]+(?:\|([^,|]+)[^|]*\||:([^}]*))\}").unwrap();
            writeln!(out, "{}", places.replace_all(text, "$1$2")).unwrap();
        }
        other => writeln!(out, "{other}").unwrap(),
    }
}

/// An empty document completes to one of each kind, and each is accepted by its schema and by `lint`.
#[test]
fn snippets_are_accepted() {
    let any: Value = serde_json::from_str(&schema_file("kubefoundry.json")).unwrap();
    let mut with_snippets = Vec::new();
    schemas_with("else", &any, &mut with_snippets);
    let snippets = with_snippets.iter().find_map(|schema| schema["else"]["defaultSnippets"].as_array()).unwrap();
    let labels: Vec<&str> = snippets.iter().map(|snippet| snippet["label"].as_str().unwrap()).collect();
    assert_eq!(
        labels,
        ["ModelDeployment", "ModelDeployment, disaggregated", "InferenceProviderConfig", "Render", "AsyncActor"]
    );
    for snippet in snippets {
        let mut text = String::new();
        insert_snippet(&snippet["body"], 0, &mut text);
        let document = yaml::parse(&text, &yaml::Limits::default()).documents[0].root.to_json();
        assert_eq!(findings(&document), [""; 0], "{text}");
        let mut sources = SourceSet::default();
        match document["kind"].as_str().unwrap() {
            "Render" => {
                sources.add_for(Purpose::Options, "kubefoundry.yaml", text.as_str());
                sources.add("model.yaml", "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {name: m}\nspec: {model: {id: a/b}, engine: {type: vllm}, resources: {gpu: {count: 1}}}\n");
            }
            // An actor needs its transports in the options, and its target in the input.
            "AsyncActor" => continue,
            _ => {
                sources.add("snippet.yaml", text.as_str());
            }
        }
        let compilation = compile_all(&sources);
        let errors: Vec<&str> = compilation.diagnostics.iter().map(|found| found.message.as_str()).collect();
        let is_without_model = document["kind"] == "InferenceProviderConfig";
        assert!(is_without_model || !compilation.has_errors(), "{errors:?}\n{text}");
        assert!(!is_without_model || errors.iter().all(|error| error.contains("ModelDeployment")), "{errors:?}");
    }
}

/// Every kind's own schema has its snippets, and so do the objects that have many fields in common.
#[test]
fn empty_objects_have_snippets() {
    let schema: Value = serde_json::from_str(&schema_file("modeldeployment.json")).unwrap();
    let labels = |pointer: &str| -> Vec<String> {
        let snippets = schema.pointer(pointer).and_then(|schema| schema["defaultSnippets"].as_array());
        let snippets = snippets.unwrap_or_else(|| panic!("{pointer} has no snippets"));
        snippets.iter().map(|snippet| snippet["label"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(labels(""), ["ModelDeployment", "ModelDeployment, disaggregated"]);
    let spec = "/properties/spec/properties";
    assert_eq!(labels(&format!("{spec}/resources/properties/gpu")), ["GPUs", "GPUs of another vendor"]);
    for role in ["prefill", "decode"] {
        assert_eq!(labels(&format!("{spec}/scaling/properties/{role}")), ["workers"]);
    }
}
