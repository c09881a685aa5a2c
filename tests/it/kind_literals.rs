//! Only the module of a model kind contains the name of the kind. All other code uses its constant or asks the
//! transformation.

use std::fs;
use std::path::Path;

use crate::common::rust_source::{code_lines, files_without_tests};

/// The folders of sources other than the module itself.
const FOLDERS: &[&str] = &[
    "crates/yaml/src",
    "crates/diagnostics/src",
    "crates/kubernetes/src",
    "crates/cel/src",
    "crates/crd/src",
    "crates/transform/src",
    "transforms/llamastack/src",
    "transforms/actor/src",
    "crates/engines/src",
    "crates/provider/src",
    "providers",
    "crates/model/src",
    "crates/composition/src",
    "crates/compiler/src",
    "crates/analysis/src",
    "crates/convert/src",
    "src",
    "cli",
    "krm/src",
    "operator/src",
    "operator/reconcile/src",
    "operator/runtime/src",
    "operator/webhook/src",
    "xtask/src",
];

/// The table of embedded CRDs, which `cargo xtask upstream` writes.
const GENERATED: &str = "crates/crd/src/upstream/table.rs";

const LITERALS: [&str; 2] = ["\"ModelDeployment\"", "\"InferenceProviderConfig\""];

/// Returns the lines of a source that spell out a model kind, without tests and comments.
fn literals(source: &str) -> Vec<&str> {
    let lines = code_lines(source).map(|(_, line)| line);
    lines.filter(|line| LITERALS.iter().any(|literal| line.contains(literal))).collect()
}

#[test]
fn no_model_kind_is_spelled_out() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for file in FOLDERS.iter().flat_map(|folder| files_without_tests(&root.join(folder))) {
        if file.ends_with(GENERATED) {
            continue;
        }
        let source = fs::read_to_string(&file).unwrap();
        assert_eq!(literals(&source), [""; 0], "{}: use the constant of deployment::wire", file.display());
    }
}

#[test]
fn kinds_are_found_in_code_only() {
    let code = "if kind == \"ModelDeployment\" {\n/// \"ModelDeployment\"\nlet x = \"a ModelDeployment\";\n#[cfg(test)]\nmod tests {\n\"ModelDeployment\"";
    assert_eq!(literals(code), ["if kind == \"ModelDeployment\" {"]);
}
