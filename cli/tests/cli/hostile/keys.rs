//! Duplicate keys.

use super::bounded::{HEADER, assert_rejected};
use crate::sandbox::model;

#[test]
fn duplicate_keys() {
    let twice = model("a") + "    gpu:\n      count: 2\n";
    assert_rejected("a.yaml", twice, &["a.yaml:14:5: error[KF0102]"]);
    let same = format!("{HEADER}  a: 1\n{}", "  a: 1\n".repeat(100_000));
    assert_rejected("a.yaml", same, &["a.yaml:1:1: error[KF0104] the document has"]);
}

#[test]
fn duplicates_through_merge_keys() {
    let merged = model("a").replace("    gpu:\n", "    gpu: &gpu\n") + "      <<: {count: 2}\n";
    assert_rejected("a.yaml", merged, &["a.yaml:14:7: error[KF0102]"]);
    let twice = model("a").replace("      count: 1\n", "      <<: [{count: 1}, {count: 2}]\n");
    assert_rejected("a.yaml", twice, &["a.yaml:13:7: error[KF0102]"]);
    let cycle = model("a").replace("    gpu:\n      count: 1\n", "    gpu: &gpu\n      <<: *gpu\n");
    assert_rejected("a.yaml", cycle, &["a.yaml:12:5: error[KF0202]", "a.yaml:13:11: error[KF0101]"]);
}
