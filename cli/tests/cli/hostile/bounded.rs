//! The binary under limits of the kernel: past one, it is killed.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::sandbox::{Ran, Sandbox};

/// Memory that a run may map, beside the binary itself.
const MEMORY_KIB: u64 = 200 * 1000 * 1000 / 1024;

/// The binary to test, and the seconds of CPU time that a run of it may take.
fn binary() -> (PathBuf, u64) {
    match std::env::var_os("KUBEFOUNDRY_HOSTILE_BINARY") {
        Some(path) => (fs::canonicalize(path).unwrap(), 1),
        // Not optimized.
        None => (env!("CARGO_BIN_EXE_kubefoundry").into(), 30),
    }
}

/// Runs in the sandbox within the bounds.
pub(crate) fn run(sandbox: &Sandbox, arguments: &[&str]) -> Ran {
    let (binary, seconds) = binary();
    let memory = MEMORY_KIB + fs::metadata(&binary).unwrap().len() / 1024;
    let limits = format!("ulimit -v {memory} && ulimit -t {seconds} && exec \"$@\"");
    let output = Command::new("sh")
        .args(["-c", &limits, "sh"])
        .arg(&binary)
        .args(arguments)
        .current_dir(sandbox.path("."))
        .env_remove("NO_COLOR")
        // Of address space, which is what the limit is on, glibc takes 64 MiB for each thread, and hardly uses it.
        .env("MALLOC_ARENA_MAX", "1")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let ran = Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) };
    assert!(ran.code.is_some(), "killed at a limit: {arguments:?} {:?} {:.2000}", output.status, ran.err);
    assert!(!ran.err.contains("panicked"), "{arguments:?}: {:.2000}", ran.err);
    ran
}

/// Runs `render`, `lint` and `explain` on one input. All refuse it; `findings` are the first of `render`, in order and
/// without what follows them on their lines.
#[track_caller]
pub(crate) fn refused(name: &str, text: impl AsRef<[u8]>, findings: &[&str]) {
    let sandbox = Sandbox::new().with(name, text);
    let ran = run(&sandbox, &["render", name, "--diagnostics", "concise"]).exits(1);
    assert_eq!(ran.out, "", "{name}: something on standard output");
    let lines: Vec<&str> = ran.err.lines().collect();
    for (line, finding) in lines.iter().zip(findings) {
        assert!(line.starts_with(finding), "{name}: {line}\nis not {finding}");
    }
    assert!(lines.len() >= findings.len(), "{name}: {lines:?}");
    // In full, with the lines of the input: that must be small, too.
    let ran = run(&sandbox, &["lint", name]);
    assert!(ran.out.len() < 2_000_000, "{name}: {} bytes of report", ran.out.len());
    run(&sandbox, &["explain", name]).exits(1);
}

/// The header of a ModelDeployment: four lines.
pub(crate) const HEADER: &str =
    "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {name: m}\nspec:\n";

/// As many of something, one after the other.
pub(crate) fn many(count: usize, one: impl Fn(usize) -> String) -> String {
    (0..count).map(one).collect()
}

/// The configuration of a provider that is not ours: nine lines.
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
