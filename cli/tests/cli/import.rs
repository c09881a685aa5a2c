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
    assert!(ran.err.contains("warning[KF0701]: inference.preset.accessMode is"), "{}", ran.err);
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
    assert!(ran.err.contains("error[KF0704]"), "{}", ran.err);
    let end = "refused: Workspace tune: it runs no inference: a Workspace for tuning has neither a preset nor a template\n\
               1 imported (Workspace of kaito.sh/v1beta1), 1 refused, 1 error, 1 info\n\
               For more about a finding, try `kubefoundry explain KF0704`.\n";
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

/// The summary has every object with residue; with --strict, residue is a failure.
#[test]
fn strict_refuses_residue() {
    let private = WORKSPACE.replace("instruct}}", "instruct, accessMode: private}}");
    let sandbox = Sandbox::new().with("clean.yaml", WORKSPACE).with("private.yaml", private);
    let ran = sandbox.run(&["import", "private.yaml"]).exits(0);
    let end = "with residue: Workspace phi: 1 difference\n\
               1 imported (Workspace of kaito.sh/v1beta1), 1 of them with residue, 1 warning, 1 info\n";
    assert!(ran.err.contains(end), "{}", ran.err);
    let strict = sandbox.run(&["import", "private.yaml", "--strict"]).exits(1);
    assert_eq!((strict.out, strict.err), (ran.out, ran.err));
    sandbox.run(&["import", "private.yaml", "--strict", "--output", "json"]).exits(1);
    // Quiet hides neither what fails the run nor, without --strict, anything else than errors.
    let quiet = sandbox.run(&["import", "private.yaml", "--strict", "--quiet"]).exits(1).err;
    assert!(quiet.contains("warning[KF070") && !quiet.contains("imported"), "{quiet}");
    assert_eq!(sandbox.run(&["import", "private.yaml", "--quiet"]).exits(0).err, "");
    sandbox.run(&["import", "clean.yaml", "--strict"]).exits(0);
}

/// Each ModelDeployment has its own file, and a file that a user has changed stays.
#[test]
fn out_dir_writes_a_file_for_each_deployment() {
    let in_prod = WORKSPACE.replace("{name: phi}", "{name: two, namespace: prod}");
    let tuning = WORKSPACE.replace("inference", "tuning").replace("name: phi", "name: tune");
    let sandbox = Sandbox::new().with("in/a.yaml", WORKSPACE).with("in/b.yaml", in_prod).with("in/t.yaml", tuning);
    let ran = sandbox.run(&["import", "in", "--out-dir", "out"]).exits(1);
    assert_eq!(ran.out, "");
    assert!(ran.err.contains("2 imported (Workspace of kaito.sh/v1beta1), 1 refused"), "{}", ran.err);
    let first = sandbox.read("out/modeldeployment_phi.yaml");
    assert!(first.contains("kind: ModelDeployment"), "{first}");
    assert!(sandbox.read("out/prod/modeldeployment_two.yaml").contains("namespace: prod"));
    // Files with the same content are no problem.
    sandbox.run(&["import", "in/a.yaml", "--out-dir", "out"]).exits(0);
    let changed = format!("{first}# mine\n");
    std::fs::write(sandbox.path("out/modeldeployment_phi.yaml"), &changed).unwrap();
    std::fs::remove_file(sandbox.path("out/prod/modeldeployment_two.yaml")).unwrap();
    let ran = sandbox.run(&["import", "in/a.yaml", "in/b.yaml", "--out-dir", "out"]).exits(2);
    assert!(ran.err.contains("modeldeployment_phi.yaml: not overwritten"), "{}", ran.err);
    assert_eq!(sandbox.read("out/modeldeployment_phi.yaml"), changed);
    assert!(!sandbox.path("out/prod/modeldeployment_two.yaml").exists());
}

/// JSON has the refused objects, too.
#[test]
fn json_lists_refused_objects() {
    let tuning = WORKSPACE.replace("inference", "tuning");
    let ran = Sandbox::new().with("t.yaml", tuning).run(&["import", "t.yaml", "--output", "json"]).exits(1);
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(report["refused"][0]["object"]["name"], "phi");
    assert!(report["refused"][0]["reason"].as_str().unwrap().starts_with("it runs no inference"));
}

/// A MultiRoleInference is refused, unless another provider is to run it; then every object changes.
#[test]
fn another_provider_takes_over() {
    let roles = "apiVersion: kaito.sh/v1alpha1\nkind: MultiRoleInference\nmetadata: {name: phi, namespace: chat}\nspec:\n  \
                 labelSelector: {matchLabels: {apps: phi}}\n  model: {name: phi-4-mini-instruct, modelAccessSecret: token}\n  \
                 roles:\n  - {type: prefill, replicas: 2, instanceType: Standard_NC24ads_A100_v4, runtimeConfig: settings}\n  \
                 - {type: decode, instanceType: Standard_NC24ads_A100_v4, runtimeConfig: settings}\n---\n\
                 apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: chat}\ndata:\n  \
                 inference_config.yaml: |\n    vllm: {max-num-seqs: 8}\n";
    let sandbox = Sandbox::new().with("m.yaml", roles);
    let refused = sandbox.run(&["import", "m.yaml"]).exits(1);
    assert!(refused.err.contains("`kubefoundry import --to dynamo`"), "{}", refused.err);
    let ran = sandbox.run(&["import", "m.yaml", "--to", "dynamo"]).exits(0);
    for part in ["id: microsoft/phi-4-mini-instruct", "name: dynamo", "mode: disaggregated", "max-num-seqs: \"8\""] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    for part in [
        "the import does not render MultiRoleInference phi",
        "the import does not render ConfigMap settings",
        "rendering the import adds DynamoGraphDeployment phi",
        "with residue: MultiRoleInference chat/phi: 3 differences",
    ] {
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
    }
    let rendered = sandbox.pipe(&["render", "-"], ran.out).exits(0);
    assert_eq!(rendered.kinds(), ["DynamoGraphDeployment"]);
    sandbox.run(&["import", "m.yaml", "--to", "kuberay"]).exits(2);
}
