//! Conformance with the CRDs of upstream: every golden and example fits them, or is refused by name of the field. Needs
//! the research folder beside the checkout; without it these tests say so and pass, but not in CI.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::shared::{self, shared};
use crate::common::{case_folders, compile_all, read_case, texts};
use kubefoundry::compile::OutputRole;
use kubefoundry::diagnostic::Diagnostic;
use kubefoundry::{Purpose, SourceSet, yaml};
use serde_json::Value;

fn current() -> Option<SourceSet> {
    shared("crds").map(|folder| crds_of(&folder))
}

/// The CRDs right in a folder.
fn crds_of(folder: &Path) -> SourceSet {
    let mut crds = SourceSet::default();
    for (name, text) in texts(folder) {
        let text = String::from_utf8(text).unwrap();
        crds.add_for(Purpose::Crds, name, text);
    }
    crds
}

/// What the cases that render come to: the folder, and its objects that a CRD defines.
fn rendered() -> Vec<(PathBuf, Vec<Value>)> {
    let mut rendered = Vec::new();
    // A case with CRDs of its own is about those.
    for folder in case_folders().into_iter().filter(|folder| !folder.join("crds").exists()) {
        let compilation = compile_all(&read_case(&folder));
        if compilation.has_errors() {
            continue;
        }
        let made = compilation.outputs.into_iter().filter(|output| output.role != OutputRole::PassedOn);
        let of_a_crd = made.filter(|output| {
            let (group, kind) = (&*output.identity.group, &*output.identity.kind);
            // Of kinds that come with Kubernetes, and of others to which actors bind, there are no CRDs here.
            group.contains('.') && !group.ends_with(".k8s.io") && !group.starts_with("serving.") && kind != "RayCluster"
        });
        rendered.push((folder, of_a_crd.map(|output| output.object).collect()));
    }
    rendered
}

fn words(found: Vec<Diagnostic>) -> Vec<String> {
    found.into_iter().map(|found| format!("{} {}", found.code.id, found.message)).collect()
}

/// Not even a rule is left out: an info that one is not evaluated would fail this.
#[test]
fn every_golden_and_example_fits_the_current_crds() {
    let Some(sources) = current() else { return };
    let (crds, problems) = kubefoundry::crds::read(&sources);
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

/// The whole pipeline with a dump: targets are chosen, fingerprints reported, nothing else changes.
#[test]
fn examples_render_the_same_with_the_current_crds() {
    let Some(dump) = current() else { return };
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    for folder in case_folders().into_iter().filter(|folder| folder.starts_with(&examples)) {
        let mut sources = read_case(&folder);
        let plain = compile_all(&sources);
        for (_, source) in dump.iter() {
            sources.add_for(Purpose::Crds, source.name.clone(), source.text.clone());
        }
        let checked = compile_all(&sources);
        assert_eq!(plain.outputs, checked.outputs, "{}", folder.display());
        for decision in checked.decisions.iter().filter(|decision| decision.target.is_some()) {
            assert_eq!(decision.schema_fingerprint.as_ref().map(String::len), Some(16), "{}", folder.display());
        }
    }
}

/// Both older DGD CRDs (the pod templates of the second keep no metadata): an object fits, or the message names the field that is missing, or its version is not served.
#[test]
fn older_crds_are_fitted_or_refused_by_name() {
    let Some(folder) = shared("crds/older") else { return };
    let rendered = rendered();
    let all = rendered.iter().flat_map(|(folder, objects)| objects.iter().map(move |object| (folder, object)));
    let graphs: Vec<_> = all.filter(|(_, object)| object["kind"] == "DynamoGraphDeployment").collect();
    for (file, served, missing) in [
        (
            "2025-08-20",
            &["nvidia.com/v1alpha1"][..],
            &["gpuType", "pvcs", "runtimeVersionOverride", "subComponentType", "volumeMounts"][..],
        ),
        (
            "2026-05-06",
            &["nvidia.com/v1alpha1", "nvidia.com/v1beta1"],
            &["annotations", "labels", "runtimeVersionOverride"],
        ),
    ] {
        let name = format!("nvidia.com_dynamographdeployments.{file}.yaml");
        let mut sources = SourceSet::default();
        sources.add_for(Purpose::Crds, name.as_str(), fs::read_to_string(folder.join(&name)).unwrap());
        let (crds, _) = kubefoundry::crds::read(&sources);
        let (mut fitting, mut refused) = (0, BTreeSet::new());
        for (folder, object) in &graphs {
            let found = words(crds.check(object));
            fitting += usize::from(found.is_empty());
            if !served.contains(&object["apiVersion"].as_str().unwrap()) {
                assert!(matches!(found.as_slice(), [only] if only.starts_with("KF0553 ")), "{found:?}");
                continue;
            }
            for message in found {
                let field =
                    missing.iter().find(|field| message.contains(&format!(".{field}, expected only fields of")));
                assert!(field.is_some() && message.starts_with("KF0554 "), "{}: {message}", folder.display());
                refused.extend(field);
            }
        }
        assert!(fitting > 30, "{fitting} fit {file}");
        assert_eq!(refused, missing.iter().collect(), "{file}");
    }
}

/// Manifests that a real apiserver accepted are accepted by the same checker.
#[test]
fn reference_manifests_are_accepted() {
    let (Some(folder), Some(sources)) = (shared("reference"), current()) else { return };
    let (crds, _) = kubefoundry::crds::read(&sources);
    let mut checked = 0;
    for file in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let text = fs::read_to_string(&file).unwrap();
        for document in yaml::parse(&text, &yaml::Limits::default()).documents {
            let object = document.root.to_json();
            // A kind that is not ours to write has no schema among those that are looked for.
            if object["kind"] == "MultiRoleInference" {
                continue;
            }
            assert_eq!(words(crds.check(&object)), Vec::<String>::new(), "{}", file.display());
            checked += 1;
        }
    }
    assert!(checked >= 7, "{checked}");
}

/// Example 3 of the specification, as printed, sets a field that no DGD ever had (docs/deviations.md).
#[test]
fn the_printed_example_3_is_refused_for_router_mode() {
    let Some(sources) = current() else { return };
    let (crds, _) = kubefoundry::crds::read(&sources);
    let Some(text) = shared::printed_example_3() else { return };
    let object = yaml::parse(&text, &yaml::Limits::default()).documents[0].root.to_json();
    assert_eq!(object["kind"], "DynamoGraphDeployment");
    let found = words(crds.check(&object));
    assert!(
        found.iter().any(|found| found.contains("spec.services.Frontend[\"router-mode\"]") && found.contains("KF0554")),
        "{found:?}"
    );
}

/// What is broken is found: every field of every rendered object is renamed once, and every value put into another type.
#[test]
fn mutated_objects_are_refused() {
    let Some(sources) = current() else { return };
    let (crds, _) = kubefoundry::crds::read(&sources);
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let (mut renamed, mut retyped) = (0, 0);
    for (folder, objects) in rendered().into_iter().filter(|(folder, _)| folder.starts_with(&examples)) {
        for object in objects {
            let mut places = Vec::new();
            pointers(&object, &mut String::new(), &mut places);
            // KAITO's template has no schema: whatever is in it is kept.
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
                // A list is nowhere what a scalar or a mapping is, nor the other way round.
                *value = if value.is_array() { Value::from(1) } else { Value::Array(vec![Value::Array(Vec::new())]) };
                assert!(!crds.check(&broken).is_empty(), "{}: retyped {place}", folder.display());
                retyped += 1;
            }
        }
    }
    assert!(renamed > 200 && retyped > 300, "{renamed} {retyped}");
}

/// Maps whose keys are a user's words, or names of components and resources.
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
