//! A session evaluates one deployment at a time, as an API server returns it. The result equals that of a run over
//! texts.

use crate::common::upstream::newest;
use crate::common::{case_folders, read_case};
use kubefoundry_compiler::pipeline::OutputRole;
use kubefoundry_compiler::session::{Evaluation, PriorChoice, Providers, Session};
use kubefoundry_compiler::{Compilation, Decision, Thoroughness, compile};
use kubefoundry_composition::BUILTIN;
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, Severity};
use kubefoundry_yaml as yaml;
use serde_json::{Value, json};

const NO_CRDS: &str =
    r#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinitionList", "items": []}"#;

/// Returns an object with the additions of an API server and of controllers.
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

fn session(texts: &[(Purpose, &str)], providers: Providers) -> Session {
    let mut sources = SourceSet::default();
    for (purpose, text) in texts {
        sources.add_for(*purpose, "text.yaml", *text);
    }
    Session::new(&BUILTIN, &sources, providers).unwrap()
}

fn messages(found: &[Diagnostic]) -> Vec<String> {
    let said = |found: &Diagnostic| {
        let path = found.location.as_ref().map(|location| location.path.to_string());
        // For a value of a wrong type, the message of a run quotes the text, which a session does not have.
        let words = (found.code.name != "wrong-type").then(|| format!("{} {:?}", found.message, found.help));
        format!("{} {path:?} {words:?}", found.code.id)
    };
    // Only a run reports that the input has no deployment.
    let found = found.iter().filter(|found| found.code.name != "no-model-deployment");
    let mut messages: Vec<String> = found.map(said).collect();
    messages.sort();
    messages
}

/// Splits a case into the sources that a session needs and its deployments.
fn split_case(sources: &SourceSet) -> (SourceSet, Vec<Value>) {
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

/// Compiles a single deployment in a run.
fn run(context: &SourceSet, deployment: &Value, thoroughness: Thoroughness) -> Compilation {
    let mut sources = context.clone();
    sources.add("deployment.yaml", yaml::to_yaml_stream([deployment]));
    compile(&BUILTIN, &sources, thoroughness)
}

/// Returns the differences between an evaluation and a run.
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
    let together = (
        &made,
        messages(&compilation.diagnostics),
        compilation.has_errors(),
        reason(compilation.decisions.first().map(|decision| &**decision)),
    );
    if alone == together { Vec::new() } else { vec![format!("{alone:#?}\n{together:#?}")] }
}

/// For every golden and example, session and run give the same objects, findings and reasons, in whatever form it is
/// stored.
#[test]
fn a_session_gives_the_result_of_a_run() {
    let (mut compared, mut different) = (0, Vec::new());
    for folder in case_folders() {
        let (context, deployments) = split_case(&read_case(&folder));
        let Ok(session) = Session::new(&BUILTIN, &context, Providers::All) else { continue };
        if !session.problems().is_empty() {
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
                // Limits apply to texts, ownerReferences need a uid, and findings about options belong to the run.
                let of_runs = ["limit-exceeded", "owner-without-uid", "option-unknown-runtime"];
                let is_of_runs = |found: &Diagnostic| of_runs.contains(&found.code.name);
                if !compilation.diagnostics.iter().any(is_of_runs) {
                    let found = differences(&session.validate(&stored, thoroughness), &compilation);
                    different.extend(found.into_iter().map(|it| format!("{}: {it}", folder.display())));
                    compared += 1;
                }
            }
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert!(compared > 300, "{compared}");
}

/// The benchmark corpus renders the same one by one and in one run, for both values of `Providers`.
#[test]
fn the_corpus_renders_the_same_one_by_one() {
    let text = crate::documents::documents(0..200);
    let mut sources = SourceSet::default();
    sources.add("corpus.yaml", text.clone());
    let compilation = compile(&BUILTIN, &sources, Thoroughness::Needed);
    let session = session(&[], Providers::All);
    let alone: Vec<Value> = yaml::documents(&text, &yaml::Limits::default())
        .flat_map(|document| session.evaluate(&document.root.to_json(), None).objects)
        .collect();
    let together: Vec<Value> = compilation.outputs.into_iter().map(|output| output.object).collect();
    assert_eq!(alone, together);
}

/// Writing out the defaults changes neither the output nor the findings.
#[test]
fn written_defaults_change_nothing() {
    let mut compared = 0;
    for folder in case_folders() {
        let (context, deployments) = split_case(&read_case(&folder));
        let Ok(session) = Session::new(&BUILTIN, &context, Providers::All) else { continue };
        for deployment in deployments {
            let with_defaults = session.default_values(&deployment);
            assert_eq!(session.default_values(&with_defaults), with_defaults, "{}", folder.display());
            let [before, after] = [&deployment, &with_defaults].map(|it| session.validate(it, Thoroughness::EveryRule));
            assert_eq!(messages(&before.diagnostics), messages(&after.diagnostics), "{}", folder.display());
            assert_eq!(before.objects, after.objects, "{}", folder.display());
            let provider = before.provider().unwrap_or_default();
            let hash = |deployment: &Value| session.identity_hash(deployment, provider);
            assert_eq!(hash(&deployment), hash(&with_defaults), "{}", folder.display());
            compared += usize::from(with_defaults != deployment);
        }
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn a_session_can_be_shared_between_threads() {
    fn is_shared<T: Clone + Send + Sync + 'static>() {}
    is_shared::<Session>();
    is_shared::<Evaluation>();
}

/// An earlier choice is kept with its reason, but still validated.
#[test]
fn an_earlier_choice_is_kept_and_checked() {
    let session = session(&[], Providers::All);
    let chosen = |provider: &str| PriorChoice { provider: provider.to_owned(), reason: "because".to_owned() };
    let kept = session.evaluate(&phi(), Some(&chosen("kuberay")));
    assert_eq!(kept.objects.last().unwrap()["kind"], "RayService");
    let annotations = &kept.objects.last().unwrap()["metadata"]["annotations"];
    assert_eq!(annotations["kubefoundry.ai/selected-reason"], "because");
    assert!(!kept.decision.unwrap().selection.unwrap().explicit);

    let mut sglang = phi();
    sglang["spec"]["engine"]["type"] = "sglang".into();
    let refused = session.evaluate(&sglang, Some(&chosen("kuberay")));
    assert_eq!(refused.errors().next().unwrap().message, "KubeRay does not support sglang engine");
    assert!(refused.objects.is_empty());
    assert_eq!(refused.provider(), Some("kuberay"));

    let foreign = session.evaluate(&phi(), Some(&chosen("modal")));
    assert_eq!((foreign.provider(), foreign.objects.len(), foreign.has_errors()), (Some("modal"), 0, false));
}

/// With configured providers only, nothing is selected without a configuration, and a configured built-in provider
/// renders.
#[test]
fn only_configured_providers_are_selected() {
    let none = session(&[], Providers::Configured);
    let evaluation = none.evaluate(&phi(), None);
    assert_eq!(evaluation.errors().next().unwrap().message, "No healthy providers available");
    let config = kubefoundry_composition::BUILTIN.find_provider("kuberay").unwrap().info().config;
    let one = session(&[(Purpose::Input, config)], Providers::Configured);
    assert_eq!(one.provider_names().collect::<Vec<_>>(), ["kuberay"]);
    let mut named = phi();
    named["spec"]["provider"] = json!({"name": "kuberay"});
    assert_eq!(one.evaluate(&named, None).objects.last().unwrap()["kind"], "RayService");
    named["spec"]["provider"] = json!({"name": "dynamo"});
    let message = "there is no provider \"dynamo\", expected kuberay";
    assert_eq!(one.evaluate(&named, None).errors().next().unwrap().message, message);
}

/// An invalid configuration does not prevent the selection of another provider.
#[test]
fn an_invalid_configuration_is_ignored() {
    let broken = "{apiVersion: kubefoundry.ai/v1alpha1, kind: InferenceProviderConfig, metadata: {name: edge}, \
                  spec: {capabilities: {engines: [vllm], servingModes: [aggregated], gpuSupport: true}, \
                  selectionRules: [{condition: 'spec. >', priority: 500}]}}";
    let all = session(&[(Purpose::Input, broken)], Providers::All);
    assert_eq!(all.problems()[0].severity, Severity::Error);
    assert_eq!(all.evaluate(&phi(), None).provider(), Some("dynamo"));
    let alone = session(&[(Purpose::Input, broken)], Providers::Configured);
    let evaluation = alone.evaluate(&phi(), None);
    assert_eq!(messages(&evaluation.diagnostics), messages(alone.problems()));
    assert!(evaluation.objects.is_empty());
}

#[test]
fn a_missing_crd_is_reported() {
    let none = session(&[(Purpose::Crds, NO_CRDS)], Providers::All);
    for (provider, engine_type) in [("kaito", "vllm"), ("dynamo", "vllm"), ("kuberay", "vllm")] {
        let mut deployment = phi();
        deployment["spec"]["engine"]["type"] = engine_type.into();
        deployment["spec"]["provider"] = json!({"name": provider});
        let evaluation = none.evaluate(&deployment, None);
        let expected = format!("Provider '{provider}' CRD not installed in cluster");
        assert_eq!(evaluation.errors().map(|error| error.message.clone()).collect::<Vec<_>>(), [expected.as_str()]);
        assert_eq!(none.crd_version(provider), None);
        assert!(none.installed(provider).is_empty() && evaluation.objects.is_empty());
    }
    let unknown = session(&[], Providers::All);
    assert_eq!(unknown.crd_version("kaito").as_deref(), Some("kaito.sh/v1beta1"));
    assert_eq!(unknown.crd_version("modal"), None);
}

/// The fingerprint of an installed schema is the one in the decision.
#[test]
fn an_installed_schema_has_the_fingerprint_of_the_decision() {
    let mut sources = SourceSet::default();
    let as_list: Vec<Value> = newest().iter().map(|skeleton| skeleton.to_crd().unwrap()).collect();
    // The form in which the operator gets CRDs: a JSON list whose items have no apiVersion and kind.
    let list =
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinitionList", "items": as_list});
    sources.add_for(Purpose::Crds, "crds", list.to_string());
    let session = Session::new(&BUILTIN, &sources, Providers::All).unwrap();
    for provider in ["kaito", "dynamo", "kuberay"] {
        let mut deployment = phi();
        deployment["spec"]["provider"] = json!({"name": provider});
        if provider == "kaito" {
            deployment["spec"]["provider"]["overrides"] =
                json!({"resource": {"instanceType": "Standard_NC24ads_A100_v4"}});
        }
        let evaluation = session.evaluate(&deployment, None);
        assert!(!evaluation.has_errors(), "{:?}", evaluation.diagnostics);
        let decision = evaluation.decision.unwrap();
        let (crd_version, main) = (decision.crd_version.unwrap(), &decision.objects.last().unwrap().kind);
        let installed = session.installed(provider);
        let used =
            installed.iter().find(|it| format!("{}/{}", it.group, it.version) == crd_version && *it.kind == **main);
        assert_eq!(used.map(|it| it.fingerprint.clone()), decision.schema_fingerprint, "{provider}");
        assert_eq!(session.crd_version(provider), Some(crd_version));
    }
}

/// The hash depends on each identity field and on nothing else.
#[test]
fn the_identity_hash_depends_on_identity_fields_only() {
    let session = session(&[], Providers::All);
    let hash = |deployment: &Value, provider: &str| session.identity_hash(deployment, provider);
    let base = hash(&phi(), "dynamo").unwrap();
    // Objects in clusters carry this hash. A different algorithm would recreate all of them.
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

/// An object of another kind is refused, without a panic.
#[test]
fn other_objects_are_refused() {
    let session = session(&[], Providers::All);
    for object in [
        json!(null),
        json!([]),
        json!({}),
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}),
        json!({"apiVersion": "kubefoundry.ai/v2", "kind": "ModelDeployment"}),
        json!({"apiVersion": "kubefoundry.ai/v1alpha1", "kind": "InferenceProviderConfig", "metadata": {"name": "p"}}),
        json!({"apiVersion": "kubefoundry.ai/v1alpha1", "kind": "ModelDeployment", "metadata": 1, "spec": []}),
    ] {
        let evaluation = session.evaluate(&object, None);
        assert!(evaluation.has_errors() && evaluation.objects.is_empty(), "{object}");
    }
}

/// Annotations suppress findings, and options apply.
#[test]
fn options_and_annotations_apply() {
    let options = "{apiVersion: config.kubefoundry.ai/v1alpha1, kind: Render, ownerReferences: true}";
    let session = session(&[(Purpose::Options, options)], Providers::All);
    let evaluation = session.evaluate(&as_stored(&phi()), None);
    let owner = &evaluation.objects.last().unwrap()["metadata"]["ownerReferences"][0];
    assert_eq!(owner["uid"], "8c2f6a1e-0000-4000-8000-000000000001");
    // A deployment has no uid before it is stored, but ownerReferences need one.
    let is_without_owner = |found: &Diagnostic| found.code.name == "owner-without-uid";
    assert!(!session.validate(&phi(), Thoroughness::EveryRule).diagnostics.iter().any(is_without_owner));
    assert!(session.evaluate(&phi(), None).diagnostics.iter().any(is_without_owner));
    let said: Vec<&str> = evaluation.diagnostics.iter().map(|found| found.code.id).collect();
    assert!(!said.is_empty(), "a runtime that is not pinned is an info");
    let mut quiet = as_stored(&phi());
    quiet["metadata"]["annotations"] = json!({"kubefoundry.ai/lint-ignore": said.join(", ")});
    assert_eq!(session.evaluate(&quiet, None).diagnostics, []);
}
