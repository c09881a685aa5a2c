//! `kubefoundry-fn` as clients start it.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use crate::common::{deployment, resource_list};

const HEAD: &str = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n";

fn program(arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubefoundry-fn"));
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// An argument is an error as any other: the whole list comes back, and the error is one of its results. An empty
/// answer would mean "delete all" to a client that ignores the exit status.
#[test]
fn an_argument_is_an_error_with_the_whole_list() {
    let input = format!("{HEAD}- {}", deployment("phi", ""));
    let answer = program(&["--strict", "x"], &input);
    let says = "unexpected argument \"--strict\"; set options in functionConfig";
    assert_eq!(answer.status.code(), Some(1));
    assert_eq!(String::from_utf8(answer.stderr).unwrap(), format!("error: kubefoundry-fn: {says}\n"));
    assert!(answer.stdout.starts_with(input.as_bytes()));
    let results = resource_list(&answer.stdout)["results"].clone();
    assert_eq!(results, serde_json::json!([{"message": says, "severity": "error"}]));
}

/// So does input that is not a list; for no input at all, an empty list is written.
#[test]
fn an_argument_is_an_error_whatever_is_given() {
    let answer = program(&["x"], "no list\n");
    assert_eq!((answer.status.code(), answer.stdout.as_slice()), (Some(1), b"no list\n".as_slice()));
    let answer = program(&["x"], "");
    assert_eq!(answer.status.code(), Some(1));
    assert_eq!(resource_list(&answer.stdout)["items"], serde_json::json!([]));
}

/// Without arguments it runs; help and version are not errors, and do not wait for a list.
#[test]
fn it_runs_without_arguments() {
    let answer = program(&[], &format!("{HEAD}- {}", deployment("phi", "")));
    assert!(answer.status.success() && String::from_utf8(answer.stdout).unwrap().contains("DynamoGraphDeployment"));
    for (argument, says) in [("--help", "reads a ResourceList"), ("--version", "kubefoundry-fn ")] {
        let answer = program(&[argument], "");
        assert!(answer.status.success() && String::from_utf8(answer.stdout).unwrap().contains(says), "{argument}");
    }
}
