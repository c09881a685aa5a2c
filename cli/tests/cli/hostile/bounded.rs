//! Runs the binary under resource limits of the kernel.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::sandbox::{Ran, Sandbox, model};

/// Limit of the address space, in addition to the size of the binary.
const MEMORY_KIB: u64 = 200 * 1000 * 1000 / 1024;

/// CPU seconds that a release may take on the machine of docs/performance.md.
const RELEASE_SECONDS: f64 = 1.0;

/// CPU seconds that a release takes on that machine for [`REFERENCE_DEPLOYMENTS`] ordinary deployments. A machine that needs
/// more for them allows more in proportion.
const REFERENCE_SECONDS: f64 = 0.3;

const REFERENCE_DEPLOYMENTS: usize = 10_000;

/// CPU seconds that a development build may take.
const DEVELOPMENT_SECONDS: f64 = 30.0;

/// How often a run is tried: a shared machine can be slow for a moment, and the best run counts.
const TRIES: usize = 3;

/// The release to test, if there is one.
fn release() -> Option<PathBuf> {
    std::env::var_os("KUBEFOUNDRY_HOSTILE_BINARY").map(|path| fs::canonicalize(path).unwrap())
}

/// Runs the binary in the sandbox within the limits.
pub(crate) fn run(sandbox: &Sandbox, arguments: &[&str]) -> Ran {
    let release = release();
    let (binary, seconds) = match &release {
        Some(binary) => (binary.clone(), RELEASE_SECONDS),
        None => (env!("CARGO_BIN_EXE_kubefoundry").into(), DEVELOPMENT_SECONDS),
    };
    let mut slow = String::new();
    for _ in 0..TRIES {
        let (ran, taken) = run_once(&binary, sandbox, arguments);
        assert!(ran.code.is_some(), "killed at a limit of the kernel: {arguments:?} {:.2000}", ran.err);
        assert!(!ran.err.contains("panicked"), "{arguments:?}: {:.2000}", ran.err);
        if taken <= seconds {
            return ran;
        }
        let allowed = seconds * if release.is_some() { slowness(&binary) } else { 1.0 };
        if taken <= allowed {
            return ran;
        }
        write!(slow, " {taken:.2} s, expected at most {allowed:.2} s;").unwrap();
    }
    panic!("{arguments:?} takes too much CPU time:{slow}");
}

/// Returns how much longer than the machine of docs/performance.md this machine needs for ordinary deployments, at least 1.
/// It is measured beside each run that it judges, because the speed of a shared machine varies.
fn slowness(binary: &Path) -> f64 {
    let fleet = repeat_with(REFERENCE_DEPLOYMENTS, |at| format!("---\n{}", model(&format!("m{at}"))));
    let sandbox = Sandbox::new().with("a.yaml", fleet);
    let (ran, taken) = run_once(binary, &sandbox, &["render", "a.yaml"]);
    assert_eq!(ran.code, Some(0), "{:.2000}", ran.err);
    (taken / REFERENCE_SECONDS).max(1.0)
}

/// Runs a binary once. Returns its CPU seconds, too.
fn run_once(binary: &Path, sandbox: &Sandbox, arguments: &[&str]) -> (Ran, f64) {
    let memory = MEMORY_KIB + fs::metadata(binary).unwrap().len() / 1024;
    let usage = tempfile::NamedTempFile::new().unwrap();
    // The kernel ends what would never end.
    let script = format!(
        "ulimit -v {memory} && ulimit -t 60 && usage=$1 && shift && \"$@\"; code=$?; times >\"$usage\"; exit $code"
    );
    let output = Command::new("sh")
        .args(["-c", &script, "sh"])
        .arg(usage.path())
        .arg(binary)
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
    // A shell adds 128 to the number of the signal that ended a program.
    let code = output.status.code().filter(|code| *code < 128);
    let taken = children_seconds(&fs::read_to_string(usage.path()).unwrap());
    (Ran { code, out: text(output.stdout), err: text(output.stderr) }, taken)
}

/// Reads the CPU seconds of child processes, user and system, from the second line that `times` prints: `0m0.12s 0m0.01s`.
fn children_seconds(times: &str) -> f64 {
    let seconds = |time: &str| {
        let (minutes, seconds) = time.trim_end_matches('s').split_once('m').unwrap();
        minutes.parse::<f64>().unwrap() * 60.0 + seconds.parse::<f64>().unwrap()
    };
    times.lines().nth(1).unwrap().split_whitespace().map(seconds).sum()
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
