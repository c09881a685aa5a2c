//! `kubefoundry fn`: the KRM function, as clients start it. What it answers is tested in `krm/tests`.

use crate::sandbox::{Sandbox, broken, model};

fn list(model: &str) -> String {
    let item = model.trim_end().replace('\n', "\n  ");
    format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- {item}\n")
}

#[test]
fn it_answers_with_the_list_and_what_is_new() {
    let ran = Sandbox::new().pipe(&["fn"], list(&model("phi"))).exits(0);
    assert!(ran.out.starts_with(&list(&model("phi"))), "{}", ran.out);
    assert!(ran.out.contains("\n  kind: DynamoGraphDeployment\n") && ran.err.is_empty(), "{ran:?}");
}

#[test]
fn a_mistake_is_an_error_and_the_list_comes_back() {
    let ran = Sandbox::new().pipe(&["fn"], list(&broken("phi"))).exits(1);
    assert!(ran.out.starts_with(&list(&broken("phi"))) && ran.out.contains("\nresults:\n"), "{}", ran.out);
    assert!(ran.err.starts_with("error: KF0101 ModelDeployment prod/phi: "), "{}", ran.err);
}

/// A client gives options in the list; a flag would never reach it. An empty answer would mean "delete all" to a client
/// that ignores the exit status, so the whole list comes back.
#[test]
fn it_takes_no_arguments() {
    for arguments in [&["fn", "--strict"] as &[_], &["fn", "models/"], &["--color", "loud", "fn"], &["--strict", "fn"]]
    {
        let ran = Sandbox::new().pipe(arguments, list(&model("phi"))).exits(1);
        assert!(ran.out.starts_with(&list(&model("phi"))), "{ran:?}");
        assert!(ran.out.contains("\nresults:\n") && ran.out.contains("options are in the functionConfig"), "{ran:?}");
        assert!(ran.err.starts_with("error: kubefoundry-fn: ") && ran.err.lines().count() == 1, "{ran:?}");
    }
    let help = Sandbox::new().pipe(&["fn", "--help"], "").exits(0);
    assert!(help.out.contains("Reads a ResourceList"), "{help:?}");
}

/// Standard input that cannot be read, a directory for instance, is not answered with nothing either.
#[cfg(unix)]
#[test]
fn input_that_cannot_be_read_is_a_failure_with_an_answer() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["fn"]);
    command.stdin(std::fs::File::open(sandbox.path("")).unwrap());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().starts_with("error: kubefoundry-fn: standard input: "));
    assert_eq!(output.stdout, b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n");
}

/// A full disk, a closed pipe: half a list must not pass for one.
#[cfg(target_os = "linux")]
#[test]
fn an_answer_that_cannot_be_written_is_a_failure() {
    let sandbox = Sandbox::new().with("list.yaml", list(&model("phi")));
    let open = |path: &str| std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut command = sandbox.command(&["fn"]);
    command.stdin(std::fs::File::open(sandbox.path("list.yaml")).unwrap()).stdout(open("/dev/full"));
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("standard output"));
}
