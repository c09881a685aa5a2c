//! `render --out-dir`: one file for each object; other files are never overwritten.

use std::fs;

use crate::sandbox::{PINNED, Sandbox, broken, model, skipped};

fn sandbox() -> Sandbox {
    Sandbox::new().with("kubefoundry.yaml", PINNED).with("a.yaml", model("a"))
}

const FILE: &str = "prod/dynamographdeployment_a.yaml";

/// The layout is a contract, because kustomizations refer to these files.
#[test]
fn files_are_named_by_namespace_kind_and_name() {
    let sandbox = sandbox().with("b.yaml", model("b").replace("  namespace: prod\n", ""));
    let ran = sandbox.run(&["render", ".", "--out-dir", "out/deep"]).exits(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
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
    if fs::write(sandbox.path("out/test/probe"), "").is_ok() {
        return skipped("root writes everywhere, so no folder is read-only");
    }
    let ran = sandbox.run(&["render", ".", "--out-dir", "out"]).exits(2);
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
