//! `lint --fix` and `--diff`: only what a finding offers is changed, and every other byte stays.

use std::fs;

use crate::sandbox::{PINNED, SERVICE, Sandbox, model};

/// A file as people write them: comments, quotes, flow style, Windows line ends in the part that nobody touches.
const MISSPELT: &str = "# the team's model
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

/// The second round finds what the first could not see: the field that was misspelt has a value that needs quotes.
#[test]
fn everything_that_is_offered_is_mended_and_nothing_else() {
    let sandbox = Sandbox::new().with("kubefoundry.yaml", PINNED).with("phi.yaml", MISSPELT);
    let ran = sandbox.run(&["lint", "--fix", "."]).exits(0);
    assert_eq!(ran.out, "no findings in 1 file\n");
    assert_eq!(ran.err, "fixed 3 findings in 1 file\n");
    let expected = MISSPELT.replace("modle:", "model:").replace("servdName: on", "servedName: \"on\"");
    assert_eq!(sandbox.read("phi.yaml"), expected);
    let again = sandbox.run(&["lint", "--fix", "."]).exits(0);
    assert_eq!((again.err.as_str(), sandbox.read("phi.yaml")), ("", expected));
}

/// What no machine may decide stays, and still fails the run.
#[test]
fn what_is_left_is_reported() {
    let sandbox =
        Sandbox::new().with("a.yaml", model("a").replace("kind: M", "kind: m").replace("count: 1", "count: -1"));
    let ran = sandbox.run(&["lint", "--fix", "-o", "concise", "a.yaml"]).exits(1);
    assert_eq!(ran.err, "fixed 1 finding in 1 file\n");
    assert!(ran.out.contains("a.yaml:13:14: error[KF0105]"), "{}", ran.out);
    assert!(sandbox.read("a.yaml").contains("kind: ModelDeployment"));
}

/// A patch that `git apply` takes, and nothing written.
#[test]
fn diff_shows_the_changes_and_makes_none() {
    let sandbox = Sandbox::new().with("kubefoundry.yaml", PINNED).with("phi.yaml", MISSPELT).with("b.yaml", SERVICE);
    let ran = sandbox.run(&["lint", "--diff", "."]).exits(1);
    assert_eq!(sandbox.read("phi.yaml"), MISSPELT);
    assert!(ran.out.starts_with("--- phi.yaml\n+++ phi.yaml\n@@ -3,9 +3,9 @@\n"), "{}", ran.out);
    assert!(ran.out.contains("-  modle:            # misspelt\n+  model:            # misspelt\n"), "{}", ran.out);
    assert_eq!(ran.err, "would fix 3 findings in 1 file\n");
    let clean = Sandbox::new().with("b.yaml", SERVICE).run(&["lint", "--diff", "."]).exits(0);
    assert_eq!((clean.out.as_str(), clean.err.as_str()), ("", "nothing to fix\n"));
}

/// An editor pipes its buffer through.
#[test]
fn standard_input_is_printed_mended() {
    let ran = Sandbox::new().pipe(&["lint", "--fix", "-"], MISSPELT).exits(0);
    assert_eq!(ran.out, MISSPELT.replace("modle:", "model:").replace("servdName: on", "servedName: \"on\""));
    assert!(ran.err.ends_with("fixed 3 findings in 1 file\n"), "{}", ran.err);
}

/// A link is not replaced by a file, and a file keeps its mode.
#[cfg(unix)]
#[test]
fn links_and_modes_are_kept() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let sandbox = Sandbox::new().with("real/phi.yaml", MISSPELT);
    fs::set_permissions(sandbox.path("real/phi.yaml"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("real/phi.yaml", sandbox.path("link.yaml")).unwrap();
    sandbox.run(&["lint", "--fix", "link.yaml"]).exits(0);
    assert!(fs::symlink_metadata(sandbox.path("link.yaml")).unwrap().is_symlink());
    assert!(sandbox.read("real/phi.yaml").contains("model:"));
    assert_eq!(fs::metadata(sandbox.path("real/phi.yaml")).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(sandbox.files(""), ["link.yaml", "real/phi.yaml"]);
}

/// All files or none: a run that fails half way would leave a tree that nobody asked for.
#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_written_stops_the_rest() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = Sandbox::new().with("a.yaml", MISSPELT).with("b.yaml", MISSPELT.replace("phi", "b"));
    fs::set_permissions(sandbox.path("b.yaml"), fs::Permissions::from_mode(0o444)).unwrap();
    let ran = sandbox.run(&["lint", "--fix", "a.yaml", "b.yaml"]).exits(2);
    assert!(ran.err.contains("b.yaml: permission denied"), "{}", ran.err);
    assert_eq!(sandbox.read("a.yaml"), MISSPELT);
}

/// Two fields that may both be meant to be one: renaming both would only make another mistake.
#[test]
fn what_may_be_meant_twice_is_left_alone() {
    let text = model("a").replace("  engine:", "  engin: 1\n  engine_:");
    let sandbox = Sandbox::new().with("a.yaml", &text);
    let ran = sandbox.run(&["lint", "--fix", "-o", "concise", "a.yaml"]).exits(1);
    assert_eq!((ran.err.as_str(), sandbox.read("a.yaml")), ("", text));
}

/// Options are mended, too: without them nothing else can be looked at.
#[test]
fn options_are_mended_first() {
    let options = PINNED.replace("runtimes", "runtime");
    let sandbox = Sandbox::new().with("kubefoundry.yaml", options).with("phi.yaml", MISSPELT);
    let ran = sandbox.run(&["lint", "--fix", "."]).exits(0);
    assert_eq!(ran.err, "fixed 4 findings in 2 files\n");
    assert_eq!(sandbox.read("kubefoundry.yaml"), PINNED);
}

/// What an alias stands for is written elsewhere, what has an anchor is used elsewhere, and a tag says what it is: a
/// change of one place would change another, or mean something else.
#[test]
fn aliases_anchors_and_tags_are_left_alone() {
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
        assert!(ran.out.contains("KF0101"), "{text}{}", ran.out);
        assert_eq!((ran.err.as_str(), sandbox.read("a.yaml")), ("", text));
    }
}

/// One misspelt key twice: which of them was meant is not for a machine to say.
#[test]
fn a_key_that_stands_twice_is_left_alone() {
    let text =
        model("a").replace("    type: vllm\n", "    type: vllm\n    contextLenght: 1024\n    contextLenght: 2048\n");
    let sandbox = Sandbox::new().with("a.yaml", &text);
    let ran = sandbox.run(&["lint", "--fix", "a.yaml", "-o", "concise"]).exits(1);
    assert_eq!((ran.err.as_str(), sandbox.read("a.yaml")), ("", text));
}

/// A patch that stands in a kustomization is mended where it stands; one in quotes is left to its author.
#[test]
fn patches_in_a_kustomization_are_mended() {
    let head = "apiVersion: kubefoundry.ai/v1alpha1";
    let block = format!("- patch: |-\n      {head}\n      kind: ModelDeployment\n      spec: {{engin: {{}}}} # kept\n");
    let quoted = format!("- patch: \"{head}\\nkind: ModelDeployment\\nspec: {{engin: {{}}}}\"\n");
    let operations = "- target: {kind: ModelDeployment}\n  patch: |-\n    - {op: remove, path: /spec/engin/image}\n";
    let sandbox = Sandbox::new().with("kustomization.yaml", format!("patches:\n{block}{operations}{quoted}"));
    let ran = sandbox.run(&["lint", "--fix", "."]).exits(1);
    let mended = format!("patches:\n{block}{operations}").replace("engin", "engine") + &quoted;
    assert_eq!(sandbox.read("kustomization.yaml"), mended);
    assert!(ran.out.contains("kustomization.yaml:9:10"), "{}", ran.out);
}
