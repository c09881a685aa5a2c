//! The program as it is started by `cargo measure`, and by the steps of CI, which run what this test has built (`.ci/measure`).

use std::process::Command;

#[test]
fn help_lists_the_instruments_and_anything_else_is_refused() {
    let start = |arguments: &[&str]| Command::new(env!("CARGO_BIN_EXE_measure")).args(arguments).output().unwrap();
    let help = start(&["--help"]);
    let text = String::from_utf8(help.stdout).unwrap();
    for instrument in ["corpus", "import-corpus", "instructions"] {
        assert!(help.status.success() && text.contains(&format!("\n  {instrument} ")), "{text}");
    }
    assert_eq!(start(&["no-such-instrument"]).status.code(), Some(2));
}
