//! `--crds`: the CRDs of a cluster.

use serde_json::Value;

use crate::sandbox::{PINNED, Sandbox, model};

/// A CRD of Dynamo that serves these versions and accepts any spec.
fn crd(versions: &[&str]) -> String {
    let spec = "{type: object, x-kubernetes-preserve-unknown-fields: true}";
    let version = |name: &&str| {
        format!(
            "{{name: {name}, served: true, schema: {{openAPIV3Schema: {{type: object, properties: {{spec: {spec}}}}}}}}}"
        )
    };
    let versions: Vec<String> = versions.iter().map(version).collect();
    format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec:\n  group: nvidia.com\n  names: {{kind: \
         DynamoGraphDeployment}}\n  versions: [{}]\n",
        versions.join(", ")
    )
}

fn sandbox() -> Sandbox {
    Sandbox::new().with("m/a.yaml", model("a")).with("m/kubefoundry.yaml", PINNED)
}

/// Reads CRDs from files, directories and standard input, in YAML and JSON.
#[test]
fn reads_crds_from_files_directories_and_standard_input() {
    let yaml = crd(&["v1beta1"]);
    let sandbox = sandbox().with("dump/nested/dgd.yaml", &yaml).with("dump/notes.txt", "not read");
    for arguments in [["--crds", "dump"], ["--crds", "dump/nested/dgd.yaml"]] {
        let ran = sandbox.run(&[&["render", "m"], &arguments[..]].concat()).exits(0);
        assert!(ran.out.starts_with("apiVersion: nvidia.com/v1beta1\n"), "{}", ran.out);
    }
    let ran = sandbox.pipe(&["render", "m", "--crds", "-"], &yaml).exits(0);
    assert!(ran.out.starts_with("apiVersion: nvidia.com/v1beta1\n"), "{}", ran.out);
    let json = "{\"kind\": \"List\", \"items\": [{\"apiVersion\": \"apiextensions.k8s.io/v1\", \"kind\": \
                \"CustomResourceDefinition\", \"spec\": {\"group\": \"nvidia.com\", \"names\": {\"kind\": \
                \"DynamoGraphDeployment\"}, \"versions\": [{\"name\": \"v1beta1\", \"served\": true, \"schema\": \
                {\"openAPIV3Schema\": {\"type\": \"object\", \"x-kubernetes-preserve-unknown-fields\": true}}}]}}]}";
    let ran = sandbox.pipe(&["render", "m", "--crds", "-"], json).exits(0);
    assert!(ran.out.starts_with("apiVersion: nvidia.com/v1beta1\n"), "{}", ran.out);
}

/// Standard input has either the models or the CRDs.
#[test]
fn rejects_standard_input_used_twice() {
    let sandbox = sandbox().with("m/crd.yaml", crd(&["v1alpha1"]));
    for arguments in [&["render", "-", "--crds", "-"][..], &["render", "--crds", "-"]] {
        let ran = sandbox.pipe(arguments, model("a")).exits(2);
        assert!(ran.err.contains("standard input is used twice"), "{}", ran.err);
    }
    // The input directory may contain the CRDs, too; there they are objects.
    let ran = sandbox.run(&["render", "m", "--crds", "m/crd.yaml", "--all"]).exits(0);
    assert!(ran.out.contains("kind: CustomResourceDefinition") && ran.out.contains("kind: DynamoGraphDeployment"));
}

/// A missing CRD is a finding, and an unusable file is wrong usage; neither prints an object.
#[test]
fn missing_and_unusable_crds_print_nothing() {
    let sandbox = sandbox()
        .with("dgd.yaml", crd(&["v1alpha1"]))
        .with("ray.yaml", crd(&["v1"]).replace("nvidia.com", "ray.io").replace("DynamoGraphDeployment", "RayService"))
        .with("error.yaml", "Error from server (Forbidden)\n");
    let ran = sandbox.run(&["render", "m", "--crds", "ray.yaml"]).exits(1);
    assert!(ran.out.is_empty() && ran.err.contains("Provider 'dynamo' CRD not installed in cluster"), "{}", ran.err);
    let ran = sandbox.run(&["render", "m", "--crds", "error.yaml"]).exits(2);
    assert!(ran.out.is_empty() && ran.err.contains("error[KF0513]"), "{}", ran.err);
    let ran = sandbox.run(&["render", "m", "--crd-version", "dynamo=auto"]).exits(2);
    assert!(ran.err.contains("error[KF0801]"), "{}", ran.err);
    sandbox.run(&["render", "m", "--crd-version", "dynamo=auto", "--crds", "dgd.yaml"]).exits(0);
    sandbox.run(&["lint", "m", "--crds", "absent.yaml"]).exits(2);
    sandbox.run(&["images", "m", "--crds", "dgd.yaml"]).exits(0);
}

/// The fingerprint of a schema ignores descriptions.
#[test]
fn explain_shows_the_fingerprint() {
    let plain = crd(&["v1alpha1"]);
    let described = plain.replace("{type: object, properties", "{description: any text, type: object, properties");
    let sandbox = sandbox().with("plain.yaml", &plain).with("described.yaml", described);
    let fingerprint = |file: &str| {
        let ran = sandbox.run(&["explain", "m", "--crds", file, "--output", "json"]).exits(0);
        let report: Value = serde_json::from_str(&ran.out).unwrap();
        report["decisions"][0]["schemaFingerprint"].as_str().unwrap().to_owned()
    };
    assert_eq!(fingerprint("plain.yaml").len(), 16);
    assert_eq!(fingerprint("plain.yaml"), fingerprint("described.yaml"));
    let ran = sandbox.run(&["explain", "m", "--crds", "plain.yaml"]).exits(0);
    assert!(ran.out.contains(&format!("  schema       {}\n", fingerprint("plain.yaml"))), "{}", ran.out);
    let ran = sandbox.run(&["explain", "m", "--output", "json"]).exits(0);
    assert!(!ran.out.contains("schemaFingerprint"), "{}", ran.out);
}

/// An empty directory would silently disable the check.
#[test]
fn rejects_a_crd_directory_without_files() {
    let sandbox = sandbox().with("empty/notes.txt", crd(&["v1alpha1"]));
    for command in ["render", "lint", "explain", "images"] {
        let ran = sandbox.run(&[command, "m", "--crds", "empty"]).exits(2);
        assert!(
            ran.out.is_empty() && ran.err.contains("--crds empty: contains no .yaml, .yml or .json file"),
            "{}",
            ran.err
        );
    }
}

/// KF0513 is reported once for a directory without any CRD; single files in it need not have one.
#[test]
fn a_crd_directory_needs_one_crd() {
    let sandbox = sandbox()
        .with("dump/a/kustomization.yaml", "resources: [../dgd.yaml]\n")
        .with("dump/dgd.yaml", crd(&["v1alpha1"]))
        .with("dump/values.json", "{}")
        .with("none/a.yaml", "a: 1\n")
        .with("none/b.yaml", "b: 1\n");
    let ran = sandbox.run(&["render", "m", "--crds", "dump"]).exits(0);
    assert!(!ran.err.contains("KF0513"), "{}", ran.err);
    let ran = sandbox.run(&["render", "m", "--crds", "none"]).exits(2);
    assert_eq!(ran.err.matches("error[KF0513]").count(), 1, "{}", ran.err);
    assert!(ran.err.contains("no file of none has a CustomResourceDefinition"), "{}", ran.err);
    // Each of two is named.
    let ran = sandbox.run(&["render", "m", "--crds", "none", "--crds", "dump"]).exits(2);
    assert!(ran.out.is_empty() && ran.err.contains("error[KF0513]"), "{}", ran.err);
    let ran = sandbox.run(&["render", "m", "--crds", "none/a.yaml", "--crds", "dump/dgd.yaml"]).exits(2);
    assert!(ran.err.contains("none/a.yaml:1"), "{}", ran.err);
}

/// `>` in PowerShell writes UTF-16; the error must name it.
#[test]
fn reports_utf_16_crds() {
    let utf16 = |text: &str| -> Vec<u8> {
        "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
    };
    let sandbox = sandbox()
        .with("dgd.yaml", utf16(&crd(&["v1alpha1"])))
        .with("dump/dgd.yaml", utf16(&crd(&["v1alpha1"])))
        .with("mixed/dgd.yaml", crd(&["v1alpha1"]))
        .with("mixed/other.yaml", utf16("a: 1\n"));
    for dump in ["dgd.yaml", "dump", "mixed/other.yaml"] {
        let ran = sandbox.run(&["render", "m", "--crds", dump]).exits(2);
        assert!(ran.out.is_empty() && ran.err.contains("error[KF0514]") && ran.err.contains("UTF-16"), "{}", ran.err);
        assert!(!ran.err.contains("KF0513"), "{}", ran.err);
    }
    sandbox.run(&["render", "m", "--crds", "mixed"]).exits(0);
}

/// A truncated CRD is wrong usage, and must not be mistaken for a version that is not served.
#[test]
fn rejects_truncated_crds() {
    let whole = crd(&["v1alpha1"]);
    let block = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec:\n  group: nvidia.com\n";
    for text in [
        whole.replace(" served: true,", ""),
        whole.replace("served: true", "served: \"true\""),
        whole.replace("served: true", "served: null"),
        block.to_owned(),
        format!("{block}  names:\n    plural: dynamographdeployments\n"),
        format!("{block}  names:\n    kind: DynamoGraphDeployment\n"),
        whole.trim_end().trim_end_matches(']').to_owned(),
    ] {
        let sandbox = sandbox().with("dump.yaml", &text);
        let ran = sandbox.run(&["render", "m", "--crds", "dump.yaml"]).exits(2);
        assert!(ran.out.is_empty() && ran.err.contains("error[KF0514]"), "{text}\n{}", ran.err);
    }
    let sandbox = sandbox().with("dump.yaml", whole.replace("served: true", "served: false"));
    sandbox.run(&["render", "m", "--crds", "dump.yaml"]).exits(1);
}

/// The kind of a CRD is recognized in every spelling that YAML and JSON allow.
#[test]
fn accepts_every_spelling_of_a_kind() {
    let whole = crd(&["v1alpha1"]);
    for kind in [
        "\"kind\":\t\"DynamoGraphDeployment\"",
        "kind: \"Dynamo\\u0047raphDeployment\"",
        "kind: \"Dynamo\\x47raphDeployment\"",
        "kind: !!str DynamoGraphDeployment",
        "kind:\n      DynamoGraphDeployment",
        "kind: &kind DynamoGraphDeployment",
        "\"ki\\u006ed\": 'DynamoGraphDeployment'",
    ] {
        let text = whole.replace("kind: DynamoGraphDeployment", kind);
        assert_ne!(text, whole);
        let sandbox = sandbox().with("dump.yaml", &text);
        sandbox.run(&["render", "m", "--crds", "dump.yaml"]).exits(0);
    }
    let text = whole.replace("group: nvidia.com", "group: \"nvidia\\u002ecom\"");
    sandbox().with("dump.yaml", text).run(&["render", "m", "--crds", "dump.yaml"]).exits(0);
}

/// A failed validation rule reports its `fieldPath`; a key with a dot is one step, and the root has no path.
#[test]
fn reports_the_field_path_of_a_rule() {
    let rule = |path: &str| format!("x-kubernetes-validations: [{{rule: 'false', message: refused{path}}}]");
    let whole = crd(&["v1alpha1"]);
    let at_spec = format!("unknown-fields: true, {}}}", rule(", fieldPath: \".services['Front.end'].x\""));
    let at_root = format!("openAPIV3Schema: {{{}, ", rule(""));
    let sandbox = sandbox()
        .with("spec.yaml", whole.replace("unknown-fields: true}", &at_spec))
        .with("root.yaml", whole.replace("openAPIV3Schema: {", &at_root));
    let ran = sandbox.run(&["render", "m", "--crds", "spec.yaml"]).exits(1);
    assert!(ran.err.contains("in spec.yaml at spec.services[\"Front.end\"].x: refused"), "{}", ran.err);
    let ran = sandbox.run(&["render", "m", "--crds", "root.yaml"]).exits(1);
    assert!(ran.err.contains("in root.yaml: refused"), "{}", ran.err);
}

/// Pipelines store the fingerprint with the manifests: a new one means that the cluster was upgraded.
#[test]
fn every_report_names_the_schemas() {
    let sandbox = sandbox().with("dump.yaml", crd(&["v1alpha1"]));
    let render = sandbox.run(&["render", "m", "--crds", "dump.yaml"]).exits(0);
    let line = "checked against nvidia.com/v1alpha1 DynamoGraphDeployment, schema ";
    assert!(render.err.starts_with(line) && render.err.lines().count() == 1, "{}", render.err);
    let fingerprint = render.err.trim_end().strip_prefix(line).unwrap();
    let lint = sandbox.run(&["lint", "m", "--crds", "dump.yaml"]).exits(0);
    assert_eq!(lint.out, format!("no findings in 1 file\n{}", render.err).replace("1 file", "2 files"));
    for arguments in [["lint", "--output"], ["render", "--diagnostics"]] {
        let [command, flag] = arguments;
        let ran = sandbox.run(&[command, "m", "--crds", "dump.yaml", flag, "json"]).exits(0);
        let report: Value = serde_json::from_str(if command == "lint" { &ran.out } else { &ran.err }).unwrap();
        let expected = serde_json::json!([{
            "apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "fingerprint": fingerprint
        }]);
        assert_eq!(report["crds"], expected);
    }
    assert!(!sandbox.run(&["lint", "m", "-o", "json"]).exits(0).out.contains("crds"));
}
