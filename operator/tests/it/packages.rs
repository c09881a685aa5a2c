//! Checks `deploy/operator`: the generated files are current, and each combination of components builds to the objects
//! that the program prints with the corresponding flags.
//!
//! `REWRITE=1 cargo test -p kubefoundry-operator --test it packages::` renews the generated files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use kubefoundry_yaml::{Limits, parse, to_yaml_stream};
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn package() -> PathBuf {
    root().join("deploy/operator")
}

/// The output of `manifests`.
fn manifests(flags: &[&str]) -> String {
    let mut program = Command::new(env!("CARGO_BIN_EXE_kubefoundry-operator"));
    let output = program.arg("manifests").args(flags).output().unwrap();
    assert!(output.status.success(), "{flags:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The objects of a YAML stream in order, each with its key `Kind/name`.
fn objects(text: &str) -> Vec<(String, Value)> {
    let parsed = parse(text, &Limits::default());
    assert!(parsed.failure.is_none(), "{:?}", parsed.failure);
    let objects = parsed.documents.iter().map(|document| document.root.to_json());
    objects
        .map(|object| {
            let name = object["metadata"]["name"].as_str().expect("an object has a name");
            (format!("{}/{name}", object["kind"].as_str().expect("an object has a kind")), object)
        })
        .collect()
}

/// The objects of a YAML stream by key.
fn objects_by_key(text: &str) -> BTreeMap<String, Value> {
    let objects = objects(text);
    let count = objects.len();
    let by_key: BTreeMap<String, Value> = objects.into_iter().collect();
    assert_eq!(by_key.len(), count, "an object appears twice");
    by_key
}

fn stream(objects: &[Value]) -> String {
    format!("# Written by the test `packages` of the operator; do not edit.\n{}", to_yaml_stream(objects))
}

/// The objects of `one` that `other` lacks.
fn only_in(one: &str, other: &str) -> String {
    let other = objects_by_key(other);
    stream(
        &objects(one)
            .into_iter()
            .filter(|(key, _)| !other.contains_key(key))
            .map(|(_, object)| object)
            .collect::<Vec<_>>(),
    )
}

/// The objects of `one` that differ in `other`.
fn changed_in(one: &str, other: &str) -> String {
    let other = objects_by_key(other);
    let changed =
        objects(one).into_iter().filter(|(key, object)| other.get(key).is_some_and(|existing| existing != object));
    stream(&changed.map(|(_, object)| object).collect::<Vec<_>>())
}

#[test]
fn generated_files_are_current() {
    let base = manifests(&[]);
    let split = manifests(&["--roles", "split"]);
    let ha = manifests(&["--replicas", "2"]);
    let split_ha = manifests(&["--roles", "split", "--replicas", "2"]);
    let (actors, llama_stack) = (manifests(&["--roles=all,actors"]), manifests(&["--roles=all,llamastack"]));
    let split_actors = manifests(&["--roles=split,actors"]);
    let split_llama_stack = manifests(&["--roles=split,llamastack"]);
    let files = [
        ("components/actors/role.yaml", only_in(&actors, &base)),
        ("components/llamastack/role.yaml", only_in(&llama_stack, &base)),
        ("components/split-actors/role.yaml", only_in(&split_actors, &split)),
        ("components/split-llamastack/role.yaml", only_in(&split_llama_stack, &split)),
        ("base/operator.yaml", stream(&objects(&base).into_iter().map(|(_, object)| object).collect::<Vec<_>>())),
        ("components/split/split.yaml", only_in(&split, &base)),
        ("components/split/bindings.yaml", changed_in(&split, &base)),
        ("components/ha/budgets.yaml", only_in(&ha, &base)),
        ("components/split-ha/budgets.yaml", only_in(&split_ha, &split)),
    ];
    for (file, text) in files {
        let path = package().join(file);
        if std::env::var_os("REWRITE").is_some() {
            fs::write(&path, &text).unwrap();
        }
        let current = fs::read_to_string(&path).unwrap_or_default();
        assert!(current == text, "{file} is not what the program prints: run this test with REWRITE=1");
    }
}

/// The output of `kubectl kustomize`; none if there is no kubectl.
fn kustomize(directory: &Path) -> Option<String> {
    let output = match Command::new("kubectl").arg("kustomize").arg(directory).output() {
        Ok(output) => output,
        Err(error) => {
            assert!(std::env::var_os("CI_OPERATOR").is_none(), "kubectl: {error}");
            eprintln!("skipped: kubectl: {error}");
            return None;
        }
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn components_match_the_flags() {
    let cases: [(&[&str], &[&str]); 12] = [
        (&[], &[]),
        (&["ha"], &["--replicas", "2"]),
        (&["webhook-off"], &["--no-webhooks"]),
        (&["webhook-off", "ha"], &["--no-webhooks", "--replicas", "2"]),
        (&["split"], &["--roles", "split"]),
        (&["split", "split-ha"], &["--roles", "split", "--replicas", "2"]),
        (&["split", "webhook-off"], &["--roles", "split", "--no-webhooks"]),
        (&["split", "split-ha", "webhook-off"], &["--roles", "split", "--replicas", "2", "--no-webhooks"]),
        (&["actors"], &["--roles=all,actors"]),
        (&["llamastack", "actors", "ha"], &["--roles=all,llamastack,actors", "--replicas", "2"]),
        (&["actors", "webhook-off"], &["--roles=all,actors", "--no-webhooks"]),
        (&["split", "split-llamastack", "split-actors"], &["--roles=split,llamastack,actors"]),
    ];
    for (components, flags) in cases {
        // Kustomize takes relative paths only.
        let overlay = tempfile::tempdir_in(root().join("target")).unwrap();
        let components: Vec<String> =
            components.iter().map(|component| format!("../../deploy/operator/components/{component}")).collect();
        let kustomization = serde_json::json!({
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": ["../../deploy/operator/base"],
            "components": components,
        });
        fs::write(overlay.path().join("kustomization.yaml"), kustomization.to_string()).unwrap();
        let Some(built) = kustomize(overlay.path()) else { return };
        let (built, printed) = (objects_by_key(&built), objects_by_key(&manifests(flags)));
        let names = |objects: &BTreeMap<String, Value>| objects.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&built), names(&printed), "{flags:?}");
        for (key, object) in &printed {
            assert_eq!(built.get(key), Some(object), "{flags:?}: {key}");
        }
    }
}

#[test]
fn the_kustomization_in_the_documentation_builds() {
    let page = fs::read_to_string(root().join("docs/operator/install.md")).unwrap();
    let block = page.split("```").find(|block| block.contains("kind: Kustomization\n")).expect("a kustomization");
    let (_, text) = block.split_once('\n').unwrap();
    let overlay = tempfile::tempdir_in(root().join("target")).unwrap();
    fs::write(overlay.path().join("kustomization.yaml"), text.replace("kubefoundry/deploy", "../../deploy")).unwrap();
    let Some(built) = kustomize(overlay.path()) else { return };
    let built = objects_by_key(&built);
    let image = &built["Deployment/kubefoundry-controller"]["spec"]["template"]["spec"]["containers"][0]["image"];
    assert_eq!(image, "registry.example.com/kubefoundry-operator:0.1.0");
    let options = built["ConfigMap/kubefoundry-config"]["data"]["kubefoundry.yaml"].as_str().unwrap();
    assert!(options.contains("mirror.example.com"), "{options}");
}
