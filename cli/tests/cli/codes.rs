//! `explain` of a diagnostic code: its page, wherever the program is.

use serde_json::Value;

use crate::sandbox::{Sandbox, broken, doubtful, model};

fn page(id: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../docs/codes/{id}.md"));
    std::fs::read_to_string(path).unwrap()
}

/// By its code or its name, in any case: it is typed from memory, or copied from a log.
#[test]
fn a_code_prints_its_page() {
    for given in ["KF0102", "kf0102", "unknown-field", "Unknown-Field"] {
        let ran = Sandbox::new().run(&["explain", given]).exits(0);
        assert_eq!((ran.out, ran.err), (page("KF0102"), String::new()), "{given}");
    }
}

#[test]
fn several_codes_print_several_pages() {
    let ran = Sandbox::new().run(&["explain", "KF0102", "wrong-type"]).exits(0);
    assert_eq!(ran.out, page("KF0102") + "\n" + &page("KF0101"));
}

#[test]
fn the_json_holds_what_the_registry_knows() {
    let ran = Sandbox::new().run(&["explain", "KF0102", "--output", "json"]).exits(0);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    let expected = serde_json::json!({"version": 1, "codes": [{
        "id": "KF0102", "name": "unknown-field", "severity": "error", "summary": "a field that does not exist",
        "page": page("KF0102"),
    }]});
    assert_eq!(report, expected);
}

/// What is printed does not depend on the directory; a path that is called like a code is written as a path.
#[test]
fn a_code_is_not_a_path() {
    let sandbox = Sandbox::new().with("unknown-field/a.yaml", model("a")).with("KF0102", model("b"));
    for given in ["KF0102", "unknown-field"] {
        assert!(sandbox.run(&["explain", given]).exits(0).out.starts_with("# KF0102"));
    }
    assert!(sandbox.run(&["explain", "./unknown-field"]).exits(0).out.starts_with("ModelDeployment prod/a"));
    assert!(sandbox.run(&["explain", "./KF0102"]).exits(0).out.starts_with("ModelDeployment prod/b"));
}

/// A directory with a plain name is one, although it has the letters of a code's name.
#[test]
fn a_path_is_not_a_code() {
    let sandbox = Sandbox::new().with("wrong-types/a.yaml", model("a"));
    assert!(sandbox.run(&["explain", "wrong-types"]).exits(0).out.starts_with("ModelDeployment prod/a"));
}

#[test]
fn an_unknown_code_is_wrong_usage() {
    for (given, expected) in [
        ("KF0199", "kubefoundry: KF0199 is no diagnostic code; expected one of KF0101 to KF0114\n"),
        ("KF9999", "kubefoundry: KF9999 is no diagnostic code; expected one such as KF0102\n"),
        ("kf102", "kubefoundry: kf102 is no diagnostic code; did you mean KF0102 (unknown-field)?\n"),
        (
            "models",
            "kubefoundry: models: no such file or directory, and no diagnostic code; expected a path, a code such as \
             KF0102, or its name\n",
        ),
        (
            "unkown-field",
            "kubefoundry: unkown-field: no such file or directory, and no diagnostic code; did you mean KF0102 \
             (unknown-field)?\n",
        ),
    ] {
        let ran = Sandbox::new().run(&["explain", given]).exits(2);
        assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", expected));
    }
    let ran = Sandbox::new().run(&["explain", "models/a.yaml"]).exits(2);
    assert!(ran.err.starts_with("kubefoundry: models/a.yaml: "), "{}", ran.err);
}

#[test]
fn codes_and_paths_do_not_mix() {
    let ran = Sandbox::new().with("a.yaml", model("a")).run(&["explain", "a.yaml", "KF0102"]).exits(2);
    let expected = "kubefoundry: KF0102 is a diagnostic code, and a.yaml is not; explain one or the other\n";
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", expected));
}

/// A report for people ends with where to read on, about the gravest finding; those for programs do not.
#[test]
fn a_report_names_a_page() {
    let sandbox = Sandbox::new().with("a.yaml", doubtful("a")).with("b.yaml", broken("b"));
    let line = "For more about a finding, try `kubefoundry explain KF0101`.";
    assert_eq!(sandbox.run(&["lint", "."]).exits(1).out.lines().last(), Some(line));
    assert_eq!(sandbox.run(&["render", "."]).exits(1).err.lines().last(), Some(line));
    for format in ["concise", "json"] {
        assert!(!sandbox.run(&["lint", ".", "--output", format]).exits(1).out.contains("kubefoundry explain"));
    }
}

/// A picture is of a decision; a page in its place would be taken for one.
#[test]
fn a_code_has_no_picture() {
    for format in ["mermaid", "dot", "html"] {
        let ran = Sandbox::new().run(&["explain", "KF0102", "--output", format]).exits(2);
        assert_eq!((ran.out.as_str(), ran.err.contains("expected --output text or json")), ("", true), "{}", ran.err);
    }
}

#[test]
fn a_field_is_described_from_its_declaration() {
    for given in ["spec.engine.type", "modeldeployment.spec.engine.type"] {
        let ran = Sandbox::new().run(&["explain", given]).exits(0);
        assert!(ran.out.contains("FIELD: spec.engine.type <string>\n"), "{}", ran.out);
        assert!(ran.out.contains("    - one of vllm, sglang, trtllm, llamacpp\n"), "{}", ran.out);
    }
    let ran = Sandbox::new().run(&["explain", "asyncactor.spec.scaling"]).exits(0);
    assert!(
        ran.out.starts_with("KIND:        AsyncActor\n") && ran.out.contains("  minReplicas\t<integer>\n"),
        "{}",
        ran.out
    );
}

#[test]
fn a_field_that_does_not_exist_is_refused_with_what_may_be_meant() {
    let ran = Sandbox::new().run(&["explain", "spec.engine.typ"]).exits(2);
    assert!(ran.err.contains("ModelDeployment has no field spec.engine.typ; did you mean type?"), "{}", ran.err);
    let ran = Sandbox::new().run(&["explain", "spec.engine", "llama.yaml"]).exits(2);
    assert!(ran.err.contains("spec.engine is a field, and llama.yaml is not"), "{}", ran.err);
}
