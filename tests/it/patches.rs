//! Raw patches: a patch that repeats what is generated changes nothing, and the order of disjoint patches does not
//! matter, for every provider.

use crate::common::start::{STARTS, Start};
use kubefoundry_analysis::trace::{Fate, trace};
use kubefoundry_compiler::{Compilation, Thoroughness, compile};
use kubefoundry_composition::BUILTIN;
use kubefoundry_diagnostics::source::SourceSet;
use kubefoundry_yaml as yaml;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Fields that every generated object of these kinds may get, none of which is inside another.
const ADDITIONS: &[(&str, &str)] = &[
    ("RayService", "/spec/suspend"),
    ("RayService", "/spec/serviceUnhealthySecondThreshold"),
    ("RayService", "/spec/rayClusterConfig/headGroupSpec/template/spec/shareProcessNamespace"),
    ("RayService", "/spec/rayClusterConfig/headGroupSpec/template/spec/activeDeadlineSeconds"),
    ("RayService", "/spec/rayClusterConfig/suspend"),
    ("DynamoGraphDeployment", "/spec/services/Frontend/extraPodSpec/shareProcessNamespace"),
    ("DynamoGraphDeployment", "/spec/services/Frontend/extraPodSpec/activeDeadlineSeconds"),
    ("DynamoGraphDeployment", "/spec/services/Other/extraPodSpec/setHostnameAsFQDN"),
    ("DynamoGraphDeployment", "/spec/services/Frontend/extraPodSpec/mainContainer/stdin"),
    ("Workspace", "/inference/preset/accessMode"),
    ("Workspace", "/metadata/labels/team"),
    ("Workspace", "/metadata/annotations/owner"),
    ("Workspace", "/metadata/annotations/pager"),
];

/// Returns the run of a base deployment with patches.
fn run(start: Start, patches: &[Value]) -> Compilation {
    let mut document = start.document();
    document["metadata"]["annotations"] = json!({"kubefoundry.ai/lint-ignore": "KF0503,KF0610"});
    if !patches.is_empty() {
        document["spec"]["provider"]["overrides"]["patches"] = json!(patches);
    }
    let mut sources = SourceSet::default();
    sources.add("model.yaml", yaml::to_yaml_stream([&document]));
    compile(&BUILTIN, &sources, Thoroughness::Needed)
}

fn objects(compilation: &Compilation) -> Vec<Value> {
    assert!(!compilation.has_errors(), "{:#?}", compilation.diagnostics);
    compilation.outputs.iter().map(|output| output.object.clone()).collect()
}

/// Returns a part of a value that repeats it: some fields of every mapping, and whole lists. `choose` decides about each
/// field.
fn repeat_part(value: &Value, choose: &mut impl FnMut() -> bool) -> Value {
    let Value::Object(fields) = value else { return value.clone() };
    let mut chosen = Map::new();
    for (key, value) in fields {
        if choose() {
            chosen.insert(key.clone(), repeat_part(value, choose));
        }
    }
    Value::Object(chosen)
}

/// Creates a patch that sets one field.
fn patch_of(kind: &str, pointer: &str) -> Value {
    let value = match pointer.rsplit('/').next().unwrap() {
        "team" | "owner" | "pager" => json!("search"),
        "accessMode" => json!("private"),
        "activeDeadlineSeconds" | "serviceUnhealthySecondThreshold" => json!(600),
        _ => json!(true),
    };
    let wrap = |value: Value, key: &str| Value::Object(Map::from_iter([(key.to_owned(), value)]));
    let merge = pointer.rsplit('/').filter(|key| !key.is_empty()).fold(value, wrap);
    json!({"target": {"kind": kind}, "merge": merge})
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_patch_that_repeats_what_is_generated_changes_nothing(
        start in proptest::sample::select(STARTS.clone()),
        choices in proptest::collection::vec(any::<bool>(), 64),
    ) {
        let before = objects(&run(start, &[]));
        let mut choices = choices.into_iter().cycle();
        let mut choose = || choices.next().unwrap();
        let patch = |object: &Value| {
            let mut patch = json!({"target": {"kind": object["kind"]}, "merge": repeat_part(object, &mut choose)});
            if let Some(text) = object.pointer("/spec/serveConfigV2").and_then(Value::as_str) {
                let config = yaml::parse(text, &yaml::Limits::default()).documents[0].root.to_json();
                patch["serveConfig"] = repeat_part(&config, &mut choose);
            }
            patch
        };
        let patches: Vec<Value> = before.iter().map(patch).collect();
        let after = objects(&run(start, &patches));
        // The texts are equal, and not only the values.
        prop_assert_eq!(yaml::to_yaml_stream(&after), yaml::to_yaml_stream(&before));
    }

    #[test]
    fn the_order_of_disjoint_patches_does_not_matter(
        start in proptest::sample::select(STARTS.clone()),
        order in Just(ADDITIONS.to_vec()).prop_shuffle(),
        count in 2..6_usize,
    ) {
        let plain = objects(&run(start, &[]));
        let is_generated = |kind: &str| plain.iter().any(|object| object["kind"] == kind);
        let is_preset = plain.iter().any(|object| object.pointer("/inference/preset").is_some());
        let fits = |(kind, pointer): &&(&'static str, &'static str)| {
            is_generated(kind) && (is_preset || !pointer.contains("/preset/"))
        };
        let mut patches: Vec<Value> =
            order.iter().filter(fits).take(count).map(|(kind, pointer)| patch_of(kind, pointer)).collect();
        let after = objects(&run(start, &patches));
        prop_assert!(after != plain, "{patches:#?}");
        patches.reverse();
        prop_assert_eq!(objects(&run(start, &patches)), after);
    }
}

/// A removal is a value of the input like any other: the trace says what it does, and that nothing else does it.
#[test]
fn a_trace_shows_what_patches_write_and_remove() {
    let mut sources = SourceSet::default();
    sources.add("model.yaml", include_str!("../../testdata/golden/kuberay/patches/input.yaml"));
    let traces = trace(&BUILTIN, &sources);
    let patch = "spec.provider.overrides.patches[0].merge.spec";
    let field = |path: &str| {
        let path = format!("{patch}{path}");
        traces[0].fields.iter().find(|field| field.path == path).unwrap_or_else(|| panic!("{path}"))
    };
    for path in [".rayClusterConfig.suspend", ".rayClusterConfig.headGroupSpec.rayStartParams[\"dashboard-host\"]"] {
        assert_eq!(field(path).fate, Fate::Rendered, "{path}");
    }
    let output = |path: &str| {
        let output = traces[0].outputs.iter().find(|output| output.path == path && output.inside.is_none());
        output.unwrap_or_else(|| panic!("{path}")).from.clone()
    };
    let from = output("spec.rayClusterConfig.suspend");
    assert!(from.contains(&format!("{patch}.rayClusterConfig.suspend")), "{from:?}");
    // The target of the patch has a part in it, and nothing outside the patches.
    assert!(from.iter().all(|path| path.starts_with("spec.provider.overrides.patches[0]")), "{from:?}");
    let inside =
        traces[0].outputs.iter().find(|output| output.inside.as_deref() == Some("http_options.request_timeout_s"));
    let patch = "spec.provider.overrides.patches[0].serveConfig.http_options.request_timeout_s";
    assert!(inside.unwrap().from.contains(&patch.to_owned()), "{inside:?}");
}
