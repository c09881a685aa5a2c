//! `plan`: the cases of `testdata/plan` as text and Markdown, revisions of a repository, and exit statuses.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::sandbox::{PINNED, Sandbox, broken, model, skipped, tools};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The folders of the cases, and the arguments of `plan` for each.
pub(crate) fn cases() -> Vec<(PathBuf, Vec<String>)> {
    let entries = fs::read_dir(root().join("testdata/plan")).unwrap();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    let arguments = |folder: &Path| {
        let text = fs::read_to_string(folder.join("args")).unwrap_or_else(|_| "old new".to_owned());
        text.split_whitespace().map(str::to_owned).collect()
    };
    folders.into_iter().map(|folder| (folder.clone(), arguments(&folder))).collect()
}

pub(crate) fn run_plan(folder: &Path, arguments: &[String], more: &[&str]) -> String {
    let command = Command::new(env!("CARGO_BIN_EXE_kubefoundry"))
        .arg("plan")
        .args(arguments)
        .args(more)
        .current_dir(folder)
        .env("PATH", tools())
        .output()
        .unwrap();
    let err = String::from_utf8(command.stderr).unwrap();
    assert_eq!(command.status.code(), Some(0), "{}: {err}", folder.display());
    String::from_utf8(command.stdout).unwrap()
}

/// `plan.snap` has the text output, `markdown.snap` the Markdown.
#[test]
fn cases_match_their_snapshots() {
    for (folder, arguments) in cases() {
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(&folder);
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.remove_description();
        settings.bind(|| {
            insta::assert_snapshot!("plan", run_plan(&folder, &arguments, &[]));
            insta::assert_snapshot!("markdown", run_plan(&folder, &arguments, &["--output", "markdown"]));
        });
    }
}

/// Whether a program is installed. If not, a note says that the test is skipped.
pub(crate) fn is_installed(program: &str) -> bool {
    let is_installed = Command::new(program).arg("--version").output().is_ok();
    if !is_installed {
        skipped(&format!("{program} is not installed"));
    }
    is_installed
}

/// A repository with models that were changed on a branch, while `main` has a later commit.
fn repository() -> Sandbox {
    let sandbox = Sandbox::new().with("models/a.yaml", model("a")).with("models/kubefoundry.yaml", PINNED);
    let sandbox = sandbox.with("models/b.yaml", model("b")).with("other/x.yaml", broken("x"));
    git(&sandbox, &["init", "--quiet", "--initial-branch=main"]);
    commit(&sandbox);
    git(&sandbox, &["checkout", "--quiet", "-b", "change"]);
    let sandbox = sandbox.with("models/a.yaml", model("a").replace("count: 1", "count: 4"));
    fs::remove_file(sandbox.path("models/b.yaml")).unwrap();
    let sandbox = sandbox.with("models/sub dir/c.yaml", model("c"));
    commit(&sandbox);
    git(&sandbox, &["checkout", "--quiet", "main"]);
    let sandbox = sandbox.with("models/d.yaml", model("d"));
    commit(&sandbox);
    git(&sandbox, &["checkout", "--quiet", "change"]);
    sandbox
}

pub(crate) fn commit(sandbox: &Sandbox) {
    git(sandbox, &["add", "--all"]);
    let identity = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"];
    git(sandbox, &[&identity[..], &["commit", "--quiet", "--message", "x"]].concat());
}

pub(crate) fn git(sandbox: &Sandbox, arguments: &[&str]) {
    let status = Command::new("git").args(arguments).current_dir(sandbox.path("")).status().unwrap();
    assert!(status.success(), "{arguments:?}");
}

fn last_line(out: &str) -> &str {
    out.trim_end().lines().last().unwrap()
}

#[test]
fn compares_revisions_without_a_checkout() {
    if !is_installed("git") {
        return;
    }
    let sandbox = repository();
    let plan = |revisions: &str, more: &[&str]| {
        let ran = sandbox.run(&[&["plan", "--git", revisions], more].concat()).exits(0);
        last_line(&ran.out).to_owned()
    };
    // Two dots compare both ends; three compare the branch with its merge base.
    assert_eq!(plan("main..change", &["models"]), "1 restart, 1 created, 2 deleted; GPUs 3 → 5");
    assert_eq!(plan("main...change", &["models"]), "1 restart, 1 created, 1 deleted; GPUs 2 → 5");
    assert_eq!(plan("main...", &["models/"]), "1 restart, 1 created, 1 deleted; GPUs 2 → 5");
    assert_eq!(plan("HEAD..HEAD", &["./models"]), "2 unchanged; GPUs 5");
    // A file, several of them, and one that only the other revision has.
    assert_eq!(plan("main..change", &["models/a.yaml"]), "1 restart; GPUs 1 → 4");
    assert_eq!(plan("main..change", &["models/a.yaml", "models/b.yaml"]), "1 restart, 1 deleted; GPUs 2 → 4");
    // The working tree.
    let sandbox = sandbox.with("models/a.yaml", model("a").replace("count: 1", "count: 8"));
    let ran = sandbox.run(&["plan", "--git", "HEAD", "models"]).exits(0);
    assert_eq!(last_line(&ran.out), "1 restart, 1 unchanged; GPUs 5 → 9");
    fs::remove_dir_all(sandbox.path("models")).unwrap();
    let ran = sandbox.run(&["plan", "--git", "HEAD", "models"]).exits(0);
    assert_eq!(last_line(&ran.out), "2 deleted; GPUs 5 → 0");
    // In a subdirectory that is empty in the working tree.
    let mut command = sandbox.command(&["plan", "--git", "main..change"]);
    fs::create_dir_all(sandbox.path("models")).unwrap();
    let ran = command.current_dir(sandbox.path("models")).output().unwrap();
    let out = String::from_utf8(ran.stdout).unwrap();
    assert_eq!(
        last_line(&out),
        "1 restart, 1 created, 2 deleted; GPUs 3 → 5",
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    assert!(out.contains("  a.yaml:4:9\n") && out.contains("  sub dir/c.yaml:4:9\n"), "{out}");
}

/// `kubefoundry.yaml` is read from the revision, too.
#[test]
fn reads_options_from_the_revision() {
    if !is_installed("git") {
        return;
    }
    let sandbox = repository().with("models/kubefoundry.yaml", PINNED.replace("1.4.0", "1.6.1"));
    commit(&sandbox);
    let ran = sandbox.run(&["plan", "--git", "HEAD~1..HEAD", "models"]).exits(0);
    assert_eq!(ran.err, "", "both are pinned");
    assert!(ran.out.contains("\n  options\n    rolling-restart  DynamoGraphDeployment prod/a\n"), "{}", ran.out);
    assert_eq!(last_line(&ran.out), "2 restart; GPUs 5");
}

#[cfg(unix)]
/// A file whose object is missing would look as if it had been created or deleted.
#[test]
fn a_missing_object_is_an_error() {
    if !is_installed("git") {
        return;
    }
    let sandbox = repository_without_an_object();
    let ran = sandbox.run(&["plan", "--git", "HEAD~1..HEAD", "."]).exits(2);
    assert_eq!(ran.out, "");
    assert!(ran.err.contains("a.yaml"), "{}", ran.err);
}

/// The configuration of a repository can name a command that fetches missing objects. Nothing in it is run.
#[test]
fn a_missing_object_is_not_fetched() {
    if !is_installed("git") {
        return;
    }
    let sandbox = repository_without_an_object();
    let here = sandbox.path("").display().to_string();
    for (key, value) in [
        ("core.repositoryformatversion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.url", here.as_str()),
        ("remote.origin.promisor", "true"),
        ("remote.origin.uploadpack", "touch executed; git-upload-pack"),
        ("protocol.allow", "always"),
        ("protocol.file.allow", "always"),
        ("core.fsmonitor", "touch executed"),
    ] {
        git(&sandbox, &["config", key, value]);
    }
    let ran = sandbox.run(&["plan", "--git", "HEAD~1..HEAD", "."]).exits(2);
    assert_eq!(ran.out, "");
    assert!(!sandbox.path("executed").exists(), "{}", ran.err);
}

/// Returns a repository with a model of which the older version is missing.
fn repository_without_an_object() -> Sandbox {
    let sandbox = Sandbox::new().with("kubefoundry.yaml", PINNED).with("a.yaml", model("a"));
    git(&sandbox, &["init", "--quiet", "--initial-branch=main"]);
    commit(&sandbox);
    let sandbox = sandbox.with("a.yaml", model("a").replace("count: 1", "count: 4"));
    commit(&sandbox);
    let output =
        Command::new("git").args(["rev-parse", "HEAD~1:a.yaml"]).current_dir(sandbox.path("")).output().unwrap();
    let object = String::from_utf8(output.stdout).unwrap();
    let (folder, file) = object.trim().split_at(2);
    fs::remove_file(sandbox.path(".git/objects").join(folder).join(file)).unwrap();
    sandbox
}

#[test]
fn follows_links_in_a_revision() {
    if !is_installed("git") {
        return;
    }
    let sandbox = Sandbox::new().with("m/x.yaml", model("x")).with("b/z.yaml", model("z")).with("c/keep.txt", "");
    // Two links with the same text are one object of git.
    std::os::unix::fs::symlink("../m/x.yaml", sandbox.path("b/link.yaml")).unwrap();
    std::os::unix::fs::symlink("../m/x.yaml", sandbox.path("c/link.yaml")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", sandbox.path("b/out.yaml")).unwrap();
    git(&sandbox, &["init", "--quiet", "--initial-branch=main"]);
    commit(&sandbox);
    let sandbox = sandbox.with("m/x.yaml", model("x").replace("count: 1", "count: 2"));
    commit(&sandbox);
    // As in the working tree, a file that is read twice is read once, under its own name.
    for (path, file, unchanged) in [(".", "m/x.yaml", true), ("b", "b/link.yaml", true), ("c", "c/link.yaml", false)] {
        for revisions in ["HEAD~1..HEAD", "HEAD~1"] {
            let ran = sandbox.run(&["plan", "--git", revisions, path]).exits(0);
            assert!(ran.out.contains(&format!("prod/x  rolling-restart  {file}:")), "{path}: {}", ran.out);
            assert_eq!(ran.out.contains("1 restart, 1 unchanged;"), unchanged, "{path}: {}", ran.out);
        }
    }
}

/// With `--helm`, charts are rendered on both sides: otherwise, every model of a chart would seem to be new.
#[test]
fn renders_charts_in_a_revision() {
    if !is_installed("git") {
        return;
    }
    let sandbox = Sandbox::new()
        .with("bin/helm", "#!/bin/sh\ncat \"$4/files/rendered\"\n")
        .with("repo/chart/Chart.yaml", "apiVersion: v2\nname: chart\nversion: 0.1.0\n")
        .with("repo/chart/templates/m.yaml", format!("{{{{ if .Values.m }}}}\n{}{{{{ end }}}}\n", model("m")))
        .with("repo/chart/files/rendered", model("m"));
    fs::set_permissions(sandbox.path("bin/helm"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let identity = ["-C", "repo", "-c", "user.name=n", "-c", "user.email=a@example.com"];
    let git_in = |arguments: &[&str]| git(&sandbox, &[&identity, arguments].concat());
    git_in(&["init", "--quiet", "--initial-branch=main"]);
    git_in(&["add", "."]);
    git_in(&["commit", "--quiet", "-m", "one"]);
    fs::write(sandbox.path("repo/chart/files/rendered"), model("m").replace("count: 1", "count: 2")).unwrap();
    git_in(&["commit", "--quiet", "-am", "two"]);
    let path = format!("{}:{}:/usr/bin:/bin", sandbox.path("bin").display(), tools().display());
    for (revisions, expected) in [
        ("HEAD~1..HEAD", "1 restart; GPUs 1 → 2\n"),
        ("HEAD~1", "1 restart; GPUs 1 → 2\n"),
        ("HEAD", "1 unchanged; GPUs 2\n"),
    ] {
        let mut command = sandbox.command(&["plan", "--git", revisions, ".", "--helm"]);
        let output = command.current_dir(sandbox.path("repo")).env("PATH", &path).output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(printed.ends_with(expected), "{revisions}: {printed}{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn rejects_unreadable_revisions() {
    if !is_installed("git") {
        return;
    }
    let sandbox = repository();
    for (revisions, paths, expected) in [
        ("nope..change", &["models"][..], "there is no revision \"nope\""),
        ("--output=x", &["models"], "expected revisions, such as main..HEAD"),
        ("main..-x", &["models"], "expected revisions"),
        ("main..change", &["-"], "--git cannot read standard input"),
        ("main..change", &["nowhere"], "neither revision contains nowhere"),
        ("main..change", &["/etc/passwd"], "is outside the working directory"),
    ] {
        let ran = sandbox.run(&[&["plan", "--git", revisions], paths].concat()).exits(2);
        assert!(ran.out.is_empty() && ran.err.contains(expected), "{}", ran.err);
    }
    let outside = Sandbox::new().with("a.yaml", model("a"));
    let mut command = outside.command(&["plan", "--git", "main", "a.yaml"]);
    let ran = command.env("GIT_CEILING_DIRECTORIES", outside.path("..")).output().unwrap();
    assert_eq!(ran.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&ran.stderr).contains("not a git repository"), "{ran:?}");
}

#[test]
fn fail_on_sets_the_threshold() {
    let kaito = |id: &str| {
        model("a")
            .replace("id: org/a", &format!("id: org/{id}"))
            .replace("spec:\n", "spec:\n  provider:\n    name: kaito\n")
    };
    let sandbox = Sandbox::new()
        .with("old.yaml", kaito("one"))
        .with("refused.yaml", kaito("two"))
        .with("recreate.yaml", model("a").replace("org/a", "org/one"))
        .with("none.yaml", kaito("one"));
    for (new, fail_on, code) in [
        ("refused", "never", 0),
        ("refused", "refused", 1),
        ("refused", "recreate", 1),
        ("recreate", "refused", 0),
        ("recreate", "recreate", 1),
        ("none", "recreate", 0),
    ] {
        let ran = sandbox.run(&["plan", "old.yaml", &format!("{new}.yaml"), "--fail-on", fail_on]).exits(code);
        assert!(!ran.out.is_empty(), "the plan is printed either way");
    }
    let ran = sandbox.run(&["plan", "old.yaml", "refused.yaml", "--applier", "operator"]).exits(0);
    assert_eq!(last_line(&ran.out), "1 recreate; GPUs 1");
}

/// The side with errors is named, and its findings are printed.
#[test]
fn a_side_with_errors_has_no_plan() {
    let sandbox = Sandbox::new().with("good.yaml", model("a")).with("bad.yaml", broken("a"));
    let ran = sandbox.run(&["plan", "good.yaml", "bad.yaml"]).exits(2);
    assert!(ran.out.is_empty() && ran.err.contains("error[KF0112]"), "{}", ran.err);
    let ran = sandbox.run(&["plan", "bad.yaml", "good.yaml"]).exits(2);
    assert!(ran.out.is_empty() && ran.err.contains("error[KF0112]"), "{}", ran.err);
    assert!(ran.err.ends_with("OLD cannot be rendered because of its errors, so there is nothing to compare with\n"));
    let ran = sandbox.run(&["plan", "good.yaml", "missing.yaml"]).exits(2);
    assert!(ran.err.contains("missing.yaml"), "{}", ran.err);
}

/// Findings only in OLD have a heading; findings in both are printed once.
#[test]
fn prints_findings_of_both_sides() {
    let doubtful = crate::sandbox::doubtful("a");
    let sandbox = Sandbox::new().with("old.yaml", doubtful).with("new.yaml", model("a")).with("o.yaml", PINNED);
    let ran = sandbox.run(&["plan", "old.yaml", "new.yaml", "--config", "o.yaml"]).exits(0);
    assert!(ran.err.starts_with("findings only in OLD:\nwarning[KF0211]"), "{}", ran.err);
    let ran = sandbox.run(&["plan", "old.yaml", "old.yaml", "--config", "o.yaml"]).exits(0);
    assert_eq!(ran.err, "not shown: 1 finding that OLD and NEW have (see `kubefoundry lint`)\n");
    let ran = sandbox.run(&["plan", "new.yaml", "old.yaml", "--config", "o.yaml"]).exits(0);
    assert!(ran.err.starts_with("warning[KF0211]") && !ran.err.contains("not shown"), "{}", ran.err);
    let ran = sandbox.run(&["plan", "old.yaml", "old.yaml", "--config", "o.yaml", "--output", "json"]).exits(0);
    assert_eq!(ran.out.matches("KF0211\"").count(), 2, "{}", ran.out);
}

/// A finding that moves to another line is not new. Of two equal ones, the second is.
#[test]
fn only_what_new_brings_is_reported() {
    let doubtful = crate::sandbox::doubtful;
    let old = format!("{}---\n{}", doubtful("a"), doubtful("b"));
    let new = format!("# moved\n{}---\n{}---\n{}", doubtful("b"), doubtful("a"), doubtful("c"));
    let sandbox = Sandbox::new().with("old.yaml", old).with("new.yaml", new).with("o.yaml", PINNED);
    let plan = ["plan", "old.yaml", "new.yaml", "--config", "o.yaml"];
    for format in ["text", "markdown"] {
        let ran = sandbox.run(&[&plan[..], &["--output", format, "--diagnostics", "concise"]].concat()).exits(0);
        assert_eq!(ran.err.matches("KF0211").count(), 1, "{}", ran.err);
        assert!(ran.err.starts_with("new.yaml:50:"), "{}", ran.err);
    }
    let report = sandbox.run(&[&plan[..], &["--output", "json"]].concat()).exits(0).out;
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let new: Vec<(&str, bool)> = report["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| (finding["object"]["name"].as_str().unwrap(), finding["new"].as_bool().unwrap()))
        .collect();
    assert_eq!(new, [("b", false), ("a", false), ("c", true)]);
    assert!(report["oldDiagnostics"][0].get("new").is_none());
    let ran = sandbox.run(&[&plan[..], &["--quiet"]].concat()).exits(0);
    assert_eq!(ran.err, "");
}

/// An error that both sides have is reported once, as one of NEW.
#[test]
fn an_error_of_both_sides_is_reported_once() {
    let sandbox = Sandbox::new().with("old.yaml", broken("a")).with("new.yaml", format!("# moved\n{}", broken("a")));
    let ran = sandbox.run(&["plan", "old.yaml", "new.yaml"]).exits(2);
    assert!(ran.err.starts_with("error[KF0112]") && ran.err.matches("KF0112]").count() == 1, "{}", ran.err);
}

#[test]
fn needs_two_inputs() {
    let sandbox = Sandbox::new().with("a.yaml", model("a"));
    for (arguments, expected) in [
        (&["plan"][..], "nothing to compare"),
        (&["plan", "a.yaml"], "nothing to compare"),
        (&["plan", "a.yaml", "a.yaml", "a.yaml"], "but found 3"),
        (&["plan", "-", "-"], "both standard input"),
        (&["plan", "-", "a.yaml", "--crds", "-"], "standard input is used twice"),
    ] {
        let ran = sandbox.run(arguments).exits(2);
        assert!(ran.err.contains(expected), "{arguments:?}: {}", ran.err);
    }
    let ran = sandbox.pipe(&["plan", "-", "a.yaml"], model("b")).exits(0);
    assert_eq!(last_line(&ran.out), "1 created, 1 deleted; GPUs 1");
    let ran = sandbox.run(&["plan", "a.yaml", "--new-runtime", "dynamo=1.6.1"]).exits(0);
    assert_eq!(last_line(&ran.out), "1 restart; GPUs 1");
}

/// CRDs from a pipe apply to both sides, although it can be read only once.
#[test]
fn reads_a_pipe_once_for_both_sides() {
    let sandbox = Sandbox::new().with("a.yaml", model("a")).with("b.yaml", model("a").replace("count: 1", "count: 2"));
    let crds = fs::read_to_string(root().join("testdata/golden/conformance/auto-target/crds/nvidia.yaml")).unwrap();
    let ran = sandbox.pipe(&["plan", "a.yaml", "b.yaml", "--crds", "-", "--diff"], crds).exits(0);
    assert_eq!(last_line(&ran.out), "1 restart; GPUs 1 → 2", "{}", ran.err);
}

/// Runs the script of the GitHub workflow with a fake `gh` that records its arguments.
#[cfg(unix)]
#[test]
fn the_workflow_posts_the_plan() {
    if !is_installed("git") || !is_installed("bash") {
        return;
    }
    let text = fs::read_to_string(root().join("deploy/github/plan.yml")).unwrap();
    let workflow = kubefoundry_yaml::parse(&text, &kubefoundry_yaml::Limits::default()).documents[0].root.to_json();
    let steps = workflow["jobs"]["plan"]["steps"].as_array().unwrap();
    assert_eq!(steps[0]["with"]["fetch-depth"], 0);
    let script = steps.iter().find_map(|step| step["run"].as_str()).unwrap();
    let page = fs::read_to_string(root().join("docs/plan.md")).unwrap();
    let shown = page.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    for line in shown.lines() {
        assert!(script.contains(line), "the page shows {line}");
    }

    let sandbox = repository().with("bin/gh", "#!/bin/sh\necho \"$@\" > arguments; cp \"$5\" posted.md\n");
    fs::set_permissions(sandbox.path("bin/gh"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_kubefoundry"), sandbox.path("bin/kubefoundry")).unwrap();
    let run = |models: &str| {
        let path = format!("{}:{}", sandbox.path("bin").display(), std::env::var("PATH").unwrap());
        let mut bash = Command::new("bash");
        bash.args(["-c", script])
            .current_dir(sandbox.path(""))
            .env("PATH", path)
            .env("BASE", "main")
            .env("NUMBER", "7");
        bash.env("MODELS", models)
            .env("RUNNER_TEMP", sandbox.path(""))
            .env("GITHUB_STEP_SUMMARY", sandbox.path("summary.md"));
        bash.output().unwrap()
    };
    let ran = run("models");
    assert!(ran.status.success(), "{ran:?}");
    assert!(sandbox.read("arguments").starts_with("pr comment 7 --body-file "), "{}", sandbox.read("arguments"));
    assert!(
        sandbox
            .read("posted.md")
            .starts_with("### kubefoundry plan\n\n**1 restart, 1 created, 1 deleted; GPUs 2 → 5**\n")
    );
    assert_eq!(sandbox.read("posted.md"), sandbox.read("summary.md"));
    // With errors there is nothing to post, and the job fails.
    fs::remove_file(sandbox.path("arguments")).unwrap();
    let ran = run("other");
    assert_eq!(ran.status.code(), Some(2), "{ran:?}");
    assert!(!sandbox.path("arguments").exists());
}

/// The operator keeps the provider that was selected, so it refuses an engine that only another provider runs.
#[test]
fn the_operator_refuses_what_the_kept_provider_does_not_run() {
    let llamacpp = "engine: {type: llamacpp}\n  image: ghcr.io/ggml-org/llama.cpp:server-cuda";
    let new = model("a").replace("engine:\n    type: vllm", llamacpp);
    assert_ne!(new, model("a"));
    let sandbox = Sandbox::new().with("old.yaml", model("a")).with("new.yaml", new);
    let ran = sandbox.run(&["plan", "--applier", "operator", "old.yaml", "new.yaml"]).exits(2);
    assert!(ran.err.contains("Dynamo does not support llamacpp engine"), "{}", ran.err);
    let ran = sandbox.run(&["plan", "old.yaml", "new.yaml"]).exits(0);
    assert!(ran.out.contains("provider: dynamo → kaito"), "{}", ran.out);
}

/// The sum of the GPUs of a fleet exceeds 64 bits before its parts do.
#[test]
fn sums_of_gpus_do_not_wrap() {
    let large = |name: &str| {
        let large = model(name).replace("count: 1", "count: 2147483647");
        format!("{large}  scaling: {{replicas: 2147483647}}\n---\n")
    };
    let all: String = ["a", "b", "c", "d", "e", "f"].into_iter().map(large).collect();
    let sandbox = Sandbox::new().with("old.yaml", large("a")).with("new.yaml", all);
    let ran = sandbox.run(&["plan", "old.yaml", "new.yaml"]).exits(0);
    let last = last_line(&ran.out);
    assert!(last.ends_with("GPUs 4611686014132420609 → 27670116084794523654"), "{last}");
}

/// A reader of a comment needs the file, and not 200 equal rows.
#[test]
fn equal_changes_share_a_row_of_the_comment() {
    let all = |count: &str, last: usize| -> String {
        let model = |number| model(&format!("m{number}")).replace("count: 1", count);
        (0..=last).map(|number| model(number) + "---\n").collect()
    };
    let plan = |last: usize| {
        let sandbox = Sandbox::new().with("old.yaml", all("count: 1", last)).with("new.yaml", all("count: 2", last));
        sandbox.run(&["plan", "old.yaml", "new.yaml", "-o", "markdown"]).exits(0).out
    };
    let rows = |text: &str| -> Vec<String> {
        text.lines().filter(|line| line.starts_with("| `prod/")).map(str::to_owned).collect()
    };
    let few = plan(2);
    assert_eq!(rows(&few).len(), 3, "{few}");
    assert!(rows(&few)[1].starts_with("| `prod/m1`<br>`new.yaml:18` | rolling-restart | "), "{few}");
    let many = plan(199);
    let row =
        "| `prod/m0`<br>`new.yaml:4`<br>`prod/m1`<br>`new.yaml:18`<br>`prod/m2`<br>`new.yaml:32`<br>and 197 more | ";
    assert_eq!(rows(&many).len(), 1, "{many}");
    assert!(rows(&many)[0].starts_with(row), "{many}");
}
