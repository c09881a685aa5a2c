//! Missing files, unreadable files and link cycles.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::bounded::{config, run};
use crate::sandbox::{PINNED, Sandbox, broken, model};

#[test]
fn a_missing_file() {
    let ran = run(&Sandbox::new(), &["render", "nope.yaml"]).exits(2);
    assert_eq!(
        (ran.out.as_str(), ran.err.as_str()),
        ("", "kubefoundry: nope.yaml: No such file or directory (os error 2)\n")
    );
}

/// A dangling link does not hide the findings of other files, and does not fail the run.
#[test]
fn a_dangling_link_among_others() {
    let sandbox = Sandbox::new().with("tree/a.yaml", broken("a")).with("tree/c.yaml", model("c"));
    symlink("nowhere", sandbox.path("tree/b.yaml")).unwrap();
    let ran = run(&sandbox, &["lint", "tree", "-o", "concise"]).exits(1);
    assert!(ran.out.starts_with("tree/a.yaml:13:14: error[KF0112]"), "{}", ran.out);
    assert_eq!(ran.err, "kubefoundry: tree/b.yaml: the link leads nowhere; skipped\n");
    std::fs::remove_file(sandbox.path("tree/a.yaml")).unwrap();
    for command in ["render", "images"] {
        let ran = run(&sandbox, &[command, "tree"]).exits(0);
        assert!(ran.err.contains("tree/b.yaml: the link leads nowhere; skipped\n"), "{command}: {}", ran.err);
    }
}

#[test]
fn unreadable_files_and_directories() {
    let sandbox =
        Sandbox::new().with("tree/a.yaml", model("a")).with("tree/b.yaml", broken("b")).with("tree/d/e.yaml", "");
    let lock = |name: &str, mode| {
        std::fs::set_permissions(sandbox.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    lock("tree/a.yaml", 0);
    lock("tree/d", 0);
    let ran = sandbox.run_unprivileged(&["lint", "tree", "-o", "concise"]).exits(2);
    lock("tree/d", 0o755);
    assert!(ran.out.contains("tree/b.yaml:13:14: error[KF0112]"), "{ran:?}");
    assert!(ran.err.contains("kubefoundry: tree/a.yaml: Permission denied"), "{}", ran.err);
    assert!(ran.err.contains("tree/d"), "{}", ran.err);
}

/// A file that is not UTF-8 is ignored unless it contains one of our API groups.
#[test]
fn files_that_are_not_utf8() {
    let sandbox = Sandbox::new().with("a.yaml", broken("a")).with("latin.yaml", b"name: Gr\xf6\xdfe\n");
    let ran = run(&sandbox, &["lint", ".", "-o", "concise"]).exits(1);
    assert!(ran.out.starts_with("a.yaml:13:14: error[KF0112]") && !ran.out.contains("latin"), "{}", ran.out);
    let ours = [b"# Gr\xf6\xdfe\n", model("b").as_bytes()].concat();
    let ran = run(&sandbox.with("latin.yaml", ours), &["lint", ".", "-o", "concise"]).exits(1);
    assert!(ran.out.contains("latin.yaml:1:5: error[KF0101] found a byte that is not UTF-8"), "{}", ran.out);
}

#[test]
fn a_directory_that_contains_itself() {
    let sandbox = Sandbox::new().with("tree/a.yaml", broken("a"));
    symlink(".", sandbox.path("tree/loop")).unwrap();
    symlink("loop.yaml", sandbox.path("tree/loop.yaml")).unwrap();
    let ran = run(&sandbox, &["lint", "tree", "-o", "concise"]).exits(1);
    assert_eq!(ran.out.lines().count(), 1, "{}", ran.out);
    assert_eq!(ran.err, "kubefoundry: tree/loop.yaml: the link leads nowhere; skipped\n");
}

#[test]
fn a_directory_without_files() {
    let sandbox = Sandbox::new().with("tree/notes.txt", "");
    let ran = run(&sandbox, &["lint", "tree"]).exits(0);
    assert_eq!(ran.err, "kubefoundry: tree: contains no .yaml, .yml or .json file\n");
    let ran = run(&sandbox, &["render", "tree", "--diagnostics", "concise"]).exits(1);
    assert_eq!(
        ran.err,
        "kubefoundry: tree: contains no .yaml, .yml or .json file\nerror[KF0107] the input has no ModelDeployment to render\n"
    );
}

/// `--providers` without any configuration is an error, because another provider could be selected silently.
#[test]
fn providers_without_a_configuration() {
    let sandbox = Sandbox::new()
        .with("a.yaml", model("a"))
        .with("p/notes.yaml", "kind: Notes\n")
        .with("q/acme.yaml", config("acme"));
    let ran = run(&sandbox, &["render", "a.yaml", "--providers", "q", "--providers", "p"]).exits(2);
    assert_eq!(
        (ran.out.as_str(), ran.err.as_str()),
        ("", "kubefoundry: --providers p: contains no InferenceProviderConfig\n")
    );
    run(&sandbox, &["render", "a.yaml", "--providers", "q"]).exits(0);
    run(&sandbox, &["render", ".", "--providers", "q"]).exits(0);
}

/// If the output directory is below the input, the next run reads the ModelDeployments that were passed on.
#[test]
fn output_below_the_input() {
    let deployment = model("a") + "  provider: {name: acme}\n";
    let sandbox =
        Sandbox::new().with("kubefoundry.yaml", PINNED).with("a.yaml", deployment).with("acme.yaml", config("acme"));
    for _ in 0..3 {
        run(&sandbox, &["render", ".", "--out-dir", "out"]).exits(0);
    }
    run(&sandbox, &["lint", ".", "--fail-on", "warning"]).exits(0);
    let ran = run(&sandbox, &["render", "."]).exits(0);
    assert_eq!(ran.kinds(), ["ModelDeployment"]);
}
