//! What must hold for every plan: nothing changes nothing, everything that moves is accounted for, more changes are not
//! less grave; and the providers' tables against everything that is rendered and against the CRDs of upstream.

use std::collections::BTreeSet;

use crate::common::generated::documents;
use crate::common::start::STARTS;
use crate::common::upstream::{TransitionRule, dump, newest};
use crate::common::{case_folders, compile_all, read_case};
use kubefoundry_compiler::Thoroughness;
use kubefoundry_compiler::pipeline::{Compilation, Renderer, YamlText, compile_as};
use kubefoundry_compiler::plan::{Action, Applier, ChangeClass, Plan, PlanInput, plan};
use kubefoundry_diagnostics::source::SourceSet;
use kubefoundry_model::provider::{Behavior, Reaction};
use kubefoundry_model::providers::PROVIDERS;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::field_path::{FieldPath, Segment};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Map, Value, json};

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        max_global_rejects: 1_000_000,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(20_261_122),
        ..ProptestConfig::default()
    }
}

/// A state: its texts and what they were compiled to; none when they have errors.
struct State(SourceSet, Compilation<YamlText>);

impl State {
    fn of(documents: &[Value]) -> Option<Self> {
        let mut sources = SourceSet::default();
        sources.add("input.yaml", yaml::to_yaml_stream(documents));
        Self::compiled(sources)
    }

    fn compiled(sources: SourceSet) -> Option<Self> {
        let compilation = compile_as(&sources, Thoroughness::Needed);
        (!compilation.has_errors()).then_some(Self(sources, compilation))
    }

    fn run(&self) -> PlanInput<'_> {
        PlanInput { sources: &self.0, compilation: &self.1 }
    }

    /// The objects of a deployment, by kind and name.
    fn objects(&self, decision: usize) -> Map<String, Value> {
        let outputs = self.1.outputs.iter().filter(|output| output.decision == decision);
        let parsed = outputs.map(|output| {
            let object = yaml::parse(output.object.as_str(), &yaml::Limits::default()).documents[0].root.to_json();
            (format!("{} {}", output.identity.kind, output.identity.name), object)
        });
        parsed.collect()
    }
}

fn planned(old: &State, new: &State) -> Plan {
    plan(old.run(), new.run(), Applier::Apply).unwrap()
}

#[test]
fn a_case_against_itself_changes_nothing() {
    let mut count = 0;
    for folder in case_folders() {
        let Some(state) = State::compiled(read_case(&folder)) else { continue };
        for applier in [Applier::Apply, Applier::Operator] {
            let plan = plan(state.run(), state.run(), applier).unwrap();
            assert!(plan.is_empty() && plan.images.is_empty() && plan.class().is_none(), "{}", folder.display());
            assert_eq!(plan.summary.unchanged, state.1.decisions.len());
        }
        count += 1;
    }
    assert!(count > 150, "{count}");
}

/// What a plan is made from is what a run makes: a document alone renders as it does among all others.
#[test]
fn a_document_alone_renders_as_in_its_run() {
    let mut count = 0;
    for folder in case_folders() {
        let sources = read_case(&folder);
        let compilation = compile_all(&sources);
        // What an actor adds to a model is not the model's own.
        if compilation.has_errors() || sources.iter().any(|(_, source)| source.text.contains("kind: AsyncActor")) {
            continue;
        }
        let renderer = Renderer::new(&sources, &compilation);
        let items = renderer.list_items(&compilation.inputs);
        for input in
            compilation.inputs.iter().filter(|input| input.rendered && &*input.header.kind == "ModelDeployment")
        {
            let document = renderer.document(input, &items).unwrap();
            let position = compilation.decisions.iter().position(|decision| decision.object == input.header.object());
            let expected: Vec<&Value> = compilation
                .outputs
                .iter()
                .filter(|output| Some(output.decision) == position)
                .map(|output| &output.object)
                .collect();
            let rendered = renderer.render(&document, Thoroughness::Needed).unwrap();
            let made: Vec<&Value> = rendered.objects.iter().map(|(_, object)| object).collect();
            assert_eq!(made, expected, "{}", folder.display());
            assert_eq!(rendered.decision.gpus, compilation.decisions[position.unwrap()].gpus);
            count += 1;
        }
    }
    assert!(count > 200, "{count}");
}

/// Every place in which two values differ, down to scalars.
fn leaves(before: Option<&Value>, after: Option<&Value>, at: &str, out: &mut Vec<String>) {
    if before == after {
        return;
    }
    let empty = Map::new();
    let fields = |value: Option<&'_ Value>| value.and_then(Value::as_object).cloned().unwrap_or_else(|| empty.clone());
    let (old, new) = (fields(before), fields(after));
    if old.is_empty() && new.is_empty() {
        out.push(at.to_owned());
        return;
    }
    let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for key in keys {
        let step = FieldPath::root().key(key.clone()).to_string();
        let dot = if at.is_empty() || step.starts_with('[') { "" } else { "." };
        leaves(old.get(key), new.get(key), &format!("{at}{dot}{step}"), out);
    }
}

/// Whether a field is one of two, or a part of the other.
fn overlap(one: &str, other: &str) -> bool {
    let below = |outer: &str, inner: &str| {
        outer.is_empty()
            || inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    below(one, other) || below(other, one)
}

/// Nothing that moves is left out, nothing is made up, and a deployment is as grave as its gravest change.
fn check_accounts(old: &State, new: &State) -> Result<(), TestCaseError> {
    let plan = planned(old, new);
    let mut seen = 0;
    for deployment in &plan.deployments {
        let (Some(before), Some(after)) = (deployment.old, deployment.new) else { continue };
        seen += 1;
        let (before, after) = (old.objects(before), new.objects(after));
        let outputs: Vec<(String, &str)> = deployment
            .changes
            .iter()
            .flat_map(|change| &change.outputs)
            .map(|output| (format!("{} {}", output.object.kind, output.object.name), output.path.as_str()))
            .collect();
        let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let mut moved = Vec::new();
        for key in keys {
            let mut paths = Vec::new();
            leaves(before.get(key), after.get(key), "", &mut paths);
            moved.extend(paths.into_iter().map(|path| (key.clone(), path)));
        }
        for (object, path) in &moved {
            let is_told = outputs.iter().any(|(other, told)| other == object && overlap(told, path));
            prop_assert!(is_told, "{object} {path} moved, and nobody says why: {:#?}", deployment.changes);
        }
        for (object, told) in &outputs {
            let has_moved = moved.iter().any(|(other, path)| other == object && overlap(told, path));
            prop_assert!(has_moved, "{object} {told} is told to move, and does not");
        }
        let gravest = deployment.changes.iter().map(|change| change.class).max();
        prop_assert_eq!(deployment.class, gravest.filter(|_| deployment.action == Action::Changed));
        prop_assert_eq!(deployment.action == Action::Unchanged, deployment.changes.is_empty());
    }
    prop_assert_eq!(seen + plan.summary.created + plan.summary.deleted, plan.deployments.len());
    let gpus = |state: &State| -> u64 {
        state.1.decisions.iter().flat_map(|decision| &decision.gpus).map(|gpus| gpus.count).sum()
    };
    prop_assert_eq!((plan.summary.gpus_before, plan.summary.gpus_after), (gpus(old), gpus(new)));
    Ok(())
}

/// Changes of fields that have nothing to do with each other: a path, and a value.
fn independent(start: usize) -> Vec<(&'static str, Value)> {
    let start = STARTS[start];
    let mut changes = vec![
        ("metadata.labels", json!({"kubefoundry.ai/team": "a"})),
        ("metadata.annotations", json!({"note": "n"})),
        ("spec.secrets.huggingFaceToken", json!("other")),
        ("spec.model.id", json!(start.examples().model.replace("org/model", "org/other"))),
        ("spec.nodeSelector", json!({"pool": "gpu"})),
    ];
    if start.image.is_some_and(|image| !image.contains("aikit")) || start.provider != "kaito" {
        changes.push(("spec.env", json!([{"name": "A", "value": "1"}])));
        changes.push(("spec.podTemplate.metadata.labels", json!({"team": "a"})));
    }
    if start.mode == "aggregated" {
        changes.push(("spec.resources.memory", json!("96Gi")));
        changes.push(("spec.scaling.replicas", json!(3)));
    } else {
        changes.push(("spec.scaling.decode.replicas", json!(3)));
        changes.push(("spec.scaling.prefill.memory", json!("96Gi")));
    }
    if start.engine != "llamacpp" {
        changes.push(("spec.engine.contextLength", json!(4096)));
    }
    changes
}

fn with(document: &Value, changes: &[(&'static str, Value)]) -> Value {
    let mut document = document.clone();
    for (path, value) in changes {
        let mut node = &mut document;
        for key in path.split('.') {
            node = node.as_object_mut().unwrap().entry(key).or_insert_with(|| json!({}));
        }
        *node = value.clone();
    }
    document
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn the_same_documents_in_another_order_change_nothing(mut documents in documents()) {
        let Some(old) = State::of(&documents) else { return Ok(()) };
        documents.reverse();
        let new = State::of(&documents).unwrap();
        let plan = planned(&old, &new);
        prop_assert!(plan.is_empty() && plan.images.is_empty(), "{plan:#?}");
    }

    #[test]
    fn everything_that_moves_is_accounted_for(old in documents(), new in documents()) {
        let (Some(old), Some(new)) = (State::of(&old), State::of(&new)) else { return Ok(()) };
        check_accounts(&old, &new)?;
    }

    /// Adding a change that has nothing to do with the others makes no plan less grave.
    #[test]
    fn more_changes_are_not_less_grave(start in 0..STARTS.len(), picks in any::<(u16, u16)>()) {
        let base = STARTS[start].document();
        let all = independent(start);
        let picked = |bits: u16| -> Vec<_> {
            let picked = all.iter().enumerate().filter(|(position, _)| bits & (1 << position) != 0);
            picked.map(|(_, change)| change.clone()).collect()
        };
        let (some, more) = (picked(picks.0), picked(picks.0 | picks.1));
        let state = |changes: &[_]| State::of(&[with(&base, changes)]);
        let (Some(old), Some(some), Some(more)) = (state(&[]), state(&some), state(&more)) else { return Ok(()) };
        for applier in [Applier::Apply, Applier::Operator] {
            let class = |new: &State| plan(old.run(), new.run(), applier).unwrap().class();
            // Made anew, nothing is refused.
            let (some, more) = (class(&some), class(&more));
            prop_assert!(some <= more || more == Some(ChangeClass::Recreate), "{some:?} > {more:?}");
        }
    }
}

/// The property above is about something: most of its changes are rendered.
#[test]
fn independent_changes_are_mostly_rendered() {
    let mut rendered = 0;
    for (position, start) in STARTS.iter().enumerate() {
        let base = start.document();
        let one = |change: &(&'static str, Value)| State::of(&[with(&base, std::slice::from_ref(change))]).is_some();
        rendered += independent(position).iter().filter(|change| one(change)).count();
    }
    assert!(rendered > 90, "{rendered}");
}

fn paths(value: &Value, at: &FieldPath, out: &mut Vec<FieldPath>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            fields.iter().for_each(|(key, value)| paths(value, &at.key(key.clone()), out));
        }
        Value::Array(items) if !items.is_empty() => {
            items.iter().enumerate().for_each(|(position, item)| paths(item, &at.index(position), out));
        }
        _ => out.push(at.clone()),
    }
}

/// Every object of every case, with the table of its provider.
fn rendered() -> Vec<(&'static [Behavior], Value)> {
    let mut all = Vec::new();
    for folder in case_folders() {
        let compilation = compile_all(&read_case(&folder));
        if compilation.has_errors() {
            continue;
        }
        for output in compilation.outputs.into_iter().filter(kubefoundry_compiler::Output::is_generated) {
            let provider = compilation.decisions[output.decision].provider();
            let Some(provider) = PROVIDERS.iter().find(|it| Some(it.name()) == provider) else { continue };
            all.push((provider.info().behaviors, output.object));
        }
    }
    all
}

/// Every field that is written has a row that says what upstream does when it changes, and every row is about such a field.
#[test]
fn tables_say_what_becomes_of_every_field() {
    let mut used = BTreeSet::new();
    let mut wrong = BTreeSet::new();
    for (behaviors, object) in rendered() {
        let kind = object["kind"].as_str().unwrap();
        let mut all = Vec::new();
        paths(&object, &FieldPath::root(), &mut all);
        for path in all.iter().filter(|path| !["apiVersion", "kind"].contains(&path.to_string().as_str())) {
            let row = Behavior::find(behaviors, kind, path);
            if row.is_none() {
                wrong.insert(format!("no row for {kind} {path}: say what upstream does when it changes"));
            }
            // The fields above it are fields, too.
            let mut path = path.clone();
            while !path.segments().is_empty() {
                used.extend(Behavior::find(behaviors, kind, &path).map(|row| (row.kind, row.path)));
                path = path.parent();
            }
        }
    }
    for row in PROVIDERS.iter().flat_map(|provider| provider.info().behaviors).filter(|row| row.path != "apiVersion") {
        if !used.contains(&(row.kind, row.path)) {
            wrong.insert(format!(
                "no case writes {} {}: add one to testdata/golden, or remove the row",
                row.kind, row.path
            ));
        }
    }
    let wrong: Vec<String> = wrong.into_iter().collect();
    assert!(wrong.is_empty(), "BEHAVIORS in crates/model/src/providers/<name>/behavior.rs:\n{}", wrong.join("\n"));
}

fn fits(steps: &[String], path: &FieldPath) -> bool {
    steps.len() <= path.segments().len()
        && steps.iter().zip(path.segments()).all(|(step, segment)| match segment {
            _ if *step == "*" => true,
            Segment::Key(key) => key == step,
            Segment::Index(_) => false,
        })
}

/// Where a rule of upstream makes a field immutable, a row says so, or the field is never written.
#[test]
fn tables_know_the_immutable_fields_of_the_crds() {
    let rules = TransitionRule::all();
    let rendered = rendered();
    assert!(rules.iter().filter(|rule| rule.makes_immutable()).count() >= 3);
    for TransitionRule { kind, at, .. } in rules.iter().filter(|rule| rule.makes_immutable()) {
        assert!(PROVIDERS.iter().flat_map(|provider| provider.info().behaviors).any(|row| row.kind == *kind), "{kind}");
        for (behaviors, object) in rendered.iter().filter(|(_, object)| object["kind"] == kind.as_str()) {
            let mut all = Vec::new();
            paths(object, &FieldPath::root(), &mut all);
            for path in all.iter().filter(|path| fits(at, path)) {
                let row = Behavior::find(behaviors, kind, path).unwrap();
                assert_eq!(row.reaction, Reaction::Refused, "{kind} {path}");
            }
        }
    }
}

/// What the tables say is taken, the rules of the CRDs take: each change of each start, as an update of the object.
#[test]
fn crds_take_what_the_tables_say_is_taken() {
    let mut definitions: Vec<Value> = newest().iter().map(|skeleton| skeleton.to_crd().unwrap()).collect();
    for rule in TransitionRule::all() {
        let mut names = definitions.iter_mut().filter(|crd| {
            crd["spec"]["group"] == rule.group.as_str() && crd["spec"]["names"]["kind"] == rule.kind.as_str()
        });
        rule.add_to(names.next().unwrap());
    }
    let dump = dump(&definitions);
    let (crds, problems) = kubefoundry_compiler::composition::read_crds(&dump);
    assert!(problems.is_empty(), "{problems:?}");
    let mut checked = 0;
    for (position, start) in STARTS.iter().enumerate() {
        let base = start.document();
        let Some(old) = State::of(std::slice::from_ref(&base)) else { continue };
        for change in independent(position) {
            let Some(new) = State::of(&[with(&base, &[change])]) else { continue };
            let (before, after) = (old.objects(0), new.objects(0));
            for (name, object) in after.iter().filter(|(_, object)| object["apiVersion"] != "v1") {
                let Some(before) = before.get(name) else { continue };
                let refused = crds.check_change(before, object);
                let class = planned(&old, &new).class();
                assert!(
                    refused.is_empty() || class == Some(ChangeClass::Refused),
                    "{name}: {refused:?}, and the plan says {class:?}"
                );
                checked += 1;
            }
        }
    }
    assert!(checked > 80, "{checked}");
    // The check finds something where there is something to find.
    let service = |by: &str| json!({"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": "m"}, "spec": {"managedBy": by}});
    assert_eq!(crds.check_change(&service("ray.io/kuberay-operator"), &service("kueue.x-k8s.io/multikueue")).len(), 1);
    let graph = |available: i32| {
        let worker = json!({"name": "Worker", "type": "worker", "replicas": 3, "minAvailable": available});
        let components = json!([{"name": "Frontend", "type": "frontend"}, worker]);
        json!({"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "metadata": {"name": "m"},
               "spec": {"components": components}})
    };
    let refused = crds.check_change(&graph(1), &graph(2));
    assert_eq!(refused[0].0.to_string(), "spec.components[1]");
    assert_eq!(refused[0].1, "minAvailable never changes once it is set");
}
