//! `explain CODE` and `explain FIELD`.

use serde_json::Value;

use crate::sandbox::{Sandbox, broken, doubtful, model};

fn page(id: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../docs/codes/{id}.md"));
    std::fs::read_to_string(path).unwrap()
}

/// A code is found by its ID or name, ignoring case.
#[test]
fn prints_the_page_of_a_code() {
    for given in ["KF0113", "kf0113", "unknown-field", "Unknown-Field"] {
        let ran = Sandbox::new().run(&["explain", given]).exits(0);
        assert_eq!((ran.out, ran.err), (page("KF0113"), String::new()), "{given}");
    }
}

#[test]
fn prints_the_pages_of_several_codes() {
    let ran = Sandbox::new().run(&["explain", "KF0113", "wrong-type"]).exits(0);
    assert_eq!(ran.out, page("KF0113") + "\n" + &page("KF0112"));
}

#[test]
fn prints_a_code_as_json() {
    let ran = Sandbox::new().run(&["explain", "KF0113", "--output", "json"]).exits(0);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    let expected = serde_json::json!({"version": 1, "codes": [{
        "id": "KF0113", "name": "unknown-field", "severity": "error", "summary": "a field that does not exist",
        "page": page("KF0113"),
    }]});
    assert_eq!(report, expected);
}

/// A code is never read as a path, so that the output does not depend on the directory.
#[test]
fn reads_a_code_before_a_path() {
    let sandbox = Sandbox::new().with("unknown-field/a.yaml", model("a")).with("KF0113", model("b"));
    for given in ["KF0113", "unknown-field"] {
        assert!(sandbox.run(&["explain", given]).exits(0).out.starts_with("# KF0113"));
    }
    assert!(sandbox.run(&["explain", "./unknown-field"]).exits(0).out.starts_with("ModelDeployment prod/a"));
    assert!(sandbox.run(&["explain", "./KF0113"]).exits(0).out.starts_with("ModelDeployment prod/b"));
}

/// An existing directory whose name only resembles a code is a path.
#[test]
fn reads_an_existing_directory_as_a_path() {
    let sandbox = Sandbox::new().with("wrong-types/a.yaml", model("a"));
    assert!(sandbox.run(&["explain", "wrong-types"]).exits(0).out.starts_with("ModelDeployment prod/a"));
}

#[test]
fn rejects_an_unknown_code() {
    for (given, expected) in [
        ("KF0199", "kubefoundry: KF0199 is not a diagnostic code; expected one of KF0101 to KF0128\n"),
        ("KF9999", "kubefoundry: KF9999 is not a diagnostic code; expected a code such as KF0113\n"),
        ("kf102", "kubefoundry: kf102 is not a diagnostic code; did you mean KF0102 (duplicate-key)?\n"),
        (
            "models",
            "kubefoundry: models is neither a file, a directory nor a diagnostic code; expected a path, a code such as \
             KF0113, or its name\n",
        ),
        (
            "unkown-field",
            "kubefoundry: unkown-field is neither a file, a directory nor a diagnostic code; did you mean KF0113 \
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
fn rejects_a_mix_of_codes_and_paths() {
    let ran = Sandbox::new().with("a.yaml", model("a")).run(&["explain", "a.yaml", "KF0113"]).exits(2);
    let expected = "kubefoundry: KF0113 is a diagnostic code, but a.yaml is not; explain them in separate commands\n";
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", expected));
}

/// A text report ends with a pointer to the page of the most severe finding; other formats do not.
#[test]
fn a_text_report_names_the_page_of_a_code() {
    let sandbox = Sandbox::new().with("a.yaml", doubtful("a")).with("b.yaml", broken("b"));
    let line = "For more about a finding, try `kubefoundry explain KF0112`.";
    assert_eq!(sandbox.run(&["lint", "."]).exits(1).out.lines().last(), Some(line));
    assert_eq!(sandbox.run(&["render", "."]).exits(1).err.lines().last(), Some(line));
    for format in ["concise", "json"] {
        assert!(!sandbox.run(&["lint", ".", "--output", format]).exits(1).out.contains("kubefoundry explain"));
    }
}

#[test]
fn rejects_picture_formats_for_a_code() {
    for format in ["mermaid", "html"] {
        let ran = Sandbox::new().run(&["explain", "KF0113", "--output", format]).exits(2);
        assert_eq!(
            (ran.out.as_str(), ran.err.contains("only be printed with --output text or json")),
            ("", true),
            "{}",
            ran.err
        );
    }
}

#[test]
fn prints_the_description_of_a_field() {
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
fn suggests_a_field_for_an_unknown_one() {
    let ran = Sandbox::new().run(&["explain", "spec.engine.typ"]).exits(2);
    assert!(ran.err.contains("ModelDeployment has no field spec.engine.typ; did you mean type?"), "{}", ran.err);
    for (given, suggestion) in [
        ("sepc.engine.type", "spec.engine.type"),
        ("contextLength", "spec.engine.contextLength"),
        ("engine.contextLength", "spec.engine.contextLength"),
        ("modeldeploymet.spec.env", "modeldeployment.spec.env"),
        ("nodeAutoProvisioning", "render.kaito.nodeAutoProvisioning"),
    ] {
        let ran = Sandbox::new().run(&["explain", given]).exits(2);
        let expected = format!("{given} is neither a file, a directory nor a field; did you mean {suggestion}?");
        assert!(ran.err.contains(&expected), "{}", ran.err);
    }
    // A file is a file, whatever its name is.
    Sandbox::new().with("contextLength", crate::sandbox::model("a")).run(&["explain", "contextLength"]).exits(0);
    let ran = Sandbox::new().run(&["explain", "spec.contextLength"]).exits(2);
    assert!(ran.err.contains("did you mean spec.engine.contextLength?"), "{}", ran.err);
    let ran = Sandbox::new().run(&["explain", "spec.engine", "llama.yaml"]).exits(2);
    assert!(ran.err.contains("spec.engine is a field, but llama.yaml is not"), "{}", ran.err);
}
