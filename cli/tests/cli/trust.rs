//! What the authors of the input control may only tighten what judges it, and what is left out is reported.

use std::fs;
use std::process::Command;

use crate::sandbox::{PINNED, Sandbox, broken, doubtful, model};

/// A model whose pods may do what the policy forbids: one error.
fn privileged(name: &str) -> String {
    model(name) + "  securityContext:\n    privileged: true\n"
}

/// Each of these lines in a `kubefoundry.yaml` beside the input loosens what judges it.
const LOOSENING: &[&str] = &[
    "limits: {documents: 250001}",
    "limits: {documentBytes: 4194305}",
    "limits: {nodes: 300000}",
    "limits: {depth: 65}",
    "limits: {aliasNodes: 999999}",
    "limits: {ruleBytes: 5000}",
    "limits: {ruleSteps: 2000000}",
    "kustomize: {build: false}",
    "severities: {KF0108: info}",
    "severities: {unbuilt-kustomization: off}",
    "severities: {KF0110: off}",
    "severities: {KF0111: off}",
    "models: {Qwen/Qwen3-8B: {layers: 12}}",
    "models: {qwen/qwen3-8b: {like: Qwen/Qwen3-32B}}",
    "gpus: {products: {NVIDIA-L4: {memory: 96Gi}}}",
    "gpus: {products: {l4-24gb: {memory: 24Gi, computeCapability: \"9.9\"}}}",
    "gpus: {products: {H100-SXM-80GB: {memory: 80Gi, vendor: amd}}}",
    "actor: {gatewayURL: \"http://198.51.100.9/x\"}",
    "actor: {transports: {q: {type: rabbitmq, enabled: true, config: {host: queue.example.com}}}}",
    "actor: {transports: {q: {type: sqs, enabled: true, config: {region: eu-west-1, endpoint: \"https://example.com\"}}}}",
];

#[test]
fn a_found_file_may_not_loosen_and_a_named_one_may() {
    for line in LOOSENING {
        let text = format!("{PINNED}{line}\n");
        let sandbox = Sandbox::new().with("m.yaml", model("m")).with("kubefoundry.yaml", &text);
        for command in [&["lint", "."][..], &["render", "m.yaml"]] {
            let ran = sandbox.run(command).exits(2);
            let report = ran.out + &ran.err;
            assert!(report.contains("error[KF0804]") && report.contains("--config"), "{line}: {report}");
        }
        let named = Sandbox::new().with("in/m.yaml", model("m")).with("options.yaml", &text);
        let ran = named.run(&["lint", "in", "--config", "options.yaml", "-o", "concise"]).exits(0);
        assert!(!ran.out.contains("KF0804"), "{line}: {}", ran.out);
    }
}

#[test]
fn a_found_file_may_tighten_and_fill_in_what_is_unknown() {
    for line in [
        "limits: {depth: 30, nodes: 1000, ruleSteps: 9000}",
        "severities: {KF0108: error, KF0110: warning}",
        "kustomize: {build: true}",
        "models: {org/m: {heads: 16, layers: 4}}",
        "models: {Qwen/Qwen3-8B: {heads: 32}}",
        "gpus: {products: {Acme-9: {memory: 96Gi}}, default: Acme-9}",
        "actor: {gatewayURL: http://gateway.asya.svc}",
    ] {
        let sandbox = Sandbox::new().with("m.yaml", model("m")).with("kubefoundry.yaml", format!("{PINNED}{line}\n"));
        let ran = sandbox.run(&["lint", ".", "-o", "concise"]).exits(0);
        assert!(!ran.out.contains("KF0804"), "{line}: {}", ran.out);
    }
    let deep = model("m") + &format!("  x: {}1{}\n", "[".repeat(40), "]".repeat(40));
    let sandbox =
        Sandbox::new().with("m.yaml", deep).with("kubefoundry.yaml", format!("{PINNED}limits: {{depth: 20}}\n"));
    assert!(sandbox.run(&["lint", "."]).exits(1).out.contains("KF0104"));
}

/// No source sets a limit above its ceiling, and the run stays small with what the authors of the input wrote there (A2).
#[test]
fn limits_have_a_ceiling() {
    let mut bomb = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1]\n".to_owned();
    for level in 1..9 {
        let aliases = vec![format!("*a{}", level - 1); 8].join(", ");
        bomb += &format!("a{level}: &a{level} [{aliases}]\n");
    }
    let nested = format!("x: {}{}\n", "[".repeat(300_000), "]".repeat(300_000));
    let limits = "limits: {aliasNodes: 8000000000, nodes: 8000000000, documentBytes: 8000000000, depth: 90000000}\n";
    for text in [model("m") + &bomb, model("m") + &nested] {
        let sandbox = Sandbox::new().with("in/m.yaml", text).with("options.yaml", format!("{PINNED}{limits}"));
        let ran = sandbox.run(&["lint", "in", "--config", "options.yaml", "-o", "concise"]).exits(2);
        assert_eq!(ran.out.matches("error[KF0116]").count(), 4, "{}", ran.out);
        let found = sandbox.with("in/kubefoundry.yaml", format!("{PINNED}{limits}"));
        assert!(found.run(&["lint", "in"]).exits(2).out.contains("error[KF0116]"));
    }
}

/// The deepest document that any setting allows overflows no stack, in any spelling and on any thread.
#[test]
fn the_deepest_document_is_read() {
    const LEVELS: usize = 980;
    let sequences = "[".repeat(LEVELS) + &"]".repeat(LEVELS);
    let mappings = "{a: ".repeat(LEVELS) + "1" + &"}".repeat(LEVELS);
    let mixed = "[{a: ".repeat(LEVELS / 2) + "1" + &"}]".repeat(LEVELS / 2);
    let block: String = (0..LEVELS).map(|level| format!("{}a:\n", " ".repeat(level + 3))).collect();
    let patch = |value: &str| {
        let target = "target: {kind: DynamoGraphDeployment}";
        format!("  provider:\n    patches:\n    - {target}\n      patch:\n        metadata: {{annotations: {value}}}\n")
    };
    // Above the size of a chunk, documents are compiled on threads with a smaller stack.
    let many: String = (0..200).map(|number| format!("---\n{}", model(&format!("n{number}")))).collect();
    let options = format!("{PINNED}limits: {{depth: 1000, documentBytes: 60000000, nodes: 2000000}}\noutput: append\n");
    for value in [&sequences, &mappings, &mixed] {
        let config_map = format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: deep}}\ndata: {value}\n");
        let unknown = format!("---\n{}  unknown: {value}\n", model("m"));
        let patched = format!("---\n{}{}", model("p"), patch(value));
        let blocks = format!("---\napiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nspec:\n  x:\n{block}");
        for documents in [config_map, unknown, patched, blocks] {
            let text = format!("{many}{documents}{many}").replace("\n---\n---\n", "\n---\n");
            let sandbox = Sandbox::new().with("m.yaml", text).with("o.yaml", &options);
            for command in ["lint", "render", "explain"] {
                let ran = sandbox.run(&[command, "m.yaml", "--config", "o.yaml"]);
                assert!(matches!(ran.code, Some(0..=2)), "{command}: {:?} {}", ran.code, ran.err);
            }
        }
    }
}

/// A3a: a found file cannot have the overlay left unbuilt that loosens a pod.
#[test]
fn a_found_file_cannot_turn_building_off() {
    let sandbox = Sandbox::new()
        .with("base/m.yaml", model("m"))
        .with("base/kustomization.yaml", "resources: [m.yaml]\n")
        .with("prod/kustomization.yaml", "resources: [../base]\nnamePrefix: x-\n")
        .with("kubefoundry.yaml", format!("{PINNED}kustomize:\n  build: false\n"));
    let ran = sandbox.run(&["lint", ".", "-o", "concise"]).exits(2);
    assert!(ran.out.contains("kubefoundry.yaml:5:3: error[KF0804]") && ran.out.contains("KF0108"), "{}", ran.out);
    fs::write(sandbox.path("kubefoundry.yaml"), PINNED).unwrap();
    let ran = sandbox.run(&["lint", ".", "--no-kustomize", "-o", "concise"]).exits(0);
    assert_eq!(ran.out, "");
}

/// What was not judged is an error with `--strict`, whatever any options say (A3c).
#[test]
fn what_was_not_judged_never_passes_strictly() {
    let off = format!("{PINNED}severities: {{KF0108: off, KF0110: off, KF0111: off}}\n");
    let kustomized =
        Sandbox::new().with("in/m.yaml", model("m")).with("in/kustomization.yaml", "resources: [m.yaml]\n");
    let template = format!("{{{{- if .Values.on }}}}\n{}{{{{- end }}}}\n", model("m"));
    let templated = Sandbox::new().with("in/m.yaml", template).with("in/other.yaml", model("other"));
    let excluded = Sandbox::new()
        .with("in/m.yaml", model("m"))
        .with("in/old/o.yaml", broken("o"))
        .with("in/kubefoundry.yaml", format!("{PINNED}exclude: [old/]\n"));
    // The last one is at a place in the options, whose errors have a status of their own.
    for (sandbox, code, status) in [(kustomized, "KF0108", 1), (templated, "KF0110", 1), (excluded, "KF0111", 2)] {
        let sandbox = sandbox.with("o.yaml", &off);
        sandbox.run(&["lint", "in", "--config", "o.yaml"]).exits(0);
        for extra in [&["--config", "o.yaml"][..], &["--ignore", code, "--quiet"], &["--select", "KF0503"]] {
            let ran = sandbox.run(&[&["lint", "in", "--strict"], extra].concat()).exits(status);
            assert!(ran.out.contains(&format!("error[{code}]")), "{code} {extra:?}: {}", ran.out);
        }
    }
}

/// A3b: what `exclude` and `include` leave out is counted, in every format.
#[test]
fn what_options_leave_out_is_said() {
    for selection in ["exclude: ['*']\nallowEmpty: true", "include: [nothing]", "exclude:\n- /models/"] {
        let sandbox = Sandbox::new()
            .with("models/m.yaml", privileged("m"))
            .with("models/kustomization.yaml", "resources: [m.yaml]\n")
            .with("models/values.yaml", "a: 1\n")
            .with("kubefoundry.yaml", format!("{PINNED}{selection}\n"));
        let ran = sandbox.run(&["lint", ".", "-o", "concise"]).exits(0);
        let expected = "info[KF0111] include and exclude leave out 3 files, 2 of which may hold objects of kubefoundry";
        assert!(ran.out.contains(&format!("kubefoundry.yaml:4:1: {expected}")), "{selection}: {}", ran.out);
        for (format, counted) in [
            ("text", ", 1 part of the input not judged\n"),
            ("json", "\"notJudged\": 1"),
            ("sarif", "\"notJudged\": 1"),
            ("github", "::notice title=kubefoundry::1 part of the input not judged\n"),
            ("junit", "errors=\"0\" skipped=\"1\""),
            ("gitlab", "KF0111"),
        ] {
            let ran = sandbox.run(&["lint", ".", "-o", format]).exits(0);
            assert!(ran.out.contains("KF0111") && ran.out.contains(counted), "{format}: {}", ran.out);
            if !matches!(format, "junit" | "gitlab") {
                let ran = sandbox.run(&["lint", ".", "-o", format, "--min-severity", "warning"]).exits(0);
                assert!(!ran.out.contains("[KF0111]") && ran.out.contains(counted), "{format}: {}", ran.out);
            }
        }
        // The user's own decision is not a finding.
        let named = sandbox.run(&["lint", ".", "--isolated", "--exclude", "models/"]).exits(0);
        assert!(!named.out.contains("KF0111"), "{}", named.out);
    }
    let harmless = Sandbox::new()
        .with("m.yaml", model("m"))
        .with("vendor/a.yaml", "a: 1\n")
        .with("vendor/b.json", "{}\n")
        .with("kubefoundry.yaml", format!("{PINNED}exclude: [vendor/]\n"));
    let ran = harmless.run(&["lint", ".", "--strict"]).exits(0);
    assert!(ran.err.contains("kubefoundry.yaml: its include and exclude leave out 2 files\n"), "{}", ran.err);
    assert_eq!(harmless.run(&["lint", ".", "--quiet"]).exits(0).err, "");
}

/// A3d: git, Flux and Argo CD use what is tracked, whether it is ignored or hidden.
#[test]
fn tracked_files_are_never_left_out() {
    let files = ["live/a.yaml", ".deploy/b.yaml", "deep/.x/y/c.yaml", "build/.h/d.yaml", "e.local.yaml", ".f.yaml"];
    let mut sandbox = Sandbox::new()
        .with("kubefoundry.yaml", PINNED)
        .with(".gitignore", "live/\n/build\n*.local.yaml\n")
        .with(".github/workflows/ci.yml", "on: push\njobs: {a: {steps: [{run: 'x ${{ y }}'}]}}\n");
    for (number, file) in files.iter().enumerate() {
        sandbox = sandbox.with(file, privileged(&format!("m{number}")));
    }
    let before = sandbox.run(&["lint", ".", "-o", "concise"]).exits(0);
    assert_eq!(before.out, "");
    assert!(before.err.contains("3 files and directories are left out by .gitignore files"), "{}", before.err);
    let sandbox = sandbox.committed();
    // Not tracked, and so not mentioned.
    fs::write(sandbox.path("live/untracked.yaml"), privileged("u")).unwrap();
    fs::create_dir(sandbox.path(".venv")).unwrap();
    fs::write(sandbox.path(".venv/v.yaml"), privileged("v")).unwrap();
    for arguments in [&["lint", "."][..], &["lint", "--git", "HEAD"], &["lint", "--git", "HEAD..HEAD", "."]] {
        let ran = sandbox.run(&[arguments, &["-o", "concise"]].concat()).exits(1);
        for file in files {
            assert!(ran.out.contains(&format!("{file}:")), "{arguments:?} {file}: {}", ran.out);
        }
        assert!(!ran.out.contains("untracked") && !ran.out.contains(".venv"), "{}", ran.out);
        assert_eq!((ran.out.matches("KF0612").count(), &*ran.err), (6, ""), "{}", ran.out);
    }
    // From a directory below the root, and of one.
    let below =
        sandbox.command(&["lint", "../live", "-o", "concise"]).current_dir(sandbox.path("deep")).output().unwrap();
    assert!(String::from_utf8(below.stdout).unwrap().contains("live/a.yaml:"));
    // Without git, the ignore files hold, and what they leave out is counted.
    let without = sandbox.command(&["lint", "."]).env("PATH", "").output().unwrap();
    assert_eq!(without.status.code(), Some(0));
    assert!(String::from_utf8(without.stderr).unwrap().contains("git cannot tell which are tracked"));
}

/// A5b: the patterns of a run have one budget.
#[test]
fn patterns_have_one_budget() {
    let lines: String = (0..30_000).map(|number| format!("*q{number}r*s\n")).collect();
    let mut nested = Sandbox::new().with("m.yaml", model("m")).with("kubefoundry.yaml", PINNED);
    let mut folder = String::new();
    for _ in 0..12 {
        folder += "d/";
        nested = nested.with(&format!("{folder}.gitignore"), &lines);
    }
    let ran = nested.run(&["lint", "."]).exits(2);
    assert!(
        ran.err.contains("d/d/.gitignore: the .gitignore files of a run have more than 50000 patterns"),
        "{}",
        ran.err
    );
    let long_line = Sandbox::new().with("m.yaml", model("m")).with(".gitignore", "[ab]".repeat(100_000));
    assert!(long_line.run(&["lint", "."]).exits(2).err.contains("a line of more than 4096 bytes"));

    let globs = |count: usize| (0..count).map(|number| format!("'a{number}*b'")).collect::<Vec<_>>().join(", ");
    for key in ["exclude", "include", "environments"] {
        for patterns in [globs(90_000), format!("'{}'", "[ab]".repeat(400_000)), format!("'{}'", "?".repeat(5_000))] {
            let options = format!("{PINNED}{key}: [{patterns}]\n");
            let sandbox =
                Sandbox::new().with("m.yaml", model("m")).with("kubefoundry.yaml", &options).with("o.yml", &options);
            for arguments in [&["lint", "."][..], &["lint", "m.yaml", "--isolated", "--config", "o.yml"]] {
                let ran = sandbox.run(arguments).exits(2);
                assert!(ran.err.contains("a list has more than ") && ran.err.contains("judged"), "{key}: {}", ran.err);
            }
        }
    }
    let mut folders = Sandbox::new();
    let options = format!("{PINNED}exclude: [{}]\n", globs(250));
    for number in 0..90 {
        folders = folders.with(&format!("f{number}/kubefoundry.yaml"), &options);
        folders = folders.with(&format!("f{number}/m.yaml"), model("m"));
    }
    let ran = folders.run(&["lint", "."]).exits(2);
    assert!(ran.err.contains("the lists of a run have more than 20000 patterns"), "{}", ran.err);
}

/// A5d: what options name is a regular file.
#[test]
fn a_pipe_in_the_place_of_a_model_config() {
    let pipe = |sandbox: &Sandbox, name: &str| {
        fs::create_dir_all(sandbox.path(name).parent().unwrap()).unwrap();
        assert!(Command::new("mkfifo").arg(sandbox.path(name)).status().unwrap().success());
    };
    let options = format!("{PINNED}models: {{org/m: {{config: c/config.json}}}}\n");
    let sandbox = Sandbox::new().with("m.yaml", model("m")).with("kubefoundry.yaml", options);
    pipe(&sandbox, "c/config.json");
    pipe(&sandbox, "models/org/n/config.json");
    let refused = "config.json: is not a regular file, so it is not read";
    assert!(sandbox.run(&["lint", "."]).exits(2).err.contains(refused));
    let ran = sandbox.run(&["lint", "m.yaml", "--isolated", "--model-config", "models"]).exits(2);
    assert!(ran.err.contains(refused), "{}", ran.err);
}

/// A repository whose base has options, a baseline and an ignored warning.
fn base() -> Sandbox {
    let options = format!("{PINNED}exclude: [old/]\nseverities: {{KF0211: warning}}\n");
    Sandbox::new()
        .with("kubefoundry.yaml", options)
        .with(
            "m.yaml",
            doubtful("m").replace("  name: m\n", "  name: m\n  annotations: {kubefoundry.ai/lint-ignore: KF0211}\n"),
        )
        .with("old/o.yaml", broken("o"))
        .committed()
}

/// A pull request cannot loosen what judges it.
#[test]
fn what_judges_a_change_is_that_of_the_base() {
    let sandbox = base();
    let lint = |sandbox: &Sandbox, more: &[&str]| {
        sandbox.run(&[&["lint", "--git", "HEAD", "-o", "concise", "--strict"], more].concat())
    };
    let ran = lint(&sandbox, &[]).exits(0);
    assert_eq!(ran.out, "");
    assert!(ran.err.contains("leave out 1 file"), "{}", ran.err);
    // The change turns everything off, and ignores its own warning.
    let off = format!("{PINNED}exclude: ['*']\nallowEmpty: true\nseverities: {{KF0211: off}}\n");
    let ignoring =
        doubtful("new").replace("  name: new\n", "  name: new\n  annotations: {kubefoundry.ai/lint-ignore: KF0211}\n");
    let sandbox = sandbox.with("kubefoundry.yaml", off).with("n.yaml", &ignoring).with("old/p.yaml", privileged("p"));
    let ran = lint(&sandbox, &[]).exits(1);
    assert!(ran.out.contains("n.yaml:16:5: error[KF0211]"), "{}", ran.out);
    assert!(ran.out.contains("old/p.yaml:") && !ran.out.contains("old/o.yaml"), "{}", ran.out);
    assert!(!ran.out.lines().any(|line| line.starts_with("m.yaml")), "{}", ran.out);
    assert!(ran.err.contains("kubefoundry.yaml: read from HEAD; what the change does"), "{}", ran.err);
    let loose = sandbox.run(&["lint", ".", "-o", "concise"]).exits(0);
    assert!(!loose.out.contains("KF0211") && loose.out.contains("KF0111"), "{}", loose.out);
    // The same of two commits.
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "change"]);
    let committed = sandbox.run(&["lint", "--git", "HEAD~1..HEAD", "-o", "concise", "--strict"]).exits(1);
    assert_eq!(committed.out, ran.out);
    let merge_base = sandbox.run(&["lint", "--git", "HEAD~1...HEAD", ".", "-o", "concise", "--strict"]).exits(1);
    assert_eq!(merge_base.out, ran.out);
}

/// An annotation that the change extends is not believed, and one that it keeps is.
#[test]
fn only_annotations_of_the_base_ignore() {
    let sandbox = base();
    let text = sandbox.read("m.yaml");
    let moved = sandbox.with("m.yaml", format!("# a new line\n{text}"));
    moved.run(&["lint", "--git", "HEAD", "--strict"]).exits(0);
    let renamed = moved.with("m.yaml", text.replace("name: m\n", "name: renamed\n"));
    let ran = renamed.run(&["lint", "--git", "HEAD", "--strict"]).exits(1);
    assert!(ran.out.contains("KF0211"), "{}", ran.out);
}

/// `--baseline` and `--config` are those of the base if the repository has them; elsewhere, the user's.
#[test]
fn named_files_of_the_repository_are_those_of_the_base() {
    let strict = "apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\nruntimes: {dynamo: 1.4.0}\nstrict: true\n";
    let sandbox = Sandbox::new().with("m.yaml", doubtful("m")).with("ci.yml", strict);
    sandbox.run(&["lint", "m.yaml", "--config", "ci.yml", "--write-baseline", "known.json"]);
    let sandbox = sandbox.committed().with("n.yaml", doubtful("new"));
    let known = sandbox.read("known.json");
    let loosened = sandbox.with("ci.yml", strict.replace("strict: true", "severities: {KF0211: off}"));
    let lint = |sandbox: &Sandbox| {
        sandbox.run(&["lint", "--git", "HEAD", ".", "--config", "ci.yml", "--baseline", "known.json", "-o", "concise"])
    };
    let ran = lint(&loosened).exits(1);
    assert!(ran.out.contains("n.yaml:") && !ran.out.contains("m.yaml:") && !ran.out.contains("KF0805"), "{}", ran.out);
    let hiding = loosened.with("known.json", known.replace("m.yaml", "n.yaml"));
    assert_eq!(lint(&hiding).exits(1).out, ran.out);
    // plan reads the same file for both of its sides.
    let planned = hiding.run(&["plan", "--git", "HEAD", ".", "--config", "ci.yml"]);
    assert!(planned.err.contains("ci.yml: read from HEAD"), "{planned:?}");
    // Without a base, it is reported.
    let ran = hiding.run(&["lint", ".", "--config", "ci.yml", "-o", "concise"]).exits(0);
    assert!(ran.out.contains("ci.yml:1:1: info[KF0805]"), "{}", ran.out);
    let elsewhere = Sandbox::new().with("ci.yml", strict);
    let named = elsewhere.path("ci.yml");
    let ran = hiding.run(&["lint", ".", "--isolated", "--config", named.to_str().unwrap(), "-o", "concise"]).exits(1);
    assert!(!ran.out.contains("KF0805"), "{}", ran.out);
}

/// The messages are those of `plan`.
#[test]
fn revisions_are_named_as_in_plan() {
    let sandbox = base();
    for revisions in ["nothing", "main..nothing", "--output=x", "a....b"] {
        let planned = sandbox.run(&["plan", &format!("--git={revisions}"), "."]).exits(2);
        let linted = sandbox.run(&["lint", &format!("--git={revisions}"), "."]).exits(2);
        assert_eq!((linted.err, &*linted.out), (planned.err, ""), "{revisions}");
    }
    assert!(sandbox.run(&["lint", "--git", "HEAD", "-"]).exits(2).err.contains("cannot read standard input"));
    assert!(sandbox.run(&["lint", "--git", "HEAD", "missing.yaml"]).exits(2).err.contains("neither revision contains"));
    sandbox.run(&["lint", "--git", "HEAD", "--fix"]).exits(2);
}

/// Options that the change brings decide nothing about its own findings.
#[test]
fn options_that_a_change_adds_lower_no_severity() {
    let sandbox =
        Sandbox::new().with("kubefoundry.yaml", PINNED.to_owned() + "strict: true\n").with("m.yaml", model("m"));
    let added = "apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\nseverities: {KF0211: off}\nstrict: false\n";
    let sandbox = sandbox.committed().with("new/kubefoundry.yaml", added).with("new/n.yaml", doubtful("new"));
    sandbox.run(&["lint", "."]).exits(0);
    let ran = sandbox.run(&["lint", "--git", "HEAD", "-o", "concise"]).exits(1);
    assert!(ran.out.contains("new/n.yaml:15:5: error[KF0211]"), "{}", ran.out);
    assert!(ran.err.contains("new/kubefoundry.yaml: the change adds it"), "{}", ran.err);
    let raised = sandbox.with("new/kubefoundry.yaml", added.replace("off", "error"));
    raised.run(&["lint", "--git", "HEAD"]).exits(1);
}

/// The examples on the pages of these codes behave as the pages say.
#[test]
fn examples_of_the_pages_behave_as_they_say() {
    let pages: [(&str, &str, &[&str], &[&str]); 2] = [
        ("KF0111", include_str!("../../../docs/codes/KF0111.md"), &["."], &[".", "--exclude", "prod/"]),
        (
            "KF0805",
            include_str!("../../../docs/codes/KF0805.md"),
            &[".", "--config", "ci/options.yaml"],
            &["models", "--config", "ci/options.yaml"],
        ),
    ];
    for (code, page, failing, correct) in pages {
        let (example, corrected) = page.split_once("\n## Corrected\n").unwrap();
        for (section, arguments) in [(example, failing), (corrected, correct)] {
            let mut sandbox = Sandbox::new();
            for block in section.split("```yaml file=").skip(1) {
                let (name, rest) = block.split_once('\n').unwrap();
                sandbox = sandbox.with(name, rest.split_once("```").unwrap().0);
            }
            let ran = sandbox.run(&[&["lint", "-o", "concise"], arguments].concat());
            match section.split_once("```text\n") {
                Some((_, report)) => assert!(ran.out.contains(report.split_once("```").unwrap().0), "{}", ran.out),
                None => assert!(!ran.out.contains(code), "{}", ran.out),
            }
        }
    }
}
