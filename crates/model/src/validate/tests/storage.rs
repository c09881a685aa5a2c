//! Volumes.

use super::{assert_fields, assert_fixed, document, valid};
use crate::ir::{AccessMode, Leaf, NewClaim, VolumePurpose};

fn fields(volumes: &str) -> String {
    format!("model: {{id: org/name, storage: {{volumes: [{volumes}]}}}}")
}

/// Findings about the first volume, whose text starts at column 45.
fn assert_volume(cases: &[(&str, &[&str])]) {
    for (volume, expected) in cases {
        let expected: Vec<String> = expected
            .iter()
            .map(|finding| {
                let (head, message) = finding.split_once(' ').unwrap();
                let (code, column) = head.split_once('@').unwrap();
                let (field, message) = message.split_once(": ").unwrap();
                let path = format!("spec.model.storage.volumes[0].{field}");
                format!("{code} 5:{} {path}: {path} {message}", 45 + column.parse::<usize>().unwrap())
            })
            .collect();
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        assert_fields(&[(&fields(volume), &expected)]);
    }
}

#[test]
fn volumes() {
    let path = "expected an absolute path below \"/\"";
    assert_volume(&[
        ("{name: w, mountPath: /w, claimName: c}", &[]),
        ("{name: w, purpose: modelCache, size: 1Gi}", &[]),
        ("{name: w, purpose: modelCache, size: 100}", &[]),
        ("{mountPath: /w, claimName: c}", &["KF0104@0 name: is required"]),
        ("{name: w, claimName: c}", &["KF0104@0 mountPath: is required when purpose is custom"]),
        ("{name: w, purpose: modelCache}", &["KF0104@0 claimName: is required without a size"]),
        ("{name: w, mountPath: w, claimName: c}", &[&format!("KF0113@21 mountPath: is \"w\", {path}")]),
        ("{name: w, mountPath: /, claimName: c}", &[&format!("KF0113@21 mountPath: is \"/\", {path}")]),
        (
            "{name: w, mountPath: /a/../b, claimName: c}",
            &["KF0113@21 mountPath: is \"/a/../b\", expected a path without \"..\""],
        ),
        (
            "{name: w, mountPath: \"/a:b\", claimName: c}",
            &["KF0113@21 mountPath: is \"/a:b\", expected a path without ':', '$' and control characters"],
        ),
        ("{name: w, mountPath: /w, size: 0Gi}", &["KF0107@31 size: is \"0Gi\", expected a quantity above zero"]),
        (
            "{name: w, mountPath: /w, size: big}",
            &["KF0107@31 size: is \"big\", expected a quantity such as 32Gi, 500m or 4"],
        ),
        (
            "{name: w, mountPath: /w, claimName: c, storageClassName: \"\", accessMode: ReadWriteOnce}",
            &[
                "KF0113@39 storageClassName: belongs to a new claim, expected a size beside it",
                "KF0113@61 accessMode: belongs to a new claim, expected a size beside it",
            ],
        ),
        (
            "{name: w, mountPath: /w, claimName: c_d}",
            &[
                "KF0106@36 claimName: is \"c_d\", expected a DNS-1123 subdomain: at most 253 lower-case letters, digits, '-' and '.', each part between dots starting and ending with a letter or digit",
            ],
        ),
        (
            "{name: w, purpose: weights}",
            &[
                "KF0104@0 claimName: is required without a size",
                "KF0103@19 purpose: is \"weights\", expected one of modelCache, compilationCache, custom",
            ],
        ),
    ]);
    let text = document(&fields("{name: Data.1, mountPath: /w, claimName: c}"));
    assert_eq!(super::run(&text).1[0].fix, None);
    assert_fixed(
        &document(&fields("{name: Data, mountPath: /w, claimName: c}")),
        &document(&fields("{name: data, mountPath: /w, claimName: c}")),
    );
}

#[test]
fn lists() {
    let nine: Vec<String> = (0..9).map(|index| format!("{{name: v{index}, mountPath: /v{index}, size: 1}}")).collect();
    assert_fields(&[
        (
            &fields(&nine.join(", ")),
            &["KF0113 5:44 spec.model.storage.volumes: spec.model.storage.volumes has 9 entries, expected at most 8"],
        ),
        (
            &fields("{name: a, mountPath: /w, claimName: c}, {name: a, mountPath: /w/, claimName: c}"),
            &[
                "KF0114 5:92 spec.model.storage.volumes[1].name: spec.model.storage.volumes[1].name is \"a\" again, expected one entry with it",
                "KF0114 5:106 spec.model.storage.volumes[1].mountPath: spec.model.storage.volumes[1].mountPath is \"/w\" again, expected one entry with it",
            ],
        ),
        (
            &fields(
                "{name: a, purpose: modelCache, size: 1, claimName: m-b}, {name: b, mountPath: /model-cache, size: 1}",
            ),
            &[
                "KF0114 5:102 spec.model.storage.volumes[1].claimName: spec.model.storage.volumes[1].claimName is \"m-b\" again, expected one entry with it",
                "KF0114 5:123 spec.model.storage.volumes[1].mountPath: spec.model.storage.volumes[1].mountPath is \"/model-cache\" again, expected one entry with it",
            ],
        ),
    ]);
}

#[test]
fn defaults() {
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
