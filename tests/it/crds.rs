//! Conformance with upstream CRDs: every golden and example fits every skeleton, or a finding names the field that does
//! not.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::upstream::{dump, newest, newest_dump};
use crate::common::{case_folders, compile_all, compile_case, read_case};
use kubefoundry_compiler::pipeline::OutputRole;
use kubefoundry_composition::BUILTIN;
use kubefoundry_crd::upstream;
use kubefoundry_diagnostics::Diagnostic;
use kubefoundry_diagnostics::source::Purpose;
use kubefoundry_yaml as yaml;
use serde_json::{Value, json};

/// Returns the folders of the cases that render, with the rendered objects that a CRD defines.
fn rendered() -> Vec<(PathBuf, Vec<Value>)> {
    let mut rendered = Vec::new();
    // A case with its own CRDs tests those.
    for folder in case_folders().into_iter().filter(|folder| !folder.join("crds").exists()) {
        let compilation = compile_case(&folder);
        if compilation.has_errors() {
            continue;
        }
        let made = compilation.outputs.iter().filter(|output| output.role != OutputRole::PassedOn);
        let of_a_crd = made.filter(|output| {
            let (group, kind) = (&*output.identity.group, &*output.identity.kind);
            // There are no skeletons for built-in kinds, other kinds to which actors bind, and queues.
            let is_queue = ["rabbitmq.com", "sqs.services.k8s.aws"].contains(&group);
            let is_bound_only = group.starts_with("serving.") || kind == "RayCluster";
            group.contains('.') && !group.ends_with(".k8s.io") && !is_bound_only && !is_queue
        });
        rendered.push((folder, of_a_crd.map(|output| output.object.clone()).collect()));
    }
    rendered
}

fn words(found: Vec<Diagnostic>) -> Vec<String> {
    found.into_iter().map(|found| format!("{} {}", found.code.id, found.message)).collect()
}

#[test]
fn every_golden_and_example_fits_the_newest_crds() {
    let sources = newest_dump();
    let (crds, problems) = kubefoundry_crd::Crds::from_sources(&sources, BUILTIN.crd_kinds());
    assert!(problems.is_empty(), "{problems:?}");
    let mut checked = 0;
    for (folder, objects) in rendered() {
        for object in objects {
            assert_eq!(words(crds.check(&object)), Vec::<String>::new(), "{}", folder.display());
            checked += 1;
        }
    }
    assert!(checked > 200, "{checked}");
}

/// With CRDs, the pipeline chooses the CRD versions that the cluster stores and reports fingerprints. Nothing else
/// changes.
#[test]
fn examples_render_the_same_with_the_newest_crds() {
    let dump = newest_dump();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    for folder in case_folders().into_iter().filter(|folder| folder.starts_with(&examples)) {
        let mut sources = read_case(&folder);
        let plain = compile_case(&folder);
        for (_, source) in dump.iter() {
            sources.add_for(Purpose::Crds, source.name.clone(), source.text.clone());
        }
        let checked = compile_all(&sources);
        assert_eq!(plain.outputs.len(), checked.outputs.len(), "{}", folder.display());
        for (plain, checked) in plain.outputs.iter().zip(&checked.outputs) {
            assert_eq!(plain.identity, checked.identity, "{}", folder.display());
            if &*plain.identity.kind == "DynamoGraphDeployment" {
                assert_eq!(checked.object["apiVersion"], "nvidia.com/v1beta1", "the stored version");
            } else {
                assert_eq!(plain, checked, "{}", folder.display());
            }
        }
        for decision in checked.decisions.iter().filter(|decision| decision.crd_version.is_some()) {
            assert_eq!(decision.schema_fingerprint.as_ref().map(String::len), Some(16), "{}", folder.display());
        }
    }
}

/// Both older DGD CRDs (the second has no metadata in pod templates): an object fits, or the message names the missing
/// field, or the version is not served.
#[test]
fn objects_fit_older_crds_or_the_finding_names_the_field() {
    let rendered = rendered();
    let all = rendered.iter().flat_map(|(folder, objects)| objects.iter().map(move |object| (folder, object)));
    let graphs: Vec<_> = all.filter(|(_, object)| object["kind"] == "DynamoGraphDeployment").collect();
    let cases = [
        (
            "0.4.1",
            &["nvidia.com/v1alpha1"][..],
            &[
                "claims",
                "gpuType",
                "pvcs",
                "runtimeVersionOverride",
                "sharedMemory",
                "subComponentType",
                "volumeMounts",
            ][..],
        ),
        ("1.2.0", &["nvidia.com/v1alpha1", "nvidia.com/v1beta1"], &["annotations", "labels", "runtimeVersionOverride"]),
    ];
    // The loop covers every skeleton that is not the newest of its kind.
    assert_eq!(newest().len() + cases.len(), upstream::origins().len());
    for (release, served, missing) in cases {
        let skeleton = upstream::skeleton("nvidia.com", "DynamoGraphDeployment", Some(release)).unwrap();
        assert_eq!(skeleton.origin().release, Some(release));
        let sources = dump([&skeleton.to_crd().unwrap()]);
        let (crds, _) = kubefoundry_crd::Crds::from_sources(&sources, BUILTIN.crd_kinds());
        let (mut fitting, mut refused) = (0, BTreeSet::new());
        for (folder, object) in &graphs {
            let found = words(crds.check(object));
            fitting += usize::from(found.is_empty());
            if !served.contains(&object["apiVersion"].as_str().unwrap()) {
                assert!(matches!(found.as_slice(), [only] if only.starts_with("KF0516 ")), "{found:?}");
                continue;
            }
            for message in found {
                let field = missing.iter().find(|field| message.contains(&format!(".{field}, which ")));
                assert!(field.is_some() && message.starts_with("KF0517 "), "{}: {message}", folder.display());
                refused.extend(field);
            }
        }
        assert!(fitting > 30, "{fitting} fit {release}");
        assert_eq!(refused, missing.iter().collect(), "{release}");
    }
}

/// The strict check accepts what a real API server accepts; `.ci/apiserver` applies the same file.
#[test]
fn objects_that_an_api_server_accepts_are_accepted() {
    let sources = newest_dump();
    let (crds, _) = kubefoundry_crd::Crds::from_sources(&sources, BUILTIN.crd_kinds());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/upstream/accepted.yaml");
    let text = fs::read_to_string(path).unwrap();
    let documents = yaml::parse(&text, &yaml::Limits::default()).documents;
    assert!(documents.len() >= 7, "{}", documents.len());
    for object in documents.iter().map(|document| document.root.to_json()) {
        assert_eq!(words(crds.check(&object)), Vec::<String>::new(), "{}", object["metadata"]["name"]);
    }
}

/// The third example that the specification prints sets `router-mode` on the frontend: no release of the CRD has such a
/// field, so the setting is rendered in another way (docs/deviations.md).
#[test]
fn no_graph_has_a_router_mode() {
    let object = json!({
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": "routed"},
        "spec": {"services": {"Frontend": {"componentType": "frontend", "router-mode": "kv", "replicas": 1}}},
    });
    let graphs = upstream::skeletons().filter(|skeleton| skeleton.origin().kind == "DynamoGraphDeployment");
    let mut checked = 0;
    for skeleton in graphs {
        let sources = dump([&skeleton.to_crd().unwrap()]);
        let found = words(kubefoundry_crd::Crds::from_sources(&sources, BUILTIN.crd_kinds()).0.check(&object));
        let [only] = found.as_slice() else { panic!("{}: {found:?}", skeleton.origin()) };
        assert!(only.contains("spec.services.Frontend[\"router-mode\"]") && only.contains("KF0517"), "{only}");
        checked += 1;
    }
    assert_eq!(checked, 3);
}

/// The check finds mistakes: this test renames each field of every rendered object and changes the type of each value.
#[test]
fn mutated_objects_are_refused() {
    let sources = newest_dump();
    let (crds, _) = kubefoundry_crd::Crds::from_sources(&sources, BUILTIN.crd_kinds());
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let (mut renamed, mut retyped) = (0, 0);
    for (folder, objects) in rendered().into_iter().filter(|(folder, _)| folder.starts_with(&examples)) {
        for object in objects {
            let mut places = Vec::new();
            pointers(&object, &mut String::new(), &mut places);
            // KAITO's template has no schema and accepts any content.
            for place in places.into_iter().filter(|place| !place.starts_with("/inference/template")) {
                let (parent, key) = place.rsplit_once('/').unwrap();
                if object.pointer(parent).unwrap().is_object() && !has_free_keys(parent) {
                    let mut broken = object.clone();
                    let fields = broken.pointer_mut(parent).unwrap().as_object_mut().unwrap();
                    let value = fields.remove(&unescaped(key)).unwrap();
                    fields.insert(format!("{}X", unescaped(key)), value);
                    assert!(!crds.check(&broken).is_empty(), "{}: renamed {place}", folder.display());
                    renamed += 1;
                }
                let mut broken = object.clone();
                let value = broken.pointer_mut(&place).unwrap();
                // No field accepts both a list and another type.
                *value = if value.is_array() { Value::from(1) } else { Value::Array(vec![Value::Array(Vec::new())]) };
                assert!(!crds.check(&broken).is_empty(), "{}: retyped {place}", folder.display());
                retyped += 1;
            }
        }
    }
    assert!(renamed > 200 && retyped > 300, "{renamed} {retyped}");
}

/// Returns whether the keys of a map are free: chosen by users, or names of components and resources.
fn has_free_keys(pointer: &str) -> bool {
    let last = pointer.rsplit('/').next().unwrap();
    if pointer.contains("/triggers/") && last == "metadata" {
        return true;
    }
    ["annotations", "labels", "matchLabels", "nodeSelector", "services", "limits", "requests", "rayStartParams"]
        .contains(&last)
}

fn pointers(value: &Value, at: &mut String, out: &mut Vec<String>) {
    let mut visit = |step: &str, value: &Value| {
        let length = at.len();
        at.push('/');
        at.push_str(step);
        out.push(at.clone());
        pointers(value, at, out);
        at.truncate(length);
    };
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                visit(&key.replace('~', "~0").replace('/', "~1"), value);
            }
        }
        Value::Array(items) => {
            for (position, value) in items.iter().enumerate() {
                visit(&position.to_string(), value);
            }
        }
        _ => {}
    }
}

fn unescaped(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}
