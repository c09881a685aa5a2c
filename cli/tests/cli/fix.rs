//! `lint --fix` and `--diff`: only the fixes of findings change the text.

use std::fs;

use crate::sandbox::{PINNED, SERVICE, Sandbox, model};

/// A file with comments, quotes, flow style and a Windows line ending, which must all be kept.
const MISSPELLED: &str = "# the team's model
apiVersion: kubefoundry.ai/v1alpha1
kind: ModelDeployment
metadata: {name: phi, namespace: 'prod'} # flow style
spec:
  modle:            # misspelt
    id: org/phi
    servdName: on   # misspelt, and a boolean
  engine: {type: \"vllm\"}
  resources:
    gpu: {count: 1}\r
";

/// A second round is needed: only after the spelling is corrected, the value is checked and needs quotes.
#[test]
fn applies_all_fixes_and_nothing_else() {
    let sandbox = Sandbox::new().with("kubefoundry.yaml", PINNED).with("phi.yaml", MISSPELLED);
    let ran = sandbox.run(&["lint", "--fix", "."]).exits(0);
    assert_eq!(ran.out, "no findings in 1 file\n");
    assert_eq!(ran.err, "fixed 3 findings in 1 file\n");
    let expected = MISSPELLED.replace("modle:", "model:").replace("servdName: on", "servedName: \"on\"");
    assert_eq!(sandbox.read("phi.yaml"), expected);
    let again = sandbox.run(&["lint", "--fix", "."]).exits(0);
    assert_eq!((again.err.as_str(), sandbox.read("phi.yaml")), ("", expected));
}

/// Findings without a fix are reported and still fail the run.
#[test]
fn reports_remaining_findings() {
    let sandbox =
        Sandbox::new().with("a.yaml", model("a").replace("kind: M", "kind: m").replace("count: 1", "count: -1"));
    let ran = sandbox.run(&["lint", "--fix", "-o", "concise", "a.yaml"]).exits(1);
    assert_eq!(ran.err, "fixed 1 finding in 1 file\n");
    assert!(ran.out.contains("a.yaml:13:14: error[KF0116]"), "{}", ran.out);
    assert!(sandbox.read("a.yaml").contains("kind: ModelDeployment"));
}

/// `--diff` prints a patch for `git apply` and writes nothing.
#[test]
fn diff_prints_the_changes_without_making_them() {
    let sandbox = Sandbox::new().with("kubefoundry.yaml", PINNED).with("phi.yaml", MISSPELLED).with("b.yaml", SERVICE);
    let ran = sandbox.run(&["lint", "--diff", "."]).exits(1);
    assert_eq!(sandbox.read("phi.yaml"), MISSPELLED);
    assert!(ran.out.starts_with("--- phi.yaml\n+++ phi.yaml\n@@ -3,9 +3,9 @@\n"), "{}", ran.out);
    assert!(ran.out.contains("-  modle:            # misspelt\n+  model:            # misspelt\n"), "{}", ran.out);
    assert_eq!(ran.err, "would fix 3 findings in 1 file\n");
    let clean = Sandbox::new().with("b.yaml", SERVICE).run(&["lint", "--diff", "."]).exits(0);
    assert_eq!((clean.out.as_str(), clean.err.as_str()), ("", "nothing to fix\n"));
}

/// Editors pipe their buffer through `lint --fix -`.
#[test]
fn prints_fixed_standard_input() {
    let ran = Sandbox::new().pipe(&["lint", "--fix", "-"], MISSPELLED).exits(0);
    assert_eq!(ran.out, MISSPELLED.replace("modle:", "model:").replace("servdName: on", "servedName: \"on\""));
    assert!(ran.err.ends_with("fixed 3 findings in 1 file\n"), "{}", ran.err);
}

/// A link is not replaced by a file, and a file keeps its mode.
#[cfg(unix)]
#[test]
fn keeps_links_and_modes() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let sandbox = Sandbox::new().with("real/phi.yaml", MISSPELLED);
    fs::set_permissions(sandbox.path("real/phi.yaml"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("real/phi.yaml", sandbox.path("link.yaml")).unwrap();
    sandbox.run(&["lint", "--fix", "link.yaml"]).exits(0);
    assert!(fs::symlink_metadata(sandbox.path("link.yaml")).unwrap().is_symlink());
    assert!(sandbox.read("real/phi.yaml").contains("model:"));
    assert_eq!(fs::metadata(sandbox.path("real/phi.yaml")).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(sandbox.files(""), ["link.yaml", "real/phi.yaml"]);
}

/// If one file cannot be written, no file is changed.
#[cfg(unix)]
#[test]
fn a_read_only_file_prevents_all_changes() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = Sandbox::new().with("a.yaml", MISSPELLED).with("b.yaml", MISSPELLED.replace("phi", "b"));
    fs::set_permissions(sandbox.path("b.yaml"), fs::Permissions::from_mode(0o444)).unwrap();
    let ran = sandbox.run(&["lint", "--fix", "a.yaml", "b.yaml"]).exits(2);
    assert!(ran.err.contains("b.yaml: permission denied"), "{}", ran.err);
    assert_eq!(sandbox.read("a.yaml"), MISSPELLED);
}

/// Two misspellings of the same field are not fixed, because renaming both would create a duplicate key.
#[test]
fn does_not_fix_two_misspellings_of_one_field() {
    let text = model("a").replace("  engine:", "  engin: 1\n  engine_:");
    let sandbox = Sandbox::new().with("a.yaml", &text);
    let ran = sandbox.run(&["lint", "--fix", "-o", "concise", "a.yaml"]).exits(1);
    assert_eq!((ran.err.as_str(), sandbox.read("a.yaml")), ("", text));
}

/// Options are fixed, too, since nothing else is checked while they have errors.
#[test]
fn fixes_options() {
    let options = PINNED.replace("runtimes", "runtime");
    let sandbox = Sandbox::new().with("kubefoundry.yaml", options).with("phi.yaml", MISSPELLED);
    let ran = sandbox.run(&["lint", "--fix", "."]).exits(0);
    assert_eq!(ran.err, "fixed 4 findings in 2 files\n");
    assert_eq!(sandbox.read("kubefoundry.yaml"), PINNED);
}

/// A change at an alias or an anchor would also change other fields, and a tag makes the type explicit.
#[test]
fn does_not_fix_aliases_anchors_and_tags() {
    let gpus = "gpu:\n      count: &n 1\n  env:\n  - ";
    let cases = [
        (gpus, "{name: E, value: *n}"),
        ("env:\n  - ", "{name: E, value: !!int \"7\"}"),
        ("env:\n  - ", "{name: E, value: !!int 7}"),
        ("env:\n  - ", "{name: E, value: &v 1}"),
        ("env:\n  - ", "name: E\n    value:\n      &v 1"),
    ];
    for (field, value) in cases {
        let rest = if field == gpus { "" } else { "resources: {gpu: {count: 1}}\n  " };
        let text = model("a")
            .replace("resources:\n    gpu:\n      count: 1\n", &format!("{rest}resources:\n    {field}{value}\n"));
        let text = if field == gpus { text } else { text.replace("resources:\n    env", "env") };
        let sandbox = Sandbox::new().with("a.yaml", &text);
        let ran = sandbox.run(&["lint", "--fix", "a.yaml", "-o", "concise"]).exits(1);
        assert!(ran.out.contains("KF0112"), "{text}{}", ran.out);
        assert_eq!((ran.err.as_str(), sandbox.read("a.yaml")), ("", text));
    }
}

/// With a duplicate misspelled key, it is ambiguous which one is meant.
#[test]
fn does_not_fix_a_duplicate_misspelled_key() {
    let text =
        model("a").replace("    type: vllm\n", "    type: vllm\n    contextLenght: 1024\n    contextLenght: 2048\n");
    let sandbox = Sandbox::new().with("a.yaml", &text);
    let ran = sandbox.run(&["lint", "--fix", "a.yaml", "-o", "concise"]).exits(1);
    assert_eq!((ran.err.as_str(), sandbox.read("a.yaml")), ("", text));
}

/// Inline patches in a kustomization are fixed, unless they are quoted.
#[test]
fn fixes_inline_patches_of_a_kustomization() {
    let head = "apiVersion: kubefoundry.ai/v1alpha1";
    let block = format!("- patch: |-\n      {head}\n      kind: ModelDeployment\n      spec: {{engin: {{}}}} # kept\n");
    let quoted = format!("- patch: \"{head}\\nkind: ModelDeployment\\nspec: {{engin: {{}}}}\"\n");
    let operations = "- target: {kind: ModelDeployment}\n  patch: |-\n    - {op: remove, path: /spec/engin/image}\n";
    let sandbox = Sandbox::new().with("kustomization.yaml", format!("patches:\n{block}{operations}{quoted}"));
    let ran = sandbox.run(&["lint", "--fix", "."]).exits(1);
    let fixed = format!("patches:\n{block}{operations}").replace("engin", "engine") + &quoted;
    assert_eq!(sandbox.read("kustomization.yaml"), fixed);
    assert!(ran.out.contains("kustomization.yaml:9:10"), "{}", ran.out);
}

/// A link in a repository of a stranger may lead to any file of the user, however the directory is written.
#[cfg(unix)]
#[test]
fn a_link_out_of_the_directory_is_not_followed() {
    let sandbox = Sandbox::new().with("out.yaml", model("a").replace("gpu:", "gpuu:")).with("f/b.yaml", model("b"));
    std::os::unix::fs::symlink("../out.yaml", sandbox.path("f/l.yaml")).unwrap();
    let before = sandbox.read("out.yaml");
    for directory in ["f", "./f", "f/../f", "f/."] {
        let ran = sandbox.run(&["lint", "--fix", directory]).exits(2);
        assert!(ran.err.contains("outside of the given directory"), "{directory}: {}", ran.err);
        assert_eq!(sandbox.read("out.yaml"), before, "{directory}");
    }
    sandbox.run(&["lint", "--fix", "f/l.yaml"]).exits(0);
    assert_eq!(sandbox.read("out.yaml"), model("a"));
}

/// A value that differs only in case and punctuation has one meaning. A misspelt one could have another.
#[test]
fn fixes_the_spelling_of_a_value() {
    for (written, fixed) in [("llama.cpp", "llamacpp"), ("VLLM", "vllm"), ("\"vLLM\"", "vllm"), ("vlm", "vlm")] {
        let sandbox = Sandbox::new().with("a.yaml", model("a").replace("type: vllm", &format!("type: {written}")));
        sandbox.run(&["lint", "a.yaml", "--fix", "--fail-on", "never"]).exits(0);
        assert!(sandbox.read("a.yaml").contains(&format!("type: {fixed}\n")), "{}", sandbox.read("a.yaml"));
    }
}
