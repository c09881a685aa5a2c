//! Devices, pipes and links in the place of files that are written or read.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::process::Command;

use crate::sandbox::{PINNED, Sandbox, broken, model};

fn make_pipe(sandbox: &Sandbox, name: &str) {
    assert!(Command::new("mkfifo").arg(sandbox.path(name)).status().unwrap().success());
}

/// A pipe in the place of a generated file is neither waited for nor replaced.
#[test]
fn a_pipe_in_the_place_of_a_generated_file() {
    let sandbox = Sandbox::new().with("kubefoundry.yaml", PINNED).with("a.yaml", model("a"));
    fs::create_dir_all(sandbox.path("out/prod")).unwrap();
    make_pipe(&sandbox, "out/prod/dynamographdeployment_a.yaml");
    let ran = sandbox.run(&["render", "a.yaml", "--out-dir", "out"]).exits(2);
    assert!(ran.err.contains("dynamographdeployment_a.yaml: is not a regular file"), "{}", ran.err);
    let kind = fs::symlink_metadata(sandbox.path("out/prod/dynamographdeployment_a.yaml")).unwrap().file_type();
    assert!(kind.is_fifo());
    assert_eq!(sandbox.files("out").len(), 1);
}

/// `merge-config` runs as root in init containers, where replacing `/dev/null` would break every other program.
#[test]
fn outputs_of_merge_config_that_are_no_files() {
    let example = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/llama-stack-packages/merge");
    let (metadata, base) = (example.join("metadata"), example.clone());
    let (metadata, base) = (metadata.to_str().unwrap(), base.to_str().unwrap());
    let sandbox = Sandbox::new();
    make_pipe(&sandbox, "pipe");
    symlink("target", sandbox.path("link")).unwrap();
    for special in ["pipe", "link", "/dev/full"] {
        for option in ["--output", "--extra-providers-output", "--log"] {
            let mut arguments = vec!["llamastack", "merge-config", "--metadata-dir", metadata, "--base", base];
            for (name, file) in [("--output", "o1"), ("--extra-providers-output", "o2"), ("--log", "o3")] {
                arguments.extend([name, if name == option { special } else { file }]);
            }
            let ran = sandbox.run(&arguments).exits(1);
            assert!(ran.err.contains(special), "{option} {special}: {}", ran.err);
        }
    }
    assert!(fs::symlink_metadata(sandbox.path("pipe")).unwrap().file_type().is_fifo());
    assert!(fs::symlink_metadata(sandbox.path("link")).unwrap().is_symlink());
    assert!(fs::symlink_metadata("/dev/full").unwrap().file_type().is_char_device());
    assert!(!sandbox.path("target").exists());
}

/// A `.gitignore` that is a pipe would be waited for for ever.
#[test]
fn a_pipe_in_the_place_of_a_gitignore() {
    let sandbox = Sandbox::new().with("a/kubefoundry.yaml", PINNED).with("a/a.yaml", model("a"));
    make_pipe(&sandbox, "a/.gitignore");
    let ran = sandbox.run(&["lint", "a"]).exits(2);
    assert!(ran.err.contains(".gitignore: "), "{}", ran.err);
}

/// `lint --fix` keeps all bits of the mode. A file with several hard links is refused: only one of them would be changed.
#[test]
fn fixes_keep_modes() {
    let text = model("a").replace("count: 1", "count: \"1\"");
    let sandbox = Sandbox::new().with("kubefoundry.yaml", PINNED).with("a.yaml", &text);
    let path = sandbox.path("a.yaml");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o2754)).unwrap();
    fs::hard_link(&path, sandbox.path("other.txt")).unwrap();
    let ran = sandbox.run(&["lint", "--fix", "a.yaml"]).exits(2);
    assert!(ran.err.contains("a.yaml: has several hard links"), "{}", ran.err);
    fs::remove_file(sandbox.path("other.txt")).unwrap();
    sandbox.run(&["lint", "--fix", "a.yaml"]).exits(0);
    assert_eq!(sandbox.read("a.yaml"), model("a"));
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o2754);
}

/// Annotations on a pull request are shown only for a file that changes, which the link does not.
#[test]
fn findings_have_the_name_of_the_file_and_not_of_a_link_to_it() {
    let sandbox = Sandbox::new().with("models/m.yaml", broken("m")).with("models/z.yaml", model("z"));
    symlink("models/m.yaml", sandbox.path("a-link.yaml")).unwrap();
    symlink("z.yaml", sandbox.path("models/b-link.yaml")).unwrap();
    let ran = sandbox.run(&["lint", ".", "-o", "concise", "--min-severity", "warning"]).exits(1);
    assert!(ran.out.starts_with("models/m.yaml:") && ran.out.lines().count() == 1, "{}", ran.out);
    // A file that is not read otherwise has the name of the link.
    let ran = sandbox.run(&["lint", ".", "-o", "concise", "--min-severity", "warning", "--exclude", "models"]).exits(1);
    assert!(ran.out.starts_with("a-link.yaml:") && ran.out.lines().count() == 1, "{}", ran.out);
}
