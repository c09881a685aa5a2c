//! The engine takes one deployment at a time, as the apiserver gives it: what comes out is what a run over texts gives.

use crate::common::upstream::newest;
use crate::common::{case_folders, read_case};
use kubefoundry_compiler::pipeline::OutputRole;
use kubefoundry_compiler::session::{Evaluation, PriorChoice, Providers, Session};
use kubefoundry_compiler::{Compilation, Decision, Thoroughness, compile};
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, Severity};
use kubefoundry_yaml as yaml;
use serde_json::{Value, json};

const NO_CRDS: &str =
    r#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinitionList", "items": []}"#;

/// What an apiserver and controllers add to an object.
fn as_stored(deployment: &Value) -> Value {
    let mut stored = deployment.clone();
    let metadata = stored["metadata"].as_object_mut().unwrap();
    metadata.insert("uid".to_owned(), "8c2f6a1e-0000-4000-8000-000000000001".into());
    metadata.insert("resourceVersion".to_owned(), "1234".into());
    metadata.insert("generation".to_owned(), 3.into());
    metadata.insert("creationTimestamp".to_owned(), "2026-01-30T09:00:00Z".into());
    metadata.insert("deletionTimestamp".to_owned(), "2026-01-30T10:00:00Z".into());
    metadata.insert("deletionGracePeriodSeconds".to_owned(), 0.into());
    metadata.insert("finalizers".to_owned(), json!(["kubefoundry.ai/dynamo-provider"]));
    metadata.insert("selfLink".to_owned(), "".into());
    metadata.insert("ownerReferences".to_owned(), json!([{"apiVersion": "v1", "kind": "X", "name": "x", "uid": "1"}]));
    metadata.insert(
        "managedFields".to_owned(),
        json!([{"manager": "kubectl", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {".": {}}}}]),
    );
    let conditions = json!([{"type": "Ready", "status": "Unknown", "reason": "R", "message": "", "foreign": 1}]);
    stored["status"] = json!({"phase": "Pending", "conditions": conditions, "future": [1.5]});
    stored
}

fn phi() -> Value {
    json!({
        "apiVersion": "kubefoundry.ai/v1alpha1", "kind": "ModelDeployment",
        "metadata": {"name": "phi", "namespace": "ml"},
        "spec": {"model": {"id": "org/phi"}, "engine": {"type": "vllm"}, "resources": {"gpu": {"count": 1}}},
    })
}

fn engine(texts: &[(Purpose, &str)], providers: Providers) -> Session {
    let mut sources = SourceSet::default();
    for (purpose, text) in texts {
        sources.add_for(*purpose, "text.yaml", *text);
    }
    Session::new(&sources, providers).unwrap()
}

fn messages(found: &[Diagnostic]) -> Vec<String> {
    let said = |found: &Diagnostic| {
        let path = found.location.as_ref().map(|location| location.path.to_string());
        // Of a value of another type, messages say how it is written, where it is.
        let words = (found.code.name != "wrong-type").then(|| format!("{} {:?}", found.message, found.help));
        format!("{} {path:?} {words:?}", found.code.id)
    };
    // A run says of its whole input that it has no deployment.
    let found = found.iter().filter(|found| found.code.name != "no-model-deployment");
    let mut messages: Vec<String> = found.map(said).collect();
    messages.sort();
    messages
}

/// What an engine needs of a case, and its deployments.
fn parts(sources: &SourceSet) -> (SourceSet, Vec<Value>) {
    let (mut context, mut deployments) = (SourceSet::default(), Vec::new());
    for (_, source) in sources.iter() {
        for document in yaml::documents(&source.text, &yaml::Limits::default()) {
            let kind = document.root.get("kind").and_then(yaml::Node::as_str);
            if source.purpose == Purpose::Input && kind == Some("ModelDeployment") {
                deployments.push(document.root.to_json());
            } else if source.purpose == Purpose::Input && kind == Some("InferenceProviderConfig") {
                context.add(source.name.clone(), document.root.to_json().to_string());
            }
        }
        if source.purpose != Purpose::Input {
            context.add_for(source.purpose, source.name.clone(), source.text.clone());
        }
    }
    (context, deployments)
}

/// One deployment alone in a run.
fn run(context: &SourceSet, deployment: &Value, thoroughness: Thoroughness) -> Compilation {
    let mut sources = context.clone();
    sources.add("deployment.yaml", yaml::to_yaml_stream([deployment]));
    compile(&sources, thoroughness)
}

/// What differs between the two.
fn differences(evaluation: &Evaluation, compilation: &Compilation) -> Vec<String> {
    let made = compilation.outputs.iter().filter(|output| output.role == OutputRole::Generated);
    let made = made.map(|output| output.object.clone()).filter(|_| !compilation.has_errors());
    let reason = |decision: Option<&Decision>| decision.and_then(|it| it.reason().map(str::to_owned));
    let alone = (
        &evaluation.objects,
        messages(&evaluation.diagnostics),
        evaluation.has_errors(),
        reason(evaluation.decision.as_ref()),
    );
    let made: Vec<Value> = made.collect();
    let together =
        (&made, messages(&compilation.diagnostics), compilation.has_errors(), reason(compilation.decisions.first()));
    if alone == together { Vec::new() } else { vec![format!("{alone:#?}\n{together:#?}")] }
}

/// Every golden and example: the same objects, the same findings, the same reason, however it is stored.
#[test]
fn an_engine_says_what_a_run_says() {
    let (mut compared, mut different) = (0, Vec::new());
    for folder in case_folders() {
        let (context, deployments) = parts(&read_case(&folder));
        let Ok(engine) = Session::new(&context, Providers::All) else { continue };
        if !engine.problems().is_empty() {
            continue;
        }
        for deployment in deployments {
            if !deployment["metadata"].is_object() {
                continue;
            }
            for thoroughness in [Thoroughness::Needed, Thoroughness::EveryRule] {
                let mut stored = as_stored(&deployment);
                if let Some(uid) = deployment["metadata"].get("uid") {
                    stored["metadata"]["uid"] = uid.clone();
                } else {
                    stored["metadata"].as_object_mut().unwrap().shift_remove("uid");
                }
                let compilation = run(&context, &deployment, thoroughness);
                // Limits are on texts, and a uid is asked for when something is applied.
                let is_of_runs = |found: &Diagnostic| matches!(found.code.name, "limit-exceeded" | "owner-without-uid");
                if !compilation.diagnostics.iter().any(is_of_runs) {
                    let found = differences(&engine.validate(&stored, thoroughness), &compilation);
                    different.extend(found.into_iter().map(|it| format!("{}: {it}", folder.display())));
                    compared += 1;
                }
            }
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert!(compared > 300, "{compared}");
}

/// The corpus of the benchmarks renders the same, one by one and in one run, for either way to know the providers.
#[test]
fn the_corpus_renders_the_same_alone() {
    let text = crate::documents::documents(0..200);
    let mut sources = SourceSet::default();
    sources.add("corpus.yaml", text.clone());
    let compilation = compile(&sources, Thoroughness::Needed);
    let engine = engine(&[], Providers::All);
    let alone: Vec<Value> = yaml::documents(&text, &yaml::Limits::default())
        .flat_map(|document| engine.evaluate(&document.root.to_json(), None).objects)
        .collect();
    let together: Vec<Value> = compilation.outputs.into_iter().map(|output| output.object).collect();
    assert_eq!(alone, together);
}

/// Defaults that are written down change nothing, and draw no word: neither what is rendered nor what is found.
#[test]
fn written_defaults_mean_what_was_meant() {
    let mut compared = 0;
    for folder in case_folders() {
        let (context, deployments) = parts(&read_case(&folder));
        let Ok(engine) = Session::new(&context, Providers::All) else { continue };
        for deployment in deployments {
            let with_defaults = engine.default_values(&deployment);
            assert_eq!(engine.default_values(&with_defaults), with_defaults, "{}", folder.display());
            let [before, after] = [&deployment, &with_defaults].map(|it| engine.validate(it, Thoroughness::EveryRule));
            assert_eq!(messages(&before.diagnostics), messages(&after.diagnostics), "{}", folder.display());
            assert_eq!(before.objects, after.objects, "{}", folder.display());
            let provider = before.provider().unwrap_or_default();
            let hash = |deployment: &Value| engine.identity_hash(deployment, provider);
            assert_eq!(hash(&deployment), hash(&with_defaults), "{}", folder.display());
            compared += usize::from(with_defaults != deployment);
        }
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn it_is_shared_between_threads() {
    fn is_shared<T: Clone + Send + Sync + 'static>() {}
    is_shared::<Session>();
    is_shared::<Evaluation>();
}

/// A choice that was made stays: it is checked, and its words are not touched.
#[test]
fn an_earlier_choice_is_kept_and_checked() {
    let engine = engine(&[], Providers::All);
    let chosen = |provider: &str| PriorChoice { provider: provider.to_owned(), reason: "because".to_owned() };
    let kept = engine.evaluate(&phi(), Some(&chosen("kuberay")));
    assert_eq!(kept.objects.last().unwrap()["kind"], "RayService");
    let annotations = &kept.objects.last().unwrap()["metadata"]["annotations"];
    assert_eq!(annotations["kubefoundry.ai/selected-reason"], "because");
    assert!(!kept.decision.unwrap().selection.unwrap().explicit);

    let mut sglang = phi();
    sglang["spec"]["engine"]["type"] = "sglang".into();
    let refused = engine.evaluate(&sglang, Some(&chosen("kuberay")));
    assert_eq!(refused.errors().next().unwrap().message, "KubeRay does not support sglang engine");
    assert!(refused.objects.is_empty());
    assert_eq!(refused.provider(), Some("kuberay"));

    let foreign = engine.evaluate(&phi(), Some(&chosen("modal")));
    assert_eq!((foreign.provider(), foreign.objects.len(), foreign.has_errors()), (Some("modal"), 0, false));
}

/// Nothing can be chosen where nothing is configured; a built-in provider that is configured renders.
#[test]
fn providers_are_those_that_are_given() {
    let none = engine(&[], Providers::Given);
    let evaluation = none.evaluate(&phi(), None);
    assert_eq!(evaluation.errors().next().unwrap().message, "No healthy providers available");
    let config = kubefoundry_model::providers::find("kuberay").unwrap().info().config;
    let one = engine(&[(Purpose::Input, config)], Providers::Given);
    assert_eq!(one.provider_names().collect::<Vec<_>>(), ["kuberay"]);
    let mut named = phi();
    named["spec"]["provider"] = json!({"name": "kuberay"});
    assert_eq!(one.evaluate(&named, None).objects.last().unwrap()["kind"], "RayService");
    named["spec"]["provider"] = json!({"name": "dynamo"});
    let message = "there is no provider \"dynamo\", expected one of kuberay";
    assert_eq!(one.evaluate(&named, None).errors().next().unwrap().message, message);
}

/// A configuration that cannot be used is no reason to choose nothing, as long as another one fits.
#[test]
fn a_broken_configuration_is_left_out() {
    let broken = "{apiVersion: kubefoundry.ai/v1alpha1, kind: InferenceProviderConfig, metadata: {name: edge}, \
                  spec: {capabilities: {engines: [vllm], servingModes: [aggregated], gpuSupport: true}, \
                  selectionRules: [{condition: 'spec. >', priority: 500}]}}";
    let all = engine(&[(Purpose::Input, broken)], Providers::All);
    assert_eq!(all.problems()[0].severity, Severity::Error);
    assert_eq!(all.evaluate(&phi(), None).provider(), Some("dynamo"));
    let alone = engine(&[(Purpose::Input, broken)], Providers::Given);
    let evaluation = alone.evaluate(&phi(), None);
    assert_eq!(messages(&evaluation.diagnostics), messages(alone.problems()));
    assert!(evaluation.objects.is_empty());
}

#[test]
fn what_is_not_installed_is_said() {
    let none = engine(&[(Purpose::Crds, NO_CRDS)], Providers::All);
    for (provider, engine_type) in [("kaito", "vllm"), ("dynamo", "vllm"), ("kuberay", "vllm")] {
        let mut deployment = phi();
        deployment["spec"]["engine"]["type"] = engine_type.into();
        deployment["spec"]["provider"] = json!({"name": provider});
        let evaluation = none.evaluate(&deployment, None);
        let expected = format!("Provider '{provider}' CRD not installed in cluster");
        assert_eq!(evaluation.errors().map(|error| error.message.clone()).collect::<Vec<_>>(), [expected.as_str()]);
        let problem = none.crds_problem(provider).unwrap();
        assert_eq!((problem.message.as_str(), problem.location), (expected.as_str(), None));
        assert!(none.installed(provider).is_empty() && evaluation.objects.is_empty());
    }
    let unknown = engine(&[], Providers::All);
    assert_eq!((unknown.crds_problem("kaito"), unknown.crds_problem("modal")), (None, None));
    assert_eq!(unknown.crd_version("kaito").as_deref(), Some("kaito.sh/v1beta1"));
}

/// The fingerprint of what is installed is the one that a decision names.
#[test]
fn what_is_installed_has_a_fingerprint() {
    let mut sources = SourceSet::default();
    let as_list: Vec<Value> = newest().iter().map(|skeleton| skeleton.to_crd().unwrap()).collect();
    // As the operator has it: a list in JSON, whose items do not say what they are.
    let list =
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinitionList", "items": as_list});
    sources.add_for(Purpose::Crds, "crds", list.to_string());
    let engine = Session::new(&sources, Providers::All).unwrap();
    for provider in ["kaito", "dynamo", "kuberay"] {
        let mut deployment = phi();
        deployment["spec"]["provider"] = json!({"name": provider});
        if provider == "kaito" {
            deployment["spec"]["provider"]["overrides"] =
                json!({"resource": {"instanceType": "Standard_NC24ads_A100_v4"}});
        }
        let evaluation = engine.evaluate(&deployment, None);
        assert!(!evaluation.has_errors(), "{:?}", evaluation.diagnostics);
        let decision = evaluation.decision.unwrap();
        let (crd_version, main) = (decision.crd_version.unwrap(), &decision.objects.last().unwrap().kind);
        let installed = engine.installed(provider);
        let used =
            installed.iter().find(|it| format!("{}/{}", it.group, it.version) == crd_version && *it.kind == **main);
        assert_eq!(used.map(|it| it.fingerprint.clone()), decision.schema_fingerprint, "{provider}");
        assert_eq!(engine.crd_version(provider), Some(crd_version));
        assert_eq!(engine.crds_problem(provider), None);
    }
}

/// What changes with each of the identity fields, and with nothing else.
#[test]
fn an_identity_has_one_hash() {
    let engine = engine(&[], Providers::All);
    let hash = |deployment: &Value, provider: &str| engine.identity_hash(deployment, provider);
    let base = hash(&phi(), "dynamo").unwrap();
    // It stands on objects in clusters: another way to make it would delete all of them.
    assert_eq!(base, "10d34c1f9285c291");
    let with = |pointer: &str, value: Value| {
        let mut changed = phi();
        changed["spec"]["serving"] = json!({});
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        changed.pointer_mut(parent).unwrap()[field] = value;
        changed
    };
    assert_eq!(hash(&as_stored(&phi()), "dynamo").as_ref(), Some(&base));
    assert_eq!(hash(&with("/spec/model/source", json!("huggingface")), "dynamo").as_ref(), Some(&base));
    assert_eq!(hash(&with("/spec/serving/mode", json!("aggregated")), "dynamo").as_ref(), Some(&base));
    assert_eq!(hash(&with("/spec/model/servedName", json!("other")), "dynamo").as_ref(), Some(&base));
    assert_eq!(hash(&with("/metadata/name", json!("other")), "dynamo").as_ref(), Some(&base));
    let mut disaggregated = with("/spec/serving/mode", json!("disaggregated"));
    let role = json!({"replicas": 1, "gpu": {"count": 1}, "memory": "8Gi"});
    disaggregated["spec"]["scaling"] = json!({"prefill": role, "decode": role});
    let mut others = vec![
        hash(&phi(), "kuberay").unwrap(),
        hash(&with("/spec/model/id", json!("org/phi-2")), "dynamo").unwrap(),
        hash(&with("/spec/model/source", json!("custom")), "dynamo").unwrap(),
        hash(&with("/spec/engine/type", json!("sglang")), "dynamo").unwrap(),
        hash(&disaggregated, "dynamo").unwrap(),
        base,
    ];
    others.sort();
    others.dedup();
    assert_eq!(others.len(), 6);
    assert_eq!(hash(&json!({"kind": "Pod"}), "dynamo"), None);
}

/// Whatever is no deployment is answered, too.
#[test]
fn other_objects_are_refused() {
    let engine = engine(&[], Providers::All);
    for object in [
        json!(null),
        json!([]),
        json!({}),
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}),
        json!({"apiVersion": "kubefoundry.ai/v2", "kind": "ModelDeployment"}),
        json!({"apiVersion": "kubefoundry.ai/v1alpha1", "kind": "InferenceProviderConfig", "metadata": {"name": "p"}}),
        json!({"apiVersion": "kubefoundry.ai/v1alpha1", "kind": "ModelDeployment", "metadata": 1, "spec": []}),
    ] {
        let evaluation = engine.evaluate(&object, None);
        assert!(evaluation.has_errors() && evaluation.objects.is_empty(), "{object}");
    }
}

/// What a deployment says to ignore is not said, and options count.
#[test]
fn options_and_annotations_count() {
    let options = "{apiVersion: config.kubefoundry.ai/v1alpha1, kind: Render, ownerReferences: true}";
    let engine = engine(&[(Purpose::Options, options)], Providers::All);
    let evaluation = engine.evaluate(&as_stored(&phi()), None);
    let owner = &evaluation.objects.last().unwrap()["metadata"]["ownerReferences"][0];
    assert_eq!(owner["uid"], "8c2f6a1e-0000-4000-8000-000000000001");
    // Before it is stored it has no uid; what is applied needs its owner's.
    let is_without_owner = |found: &Diagnostic| found.code.name == "owner-without-uid";
    assert!(!engine.validate(&phi(), Thoroughness::EveryRule).diagnostics.iter().any(is_without_owner));
    assert!(engine.evaluate(&phi(), None).diagnostics.iter().any(is_without_owner));
    let said: Vec<&str> = evaluation.diagnostics.iter().map(|found| found.code.id).collect();
    assert!(!said.is_empty(), "a runtime that is not pinned is an info");
    let mut quiet = as_stored(&phi());
    quiet["metadata"]["annotations"] = json!({"kubefoundry.ai/lint-ignore": said.join(", ")});
    assert_eq!(engine.evaluate(&quiet, None).diagnostics, []);
}
