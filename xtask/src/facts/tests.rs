//! Tests of the whole task, and of how sources are joined.

use std::fs;

use super::engines::{Engine, Fact};
use super::source::{self, Record};
use super::wheel::{Package, Reading};
use super::*;

/// Creates a work tree with a copy of the sources and the generated files.
fn copy_of_facts() -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a folder");
    for folder in ["", "/models", "/engines"] {
        copy_files(&format!("{SOURCE_FOLDER}{folder}"), root.path());
    }
    copy_files(DATA_FOLDER, root.path());
    root
}

fn copy_files(folder: &str, to: &Path) {
    fs::create_dir_all(to.join(folder)).expect("a folder");
    for entry in fs::read_dir(workspace().join(folder)).expect("a folder").map(|entry| entry.expect("an entry")) {
        if entry.path().is_file() {
            fs::copy(entry.path(), to.join(folder).join(entry.file_name())).expect("a copy");
        }
    }
}

fn message(result: Result<String, Failure>) -> String {
    match result {
        Ok(report) => panic!("expected a failure, got {report}"),
        Err(Failure::Unmet(message) | Failure::Broken(message)) => message,
    }
}

fn records(text: &str) -> Vec<Record> {
    source::parse(&format!("source: a-1\n{text}")).expect("records")
}

fn join(one: &str, other: &str) -> Result<String, String> {
    let mut all = records(one);
    for mut record in records(other) {
        record.source = "b-2".to_owned();
        models::add(&mut all, record)?;
    }
    Ok(source::render(&models::finish(all)?))
}

#[test]
fn committed_facts_follow_from_the_sources() {
    check(workspace()).expect("up to date");
}

#[test]
fn a_manual_change_fails_the_check() {
    for (file, from, to, reason) in [
        ("DATA/models.txt", "heads=128", "heads=127", "stale"),
        ("DATA/engines.txt", "vllm/tool/hermes", "vllm/tool/hermess", "stale"),
        ("SOURCES/gpus.txt", "nominal=24Gi", "nominal=24", "`nominal` is not a size"),
        ("SOURCES/gpus.txt", "nominal=24Gi", "nominal=20Gi", "reports more than the nominal size"),
        ("SOURCES/instance-types.txt", "gpu=L4-24GB", "gpu=L5-24GB", "there is no GPU L5-24GB"),
        ("SOURCES/models/kaito.txt", "kvHeads=8", "kvheads=8", "unknown key `kvheads`"),
        ("SOURCES/models/recorded.txt", "like=Qwen/Qwen3-8B", "like=Qwen/Qwen3-9B", "there is no model Qwen/Qwen3-9B"),
        ("SOURCES/engines/vllm.txt", "version: 0.11.0", "version: 0.09.0", "there is no version 0.11.0"),
    ] {
        let root = copy_of_facts();
        let path = root.path().join(file.replace("DATA", DATA_FOLDER).replace("SOURCES", SOURCE_FOLDER));
        let text = fs::read_to_string(&path).expect(file);
        assert!(text.contains(from), "{file}: {from}");
        fs::write(&path, text.replacen(from, to, 1)).expect(file);
        let message = message(check(root.path()));
        assert!(message.contains(reason), "{file}: {message}");
    }
}

#[test]
fn a_later_source_adds_facts_and_may_not_contradict() {
    assert_eq!(
        join("m/a heads=8\n", "m/a layers=2 heads=8\nm/B heads=4\n").as_deref(),
        Ok("m/a heads=8 layers=2 source=a-1+b-2\nm/B heads=4 source=b-2\n")
    );
    let contradiction = join("m/a heads=8\n", "m/A heads=4\n").expect_err("a contradiction");
    assert_eq!(contradiction, "m/A: heads=4, but a-1 says 8");
}

#[test]
fn a_replacement_must_change_something() {
    assert_eq!(join("m/a heads=8\n", "m/a heads!=4\n").as_deref(), Ok("m/a heads=4 source=a-1+b-2\n"));
    for (one, other) in
        [("m/a heads=4\n", "m/a heads!=4\n"), ("m/a heads=4\n", "m/a layers!=4\n"), ("", "m/a heads!=4\n")]
    {
        assert!(join(one, other).is_err_and(|error| error.contains("replaces nothing")), "{one}{other}");
    }
}

#[test]
fn a_version_of_a_model_has_its_structure_alone() {
    let base = "m/a heads=8 layers=2 vocab=9 maxPosition=64 quantization=fp8\n";
    assert_eq!(
        join(base, "m/b heads=8 like=m/a\n").as_deref(),
        Ok(format!("{} source=a-1\nm/b heads=8 layers=2 vocab=9 source=b-2+like:m/a\n", base.trim_end()).as_str())
    );
    let contradiction = join(base, "m/b heads=4 like=m/a\n").expect_err("a contradiction");
    assert_eq!(contradiction, "m/b: heads=4, but m/a has 8");
}

#[test]
fn sources_that_cannot_be_read_are_refused() {
    for (text, reason) in [
        ("m/a heads=8\n", "no line `source:`"),
        ("source: a\nm/a heads\n", "is not key=value"),
        ("source: a\nm/a heads=\n", "has no value"),
        ("source: a\nm/a heads=1 heads=1\n", "occurs twice"),
        ("source: a\nm/a heads=1\nM/A heads=1\n", "occurs twice"),
    ] {
        assert!(source::parse(text).is_err_and(|error| error.contains(reason)), "{text}");
    }
}

#[test]
fn unknown_memory_is_a_part_of_the_nominal_one() {
    let [unknown, known] = ["X resource=r nominal=100Gi\n", "X resource=r nominal=1Gi reported=1000Mi\n"]
        .map(|text| hardware::gpu(records(text).remove(0)).expect("a GPU"));
    assert_eq!((unknown.get("minMemory"), unknown.get("maxMemory")), (Some("99857989632"), Some("107374182400")));
    assert_eq!(known.get("minMemory"), Some("1048576000"));
}

fn fact(kind: &str, name: &str, value: Option<&str>) -> Fact {
    Fact { kind: kind.to_owned(), name: name.to_owned(), value: value.map(str::to_owned) }
}

#[test]
fn a_fact_keeps_the_versions_in_which_it_holds() {
    let mut engine = Engine::default();
    let hermes = || fact("tool", "hermes", None);
    engine.insert("1.0", "one.whl".to_owned(), vec![hermes(), fact("method", "fp8", Some("8.0"))]);
    engine.insert("3.0", "three.whl".to_owned(), vec![hermes(), fact("method", "fp8", Some("7.5"))]);
    engine.insert("2.0", "two.whl".to_owned(), vec![fact("method", "fp8", Some("8.0")), fact("tool", "old", None)]);
    let source = engine.source("e");
    assert!(
        source.ends_with("method fp8 =7.5 3.0\nmethod fp8 =8.0 ..2.0\ntool hermes 1.0,3.0\ntool old 2.0\n"),
        "{source}"
    );
    assert_eq!(Engine::parse(&source).expect("an engine"), engine);
    assert_eq!(
        engine.lines("e"),
        [
            "e versions=1.0,2.0,3.0 source=e-wheels",
            "e/method/fp8 value=7.5@3.0,8.0@1.0..2.0",
            "e/tool/hermes in=1.0|3.0",
            "e/tool/old in=2.0",
        ]
    );
    // Reading a version again replaces its facts.
    engine.insert("2.0", "two.whl".to_owned(), vec![hermes()]);
    assert!(engine.source("e").ends_with("method fp8 =7.5 3.0\nmethod fp8 =8.0 1.0\ntool hermes *\n"));
}

#[test]
fn a_wheel_without_facts_of_a_kind_is_refused() {
    let text = |tools: &str| {
        format!(
            r#"{{"file": "vllm-9.0-py3.whl", "sha256": "00", "read": "2026-11-23", "facts": {{"dropped": {{}}, "tool": {tools}}}}}"#
        )
    };
    let parse = |tools: &str| Reading::parse(Package::Engine("vllm"), text(tools).as_bytes());
    assert!(parse(r#"["hermes"]"#).is_ok());
    assert!(parse("[]").is_err_and(|error| error.contains("no tool was found")));
}

#[test]
fn a_version_that_is_read_is_added_to_the_facts() {
    let root = copy_of_facts();
    let text = r#"{"file": "vllm-9.0-py3.whl", "sha256": "00", "read": "2026-11-23", "facts": {"tool": ["hermes"]}}"#;
    let reading = Reading::parse(Package::Engine("vllm"), text.as_bytes()).expect("a reading");
    assert_eq!(reading.store(root.path()).expect("stored"), "vllm 9.0: 1 facts\n");
    assert!(message(check(root.path())).contains("engines.txt"));
    write(root.path()).expect("written");
    check(root.path()).expect("up to date");
    let lines = fs::read_to_string(root.path().join(DATA_FOLDER).join("engines.txt")).expect("a file");
    assert!(lines.contains("0.33.0,9.0 source=") && lines.contains("\nvllm/tool/hermes\n"));
}
