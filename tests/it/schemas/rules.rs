//! The rules of the CRDs against `lint`: they refuse no deployment that it accepts, and have the same messages.

use std::collections::BTreeSet;

use kubefoundry_compiler::Compilation;
use kubefoundry_composition::PROVIDERS;
use kubefoundry_deployment::wire::EngineType;
use kubefoundry_diagnostics::Severity;
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_kubernetes::wire::StringEnum as _;
use kubefoundry_yaml as yaml;
use serde_json::{Value, json};

use super::crd::{CRDS, Refusal};
use super::{documents, kind_of, schema_file};
use crate::common::{case_folders, compile_all, compile_case, read_case};

/// Returns the refusals of a cluster for the objects of our kinds in a text.
fn refusals(text: &str) -> Vec<Refusal> {
    let documents = documents(text);
    let of_ours = documents.iter().filter_map(|object| {
        let (api_group, kind) = kind_of(object)?;
        Some(CRDS.get(&(api_group.name, kind))?.refusals(object))
    });
    of_ours.flatten().collect()
}

fn compile_text(text: &str) -> Compilation {
    let mut sources = SourceSet::default();
    sources.add("model.yaml", text);
    compile_all(&sources)
}

fn messages(compilation: &Compilation) -> Vec<&str> {
    let errors = compilation.diagnostics.iter().filter(|found| found.severity == Severity::Error);
    errors.map(|found| found.message.as_str()).collect()
}

fn input_texts(sources: &SourceSet) -> Vec<&str> {
    let inputs = sources.iter().filter(|(_, source)| source.purpose == Purpose::Input);
    inputs.map(|(_, source)| source.text.as_str()).collect()
}

/// For every case and example, a cluster accepts what `lint` accepts, and `lint` reports what a rule of the cluster
/// refuses, with the same message.
#[test]
fn cases_are_accepted_or_refused_alike() {
    let mut accepted = 0;
    for folder in case_folders() {
        let sources = read_case(&folder);
        let compilation = compile_case(&folder);
        // A cluster never sees a patch.
        if sources.iter().any(|(_, source)| source.text.contains("kind: Kustomization")) {
            continue;
        }
        for text in input_texts(&sources) {
            let refusals = refusals(text);
            if !compilation.has_errors() {
                assert!(refusals.is_empty(), "{}: {refusals:#?}", folder.display());
                accepted += 1;
            }
            // `lint` reports no more for unreadable documents, documents of another group, or invalid options.
            let unread = compilation.diagnostics.iter().any(|found| {
                let id = found.code.id;
                id < "KF0112" || id == "KF0201" || id.starts_with("KF08")
            });
            for refusal in refusals.iter().filter(|refusal| refusal.rule.is_some() && !unread) {
                let said = messages(compilation).iter().any(|message| refusal.matches_finding(message));
                assert!(said, "{}: {refusal:#?} is not among {:#?}", folder.display(), messages(compilation));
            }
        }
    }
    assert!(accepted > 150, "{accepted}");
}

/// Objects that violate the rules, each with the expected message.
const BROKEN: &[&str] =
    &[include_str!("broken/model.yaml"), include_str!("broken/workload.yaml"), include_str!("broken/items.yaml")];

/// An object violates each rule of both API groups, and `lint` reports the same message.
#[test]
fn every_rule_has_the_message_of_lint() {
    let mut tripped = BTreeSet::new();
    for text in BROKEN {
        for document in yaml::parse(text, &yaml::Limits::default()).documents {
            for group in ["kubefoundry", "kubeairunway"] {
                let text = text[document.span.start..document.span.end].replace("kubefoundry", group);
                let compilation = compile_text(&text);
                let refusals = refusals(&text);
                assert!(!refusals.is_empty(), "a cluster accepts\n{text}");
                for refusal in refusals {
                    let said = messages(&compilation).iter().any(|message| refusal.matches_finding(message));
                    assert!(said, "{refusal:#?} is not among {:#?} for\n{text}", messages(&compilation));
                    tripped.insert((group, refusal.rule.unwrap()));
                }
            }
        }
    }
    for (group, text) in beyond_capabilities() {
        let compilation = compile_text(&text);
        for refusal in refusals(&text) {
            let said = messages(&compilation).iter().any(|message| refusal.matches_finding(message));
            assert!(said, "{refusal:#?} is not among {:#?} for\n{text}", messages(&compilation));
            tripped.insert((group, refusal.rule.unwrap()));
        }
    }
    for group in ["kubefoundry", "kubeairunway"] {
        let text = schema_file(&format!("{group}.ai_modeldeployments.yaml"));
        let mut all = BTreeSet::new();
        collect_rules(&documents(&text)[0], &mut all);
        assert!(all.len() > 50, "{}", all.len());
        let missing: Vec<_> = all.iter().filter(|rule| !tripped.contains(&(group, (*rule).clone()))).collect();
        assert!(
            missing.is_empty(),
            "nothing trips {missing:#?}: add an object that does to tests/it/schemas/broken/workload.yaml"
        );
    }
}

/// A CRD is not upgraded with a provider, so the configuration of a provider alone says what it can run.
#[test]
fn no_rule_is_about_a_provider() {
    for group in ["kubefoundry", "kubeairunway"] {
        let mut all = BTreeSet::new();
        collect_rules(&documents(&schema_file(&format!("{group}.ai_modeldeployments.yaml")))[0], &mut all);
        for rule in all {
            let named = PROVIDERS.iter().find(|provider| rule.contains(&format!("'{}'", provider.name())));
            assert!(named.is_none() && !rule.contains("provider.name =="), "{rule}");
        }
    }
    let (mut beyond, mut refused) = (0, 0);
    for (_, text) in beyond_capabilities() {
        let compilation = compile_text(&text);
        let is_about_provider =
            |message: &&str| PROVIDERS.iter().any(|provider| message.starts_with(provider.display_name()));
        if messages(&compilation).iter().any(is_about_provider) {
            beyond += 1;
            refused += usize::from(!refusals(&text).is_empty());
        }
    }
    // The CRD still refuses those whose engine needs a GPU, whatever the provider.
    assert!(beyond > 20 && refused < beyond / 2, "{refused} of {beyond}");
}

/// Returns deployments for each combination that a provider does not run.
fn beyond_capabilities() -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    for group in ["kubefoundry", "kubeairunway"] {
        for provider in PROVIDERS {
            for (engine, _) in EngineType::VARIANTS {
                for (mode, gpus) in [("aggregated", 1), ("aggregated", 0), ("disaggregated", 1)] {
                    let mut spec = json!({
                        "model": {"id": "a/b"}, "image": "a/b:1", "engine": {"type": engine},
                        "provider": {"name": provider.name()}, "serving": {"mode": mode},
                    });
                    if mode == "aggregated" {
                        spec["resources"] = json!({"gpu": {"count": gpus}});
                    } else {
                        let role = json!({"gpu": {"count": gpus}, "memory": "8Gi"});
                        spec["scaling"] = json!({"prefill": role, "decode": role});
                    }
                    let object = json!({
                        "apiVersion": format!("{group}.ai/v1alpha1"), "kind": "ModelDeployment",
                        "metadata": {"name": "m"}, "spec": spec,
                    });
                    all.push((group, yaml::to_yaml_stream(&[object])));
                }
            }
        }
    }
    all
}

fn collect_rules(value: &Value, all: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for rule in fields.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten() {
                all.insert(rule["rule"].as_str().unwrap().to_owned());
            }
            fields.values().for_each(|value| collect_rules(value, all));
        }
        Value::Array(items) => items.iter().for_each(|value| collect_rules(value, all)),
        _ => {}
    }
}

/// A deployment with the defaults that a cluster writes renders as before.
#[test]
fn defaults_change_nothing() {
    let mut changed = 0;
    for folder in case_folders() {
        let sources = read_case(&folder);
        let mut defaulted = SourceSet::default();
        for (_, source) in sources.iter() {
            let mut objects: Vec<Value> = yaml::parse(&source.text, &yaml::Limits::default())
                .documents
                .iter()
                .map(|document| document.root.to_json())
                .collect();
            for object in &mut objects {
                let crd = kind_of(object).and_then(|(api_group, kind)| CRDS.get(&(api_group.name, kind)));
                if let Some(crd) = crd.filter(|_| source.purpose == Purpose::Input) {
                    let with_defaults = crd.defaulted(object);
                    changed += usize::from(with_defaults != *object);
                    *object = with_defaults;
                }
            }
            defaulted.add_for(source.purpose, source.name.clone(), yaml::to_yaml_stream(&objects));
        }
        let (before, after) = (compile_case(&folder), compile_all(&defaulted));
        // A case with errors has no output to compare.
        if before.has_errors() {
            continue;
        }
        let objects = |compilation: &Compilation| {
            let own = compilation.outputs.iter().filter(|output| output.is_generated());
            own.map(|output| output.object.clone()).collect::<Vec<_>>()
        };
        let said = |compilation: &Compilation| {
            let all = compilation.diagnostics.iter().map(|found| (found.code.id, found.message.clone()));
            all.collect::<BTreeSet<_>>()
        };
        assert_eq!(objects(before), objects(&after), "{}", folder.display());
        assert_eq!(said(before), said(&after), "{}", folder.display());
    }
    assert!(changed > 100, "{changed}");
}
