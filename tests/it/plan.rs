//! Properties of plans: no change has no effect, every difference is accounted for, and more changes never lower the
//! severity. Also checks the behavior tables of providers against everything that is rendered and against upstream
//! CRDs.

use std::collections::BTreeSet;

use crate::common::generated::documents;
use crate::common::start::STARTS;
use crate::common::upstream::{TransitionRule, dump, newest};
use crate::common::{case_folders, compile_case, read_case};
use kubefoundry_analysis::plan::{Action, Applier, ChangeClass, Plan, PlanInput, plan};
use kubefoundry_compiler::Thoroughness;
use kubefoundry_compiler::pipeline::{Compilation, Engine, InputValues, YamlText, compile_as};
use kubefoundry_composition::{BUILTIN, PROVIDERS};
use kubefoundry_diagnostics::source::SourceSet;
use kubefoundry_model::gateway;
use kubefoundry_provider::{Behavior, Reaction};
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

/// Texts and their compilation, which has no errors.
struct State(SourceSet, Compilation<YamlText>);

impl State {
    fn from_documents(documents: &[Value]) -> Option<Self> {
        let mut sources = SourceSet::default();
        sources.add("input.yaml", yaml::to_yaml_stream(documents));
        Self::compile(sources)
    }

    fn compile(sources: SourceSet) -> Option<Self> {
        let compilation = compile_as(&BUILTIN, &sources, Thoroughness::Needed);
        (!compilation.has_errors()).then_some(Self(sources, compilation))
    }

    fn run(&self) -> PlanInput<'_> {
        PlanInput { sources: &self.0, compilation: &self.1 }
    }

    /// Returns the objects of a deployment, by kind and name.
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
        let Some(state) = State::compile(read_case(&folder)) else { continue };
        for applier in [Applier::Apply, Applier::Operator] {
            let plan = plan(state.run(), state.run(), applier).unwrap();
            assert!(plan.is_empty() && plan.images.is_empty() && plan.class().is_none(), "{}", folder.display());
            assert_eq!(plan.summary.unchanged, state.1.decisions.len());
        }
        count += 1;
    }
    assert!(count > 150, "{count}");
}

/// A plan compiles single documents, so a document must render alone as it does among others.
#[test]
fn a_document_alone_renders_as_in_its_run() {
    let mut count = 0;
    for folder in case_folders() {
        let sources = read_case(&folder);
        let compilation = compile_case(&folder);
        // The additions of an actor do not belong to the model.
        if compilation.has_errors() || sources.iter().any(|(_, source)| source.text.contains("kind: AsyncActor")) {
            continue;
        }
        let engine = Engine::of_run(&sources, compilation, None);
        let values = InputValues::new(&sources, engine.options(), &compilation.inputs);
        for input in
            compilation.inputs.iter().filter(|input| input.rendered && &*input.header.kind == "ModelDeployment")
        {
            let document = values.get(input).unwrap();
            let position = compilation.decisions.iter().position(|decision| decision.object == input.header.object());
            let expected: Vec<&Value> = compilation
                .outputs
                .iter()
                .filter(|output| Some(output.decision) == position)
                .map(|output| &output.object)
                .collect();
            let rendered = engine.render(&document, Thoroughness::Needed).unwrap();
            let made: Vec<&Value> = rendered.objects.iter().map(|(_, object)| object).collect();
            assert_eq!(made, expected, "{}", folder.display());
            assert_eq!(rendered.decision.gpus, compilation.decisions[position.unwrap()].gpus);
            count += 1;
        }
    }
    assert!(count > 200, "{count}");
}

/// Collects the paths at which two values differ, down to scalars.
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

/// Returns whether two paths are equal or one contains the other.
fn overlap(one: &str, other: &str) -> bool {
    let below = |outer: &str, inner: &str| {
        outer.is_empty()
            || inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    below(one, other) || below(other, one)
}

/// A plan lists every difference and no other, and a deployment has the class of its most severe change.
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
            prop_assert!(
                is_told,
                "{object} {path} changed, but no change of the plan explains it: {:#?}",
                deployment.changes
            );
        }
        for (object, told) in &outputs {
            let has_moved = moved.iter().any(|(other, path)| other == object && overlap(told, path));
            prop_assert!(has_moved, "{object} {told} should change, but does not");
        }
        let interface = [&deployment.endpoint, &deployment.model_name].into_iter().flatten().map(|change| change.class);
        let most_severe = deployment.changes.iter().map(|change| change.class).chain(interface).max();
        prop_assert_eq!(deployment.class, most_severe.filter(|_| deployment.action == Action::Changed));
        prop_assert_eq!(deployment.action == Action::Unchanged, deployment.changes.is_empty());
    }
    prop_assert_eq!(seen + plan.summary.created + plan.summary.deleted, plan.deployments.len());
    let gpus = |state: &State| -> u128 {
        state.1.decisions.iter().flat_map(|decision| &decision.gpus).map(|gpus| u128::from(gpus.count)).sum()
    };
    prop_assert_eq!((plan.summary.gpus_before, plan.summary.gpus_after), (gpus(old), gpus(new)));
    Ok(())
}

/// Returns independent changes: a path and a value each.
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
        let Some(old) = State::from_documents(&documents) else { return Ok(()) };
        documents.reverse();
        let new = State::from_documents(&documents).unwrap();
        let plan = planned(&old, &new);
        prop_assert!(plan.is_empty() && plan.images.is_empty(), "{plan:#?}");
    }

    #[test]
    fn everything_that_moves_is_accounted_for(old in documents(), new in documents()) {
        let (Some(old), Some(new)) = (State::from_documents(&old), State::from_documents(&new)) else { return Ok(()) };
        check_accounts(&old, &new)?;
    }

    /// Adding an independent change never lowers the severity of a plan.
    #[test]
    fn more_changes_never_lower_the_severity(start in 0..STARTS.len(), picks in any::<(u16, u16)>()) {
        let base = STARTS[start].document();
        let all = independent(start);
        let picked = |bits: u16| -> Vec<_> {
            let picked = all.iter().enumerate().filter(|(position, _)| bits & (1 << position) != 0);
            picked.map(|(_, change)| change.clone()).collect()
        };
        let (some, more) = (picked(picks.0), picked(picks.0 | picks.1));
        let state = |changes: &[_]| State::from_documents(&[with(&base, changes)]);
        let (Some(old), Some(some), Some(more)) = (state(&[]), state(&some), state(&more)) else { return Ok(()) };
        for applier in [Applier::Apply, Applier::Operator] {
            let class = |new: &State| plan(old.run(), new.run(), applier).unwrap().class();
            // If the object is recreated, no change is refused.
            let (some, more) = (class(&some), class(&more));
            prop_assert!(some <= more || more == Some(ChangeClass::Recreate), "{some:?} > {more:?}");
        }
    }
}

/// The property above is not vacuous: most of its changes are rendered.
#[test]
fn independent_changes_are_mostly_rendered() {
    let mut rendered = 0;
    for (position, start) in STARTS.iter().enumerate() {
        let base = start.document();
        let one = |change: &(&'static str, Value)| {
            State::from_documents(&[with(&base, std::slice::from_ref(change))]).is_some()
        };
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

/// Returns every object of every case, with the behavior table of its provider.
fn rendered() -> Vec<(&'static [Behavior], Value)> {
    let mut all = Vec::new();
    for folder in case_folders() {
        let compilation = compile_case(&folder);
        if compilation.has_errors() {
            continue;
        }
        for output in compilation.outputs.iter().filter(|output| output.is_generated()) {
            let provider = compilation.decisions[output.decision].provider();
            let Some(provider) = PROVIDERS.iter().find(|it| Some(it.name()) == provider) else { continue };
            all.push((provider.info().behaviors, output.object.clone()));
        }
    }
    all
}

/// Every rendered field has a row with its behavior on change, and every row matches a rendered field.
#[test]
fn behavior_tables_cover_every_rendered_field() {
    let mut used = BTreeSet::new();
    let mut wrong = BTreeSet::new();
    for (behaviors, object) in rendered() {
        let kind = object["kind"].as_str().unwrap();
        let mut all = Vec::new();
        paths(&object, &FieldPath::root(), &mut all);
        for path in all.iter().filter(|path| !["apiVersion", "kind"].contains(&path.to_string().as_str())) {
            let find = |behaviors| Behavior::find(behaviors, kind, path);
            let row = find(behaviors).or_else(|| find(gateway::BEHAVIORS));
            if row.is_none() {
                wrong.insert(format!("no row for {kind} {path}: say what upstream does when it changes"));
            }
            // Parent fields count, too.
            let mut path = path.clone();
            while !path.segments().is_empty() {
                let find = |behaviors| Behavior::find(behaviors, kind, &path);
                used.extend(find(behaviors).or_else(|| find(gateway::BEHAVIORS)).map(|row| (row.kind, row.path)));
                path = path.parent();
            }
        }
    }
    let of_providers = PROVIDERS.iter().flat_map(|provider| provider.info().behaviors);
    for row in of_providers.chain(gateway::BEHAVIORS).filter(|row| row.path != "apiVersion") {
        if !used.contains(&(row.kind, row.path)) {
            wrong.insert(format!(
                "no case writes {} {}: add one to testdata/golden, or remove the row",
                row.kind, row.path
            ));
        }
    }
    let wrong: Vec<String> = wrong.into_iter().collect();
    assert!(wrong.is_empty(), "BEHAVIORS in providers/<name>/src/behavior.rs:\n{}", wrong.join("\n"));
}

fn fits(steps: &[String], path: &FieldPath) -> bool {
    steps.len() <= path.segments().len()
        && steps.iter().zip(path.segments()).all(|(step, segment)| match segment {
            _ if *step == "*" => true,
            Segment::Key(key) => key == step,
            Segment::Index(_) => false,
        })
}

/// A field that an upstream rule makes immutable has such a row, or is never rendered.
#[test]
fn behavior_tables_have_the_immutable_fields_of_the_crds() {
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

/// The rules of the CRDs accept every update that the behavior tables accept: each change of each base deployment.
#[test]
fn crds_accept_updates_that_the_tables_accept() {
    let mut definitions: Vec<Value> = newest().iter().map(|skeleton| skeleton.to_crd().unwrap()).collect();
    for rule in TransitionRule::all() {
        let mut names = definitions.iter_mut().filter(|crd| {
            crd["spec"]["group"] == rule.group.as_str() && crd["spec"]["names"]["kind"] == rule.kind.as_str()
        });
        rule.add_to(names.next().unwrap());
    }
    let dump = dump(&definitions);
    let (crds, problems) = kubefoundry_crd::Crds::from_sources(&dump, BUILTIN.crd_kinds());
    assert!(problems.is_empty(), "{problems:?}");
    let mut checked = 0;
    for (position, start) in STARTS.iter().enumerate() {
        let base = start.document();
        let Some(old) = State::from_documents(std::slice::from_ref(&base)) else { continue };
        for change in independent(position) {
            let Some(new) = State::from_documents(&[with(&base, &[change])]) else { continue };
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
    // The check reports a refused update.
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
