//! Runs the binary under resource limits of the kernel.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::sandbox::{Ran, Sandbox};

/// Limit of the address space, in addition to the size of the binary.
const MEMORY_KIB: u64 = 200 * 1000 * 1000 / 1024;

/// The binary to test and its limit of CPU time in seconds.
fn binary_and_cpu_seconds() -> (PathBuf, u64) {
    match std::env::var_os("KUBEFOUNDRY_HOSTILE_BINARY") {
        Some(path) => (fs::canonicalize(path).unwrap(), 1),
        // A debug build is slower.
        None => (env!("CARGO_BIN_EXE_kubefoundry").into(), 30),
    }
}

/// How often a run is tried: a shared machine can be slow for a moment, and the best run counts.
const TRIES: usize = 3;

/// Runs the binary in the sandbox within the limits.
pub(crate) fn run(sandbox: &Sandbox, arguments: &[&str]) -> Ran {
    let mut ran = run_once(sandbox, arguments);
    for _ in 1..TRIES {
        if ran.code.is_none() {
            ran = run_once(sandbox, arguments);
        }
    }
    assert!(ran.code.is_some(), "killed at a limit: {arguments:?} {:.2000}", ran.err);
    assert!(!ran.err.contains("panicked"), "{arguments:?}: {:.2000}", ran.err);
    ran
}

fn run_once(sandbox: &Sandbox, arguments: &[&str]) -> Ran {
    let (binary, seconds) = binary_and_cpu_seconds();
    let memory = MEMORY_KIB + fs::metadata(&binary).unwrap().len() / 1024;
    let limits = format!("ulimit -v {memory} && ulimit -t {seconds} && exec \"$@\"");
    let output = Command::new("sh")
        .args(["-c", &limits, "sh"])
        .arg(&binary)
        .args(arguments)
        .current_dir(sandbox.path("."))
        .env_remove("NO_COLOR")
        // glibc reserves 64 MiB of address space for the arena of each thread, which would exhaust the limit.
        .env("MALLOC_ARENA_MAX", "1")
        // Threads that share one arena spend CPU time waiting for each other.
        .env("RAYON_NUM_THREADS", "1")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// Asserts that `render`, `lint` and `explain` reject an input. `findings` are the beginnings of the first lines that
/// `render` prints.
#[track_caller]
pub(crate) fn assert_rejected(name: &str, text: impl AsRef<[u8]>, findings: &[&str]) {
    let sandbox = Sandbox::new().with(name, text);
    let ran = run(&sandbox, &["render", name, "--diagnostics", "concise"]).exits(1);
    assert_eq!(ran.out, "", "{name}: something on standard output");
    let lines: Vec<&str> = ran.err.lines().collect();
    for (line, finding) in lines.iter().zip(findings) {
        assert!(line.starts_with(finding), "{name}: {line}\nis not {finding}");
    }
    assert!(lines.len() >= findings.len(), "{name}: {lines:?}");
    // The full report quotes lines of the input, but must stay small, too.
    let ran = run(&sandbox, &["lint", name]);
    assert!(ran.out.len() < 2_000_000, "{name}: {} bytes of report", ran.out.len());
    run(&sandbox, &["explain", name]).exits(1);
}

/// The header of a ModelDeployment: four lines.
pub(crate) const HEADER: &str =
    "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {name: m}\nspec:\n";

/// Concatenates `count` generated parts.
pub(crate) fn repeat_with(count: usize, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect()
}

/// The configuration of a third-party provider: nine lines.
pub(crate) fn config(name: &str) -> String {
    format!(
        "apiVersion: kubefoundry.ai/v1alpha1
kind: InferenceProviderConfig
metadata:
  name: {name}
spec:
  capabilities:
    engines: [vllm]
    servingModes: [aggregated]
    gpuSupport: true
"
    )
}
