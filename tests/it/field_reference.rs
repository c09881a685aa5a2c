//! `explain FIELD` answers the same questions about every field, and its examples are accepted.

use kubefoundry_diagnostics::Severity;
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_reference::{DocumentedKind, FieldEntry, KINDS, find_field};
use kubefoundry_yaml as yaml;
use serde_json::{Map, Value, json};

use crate::common::compile_all;

/// Returns every field of a kind.
fn entries(kind: &DocumentedKind) -> impl Iterator<Item = FieldEntry> {
    kind.paths().into_iter().map(|path| find_field(&format!("{}.{path}", kind.name)).unwrap())
}

#[test]
fn every_field_has_a_type_a_default_values_providers_and_an_example() {
    let mut count = 0;
    for kind in KINDS {
        for entry in entries(kind) {
            let text = entry.to_text();
            let path = &entry.path;
            assert!(text.contains(&format!("\nFIELD: {path} <")), "{text}");
            let section = |title: &str| {
                let body = text.split_once(&format!("\n{title}:\n")).map_or("", |(_, rest)| rest);
                body.split("\n\n").next().unwrap_or_default().trim().to_owned()
            };
            for title in ["DESCRIPTION", "DEFAULT", "VALUES", "EXAMPLE"] {
                assert!(!section(title).is_empty(), "{} {path}: {title}", kind.name);
            }
            if kind.name == "ModelDeployment" {
                let providers = section("PROVIDERS");
                let is_of_spec = path.starts_with("spec") && path != "spec.provider.name";
                for provider in ["KAITO (", "Dynamo (", "KubeRay ("] {
                    assert_eq!(providers.contains(provider), is_of_spec, "{path}: {providers}");
                }
            }
            count += 1;
        }
    }
    assert!(count > 500, "{count}");
}

/// Every sentence about a provider is one of the tables that tests/it/field_support.rs checks.
#[test]
fn a_refused_field_has_its_reason() {
    for entry in entries(&KINDS[0]) {
        for support in entry.provider_support() {
            assert!(!support.note.is_empty() && !support.treatments.is_empty(), "{}: {support:?}", entry.path);
        }
    }
}

/// Returns the example of a field as a value.
fn example(entry: &FieldEntry) -> Value {
    let text = entry.example();
    let parsed = yaml::parse(&text, &yaml::Limits::default());
    assert!(parsed.failure.is_none(), "{}: {text}", entry.path);
    parsed.documents[0].root.to_json()
}

/// Merges an example into a document that is accepted without it.
fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

/// Returns the smallest object of a kind.
fn smallest(kind: &DocumentedKind) -> Value {
    let version = (kind.versions)().remove(0);
    let mut object = Map::from_iter([("apiVersion".to_owned(), version.into()), ("kind".to_owned(), kind.name.into())]);
    if kind.name != "Render" {
        object.insert("metadata".to_owned(), json!({"name": "example"}));
    }
    object.into()
}

/// The example of a field has a type and a value that the field accepts. What else the document needs is not looked at:
/// a whole deployment, and what is in the cluster.
#[test]
fn every_example_is_accepted() {
    // What another field or the provider decides: names of claims, volumes and namespaces, and what a preset takes.
    const OF_THE_WHOLE: &[&str] = &["KF0229", "KF0236", "KF0502", "KF2121"];
    let mut wrong = Vec::new();
    for kind in KINDS {
        for entry in entries(kind) {
            let mut document = smallest(kind);
            merge(&mut document, &example(&entry));
            let mut text = String::new();
            yaml::to_yaml(&document, &mut text);
            let mut sources = SourceSet::default();
            let purpose = if kind.name == "Render" { Purpose::Options } else { Purpose::Input };
            let id = sources.add_for(purpose, "example.yaml", text.as_str());
            for found in compile_all(&sources).diagnostics {
                let is_here = found.location.as_ref().is_some_and(|at| {
                    let place = at.path.to_string();
                    let place: String =
                        place.split('[').map(|part| part.split_once(']').map_or(part, |(_, rest)| rest)).collect();
                    at.source == id && (place == entry.path || place.starts_with(&format!("{}.", entry.path)))
                });
                if is_here && found.severity == Severity::Error && !OF_THE_WHOLE.contains(&found.code.id) {
                    wrong.push(format!("{} {}: {}[{}]", kind.name, entry.path, found.message, found.code.id));
                }
            }
        }
    }
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "{} examples are refused:\n{}", wrong.len(), wrong.join("\n"));
}
