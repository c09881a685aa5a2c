//! Properties of drift: objects do not drift from themselves, nor by additions of other controllers, and every change
//! of a rendered field is found at its path.

use std::fs;
use std::path::Path;

use crate::common::generated::documents;
use crate::common::mutation::mutation;
use crate::common::{case_folders, read_case};
use kubefoundry_analysis::drift::{DriftReport, Outcome};
use kubefoundry_analysis::status::{self, StalenessPolicy};
use kubefoundry_compiler::cluster_snapshot::time::Time;
use kubefoundry_compiler::{Compilation, Thoroughness, compile};
use kubefoundry_composition::BUILTIN;
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::field_path::{FieldPath, Segment};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};

/// Returns the drift between the rendering of `sources` and the same objects after `change`, with both versions of the
/// objects.
fn drift(mut sources: SourceSet, change: impl Fn(&mut Value)) -> Option<(DriftReport, Vec<[Value; 2]>)> {
    let outputs: Vec<Value> = objects(&compile(&BUILTIN, &sources, Thoroughness::Needed))?;
    let mut live = outputs.clone();
    live.iter_mut().for_each(change);
    sources.add_for(Purpose::ClusterSnapshot, "live.yaml", yaml::to_yaml_stream(&live));
    let compilation = compile(&BUILTIN, &sources, Thoroughness::Needed);
    let report = DriftReport::from_compilation(&compilation, &sources);
    assert!(report.diagnostics.is_empty(), "{:?}", report.diagnostics);
    Some((report, outputs.into_iter().zip(live).map(|(one, other)| [one, other]).collect()))
}

fn objects(compilation: &Compilation) -> Option<Vec<Value>> {
    // Objects that are passed through are arbitrary user input, which these tests cannot change sensibly.
    let is_fine =
        !compilation.has_errors() && compilation.outputs.iter().all(kubefoundry_compiler::Output::is_generated);
    is_fine.then(|| compilation.outputs.iter().map(|output| output.object.clone()).collect())
}

fn found(report: &DriftReport) -> Vec<String> {
    let of = |object: &kubefoundry_analysis::drift::ObjectDrift| {
        let fields: Vec<String> = object.fields.iter().map(|field| field.path.clone()).collect();
        (object.result != Outcome::Same).then(|| format!("{} {:?} {fields:?}", object.object, object.result))
    };
    report.objects.iter().filter_map(of).collect()
}

/// Lists whose items are matched by name if no CRD is given.
const NAMED: [&str; 8] =
    ["containers", "env", "envs", "volumes", "volumeMounts", "imagePullSecrets", "workerGroupSpecs", "components"];
/// Maps that are compared as a whole.
const WHOLE: [&str; 4] = ["nodeSelector", "selector", "matchLabels", "labelSelector"];

/// Adds what an API server and other controllers add: fields, a status, and items of lists with names.
fn with_defaults(object: &mut Value) {
    for (field, value) in [("status", json!({"state": "x"})), ("zzz", json!(1))] {
        object[field] = value;
    }
    let metadata = object["metadata"].as_object_mut().unwrap();
    metadata.insert("generation".to_owned(), json!(4));
    metadata.insert("creationTimestamp".to_owned(), json!("2026-01-30T09:00:00Z"));
    add("", object);
}

fn add(name: &str, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields
                .iter_mut()
                .filter(|(key, _)| !WHOLE.contains(&key.as_str()))
                .for_each(|(key, value)| add(key, value));
            fields.insert("zzzDefault".to_owned(), json!({"a": [1]}));
        }
        Value::Array(items) => {
            for item in items.iter_mut() {
                add("", item);
            }
            if NAMED.contains(&name) {
                items.push(additional_item(items.first()));
                items.rotate_right(1);
            }
        }
        // Equivalent spellings of a quantity.
        Value::String(_) if name == "gpu" || name == "nvidia.com/gpu" => {
            let count: i64 = value.as_str().unwrap().parse().unwrap();
            *value = json!(count);
        }
        _ => {}
    }
}

/// Returns another item with the same name keys as the existing ones.
fn additional_item(first: Option<&Value>) -> Value {
    let keys = ["name", "groupName", "mountPath", "mountPoint"];
    let of = |key: &&str| first.is_some_and(|first| first.get(*key).is_some());
    keys.into_iter().filter(of).map(|key| (key.to_owned(), json!("/zzz"))).collect()
}

/// Changes every scalar except those that identify an object.
fn change_all(value: &mut Value) {
    for path in leaves(value) {
        *at(value, &path) = match at(value, &path) {
            Value::String(text) => json!(format!("{text}~")),
            Value::Number(number) => json!(number.as_i64().unwrap_or_default() + 1),
            Value::Bool(flag) => json!(!*flag),
            other => other.clone(),
        };
    }
}

fn leaves(object: &Value) -> Vec<FieldPath> {
    let mut paths = Vec::new();
    collect(object, &FieldPath::root(), &mut paths);
    let kept = ["apiVersion", "kind", "metadata.name", "metadata.namespace"].map(FieldPath::parse);
    paths.retain(|path| !kept.contains(path));
    paths
}

fn collect(value: &Value, path: &FieldPath, out: &mut Vec<FieldPath>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| collect(value, &path.key(key.clone()), out)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| collect(item, &path.index(index), out));
        }
        _ => out.push(path.clone()),
    }
}

fn at<'v>(value: &'v mut Value, path: &FieldPath) -> &'v mut Value {
    path.segments().iter().fold(value, |value, segment| match segment {
        Segment::Key(key) => &mut value[key.as_ref()],
        Segment::Index(index) => &mut value[*index],
    })
}

/// Returns every golden case and every example.
fn corpus() -> Vec<(String, SourceSet)> {
    case_folders().into_iter().map(|folder| (folder.display().to_string(), read_case(&folder))).collect()
}

#[test]
fn objects_do_not_drift_from_themselves() {
    let mut compared = 0;
    for (name, sources) in corpus() {
        let Some((report, objects)) = drift(sources, |_| {}) else { continue };
        assert!(!report.has_drifted() && report.objects.len() == objects.len(), "{name}: {:#?}", found(&report));
        compared += objects.len();
    }
    assert!(compared > 200, "{compared} objects");
}

#[test]
fn additions_of_other_controllers_are_not_drift() {
    for (name, sources) in corpus() {
        // With CRDs, the schema determines how lists are compared.
        if sources.iter().any(|(_, source)| source.purpose == Purpose::Crds) {
            continue;
        }
        let Some((report, _)) = drift(sources, with_defaults) else { continue };
        assert!(!report.has_drifted(), "{name}: {:#?}", found(&report));
    }
}

/// Asserts that drift reports a change in every leaf except those for which `is_kept` returns true.
fn is_found_everywhere(change: impl Fn(&mut Value), is_kept: impl Fn(usize, &FieldPath) -> bool) {
    for (name, sources) in corpus() {
        let Some((report, objects)) = drift(sources, &change) else { continue };
        for (object, [rendered, _]) in report.objects.iter().zip(&objects) {
            assert_eq!(object.result, Outcome::Differs, "{name}: {}", object.object);
            let found: Vec<&str> = object.fields.iter().map(|field| field.path.as_str()).collect();
            for (position, path) in leaves(rendered).iter().enumerate() {
                let text = path.to_string();
                // If the name of an item changed, the item as a whole is missing.
                let covers = |found: &&str| {
                    text.strip_prefix(*found).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
                };
                assert!(
                    is_kept(position, path) || found.iter().any(covers),
                    "{name}: {} {path} is not among {found:#?}",
                    object.object
                );
            }
        }
    }
}

/// No rendered field is overlooked.
#[test]
fn every_changed_field_is_found() {
    is_found_everywhere(change_all, |_, _| false);
}

/// No removed field is overlooked; this test removes every second one.
#[test]
fn every_removed_field_is_found() {
    let is_item = |path: &FieldPath| matches!(path.segments().last(), Some(Segment::Index(_)));
    let is_kept = |position: usize, path: &FieldPath| position % 2 == 1 || is_item(path);
    let remove = |object: &mut Value| {
        for (position, path) in leaves(object).iter().enumerate() {
            if let (false, Some(Segment::Key(key))) = (is_kept(position, path), path.segments().last()) {
                at(object, &path.parent()).as_object_mut().unwrap().shift_remove(key.as_ref());
            }
        }
    };
    is_found_everywhere(remove, is_kept);
}

/// The reported live values are complete: replacing the rendered values with them leaves no drift.
#[test]
fn reported_values_are_the_live_values() {
    for (name, sources) in corpus() {
        let Some((report, objects)) = drift(sources, change_all) else { continue };
        for (object, [rendered, live]) in report.objects.iter().zip(&objects) {
            let (expected, found) = (object.expected.as_ref().unwrap(), object.found.as_ref().unwrap());
            assert_eq!(expected, rendered, "{name}");
            let shown = |path: &FieldPath| {
                path.segments().iter().try_fold(found, |value, segment| match segment {
                    Segment::Key(key) => value.get(key.as_ref()),
                    Segment::Index(index) => value.get(*index),
                })
            };
            for path in leaves(live) {
                let is = shown(&path);
                let mut live = live.clone();
                assert!(is.is_none() || is == Some(&*at(&mut live, &path)), "{name}: {} {path}: {is:?}", object.object);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64, failure_persistence: None, rng_seed: RngSeed::Fixed(20_261_122), ..ProptestConfig::default()
    })]

    #[test]
    fn generated_deployments_do_not_drift(documents in documents()) {
        let mut sources = SourceSet::default();
        sources.add("input.yaml", yaml::to_yaml_stream(&documents));
        for change in [|_: &mut Value| {}, with_defaults] {
            if let Some((report, _)) = drift(sources.clone(), change) {
                prop_assert!(!report.has_drifted(), "{:#?}", found(&report));
            }
        }
    }

    /// A mutated dump produces findings, never a panic.
    #[test]
    fn mutated_snapshots_cause_no_panic(
        group in select(&["status", "drift"][..]),
        case in any::<Index>(),
        mutations in proptest::collection::vec(mutation(), 1..5),
    ) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(group);
        let mut cases: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        cases.sort();
        let case = case.get(&cases);
        let dump = case.join(if group == "status" { "dump.yaml" } else { "live.yaml" });
        let damaged = mutations.iter().fold(fs::read(dump).unwrap(), |bytes, mutation| mutation.apply(&bytes));
        let mut sources = SourceSet::default();
        if group == "drift" {
            sources.add("input.yaml", fs::read_to_string(case.join("input.yaml")).unwrap());
        }
        sources.add_bytes(Purpose::ClusterSnapshot, "live.yaml", damaged);
        report_drift(&sources);
    }

    /// No snapshot causes a panic.
    #[test]
    fn no_snapshot_causes_a_panic(text in "(apiVersion: (v1|ray.io/v1|kaito.sh/v1beta1)\nkind: (List|RayService|Workspace)\nmetadata: (\\{name: a\\}|\\[\\]|1)\n|items: \\[\\{\\}\\]\n|spec: \\{a: [1x]\\}\n|---\n|status: (\\{state: [xR]\\}|\\[1\\])\n){0,8}") {
        let mut sources = SourceSet::default();
        sources.add_for(Purpose::ClusterSnapshot, "live.yaml", text);
        report_drift(&sources);
    }
}

fn report_drift(sources: &SourceSet) {
    let judgment = StalenessPolicy { now: Time::parse("2026-01-30T10:00:00Z"), ..StalenessPolicy::default() };
    status::StatusReport::read(&BUILTIN, sources, judgment);
    DriftReport::from_compilation(&compile(&BUILTIN, sources, Thoroughness::Needed), sources);
}
