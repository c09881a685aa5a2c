//! `init`: what it writes has no findings and is rendered, and it overwrites nothing.

use std::fs;
use std::path::Path;
use std::process::Command;

use kubefoundry_yaml::{Limits, parse};
use serde_json::Value;

use crate::sandbox::{Sandbox, skipped};

const GGUF: &str = "unsloth/gemma-3-1b-it-GGUF/gemma-3-1b-it-Q4_K_M.gguf";

/// Runs `init` in `out` and returns the paths of the files.
fn init(sandbox: &Sandbox, arguments: &[&str]) -> Vec<String> {
    sandbox.run(&[&["init", "out"], arguments].concat()).exits(0);
    sandbox.files("out")
}

fn read_yaml(sandbox: &Sandbox, file: &str) -> Value {
    let text = sandbox.read(file);
    parse(&text, &Limits::default()).documents[0].root.to_json()
}

#[test]
fn what_it_writes_has_no_findings_and_is_rendered() {
    for (arguments, kind) in [
        (&["--model", "Qwen/Qwen3-8B"][..], "DynamoGraphDeployment"),
        (&["--model", "Qwen/Qwen3-32B", "--provider", "dynamo", "--namespace", "chat"], "DynamoGraphDeployment"),
        (&["--model", "Qwen/Qwen3-8B", "--engine", "sglang"], "DynamoGraphDeployment"),
        (&["--model", "Qwen/Qwen3-8B", "--engine", "trtllm"], "DynamoGraphDeployment"),
        (&["--model", "meta-llama/Llama-3.1-8B-Instruct"], "DynamoGraphDeployment"),
        (&["--model", "acme/private", "--gpus", "2"], "DynamoGraphDeployment"),
        (&["--model", "microsoft/Phi-4-mini-instruct", "--provider", "kaito"], "Workspace"),
        (&["--model", "meta-llama/Llama-3.1-8B-Instruct", "--provider", "kaito"], "Workspace"),
        (&["--model", "Qwen/Qwen3-32B", "--provider", "kaito", "--gpus", "2"], "Workspace"),
        (&["--model", GGUF], "Workspace"),
        (&["--model", GGUF, "--provider", "kaito", "--gpus", "1"], "Workspace"),
        (&["--model", "Qwen/Qwen3-8B", "--provider", "kuberay"], "RayService"),
        (&["--model", "meta-llama/Llama-3.1-70B-Instruct", "--provider", "kuberay"], "RayService"),
    ] {
        let sandbox = Sandbox::new();
        let files = init(&sandbox, arguments);
        assert_eq!(files.len(), 2, "{files:?}");
        let lint = sandbox.run(&["lint", "--strict", "--fail-on", "warning", "--output", "json", "out"]).exits(0);
        let report: Value = serde_json::from_str(&lint.out).unwrap();
        assert_eq!(report["diagnostics"], Value::Array(Vec::new()), "{arguments:?}");
        assert!(sandbox.run(&["render", "out"]).exits(0).kinds().contains(&kind), "{arguments:?}");
    }
}

/// A field that is commented out is one that a reader may want, so it must be right when the `#` is removed.
#[test]
fn fields_in_comments_are_accepted() {
    for arguments in
        [&["--model", "Qwen/Qwen3-8B"][..], &["--model", GGUF], &["--model", "Qwen/Qwen3-8B", "--provider", "kaito"]]
    {
        let sandbox = Sandbox::new();
        let mut uncommented = 0;
        for file in init(&sandbox, arguments) {
            let file = format!("out/{file}");
            let text = sandbox.read(&file);
            let is_field = |line: &str| {
                line.split_once(':').is_some_and(|(key, _)| key.trim().bytes().all(|byte| byte.is_ascii_alphanumeric()))
            };
            let lines = text.lines().map(|line| match line.trim_start().strip_prefix("# ") {
                Some(rest) if is_field(rest) => {
                    uncommented += 1;
                    format!("{}{rest}\n", &line[..line.len() - line.trim_start().len()])
                }
                _ => format!("{line}\n"),
            });
            let text: String = lines.collect();
            fs::write(sandbox.path(&file), text).unwrap();
        }
        assert!(uncommented >= 4, "{uncommented}");
        let ran = sandbox.run(&["lint", "--fail-on", "warning", "out"]).exits(0);
        assert!(!ran.out.contains("KF"), "{}", ran.out);
    }
}

#[test]
fn a_known_model_has_a_number_of_gpus() {
    let sandbox = Sandbox::new();
    init(&sandbox, &["--model", "meta-llama/Llama-3.1-70B-Instruct"]);
    let model = read_yaml(&sandbox, "out/models/llama-3-1-70b-instruct.yaml");
    assert!(model["spec"]["resources"]["gpu"]["count"].as_u64().unwrap() >= 2, "{model}");
    assert_eq!(model["spec"]["secrets"]["huggingFaceToken"], "hf-token");
    let text = sandbox.read("out/models/llama-3-1-70b-instruct.yaml");
    assert!(text.contains("One replica fits on ") && text.contains("with a context of 131072 tokens."), "{text}");
}

#[test]
fn it_prints_what_it_created_and_what_is_next() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["init", "out", "--model", "org/a", "--gpus", "1", "--ci", "github"]).exits(0);
    assert_eq!(ran.err, "");
    insta::assert_snapshot!(ran.out, @r"
    created out/models/a.yaml
    created out/kubefoundry.yaml
    created out/.github/workflows/kubefoundry.yml

    Next:
      kubefoundry lint out
          checks the files, as CI should
      kubefoundry explain out/models/a.yaml
          shows which provider runs the model, and what is rendered
      kubefoundry render out | kubectl apply -f -
          runs the model
      grep -n platform/kubefoundry out/.github/workflows/kubefoundry.yml
          finds the action in the workflow: name the repository that has it for you
    ");
    assert_eq!(sandbox.files("out"), [".github/workflows/kubefoundry.yml", "kubefoundry.yaml", "models/a.yaml"]);
    let ran = sandbox.run(&["init", "my models", "--model", "org/a", "--gpus", "1"]).exits(0);
    assert!(ran.out.contains("  kubefoundry lint 'my models'\n"), "{}", ran.out);
}

#[test]
fn it_overwrites_nothing() {
    let arguments = ["init", "out", "--model", "org/a", "--gpus", "1", "--ci", "gitlab"];
    for existing in ["out/models/a.yaml", "out/kubefoundry.yaml", "out/.gitlab-ci.yml"] {
        let sandbox = Sandbox::new().with(existing, "mine\n");
        let ran = sandbox.run(&arguments).exits(2);
        assert_eq!(
            ran.err,
            format!("kubefoundry: {existing}: not overwritten, because it exists; nothing was written\n")
        );
        assert_eq!(ran.out, "");
        assert_eq!(sandbox.files("out"), [existing.strip_prefix("out/").unwrap()]);
        assert_eq!(sandbox.read(existing), "mine\n");
    }
}

/// A link could lead out of the directory.
#[cfg(unix)]
#[test]
fn it_does_not_write_through_links() {
    use std::os::unix::fs::symlink;
    let sandbox = Sandbox::new().with("elsewhere/kept", "").with("out/README", "");
    symlink("../elsewhere", sandbox.path("out/models")).unwrap();
    let ran = sandbox.run(&["init", "out", "--model", "org/a", "--gpus", "1"]).exits(2);
    assert!(ran.err.contains("out/models: is a symbolic link"), "{}", ran.err);
    assert_eq!(sandbox.files("elsewhere"), ["kept"]);
    let sandbox = Sandbox::new().with("out/README", "");
    symlink("nowhere", sandbox.path("out/kubefoundry.yaml")).unwrap();
    sandbox.run(&["init", "out", "--model", "org/a", "--gpus", "1"]).exits(2);
    assert!(!sandbox.path("out/nowhere").exists() && !sandbox.path("out/models").exists());
}

#[test]
fn a_missing_flag_is_named() {
    for (arguments, flag) in [
        (&["init", "out"][..], "--model"),
        (&["init", "out", "--engine", "vllm", "--gpus", "1"], "--model"),
        (&["init", "out", "--model", "acme/private"], "--gpus"),
        (&["init", "out", "--model", "acme/模型", "--gpus", "1"], "--name"),
    ] {
        let sandbox = Sandbox::new();
        let ran = sandbox.run(arguments).exits(2);
        let start = format!("kubefoundry: {flag} is required where standard input is not a terminal: ");
        assert!(ran.err.starts_with(&start) && ran.out.is_empty(), "{ran:?}");
        assert!(!sandbox.path("out").exists());
    }
}

/// The findings of the compiler are the answer to what does not go together.
#[test]
fn what_has_findings_is_not_written() {
    for (arguments, message) in [
        (
            &["--model", "org/a", "--engine", "sglang", "--provider", "kuberay", "--gpus", "1"][..],
            "error[KF0409]: KubeRay",
        ),
        (&["--model", "org/a", "--engine", "sglang", "--provider", "kaito"], "error[KF0409]: KAITO"),
        (&["--model", "org/a", "--gpus", "0"], "error[KF02"),
        (&["--model", "org/a", "--gpus", "1", "--name", "../a"], "error[KF0117]: metadata.name is \"../a\""),
        (&["--model", "org/a", "--gpus", "1", "--name", "a\nb: c"], "error[KF0117]: metadata.name is \"a\\nb: c\""),
        (&["--model", "org/a", "--gpus", "1", "--namespace", "a b"], "error[KF0117]: metadata.namespace is \"a b\""),
        (&["--model", "org/a\nkind: Secret", "--gpus", "1", "--name", "a"], "error[KF0213]: spec.model.id is"),
        (&["--model", "org/a: {b: c}", "--gpus", "1", "--name", "a"], "error[KF0213]: spec.model.id is"),
    ] {
        let sandbox = Sandbox::new();
        let ran = sandbox.run(&[&["init", "out"], arguments].concat()).exits(2);
        assert!(ran.err.contains(message), "{arguments:?}: {}", ran.err);
        assert!(ran.err.ends_with("kubefoundry: nothing was written, because the files would have these findings\n"));
        assert!(ran.out.is_empty() && !sandbox.path("out").exists());
    }
}

/// Values of flags are written by the YAML writer, so that none becomes a key or a comment.
#[test]
fn a_value_stays_a_value() {
    for id in [
        "org/\"quoted\"",
        "org/a'b",
        "org/#a",
        "org/{a}",
        "123",
        "on",
        "org/a:b",
        "&anchor",
        "!tag",
        "%directive",
        "`x`",
    ] {
        let sandbox = Sandbox::new();
        let ran = sandbox.run(&["init", "out", "--model", id, "--gpus", "1", "--name", "a"]);
        match ran.code {
            Some(0) => assert_eq!(read_yaml(&sandbox, "out/models/a.yaml")["spec"]["model"]["id"], id),
            code => {
                assert_eq!(code, Some(2), "{ran:?}");
                assert!(ran.err.contains("spec.model.id is "), "{ran:?}");
            }
        }
    }
}

#[test]
fn the_workflow_lints_and_posts_a_plan() {
    let sandbox = Sandbox::new();
    init(&sandbox, &["--model", "org/a", "--gpus", "1", "--ci", "github"]);
    let workflow = read_yaml(&sandbox, "out/.github/workflows/kubefoundry.yml");
    let steps = workflow["jobs"]["plan"]["steps"].as_array().unwrap();
    assert_eq!(steps[1]["uses"], concat!("platform/kubefoundry@v", env!("CARGO_PKG_VERSION")));
    // The directory with the options, as in the command that `init` prints.
    assert_eq!((&steps[1]["with"]["path"], &steps[2]["env"]["MODELS"]), (&".".into(), &".".into()));
    assert!(steps[2]["run"].as_str().unwrap().contains("gh pr comment"));
    // The action uploads a log to code scanning, and the workflow comments.
    let permissions = &workflow["permissions"];
    assert_eq!((&permissions["pull-requests"], &permissions["security-events"]), (&"write".into(), &"write".into()));
}

#[test]
fn the_gitlab_job_lints() {
    let sandbox = Sandbox::new();
    init(&sandbox, &["--model", "org/a", "--gpus", "1", "--ci", "gitlab"]);
    let job = read_yaml(&sandbox, "out/.gitlab-ci.yml");
    assert_eq!(job["kubefoundry-lint"]["variables"]["KUBEFOUNDRY_PATH"], ".");
    assert_eq!(job["kubefoundry-lint"]["script"].as_array().unwrap().len(), 4);
}

/// Runs a command at a terminal with `script` of util-linux.
#[test]
fn on_a_terminal_it_asks() {
    let sandbox = Sandbox::new();
    let command = format!("{} init out --engine vllm", env!("CARGO_BIN_EXE_kubefoundry"));
    let mut script = Command::new("script");
    script.args(["-qec", &command, "/dev/null"]).current_dir(sandbox.path("."));
    script.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let Ok(mut child) = script.spawn() else { return skipped("script is not installed, so no terminal is tested") };
    // The model, the provider, the GPUs twice, the name, the namespace and the CI system.
    let answers = b"Qwen/Qwen3-8B\n\nmany\n2\nchat\nprod\nnone\n";
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), answers).unwrap();
    let output = child.wait_with_output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{shown}");
    for text in ["Model to serve (", "\"many\" is not a number of GPUs", "GPUs of one replica", "Files for CI ("] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    assert!(!shown.contains("Engine ("), "a flag answers the question: {shown}");
    let model = read_yaml(&sandbox, "out/models/chat.yaml");
    assert_eq!(model["metadata"]["namespace"], "prod");
    assert_eq!(model["spec"]["resources"]["gpu"]["count"], 2);
}

/// docs/init.md shows a command, and the files that it writes.
#[test]
fn the_documentation_shows_what_it_writes() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("docs/init.md");
    let page = fs::read_to_string(page).unwrap();
    let block = |fence: &str, number: usize| {
        page.split(&format!("```{fence}\n")).nth(number).unwrap().split("```").next().unwrap().to_owned()
    };
    let sandbox = Sandbox::new();
    let command = block("sh", 1);
    let words: Vec<&str> = command.split_whitespace().skip(1).collect();
    let ran = sandbox.run(&words).exits(0);
    assert_eq!(ran.out, block("text", 1));
    assert_eq!(sandbox.read("models/qwen3-32b.yaml"), block("yaml", 1));
    assert_eq!(sandbox.read("kubefoundry.yaml"), block("yaml", 2));
}
