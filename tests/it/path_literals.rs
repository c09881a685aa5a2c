//! Paths of declared fields are typed: `ModelDeployment::path().spec().engine()` does not compile after the field is
//! renamed, but a literal `"spec.engine"` does. So no source has such a literal, except in tests and code pages.

use std::fs;
use std::path::Path;

use kubefoundry_reference::{KINDS, find_field};

use crate::common::rust_source::{code_lines, files_without_tests};

/// The folders of sources.
const SOURCES: &[&str] = &["crates", "providers", "transforms", "src", "cli", "krm/src", "operator"];

/// Sources with paths of upstream objects, and the owners of these objects. Such a path may look like one of our
/// fields.
const ELSEWHERE: &[(&str, &str)] = &[
    ("crates/analysis/src/plan/class.rs", "output fields of Deployments and StatefulSets"),
    ("crates/kubernetes/src/check/environment.rs", "fields of a pod, as the downward API names them"),
    ("transforms/llamastack/src/package/read.rs", "the file that a provider package brings"),
    ("providers/kaito/src/behavior.rs", "output fields of KAITO"),
    ("operator/webhook/src/validate.rs", "the field of a Scale"),
];

/// Returns the literals of a source that look like the path of a field, without tests and comments.
fn literals(source: &str) -> Vec<(usize, &str)> {
    let of_line = |(number, line)| {
        str::match_indices(line, '"').filter_map(move |(at, _)| Some((number, path(&line[at + 1..])?)))
    };
    code_lines(source).flat_map(of_line).collect()
}

/// Returns the text up to the next quote, if it is a path below `spec` or `metadata`.
fn path(rest: &str) -> Option<&str> {
    let (text, _) = rest.split_once('"')?;
    let keys = text.strip_prefix("spec.").or_else(|| text.strip_prefix("metadata."))?;
    (!keys.is_empty() && keys.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.')).then_some(text)
}

/// Returns the kind that declares a field.
fn declaring(path: &str) -> Option<&'static str> {
    KINDS.iter().map(|kind| kind.name).find(|kind| find_field(&format!("{kind}.{path}")).is_ok())
}

#[test]
fn no_path_of_a_declared_field_is_a_literal() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut wrong = Vec::new();
    let mut used = Vec::new();
    for file in SOURCES.iter().flat_map(|folder| files_without_tests(&root.join(folder))) {
        let name = file.strip_prefix(root).unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&file).unwrap();
        let declared = literals(&text).into_iter().filter_map(|(line, path)| Some((line, path, declaring(path)?)));
        for (line, path, kind) in declared {
            if ELSEWHERE.iter().any(|(elsewhere, _)| *elsewhere == name) {
                used.push(name.clone());
            } else {
                wrong.push(format!(
                    "{name}:{line}: {path:?} is a field of {kind}: write its typed path, such as `{kind}::path().spec()…`. If \
                     it is a field of another kind, add the file and that kind to ELSEWHERE in tests/it/path_literals.rs"
                ));
            }
        }
    }
    for (file, _) in ELSEWHERE.iter().filter(|(file, _)| !used.iter().any(|name| name == file)) {
        wrong.push(format!("{file} has no such literal: remove it from ELSEWHERE in tests/it/path_literals.rs"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn only_path_literals_are_found() {
    assert_eq!(literals("let path = FieldPath::parse(\"spec.engine.type\"); // \"spec\""), [(1, "spec.engine.type")]);
    assert_eq!(literals("format!(\"spec.engine is {x}\"), \"spec\", \"metadata.name is required\""), []);
    let text = "a(\"spec.a\", \"metadata.name\")\n/// \"spec.b\"\n#[cfg(test)]\nmod tests {\n\"spec.c\"";
    assert_eq!(literals(text), [(1, "spec.a"), (1, "metadata.name")]);
    assert_eq!(declaring("spec.engine.type"), Some("ModelDeployment"));
    assert_eq!(declaring("spec.serveConfigV2"), None);
}
