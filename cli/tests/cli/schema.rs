//! `schema`: the printed schemas equal those in `schemas/`, and reports match their schemas.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::sandbox::{PINNED, Sandbox, broken, doubtful, model};

/// The schema of a report, changed to reject unknown fields, and its validator.
fn strict_schema(name: &str) -> (Value, Validator) {
    let ran = Sandbox::new().run(&["schema", name]).exits(0);
    let mut schema: Value = serde_json::from_str(&ran.out).unwrap();
    reject_unknown_fields(&mut schema);
    let validator = jsonschema::draft7::new(&schema).unwrap();
    (schema, validator)
}

fn reject_unknown_fields(schema: &mut Value) {
    if let Some(fields) = schema.as_object_mut() {
        if fields.contains_key("properties") {
            fields.insert("additionalProperties".to_owned(), json!(false));
            fields["properties"].as_object_mut().unwrap().values_mut().for_each(reject_unknown_fields);
        }
        if let Some(items) = fields.get_mut("items") {
            reject_unknown_fields(items);
        }
    }
}

/// Collects all properties of the schema, and those that a report has.
fn collect_properties(
    schema: &Value,
    report: &Value,
    path: &str,
    all: &mut BTreeSet<String>,
    found: &mut BTreeSet<String>,
) {
    for (key, property) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{key}");
        all.insert(path.clone());
        if let Some(value) = report.get(key) {
            found.insert(path.clone());
            collect_properties(property, value, &path, all, found);
        } else {
            collect_properties(property, &Value::Null, &path, all, found);
        }
    }
    if schema.get("items").is_some() {
        let items = report.as_array().map(Vec::as_slice).unwrap_or_default();
        collect_properties(&schema["items"], &Value::Null, path, all, found);
        for item in items {
            collect_properties(&schema["items"], item, path, all, found);
        }
    }
}

/// The JSON reports of a command for every group of golden test cases and for a directory with broken files. A case with CRDs
/// is also read alone, and so is each case of a group that cannot be read as a whole, and the options of each.
fn reports(command: &[&str]) -> Vec<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let sandbox = Sandbox::new().with("a.yaml", model("a")).with("b.yaml", broken("b")).with("c.yaml", doubtful("c"));
    let sandbox = sandbox.with("clusters/dev/kubefoundry.yaml", PINNED).with("clusters/dev/m.yaml", model("m"));
    let run = |folder: &Path| {
        let crds = folder.join("crds").display().to_string();
        let dump: &[&str] = if Path::new(&crds).is_dir() { &["--crds", &crds] } else { &[] };
        sandbox.run(&[command, &["--output", "json", &folder.display().to_string()], dump].concat()).out
    };
    let mut reports = vec![run(".".as_ref()), run("clusters".as_ref())];
    for group in std::fs::read_dir(root.join("testdata/golden")).unwrap() {
        let group = group.unwrap().path();
        let whole = run(&group);
        let cases = std::fs::read_dir(group).unwrap().map(|case| case.unwrap().path());
        let is_alone = |case: &PathBuf| whole.is_empty() || case.join("crds").is_dir() || command == ["config"];
        reports.extend(cases.filter(is_alone).map(|case| run(&case)));
        reports.push(whole);
    }
    let reports = reports.into_iter().filter(|out| !out.is_empty());
    reports.map(|out| serde_json::from_str(&out).unwrap()).collect()
}

fn check(name: &str, command: &[&str]) {
    let reports = reports(command);
    assert!(reports.len() > 10, "{} reports", reports.len());
    check_reports(name, reports, |_| true);
}

fn check_reports(name: &str, reports: Vec<Value>, is_expected: impl Fn(&str) -> bool) {
    let (schema, validator) = strict_schema(name);
    let (mut all, mut found) = (BTreeSet::new(), BTreeSet::new());
    for report in reports {
        let errors: Vec<String> =
            validator.iter_errors(&report).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(errors.is_empty(), "{errors:#?} in {report:#}");
        collect_properties(&schema, &report, "", &mut all, &mut found);
    }
    let missing: Vec<_> = all.difference(&found).filter(|path| is_expected(path)).collect();
    assert!(missing.is_empty(), "no report has {missing:?}, which {name} describes");
}

#[test]
fn findings_match_their_schema() {
    check("diagnostics", &["lint"]);
}

#[test]
fn decisions_match_their_schema() {
    check("decisions", &["explain"]);
}

#[test]
fn traces_match_their_schema() {
    check("traces", &["explain", "--trace"]);
}

#[test]
fn rule_analyses_match_their_schema() {
    check("rule-analysis", &["explain", "--rules"]);
}

#[test]
fn answers_match_their_schema() {
    check("why-not", &["explain", "--why-not", "kaito"]);
}

#[test]
fn fits_match_their_schema() {
    check("fit", &["fit"]);
}

#[test]
fn images_match_their_schema() {
    check("images", &["images"]);
}

#[test]
fn resolved_options_match_their_schema() {
    check("config", &["config"]);
}

/// Findings are not checked here: the tests above check them.
#[test]
fn plans_match_their_schema() {
    let (mut schema, validator) = strict_schema("plan");
    let (mut all, mut found) = (BTreeSet::new(), BTreeSet::new());
    for findings in ["diagnostics", "oldDiagnostics"] {
        schema["properties"].as_object_mut().unwrap().remove(findings);
    }
    for (folder, arguments) in crate::plan::cases() {
        let report = crate::plan::run_plan(&folder, &arguments, &["--output", "json"]);
        let report: Value = serde_json::from_str(&report).unwrap();
        let errors: Vec<String> =
            validator.iter_errors(&report).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(errors.is_empty(), "{errors:#?} in {report:#}");
        collect_properties(&schema, &report, "", &mut all, &mut found);
    }
    let missing: Vec<_> = all.difference(&found).collect();
    assert!(missing.is_empty(), "no plan has {missing:?}, which the schema describes");
}

/// Checks the reports of a command against their schema, and that every field of the schema occurs in one of them.
fn check_cases(name: &str, cases: &str, command: impl Fn(&str) -> Vec<String>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let (schema, validator) = strict_schema(name);
    let (mut all, mut found) = (BTreeSet::new(), BTreeSet::new());
    for case in std::fs::read_dir(root.join(cases)).unwrap() {
        let case = case.unwrap().path();
        let name = case.file_name().unwrap().to_string_lossy().into_owned();
        let mut arguments = command(&name);
        arguments.extend(["--output".to_owned(), "json".to_owned(), case.join("input.yaml").display().to_string()]);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let ran = Sandbox::new().run(&arguments);
        let report: Value = serde_json::from_str(&ran.out).unwrap();
        let errors: Vec<String> = validator.iter_errors(&report).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:#?} in {report:#}");
        collect_properties(&schema, &report, "", &mut all, &mut found);
    }
    // The findings of these cases do not have all fields; `lint` covers them.
    let missing: Vec<_> = all.difference(&found).filter(|field| !field.starts_with(".diagnostics")).collect();
    assert!(missing.is_empty(), "no report has {missing:?}, which {name} describes");
}

#[test]
fn imports_match_their_schema() {
    check_cases("import", "testdata/import", |_| vec!["import".to_owned()]);
}

#[test]
fn migrations_match_their_schema() {
    check_cases("migration", "testdata/migrate", |case| {
        let words: &[&str] = if case.starts_with("to-group") {
            &["migrate", "--to-group", "kubefoundry.ai"]
        } else {
            let provider = case.split('-').nth(1).unwrap();
            return vec!["migrate".to_owned(), "--to".to_owned(), provider.to_owned()];
        };
        words.iter().map(|word| (*word).to_owned()).collect()
    });
}

/// The reports in the snapshots of a group of cases.
fn read_snapshots(group: &str) -> Vec<Value> {
    let read = |case: &PathBuf| {
        let text = std::fs::read_to_string(case.join("json.snap")).unwrap();
        serde_json::from_str(text.splitn(3, "---\n").nth(2).unwrap()).unwrap()
    };
    crate::status::cases(group).iter().map(read).collect()
}

#[test]
fn statuses_match_their_schema() {
    check_without_findings("status", read_snapshots("status"));
}

#[test]
fn drift_matches_its_schema() {
    check_without_findings("drift", read_snapshots("drift"));
}

/// Checks reports without requiring every field of findings, which `lint` covers.
fn check_without_findings(name: &str, reports: Vec<Value>) {
    check_reports(name, reports, |path| !path.starts_with(".diagnostics."));
}

/// `kubectl apply -f -` accepts the whole stream, and replaces no CRD of another project.
#[test]
fn crds_are_one_stream() {
    let ran = Sandbox::new().run(&["schema", "crds"]).exits(0);
    assert_eq!(ran.kinds(), ["CustomResourceDefinition"; 4]);
    assert_eq!(ran.out.lines().filter(|line| *line == "---").count(), 3);
    assert!(!ran.out.contains("asya.sh"), "{}", ran.out);
    assert!(ran.out.contains("\n  name: modeldeployments.kubeairunway.ai\n"), "{}", ran.out);
}

/// Every listed schema can be printed, and equals the file in `schemas/`.
#[test]
fn prints_every_listed_schema() {
    let sandbox = Sandbox::new();
    let listed = sandbox.run(&["schema"]).exits(0);
    let names: Vec<&str> = listed.out.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names[0], "crds");
    assert_eq!(names.len(), 24);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schemas");
    for name in &names[1..] {
        let printed = sandbox.run(&["schema", name]).exits(0).out;
        let extension = if name.contains('_') { "yaml" } else { "json" };
        assert_eq!(printed, std::fs::read_to_string(folder.join(format!("{name}.{extension}"))).unwrap(), "{name}");
    }
    let files = std::fs::read_dir(folder).unwrap().filter(|entry| entry.as_ref().unwrap().path().is_file());
    assert_eq!(files.count(), 23, "every file has a name");
}

/// Every listed upstream kind is printed as a CRD; comments name its release.
#[test]
fn prints_every_listed_skeleton() {
    let sandbox = Sandbox::new();
    let listed = sandbox.run(&["schema", "--upstream"]).exits(0).out;
    assert!(listed.contains("ray.io/RayService "), "{listed}");
    let kinds: BTreeSet<&str> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    for kind in kinds {
        let ran = sandbox.run(&["schema", "--upstream", kind]).exits(0);
        assert_eq!(ran.kinds(), ["CustomResourceDefinition"], "{kind}");
    }
    let graph = "nvidia.com/DynamoGraphDeployment";
    let older = sandbox.run(&["schema", "--upstream", graph, "--release", "1.4.0"]).exits(0).out;
    assert!(older.starts_with("# DynamoGraphDeployment of Dynamo 1.2.0, d1753c81 of 2026-05-06\n"), "{older}");
    let unknown = sandbox.run(&["schema", "--upstream", "ray.io/RayCluster"]).exits(2);
    assert!(unknown.err.contains("no schema of \"ray.io/RayCluster\""), "{}", unknown.err);
}

#[test]
fn suggests_a_schema_for_an_unknown_one() {
    let ran = Sandbox::new().run(&["schema", "modeldeployments"]).exits(2);
    assert_eq!(ran.out, "");
    assert!(ran.err.contains("modeldeployment"), "{}", ran.err);
}
