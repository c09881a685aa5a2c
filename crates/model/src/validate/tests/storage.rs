//! Volumes.

use super::{assert_fields, assert_fixed, document, valid};
use kubefoundry_deployment::ir::{AccessMode, Leaf, NewClaim, VolumePurpose};

fn fields(volumes: &str) -> String {
    format!("model: {{id: org/name, storage: {{volumes: [{volumes}]}}}}")
}

/// Findings about the first volume, whose text starts at column 45.
fn assert_volume(cases: &[(&str, &[&str])]) {
    for (volume, expected) in cases {
        let expected: Vec<String> = expected
            .iter()
            .map(|finding| {
                let (head, field) = finding.split_once(' ').unwrap();
                let (code, column) = head.split_once('@').unwrap();
                format!("{code} 5:{} spec.model.storage.volumes[0].{field}", 45 + column.parse::<usize>().unwrap())
            })
            .collect();
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        assert_fields(&[(&fields(volume), &expected)]);
    }
}

#[test]
fn checks_volumes() {
    assert_volume(&[
        ("{name: w, mountPath: /w, claimName: c}", &[]),
        ("{name: w, purpose: modelCache, size: 1Gi}", &[]),
        ("{name: w, purpose: modelCache, size: 100}", &[]),
        ("{mountPath: /w, claimName: c}", &["KF0115@0 name"]),
        ("{name: w, claimName: c}", &["KF0115@0 mountPath"]),
        ("{name: w, purpose: modelCache}", &["KF0115@0 claimName"]),
        ("{name: w, mountPath: w, claimName: c}", &["KF0124@21 mountPath"]),
        ("{name: w, mountPath: /, claimName: c}", &["KF0124@21 mountPath"]),
        ("{name: w, mountPath: /a/../b, claimName: c}", &["KF0124@21 mountPath"]),
        ("{name: w, mountPath: \"/a:b\", claimName: c}", &["KF0124@21 mountPath"]),
        ("{name: w, mountPath: /w, size: 0Gi}", &["KF0118@31 size"]),
        ("{name: w, mountPath: /w, size: big}", &["KF0118@31 size"]),
        (
            "{name: w, mountPath: /w, claimName: c, storageClassName: \"\", accessMode: ReadWriteOnce}",
            &["KF0124@39 storageClassName", "KF0124@61 accessMode"],
        ),
        ("{name: w, mountPath: /w, claimName: c_d}", &["KF0117@36 claimName"]),
        ("{name: w, purpose: weights}", &["KF0115@0 claimName", "KF0114@19 purpose"]),
    ]);
    let text = document(&fields("{name: Data.1, mountPath: /w, claimName: c}"));
    assert_eq!(super::run(&text).1[0].fix, None);
    assert_fixed(
        &document(&fields("{name: Data, mountPath: /w, claimName: c}")),
        &document(&fields("{name: data, mountPath: /w, claimName: c}")),
    );
}

#[test]
fn checks_lists_of_volumes() {
    let nine: Vec<String> = (0..9).map(|index| format!("{{name: v{index}, mountPath: /v{index}, size: 1}}")).collect();
    assert_fields(&[
        (&fields(&nine.join(", ")), &["KF0124 5:44 spec.model.storage.volumes"]),
        (
            &fields("{name: a, mountPath: /w, claimName: c}, {name: a, mountPath: /w/, claimName: c}"),
            &["KF0125 5:92 spec.model.storage.volumes[1].name", "KF0125 5:106 spec.model.storage.volumes[1].mountPath"],
        ),
        (
            &fields(
                "{name: a, purpose: modelCache, size: 1, claimName: m-b}, {name: b, mountPath: /model-cache, size: 1}",
            ),
            &[
                "KF0125 5:102 spec.model.storage.volumes[1].claimName",
                "KF0125 5:123 spec.model.storage.volumes[1].mountPath",
            ],
        ),
    ]);
}

#[test]
fn applies_defaults() {
    let volumes = valid(&fields(
        "{name: w, purpose: modelCache, size: 1Gi}, {name: c, purpose: compilationCache, claimName: mine, readOnly: true}, \
         {name: x, mountPath: /x, size: 5, storageClassName: \"\", accessMode: ReadWriteOnce}",
    ))
    .model
    .volumes;
    let [weights, compiled, other] = volumes.as_slice() else { panic!("three volumes") };
    assert_eq!(weights.purpose, Leaf::written(VolumePurpose::ModelCache));
    assert_eq!(weights.mount_path, Leaf::defaulted("/model-cache".to_owned()));
    assert_eq!(weights.claim_name, Leaf::derived("m-w".to_owned()));
    let access_mode = Leaf::defaulted(AccessMode::ReadWriteMany);
    assert_eq!(weights.new_claim, Some(NewClaim { size: "1Gi".to_owned(), storage_class_name: None, access_mode }));
    assert_eq!(weights.read_only, Leaf::defaulted(false));
    assert_eq!(compiled.mount_path, Leaf::defaulted("/compilation-cache".to_owned()));
    assert_eq!((&compiled.claim_name, &compiled.new_claim), (&Leaf::written("mine".to_owned()), &None));
    assert_eq!(compiled.read_only, Leaf::written(true));
    assert_eq!(other.purpose, Leaf::defaulted(VolumePurpose::Custom));
    let access_mode = Leaf::written(AccessMode::ReadWriteOnce);
    let storage_class_name = Some(String::new());
    assert_eq!(other.new_claim, Some(NewClaim { size: "5".to_owned(), storage_class_name, access_mode }));
}
