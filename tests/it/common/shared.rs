//! The research folder beside the checkout: facts about upstream that are no part of the project.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// A file or folder of it. Where it is absent a test has nothing to look at: it says so, past what the test runner
/// captures, and fails in CI.
pub(crate) fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared").join(name);
    if path.exists() {
        return Some(path);
    }
    assert!(std::env::var_os("CI").is_none(), "CI needs ../shared/{name}");
    let _ = writeln!(std::io::stderr(), "skipped: ../shared/{name} absent");
    None
}

/// The DynamoGraphDeployment of the specification's third example.
pub(crate) fn printed_example_3() -> Option<String> {
    let text = fs::read_to_string(shared("spec/1-kubefoundry-unified-crd.md")?).unwrap();
    let mut blocks = text.split("```");
    let block = blocks.find(|block| block.starts_with("yaml\n") && block.contains("router-mode: kv")).unwrap();
    Some(block.strip_prefix("yaml\n").unwrap().to_owned())
}
