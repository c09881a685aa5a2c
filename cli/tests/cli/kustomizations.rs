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
    let expected = "prod/kustomization.yaml:1:1: warning[KF0108] the kustomization prod is not built, because kustomize is not on the PATH; its patch is not applied\n";
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

/// Foreign kustomizations do not concern kubefoundry.
#[test]
fn a_kustomization_without_models_is_not_built() {
    let sandbox = Sandbox::new()
        .with("web/kustomization.yaml", "resources: [web.yaml, 'https://example.com/x.yaml']\n")
        .with("web/web.yaml", "kind: Service\n");
    assert_eq!(sandbox.run(&["lint", ".", "-o", "concise"]).exits(0).out, "");
}

/// A repository whose kustomize must not run.
fn with_unused_kustomize(sandbox: Sandbox) -> Sandbox {
    let sandbox = sandbox.with("bin/kustomize", "#!/bin/sh\necho must not run >&2\nexit 1\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(sandbox.path("bin/kustomize"), mode).unwrap();
    sandbox
}

fn lint_with_own_path(sandbox: &Sandbox, arguments: &[&str]) -> (Option<i32>, String) {
    let output = sandbox.command(arguments).env("PATH", sandbox.path("bin")).output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

/// The obstacles are found before kustomize runs: it would fetch or run what is named.
#[test]
fn what_a_kustomization_may_not_do_is_found_before_it_runs() {
    let plugin = "apiVersion: example.com/v1\nkind: Plugin\nmetadata: {name: p, annotations: {config.kubernetes.io/function: 'exec: {path: ./p}'}}\n";
    for (extra, reason) in [
        ("resources: [m.yaml, 'https://example.com/x.yaml']\n", "it reads https://example.com/x.yaml from the network"),
        ("resources: [m.yaml, 'github.com/org/repo//x?ref=v1']\n", "from the network"),
        ("resources: [m.yaml]\ncomponents: ['https://example.com/org/repo//c']\n", "from the network"),
        ("resources: [m.yaml]\ntransformers: [plugin.yaml]\n", "it runs a program: Plugin of example.com/v1"),
        ("resources: [m.yaml]\ntransformers: [plugins]\n", "it runs a program: what plugins builds"),
        ("resources: [m.yaml]\nhelmCharts: [{name: x}]\n", "it renders Helm charts"),
    ] {
        let sandbox = with_unused_kustomize(Sandbox::new())
            .with("a/kustomization.yaml", extra)
            .with("a/m.yaml", model("m"))
            .with("a/plugin.yaml", plugin)
            .with("a/plugins/kustomization.yaml", "resources: [../plugin.yaml]\n");
        let (status, text) = lint_with_own_path(&sandbox, &["lint", "a", "-o", "concise"]);
        assert!(text.contains("warning[KF0108]") && text.contains(reason), "{extra}: {text}");
        assert_eq!(status, Some(0), "{text}");
        let (status, text) = lint_with_own_path(&sandbox, &["lint", "a", "-o", "concise", "--strict"]);
        assert_eq!(status, Some(1), "what is not judged is an error under --strict: {text}");
    }
}

/// What is not understood exactly is never handed to kustomize, which reads keys without regard to case and the last of
/// equal ones (A1).
#[test]
fn what_is_not_understood_is_an_error_at_its_place() {
    let url = "http://127.0.0.1:9/x";
    let cases = [
        ("Resources: [m.yaml]\n".to_owned(), "2:1: ", "\"Resources\" is not a field of a kustomization"),
        ("resources: [m.yaml]\n".replacen('s', "\u{17f}", 1), "2:1: ", "is not a field of a kustomization"),
        ("bases: []\nresources: [m.yaml]\n".to_owned(), "3:1: ", "resources"),
        (
            format!("configMapGenerator:\n- {{name: c, Files: ['k={url}']}}\n"),
            "3:13: ",
            "\"Files\" is not a field of configMapGenerator",
        ),
        (format!("configMapGenerator: [{{name: c, files: ['k={url}']}}]\n"), "2:40: ", "is in the network"),
        (format!("secretGenerator: [{{name: c, envs: ['{url}']}}]\n"), "2:36: ", "is in the network"),
        (format!("secretGenerator: [{{name: c, env: '{url}'}}]\n"), "2:34: ", "is in the network"),
        (format!("patches: [{{path: '{url}'}}]\n"), "2:18: ", "is in the network"),
        (format!("patches: [{{Path: '{url}'}}]\n"), "2:12: ", "\"Path\" is not a field of patches"),
        (format!("patchesStrategicMerge: ['{url}']\n"), "2:25: ", "is in the network"),
        (
            format!("patchesJson6902: [{{target: {{kind: X, name: x}}, path: '{url}'}}]\n"),
            "2:54: ",
            "is in the network",
        ),
        (format!("replacements: [{{path: '{url}'}}]\n"), "2:23: ", "is in the network"),
        (format!("crds: ['{url}']\n"), "2:8: ", "is in the network"),
        (format!("openapi: {{path: '{url}'}}\n"), "2:17: ", "is in the network"),
        (format!("openAPI: {{path: '{url}'}}\n"), "2:1: ", "\"openAPI\" is not a field"),
        (format!("configurations: ['{url}']\n"), "2:18: ", "is in the network"),
        (format!("validators: ['{url}']\n"), "2:14: ", "is in the network"),
        (
            format!(
                "transformers:\n- |\n  apiVersion: builtin\n  kind: PatchTransformer\n  metadata: {{name: p}}\n  path: {url}\n"
            ),
            "3:3: ",
            "is in the network",
        ),
        (
            format!(
                "generators:\n- |\n  apiVersion: builtin\n  kind: ConfigMapGenerator\n  metadata: {{name: p}}\n  FILES: [{url}]\n"
            ),
            "3:3: ",
            "\"FILES\" is not a field of generators",
        ),
        ("patches: [{path: ../../../etc/hostname}]\n".to_owned(), "2:18: ", "leads out of the repository"),
        ("components: [../..]\n".to_owned(), "2:14: ", "leads out of the repository"),
        ("configMapGenerator: [{name: c, files: [/etc/passwd]}]\n".to_owned(), "2:40: ", "leads out of the repository"),
        ("patches: [{path: link}]\n".to_owned(), "2:18: ", "leads out of the repository"),
        ("replacements: [{path: absent.yaml}]\n".to_owned(), "2:23: ", "absent.yaml is not a file"),
        ("namePrefix: {a: b}\nlabels: {a: b}\n".to_owned(), "3:9: ", "labels is a mapping, expected a list"),
        ("components: [../b]\n".to_owned(), "../b/kustomization.yaml:1:13: ", "it includes itself"),
    ];
    for (extra, place, reason) in cases {
        let sandbox = with_unused_kustomize(Sandbox::new())
            .with("a/kustomization.yaml", format!("resources: [m.yaml]\n{extra}"))
            .with("a/m.yaml", model("m"))
            .with("b/kustomization.yaml", "resources: [../a]\n");
        std::fs::create_dir(sandbox.path(".git")).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", sandbox.path("a/link")).unwrap();
        let (status, text) = lint_with_own_path(&sandbox, &["lint", "a", "-o", "concise"]);
        let start = place.strip_prefix("../").map_or_else(|| format!("a/kustomization.yaml:{place}"), str::to_owned);
        assert!(text.starts_with(&format!("{start}error[KF0109] ")) && text.contains(reason), "{extra}: {text}");
        assert_eq!(status, Some(1), "{extra}: {text}");
        // The permission does not help what no permission is about.
        if !reason.contains("network") {
            assert_eq!(lint_with_own_path(&sandbox, &["lint", "a", "--allow-remote"]).0, Some(1), "{extra}");
        }
    }
}

/// A Flux Kustomization in a file of that name is not one for kustomize, which refuses it.
#[test]
fn a_kustomization_of_another_group_is_not_built() {
    let flux =
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: x}\nspec: {path: ./prod}\n";
    let sandbox = with_unused_kustomize(Sandbox::new())
        .with("kubefoundry.yaml", PINNED)
        .with("kustomization.yaml", flux)
        .with("m.yaml", model("m"));
    assert_eq!(lint_with_own_path(&sandbox, &["lint", ".", "-o", "concise"]), (Some(0), String::new()));
    // The last of two versions would count for kustomize.
    let disguised = sandbox.with("kustomization.yaml", format!("{flux}ApiVersion: kustomize.config.k8s.io/v1beta1\n"));
    let (status, text) = lint_with_own_path(&disguised, &["lint", ".", "-o", "concise"]);
    assert!(status == Some(1) && text.contains("KF0109"), "{text}");
}

/// Kustomizations that include each other have no root, and are no less wrong for it (A9).
#[test]
fn a_circle_is_an_error() {
    let sandbox = with_unused_kustomize(Sandbox::new())
        .with("x/kustomization.yaml", "resources: [m.yaml, ../y]\n")
        .with("x/m.yaml", model("m"))
        .with("y/kustomization.yaml", "resources:\n- ../z\n")
        .with("z/kustomization.yaml", "resources:\n- ../x\n");
    let (status, text) = lint_with_own_path(&sandbox, &["lint", ".", "-o", "concise"]);
    assert_eq!((status, text.matches("KF0109").count()), (Some(1), 1), "{text}");
    assert!(text.starts_with("z/kustomization.yaml:2:3: error[KF0109] it includes itself"), "{text}");
}

/// What kustomize would take hours for is counted, and not started (A5).
#[test]
fn a_kustomization_that_multiplies_is_counted() {
    let mut sandbox = with_unused_kustomize(Sandbox::new())
        .with("l0/kustomization.yaml", "resources: [m.yaml]\n")
        .with("l0/m.yaml", model("m"));
    for level in 1..15 {
        let below = level - 1;
        sandbox = sandbox
            .with(&format!("l{level}/kustomization.yaml"), "resources: [a, b]\n")
            .with(&format!("l{level}/a/kustomization.yaml"), format!("namePrefix: a-\nresources: [../../l{below}]\n"))
            .with(&format!("l{level}/b/kustomization.yaml"), format!("namePrefix: b-\nresources: [../../l{below}]\n"));
    }
    let (status, text) = lint_with_own_path(&sandbox, &["lint", ".", "-o", "concise"]);
    let start = "l14/kustomization.yaml:1:1: error[KF0109] the kustomization l14 is too large: it has ";
    assert!(status == Some(1) && text.starts_with(start) && text.contains(" steps to build"), "{text}");
    let files = "k=big.txt, ".repeat(40).split(", ").enumerate().fold(String::new(), |list, (number, entry)| {
        if entry.is_empty() { list } else { format!("{list}{number}{entry}, ") }
    });
    let sandbox = with_unused_kustomize(Sandbox::new())
        .with(
            "kustomization.yaml",
            format!("resources: [m.yaml]\nconfigMapGenerator: [{{name: c, files: [{files}]}}]\n"),
        )
        .with("m.yaml", model("m"))
        .with("big.txt", "x".repeat(2 << 20));
    let (status, text) = lint_with_own_path(&sandbox, &["lint", ".", "-o", "concise"]);
    assert!(status == Some(1) && text.contains(" bytes to read, expected at most 67108864"), "{text}");
}

/// The confined program reaches no file, no service and no descriptor of its user, whichever wall is missing.
#[cfg(target_os = "linux")]
#[test]
fn a_confined_program_reaches_nothing_else() {
    let script = "#!/bin/bash\nread -r line 2>/dev/null <canary && echo \"file $line\"\n(exec 3<>/dev/tcp/127.0.0.1/$1) 2>/dev/null && echo connected\n(echo x >/dev/udp/127.0.0.1/$1) 2>/dev/null && echo sent\n{ read -r line <&7; } 2>/dev/null && echo descriptor\nread -r line <inside && echo \"$line\"\necho \"$PATH.\"\nulimit -v -t -c\n";
    let sandbox = Sandbox::new().with("canary", "secret\n").with("own/inside", "own\n").with("own/run", script);
    let script = script.replace("<canary", &format!("<{}", sandbox.path("canary").display()));
    let sandbox = sandbox.with("own/run", script);
    std::fs::set_permissions(sandbox.path("own/run"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let datagrams = std::net::UdpSocket::bind(format!("127.0.0.1:{port}")).unwrap();
    datagrams.set_nonblocking(true).unwrap();
    listener.set_nonblocking(true).unwrap();
    let own = sandbox.path("own");
    for without in [&[][..], &["--without", "seccomp"], &["--without", "namespace"]] {
        let mut command = sandbox.command(&["confined", "--directory", own.to_str().unwrap()]);
        command.args(without).arg("--").arg(own.join("run")).arg(&port).current_dir(&own).env("PATH", "");
        let output = command.output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{without:?}: {text} {}", String::from_utf8_lossy(&output.stderr));
        let reached = text.lines().find(|line| ["file secret", "connected", "sent", "descriptor"].contains(line));
        assert_eq!(reached, None, "{without:?}: {text}");
        assert!(text.starts_with("own\n.\n"), "{without:?}: {text}");
        assert!(text.contains("2097152") && text.contains("30"), "{without:?}: {text}");
        assert!(listener.accept().is_err() && datagrams.recv(&mut [0; 8]).is_err(), "{without:?}");
    }
}

/// The examples on the pages of these codes behave as the pages say. KF0109 needs kustomize.
#[test]
fn examples_of_the_pages_behave_as_they_say() {
    for (code, text) in [
        ("KF0108", include_str!("../../../docs/codes/KF0108.md")),
        ("KF0110", include_str!("../../../docs/codes/KF0110.md")),
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
        // The page shows the finding of its code; that of KF0108 depends on which program is missing.
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
    let helm = format!(
        "#!/bin/sh\n[ \"$1 $2 $3 ${{4##*/}}\" = 'template -- chart chart' ] || exit 9\ncat <<'END'\n{}END\n",
        model("m")
    );
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
