//! Paths of fields are typed: `ModelDeployment::path().spec().engine()` does not compile when the field is renamed, and a
//! literal `"spec.engine"` does. Each ceiling is the number of literals that are left, and may only go down.

use std::fs;
use std::path::Path;

/// Folders of sources, and how many literals are left in each.
const CEILINGS: &[(&str, usize)] = &[
    ("crates/model/src/providers", 69),
    ("crates/model/src/engines", 10),
    ("crates/model/src", 35),
    ("crates/llamastack/src", 18),
    ("crates/actor/src", 2),
    ("crates/kubernetes/src", 8),
    ("crates/crd/src", 3),
    ("crates/engine/src", 95),
    ("cli/src", 3),
    ("krm/src", 0),
    ("operator/src", 1),
];

/// How many literals in a source spell the path of a field. Tests and comments do not count.
fn literals(source: &str) -> usize {
    let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.map(|line| line.match_indices('"').filter(|(at, _)| is_path(&line[at + 1..])).count()).sum()
}

/// Whether a text up to the next quote is a path below `spec` or `metadata`.
fn is_path(rest: &str) -> bool {
    let Some((text, _)) = rest.split_once('"') else { return false };
    let keys = text.strip_prefix("spec.").or_else(|| text.strip_prefix("metadata."));
    keys.is_some_and(|keys| !keys.is_empty() && keys.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.'))
}

fn count(folder: &Path, apart: &[&str]) -> usize {
    let mut total = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let is_apart = apart.iter().any(|other| path.ends_with(other));
        if path.is_dir() && name != "tests" && !is_apart {
            total += count(&path, apart);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !name.starts_with("tests") {
            total += literals(&fs::read_to_string(&path).unwrap());
        }
    }
    total
}

#[test]
fn no_more_paths_are_spelled_out_than_before() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders: Vec<&str> = CEILINGS.iter().map(|(folder, _)| *folder).collect();
    for (folder, ceiling) in CEILINGS {
        let apart: Vec<&str> = folders.iter().filter(|other| **other != *folder).copied().collect();
        let found = count(&root.join(folder), &apart);
        assert!(
            found <= *ceiling,
            "{folder}: {found} paths are literals, expected at most {ceiling}: use the typed path"
        );
        assert_eq!(found, *ceiling, "{folder}: fewer paths are literals; lower its ceiling to {found}");
    }
}

#[test]
fn literals_are_told_from_other_text() {
    assert_eq!(literals("let path = FieldPath::parse(\"spec.engine.type\"); // \"spec\""), 1);
    assert_eq!(literals("format!(\"spec.engine is {x}\"), \"spec\", \"metadata.name is required\""), 0);
    assert_eq!(literals("a(\"spec.a\", \"metadata.name\")\n/// \"spec.b\"\n#[cfg(test)]\nmod tests {\n\"spec.c\""), 2);
}
