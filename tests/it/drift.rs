//! What holds for every drift: objects have not drifted from themselves, nor by what others add; every change of a rendered
//! field is found, where it is.

use std::fs;
use std::path::Path;

use crate::common::generated::documents;
use crate::common::mutation::mutation;
use crate::common::{case_folders, read_case};
use kubefoundry_compiler::cluster_snapshot::time::Time;
use kubefoundry_compiler::drift::{DriftReport, Outcome};
use kubefoundry_compiler::status::{self, StalenessPolicy};
use kubefoundry_compiler::{Compilation, Thoroughness, compile};
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::field_path::{FieldPath, Segment};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};

/// The drift of what `sources` become from what `change` makes of it, and the objects before and after.
fn drift(mut sources: SourceSet, change: impl Fn(&mut Value)) -> Option<(DriftReport, Vec<[Value; 2]>)> {
    let outputs: Vec<Value> = objects(&compile(&sources, Thoroughness::Needed))?;
    let mut live = outputs.clone();
    live.iter_mut().for_each(change);
    sources.add_for(Purpose::ClusterSnapshot, "live.yaml", yaml::to_yaml_stream(&live));
    let compilation = compile(&sources, Thoroughness::Needed);
    let report = DriftReport::from_compilation(&compilation, &sources);
    assert!(report.diagnostics.is_empty(), "{:?}", report.diagnostics);
    Some((report, outputs.into_iter().zip(live).map(|(one, other)| [one, other]).collect()))
}

fn objects(compilation: &Compilation) -> Option<Vec<Value>> {
    // What is passed on is the user's own text, with nothing in it that is known here.
    let is_fine =
        !compilation.has_errors() && compilation.outputs.iter().all(kubefoundry_compiler::Output::is_generated);
    is_fine.then(|| compilation.outputs.iter().map(|output| output.object.clone()).collect())
}

fn found(report: &DriftReport) -> Vec<String> {
    let of = |object: &kubefoundry_compiler::drift::ObjectDrift| {
        let fields: Vec<String> = object.fields.iter().map(|field| field.path.clone()).collect();
        (object.result != Outcome::Same).then(|| format!("{} {:?} {fields:?}", object.object, object.result))
    };
    report.objects.iter().filter_map(of).collect()
}

/// The lists whose items have names, where no CRD says more.
const NAMED: [&str; 8] =
    ["containers", "env", "envs", "volumes", "volumeMounts", "imagePullSecrets", "workerGroupSpecs", "components"];
/// Maps that are one value.
const WHOLE: [&str; 4] = ["nodeSelector", "selector", "matchLabels", "labelSelector"];

/// What an apiserver and other controllers add: fields everywhere, a status, items of lists with names.
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
                items.push(named(items.first()));
                items.rotate_right(1);
            }
        }
        // Other spellings of an amount.
        Value::String(_) if name == "gpu" || name == "nvidia.com/gpu" => {
            let count: i64 = value.as_str().unwrap().parse().unwrap();
            *value = json!(count);
        }
        _ => {}
    }
}

/// One more item, with the names that the others have.
fn named(first: Option<&Value>) -> Value {
    let keys = ["name", "groupName", "mountPath", "mountPoint"];
    let of = |key: &&str| first.is_some_and(|first| first.get(*key).is_some());
    keys.into_iter().filter(of).map(|key| (key.to_owned(), json!("/zzz"))).collect()
}

/// Changes every scalar but those by which objects are found.
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

/// Every case of the golden tests, and every example.
fn corpus() -> Vec<(String, SourceSet)> {
    case_folders().into_iter().map(|folder| (folder.display().to_string(), read_case(&folder))).collect()
}

#[test]
fn nothing_drifts_from_itself() {
    let mut compared = 0;
    for (name, sources) in corpus() {
        let Some((report, objects)) = drift(sources, |_| {}) else { continue };
        assert!(!report.has_drifted() && report.objects.len() == objects.len(), "{name}: {:#?}", found(&report));
        compared += objects.len();
    }
    assert!(compared > 200, "{compared} objects");
}

#[test]
fn what_others_add_is_no_drift() {
    for (name, sources) in corpus() {
        // With CRDs, lists are what they say.
        if sources.iter().any(|(_, source)| source.purpose == Purpose::Crds) {
            continue;
        }
        let Some((report, _)) = drift(sources, with_defaults) else { continue };
        assert!(!report.has_drifted(), "{name}: {:#?}", found(&report));
    }
}

/// Every leaf but those that `is_kept` says is among the fields that a change is found in.
fn is_found_everywhere(change: impl Fn(&mut Value), is_kept: impl Fn(usize, &FieldPath) -> bool) {
    for (name, sources) in corpus() {
        let Some((report, objects)) = drift(sources, &change) else { continue };
        for (object, [rendered, _]) in report.objects.iter().zip(&objects) {
            assert_eq!(object.result, Outcome::Differs, "{name}: {}", object.object);
            let found: Vec<&str> = object.fields.iter().map(|field| field.path.as_str()).collect();
            for (position, path) in leaves(rendered).iter().enumerate() {
                let text = path.to_string();
                // The whole of an item whose name changed is missing.
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

/// No field that is rendered is overlooked.
#[test]
fn every_changed_field_is_found() {
    is_found_everywhere(change_all, |_, _| false);
}

/// Nor one that is gone: here it is every second one.
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

/// What is shown as found is what is there: putting it in place of what is rendered leaves no drift.
#[test]
fn what_is_found_is_what_is_there() {
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
    fn damaged_dumps_are_answered(
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
        answer(&sources);
    }

    /// Whatever is in a dump, it is answered.
    #[test]
    fn any_dump_is_answered(text in "(apiVersion: (v1|ray.io/v1|kaito.sh/v1beta1)\nkind: (List|RayService|Workspace)\nmetadata: (\\{name: a\\}|\\[\\]|1)\n|items: \\[\\{\\}\\]\n|spec: \\{a: [1x]\\}\n|---\n|status: (\\{state: [xR]\\}|\\[1\\])\n){0,8}") {
        let mut sources = SourceSet::default();
        sources.add_for(Purpose::ClusterSnapshot, "live.yaml", text);
        answer(&sources);
    }
}

fn answer(sources: &SourceSet) {
    let judgement = StalenessPolicy { now: Time::parse("2026-01-30T10:00:00Z"), ..StalenessPolicy::default() };
    status::StatusReport::read(sources, judgement);
    DriftReport::from_compilation(&compile(sources, Thoroughness::Needed), sources);
}
