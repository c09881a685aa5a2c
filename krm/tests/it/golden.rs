//! Every case folder of `testdata/`, run and compared with the snapshots beside its input; and what must hold for each.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{items, resource_list};
use kubefoundry_krm::run;
use serde_json::Value;

struct Case {
    folder: PathBuf,
    input: String,
}

impl Case {
    fn name(&self) -> String {
        self.folder.file_name().unwrap().to_string_lossy().into_owned()
    }
}

fn cases() -> Vec<Case> {
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let mut folders: Vec<PathBuf> = fs::read_dir(testdata).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    let input =
        |folder: &PathBuf| ["input.yaml", "input.json"].iter().find_map(|it| fs::read_to_string(folder.join(it)).ok());
    folders.into_iter().map(|folder| Case { input: input(&folder).unwrap(), folder }).collect()
}

/// `output.snap` is standard output; `stderr.snap` is the exit status and standard error.
#[test]
fn cases_answer_as_recorded() {
    for case in cases() {
        let answer = run(case.input.as_bytes());
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(&case.folder);
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.remove_description();
        settings.bind(|| {
            insta::assert_snapshot!("output", String::from_utf8(answer.stdout).unwrap());
            insta::assert_snapshot!("stderr", format!("exit status {}\n{}", answer.status, answer.stderr));
        });
    }
}

/// A reader of a case learns why it is there: from the first line, or, in JSON, from the first key.
#[test]
fn cases_say_what_they_show() {
    for case in cases() {
        let says = case.input.starts_with("# ") || case.input.starts_with("{\"#\": ");
        assert!(says, "{}: begins with a comment that says what it shows", case.name());
    }
}

/// A pipeline that runs twice changes nothing the second time: what came out goes in again, and comes out the same.
#[test]
fn a_second_run_changes_nothing() {
    let mut second_runs = 0;
    for case in cases() {
        let first = run(case.input.as_bytes());
        if first.status == 0 {
            let second = run(&first.stdout);
            let (first, second) = (resource_list(&first.stdout), resource_list(&second.stdout));
            assert_eq!(items(&first), items(&second), "{}", case.name());
            second_runs += 1;
        }
    }
    assert!(second_runs > 20, "{second_runs} cases succeed");
}

/// The same input gives the same bytes.
#[test]
fn the_function_is_deterministic() {
    for case in cases() {
        assert_eq!(run(case.input.as_bytes()), run(case.input.as_bytes()), "{}", case.name());
    }
}

/// With an error, every item of the input comes back, and the errors in the results are those on standard error.
#[test]
fn an_error_gives_everything_back() {
    let mut failures = 0;
    for case in cases() {
        let answer = run(case.input.as_bytes());
        if answer.status == 0 {
            let returned = resource_list(&answer.stdout);
            let results = returned["results"].as_array().cloned().unwrap_or_default();
            assert!(results.iter().all(|result| result["severity"] != "error"), "{}", case.name());
            continue;
        }
        failures += 1;
        let (given, returned) = (resource_list(case.input.as_bytes()), resource_list(&answer.stdout));
        assert_eq!(items(&given), items(&returned), "{}", case.name());
        let results = returned["results"].as_array().unwrap();
        let errors: Vec<String> = results
            .iter()
            .filter(|result| result["severity"] == "error")
            .map(|result| format!("error: {}", result["message"].as_str().unwrap()))
            .collect();
        let printed: Vec<&str> = answer.stderr.lines().collect();
        assert_eq!(printed, errors, "{}", case.name());
        assert!(!errors.is_empty(), "{}", case.name());
    }
    assert!(failures > 8, "{failures} cases fail");
}

/// What clients stumble over in new objects: one without a kind or a name, two of one name, two in one place of a file,
/// a file outside of the package, a note that makes the client drop it.
#[test]
fn what_is_new_is_complete_and_has_a_place_of_its_own() {
    let mut new = 0;
    for case in cases() {
        let (given, returned) =
            (resource_list(case.input.as_bytes()), resource_list(&run(case.input.as_bytes()).stdout));
        let (given, returned) = (items(&given), items(&returned));
        let text = |object: &Value, path: &str| object.pointer(path).and_then(Value::as_str).map(str::to_owned);
        let note = |object: &Value, key: &str| object["metadata"]["annotations"][key].as_str().map(str::to_owned);
        let name = |object: &Value| ["/kind", "/metadata/namespace", "/metadata/name"].map(|path| text(object, path));
        let place = |object: &Value| {
            let path = note(object, "config.kubernetes.io/path")?;
            Some((
                note(object, "internal.config.kubernetes.io/package-path"),
                path,
                note(object, "config.kubernetes.io/index"),
            ))
        };
        for object in returned.iter().filter(|object| !given.contains(object)) {
            new += 1;
            for field in ["/apiVersion", "/kind", "/metadata/name"] {
                assert!(text(object, field).is_some_and(|text| !text.is_empty()), "{field}: {object}");
            }
            let twins = returned.iter().filter(|other| {
                name(other) == name(object) && note(other, "kubefoundry.ai/model-deployment").is_some()
            });
            assert!(twins.count() <= 1, "{}: {object}", case.name());
            let Some((_, path, _)) = place(object) else { continue };
            assert!(!path.starts_with('/') && !path.contains(".."), "{path}");
            assert_eq!(
                returned.iter().filter(|other| place(other) == place(object)).count(),
                1,
                "{}: {object}",
                case.name()
            );
            for dropped in ["config.kubernetes.io/local-config", "config.kubernetes.io/function"] {
                assert_eq!(note(object, dropped), None, "{}: {object}", case.name());
            }
        }
    }
    assert!(new > 30, "{new} new objects");
}

/// What clients take for something else, or refuse: a list without `items` is applied as an object, results that are not
/// a list cannot be read, severities that are not known are printed as they are.
#[test]
fn answers_have_the_shape_that_clients_read() {
    for case in cases() {
        let returned = resource_list(&run(case.input.as_bytes()).stdout);
        assert!(returned["items"].is_array(), "{}: no list of items", case.name());
        let results = returned.get("results").map(|results| results.as_array().cloned());
        for result in results.map(|results| results.expect("a list of results")).unwrap_or_default() {
            let known = ["error", "warning", "info"].iter().any(|severity| result["severity"] == *severity);
            let ours = result["tags"]["code"].is_string();
            assert!(known || !ours, "{}: {result}", case.name());
            assert!(result["message"].as_str().is_some_and(|message| !message.is_empty()), "{}: {result}", case.name());
        }
    }
}

/// Errors come first: kpt shows four lines.
#[test]
fn results_are_ordered_by_severity() {
    for case in cases() {
        let returned = resource_list(&run(case.input.as_bytes()).stdout);
        let results = returned["results"].as_array().cloned().unwrap_or_default();
        let rank =
            |result: &Value| ["error", "warning", "info"].iter().position(|it| result["severity"] == *it).unwrap();
        let ranks: Vec<usize> = results.iter().filter(|it| it["tags"]["code"].is_string()).map(rank).collect();
        assert!(ranks.is_sorted(), "{}: {ranks:?}", case.name());
        for result in &results {
            assert!(!result["message"].as_str().unwrap().contains('\n'), "{}: {result}", case.name());
        }
    }
}
