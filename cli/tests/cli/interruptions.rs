//! Signals while files are replaced: no temporary file stays, and every file is whole.

use std::process::{Child, Command, ExitStatus};
use std::thread::sleep;
use std::time::Duration;

use crate::sandbox::{PINNED, Sandbox, model};

const FILES: usize = 400;

fn sandbox() -> Sandbox {
    let models: Vec<String> = (0..FILES).map(|number| model(&format!("m{number}"))).collect();
    Sandbox::new().with("kubefoundry.yaml", PINNED).with("m.yaml", models.join("---\n"))
}

/// Sends a signal with the shell's own `kill`, which every system has.
pub(crate) fn send(signal: &str, child: &Child) {
    let command = format!("kill -{signal} {}", child.id());
    // The program may have ended before.
    let _ = Command::new("sh").args(["-c", &command]).stderr(std::process::Stdio::null()).status().unwrap();
}

/// Runs `render --out-dir` and interrupts it after a while.
fn interrupt(sandbox: &Sandbox, signal: &str, after: Duration) -> ExitStatus {
    let mut child = sandbox.command(&["render", "m.yaml", "--out-dir", "out", "--quiet"]).spawn().unwrap();
    sleep(after);
    send(signal, &child);
    child.wait().unwrap()
}

/// The delays reach from the start of the program to after its end, on a slow machine as on a fast one.
#[test]
fn an_interrupted_run_leaves_whole_files_and_no_others() {
    use std::os::unix::process::ExitStatusExt as _;
    let sandbox = sandbox();
    let mut interrupted = 0;
    for (number, milliseconds) in [1, 2, 5, 10, 20, 40, 60, 80, 100, 150, 200, 300].into_iter().enumerate() {
        let signal = ["INT", "TERM", "HUP"][number % 3];
        let status = interrupt(&sandbox, signal, Duration::from_millis(milliseconds));
        interrupted += usize::from(status.signal().is_some());
        let Ok(_) = std::fs::metadata(sandbox.path("out")) else { continue };
        for file in sandbox.files("out") {
            assert!(!file.contains(".kubefoundry-"), "{file} stays after {signal} at {milliseconds} ms");
            let text = sandbox.read(&format!("out/{file}"));
            assert!(text.starts_with("apiVersion: ") && text.ends_with('\n'), "{file} is not whole");
        }
    }
    assert!(interrupted > 0, "no run was interrupted");
    sandbox.run(&["render", "m.yaml", "--out-dir", "out", "--quiet"]).exits(0);
    assert_eq!(sandbox.files("out").len(), FILES);
}

/// `nohup` starts a program that ignores SIGHUP, and it must go on when the terminal closes.
#[cfg(target_os = "linux")]
#[test]
fn an_ignored_signal_stays_ignored() {
    let sandbox = sandbox();
    let mut ignoring = Command::new("sh");
    // The shell passes what it ignores on to the program that takes its place.
    let binary = env!("CARGO_BIN_EXE_kubefoundry");
    ignoring.args(["-c", "trap '' HUP; exec \"$0\" \"$@\"", binary, "render", "m.yaml", "--out-dir", "out", "--quiet"]);
    let mut child = ignoring.current_dir(sandbox.path(".")).spawn().unwrap();
    // The shell needs a moment to ignore the signal itself.
    sleep(Duration::from_millis(50));
    while child.try_wait().unwrap().is_none() {
        send("HUP", &child);
        sleep(Duration::from_millis(5));
    }
    assert!(child.wait().unwrap().success());
    assert_eq!(sandbox.files("out").len(), FILES);
}
