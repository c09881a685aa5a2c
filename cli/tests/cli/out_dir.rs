//! `render --out-dir`: one file for each object; other files are never overwritten.

use std::fs;

use crate::sandbox::{PINNED, Sandbox, broken, model};

fn sandbox() -> Sandbox {
    Sandbox::new().with("kubefoundry.yaml", PINNED).with("a.yaml", model("a"))
}

const FILE: &str = "prod/dynamographdeployment_a.yaml";

/// The layout is a contract, because kustomizations refer to these files.
#[test]
fn files_are_named_by_namespace_kind_and_name() {
    let sandbox = sandbox().with("b.yaml", model("b").replace("  namespace: prod\n", ""));
    let ran = sandbox.run(&["render", ".", "--out-dir", "out/deep"]).exits(0);
    assert_eq!(ran.out, "");
    assert_eq!(sandbox.files("out/deep"), ["dynamographdeployment_b.yaml", FILE]);
}

#[test]
fn files_equal_standard_output() {
    let sandbox = sandbox();
    sandbox.run(&["render", ".", "--out-dir", "out"]).exits(0);
    assert_eq!(sandbox.read(&format!("out/{FILE}")), sandbox.run(&["render", "a.yaml"]).exits(0).out);
}

#[test]
fn json_files_have_the_extension_json() {
    let sandbox = sandbox();
    sandbox.run(&["render", ".", "--out-dir", "out", "-o", "json"]).exits(0);
    assert_eq!(sandbox.files("out"), ["prod/dynamographdeployment_a.json"]);
    assert!(sandbox.read("out/prod/dynamographdeployment_a.json").starts_with("{\n"));
}

/// When a model changes, its file is overwritten and others are kept.
#[test]
fn overwrites_generated_files() {
    let sandbox = sandbox().with("out/prod/stale.yaml", "kind: Old\n");
    sandbox.run(&["render", "a.yaml", "--out-dir", "out"]).exits(0);
    let before = sandbox.read(&format!("out/{FILE}"));
    let sandbox = sandbox.with("a.yaml", model("a").replace("count: 1", "count: 2"));
    sandbox.run(&["render", "a.yaml", "--out-dir", "out"]).exits(0);
    assert_ne!(sandbox.read(&format!("out/{FILE}")), before);
    assert_eq!(sandbox.files("out"), [FILE, "prod/stale.yaml"]);
}

/// Unchanged files keep their modification time, for `make` and file watchers.
#[test]
fn does_not_write_unchanged_files() {
    let sandbox = sandbox();
    sandbox.run(&["render", ".", "--out-dir", "out"]).exits(0);
    let written = || fs::metadata(sandbox.path("out").join(FILE)).unwrap().modified().unwrap();
    let before = written();
    sandbox.run(&["render", ".", "--out-dir", "out"]).exits(0);
    assert_eq!(written(), before);
}

/// If one file is not from the same model, no file is written.
#[test]
fn does_not_overwrite_other_files() {
    let sandbox = sandbox().with("b.yaml", model("b"));
    sandbox.run(&["render", ".", "--out-dir", "ours"]).exits(0);
    let generated = sandbox.read(&format!("ours/{FILE}"));
    for (case, text) in [
        ("no annotation", "kind: Mine\n".to_owned()),
        ("another model's", generated.replace("prod/a", "prod/z")),
        ("two objects", format!("{generated}---\nkind: Mine\n")),
        ("no YAML", "{{ template }}\n\t".to_owned()),
        ("no object", String::new()),
    ] {
        let sandbox = Sandbox::new().with("a.yaml", model("a")).with("zero.yaml", model("zero"));
        let sandbox = sandbox.with(&format!("out/{FILE}"), &text);
        let ran = sandbox.run(&["render", "zero.yaml", "a.yaml", "--out-dir", "out"]).exits(2);
        assert!(ran.err.contains(&format!("kubefoundry: out/{FILE}: not overwritten")), "{case}: {}", ran.err);
        assert_eq!(sandbox.files("out"), [FILE], "{case}");
        assert_eq!(sandbox.read(&format!("out/{FILE}")), text, "{case}");
    }
}

/// A model that is passed on has no owner annotation, but an annotation with its provider.
#[test]
fn overwrites_a_model_that_was_passed_on() {
    let sandbox = Sandbox::new().with("acme.yaml", crate::render::ACME);
    let sandbox = sandbox.with("a.yaml", model("a") + "  provider: {name: acme}\n");
    let arguments = ["render", "a.yaml", "--providers", "acme.yaml", "--out-dir", "out"];
    sandbox.run(&arguments).exits(0);
    let sandbox = sandbox.with("a.yaml", model("a").replace("count: 1", "count: 2") + "  provider: {name: acme}\n");
    sandbox.run(&arguments).exits(0);
    assert!(sandbox.read("out/prod/modeldeployment_a.yaml").contains("count: 2"));
}

/// Kinds of two API groups can have the same name, and so the same path.
#[test]
fn rejects_two_objects_with_one_path() {
    let sandbox = Sandbox::new().with("acme.yaml", crate::render::ACME);
    let sandbox = sandbox.with("a.yaml", model("a") + "  provider: {name: acme}\n");
    let airunway = crate::render::ACME.replace("kubefoundry.ai", "kubeairunway.ai").replace("acme", "bcme");
    let other = (model("a") + "  provider: {name: bcme}\n").replace("kubefoundry.ai", "kubeairunway.ai");
    let sandbox = sandbox.with("b.yaml", other).with("bcme.yaml", airunway);
    let ran = sandbox.run(&["render", ".", "--out-dir", "out"]).exits(2);
    assert!(ran.err.contains("would be written to the same file"), "{}", ran.err);
    assert!(!sandbox.path("out").exists());
}

/// An error writes nothing, not even the directory.
#[test]
fn an_error_writes_nothing() {
    let sandbox = sandbox().with("b.yaml", broken("b"));
    sandbox.run(&["render", ".", "--out-dir", "out"]).exits(1);
    assert!(!sandbox.path("out").exists());
}

#[test]
fn all_and_out_dir_exclude_each_other() {
    let sandbox = sandbox();
    let ran = sandbox.run(&["render", ".", "--out-dir", "out", "--all"]).exits(2);
    assert!(ran.err.contains("cannot be used with"), "{}", ran.err);
    let sandbox = sandbox.with("kubefoundry.yaml", format!("{PINNED}output: append\n"));
    let ran = sandbox.run(&["render", ".", "--out-dir", "out"]).exits(2);
    assert!(ran.err.starts_with("kubefoundry: --out-dir writes only generated objects"), "{}", ran.err);
    assert!(!sandbox.path("out").exists());
}

/// A link below the directory could lead anywhere; the directory itself may be a link.
#[cfg(unix)]
#[test]
fn does_not_write_through_links() {
    use std::os::unix::fs::symlink;
    let sandbox = sandbox().with("elsewhere/keep", "").with("out/keep", "").with("file/prod/keep", "");
    symlink("../elsewhere", sandbox.path("out/prod")).unwrap();
    symlink("../../elsewhere/new.yaml", sandbox.path("file").join(FILE)).unwrap();
    for directory in ["out", "file"] {
        let ran = sandbox.run(&["render", "a.yaml", "--out-dir", directory]).exits(2);
        assert!(ran.err.contains("symbolic link"), "{directory}: {}", ran.err);
    }
    symlink("elsewhere", sandbox.path("link")).unwrap();
    sandbox.run(&["render", "a.yaml", "--out-dir", "link"]).exits(0);
    assert_eq!(sandbox.files("elsewhere"), ["keep", FILE]);
}

/// If a file cannot be written, neither output nor temporary files are left behind.
#[test]
fn an_unwritable_path_is_a_failure() {
    let sandbox =
        sandbox().with("b.yaml", model("b").replace("namespace: prod", "namespace: test")).with("out/test", "");
    let ran = sandbox.run(&["render", ".", "--out-dir", "out"]).exits(2);
    assert!(ran.err.starts_with("kubefoundry: out/test/"), "{}", ran.err);
    assert_eq!(sandbox.files("out"), ["test"]);
    let ran = sandbox.run(&["render", ".", "--out-dir", "a.yaml/out"]).exits(2);
    assert!(ran.err.starts_with("kubefoundry: a.yaml/out"), "{}", ran.err);
}

/// If the second of two folders is read-only, the first object is not written either.
#[cfg(unix)]
#[test]
fn a_read_only_folder_leaves_nothing_behind() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox =
        sandbox().with("b.yaml", model("b").replace("namespace: prod", "namespace: test")).with("out/test/x", "");
    fs::set_permissions(sandbox.path("out/test"), fs::Permissions::from_mode(0o555)).unwrap();
    let ran = sandbox.run_unprivileged(&["render", ".", "--out-dir", "out"]).exits(2);
    assert!(ran.err.contains("out/test/dynamographdeployment_b.yaml: "), "{}", ran.err);
    assert_eq!(sandbox.files("out"), ["test/x"]);
    assert!(!sandbox.path("out/prod").exists());
    fs::set_permissions(sandbox.path("out/test"), fs::Permissions::from_mode(0o755)).unwrap();
}

/// Generated files have the default permissions of new files, and not the 0600 of temporary files.
#[cfg(unix)]
#[test]
fn files_get_ordinary_permissions() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = sandbox().with("reference", "");
    sandbox.run(&["render", ".", "--out-dir", "out"]).exits(0);
    let mode = |path: &str| fs::metadata(sandbox.path(path)).unwrap().permissions().mode();
    assert_eq!(mode(&format!("out/{FILE}")), mode("reference"));
}

/// Every file that is not as before is listed, and the others are counted.
#[test]
fn lists_what_it_writes() {
    let sandbox = sandbox().with("b.yaml", model("b"));
    let ran = sandbox.run(&["render", ".", "--out-dir", "out"]).exits(0);
    assert_eq!(ran.err, format!("created out/{FILE}\ncreated out/prod/dynamographdeployment_b.yaml\n"));
    let sandbox = sandbox.with("b.yaml", model("b").replace("count: 1", "count: 2")).with("c.yaml", model("c"));
    let ran = sandbox.run(&["render", ".", "--out-dir", "out"]).exits(0);
    let expected = "changed out/prod/dynamographdeployment_b.yaml\ncreated out/prod/dynamographdeployment_c.yaml\n";
    assert_eq!(ran.err, format!("{expected}1 file unchanged\n"));
    assert_eq!(sandbox.run(&["render", ".", "--out-dir", "out", "--quiet"]).exits(0).err, "");
}

/// A file with two models, one of which a test can rename.
fn renamed() -> Sandbox {
    let sandbox = sandbox().with("b.yaml", model("b").replace("namespace: prod", "namespace: test"));
    sandbox.run(&["render", ".", "--out-dir", "out"]).exits(0);
    sandbox.with("b.yaml", model("b2"))
}

/// The files of a renamed model go, and so does the folder that becomes empty.
#[test]
fn prune_removes_stale_files() {
    let sandbox = renamed();
    sandbox.run(&["render", ".", "--out-dir", "out"]).exits(0);
    assert!(sandbox.path("out/test/dynamographdeployment_b.yaml").exists(), "nothing is removed without --prune");
    let ran = sandbox.run(&["render", ".", "--out-dir", "out", "--prune"]).exits(0);
    assert_eq!(ran.err, "removed out/test/dynamographdeployment_b.yaml\n2 files unchanged\n");
    assert_eq!(sandbox.files("out"), [FILE, "prod/dynamographdeployment_b2.yaml"]);
    assert!(!sandbox.path("out/test").exists());
}

/// The same objects in another format would be applied twice.
#[test]
fn prune_removes_files_of_another_format() {
    let sandbox = sandbox();
    sandbox.run(&["render", ".", "--out-dir", "out"]).exits(0);
    sandbox.run(&["render", ".", "--out-dir", "out", "-o", "json", "--prune"]).exits(0);
    assert_eq!(sandbox.files("out"), ["prod/dynamographdeployment_a.json"]);
}

/// What creates the queue of an actor.
const QUEUE: &str = "apiVersion: rabbitmq.com/v1beta1\nkind: Queue\nmetadata:\n  name: asya-echo\n  namespace: prod\n  \
                     labels:\n    kubefoundry.ai/managed-by: kubefoundry\n  annotations:\n    \
                     kubefoundry.ai/async-actor: \"*\"\nspec: {name: asya-echo}\n";

/// Only a file that certainly holds nothing but one generated object is removed.
#[test]
fn prune_keeps_other_files() {
    let generated = {
        let sandbox = Sandbox::new().with("kubefoundry.yaml", PINNED).with("b.yaml", model("b"));
        sandbox.run(&["render", "b.yaml"]).exits(0).out
    };
    let path = "out/prod/dynamographdeployment_b.yaml";
    let claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\n  name: weights\n  namespace: prod\n  annotations:\n    \
                 kubefoundry.ai/model-deployment: prod/b\nspec: {}\n";
    for (case, path, text, reason) in [
        ("by hand", "out/prod/mine.yaml", "kind: Mine\n".to_owned(), ""),
        ("two objects", path, format!("{generated}---\nkind: Mine\n"), ""),
        ("no annotation", path, generated.replace("kubefoundry.ai/model-deployment", "example.com/x"), ""),
        ("no label", path, generated.replace("kubefoundry.ai/managed-by", "example.com/x"), "managed-by label"),
        ("another name", "out/prod/renamed.yaml", generated.clone(), "its name or its file was changed"),
        ("a prefix", path, generated.replacen("name: b\n", "name: x-b\n", 1), "its name or its file was changed"),
        (
            "another namespace",
            "out/qa/dynamographdeployment_b.yaml",
            generated.replace("namespace: prod", "namespace: qa"),
            "its namespace was changed",
        ),
        (
            "a claim",
            "out/prod/persistentvolumeclaim_weights.yaml",
            claim.to_owned(),
            "a claim with data is removed only by hand",
        ),
        (
            "a queue",
            "out/prod/queue_asya-echo.yaml",
            QUEUE.to_owned(),
            "several objects share it, and with a queue its messages are deleted",
        ),
        ("deeper", "out/a/b/dynamographdeployment_b.yaml", generated.clone(), "its name or its file was changed"),
        ("hidden", "out/.git/dynamographdeployment_b.yaml", generated.clone(), ""),
    ] {
        let sandbox = sandbox().with(path, &text);
        let ran =
            sandbox.run(&["render", "a.yaml", "--config", "kubefoundry.yaml", "--out-dir", "out", "--prune"]).exits(0);
        assert!(sandbox.path(path).exists(), "{case}: {}", ran.err);
        assert_eq!(sandbox.read(path), text, "{case}");
        let kept: Vec<&str> = ran.err.lines().filter(|line| line.starts_with("kept ")).collect();
        assert_eq!(kept.len(), usize::from(!reason.is_empty()), "{case}: {}", ran.err);
        assert!(
            kept.iter().all(|line| line.starts_with(&format!("kept {path}: ")) && line.contains(reason)),
            "{case}: {kept:?}"
        );
    }
}

/// A file that another one names stays: a kustomization would fail without it.
#[test]
fn prune_keeps_what_others_refer_to() {
    let sandbox = renamed().with("out/kustomization.yaml", "resources: [test/dynamographdeployment_b.yaml]\n");
    let ran = sandbox
        .run(&["render", "a.yaml", "b.yaml", "--config", "kubefoundry.yaml", "--out-dir", "out", "--prune"])
        .exits(0);
    let kept = "kept out/test/dynamographdeployment_b.yaml: out/kustomization.yaml refers to it\n";
    assert!(ran.err.contains(kept), "{}", ran.err);
    let sandbox = sandbox.with("out/kustomization.yaml", "kind: Ingress\nspec: {backend: b}\n");
    let ran = sandbox
        .run(&["render", "a.yaml", "b.yaml", "--config", "kubefoundry.yaml", "--out-dir", "out", "--prune"])
        .exits(0);
    assert!(ran.err.contains(kept), "{}", ran.err);
    // The ModelDeployments may be in the same folder.
    let sandbox = sandbox.with("out/kustomization.yaml", model("b2").replace("org/b2", "b"));
    sandbox
        .run(&["render", "a.yaml", "b.yaml", "--config", "kubefoundry.yaml", "--out-dir", "out", "--prune"])
        .exits(0);
    assert!(!sandbox.path("out/test").exists());
}

/// After an error, or if a file cannot be written, nothing is removed.
#[test]
fn an_error_removes_nothing() {
    let sandbox = renamed().with("broken.yaml", broken("x"));
    sandbox.run(&["render", ".", "--out-dir", "out", "--prune"]).exits(1);
    assert_eq!(sandbox.files("out"), [FILE, "test/dynamographdeployment_b.yaml"]);
    let sandbox = renamed().with("out/prod/dynamographdeployment_b2.yaml", "kind: Mine\n");
    sandbox.run(&["render", ".", "--out-dir", "out", "--prune"]).exits(2);
    assert!(sandbox.path("out/test/dynamographdeployment_b.yaml").exists());
}

/// `--check` prints what a run would change, and changes nothing.
#[test]
fn check_compares_and_writes_nothing() {
    let sandbox = sandbox();
    let check = ["render", ".", "--out-dir", "out", "--check"];
    let ran = sandbox.run(&check).exits(1);
    assert!(ran.out.starts_with(&format!("--- /dev/null\n+++ out/{FILE}\n@@ -0,0 +1,")), "{}", ran.out);
    assert_eq!(ran.err, "rendered manifests are not fresh (1 created); run render without --check\n");
    assert!(!sandbox.path("out").exists());
    sandbox.run(&["render", ".", "--out-dir", "out"]).exits(0);
    let ran = sandbox.run(&check).exits(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", "rendered manifests are fresh\n"));
    let sandbox = sandbox.with("a.yaml", model("a").replace("count: 1", "count: 2"));
    let before = sandbox.read(&format!("out/{FILE}"));
    let ran = sandbox.run(&check).exits(1);
    assert!(ran.out.contains(&format!("--- out/{FILE}\n+++ out/{FILE}\n")), "{}", ran.out);
    assert!(ran.out.contains("\n-          gpu: \"1\"\n+          gpu: \"2\"\n"), "{}", ran.out);
    assert_eq!(sandbox.read(&format!("out/{FILE}")), before);
    // An error is not a difference.
    let sandbox = sandbox.with("a.yaml", broken("a"));
    assert_eq!(sandbox.run(&check).exits(2).out, "");
}

/// Stale files make the directory stale if a run would remove them.
#[test]
fn check_finds_stale_files_with_prune() {
    let sandbox = renamed();
    sandbox.run(&["render", ".", "--out-dir", "out"]).exits(0);
    sandbox.run(&["render", ".", "--out-dir", "out", "--check"]).exits(0);
    let ran = sandbox.run(&["render", ".", "--out-dir", "out", "--check", "--prune"]).exits(1);
    assert!(ran.out.starts_with("--- out/test/dynamographdeployment_b.yaml\n+++ /dev/null\n"), "{}", ran.out);
    assert!(sandbox.path("out/test/dynamographdeployment_b.yaml").exists());
    for flag in ["--check", "--prune"] {
        assert!(sandbox.run(&["render", ".", flag]).exits(2).err.contains("--out-dir <DIR>"));
    }
}

/// Findings of a chosen severity prevent the output, as errors do.
#[test]
fn fail_on_prevents_the_output() {
    let sandbox = Sandbox::new().with("a.yaml", crate::sandbox::doubtful("a"));
    for (fail_on, code) in [("error", 0), ("warning", 1), ("info", 1)] {
        let ran = sandbox.run(&["render", "a.yaml", "--fail-on", fail_on]).exits(code);
        assert_eq!(ran.out.is_empty(), code == 1, "{fail_on}");
        let ran = sandbox.run(&["render", "a.yaml", "--fail-on", fail_on, "--out-dir", fail_on, "-q"]).exits(code);
        assert_eq!(sandbox.path(fail_on).exists(), code == 0, "{}", ran.err);
    }
    assert!(
        sandbox.run(&["render", "a.yaml", "-q", "--fail-on", "warning"]).exits(1).err.starts_with("warning[KF0211]")
    );
}
