//! Every field is accounted for, and traces are correct: applying the changes that they list has the stated effect.

use std::collections::BTreeSet;

use crate::common::generated::documents;
use crate::common::{case_folders, compile_all, read_case};
use kubefoundry_analysis::trace::{Fate, Trace, apply_changes, trace};
use kubefoundry_composition::BUILTIN;
use kubefoundry_deployment::ir::FieldOrigin;
use kubefoundry_diagnostics::ObjectRef;
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_yaml as yaml;
use proptest::prelude::*;
use serde_json::Value;

/// Pairs of object and field.
type Fields = BTreeSet<(ObjectRef, String)>;

/// Returns the fields without effect, according to the trace and according to the findings.
fn fields_without_effect(sources: &SourceSet) -> (Fields, Fields) {
    let mut traced = BTreeSet::new();
    for trace in trace(&BUILTIN, sources) {
        for field in trace.fields {
            if field.fate == Fate::Nothing && field.origin == FieldOrigin::Written {
                traced.insert((trace.object.clone(), field.path));
            }
        }
    }
    let compilation = compile_all(sources);
    let found = compilation.diagnostics.iter().chain(&compilation.suppressed);
    let found = found.filter(|found| found.code.id == "KF0526");
    let found = found.map(|found| (found.object.clone().unwrap(), found.location.as_ref().unwrap().path.to_string()));
    (traced, found.collect())
}

/// One case tests a field without effect. In all others, every field is rendered, decides, or is reported.
#[test]
fn every_field_of_every_case_is_accounted_for() {
    for folder in case_folders() {
        let (traced, found) = fields_without_effect(&read_case(&folder));
        assert_eq!(traced, found, "{}", folder.display());
        let expected = usize::from(folder.ends_with("field-reaches-nothing"));
        assert_eq!(found.len(), expected, "{}: {found:?}", folder.display());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Every field of a generated deployment has an effect or is reported.
    #[test]
    fn every_generated_field_is_accounted_for(documents in documents()) {
        let mut sources = SourceSet::default();
        sources.add("a.yaml", yaml::to_yaml_stream(&documents));
        for trace in trace(&BUILTIN, &sources) {
            let silent: Vec<_> = trace.fields.iter().filter(|field| field.fate == Fate::Nothing).collect();
            prop_assert!(silent.is_empty(), "{silent:#?}");
            assert_consistent(&trace);
        }
    }
}

/// Asserts that both directions of a trace agree: an output that a field reaches lists the field as its origin.
fn assert_consistent(trace: &Trace) {
    let mut there = BTreeSet::new();
    for field in &trace.fields {
        for reached in field.reaches.iter().filter(|reached| !reached.added && !reached.path.is_empty()) {
            there.insert((reached.object.clone(), reached.path.clone(), reached.inside.clone(), field.path.clone()));
        }
    }
    let mut back = BTreeSet::new();
    for output in &trace.outputs {
        for from in &output.from {
            back.insert((output.object.clone(), output.path.clone(), output.inside.clone(), from.clone()));
        }
    }
    assert!(there.is_subset(&back), "{:#?}", there.difference(&back).collect::<Vec<_>>());
    let fields: BTreeSet<&String> = trace.fields.iter().map(|field| &field.path).collect();
    assert!(back.iter().all(|(.., from)| fields.contains(from)));
}

/// Returns the examples with a single model, as documents.
fn models() -> Vec<(SourceSet, Value, String)> {
    let mut models = Vec::new();
    for folder in case_folders().into_iter().filter(|folder| folder.parent().unwrap().ends_with("examples")) {
        let sources = read_case(&folder);
        let mut others = SourceSet::default();
        let mut documents = Vec::new();
        for (_, source) in sources.iter() {
            if source.purpose == Purpose::Input {
                let parsed = yaml::parse(&source.text, &yaml::Limits::default());
                documents.extend(parsed.documents.iter().map(|document| document.root.to_json()));
            } else {
                others.add_for(source.purpose, source.name.clone(), source.text.clone());
            }
        }
        if let [document] = documents.as_slice()
            && document["kind"] == "ModelDeployment"
        {
            models.push((others, document.clone(), folder.display().to_string()));
        }
    }
    assert!(models.len() > 10);
    models
}

fn objects(others: &SourceSet, document: &Value) -> Option<Vec<Value>> {
    let mut sources = others.clone();
    let mut text = String::new();
    yaml::to_yaml(document, &mut text);
    sources.add("model.yaml", text);
    let compilation = compile_all(&sources);
    (!compilation.has_errors()).then(|| compilation.outputs.into_iter().map(|output| output.object).collect())
}

/// Applying a change that a trace lists changes the output at the fields that it lists.
#[test]
fn the_output_changes_where_the_trace_states() {
    let mut moved = 0;
    for (others, document, name) in models() {
        let mut sources = others.clone();
        let mut text = String::new();
        yaml::to_yaml(&document, &mut text);
        sources.add("model.yaml", text);
        let before = objects(&others, &document).unwrap();
        let traces = trace(&BUILTIN, &sources);
        assert_consistent(&traces[0]);
        for field in traces[0].fields.iter().filter(|field| !field.tried.is_empty() && !field.option) {
            let other = apply_changes(&document, &field.tried).unwrap();
            let after = objects(&others, &other).unwrap_or_else(|| panic!("{name} {}: refused", field.path));
            assert_ne!(before, after, "{name} {}", field.path);
            for reached in field.reaches.iter().filter(|reached| !reached.added && reached.inside.is_none()) {
                let at = |objects: &[Value]| {
                    let of_kind = |object: &&Value| object["kind"] == *reached.object.kind;
                    let nodes: Vec<_> = objects.iter().filter(of_kind).map(yaml::Node::from).collect();
                    let path = kubefoundry_yaml::field_path::FieldPath::try_parse(&reached.path).unwrap();
                    nodes.iter().map(|node| node.at(&path).map(yaml::Node::to_json)).collect::<Vec<_>>()
                };
                assert_ne!(at(&before), at(&after), "{name} {} at {}", field.path, reached.path);
                moved += 1;
            }
        }
    }
    assert!(moved > 500, "{moved} places");
}

/// Returns the trace of one document.
fn trace_of(documents: &str) -> kubefoundry_analysis::trace::Trace {
    let mut sources = SourceSet::default();
    sources.add("a.yaml", documents);
    trace(&BUILTIN, &sources).into_iter().next().unwrap()
}

/// Returns the origins of an output field.
fn origins(trace: &Trace, kind: &str, name: &str, path: &str, inside: Option<&str>) -> Vec<String> {
    let is_it = |output: &&kubefoundry_analysis::trace::OutputTrace| {
        &*output.object.kind == kind
            && &*output.object.name == name
            && output.path == path
            && output.inside.as_deref() == inside
    };
    trace.outputs.iter().find(is_it).unwrap_or_else(|| panic!("{path} {inside:?}")).from.clone()
}

/// A change of one volume does not count as a change of the claim of another volume.
#[test]
fn objects_are_compared_with_those_of_their_name() {
    let trace = trace_of(
        "
apiVersion: kubefoundry.ai/v1alpha1
kind: ModelDeployment
metadata: {name: h}
spec:
  model:
    id: org/m
    storage:
      volumes:
      - {name: cache, purpose: modelCache, size: 10Gi}
      - {name: comp, purpose: compilationCache, size: 5Gi}
  engine: {type: vllm, args: {hf-overrides: '{\"a\": {\"b\": 1}, \"c\": [\"d\"]}'}}
  resources: {gpu: {count: 1}}
",
    );
    let size = origins(&trace, "PersistentVolumeClaim", "h-comp", "spec.resources.requests.storage", None);
    assert!(!size.iter().any(|from| from.starts_with("spec.model.storage.volumes[0]")), "{size:?}");
    // Every value inside a JSON text has the text as its origin.
    let inside: Vec<_> = trace.outputs.iter().filter(|output| output.inside.is_some()).collect();
    assert_eq!(inside.len(), 2);
    for output in inside {
        assert!(output.from.contains(&r#"spec.engine.args["hf-overrides"]"#.to_owned()), "{output:?}");
    }
}

/// If all other values of a field are refused, the trace lists that code, and no finding about another field.
#[test]
fn a_field_without_another_value_is_checked() {
    let trace = trace_of(
        "
apiVersion: airunway.ai/v1alpha1
kind: ModelDeployment
metadata: {name: h}
spec:
  model: {id: org/m}
  provider: {name: kuberay}
  engine: {type: vllm}
",
    );
    let fate = |path: &str| trace.fields.iter().find(|field| field.path == path).unwrap().fate;
    assert_eq!(fate("spec.engine.type"), Fate::Checked);
}

/// A field that only affects the selection is traced by naming the provider.
#[test]
fn selecting_fields_are_traced_into_the_output() {
    let trace = trace_of(
        "
apiVersion: kubefoundry.ai/v1alpha1
kind: ModelDeployment
metadata: {name: h}
spec:
  model: {id: org/m}
  engine: {type: vllm}
  resources: {gpu: {count: 1}}
---
apiVersion: kubefoundry.ai/v1alpha1
kind: InferenceProviderConfig
metadata: {name: edge}
spec:
  capabilities: {engines: [vllm, sglang], servingModes: [aggregated], gpuSupport: true}
  selectionRules:
  - {condition: spec.resources.gpu.count == 1, priority: 900}
",
    );
    let count = trace.fields.iter().find(|field| field.path == "spec.resources.gpu.count").unwrap();
    assert_eq!((count.fate, count.selects.as_slice()), (Fate::Selects, &["dynamo".to_owned()][..]));
    let from = origins(&trace, "ModelDeployment", "h", "spec.resources.gpu.count", None);
    assert!(from.contains(&"spec.resources.gpu.count".to_owned()), "{from:?}");
}

/// A deployment with errors has no output, so it has no trace.
#[test]
fn a_refused_deployment_has_no_trace() {
    let mut sources = SourceSet::default();
    sources
        .add("a.yaml", "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {name: a}\nspec: {}\n");
    let traces = trace(&BUILTIN, &sources);
    assert_eq!((traces.len(), traces[0].fields.len(), traces[0].outputs.len()), (1, 0, 0));
}
