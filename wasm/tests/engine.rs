//! The functions that JavaScript calls, on the host.
#![allow(clippy::disallowed_methods, clippy::panic, clippy::unwrap_used, reason = "tests read the examples")]

use std::fs;
use std::path::{Path, PathBuf};

use kubefoundry::{Purpose, SourceSet};
use kubefoundry_wasm::engine::{CallError, Engine, code_page};
use serde_json::{Value, json};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Reads the manifests and the options of an example as a request.
fn example(folder: &Path) -> Value {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let text = |path: &PathBuf| fs::read_to_string(path).unwrap();
    let is_manifest = |path: &&PathBuf| {
        path.extension().is_some_and(|extension| extension == "yaml") && name(path) != "kubefoundry.yaml"
    };
    let manifests: Vec<Value> =
        files.iter().filter(is_manifest).map(|path| json!({"name": name(path), "text": text(path)})).collect();
    let mut request = json!({"files": manifests});
    if let Some(options) = files.iter().find(|path| name(path) == "kubefoundry.yaml") {
        request["options"] = text(options).into();
    }
    request
}

/// Returns every example with its folder.
fn examples() -> Vec<(PathBuf, Value)> {
    let entries = fs::read_dir(root().join("examples")).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    folders.sort();
    folders.into_iter().map(|folder| (folder.clone(), example(&folder))).collect()
}

fn read(answer: Result<String, CallError>) -> Value {
    serde_json::from_str(&answer.unwrap()).unwrap()
}

fn validate(schema: &str, report: &Value) {
    let text = fs::read_to_string(root().join(format!("schemas/{schema}.json"))).unwrap();
    let validator = jsonschema::draft7::new(&serde_json::from_str(&text).unwrap()).unwrap();
    let errors: Vec<String> = validator.iter_errors(report).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{schema}: {errors:?}\n{report:#}");
}

const PHI: &str = "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {name: phi}\n\
                   spec: {model: {id: org/phi}, engine: {type: vllm}, resources: {gpu: {count: 1}}}\n";

fn request(text: &str) -> String {
    json!({"files": [{"name": "phi.yaml", "text": text}]}).to_string()
}

/// The goldens of the examples are what `render` prints.
#[test]
fn every_example_renders_to_its_golden() {
    let mut engine = Engine::default();
    for (folder, request) in examples() {
        let golden = fs::read_to_string(folder.join("output.snap")).unwrap();
        let (_, expected) = golden.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap();
        let rendered = read(engine.render(&request.to_string()));
        let manifests = rendered["manifests"].as_str().unwrap_or_else(|| panic!("{folder:?}: {rendered:#}"));
        assert_eq!(manifests.trim(), expected.trim(), "{folder:?}");
        assert!(rendered["refusal"].is_null());
    }
}

#[test]
fn every_report_has_the_shape_of_its_schema() {
    let mut engine = Engine::default();
    let mut previous = request(PHI);
    for (_, example) in examples() {
        let example = example.to_string();
        validate("diagnostics", &read(engine.lint(&example)));
        validate("diagnostics", &read(engine.render(&example))["diagnostics"]);
        validate("decisions", &read(engine.explain(&example)));
        validate("fit", &read(engine.fit(&example)));
        let planned = read(engine.plan(&previous, &example, true));
        validate("plan", &planned["plan"]);
        validate("diagnostics", &planned["oldDiagnostics"]);
        validate("import", &read(engine.import(&example, None, false))["report"]);
        previous = example;
    }
}

/// Findings come from the run that also records every decision, which may not find more or less than `lint`.
#[test]
fn findings_are_those_of_lint() {
    let mut engine = Engine::default();
    for (folder, request) in examples() {
        let mut sources = SourceSet::default();
        if let Some(options) = request["options"].as_str() {
            sources.add_for(Purpose::Options, "kubefoundry.yaml", options);
        }
        for file in request["files"].as_array().unwrap() {
            sources.add(file["name"].as_str().unwrap(), file["text"].as_str().unwrap());
        }
        let compilation = kubefoundry::compile(&sources, kubefoundry::Thoroughness::EveryRule);
        let expected = kubefoundry::report::json(&compilation.diagnostics, &sources, &[]);
        assert_eq!(engine.lint(&request.to_string()).unwrap(), expected, "{folder:?}");
    }
}

#[test]
fn an_unchanged_state_has_a_plan_without_changes() {
    let engine = Engine::default();
    let planned = read(engine.plan(&request(PHI), &request(PHI), false));
    assert_eq!(planned["plan"]["summary"]["unchanged"], 1);
    let planned = read(engine.plan(&request(PHI), &request(&PHI.replace("count: 1", "count: 2")), true));
    assert_eq!(planned["plan"]["deployments"][0]["action"], "changed");
    assert!(planned["plan"]["deployments"][0]["diff"].as_str().unwrap().lines().any(|line| line.starts_with("+ ")));
    let broken = read(engine.plan(&request(PHI), &request(&PHI.replace("vllm", "vlm")), false));
    let findings = broken["diagnostics"]["diagnostics"].as_array().unwrap();
    assert!(broken["plan"].is_null() && findings.iter().any(|finding| finding["severity"] == "error"), "{broken:#}");
}

#[test]
fn provider_objects_are_imported() {
    let workspace = "apiVersion: kaito.sh/v1beta1\nkind: Workspace\nmetadata: {name: phi}\n\
                     resource: {count: 1, instanceType: Standard_NC24ads_A100_v4, labelSelector: {matchLabels: {apps: phi}}}\n\
                     inference: {preset: {name: microsoft/Phi-4-mini-instruct}}\n";
    let imported = read(Engine::default().import(&request(workspace), None, false));
    assert!(imported["manifests"].as_str().unwrap().contains("kind: ModelDeployment\n"), "{imported:#}");
    validate("import", &imported["report"]);
}

#[test]
fn a_picture_escapes_the_texts_of_users() {
    let hostile = PHI.replace("org/phi", "\"<img src=x onerror=alert(1)>\"");
    let picture = read(Engine::default().picture(&request(&hostile)));
    let picture = picture.as_str().unwrap();
    assert!(picture.contains("class=\"flow\"") && !picture.contains("<img"), "{picture}");
}

/// Offsets of JavaScript count UTF-16 units: `😀` has two of them, and four bytes.
#[test]
fn completions_and_descriptions_count_as_javascript_does() {
    let engine = Engine::default();
    let text = format!("# 😀é\n{PHI}").replace("type: vllm", "type: vl");
    let units = text.encode_utf16().collect::<Vec<_>>();
    let at = String::from_utf16(&units).unwrap().find("type: vl").unwrap() + "type: vl".len();
    let offset = text[..at].encode_utf16().count();
    let completions = read(engine.complete(&request(&text), "phi.yaml", offset));
    let first = &completions.as_array().unwrap()[0];
    let replaced = String::from_utf16(
        &units[usize::try_from(first["from"].as_u64().unwrap()).unwrap()
            ..usize::try_from(first["to"].as_u64().unwrap()).unwrap()],
    );
    assert_eq!((first["label"].as_str(), replaced.unwrap().as_str()), (Some("vllm"), "vl"), "{completions:#}");
    let described = read(engine.hover(&request(&text), "phi.yaml", offset - 4));
    assert!(described["markdown"].as_str().unwrap().starts_with("`spec.engine.type`"), "{described:#}");
    assert!(read(engine.hover(&request(&text), "phi.yaml", 0)).is_null());
}

#[test]
fn options_are_a_text_too() {
    let options = "apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\nruntimes: {dynamo: 1.6.1}\nstrct: true\n";
    let request = json!({"files": [{"name": "phi.yaml", "text": PHI}], "options": options}).to_string();
    let mut engine = Engine::default();
    let report = read(engine.lint(&request));
    let finding = &report["diagnostics"][0];
    assert_eq!((&finding["file"], &finding["code"]), (&"kubefoundry.yaml".into(), &"KF0113".into()), "{report:#}");
    let fixed = read(engine.fix_all(&request, "kubefoundry.yaml"));
    assert_eq!(fixed, json!({"text": options.replace("strct", "strict"), "fixes": 1}));
    let offset = options.find("1.6.1").unwrap();
    let versions = read(engine.complete(&request, "kubefoundry.yaml", offset));
    assert!(versions.as_array().unwrap().iter().any(|it| it["label"] == "1.4.0"), "{versions:#}");
}

#[test]
fn all_fixes_of_a_text_are_applied_together() {
    let broken = PHI.replace("engine:", "engin:").replace("model:", "modl:");
    let fixed = read(Engine::default().fix_all(&request(&broken), "phi.yaml"));
    assert_eq!(fixed, json!({"text": PHI, "fixes": 2}));
}

#[test]
fn a_malformed_request_is_refused() {
    let mut engine = Engine::default();
    for malformed in ["", "[]", "{}", r#"{"files": [{"name": 1, "text": ""}]}"#, r#"{"files": [], "flags": ""}"#] {
        assert!(matches!(engine.lint(malformed), Err(CallError::Request(_))), "{malformed}");
    }
    let error = engine.complete(&request(PHI), "other.yaml", 0).unwrap_err();
    assert_eq!(error.to_string(), "the request has no text named \"other.yaml\"");
}

#[test]
fn codes_have_pages() {
    assert!(code_page("KF0113").unwrap().starts_with("# KF0113: unknown-field\n"));
    assert_eq!(code_page("KF9999"), None);
}

/// While a user types, texts are seldom complete. An engine that has seen one is asked about the next.
#[test]
fn texts_that_are_cut_off_get_answers() {
    let mut engine = Engine::default();
    let text = fs::read_to_string(root().join("examples/llama-70b-role-settings/model.yaml")).unwrap();
    for end in (0..text.len()).step_by(41).filter(|end| text.is_char_boundary(*end)) {
        let cut = request(&text[..end]);
        for answer in [engine.lint(&cut), engine.render(&cut), engine.explain(&cut), engine.fit(&cut)] {
            assert!(answer.is_ok());
        }
        assert!(engine.complete(&cut, "phi.yaml", end).is_ok() && engine.hover(&cut, "phi.yaml", end / 2).is_ok());
        assert!(engine.fix_all(&cut, "phi.yaml").is_ok() && engine.import(&cut, None, true).is_ok());
        assert!(engine.plan(&cut, &request(&text), true).is_ok());
    }
}

/// An engine that keeps results answers like a new one.
#[test]
fn kept_results_change_no_answer() {
    let mut kept = Engine::default();
    for text in [PHI.to_owned(), PHI.replace("vllm", "vlm"), String::new(), PHI.replace("count: 1", "count: 4")] {
        let request = request(&text);
        assert_eq!(kept.lint(&request).unwrap(), Engine::default().lint(&request).unwrap());
        assert_eq!(kept.render(&request).unwrap(), Engine::default().render(&request).unwrap());
        assert_eq!(kept.picture(&request).unwrap(), Engine::default().picture(&request).unwrap());
    }
}
