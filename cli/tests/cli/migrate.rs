//! `migrate`: output and exit status.

use crate::sandbox::{SERVICE, Sandbox, broken, model};

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

#[test]
fn rejects_impossible_migrations() {
    let sandbox = Sandbox::new().with("a.yaml", model("a").replace("vllm", "sglang")).with("b.yaml", broken("b"));
    let ran = sandbox.run(&["migrate", "--to", "kaito", "a.yaml"]).exits(1);
    assert!(ran.out.is_empty() && ran.err.contains("error[KF0681]"), "{ran:#?}");
    let ran = sandbox.run(&["migrate", "--to", "kaito", "b.yaml"]).exits(1);
    assert!(ran.out.is_empty() && ran.err.contains("error[KF0101]"), "{ran:#?}");
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
    assert!(again.err.contains("error[KF0683]"), "{}", again.err);
    let piped = sandbox.pipe(&["migrate", "--to-group", "kubefoundry.ai", "--in-place", "-"], old).exits(2);
    assert!(piped.err.contains("standard input cannot be changed in place"), "{}", piped.err);
}
