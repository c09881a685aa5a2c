//! `import`: what is printed where, and how it ends.

use crate::sandbox::{Sandbox, model};

const WORKSPACE: &str = "apiVersion: kaito.sh/v1beta1
kind: Workspace
metadata: {name: phi}
resource: {count: 1, instanceType: Standard_NC24ads_A100_v4, labelSelector: {matchLabels: {apps: phi}}}
inference: {preset: {name: microsoft/Phi-4-mini-instruct}}
";

/// Deployments to standard output, what they do not say to standard error.
#[test]
fn output_can_be_piped() {
    let sandbox = Sandbox::new().with("w.yaml", WORKSPACE.replace("}}\n", ", accessMode: private}}\n"));
    let ran = sandbox.run(&["import", "w.yaml"]).exits(0);
    assert_eq!(ran.kinds(), ["ModelDeployment"]);
    assert!(ran.err.contains("warning[KF0670]: inference.preset.accessMode is"), "{}", ran.err);
    let rendered = sandbox.pipe(&["render", "-"], ran.out).exits(0);
    assert_eq!(rendered.kinds(), ["Workspace"]);
}

/// What was rendered comes back, from standard input and in JSON.
#[test]
fn what_was_rendered_comes_back() {
    let sandbox = Sandbox::new().with("a.yaml", model("a"));
    let rendered = sandbox.run(&["render", "a.yaml", "--output", "json"]).exits(0);
    let ran = sandbox.pipe(&["import", "-", "--output", "json"], rendered.out).exits(0);
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(report["imported"][0]["modelDeployment"]["spec"]["model"]["id"], "org/a");
    assert_eq!(report["imported"][0]["residue"], serde_json::json!([]));
    assert_eq!(report["imported"][0]["file"], "<stdin>");
}

/// What can be imported is printed, and the rest is reported.
#[test]
fn the_rest_is_imported_despite_an_error() {
    let tuning = WORKSPACE.replace("inference", "tuning").replace("name: phi", "name: tune");
    let sandbox = Sandbox::new().with("in/w.yaml", WORKSPACE).with("in/t.yaml", tuning);
    let ran = sandbox.run(&["import", "in"]).exits(1);
    assert_eq!(ran.kinds(), ["ModelDeployment"]);
    assert!(ran.err.contains("error[KF0673]"), "{}", ran.err);
    let end = "1 imported (Workspace of kaito.sh/v1beta1), 1 error, 1 info\n\
               For more about a finding, try `kubefoundry explain KF0673`.\n";
    assert!(ran.err.ends_with(end), "{}", ran.err);
    sandbox.run(&["import", "absent.yaml"]).exits(2);
}

/// Options of the run to come are those that the import goes by.
#[test]
fn options_apply() {
    let options = "apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\nimages: {nvcr.io: mirror.example.com}\n";
    let sandbox = Sandbox::new().with("a.yaml", model("a")).with("o.yaml", options);
    let rendered = sandbox.run(&["render", "a.yaml", "--config", "o.yaml"]).exits(0);
    assert!(rendered.out.contains("mirror.example.com/nvidia"), "{}", rendered.out);
    let ran = sandbox.pipe(&["import", "-", "--config", "o.yaml"], rendered.out).exits(0);
    assert!(!ran.out.contains("image:"), "{ran:#?}");
    assert_eq!(ran.err, "1 imported (DynamoGraphDeployment of nvidia.com/v1alpha1), no findings\n");
}
