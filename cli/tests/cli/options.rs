//! Options: their three sources and their precedence.

use crate::sandbox::{PINNED, Sandbox, doubtful, model};

/// A `Render` document with one more line.
fn options(line: &str) -> String {
    format!("apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\n{line}\n")
}

/// The apiVersion of the rendered object.
fn written_version(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let ran = sandbox.run(&[&["render"], arguments].concat()).exits(0);
    ran.out.lines().next().and_then(|line| line.strip_prefix("apiVersion: ")).unwrap().to_owned()
}

const ALPHA: &str = "nvidia.com/v1alpha1";
const BETA: &str = "nvidia.com/v1beta1";

/// Precedence: kubefoundry.yaml < --config < flags.
#[test]
fn flags_override_config_and_kubefoundry_yaml() {
    let sandbox = Sandbox::new()
        .with("m/a.yaml", model("a"))
        .with("m/kubefoundry.yaml", options(&format!("crdVersions: {{dynamo: {BETA}}}")))
        .with("alpha.yaml", options(&format!("crdVersions: {{dynamo: {ALPHA}}}")));
    assert_eq!(written_version(&sandbox, &["m", "--isolated"]), ALPHA, "the default");
    assert_eq!(written_version(&sandbox, &["m"]), BETA, "kubefoundry.yaml");
    assert_eq!(written_version(&sandbox, &["m", "--config", "alpha.yaml"]), ALPHA, "--config");
    let flag = format!("--crd-version=dynamo={BETA}");
    assert_eq!(written_version(&sandbox, &["m", "--config", "alpha.yaml", &flag]), BETA, "the flag");
}

/// With two directories, each file has the options of its own.
#[test]
fn kubefoundry_yaml_applies_to_its_directory() {
    let sandbox = Sandbox::new()
        .with("m/a.yaml", model("a"))
        .with("m/kubefoundry.yaml", options(&format!("crdVersions: {{dynamo: {BETA}}}")))
        .with("n/b.yaml", model("b"));
    assert_eq!(written_version(&sandbox, &["m"]), BETA);
    assert_eq!(written_version(&sandbox, &["n"]), ALPHA);
    let both = sandbox.run(&["render", "m", "n"]).exits(0);
    let versions: Vec<&str> = both.out.lines().filter_map(|line| line.strip_prefix("apiVersion: ")).collect();
    assert_eq!(versions, [BETA, ALPHA]);
}

/// A `kubefoundry.yaml` beside the input may be as foreign as the input, unless the user names it.
#[test]
fn only_a_named_file_loosens_the_policy() {
    let locked = model("a").replace("spec:\n", "spec:\n  securityContext: {capabilities: {add: [IPC_LOCK]}}\n");
    let sandbox = Sandbox::new()
        .with("m/a.yaml", locked)
        .with("m/kubefoundry.yaml", options("policy: {allowCapabilities: [IPC_LOCK]}"))
        .with("other.yaml", options("policy: {allowHostIPC: true}"));
    let ran = sandbox.run(&["render", "m"]).exits(2);
    assert!(ran.out.is_empty() && ran.err.contains("error[KF0613]") && ran.err.contains("--config"), "{}", ran.err);
    for path in ["m/kubefoundry.yaml", "./m/../m/kubefoundry.yaml"] {
        let ran = sandbox.run(&["render", "m", "--config", path]).exits(0);
        assert!(ran.out.contains("- IPC_LOCK"), "{}", ran.out);
    }
    // The policy of the file beside the input has no effect, and does not add to the one that is named.
    let ran = sandbox.run(&["render", "m", "--config", "other.yaml"]).exits(1);
    assert!(ran.out.is_empty() && ran.err.contains("error[KF0612]"), "{}", ran.err);
    // A policy that allows nothing needs no trust.
    let strict = sandbox.with("m/kubefoundry.yaml", options("policy: {podSecurity: baseline, allowCapabilities: []}"));
    assert!(strict.run(&["render", "m"]).exits(1).err.contains("error[KF0612]"));
}

/// Options that a stronger source does not set keep their value from a weaker one.
#[test]
fn merges_options() {
    let sandbox = Sandbox::new().with("a.yaml", model("a")).with("kubefoundry.yaml", PINNED);
    let ran = sandbox.run(&["render", ".", "--crd-version", &format!("dynamo={BETA}")]).exits(0);
    assert_eq!(ran.err, "", "the runtime is still pinned");
}

#[test]
fn a_wrong_flag_is_a_failure() {
    let sandbox = Sandbox::new().with("a.yaml", model("a"));
    let ran = sandbox.run(&["render", "a.yaml", "--runtime", "dynamo=0.1"]).exits(2);
    assert_eq!(ran.out, "");
    assert!(ran.err.starts_with("error[KF0801]: --runtime dynamo=0.1: runtimes.dynamo is"), "{}", ran.err);
    assert!(!ran.err.contains("-->"), "the user wrote no such text: {}", ran.err);
    let ran = sandbox.run(&["render", "a.yaml", "--runtime", "1.4.0"]).exits(2);
    assert!(ran.err.contains("expected PROVIDER=VERSION"), "{}", ran.err);
}

/// Wrong options fail `lint`, too, because findings depend on the options.
#[test]
fn wrong_options_are_a_failure() {
    let empty = ["", "\n", "# strict: true\n", "---\n", "null\n"];
    for text in [&["kind: Render\n", "strictt: true\n", ": [\n", &options("strictt: true")] as &[_], &empty].concat() {
        let sandbox = Sandbox::new().with("a.yaml", model("a")).with("options.yaml", text);
        let ran = sandbox.run(&["lint", "a.yaml", "--config", "options.yaml"]).exits(2);
        assert!(ran.out.contains("--> options.yaml:"), "{text}: {}", ran.out);
    }
}

/// A `kubefoundry.yaml` without options is probably a mistake.
#[test]
fn empty_options_of_a_directory_are_a_failure() {
    let sandbox = Sandbox::new().with("a.yaml", model("a")).with("kubefoundry.yaml", "# strict: true\n");
    let ran = sandbox.run(&["lint", "."]).exits(2);
    assert!(ran.out.contains("error[KF0801]"), "{}", ran.out);
}

#[test]
fn severities_can_be_changed() {
    let sandbox = Sandbox::new()
        .with("a.yaml", doubtful("a"))
        .with("kubefoundry.yaml", options("severities: {scaling-ignored: error}"));
    assert!(sandbox.run(&["lint", "."]).exits(1).out.contains("error[KF0211]"));
}

/// A `Render` document in the input is not copied to the output.
#[test]
fn options_are_not_input() {
    let sandbox = Sandbox::new().with("a.yaml", model("a")).with("nested/kubefoundry.yaml", PINNED);
    let ran = sandbox.run(&["render", ".", "--all"]).exits(0);
    assert_eq!(ran.kinds(), ["DynamoGraphDeployment"]);
}

#[test]
fn an_empty_input_can_be_allowed() {
    let sandbox = Sandbox::new().with("kubefoundry.yaml", options("allowEmpty: true"));
    let ran = sandbox.run(&["render", "."]).exits(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
}

#[test]
fn rejects_former_names_with_the_new_name() {
    let sandbox = Sandbox::new().with("a.yaml", model("a"));
    let ran = sandbox.run(&["render", "a.yaml", "--target", "dynamo=auto"]).exits(2);
    assert!(ran.err.contains("--target has been renamed to --crd-version"), "{}", ran.err);
    let ran = sandbox.run(&["plan", "a.yaml", "a.yaml", "--new-target", "dynamo=auto"]).exits(2);
    assert!(ran.err.contains("--new-target has been renamed to --new-crd-version"), "{}", ran.err);
    assert!(!sandbox.run(&["render", "--help"]).exits(0).out.contains("--target"));

    let sandbox = sandbox.with("kubefoundry.yaml", options("targets: {dynamo: nvidia.com/v1beta1}"));
    let ran = sandbox.run(&["render", ".", "--diagnostics", "concise"]).exits(2);
    assert!(ran.err.contains(r#"field "targets" has been renamed to "crdVersions""#), "{}", ran.err);
}

/// The model of these deployments has 28 heads, which 8 GPUs cannot share.
const PRIVATE_CONFIG: &str =
    r#"{"architectures": ["LlamaForCausalLM"], "num_attention_heads": 28, "num_key_value_heads": 4}"#;

const PRIVATE_MODEL: &str = "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {name: m}\nspec:\n  \
                             model: {id: acme/private}\n  engine: {type: vllm}\n  resources: {gpu: {count: 8}}\n";

/// Private models are checked by their `config.json`, below a directory or named by the options.
#[test]
fn reads_the_configuration_of_private_models() {
    let sandbox = Sandbox::new()
        .with("m.yaml", PRIVATE_MODEL)
        .with("known/acme/private/config.json", PRIVATE_CONFIG)
        .with("n/m.yaml", PRIVATE_MODEL)
        .with("n/private.json", PRIVATE_CONFIG)
        .with("n/kubefoundry.yaml", options("models: {acme/private: {config: ./private.json}}"));
    sandbox.run(&["lint", "m.yaml"]).exits(0);
    for command in ["lint", "render"] {
        let ran = sandbox.run(&[command, "m.yaml", "--model-config", "known"]).exits(1);
        let said = ran.out + &ran.err;
        assert!(said.contains("error[KF0318]: vLLM cannot split acme/private into 8 parts"), "{said}");
        let ran = sandbox.run(&[command, "n"]).exits(1);
        let said = ran.out + &ran.err;
        assert!(said.contains("error[KF0318]"), "{said}");
    }
}

/// A pull request of a stranger must not have other files read, nor may it find out what they contain.
#[test]
fn refuses_configurations_outside_of_the_options() {
    let sandbox = Sandbox::new()
        .with("m/m.yaml", PRIVATE_MODEL)
        .with("secret.json", PRIVATE_CONFIG)
        .with("m/kubefoundry.yaml", options("models: {acme/private: {config: ../secret.json}}"));
    let ran = sandbox.run(&["lint", "m"]).exits(2);
    assert!(ran.err.contains("../secret.json: not read, because it is outside of m"), "{}", ran.err);
    let sandbox = Sandbox::new().with("m.yaml", PRIVATE_MODEL).with("empty/readme.md", "");
    let ran = sandbox.run(&["lint", "m.yaml", "--model-config", "empty"]).exits(2);
    assert!(ran.err.contains("--model-config empty: contains no config.json"), "{}", ran.err);
}
