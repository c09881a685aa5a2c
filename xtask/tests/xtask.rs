//! The program as it is started by `cargo xtask`, and by the steps of CI, which run what this test has built (`.ci/xtask`).

use std::process::Command;

#[test]
fn help_lists_the_tasks_and_anything_else_is_refused() {
    let start = |arguments: &[&str]| Command::new(env!("CARGO_BIN_EXE_xtask")).args(arguments).output().unwrap();
    let help = start(&["--help"]);
    let text = String::from_utf8(help.stdout).unwrap();
    for task in ["generate", "fuzz", "flags", "facts", "upstream", "packages"] {
        assert!(help.status.success() && text.contains(&format!("\n  {task} ")), "{text}");
    }
    assert_eq!(start(&["no-such-task"]).status.code(), Some(2));
}
