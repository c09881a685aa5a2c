//! Reports are inert: they repeat no secret, and no text in them is a command of the CI runner that prints them.
//!
//! Tokens are built from pieces, because code hosts refuse a commit that contains one.

use serde_json::Value;

use crate::sandbox::{PINNED, Sandbox, model};

/// What every token below contains.
const RANDOM: &str = "Vq7Tz2Nx9Bc4Mw6Kd1Rf8Hs3Lp5Gj0Ya";

const FORMATS: [&str; 7] = ["text", "concise", "json", "github", "gitlab", "sarif", "junit"];

/// Tokens of several issuers.
fn tokens() -> Vec<String> {
    vec![
        ["h", "f_", RANDOM].concat(),
        ["g", "hp_", RANDOM, "wxyz"].concat(),
        ["s", "k-ant-api03-", RANDOM, "-", RANDOM].concat(),
        ["nv", "api-", RANDOM, RANDOM].concat(),
        ["gl", "pat-", RANDOM].concat(),
        ["e", "yJhbGciOiJFUzI1NiJ9.e", "yJpc3MiOiJhIn0x.", RANDOM].concat(),
        ["-----BEGIN RSA PRI", "VATE KEY-----\\n", RANDOM, RANDOM, "\\n-----END RSA PRI", "VATE KEY-----"].concat(),
    ]
}

/// Returns everything that a command prints.
fn printed(sandbox: &Sandbox, args: &[&str]) -> String {
    let output = sandbox.command(args).output().unwrap();
    String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
}

fn assert_hidden(report: &str, what: &str) {
    // Half of the random part is the secret, too.
    let (first, second) = RANDOM.split_at(16);
    assert!(!report.contains(first) && !report.contains(second), "{what} repeats the secret:\n{report}");
}

/// The document with a text in the place of each string, one at a time, and its path.
fn with_text_in_each_leaf(document: &Value, text: &str) -> Vec<(String, String)> {
    fn visit(value: &Value, pointer: &str, found: &mut Vec<String>) {
        match value {
            Value::String(_) => found.push(pointer.to_owned()),
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(at, item)| visit(item, &format!("{pointer}/{at}"), found));
            }
            Value::Object(fields) => {
                fields.iter().for_each(|(key, value)| visit(value, &format!("{pointer}/{key}"), found));
            }
            _ => {}
        }
    }
    let mut leaves = Vec::new();
    visit(document, "", &mut leaves);
    // The program does not read objects of other groups and kinds.
    leaves.retain(|leaf| !matches!(leaf.as_str(), "/apiVersion" | "/kind"));
    let replace = |leaf: String| {
        let mut document = document.clone();
        *document.pointer_mut(&leaf).unwrap() = Value::from(text);
        (leaf, document.to_string())
    };
    leaves.into_iter().map(replace).collect()
}

fn example() -> Value {
    serde_json::json!({
        "apiVersion": "kubefoundry.ai/v1alpha1",
        "kind": "ModelDeployment",
        "metadata": {"name": "m", "namespace": "ml", "labels": {"team": "search"}, "annotations": {"note": "x"}},
        "spec": {
            "model": {"id": "Qwen/Qwen3-8B", "servedName": "chat"},
            "engine": {"type": "vllm", "args": {"dtype": "bfloat16", "api-key": "x"}, "extraArgs": ["--seed=1"]},
            "env": [{"name": "LEVEL", "value": "debug"}],
            "resources": {"gpu": {"count": 1, "type": "nvidia.com/gpu"}, "memory": "64Gi"},
            "secrets": {"huggingFaceToken": "hf-token"},
            "imagePullSecrets": [{"name": "registry"}],
            "podTemplate": {"spec": {"volumes": [{"name": "tls", "secret": {"secretName": "tls"}}]}},
            "nodeSelector": {"pool": "gpu"},
            "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
            "unknown": "x",
        },
    })
}

/// Wherever a token is written, no format of `lint` repeats it.
#[test]
fn no_format_repeats_a_token_in_any_field() {
    let tokens = tokens();
    for (position, (leaf, text)) in with_text_in_each_leaf(&example(), "TOKEN").into_iter().enumerate() {
        // Each token is tried in some fields, and each field with some tokens.
        for token in [&tokens[position % tokens.len()], &tokens[(position + 3) % tokens.len()]] {
            // One finding underlines everything in flow style, so its snippet shows all of it.
            let sandbox = Sandbox::new().with("m.yaml", text.replace("TOKEN", token));
            for format in FORMATS {
                assert_hidden(&printed(&sandbox, &["lint", "m.yaml", "-o", format]), &format!("{format} {leaf}"));
            }
        }
    }
}

/// The commands that show values, and not only findings.
#[test]
fn no_analysis_repeats_a_secret() {
    for token in tokens().iter().filter(|token| !token.contains("BEGIN")).map(String::as_str).chain([RANDOM]) {
        let with_env = |value: &str| {
            let env = format!("spec:\n  env:\n  - name: MY_SERVICE_TOKEN\n    value: \"{value}\"\n");
            model("m").replacen("spec:\n", &env, 1)
        };
        let sandbox = Sandbox::new()
            .with("kubefoundry.yaml", PINNED)
            .with("old/m.yaml", with_env("none"))
            .with("new/m.yaml", with_env(token));
        for args in [
            &["plan", "old", "new", "--diff"][..],
            &["plan", "old", "new", "-o", "json", "--diff"],
            &["plan", "old", "new", "-o", "markdown", "--diff"],
            &["explain", "new", "--trace"],
            &["explain", "new", "--trace", "--field", "spec.env"],
            &["explain", "new", "--trace", "-o", "json"],
            &["explain", "new"],
            &["explain", "new", "-o", "json"],
            &["explain", "new", "-o", "html"],
            &["explain", "new", "-o", "mermaid"],
            &["explain", "new", "--rules"],
            &["explain", "new", "--why-not", "kaito"],
            &["explain", "new", "--why-not", "kaito", "-o", "json"],
            &["lint", "new", "--write-baseline", "baseline.json"],
            &["render", "new", "--out-dir", "out", "--check"],
        ] {
            assert_hidden(&printed(&sandbox, args), &format!("{args:?}"));
        }
        let baseline = std::fs::read_to_string(sandbox.path("baseline.json")).unwrap();
        assert!(baseline.contains("KF0314"), "{baseline}");
        assert_hidden(&baseline, "a baseline");
        // What is applied has the value.
        let live = printed(&sandbox, &["render", "new", "--quiet"]);
        assert!(live.contains(token), "manifests keep their bytes");
        std::fs::write(sandbox.path("live.yaml"), live).unwrap();
        for args in [
            &["drift", "old", "live.yaml"][..],
            &["drift", "old", "live.yaml", "--diff"],
            &["drift", "old", "live.yaml", "-o", "json"],
            &["status", "new", "live.yaml"],
            &["status", "new", "live.yaml", "-o", "json"],
        ] {
            let report = printed(&sandbox, args);
            assert!(
                args[0] == "status" || report.contains("****"),
                "{args:?} shows that the secret differs:\n{report}"
            );
            assert_hidden(&report, &format!("{args:?}"));
        }
    }
}

/// A fix is applied to the bytes of the file, and never with a mask. Reports that programs apply leave it out.
#[test]
fn fixes_keep_secrets_and_reports_leave_them_out() {
    let token = &tokens()[0];
    let broken = model("m").replacen("spec:\n", &format!("spec:\n  sercets: {{huggingFaceToken: {token}}}\n"), 1);
    let broken = broken.replacen("spec:\n", "spec:\n  env:\n  - name: API_PASSWORD\n    value: 20241131\n", 1);
    let sandbox = Sandbox::new().with("kubefoundry.yaml", PINNED).with("m.yaml", broken);
    for format in ["json", "sarif"] {
        let report = printed(&sandbox, &["lint", "m.yaml", "-o", format]);
        assert!(!report.contains("20241131"), "{report}");
    }
    let diff = printed(&sandbox, &["lint", "m.yaml", "--diff"]);
    assert!(diff.contains("secrets: {huggingFaceToken: "), "{diff}");
    assert_hidden(&diff, "--diff");
    assert!(!diff.contains("20241131"), "{diff}");
    printed(&sandbox, &["lint", "m.yaml", "--fix"]);
    let fixed = std::fs::read_to_string(sandbox.path("m.yaml")).unwrap();
    assert!(fixed.contains(&format!("secrets: {{huggingFaceToken: {token}}}")), "{fixed}");
    assert!(fixed.contains("value: \"20241131\""), "{fixed}");
}

/// `##[…]` and `##vso[…]` are commands wherever they stand in a line of a log. Formats that are parsed mean the same.
#[test]
fn no_text_is_a_command_of_the_runner() {
    let marks = ["##[group]x", "a ##vso[task.setvariable variable=PATH]/evil", "###[warning]x"];
    for (position, (leaf, text)) in with_text_in_each_leaf(&example(), "MARK").into_iter().enumerate() {
        let mark = marks[position % marks.len()];
        let sandbox = Sandbox::new().with("a ##[x].yaml", text.replace("MARK", mark));
        let assert_inert = |report: &str, what: &str| {
            assert!(!report.contains("##[") && !report.contains("##vso["), "{what} {leaf}:\n{report}");
        };
        for format in FORMATS {
            let report = printed(&sandbox, &["lint", ".", "-o", format]);
            assert_inert(&report, format);
            if format == "json" && leaf == "/spec/engine/type" {
                let report: Value = serde_json::from_str(&report).unwrap();
                assert_eq!(report["diagnostics"][0]["file"], "a ##[x].yaml");
            }
        }
        for args in [&["explain", ".", "-o", "html"][..], &["explain", ".", "-o", "json"], &["explain", "."]] {
            assert_inert(&printed(&sandbox, args), &format!("{args:?}"));
        }
        let rendered = sandbox.command(&["render", "."]).output().unwrap();
        assert_inert(&String::from_utf8(rendered.stderr).unwrap(), "standard error of render");
    }
    let sandbox = Sandbox::new();
    assert!(printed(&sandbox, &["lint", "##[debug]missing.yaml"]).contains("#\\u{23}[debug]missing.yaml"));
    assert!(printed(&sandbox, &["lint", "--##vso[x]"]).contains("#\\u{23}vso[x]"));
}
