//! The CRD of the llama-stack operator, patched with `deploy/llamastack/external-providers.yaml`: what it accepts and
//! refuses.

use std::fs;
use std::path::Path;

use crate::common::upstream::{crd, dump};
use kubefoundry_composition::BUILTIN;
use kubefoundry_yaml as yaml;
use serde_json::{Value, json};

fn read(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap();
    yaml::parse(&text, &yaml::Limits::default()).documents[0].root.to_json()
}

/// Applies the operations that the patch uses (RFC 6902). A failing `test` operation or a missing parent panics.
fn apply_patch(mut document: Value, patch: &Value) -> Value {
    for operation in patch.as_array().unwrap() {
        let path = operation["path"].as_str().unwrap();
        match operation["op"].as_str().unwrap() {
            "test" => assert_eq!(document.pointer(path), Some(&operation["value"]), "{path}"),
            "add" => {
                let (parent, key) = path.rsplit_once('/').unwrap();
                let parent = document.pointer_mut(parent).unwrap_or_else(|| panic!("{path}: no such place"));
                let before = parent.as_object_mut().unwrap().insert(key.to_owned(), operation["value"].clone());
                assert_eq!(before, None, "{path}: upstream has it by now");
            }
            other => panic!("{other} is not an operation that is used"),
        }
    }
    document
}

/// Returns the messages with which the patched CRD refuses an object.
fn refusals(object: &Value) -> Vec<String> {
    let patch = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/llamastack/external-providers.yaml");
    let sources = dump([&apply_patch(crd("llamastack.io", "LlamaStackDistribution"), &read(&patch))]);
    let (crds, problems) = kubefoundry_crd::Crds::from_sources(&sources, BUILTIN.crd_kinds());
    assert!(problems.is_empty(), "{problems:?}");
    crds.check(object).into_iter().map(|found| format!("{} {}", found.code.id, found.message)).collect()
}

/// Returns the messages for a distribution with these providers and this status.
fn refusals_of_providers(providers: &Value, status: Option<&Value>) -> Vec<String> {
    let mut object = json!({
        "apiVersion": "llamastack.io/v1alpha1",
        "kind": "LlamaStackDistribution",
        "metadata": {"name": "stack", "namespace": "default"},
        "spec": {"server": {"distribution": {"name": "starter"}, "externalProviders": providers}},
    });
    if let Some(status) = status {
        object["status"] = json!({ "externalProviders": [status] });
    }
    refusals(&object)
}

fn provider(id: &str) -> Value {
    json!({"providerId": id, "image": format!("quay.io/acme/{id}:1.0.0")})
}

#[test]
fn providers_of_every_api_are_accepted() {
    let config = json!({"url": "http://x", "deep": {"list": [1, "a", null]}});
    let mut full = provider("vllm");
    full["imagePullPolicy"] = json!("Always");
    full["config"] = config;
    let all = json!({
        "inference": [full, provider("b")], "safety": [provider("c")], "agents": [provider("d")],
        "vectorIo": [provider("e")], "datasetIo": [provider("f")], "scoring": [provider("g")], "eval": [provider("h")],
        "toolRuntime": [provider("i")], "postTraining": [provider(&"j".repeat(45))],
    });
    let status = json!({
        "providerId": "vllm", "image": "quay.io/acme/vllm:1.0.0", "phase": "Failed", "message": "no",
        "initContainerName": "external-provider-vllm", "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    for providers in [all, json!({}), json!({"inference": []})] {
        let said = refusals_of_providers(&providers, Some(&status));
        assert_eq!(said, Vec::<String>::new(), "{providers}");
    }
}

#[test]
fn invalid_providers_are_refused() {
    let with = |key: &str, value: Value| {
        let mut provider = provider("a");
        provider[key] = value;
        json!({ "inference": [provider] })
    };
    let mut others = Vec::new();
    for (providers, expected) in [
        (json!({"vector_io": []}), "vector_io"),
        (json!({"inference": {}}), "is a mapping, expected a value of type array"),
        (json!({"inference": [{"image": "a"}]}), "providerId"),
        (json!({"inference": [{"providerId": "a"}]}), "image"),
        (with("providerId", json!("Upper")), "is \"Upper\", expected a DNS-1123 label"),
        (with("providerId", json!("-a")), "expected a DNS-1123 label"),
        (with("providerId", json!("a".repeat(46))), "45"),
        (with("image", json!("")), "image"),
        (with("imagePullPolicy", json!("Sometimes")), "imagePullPolicy"),
        (with("providerType", json!("remote::a")), "providerType"),
        (with("config", json!("text")), "config"),
        (json!({"inference": [provider("a"), provider("a")]}), "providerId"),
        (
            json!({"vectorIo": [provider("x"), provider("a")], "postTraining": [provider("a")]}),
            "duplicate provider_id 'a' in externalProviders: found in both vectorIo and postTraining API sections (images: \
             quay.io/acme/a:1.0.0 and quay.io/acme/a:1.0.0); give each provider its own id",
        ),
    ] {
        let said = refusals_of_providers(&providers, None);
        if said.len() != 1 || !said[0].contains(expected) {
            others.push(format!("{providers}\n{expected}\n{said:#?}\n"));
        }
    }
    assert!(others.is_empty(), "{}", others.concat());
    let status = json!({"providerId": "a", "image": "b", "phase": "Gone"});
    assert!(refusals_of_providers(&json!({}), Some(&status))[0].contains("phase"));
}

/// A cluster accepts every distribution of the goldens and examples that is rendered without errors.
#[test]
fn rendered_distributions_are_accepted() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["testdata/golden/llamastack", "examples"].map(|folder| fs::read_dir(root.join(folder)).unwrap());
    let mut count = 0;
    for folder in folders.into_iter().flatten().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()) {
        let found = fs::read_to_string(folder.join("diagnostics.snap")).unwrap();
        if found.contains("\nerror[") {
            continue;
        }
        for file in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            if file.extension().is_none_or(|extension| extension != "yaml") {
                continue;
            }
            let text = fs::read_to_string(&file).unwrap();
            for document in &yaml::parse(&text, &yaml::Limits::default()).documents {
                let object = document.root.to_json();
                if object["kind"] == "LlamaStackDistribution" {
                    let said = refusals(&object);
                    assert_eq!(said, Vec::<String>::new(), "{}", file.display());
                    count += 1;
                }
            }
        }
    }
    assert!(count > 20, "{count}");
}
