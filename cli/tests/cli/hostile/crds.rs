//! `--crds` with files that have no CRDs, and with hostile CRDs.

use super::bounded::{repeat_with, run};
use crate::sandbox::{Sandbox, model};

/// Asserts that the CRDs are rejected with a finding, and that nothing is printed.
#[track_caller]
fn assert_rejected_crds(dump: impl AsRef<[u8]>, finding: &str) {
    let sandbox = Sandbox::new().with("a.yaml", model("a")).with("dump.yaml", dump);
    for command in ["render", "lint", "explain"] {
        let ran = run(&sandbox, &[command, "a.yaml", "--crds", "dump.yaml"]).exits(2);
        let report = format!("{}{}", ran.out, ran.err);
        assert!(report.contains(finding), "{command}: {report:.2000}\nhas no {finding}");
        assert!(command != "render" || ran.out.is_empty(), "{:.2000}", ran.out);
    }
}

/// A CRD of DynamoGraphDeployment with this schema.
fn crd(schema: &str) -> String {
    format!(
        "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: dynamographdeployments.nvidia.com}}
spec:
  group: nvidia.com
  scope: Namespaced
  names: {{kind: DynamoGraphDeployment, plural: dynamographdeployments, singular: dynamographdeployment}}
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {schema}
"
    )
}

#[test]
fn files_without_crds() {
    for dump in ["", "# nothing\n", "kind: ConfigMap\napiVersion: v1\nmetadata: {name: m}\n", "42\n", "- a\n- b\n"] {
        assert_rejected_crds(dump, "KF0513");
    }
    assert_rejected_crds(b"\x7fELF\x02\x01\x01\x00\x00\x00\xff\xfe".as_slice(), "error[KF0");
    assert_rejected_crds(repeat_with(200_000, |_| "[".to_owned()), "error[KF0");
}

#[test]
fn truncated_crds() {
    assert_rejected_crds(crd("{type: object, properties: {spec: ["), "error[KF0");
}

#[test]
fn schemas_of_the_wrong_shape() {
    for schema in ["7", "[]", "{type: 7}", "{type: object, properties: []}", "{type: object, pattern: '('}"] {
        let sandbox = Sandbox::new().with("a.yaml", model("a")).with("dump.yaml", crd(schema));
        let ran = run(&sandbox, &["render", "a.yaml", "--crds", "dump.yaml"]);
        assert!(ran.code == Some(0) || ran.out.is_empty(), "{schema}: {ran:?}");
        assert!(ran.code != Some(0) || ran.out.contains("kind: DynamoGraphDeployment"), "{schema}: {ran:?}");
    }
}

/// Deep and wide schemas, and schemas that grow by aliases.
#[test]
fn oversized_schemas() {
    let deep = format!("{}{{}}{}", "{type: object, properties: {a: ".repeat(20_000), "}}".repeat(20_000));
    let wide =
        format!("{{type: object, properties: {{{}}}}}", repeat_with(50_000, |at| format!("f{at}: {{type: string}}, ")));
    let mut bomb = String::from("{type: object, x0: &x0 {type: string}");
    for level in 1..30 {
        let below = level - 1;
        bomb.push_str(&format!(", x{level}: &x{level} {{a: *x{below}, b: *x{below}, c: *x{below}}}"));
    }
    bomb.push('}');
    for schema in [deep, wide, bomb] {
        let sandbox = Sandbox::new().with("a.yaml", model("a")).with("dump.yaml", crd(&schema));
        let ran = run(&sandbox, &["render", "a.yaml", "--crds", "dump.yaml"]);
        assert!(matches!(ran.code, Some(1 | 2)) && ran.out.is_empty(), "{:?} {:.500}", ran.code, ran.err);
    }
}

/// The CEL budget also applies to validation rules of a CRD.
#[test]
fn validation_rules_that_never_end() {
    let list = format!("[{}]", repeat_with(300, |at| format!("{at}, ")));
    let rule = format!("{list}.all(a, {list}.all(b, {list}.all(c, {list}.all(d, a + b + c + d >= 0))))");
    let schema = format!(
        "{{type: object, x-kubernetes-preserve-unknown-fields: true, x-kubernetes-validations: [{{rule: '{rule}'}}]}}"
    );
    let sandbox = Sandbox::new().with("a.yaml", model("a")).with("dump.yaml", crd(&schema));
    let ran = run(&sandbox, &["render", "a.yaml", "--crds", "dump.yaml"]);
    assert!(ran.err.contains("KF05"), "{:?} {:.2000}", ran.code, ran.err);
}
