//! `kubefoundry fn`: starting the KRM function. Its output is tested in `krm/tests`.

use crate::sandbox::{Sandbox, broken, model};

fn list(model: &str) -> String {
    let item = model.trim_end().replace('\n', "\n  ");
    format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- {item}\n")
}

#[test]
fn prints_the_list_with_generated_objects() {
    let ran = Sandbox::new().pipe(&["fn"], list(&model("phi"))).exits(0);
    assert!(ran.out.starts_with(&list(&model("phi"))), "{}", ran.out);
    assert!(ran.out.contains("\n  kind: DynamoGraphDeployment\n") && ran.err.is_empty(), "{ran:?}");
}

#[test]
fn an_error_returns_the_whole_list() {
    let ran = Sandbox::new().pipe(&["fn"], list(&broken("phi"))).exits(1);
    assert!(ran.out.starts_with(&list(&broken("phi"))) && ran.out.contains("\nresults:\n"), "{}", ran.out);
    assert!(ran.err.starts_with("error: KF0112 ModelDeployment prod/phi: "), "{}", ran.err);
}

/// Clients that ignore the exit status take an empty output as a request to delete everything, so that the whole list
/// is returned even for wrong usage.
#[test]
fn rejects_arguments_and_returns_the_list() {
    for arguments in [&["fn", "--strict"] as &[_], &["fn", "models/"], &["--color", "loud", "fn"], &["--strict", "fn"]]
    {
        let ran = Sandbox::new().pipe(arguments, list(&model("phi"))).exits(1);
        assert!(ran.out.starts_with(&list(&model("phi"))), "{ran:?}");
        assert!(ran.out.contains("\nresults:\n") && ran.out.contains("in functionConfig"), "{ran:?}");
        assert!(ran.err.starts_with("error: kubefoundry-fn: ") && ran.err.lines().count() == 1, "{ran:?}");
    }
    let help = Sandbox::new().pipe(&["fn", "--help"], "").exits(0);
    assert!(help.out.contains("reads a ResourceList"), "{help:?}");
}

/// Under its other name, the program is the function: clients pass it no arguments, or none that it takes.
#[cfg(unix)]
#[test]
fn a_link_with_its_name_is_the_function() {
    let sandbox = Sandbox::new();
    let link = sandbox.path("kubefoundry-fn");
    std::os::unix::fs::symlink(sandbox.command(&[]).get_program(), &link).unwrap();
    let start = |arguments: &[&str], input: &str| {
        std::fs::write(sandbox.path("list.yaml"), input).unwrap();
        let stdin = std::fs::File::open(sandbox.path("list.yaml")).unwrap();
        let output = std::process::Command::new(&link).args(arguments).stdin(stdin).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let input = list(&model("phi"));
    let (status, out, err) = start(&[], &input);
    assert!(status == Some(0) && out.contains("\n  kind: DynamoGraphDeployment\n") && err.is_empty(), "{out}{err}");
    // For no input at all, an empty list is written; input that is not a list comes back.
    let says = "unexpected argument \"--strict\"; set options in functionConfig";
    let empty = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n";
    for (input, begins) in [(input.as_str(), input.as_str()), ("no list\n", "no list\n"), ("", empty)] {
        let (status, out, err) = start(&["--strict", "x"], input);
        assert_eq!((status, err), (Some(1), format!("error: kubefoundry-fn: {says}\n")));
        assert!(out.starts_with(begins), "{out}");
    }
    for (argument, says) in [("--help", "reads a ResourceList"), ("--version", "kubefoundry-fn ")] {
        let (status, out, _) = start(&[argument], "");
        assert!(status == Some(0) && out.contains(says), "{argument}: {out}");
    }
}

/// If standard input cannot be read, an empty list is printed.
#[cfg(unix)]
#[test]
fn unreadable_input_is_a_failure_with_output() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["fn"]);
    command.stdin(std::fs::File::open(sandbox.path("")).unwrap());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().starts_with("error: kubefoundry-fn: standard input: "));
    assert_eq!(output.stdout, b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n");
}

/// A client must not mistake a truncated list for a complete one.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_failure() {
    let sandbox = Sandbox::new().with("list.yaml", list(&model("phi")));
    let open = |path: &str| std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut command = sandbox.command(&["fn"]);
    command.stdin(std::fs::File::open(sandbox.path("list.yaml")).unwrap()).stdout(open("/dev/full"));
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("standard output"));
}
