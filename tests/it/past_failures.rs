//! Inputs that once broke an invariant. `cargo xtask fuzz` minimizes and saves them; this test checks them from then
//! on.

use std::fs;
use std::path::Path;

use crate::common::{invariants, read_case};

#[test]
fn past_failures_stay_fixed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/fuzz/failures");
    let mut count = 0;
    for entry in fs::read_dir(&root).unwrap() {
        let folder = entry.unwrap().path();
        if folder.is_dir() {
            invariants::check(&read_case(&folder)).map_err(|broken| panic!("{}: {broken}", folder.display())).unwrap();
            count += 1;
        }
    }
    assert!(count > 0, "no past failure in {}", root.display());
}
