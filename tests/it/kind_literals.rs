//! The kinds of models are named by their own module; everything else asks it, or the transformation, what they are called.

use std::fs;
use std::path::Path;

/// Folders of sources that are not the module itself.
const FOLDERS: &[&str] = &[
    "crates/yaml/src",
    "crates/diagnostics/src",
    "crates/kubernetes/src",
    "crates/cel/src",
    "crates/crd/src",
    "crates/transform/src",
    "crates/llamastack/src",
    "crates/actor/src",
    "crates/engine/src",
    "src",
    "cli/src",
    "krm/src",
    "operator/src",
    "xtask/src",
];

const LITERALS: [&str; 2] = ["\"ModelDeployment\"", "\"InferenceProviderConfig\""];

/// The lines of a source that name a kind of models. Tests and comments do not count.
fn literals(source: &str) -> Vec<&str> {
    let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.filter(|line| LITERALS.iter().any(|literal| line.contains(literal))).collect()
}

fn check(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            check(&path);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !name.starts_with("tests") {
            let source = fs::read_to_string(&path).unwrap();
            assert_eq!(literals(&source), [""; 0], "{}: use the constant of model::wire", path.display());
        }
    }
}

#[test]
fn no_kind_of_models_is_spelled_out() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for folder in FOLDERS {
        check(&root.join(folder));
    }
}

#[test]
fn kinds_are_found_in_code_only() {
    let code = "if kind == \"ModelDeployment\" {\n/// \"ModelDeployment\"\nlet x = \"a ModelDeployment\";\n#[cfg(test)]\nmod tests {\n\"ModelDeployment\"";
    assert_eq!(literals(code), ["if kind == \"ModelDeployment\" {"]);
}
