//! Kustomizations that are not built, and the pages of the codes about input. `.ci/clients` runs what needs kustomize.

use std::process::Command;

use crate::sandbox::{PINNED, Sandbox, model};

/// A base with one model, and an overlay that patches it.
fn overlay() -> Sandbox {
    let patch = "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {name: m, namespace: prod}\nspec: {scaling: {replicas: 3}}\n";
    Sandbox::new()
        .with("kubefoundry.yaml", PINNED)
        .with("base/kustomization.yaml", "resources: [m.yaml]\n")
        .with("base/m.yaml", model("m"))
        .with("prod/kustomization.yaml", "resources: [../base]\npatches: [{path: replicas.yaml}]\n")
        .with("prod/replicas.yaml", patch)
}

fn git(sandbox: &Sandbox, arguments: &[&str]) {
    let identity = ["-c", "user.name=n", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"];
    let status = Command::new("git").args(identity).args(arguments).current_dir(sandbox.path(".")).output().unwrap();
    assert!(status.status.success(), "{status:?}");
}

/// Without kustomize, a warning says what was not applied, and only for roots.
#[test]
fn a_kustomization_that_is_not_built_is_a_warning() {
    let sandbox = overlay();
    let ran = sandbox.run(&["lint", ".", "-o", "concise"]).exits(0);
    let expected = "prod/kustomization.yaml:1:1: warning[KF0013] the kustomization prod is not built, because kustomize is not on the PATH; its patch is not applied\n";
    assert_eq!(ran.out, expected);
    sandbox.run(&["lint", ".", "--no-kustomize", "--strict"]).exits(0);
    let off = sandbox.with("off.txt", format!("{PINNED}kustomize: {{build: false}}\n"));
    off.run(&["lint", ".", "--strict", "--config", "off.txt"]).exits(0);
}

/// A plan never calls a model unchanged whose kustomization was not built (D0).
#[test]
fn a_plan_over_an_unbuilt_kustomization_is_unknown() {
    let sandbox = overlay();
    git(&sandbox, &["init", "-q"]);
    git(&sandbox, &["add", "."]);
    git(&sandbox, &["commit", "-qm", "one"]);
    let patch = sandbox.read("prod/replicas.yaml").replace("replicas: 3", "replicas: 30");
    let sandbox = sandbox.with("prod/replicas.yaml", patch);
    let ran = sandbox.run(&["plan", "--git", "HEAD", "."]).exits(0);
    assert!(ran.out.contains("prod/m  unknown") && ran.out.ends_with("1 unknown; GPUs 1\n"), "{}", ran.out);
    sandbox.run(&["plan", "--git", "HEAD", ".", "--fail-on", "unknown"]).exits(1);
    sandbox.run(&["plan", "--git", "HEAD", ".", "--fail-on", "recreate"]).exits(0);
    assert!(ran.out.contains("kustomization prod  not built, so what it changes is unknown"), "{}", ran.out);
}

/// Foreign kustomizations are no concern of kubefoundry.
#[test]
fn a_kustomization_without_models_is_not_built() {
    let sandbox = Sandbox::new()
        .with("web/kustomization.yaml", "resources: [web.yaml, 'https://example.com/x.yaml']\n")
        .with("web/web.yaml", "kind: Service\n");
    assert_eq!(sandbox.run(&["lint", ".", "-o", "concise"]).exits(0).out, "");
}

/// The obstacles are found before kustomize runs: it would fetch, run or read what is named.
#[test]
fn what_a_kustomization_may_not_do_is_found_before_it_runs() {
    let plugin = "apiVersion: example.com/v1\nkind: Plugin\nmetadata: {name: p, annotations: {config.kubernetes.io/function: 'exec: {path: ./p}'}}\n";
    for (extra, reason) in [
        ("resources: [m.yaml, 'https://example.com/x.yaml']\n", "it reads https://example.com/x.yaml from the network"),
        ("resources: [m.yaml]\npatches: [{path: 'https://example.com/x.yaml'}]\n", "from the network"),
        ("resources: [m.yaml, 'github.com/org/repo//x?ref=v1']\n", "from the network"),
        ("resources: [m.yaml]\ntransformers: [plugin.yaml]\n", "it runs a program: Plugin of example.com/v1"),
        ("resources: [m.yaml]\nhelmCharts: [{name: x}]\n", "it renders Helm charts"),
        ("resources: [m.yaml, ../../../etc]\n", "../../etc is outside of the repository"),
        ("resources: [m.yaml]\nconfigMapGenerator: [{name: x, files: [/etc/passwd]}]\n", "/etc/passwd is outside"),
    ] {
        let sandbox = Sandbox::new().with("bin/kustomize", "#!/bin/sh\necho must not run >&2\nexit 1\n");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(sandbox.path("bin/kustomize"), mode).unwrap();
        let sandbox =
            sandbox.with("a/kustomization.yaml", extra).with("a/m.yaml", model("m")).with("a/plugin.yaml", plugin);
        let output =
            sandbox.command(&["lint", "a", "-o", "concise"]).env("PATH", sandbox.path("bin")).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("KF0013") && text.contains(reason), "{extra}: {text}");
    }
}

/// The examples on the pages of these codes behave as the pages say. KF0014 needs kustomize.
#[test]
fn examples_of_the_pages_behave_as_they_say() {
    for (code, text) in [
        ("KF0013", include_str!("../../../docs/codes/KF0013.md")),
        ("KF0015", include_str!("../../../docs/codes/KF0015.md")),
    ] {
        let (example, corrected) = text.split_once("\n## Corrected\n").unwrap();
        let files = |section: &str| {
            let mut sandbox = Sandbox::new();
            for block in section.split("```yaml file=").skip(1) {
                let (name, rest) = block.split_once('\n').unwrap();
                sandbox = sandbox.with(name, rest.split_once("```").unwrap().0);
            }
            sandbox
        };
        let expected = example.split_once("```text\n").unwrap().1.split_once("```").unwrap().0;
        // The page shows the finding of its code; that of KF0013 depends on which program is missing.
        let sandbox = files(example).with("bin/kustomize", "#!/bin/sh\nexit 1\n");
        std::fs::set_permissions(sandbox.path("bin/kustomize"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
        let output =
            sandbox.command(&["lint", ".", "-o", "concise"]).env("PATH", sandbox.path("bin")).output().unwrap();
        let found = String::from_utf8(output.stdout).unwrap();
        assert!(found.contains(expected), "{found}\ndoes not contain\n{expected}");
        let ran = files(corrected).run(&["lint", ".", "--no-kustomize", "-o", "concise"]).exits(0);
        assert!(!ran.out.contains(code), "{}", ran.out);
    }
}

/// The options of a repository apply to what helm renders from its charts.
#[test]
fn a_chart_that_helm_renders_has_the_options_of_its_directory() {
    let helm = format!("#!/bin/sh\n[ \"$*\" = 'template -- chart chart' ] || exit 9\ncat <<'END'\n{}END\n", model("m"));
    let sandbox = Sandbox::new()
        .with("bin/helm", helm)
        .with("kubefoundry.yaml", PINNED.replace("1.4.0", "1.6.1"))
        .with("chart/Chart.yaml", "apiVersion: v2\nname: chart\nversion: 0.1.0\n")
        .with("chart/templates/m.yaml", format!("{{{{ if .Values.on }}}}\n{}{{{{ end }}}}\n", model("m")));
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(sandbox.path("bin/helm"), executable).unwrap();
    let path = format!("{}:/usr/bin:/bin", sandbox.path("bin").display());
    let run = |arguments: &[&str]| {
        let output = sandbox.command(arguments).env("PATH", &path).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    assert_eq!(run(&["lint", ".", "--helm", "-o", "concise"]), (Some(0), String::new()));
    assert_eq!(run(&["images", ".", "--helm"]), (Some(0), "nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.6.1\n".to_owned()));
}
