//! `render --out-dir`: one object a file, and never a file that is not ours.

use std::fs;

use crate::sandbox::{PINNED, Sandbox, broken, model, skipped};

fn sandbox() -> Sandbox {
    Sandbox::new().with("kubefoundry.yaml", PINNED).with("a.yaml", model("a"))
}

const FILE: &str = "prod/dynamographdeployment_a.yaml";

/// The layout is a contract: kustomizations name these files.
#[test]
fn files_are_named_by_namespace_kind_and_name() {
    let sandbox = sandbox().with("b.yaml", model("b").replace("  namespace: prod\n", ""));
    let ran = sandbox.run(&["render", ".", "--out-dir", "out/deep"]).exits(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
    assert_eq!(sandbox.files("out/deep"), ["dynamographdeployment_b.yaml", FILE]);
}

/// A file holds what standard output would.
#[test]
fn files_hold_the_same_bytes() {
    let sandbox = sandbox();
    sandbox.run(&["render", ".", "--out-dir", "out"]).exits(0);
    assert_eq!(sandbox.read(&format!("out/{FILE}")), sandbox.run(&["render", "a.yaml"]).exits(0).out);
}

/// JSON files say so in their name.
#[test]
fn json_files_end_in_json() {
    let sandbox = sandbox();
    sandbox.run(&["render", ".", "--out-dir", "out", "-o", "json"]).exits(0);
    assert_eq!(sandbox.files("out"), ["prod/dynamographdeployment_a.json"]);
    assert!(sandbox.read("out/prod/dynamographdeployment_a.json").starts_with("{\n"));
}

/// The daily case: a model changed, its file follows, and what else is there stays.
#[test]
fn our_own_files_are_overwritten() {
    let sandbox = sandbox().with("out/prod/stale.yaml", "kind: Old\n");
    sandbox.run(&["render", "a.yaml", "--out-dir", "out"]).exits(0);
    let before = sandbox.read(&format!("out/{FILE}"));
    let sandbox = sandbox.with("a.yaml", model("a").replace("count: 1", "count: 2"));
    sandbox.run(&["render", "a.yaml", "--out-dir", "out"]).exits(0);
    assert_ne!(sandbox.read(&format!("out/{FILE}")), before);
    assert_eq!(sandbox.files("out"), [FILE, "prod/stale.yaml"]);
}

/// A run that changes nothing touches nothing, so that `make` and file watchers stay quiet.
#[test]
fn unchanged_files_are_not_written() {
    let sandbox = sandbox();
    sandbox.run(&["render", ".", "--out-dir", "out"]).exits(0);
    let written = || fs::metadata(sandbox.path("out").join(FILE)).unwrap().modified().unwrap();
    let before = written();
    sandbox.run(&["render", ".", "--out-dir", "out"]).exits(0);
    assert_eq!(written(), before);
}

/// Somebody's file, another model's, two objects, or no YAML at all: it stays, and so does every other file.
#[test]
fn other_files_are_not_overwritten() {
    let sandbox = sandbox().with("b.yaml", model("b"));
    sandbox.run(&["render", ".", "--out-dir", "ours"]).exits(0);
    let ours = sandbox.read(&format!("ours/{FILE}"));
    for (case, text) in [
        ("no mark", "kind: Mine\n".to_owned()),
        ("another model's", ours.replace("prod/a", "prod/z")),
        ("two objects", format!("{ours}---\nkind: Mine\n")),
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

/// A model that is passed on carries no owner; its provider's annotation says that it came through here.
#[test]
fn a_model_that_was_passed_on_is_overwritten() {
    let sandbox = Sandbox::new().with("acme.yaml", crate::render::ACME);
    let sandbox = sandbox.with("a.yaml", model("a") + "  provider: {name: acme}\n");
    let arguments = ["render", "a.yaml", "--providers", "acme.yaml", "--out-dir", "out"];
    sandbox.run(&arguments).exits(0);
    let sandbox = sandbox.with("a.yaml", model("a").replace("count: 1", "count: 2") + "  provider: {name: acme}\n");
    sandbox.run(&arguments).exits(0);
    assert!(sandbox.read("out/prod/modeldeployment_a.yaml").contains("count: 2"));
}

/// Kinds of two groups may share a name; a file may not hold both.
#[test]
fn two_objects_on_one_path_are_a_failure() {
    let sandbox = Sandbox::new().with("acme.yaml", crate::render::ACME);
    let sandbox = sandbox.with("a.yaml", model("a") + "  provider: {name: acme}\n");
    let airunway = crate::render::ACME.replace("kubefoundry.ai", "kubeairunway.ai").replace("acme", "bcme");
    let other = (model("a") + "  provider: {name: bcme}\n").replace("kubefoundry.ai", "kubeairunway.ai");
    let sandbox = sandbox.with("b.yaml", other).with("bcme.yaml", airunway);
    let ran = sandbox.run(&["render", ".", "--out-dir", "out"]).exits(2);
    assert!(ran.err.contains("two objects would be written to it"), "{}", ran.err);
    assert!(!sandbox.path("out").exists());
}

/// An error writes nothing, not even the directory.
#[test]
fn an_error_writes_nothing() {
    let sandbox = sandbox().with("b.yaml", broken("b"));
    sandbox.run(&["render", ".", "--out-dir", "out"]).exits(1);
    assert!(!sandbox.path("out").exists());
}

/// The input's other objects have files already: the ones they were read from.
#[test]
fn all_and_out_dir_exclude_each_other() {
    let sandbox = sandbox();
    let ran = sandbox.run(&["render", ".", "--out-dir", "out", "--all"]).exits(2);
    assert!(ran.err.contains("cannot be used with"), "{}", ran.err);
    let sandbox = sandbox.with("kubefoundry.yaml", format!("{PINNED}output: append\n"));
    let ran = sandbox.run(&["render", ".", "--out-dir", "out"]).exits(2);
    assert!(ran.err.starts_with("kubefoundry: --out-dir writes generated objects only"), "{}", ran.err);
    assert!(!sandbox.path("out").exists());
}

/// A link below the directory could lead anywhere; the directory itself is the user's word.
#[cfg(unix)]
#[test]
fn links_are_not_written_through() {
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

/// A place that cannot be written leaves no part of the output behind, and no temporary file.
#[test]
fn a_place_that_cannot_be_written_is_a_failure() {
    let sandbox =
        sandbox().with("b.yaml", model("b").replace("namespace: prod", "namespace: test")).with("out/test", "");
    let ran = sandbox.run(&["render", ".", "--out-dir", "out"]).exits(2);
    assert!(ran.err.starts_with("kubefoundry: out/test/"), "{}", ran.err);
    assert_eq!(sandbox.files("out"), ["test"]);
    let ran = sandbox.run(&["render", ".", "--out-dir", "a.yaml/out"]).exits(2);
    assert!(ran.err.starts_with("kubefoundry: a.yaml/out"), "{}", ran.err);
}

/// The second of two folders is read-only: the first object was good, and is not there either.
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

/// Generated files are for others to read, as far as the umask lets them, and not the 0600 of a temporary file.
#[cfg(unix)]
#[test]
fn files_get_ordinary_permissions() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = sandbox().with("reference", "");
    sandbox.run(&["render", ".", "--out-dir", "out"]).exits(0);
    let mode = |path: &str| fs::metadata(sandbox.path(path)).unwrap().permissions().mode();
    assert_eq!(mode(&format!("out/{FILE}")), mode("reference"));
}
