//! Runs programs that build input: kustomize, kubectl, helm.
//!
//! A program is started by its absolute path, without a shell, with an environment that is empty but for what is given
//! here, a time limit, and a limit on its output.

use std::env;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::MAX_BYTES;

/// How long a program may run.
const MAX_SECONDS: u64 = 30;

/// How much of standard error is read.
const MAX_MESSAGE_BYTES: u64 = 64 * 1024;

/// Reasons why a program yields no output.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProgramError {
    #[error("cannot be started: {0}")]
    Start(io::Error),
    #[error("took more than {MAX_SECONDS} s")]
    TooSlow,
    #[error("printed more than {} MiB", MAX_BYTES / (1024 * 1024))]
    TooMuch,
    #[error("printed text that is not UTF-8")]
    NotUtf8,
    #[error("{0}")]
    Failed(String),
}

/// Finds a program on the PATH. Relative directories on it are passed over: they are those of whatever repository the
/// command runs in.
pub(super) fn find(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let candidates = env::split_paths(&path).filter(|directory| directory.is_absolute());
    candidates.map(|directory| directory.join(name)).find(|file| is_executable(file))
}

#[cfg(unix)]
fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(file: &Path) -> bool {
    file.is_file()
}

/// Returns a command without an environment of its own, whose home directory is `home`. Git, if it is found at all, may
/// not use the network.
pub(super) fn isolated(program: &Path, home: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("HOME", home).env("GIT_ALLOW_PROTOCOL", "file").env("PATH", "");
    command
}

/// Runs a command and returns what it prints.
pub(super) fn run(command: &mut Command) -> Result<String, ProgramError> {
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(ProgramError::Start)?;
    let output = child.stdout.take().map(|pipe| read_in_background(pipe, MAX_BYTES + 1));
    let message = child.stderr.take().map(|pipe| read_in_background(pipe, MAX_MESSAGE_BYTES));
    let status = wait(&mut child)?;
    let joined = |thread: Option<thread::JoinHandle<Vec<u8>>>| thread.and_then(|thread| thread.join().ok());
    let (output, message) = (joined(output).unwrap_or_default(), joined(message).unwrap_or_default());
    if u64::try_from(output.len()).is_ok_and(|length| length > MAX_BYTES) {
        return Err(ProgramError::TooMuch);
    }
    if !status.success() {
        let message = String::from_utf8_lossy(&message);
        return Err(ProgramError::Failed(message.split_whitespace().collect::<Vec<_>>().join(" ")));
    }
    String::from_utf8(output).map_err(|_| ProgramError::NotUtf8)
}

/// Reads a pipe up to a limit. After it, the pipe is closed, so that the program cannot wait for a reader.
fn read_in_background(pipe: impl Read + Send + 'static, limit: u64) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before an error is still the output.
        let _ = pipe.take(limit).read_to_end(&mut bytes);
        bytes
    })
}

/// Waits for a program, and kills it after [`MAX_SECONDS`].
fn wait(child: &mut Child) -> Result<ExitStatus, ProgramError> {
    let end = Instant::now() + Duration::from_secs(MAX_SECONDS);
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait().map_err(ProgramError::Start)? {
            return Ok(status);
        }
        if Instant::now() >= end {
            // It may have ended just now, which is no failure.
            let _ = child.kill();
            let _ = child.wait();
            return Err(ProgramError::TooSlow);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}
