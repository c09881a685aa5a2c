//! The CRD of AsyncActor: it keeps every upstream field, and a cluster refuses objects with the messages of `lint`.

use std::fs;
use std::path::Path;

use crate::common::upstream::crd;
use crate::common::{case_folders, compile_all, compile_case, read_case};
use kubefoundry_actor::wire::AsyncActorSpec;
use kubefoundry_actor::{API_VERSION, KIND};
use kubefoundry_composition::BUILTIN;
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_kubernetes::wire::{Describe as _, Shape};
use kubefoundry_yaml as yaml;
use serde_json::{Value, json};

const NAME: &str = "asya.sh_asyncactors.yaml";

fn our_crd() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas").join(NAME)).unwrap()
}

fn upstream_crd() -> String {
    yaml::to_yaml_stream([&crd("asya.sh", "AsyncActor")])
}

fn schema(text: &str) -> Value {
    let crd = yaml::parse(text, &yaml::Limits::default()).documents[0].root.to_json();
    assert_eq!(crd["metadata"]["name"], "asyncactors.asya.sh");
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
}

/// Returns the messages with which a CRD refuses an object.
fn refusals(crd: &str, object: &Value) -> Vec<String> {
    let mut sources = SourceSet::default();
    sources.add_for(Purpose::Crds, NAME, crd);
    let (crds, problems) = kubefoundry_crd::Crds::from_sources(&sources, BUILTIN.crd_kinds());
    assert!(problems.is_empty(), "{problems:?}");
    crds.check(object).into_iter().map(|found| found.message).collect()
}

/// Returns the AsyncActors of the cases and examples, and whether they are rendered.
fn actors() -> Vec<(String, bool, Value)> {
    let mut actors = Vec::new();
    for folder in case_folders() {
        let sources = read_case(&folder);
        let fine = !compile_case(&folder).has_errors();
        for (_, source) in sources.iter().filter(|(_, source)| source.purpose == Purpose::Input) {
            for document in yaml::parse(&source.text, &yaml::Limits::default()).documents {
                let object = document.root.to_json();
                if object["kind"] == KIND && object["apiVersion"] == API_VERSION {
                    actors.push((folder.display().to_string(), fine, object));
                }
            }
        }
    }
    actors
}

/// Fields of the upstream status that no program here writes: the operator counts no messages, and upstream itself has
/// deprecated the summaries.
const UNWRITTEN: [&str; 5] = [
    ".status.lastScaleFormatted",
    ".status.processingMessages",
    ".status.queuedMessages",
    ".status.readySummary",
    ".status.replicasSummary",
];

/// Our schema has every upstream field that has a writer, with the same type, default and enum.
#[test]
fn our_crd_keeps_every_upstream_field() {
    let upstream = schema(&upstream_crd());
    let mut compared = 0;
    compare_schemas(&schema(&our_crd()), &upstream, "", &mut compared);
    assert!(compared > 80, "{compared}");
}

fn compare_schemas(ours: &Value, upstream: &Value, path: &str, compared: &mut usize) {
    for (key, theirs) in upstream["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{key}");
        let own = &ours["properties"][key];
        if UNWRITTEN.contains(&path.as_str()) {
            assert!(own.is_null(), "{path} is back");
            continue;
        }
        assert!(own.is_object(), "{path} is lost");
        // Upstream declares no type for a free-form field; here it is an object.
        if theirs["x-kubernetes-preserve-unknown-fields"] != true {
            assert_eq!(own["type"], theirs["type"], "{path}");
        }
        for fact in ["default", "enum", "minimum"] {
            if !theirs[fact].is_null() {
                assert_eq!(own[fact], theirs[fact], "{fact} of {path}");
            }
        }
        *compared += 1;
        compare_schemas(own, theirs, &path, compared);
        compare_schemas(&own["items"], &theirs["items"], &format!("{path}[]"), compared);
    }
}

/// A cluster accepts every rendered actor. Without binding, the upstream CRD accepts it, too.
#[test]
fn rendered_actors_are_accepted() {
    let upstream = upstream_crd();
    let (own, mut bound, mut standalone) = (our_crd(), 0, 0);
    for (case, _, actor) in actors().into_iter().filter(|(_, fine, _)| *fine) {
        assert_eq!(refusals(&own, &actor), Vec::<String>::new(), "{case}");
        if actor["spec"]["workloadRef"].is_null() {
            assert_eq!(refusals(&upstream, &actor), Vec::<String>::new(), "{case}");
            standalone += 1;
        } else {
            bound += 1;
        }
    }
    assert!(bound > 10 && standalone > 10, "{bound} {standalone}");
}

/// The rule of ADR-001, with its message.
#[test]
fn the_rule_for_workload_or_reference_is_that_of_the_adr() {
    let own = our_crd();
    let expected = "Exactly one of 'workload' or 'workloadRef' must be set";
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/golden/actor/workload-or-reference");
    let case = folder.display().to_string();
    let mut refused = 0;
    for (_, _, actor) in actors().into_iter().filter(|(folder, ..)| *folder == case) {
        let said = refusals(&own, &actor);
        assert!(said.iter().any(|message| message.contains(expected)), "{said:?}");
        refused += 1;
    }
    assert_eq!(refused, 2);
    let found = compile_all(&read_case(&folder)).diagnostics;
    assert_eq!(found.iter().filter(|found| found.message == expected).count(), 2);
}

/// The schema of the status accepts what a controller reports, and refuses unknown fields.
#[test]
fn the_status_schema_has_the_fields_of_binding() {
    let own = our_crd();
    let actor = |status: Value| {
        json!({
            "apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": "echo"},
            "spec": {
                "transport": "rabbitmq",
                "workloadRef": {"apiVersion": "kaito.sh/v1beta1", "kind": "Workspace", "name": "phi"},
                "runtime": {"image": "a:1", "handler": "a.b"},
            },
            "status": status,
        })
    };
    let status = json!({
        "mode": "Binding", "conflictCount": 2, "lastConflictTime": "2026-01-30T09:50:00Z",
        "resolvedTarget": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "phi", "namespace": "team"},
    });
    assert_eq!(refusals(&own, &actor(status)), Vec::<String>::new());
    assert!(!refusals(&own, &actor(json!({"mode": "Other"}))).is_empty());
    assert!(!refusals(&own, &actor(json!({"conflicts": 2}))).is_empty());
}

/// An actor with its own workload, and one that binds. Each field is changed in one of them.
const BASE: [&str; 2] = [
    "apiVersion: asya.sh/v1alpha1\nkind: AsyncActor\nmetadata: {name: echo}\nspec:\n  transport: rabbitmq\n  \
     workload:\n    template:\n      spec: {containers: [{name: asya-runtime, image: a:1}]}\n  \
     scaling: {enabled: true, advanced: {formula: queueLength, target: \"1\"}}\n",
    "apiVersion: asya.sh/v1alpha1\nkind: AsyncActor\nmetadata: {name: echo}\nspec:\n  transport: rabbitmq\n  \
     workloadRef: {apiVersion: apps/v1, kind: Deployment, name: model}\n  \
     runtime: {image: \"a:1\", handler: a.b, targetURL: \"http://localhost\"}\n",
];

/// Returns every field of the specification, the actor in which it is changed, and its new value.
fn changes() -> Vec<(&'static str, usize, Value)> {
    vec![
        ("transport", 0, json!("other")),
        ("workload.kind", 0, json!("StatefulSet")),
        ("workload.replicas", 0, json!(3)),
        ("workload.template.metadata", 0, json!({"labels": {"a": "b"}})),
        ("workload.template.spec", 0, json!({"containers": [{"name": "asya-runtime", "image": "b:1"}]})),
        ("workload.pythonExecutable", 0, json!("python")),
        ("workloadRef.apiVersion", 1, json!("apps/v1beta1")),
        ("workloadRef.kind", 1, json!("StatefulSet")),
        ("workloadRef.name", 1, json!("other")),
        ("workloadRef.namespace", 1, json!("other")),
        ("runtime.image", 1, json!("b:1")),
        ("runtime.handler", 1, json!("b.c")),
        ("runtime.targetURL", 1, json!("http://other")),
        ("strategy", 1, json!("detached")),
        ("sidecar.image", 0, json!("b:1")),
        ("sidecar.imagePullPolicy", 1, json!("Always")),
        ("sidecar.resources.limits", 0, json!({"cpu": "1"})),
        ("sidecar.resources.requests", 1, json!({"cpu": 1})),
        ("sidecar.resources.claims", 0, json!([{"name": "gpu"}])),
        ("sidecar.env", 1, json!([{"name": "A", "value": "b"}])),
        ("timeout.processing", 0, json!(60)),
        ("timeout.gracefulShutdown", 1, json!(60)),
        ("scaling.enabled", 0, json!(false)),
        ("scaling.minReplicas", 0, json!(1)),
        ("scaling.maxReplicas", 0, json!(2)),
        ("scaling.pollingInterval", 0, json!(20)),
        ("scaling.cooldownPeriod", 0, json!(20)),
        ("scaling.queueLength", 0, json!(20)),
        ("scaling.advanced.formula", 0, json!("queueLength / 2")),
        ("scaling.advanced.target", 0, json!("2")),
        ("scaling.advanced.activationTarget", 0, json!("2")),
        ("scaling.advanced.metricType", 0, json!("Value")),
        ("scaling.advanced.restoreToOriginalReplicaCount", 0, json!(true)),
    ]
}

/// Collects the fields of a shape. A list or a map counts as one field.
fn fields(shape: &Shape, path: &str, out: &mut Vec<String>) {
    let Shape::Object(object) = shape else {
        out.push(path.to_owned());
        return;
    };
    for field in object.fields {
        let path = if path.is_empty() { field.key.to_owned() } else { format!("{path}.{}", field.key) };
        fields(&field.shape, &path, out);
    }
}

/// Nothing is silently dropped: a change of a field changes the output or the findings.
#[test]
fn every_field_has_an_effect() {
    let model = "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: model}\nspec:\n  \
                 template: {spec: {containers: [{name: server, image: \"m:1\"}]}}\n";
    let options = "apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\nactor:\n  transports:\n    \
                   rabbitmq: {type: rabbitmq, enabled: true, config: {host: h, port: 1, username: u}}\n";
    let run = |actor: &Value| {
        let mut sources = SourceSet::default();
        sources.add_for(Purpose::Options, "kubefoundry.yaml", options);
        sources.add("actor.yaml", format!("{}{model}", yaml::to_yaml_stream([actor])));
        let compilation = compile_all(&sources);
        let said: Vec<String> = compilation.diagnostics.iter().map(|found| found.message.clone()).collect();
        (crate::common::output(&compilation), said)
    };
    let changes = changes();
    let mut all = Vec::new();
    fields(&AsyncActorSpec::SHAPE, "", &mut all);
    assert_eq!(all, changes.iter().map(|(field, ..)| *field).collect::<Vec<_>>());
    for (field, base, value) in changes {
        let base = yaml::parse(BASE[base], &yaml::Limits::default()).documents[0].root.to_json();
        let before = run(&base);
        assert!(!before.0.is_empty(), "{:?}", before.1);
        let mut changed = base;
        *field.split('.').fold(&mut changed["spec"], |object, key| &mut object[key]) = value;
        assert_ne!(run(&changed), before, "{field}");
    }
}
