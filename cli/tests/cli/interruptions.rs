//! Signals while files are replaced: no temporary file stays, and every file is whole.

use std::process::{Child, Command, Stdio};

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

/// Every signal that asks a program to end, or ends one that does nothing about it. Numbers are those that only Linux
/// has: SIGSTKFLT, SIGIO, SIGPWR, and the first and last real-time signal.
const SIGNALS: &[&str] = &[
    "INT",
    "TERM",
    "HUP",
    "QUIT",
    "USR1",
    "USR2",
    "ALRM",
    "VTALRM",
    "PROF",
    "XCPU",
    "XFSZ",
    #[cfg(target_os = "linux")]
    "29",
    #[cfg(target_os = "linux")]
    "30",
    #[cfg(target_os = "linux")]
    "16",
    #[cfg(target_os = "linux")]
    "34",
    #[cfg(target_os = "linux")]
    "64",
];

/// Asserts that the files of `--out-dir` are whole, and that no others are there.
#[track_caller]
fn assert_whole(sandbox: &Sandbox, interruption: &str) {
    let Ok(_) = std::fs::metadata(sandbox.path("out")) else { return };
    for file in sandbox.files("out") {
        assert!(!file.contains(".kubefoundry-"), "{file} stays after {interruption}");
        let text = sandbox.read(&format!("out/{file}"));
        assert!(text.starts_with("apiVersion: ") && text.ends_with('\n'), "{file} is not whole");
    }
}

/// The signals come while the program waits for its input, and then when it has written more and more files.
#[test]
fn an_interrupted_run_leaves_whole_files_and_no_others() {
    use std::os::unix::process::ExitStatusExt as _;
    let sandbox = sandbox();
    let mut waiting = sandbox.command(&["render", "-", "--out-dir", "out", "--quiet"]);
    let mut child = waiting.stdin(Stdio::piped()).spawn().unwrap();
    send("TERM", &child);
    assert!(child.wait().unwrap().signal().is_some());
    assert_whole(&sandbox, "TERM before the input has ended");
    for (number, files) in [0, 1, 2, 5, 10, 20, 50, 100, 200, 300, FILES - 1, FILES].into_iter().enumerate() {
        let signal = SIGNALS[number % SIGNALS.len()];
        let _ = std::fs::remove_dir_all(sandbox.path("out"));
        let mut child = sandbox.command(&["render", "m.yaml", "--out-dir", "out", "--quiet"]).spawn().unwrap();
        while child.try_wait().unwrap().is_none() && count_files(&sandbox) < files {}
        send(signal, &child);
        child.wait().unwrap();
        assert_whole(&sandbox, &format!("{signal} at {files} files"));
    }
    sandbox.run(&["render", "m.yaml", "--out-dir", "out", "--quiet"]).exits(0);
    assert_eq!(sandbox.files("out").len(), FILES);
}

/// Each signal comes once there is a temporary file, whenever that is, and its status is what a shell shows for it.
#[test]
fn every_signal_that_ends_the_program_leaves_nothing() {
    use std::os::unix::process::ExitStatusExt as _;
    let sandbox = sandbox();
    for signal in SIGNALS {
        let mut caught = None;
        // A run may end between the look at the directory and the signal.
        for _ in 0..20 {
            let _ = std::fs::remove_dir_all(sandbox.path("out"));
            let mut child = sandbox.command(&["render", "m.yaml", "--out-dir", "out", "--quiet"]).spawn().unwrap();
            while child.try_wait().unwrap().is_none() && !has_temporary_file(&sandbox) {}
            send(signal, &child);
            let status = child.wait().unwrap();
            assert_whole(&sandbox, signal);
            caught = status.signal().or(status.code().filter(|code| *code > 128).map(|code| code - 128));
            if caught.is_some() {
                break;
            }
        }
        let expected = Command::new("sh").args(["-c", &format!("kill -{signal} $$")]).status().unwrap();
        assert!(caught.is_some() && caught == expected.signal(), "{signal}: {caught:?}, {expected:?}");
    }
}

/// Lists what is in the folders below `out`, which the program creates and fills meanwhile.
fn entries(sandbox: &Sandbox) -> impl Iterator<Item = std::fs::DirEntry> {
    let folders = std::fs::read_dir(sandbox.path("out")).into_iter().flatten().flatten();
    folders.flat_map(|folder| std::fs::read_dir(folder.path()).into_iter().flatten().flatten())
}

fn has_temporary_file(sandbox: &Sandbox) -> bool {
    entries(sandbox).any(|file| file.file_name().to_string_lossy().starts_with(".kubefoundry-"))
}

fn count_files(sandbox: &Sandbox) -> usize {
    entries(sandbox).count()
}

/// A kustomization is built in a temporary directory, which a signal removes while the builder runs.
#[test]
fn an_interrupted_build_leaves_no_directory() {
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::process::ExitStatusExt as _;
    for signal in ["QUIT", "USR1", "TERM", "XCPU"] {
        // It has a directory of its own, and no other program to wait with.
        let builder = "#!/bin/sh\n: > \"$HOME/../started\"\nwhile :; do :; done\n";
        let sandbox = Sandbox::new()
            .with("models/m.yaml", model("m"))
            .with("models/kustomization.yaml", "resources: [m.yaml]\n")
            .with("bin/kustomize", builder)
            .with("tmp/keep", "");
        std::fs::set_permissions(sandbox.path("bin/kustomize"), std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut command = sandbox.command(&["lint", "models"]);
        command.env("PATH", sandbox.path("bin")).env("TMPDIR", sandbox.path("tmp"));
        let mut child = command.spawn().unwrap();
        let has_started = || {
            let entries = std::fs::read_dir(sandbox.path("tmp")).unwrap().flatten();
            entries.into_iter().any(|entry| entry.path().join("started").exists())
        };
        while child.try_wait().unwrap().is_none() && !has_started() {}
        assert!(sandbox.files("tmp").len() > 3, "{:?}", sandbox.files("tmp"));
        send(signal, &child);
        assert!(child.wait().unwrap().signal().is_some());
        // The builder ends with it.
        assert_eq!(sandbox.files("tmp"), ["keep"], "{signal}");
    }
}

/// `nohup` starts a program that ignores SIGHUP, and it must go on when the terminal closes.
#[cfg(target_os = "linux")]
#[test]
fn an_ignored_signal_stays_ignored() {
    use std::io::{BufRead as _, BufReader};
    let sandbox = sandbox();
    let mut ignoring = Command::new("sh");
    // The shell passes what it ignores on to the program that takes its place.
    let binary = env!("CARGO_BIN_EXE_kubefoundry");
    let script = "trap '' HUP; echo ignored; exec \"$0\" \"$@\"";
    ignoring.args(["-c", script, binary, "render", "m.yaml", "--out-dir", "out", "--quiet"]);
    let mut child = ignoring.current_dir(sandbox.path(".")).stdout(Stdio::piped()).spawn().unwrap();
    let (mut output, mut told) = (BufReader::new(child.stdout.take().unwrap()), String::new());
    output.read_line(&mut told).unwrap();
    assert_eq!(told, "ignored\n");
    while child.try_wait().unwrap().is_none() {
        send("HUP", &child);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(child.wait().unwrap().success());
    assert_eq!(sandbox.files("out").len(), FILES);
}
