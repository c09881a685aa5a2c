//! Images, environment, metadata of the pods, secrets, placement.

use super::{assert_fields, assert_fixed, document, valid};
use kubefoundry_yaml::field_path::FieldPath;

const SUBDOMAIN: &str = "expected a DNS-1123 subdomain: at most 253 lower-case letters, digits, '-' and '.', each part between dots starting and ending with a letter or digit";

#[test]
fn images() {
    assert_fields(&[
        ("image: nvcr.io/nvidia/x:1.4.0", &[]),
        (
            "image: a/B:1",
            &[
                "KF0108 5:10 spec.image: spec.image is \"a/B:1\", expected an image reference whose path is in lower case",
            ],
        ),
        (
            "engine: {type: llamacpp, image: \"a b\"}",
            &[
                "KF0108 5:35 spec.engine.image: spec.engine.image is \"a b\", expected an image reference: [registry[:port]/]path[:tag][@digest]",
            ],
        ),
        (
            "image: a/b:1\nengine: {type: llamacpp, image: a/b:2}",
            &["KF0214 6:35 spec.engine.image: spec.engine.image and spec.image differ, expected one image"],
        ),
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
                let (head, message) = finding.split_once(' ').unwrap();
                let (code, column) = head.split_once('@').unwrap();
                let (field, message) = message.split_once(": ").unwrap();
                let path = format!("spec.env[0]{field}");
                format!("{code} 5:{} {path}: {message}", 9 + column.parse::<usize>().unwrap())
            })
            .collect();
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        assert_fields(&[(&format!("env: [{variable}]"), &expected)]);
    }
}

#[test]
fn variables() {
    assert_variable(&[
        ("{name: my.setting-1, value: \"two\\nlines\"}", &[]),
        ("{value: x}", &["KF0104@0 .name: spec.env[0].name is required"]),
        (
            "{name: \"A=B\"}",
            &["KF0109@7 .name: spec.env[0].name is \"A=B\", expected printable ASCII characters without '='"],
        ),
        (
            "{name: A, value: \"\\0\"}",
            &["KF0103@17 .value: spec.env[0].value has the character U+0000, expected text without control characters"],
        ),
        (
            "{name: A, value: b, valueFrom: {fieldRef: {fieldPath: status.podIP}}}",
            &["KF0109@31 .valueFrom: spec.env[0] has both value and valueFrom, expected one of them"],
        ),
        ("{name: A, value: \"\", valueFrom: {fieldRef: {fieldPath: status.podIP}}}", &[]),
        (
            "{name: A, valueFrom: {}}",
            &[
                "KF0109@21 .valueFrom: spec.env[0].valueFrom has 0 sources, expected exactly one of fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef",
            ],
        ),
        (
            "{name: A, valueFrom: {secretKeyRef: {name: s, key: k}, configMapKeyRef: {name: c, key: k}}}",
            &[
                "KF0109@21 .valueFrom: spec.env[0].valueFrom has 2 sources, expected exactly one of fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef",
            ],
        ),
        (
            "{name: A, valueFrom: {secretKeyRef: {}}}",
            &[
                "KF0104@22 .valueFrom.secretKeyRef.key: spec.env[0].valueFrom.secretKeyRef.key is required",
                "KF0104@22 .valueFrom.secretKeyRef.name: spec.env[0].valueFrom.secretKeyRef.name is required",
            ],
        ),
        (
            "{name: A, valueFrom: {configMapKeyRef: {name: A_b, key: a/b}}}",
            &[
                &format!(
                    "KF0106@46 .valueFrom.configMapKeyRef.name: spec.env[0].valueFrom.configMapKeyRef.name is \"A_b\", {SUBDOMAIN}"
                ),
                "KF0109@56 .valueFrom.configMapKeyRef.key: spec.env[0].valueFrom.configMapKeyRef.key is \"a/b\", expected a key of letters, digits, '-', '_' and '.', at most 253, not \".\" and not starting with \"..\"",
            ],
        ),
        ("{name: A, valueFrom: {fieldRef: {apiVersion: v1, fieldPath: \"metadata.labels['a/b']\"}}}", &[]),
        (
            "{name: A, valueFrom: {fieldRef: {apiVersion: v2, fieldPath: spec.hostname}}}",
            &[
                "KF0109@45 .valueFrom.fieldRef.apiVersion: spec.env[0].valueFrom.fieldRef.apiVersion is \"v2\", expected one of v1",
                "KF0109@60 .valueFrom.fieldRef.fieldPath: spec.env[0].valueFrom.fieldRef.fieldPath is \"spec.hostname\", expected metadata.name, metadata.namespace, metadata.uid, metadata.labels['<key>'], metadata.annotations['<key>'], spec.nodeName, spec.serviceAccountName, status.hostIP, status.hostIPs, status.podIP or status.podIPs",
            ],
        ),
        ("{name: A, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1Mi}}}", &[]),
        (
            "{name: A, valueFrom: {resourceFieldRef: {resource: memory, divisor: x}}}",
            &[
                "KF0109@51 .valueFrom.resourceFieldRef.resource: spec.env[0].valueFrom.resourceFieldRef.resource is \"memory\", expected limits or requests, '.', and cpu, memory, ephemeral-storage or hugepages-<size>",
                "KF0107@68 .valueFrom.resourceFieldRef.divisor: spec.env[0].valueFrom.resourceFieldRef.divisor is \"x\", expected a quantity such as 32Gi, 500m or 4",
            ],
        ),
        (
            "{name: A, valueFrom: {fileKeyRef: {volumeName: v, path: ../x}}}",
            &[
                "KF0104@22 .valueFrom.fileKeyRef.key: spec.env[0].valueFrom.fileKeyRef.key is required",
                "KF0109@56 .valueFrom.fileKeyRef.path: spec.env[0].valueFrom.fileKeyRef.path is \"../x\", expected a relative path without \"..\"",
            ],
        ),
    ]);
    assert_fields(&[(
        "env: [{name: A, value: a}, {name: B}, {name: A}]",
        &["KF0114 5:48 spec.env[2].name: spec.env[2].name is \"A\" again, expected one entry with it"],
    )]);
}

#[test]
fn tolerations() {
    let given = |column: usize, message: &str| format!("KF0112 5:{column} spec.tolerations[0]{message}");
    let cases: &[(&str, &[(usize, &str)])] = &[
        ("{operator: Exists}", &[]),
        ("{key: a/b, value: c, effect: NoExecute, tolerationSeconds: 5}", &[]),
        ("{key: a, operator: Gt, value: \"5\", effect: NoSchedule}", &[]),
        ("{key: a, operator: \"\", value: \"\"}", &[]),
        (
            "{effect: NoSchedule}",
            &[(17, ": spec.tolerations[0] has no key, expected operator Exists, which then tolerates every taint")],
        ),
        (
            "{key: a, operator: exists}",
            &[(36, ".operator: spec.tolerations[0].operator is \"exists\", expected one of Exists, Equal, Lt, Gt")],
        ),
        (
            "{key: a, operator: Exists, value: b}",
            &[(44, ".value: spec.tolerations[0].value is given, expected none with operator Exists")],
        ),
        (
            "{key: a, effect: NoRun, tolerationSeconds: 5}",
            &[
                (
                    34,
                    ".effect: spec.tolerations[0].effect is \"NoRun\", expected one of NoSchedule, PreferNoSchedule, NoExecute",
                ),
                (
                    41,
                    ".tolerationSeconds: spec.tolerations[0].tolerationSeconds is given, expected it with effect NoExecute only",
                ),
            ],
        ),
        (
            "{key: a, operator: Lt}",
            &[(17, ".value: spec.tolerations[0].value is missing, expected an integer with operator Lt or Gt")],
        ),
        (
            "{key: a, operator: Lt, value: \"05\"}",
            &[(47, ".value: spec.tolerations[0].value is \"05\", expected an integer with operator Lt or Gt")],
        ),
        (
            "{key: a b, value: c/d}",
            &[
                (
                    23,
                    ".key: spec.tolerations[0].key is \"a b\", expected an optional DNS-1123 subdomain and '/', then at most 63 letters, digits, '-', '_' and '.', starting and ending with a letter or digit",
                ),
                (
                    35,
                    ".value: spec.tolerations[0].value is \"c/d\", expected nothing, or at most 63 letters, digits, '-', '_' and '.', starting and ending with a letter or digit",
                ),
            ],
        ),
    ];
    for (toleration, expected) in cases {
        let expected: Vec<String> = expected.iter().map(|(column, message)| given(*column, message)).collect();
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        assert_fields(&[(&format!("tolerations: [{toleration}]"), &expected)]);
    }
}

#[test]
fn metadata_and_placement() {
    assert_fields(&[
        (
            "nodeSelector: {kubernetes.io/os: linux}\npodTemplate: {metadata: {labels: {a: b}, annotations: {c: d}}}",
            &[],
        ),
        (
            "nodeSelector: {a/b: c d}",
            &[
                "KF0110 5:23 spec.nodeSelector[\"a/b\"]: spec.nodeSelector[\"a/b\"] is \"c d\", expected nothing, or at most 63 letters, digits, '-', '_' and '.', starting and ending with a letter or digit",
            ],
        ),
        (
            "podTemplate: {metadata: {labels: {kubefoundry.ai/managed-by: x}, annotations: {kubefoundry.ai/selected-reason: z}}}",
            &[
                "KF0111 5:37 spec.podTemplate.metadata.labels[\"kubefoundry.ai/managed-by\"]: spec.podTemplate.metadata.labels has the key \"kubefoundry.ai/managed-by\", which only kubefoundry sets",
                "KF0111 5:82 spec.podTemplate.metadata.annotations[\"kubefoundry.ai/selected-reason\"]: spec.podTemplate.metadata.annotations has the key \"kubefoundry.ai/selected-reason\", which only kubefoundry sets",
            ],
        ),
    ]);
}

#[test]
fn secrets() {
    assert_fields(&[
        ("secrets: {huggingFaceToken: hf-token}\nimagePullSecrets: [{name: a}, {name: b.c}]", &[]),
        (
            "secrets: {huggingFaceToken: hf_token}",
            &[&format!(
                "KF0106 5:31 spec.secrets.huggingFaceToken: spec.secrets.huggingFaceToken is \"hf_token\", {SUBDOMAIN}"
            )],
        ),
        (
            "imagePullSecrets: [{}, {name: a}, {name: a}]",
            &[
                "KF0104 5:22 spec.imagePullSecrets[0].name: spec.imagePullSecrets[0].name is required",
                "KF0114 5:44 spec.imagePullSecrets[2].name: spec.imagePullSecrets[2].name is \"a\" again, expected one entry with it",
            ],
        ),
    ]);
    assert_fixed(
        &document("secrets: {huggingFaceToken: HF-Token}"),
        &document("secrets: {huggingFaceToken: hf-token}"),
    );
}
