//! `--crds` with what is no dump of CRDs, or a hostile one.

use super::bounded::{many, run};
use crate::sandbox::{Sandbox, model};

/// The dump is refused where it goes wrong, and nothing is printed.
#[track_caller]
fn refused_dump(dump: impl AsRef<[u8]>, finding: &str) {
    let sandbox = Sandbox::new().with("a.yaml", model("a")).with("dump.yaml", dump);
    for command in ["render", "lint", "explain"] {
        let ran = run(&sandbox, &[command, "a.yaml", "--crds", "dump.yaml"]).exits(2);
        let report = format!("{}{}", ran.out, ran.err);
        assert!(report.contains(finding), "{command}: {report:.2000}\nhas no {finding}");
        assert!(command != "render" || ran.out.is_empty(), "{:.2000}", ran.out);
    }
}

/// A CRD of a kind that is written, with this schema.
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
fn a_dump_that_is_none() {
    for dump in ["", "# nothing\n", "kind: ConfigMap\napiVersion: v1\nmetadata: {name: m}\n", "42\n", "- a\n- b\n"] {
        refused_dump(dump, "KF0550");
    }
    refused_dump(b"\x7fELF\x02\x01\x01\x00\x00\x00\xff\xfe".as_slice(), "error[KF0");
    refused_dump(many(200_000, |_| "[".to_owned()), "error[KF0");
}

#[test]
fn a_dump_that_breaks_off() {
    refused_dump(crd("{type: object, properties: {spec: ["), "error[KF0");
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

/// Deep schemas, wide ones, and ones that grow by aliases: each ends in time.
#[test]
fn schemas_without_measure() {
    let deep = format!("{}{{}}{}", "{type: object, properties: {a: ".repeat(20_000), "}}".repeat(20_000));
    let wide = format!("{{type: object, properties: {{{}}}}}", many(50_000, |at| format!("f{at}: {{type: string}}, ")));
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

/// Rules of a CRD are as bounded as rules of a provider.
#[test]
fn rules_that_never_end() {
    let list = format!("[{}]", many(300, |at| format!("{at}, ")));
    let rule = format!("{list}.all(a, {list}.all(b, {list}.all(c, {list}.all(d, a + b + c + d >= 0))))");
    let schema = format!(
        "{{type: object, x-kubernetes-preserve-unknown-fields: true, x-kubernetes-validations: [{{rule: '{rule}'}}]}}"
    );
    let sandbox = Sandbox::new().with("a.yaml", model("a")).with("dump.yaml", crd(&schema));
    let ran = run(&sandbox, &["render", "a.yaml", "--crds", "dump.yaml"]);
    assert!(ran.err.contains("KF055"), "{:?} {:.2000}", ran.code, ran.err);
}
