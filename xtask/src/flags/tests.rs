//! Tests of the whole task, on a copy of the facts.

use super::delta::Origin;
use super::fact::Fact;
use super::*;

/// Creates a work tree with a copy of the committed facts and tables.
fn copy_of_facts() -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a folder");
    fs::create_dir_all(root.path().join(DATA_FOLDER)).expect("a folder");
    copy(&workspace().join("xtask/facts/flags"), &root.path().join("xtask/facts/flags"));
    copy(&workspace().join(DATA_FOLDER), &root.path().join(DATA_FOLDER));
    root
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").map(|entry| entry.expect("an entry")) {
        let copy_path = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &copy_path);
        } else {
            fs::copy(entry.path(), copy_path).expect("a copy");
        }
    }
}

/// Returns the flags of a committed vLLM version and one more, as if they had been read from a wheel.
fn reading(root: &Path, like: &str, more: &str) -> Reading {
    let mut facts = facts_of(root, like);
    let fact = Fact::parse(more).expect("a fact");
    facts.insert(fact.name.clone(), fact);
    Reading {
        origin: Origin { source: "vllm.whl".to_owned(), sha256: "0".repeat(64), read: "2026-11-22".to_owned() },
        tables: [("vllm".to_owned(), facts)].into(),
        pins: [].into(),
        notes: vec!["--more: look at it".to_owned()],
    }
}

fn facts_of(root: &Path, version: &str) -> Facts {
    let committed = Store::new(root).versions(table("vllm").expect("a table")).expect("facts");
    committed.into_iter().find(|known| known.version.as_str() == version).expect("a version").facts
}

fn message(result: Result<String, Failure>) -> String {
    match result {
        Ok(report) => panic!("expected a failure, got {report}"),
        Err(Failure::Unmet(message) | Failure::Broken(message)) => message,
    }
}

#[test]
fn committed_tables_follow_from_the_facts() {
    check(workspace()).expect("up to date");
}

#[test]
fn a_version_between_two_others_changes_neither() {
    let root = copy_of_facts();
    let root = root.path();
    let newer = facts_of(root, "0.31.0");
    let report = add(root, "vllm", "0.30.0", &reading(root, "0.29.0", "more int")).expect("added");
    assert!(report.contains("vllm 0.30.0: 293 flags; 1 added, 0 changed, 0 removed"), "{report}");
    assert!(report.contains("note: --more: look at it"), "{report}");
    assert_eq!(facts_of(root, "0.31.0"), newer);
    assert!(facts_of(root, "0.30.0").contains_key("more"));
    check(root).expect("the tables were written, too");
    let text = fs::read_to_string(root.join(DATA_FOLDER).join("vllm.txt")).expect("a table");
    assert!(text.contains("t=0.29.0 u=0.30.0 v=0.31.0") && text.contains("\nmore u int\n"), "{text}");
}

#[test]
fn a_version_older_than_all_becomes_the_base() {
    let root = copy_of_facts();
    let root = root.path();
    let oldest = facts_of(root, "0.19.0");
    add(root, "vllm", "0.18.0", &reading(root, "0.19.0", "more int")).expect("added");
    assert_eq!(facts_of(root, "0.19.0"), oldest);
    check(root).expect("up to date");
}

#[test]
fn a_version_that_is_read_again_is_as_committed() {
    let root = copy_of_facts();
    let root = root.path();
    let reading = reading(root, "0.33.0", "more int");
    add(root, "vllm", "0.34.0", &reading).expect("added");
    compare(root, "vllm", "0.34.0", &reading).expect("as committed");
    let report = add(root, "vllm", "0.34.0", &reading).expect("added");
    assert!(report.contains("vllm 0.34.0: as committed"), "{report}");
    assert!(!report.contains("wrote"), "{report}");
}

#[test]
fn each_difference_of_a_wheel_is_reported() {
    let root = copy_of_facts();
    let root = root.path();
    let mut reading = reading(root, "0.33.0", "seed float");
    reading.tables.get_mut("vllm").expect("a table").remove("dtype");
    let message = message(compare(root, "vllm", "0.33.0", &reading));
    assert!(
        message.contains("  - dtype\n") && message.contains("  ~ seed float\n    (committed: seed int)"),
        "{message}"
    );
    assert!(self::message(compare(root, "vllm", "0.34.0", &reading)).contains("vllm 0.34.0: no committed facts"));
}

#[test]
fn different_pins_of_a_release_are_reported() {
    let root = copy_of_facts();
    let reading = Reading {
        tables: [].into(),
        pins: [("vllm".to_owned(), "0.99.0".to_owned())].into(),
        ..reading(root.path(), "0.33.0", "more int")
    };
    assert!(message(compare(root.path(), "ray", "2.60.0", &reading)).contains("pins.txt differs"));
    let report = add(root.path(), "ray", "2.99.0", &reading).expect("added");
    assert!(report.contains("add it: cargo xtask flags --engine vllm --version 0.99.0"), "{report}");
    compare(root.path(), "ray", "2.99.0", &reading).expect("as committed");
}

#[test]
fn a_manual_change_fails_the_check() {
    for (file, from, to, reason) in [
        ("xtask/facts/flags/vllm/0.20.2.txt", "after: 0.20.1", "after: 0.18.0", "a difference from 0.18.0"),
        ("xtask/facts/flags/vllm/0.22.0.txt", "\n+ ", "\n+ aaa int\n+ ", "changed by hand"),
        ("xtask/facts/flags/vllm/corrections.txt", "max-model-len *", "max-model-lenght *", "changes nothing"),
        ("xtask/facts/flags/pins.txt", "ray 2.56.0", "ray 2.99.0", "not sorted"),
        ("DATA/vllm.txt", "dtype *", "dtype a", "stale"),
    ] {
        let root = copy_of_facts();
        let path = root.path().join(file.replace("DATA", DATA_FOLDER));
        let text = fs::read_to_string(&path).expect(file);
        assert!(text.contains(from), "{file}: {from}");
        fs::write(&path, text.replacen(from, to, 1)).expect(file);
        let message = message(check(root.path()));
        assert!(message.contains(reason), "{file}: {message}");
    }
}

#[test]
fn absent_facts_are_a_failure_that_names_the_folder() {
    let message = message(check(Path::new("/nonexistent")));
    assert!(message.contains("/nonexistent/xtask/facts/flags"), "{message}");
}
