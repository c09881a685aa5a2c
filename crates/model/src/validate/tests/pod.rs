//! Images, environment, metadata of the pods, secrets, placement.

use super::{assert_fields, assert_fixed, document, valid};
use kubefoundry_yaml::field_path::FieldPath;

#[test]
fn checks_images() {
    assert_fields(&[
        ("image: nvcr.io/nvidia/x:1.4.0", &[]),
        ("image: a/B:1", &["KF0119 5:10 spec.image"]),
        ("engine: {type: llamacpp, image: \"a b\"}", &["KF0119 5:35 spec.engine.image"]),
        ("image: a/b:1\nengine: {type: llamacpp, image: a/b:2}", &["KF0215 6:35 spec.engine.image"]),
        ("image: a/b:1\nengine: {type: llamacpp, image: a/b:1}", &[]),
    ]);
    let image = |fields: &str| valid(fields).image;
    let of_engine = FieldPath::parse("spec.engine.image");
    assert_eq!(image("engine: {type: llamacpp, image: a:1}"), Some(("a:1".to_owned(), of_engine)));
    let both = image("image: a:1\nengine: {type: llamacpp, image: a:1}");
    assert_eq!(both, Some(("a:1".to_owned(), FieldPath::parse("spec.image"))));
}

/// Findings about the first variable, whose text starts at column 9.
fn assert_variable(cases: &[(&str, &[&str])]) {
    for (variable, expected) in cases {
        let expected: Vec<String> = expected
            .iter()
            .map(|finding| {
                let (head, field) = finding.split_once(' ').unwrap();
                let (code, column) = head.split_once('@').unwrap();
                format!("{code} 5:{} spec.env[0]{field}", 9 + column.parse::<usize>().unwrap())
            })
            .collect();
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        assert_fields(&[(&format!("env: [{variable}]"), &expected)]);
    }
}

#[test]
fn checks_variables() {
    assert_variable(&[
        ("{name: my.setting-1, value: \"two\\nlines\"}", &[]),
        ("{value: x}", &["KF0115@0 .name"]),
        ("{name: \"A=B\"}", &["KF0120@7 .name"]),
        ("{name: A, value: \"\\0\"}", &["KF0114@17 .value"]),
        ("{name: A, value: b, valueFrom: {fieldRef: {fieldPath: status.podIP}}}", &["KF0120@31 .valueFrom"]),
        ("{name: A, value: \"\", valueFrom: {fieldRef: {fieldPath: status.podIP}}}", &[]),
        ("{name: A, valueFrom: {}}", &["KF0120@21 .valueFrom"]),
        (
            "{name: A, valueFrom: {secretKeyRef: {name: s, key: k}, configMapKeyRef: {name: c, key: k}}}",
            &["KF0120@21 .valueFrom"],
        ),
        (
            "{name: A, valueFrom: {secretKeyRef: {}}}",
            &["KF0115@22 .valueFrom.secretKeyRef.key", "KF0115@22 .valueFrom.secretKeyRef.name"],
        ),
        (
            "{name: A, valueFrom: {configMapKeyRef: {name: A_b, key: a/b}}}",
            &["KF0117@46 .valueFrom.configMapKeyRef.name", "KF0120@56 .valueFrom.configMapKeyRef.key"],
        ),
        ("{name: A, valueFrom: {fieldRef: {apiVersion: v1, fieldPath: \"metadata.labels['a/b']\"}}}", &[]),
        (
            "{name: A, valueFrom: {fieldRef: {apiVersion: v2, fieldPath: spec.hostname}}}",
            &["KF0120@45 .valueFrom.fieldRef.apiVersion", "KF0120@60 .valueFrom.fieldRef.fieldPath"],
        ),
        ("{name: A, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1Mi}}}", &[]),
        (
            "{name: A, valueFrom: {resourceFieldRef: {resource: memory, divisor: x}}}",
            &["KF0120@51 .valueFrom.resourceFieldRef.resource", "KF0118@68 .valueFrom.resourceFieldRef.divisor"],
        ),
        (
            "{name: A, valueFrom: {fileKeyRef: {volumeName: v, path: ../x}}}",
            &["KF0115@22 .valueFrom.fileKeyRef.key", "KF0120@56 .valueFrom.fileKeyRef.path"],
        ),
    ]);
    assert_fields(&[("env: [{name: A, value: a}, {name: B}, {name: A}]", &["KF0125 5:48 spec.env[2].name"])]);
}

#[test]
fn checks_tolerations() {
    let at = |column: usize, field: &str| format!("KF0123 5:{column} spec.tolerations[0]{field}");
    let cases: &[(&str, &[(usize, &str)])] = &[
        ("{operator: Exists}", &[]),
        ("{key: a/b, value: c, effect: NoExecute, tolerationSeconds: 5}", &[]),
        ("{key: a, operator: Gt, value: \"5\", effect: NoSchedule}", &[]),
        ("{key: a, operator: \"\", value: \"\"}", &[]),
        ("{effect: NoSchedule}", &[(17, "")]),
        ("{key: a, operator: exists}", &[(36, ".operator")]),
        ("{key: a, operator: Exists, value: b}", &[(44, ".value")]),
        ("{key: a, effect: NoRun, tolerationSeconds: 5}", &[(34, ".effect"), (41, ".tolerationSeconds")]),
        ("{key: a, operator: Lt}", &[(17, ".value")]),
        ("{key: a, operator: Lt, value: \"05\"}", &[(47, ".value")]),
        ("{key: a b, value: c/d}", &[(23, ".key"), (35, ".value")]),
    ];
    for (toleration, expected) in cases {
        let expected: Vec<String> = expected.iter().map(|(column, field)| at(*column, field)).collect();
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        assert_fields(&[(&format!("tolerations: [{toleration}]"), &expected)]);
    }
}

#[test]
fn checks_pod_metadata_and_placement() {
    assert_fields(&[
        (
            "nodeSelector: {kubernetes.io/os: linux}\npodTemplate: {metadata: {labels: {a: b}, annotations: {c: d}}}",
            &[],
        ),
        ("nodeSelector: {a/b: c d}", &["KF0121 5:23 spec.nodeSelector[\"a/b\"]"]),
        (
            "podTemplate: {metadata: {labels: {kubefoundry.ai/model-source: x}}}",
            &["KF0122 5:37 spec.podTemplate.metadata.labels[\"kubefoundry.ai/model-source\"]"],
        ),
        (
            "podTemplate: {metadata: {labels: {kubefoundry.ai/managed-by: x}, annotations: {kubefoundry.ai/selected-reason: z}}}",
            &[
                "KF0122 5:37 spec.podTemplate.metadata.labels[\"kubefoundry.ai/managed-by\"]",
                "KF0122 5:82 spec.podTemplate.metadata.annotations[\"kubefoundry.ai/selected-reason\"]",
            ],
        ),
    ]);
}

#[test]
fn checks_secrets() {
    assert_fields(&[
        ("secrets: {huggingFaceToken: hf-token}\nimagePullSecrets: [{name: a}, {name: b.c}]", &[]),
        ("secrets: {huggingFaceToken: hf_token}", &["KF0117 5:31 spec.secrets.huggingFaceToken"]),
        (
            "imagePullSecrets: [{}, {name: a}, {name: a}]",
            &["KF0115 5:22 spec.imagePullSecrets[0].name", "KF0125 5:44 spec.imagePullSecrets[2].name"],
        ),
    ]);
    assert_fixed(
        &document("secrets: {huggingFaceToken: HF-Token}"),
        &document("secrets: {huggingFaceToken: hf-token}"),
    );
}
