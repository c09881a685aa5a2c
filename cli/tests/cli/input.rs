//! Paths: which files are read, in which order, under which names, and what happens when one cannot be.

use crate::sandbox::{PINNED, Ran, Sandbox, broken, model};

/// The files of a run in which every file has an error, in the order of the findings.
fn files_with_findings(ran: &Ran) -> Vec<&str> {
    ran.out.lines().filter_map(|line| line.split_once(':')).map(|(file, _)| file).collect()
}

/// Sorted, so that the order of a directory on disk changes no byte of the output.
#[test]
fn directories_are_read_in_order_of_names() {
    let sandbox = Sandbox::new()
        .with("b/z.yml", broken("z"))
        .with("b/a.yaml", broken("a"))
        .with("c.json", "{\"apiVersion\": \"kubefoundry.ai/v1alpha1\", \"kind\": \"Oops\"}")
        .with("a.yaml", broken("top"))
        .with("notes.txt", broken("text"));
    let ran = sandbox.run(&["lint", ".", "-o", "concise"]).exits(1);
    assert_eq!(files_with_findings(&ran), ["a.yaml", "b/a.yaml", "b/z.yml", "c.json"]);
}

/// What git does not keep is not what a team deploys: build output, checkouts of others, secrets.
#[test]
fn ignored_and_hidden_files_are_left_out() {
    let sandbox = Sandbox::new()
        .with(".gitignore", "build/\n*.local.yaml\n")
        .with("build/a.yaml", broken("a"))
        .with("b.local.yaml", broken("b"))
        .with(".hidden/c.yaml", broken("c"))
        .with(".d.yaml", broken("d"))
        .with("kept/.gitignore", "e.yaml\n")
        .with("kept/e.yaml", broken("e"))
        .with("kept/f.yaml", broken("f"));
    let ran = sandbox.run(&["lint", ".", "-o", "concise"]).exits(1);
    assert_eq!(files_with_findings(&ran), ["kept/f.yaml"]);
}

/// Inside a repository, the .gitignore above a directory speaks for what is in it, as it does for git. Outside of one
/// there is no telling what a file somewhere above was meant for: a home directory's may name everything.
#[test]
fn a_gitignore_above_counts_in_a_repository() {
    let sandbox = Sandbox::new()
        .with(".gitignore", "*.local.yaml\n")
        .with("models/a.local.yaml", broken("a"))
        .with("models/b.yaml", broken("b"));
    let ran = sandbox.run(&["lint", "models", "-o", "concise"]).exits(1);
    assert_eq!(files_with_findings(&ran), ["models/a.local.yaml", "models/b.yaml"]);
    let sandbox = sandbox.with(".git/HEAD", "");
    let ran = sandbox.run(&["lint", "models", "-o", "concise"]).exits(1);
    assert_eq!(files_with_findings(&ran), ["models/b.yaml"]);
    let sandbox = sandbox.with(".gitignore", "*\n").with("models/.git/HEAD", "");
    let ran = sandbox.run(&["lint", "models", "-o", "concise"]).exits(1);
    assert_eq!(files_with_findings(&ran), ["models/a.local.yaml", "models/b.yaml"], "above the repository");
}

/// A file that is named as an argument is read, even if git ignores it or its extension is unusual.
#[test]
fn a_named_file_is_always_read() {
    let sandbox = Sandbox::new().with(".gitignore", "*\n").with(".models/a.txt", broken("a"));
    let ran = sandbox.run(&["lint", ".models/a.txt", "-o", "concise"]).exits(1);
    assert_eq!(files_with_findings(&ran), [".models/a.txt"]);
}

/// Names are those that a user would type, so that an editor can open them.
#[test]
fn names_are_as_they_were_typed() {
    let sandbox = Sandbox::new().with("m/a.yaml", broken("a"));
    let absolute = sandbox.path("m/a.yaml").display().to_string();
    for (path, name) in [
        (".", "m/a.yaml"),
        ("m", "m/a.yaml"),
        ("./m/", "m/a.yaml"),
        ("./m/a.yaml", "./m/a.yaml"),
        (&absolute, &absolute),
    ] {
        let ran = sandbox.run(&["lint", path, "-o", "concise"]).exits(1);
        assert_eq!(files_with_findings(&ran), [name], "{path}");
    }
}

/// `render . llama.yaml` is one model and no duplicate.
#[test]
fn a_file_named_twice_is_read_once() {
    let sandbox = Sandbox::new().with("m/a.yaml", model("a"));
    let ran = sandbox.run(&["render", "m/a.yaml", ".", "./m/../m/a.yaml"]).exits(0);
    assert_eq!(ran.kinds().len(), 1);
}

/// A directory that is also full of provider configurations is the usual case.
#[test]
fn providers_in_the_input_may_be_named_again() {
    let sandbox = Sandbox::new()
        .with("a.yaml", model("a") + "  provider: {name: acme}\n")
        .with("providers/acme.yaml", crate::render::ACME);
    let ran = sandbox.run(&["render", ".", "--providers", "providers"]).exits(0);
    assert_eq!(ran.kinds(), ["ModelDeployment"]);
}

/// Like every filter: no PATH is standard input.
#[test]
fn standard_input_is_read_without_a_path() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.pipe(&["render"], model("a")).exits(0).kinds().len(), 1);
    let ran = sandbox.pipe(&["lint", "-o", "concise"], broken("a")).exits(1);
    assert_eq!(files_with_findings(&ran), ["<stdin>"]);
}

/// `-` stands among files, in its place, and once.
#[test]
fn a_dash_is_standard_input() {
    let sandbox = Sandbox::new().with("b.yaml", model("b"));
    let ran = sandbox.pipe(&["render", "b.yaml", "-", "-"], model("a")).exits(0);
    let names: Vec<_> = ran.out.lines().filter_map(|line| line.strip_prefix("  name: ")).collect();
    assert_eq!(names, ["b", "a"]);
}

/// A typing error must not pass as an empty input.
#[test]
fn a_missing_file_is_a_failure() {
    let ran = Sandbox::new().run(&["lint", "nope.yaml"]).exits(2);
    assert_eq!(ran.out, "");
    assert_eq!(ran.err, "kubefoundry: nope.yaml: No such file or directory (os error 2)\n");
}

/// The same for every option that names a file.
#[test]
fn missing_option_files_are_failures() {
    let sandbox = Sandbox::new().with("a.yaml", model("a"));
    for option in ["--config", "--providers"] {
        let ran = sandbox.run(&["render", "a.yaml", option, "nope.yaml"]).exits(2);
        assert!(ran.err.starts_with("kubefoundry: nope.yaml: "), "{option}: {}", ran.err);
    }
}

/// A file that is there and cannot be read was not judged: never "clean".
#[cfg(unix)]
#[test]
fn an_unreadable_file_is_a_failure() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = Sandbox::new().with("a.yaml", model("a"));
    std::fs::set_permissions(sandbox.path("a.yaml"), std::fs::Permissions::from_mode(0o0)).unwrap();
    let ran = sandbox.run_unprivileged(&["lint", "."]).exits(2);
    assert_eq!(ran.err, "kubefoundry: a.yaml: Permission denied (os error 13)\n");
}

/// Windows editors write byte order marks and CRLF.
#[test]
fn byte_order_marks_and_crlf_are_fine() {
    let sandbox = Sandbox::new().with("a.yaml", format!("\u{feff}{}", model("a").replace('\n', "\r\n")));
    assert_eq!(sandbox.run(&["render", "a.yaml"]).exits(0).kinds().len(), 1);
}

/// A link to a directory may lead around in circles, or out of the tree.
#[cfg(unix)]
#[test]
fn linked_directories_are_not_entered() {
    let sandbox = Sandbox::new().with("tree/a.yaml", broken("a")).with("other/b.yaml", broken("b"));
    std::os::unix::fs::symlink("..", sandbox.path("tree/loop")).unwrap();
    std::os::unix::fs::symlink("../other", sandbox.path("tree/other.yaml")).unwrap();
    let ran = sandbox.run(&["lint", "tree", "-o", "concise"]).exits(1);
    assert_eq!(files_with_findings(&ran), ["tree/a.yaml"]);
}

/// A mounted ConfigMap is a directory of links to files; and one file behind two names is one file.
#[cfg(unix)]
#[test]
fn linked_files_are_read_once() {
    let sandbox = Sandbox::new().with("tree/a.yaml", broken("a"));
    std::os::unix::fs::symlink("a.yaml", sandbox.path("tree/b.yaml")).unwrap();
    std::os::unix::fs::symlink("tree", sandbox.path("link")).unwrap();
    let ran = sandbox.run(&["lint", "link", "-o", "concise"]).exits(1);
    assert_eq!(files_with_findings(&ran), ["link/a.yaml"]);
}

/// A link to nothing in a directory is noted; a link to a pipe or a device is not a file.
#[cfg(unix)]
#[test]
fn links_that_lead_to_no_file() {
    let sandbox = Sandbox::new().with("a.yaml", broken("a"));
    std::os::unix::fs::symlink("/dev/zero", sandbox.path("b.yaml")).unwrap();
    let ran = sandbox.run(&["lint", ".", "-o", "concise"]).exits(1);
    assert_eq!(files_with_findings(&ran), ["a.yaml"]);
    std::os::unix::fs::symlink("nowhere", sandbox.path("c.yaml")).unwrap();
    let ran = sandbox.run(&["lint", ".", "-o", "concise"]).exits(1);
    assert_eq!(files_with_findings(&ran), ["a.yaml"]);
    assert!(ran.err.starts_with("kubefoundry: c.yaml: "), "{}", ran.err);
}

/// Templates and other tools' files live beside models, and are not ours to judge.
#[test]
fn foreign_files_are_skipped() {
    let sandbox = Sandbox::new()
        .with("kubefoundry.yaml", PINNED)
        .with("a.yaml", model("a"))
        .with("chart/template.yaml", "{{ if .Values.on }}\nkind: Service\n{{ end }}\n")
        .with("package.json", "{\"name\": \"site\"}");
    let ran = sandbox.run(&["render", "."]).exits(0);
    assert_eq!((ran.kinds(), ran.err.as_str()), (vec!["DynamoGraphDeployment"], ""));
}

/// pre-commit passes a single file; the kustomization that makes it a patch is beside it or one folder up.
#[test]
fn a_patch_named_alone_is_a_patch() {
    let patch = "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {name: a}\nspec: {scaling: {replicas: 2}}\n";
    let sandbox = Sandbox::new()
        .with("overlay/kustomization.yaml", "patches: [{path: patch.yaml}, {path: patches/other.yaml}]\n")
        .with("overlay/patch.yaml", patch)
        .with("overlay/patches/other.yaml", patch)
        .with("overlay/patches/typo.yaml", patch.replace("replicas", "replicsa"));
    for file in ["overlay/patch.yaml", "overlay/patches/other.yaml"] {
        sandbox.run(&["lint", file]).exits(0);
    }
    let whole = sandbox.run(&["lint", "overlay/patches/typo.yaml", "-o", "concise"]).exits(1);
    assert!(whole.out.contains("KF0113") && whole.out.contains("KF0207"), "{}", whole.out);
}

/// The walker opens each `.gitignore` up to the root of the repository, so none may be a device without an end.
#[cfg(unix)]
#[test]
fn a_gitignore_that_is_a_link_is_refused() {
    for (link, directory, status) in
        [("repo/.gitignore", "repo", 2), ("repo/sub/.gitignore", "repo", 2), (".gitignore", "repo/sub", 0)]
    {
        let sandbox =
            Sandbox::new().with("repo/.git/HEAD", "ref: refs/heads/main\n").with("repo/sub/a.yaml", model("a"));
        std::os::unix::fs::symlink("/dev/zero", sandbox.path(link)).unwrap();
        let ran = sandbox.run(&["lint", directory]).exits(status);
        assert_eq!(ran.err.contains("is not a regular file"), status == 2, "{link}: {}", ran.err);
    }
}
