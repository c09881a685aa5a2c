//! `completions`: the scripts offer codes, providers, versions and commands. bash runs its script; zsh and fish do if they
//! are installed.

use std::process::{Command, Stdio};

use crate::sandbox::{Sandbox, skipped};

/// Returns the script of a shell.
fn script(shell: &str) -> String {
    Sandbox::new().run(&["completions", shell]).exits(0).out
}

/// Returns what bash offers for the last word of a line, after it has split the line at blanks and `=`.
fn bash(sandbox: &Sandbox, words: &[&str]) -> Vec<String> {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let at = words.len() - 1;
    let current = if words[at] == "=" { "" } else { words[at] };
    let commands = format!(
        "source ./completions.bash; COMP_WORDS=({}); COMP_CWORD={at}; _kubefoundry_words kubefoundry '{current}' '{}'\n\
         printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        quoted.join(" "),
        words[at - 1],
    );
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", &commands]).current_dir(sandbox.path("."));
    let output = bash.stdin(Stdio::null()).output().unwrap();
    // `compopt` complains outside of a real completion.
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.lines().all(|line| line.contains("compopt")), "{errors}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).filter(|line| !line.is_empty()).collect()
}

#[test]
fn bash_offers_codes_providers_versions_and_commands() {
    if Command::new("bash").arg("--version").output().is_err() {
        return skipped("bash is not installed, so its completions are not run");
    }
    let sandbox = Sandbox::new().with("completions.bash", script("bash")).with("models/a.yaml", "");
    let offers = |words: &[&str], expected: &[&str]| {
        let offered = bash(&sandbox, words);
        assert_eq!(offered, expected, "{words:?}");
    };
    offers(
        &["kubefoundry", "explain", "KF010"],
        &["KF0101", "KF0102", "KF0103", "KF0104", "KF0105", "KF0106", "KF0107", "KF0108", "KF0109"],
    );
    offers(&["kubefoundry", "explain", "KF0112", "unpinned-r"], &["unpinned-runtime"]);
    // Names of codes do not hide files, and files are not values of options.
    let both = ["model-does-not-fit", "model-may-not-fit", "models"];
    for words in [&["kubefoundry", "explain", "mod"][..], &["kubefoundry", "explain", "--trace", "mod"]] {
        let offered = bash(&sandbox, words);
        assert!(both.iter().all(|word| offered.iter().any(|offer| offer == word)), "{words:?}: {offered:?}");
    }
    offers(&["kubefoundry", "explain", "--why-not", "mod"], &[]);
    offers(&["kubefoundry", "explain", "a.yaml", "--why-not", "k"], &["kaito", "kuberay"]);
    offers(&["kubefoundry", "init", "--provider", "d"], &["dynamo"]);
    offers(&["kubefoundry", "migrate", "--to", ""], &["kaito", "dynamo", "kuberay"]);
    offers(&["kubefoundry", "render", "--runtime", "dynamo=1.6"], &["dynamo=1.6.1", "dynamo=1.6.0"]);
    offers(&["kubefoundry", "render", "--runtime", "dynamo", "=", "1.6"], &["1.6.1", "1.6.0"]);
    offers(&["kubefoundry", "render", "--runtime", "=", "dynamo", "=", "1.6"], &["1.6.1", "1.6.0"]);
    offers(
        &["kubefoundry", "render", "--crd-version", "dynamo", "="],
        &["nvidia.com/v1alpha1", "nvidia.com/v1beta1", "auto"],
    );
    offers(&["kubefoundry", "lint", "--crd-version", "=", "kube"], &["kuberay=ray.io/v1", "kuberay=auto"]);
    offers(&["kubefoundry", "plan", "--new-runtime", "kuberay=2.60"], &["kuberay=2.60.0"]);
    offers(&["kubefoundry", "man", "re"], &["render"]);
    offers(&["kubefoundry", "man", "in"], &["init"]);
    offers(&["kubefoundry", "lint", "--fail-on", ""], &["error", "warning", "info", "never"]);
    offers(&["kubefoundry", "comp"], &["completions"]);
}

/// Hints do not limit what the program itself accepts.
#[test]
fn other_values_are_accepted() {
    let sandbox = Sandbox::new().with("a.yaml", crate::sandbox::model("a"));
    sandbox.run(&["explain", "a.yaml"]).exits(0);
    sandbox.run(&["render", "a.yaml", "--runtime", "dynamo=1.99.0"]).exits(0);
}

#[test]
fn zsh_offers_codes_beside_files() {
    let script = script("zsh");
    assert!(script.contains("diagnostic codes, or fields:_kubefoundry_explain_or_files' \\\n"));
    let function = script.split("\n_kubefoundry_explain_or_files() {\n").nth(1).unwrap();
    assert!(function.contains("\n        'KF0503:unpinned-runtime, a default image whose version is not pinned'\n"));
    assert!(function.contains("\n    _describe -t values value values && ret=0\n    _files && ret=0\n"));
    // Functions come before the lines that call or register the first one.
    assert!(script.trim_end().ends_with("    compdef _kubefoundry kubefoundry\nfi"));
    assert!(!script.contains("_OR_FILES"), "a placeholder is left");
    assert!(script.contains(":PROVIDER:((kaito\\:\"KAITO\"\ndynamo\\:\"Dynamo\"\nkuberay\\:\"KubeRay\"))"));
    assert!(script.contains("(kaito=kaito.sh/v1beta1 "), "CRD versions");
    assert!(script.contains("render\\:\"Print the manifests for ModelDeployments\""), "commands after man");
}

#[test]
fn fish_offers_codes_and_commands() {
    let script = script("fish");
    let lines_of = |command: &str, files: &str| {
        let start =
            format!("complete -c kubefoundry -n \"__fish_kubefoundry_using_subcommand {command}\"{files} -a \"");
        let lines = script.split(&start).nth(1).unwrap_or_else(|| panic!("{start}"));
        lines.split("\"\n").next().unwrap().to_owned()
    };
    let codes = lines_of("explain", "");
    assert!(codes.contains("KF0503\\t'unpinned-runtime, a default image whose version is not pinned'\n"), "{codes}");
    assert!(!codes.contains(['"', '$']), "a shell would expand these");
    // Files are not commands.
    assert!(lines_of("man", " -f").contains("\nrender\\t'Print the manifests for ModelDeployments'\n"));
    assert!(script.contains("dynamo=1.6.1\\t''\n"));
}

/// Runs the parsers of the shells that are installed.
#[test]
fn the_scripts_are_well_formed() {
    for shell in ["bash", "zsh", "fish"] {
        let sandbox = Sandbox::new().with("script", script(shell));
        let mut command = Command::new(shell);
        command.args(["-n", "script"]).current_dir(sandbox.path("."));
        let Ok(output) = command.output() else {
            skipped(&format!("{shell} is not installed, so it does not parse its script"));
            continue;
        };
        assert!(output.status.success(), "{shell}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn fish_runs_its_script() {
    let sandbox = Sandbox::new().with("script", script("fish")).with("models/a.yaml", "");
    let offers = |line: &str| {
        let mut fish = Command::new("fish");
        let commands = format!("source script; complete -C {line:?}");
        fish.args(["--no-config", "-c", &commands]).current_dir(sandbox.path(".")).env("HOME", sandbox.path("."));
        fish.output().ok().map(|output| String::from_utf8(output.stdout).unwrap())
    };
    let Some(codes) = offers("kubefoundry explain KF050") else {
        return skipped("fish is not installed, so its completions are not run");
    };
    assert!(codes.contains("KF0503\tunpinned-runtime, a default image whose version is not pinned\n"), "{codes}");
    let both = offers("kubefoundry explain mod").unwrap();
    assert!(both.contains("models/\n") && both.contains("model-does-not-fit\t"), "{both}");
    let pages = offers("kubefoundry man re").unwrap();
    assert_eq!(pages, "render\tPrint the manifests for ModelDeployments\n");
    assert_eq!(offers("kubefoundry render --runtime dynamo=1.6").unwrap().lines().count(), 2);
}
