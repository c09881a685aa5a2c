//! The schemas for editors against `lint`: they refuse every mistake of shape that it reports, and nothing that it
//!

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jsonschema::Validator;
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_yaml as yaml;
use serde_json::Value;

use super::{kind_of, schema_file};
use crate::common::{case_folders, compile_all, read_case};

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
        assert!(jsonschema::meta::is_valid(&schema), "{file} is no JSON Schema");
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
        let compilation = compile_all(&sources);
        let warned = compilation.diagnostics.iter().any(|found| matches!(found.code.name, "unknown-override"));
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
            for found in &compile_all(&sources).diagnostics {
                let in_file =
                    |location: &kubefoundry_diagnostics::Location| sources.get(location.source).purpose == purpose;
                let shape = matches!(found.code.id, "KF0101" | "KF0102" | "KF0103" | "KF0105" | "KF0503");
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
    for code in ["KF0101", "KF0102", "KF0103", "KF0105", "KF0503"] {
        assert!(refused.contains_key(code), "no case shows {code}: {refused:?}");
    }
}
