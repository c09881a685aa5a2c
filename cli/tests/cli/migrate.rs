//! `migrate`: output and exit status.

use crate::sandbox::{PINNED, SERVICE, Sandbox, broken, model};

/// The text has the losses, the new deployment and the steps.
#[test]
fn prints_a_migration_to_a_provider() {
    let sandbox = Sandbox::new().with("a.yaml", model("a"));
    let ran = sandbox.run(&["migrate", "--to", "kuberay", "a.yaml"]).exits(0);
    for words in
        ["ModelDeployment prod/a: dynamo -> kuberay", "  name: a-kuberay", "  1. Run both", "  4. Remove the old one"]
    {
        assert!(ran.out.contains(words), "{}", ran.out);
    }
    let yaml = sandbox.run(&["migrate", "--to", "kuberay", "a.yaml", "--output", "yaml"]).exits(0);
    assert_eq!(yaml.kinds(), ["ModelDeployment"]);
    assert_eq!(sandbox.pipe(&["render", "-"], yaml.out).exits(0).kinds(), ["RayService"]);
}

/// What can be moved is printed; a deployment that is there already is left out, and the rest is reported.
#[test]
fn moves_the_rest_despite_an_error() {
    let there = model("there").replace("  engine:", "  provider: {name: kuberay}\n  engine:");
    let sandbox = Sandbox::new()
        .with("m/a.yaml", model("a"))
        .with("m/broken.yaml", broken("broken"))
        .with("m/sglang.yaml", model("sglang").replace("vllm", "sglang"))
        .with("m/there.yaml", there);
    let ran = sandbox.run(&["migrate", "--to", "kuberay", "m", "--output", "yaml"]).exits(1);
    assert_eq!(ran.kinds(), ["ModelDeployment"]);
    assert!(ran.out.contains("name: a-kuberay"), "{}", ran.out);
    for words in ["error[KF0112]", "error[KF0713]", "info[KF0716]", "1 migrated, 2 errors, 1 info\n"] {
        assert!(ran.err.contains(words), "{words}: {}", ran.err);
    }
}

#[test]
fn rejects_impossible_migrations() {
    let sandbox = Sandbox::new().with("a.yaml", model("a").replace("vllm", "sglang")).with("b.yaml", broken("b"));
    let ran = sandbox.run(&["migrate", "--to", "kaito", "a.yaml"]).exits(1);
    assert!(ran.out.is_empty() && ran.err.contains("error[KF0713]"), "{ran:#?}");
    let ran = sandbox.run(&["migrate", "--to", "kaito", "b.yaml"]).exits(1);
    assert!(ran.out.is_empty() && ran.err.contains("error[KF0112]"), "{ran:#?}");
    for usage in [
        &["migrate", "a.yaml"][..],
        &["migrate", "--to", "nope", "a.yaml"],
        &["migrate", "--to", "kaito", "--in-place", "a.yaml"],
    ] {
        assert!(sandbox.run(usage).exits(2).out.is_empty());
    }
}

/// Only ModelDeployments are changed; the text of other objects is kept.
#[test]
fn changes_groups_in_place() {
    let old = model("a").replace("kubefoundry.ai/", "kubeairunway.ai/") + "# end\n---\n" + SERVICE;
    let sandbox = Sandbox::new().with("m/a.yaml", &old).with("m/s.yaml", SERVICE);
    let printed = sandbox.run(&["migrate", "--to-group", "kubefoundry.ai", "m"]).exits(0).out;
    assert_eq!(sandbox.read("m/a.yaml"), old);
    sandbox.run(&["migrate", "--to-group", "kubefoundry.ai", "m", "--in-place"]).exits(0);
    assert_eq!(sandbox.read("m/a.yaml"), printed);
    assert_eq!(printed, model("a") + "# end\n---\n" + SERVICE);
    assert_eq!(sandbox.read("m/s.yaml"), SERVICE);
    let again = sandbox.run(&["migrate", "--to-group", "kubefoundry.ai", "m"]).exits(1);
    assert!(again.err.contains("error[KF0715]"), "{}", again.err);
    let piped = sandbox.pipe(&["migrate", "--to-group", "kubefoundry.ai", "--in-place", "-"], old).exits(2);
    assert!(piped.err.contains("standard input cannot be changed in place"), "{}", piped.err);
}

/// Files are replaced as `lint --fix` replaces them: not through links that lead out of the directory.
#[cfg(unix)]
#[test]
fn a_link_out_of_the_directory_is_not_changed() {
    let old = model("a").replace("kubefoundry.ai/", "kubeairunway.ai/");
    let sandbox = Sandbox::new().with("elsewhere.yaml", &old).with("m/b.yaml", old.replace("name: a", "name: b"));
    std::os::unix::fs::symlink("../elsewhere.yaml", sandbox.path("m/a.yaml")).unwrap();
    let before = sandbox.read("m/b.yaml");
    let ran = sandbox.run(&["migrate", "--to-group", "kubefoundry.ai", "m", "--in-place"]).exits(2);
    assert!(ran.err.contains("links to a file outside of the given directory"), "{}", ran.err);
    assert_eq!((sandbox.read("elsewhere.yaml"), sandbox.read("m/b.yaml")), (old, before));
}

/// Engines that a deployment does not use are not a loss.
#[test]
fn lists_only_what_the_engine_loses() {
    let sandbox = Sandbox::new().with("kubefoundry.yaml", PINNED).with("a.yaml", model("a"));
    let out = sandbox.run(&["migrate", "--to", "kuberay", "a.yaml"]).exits(0).out;
    assert!(!out.contains("sglang") && !out.contains("trtllm"), "{out}");
    let ran = sandbox.run(&["migrate", "a.yaml"]).exits(2);
    assert!(ran.err.contains("--to <PROVIDER>|--to-group <GROUP>"), "{}", ran.err);
}
