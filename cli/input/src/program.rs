//! Runs programs that build input: kustomize, kubectl, helm.
//!
//! A program is started by its absolute path, without a shell, confined to a directory ([`crate::confinement`]), with an
//! environment that is empty but for what is given here, and with limits on its time, its memory and its output.

use std::env;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::confinement::{self, Rights};
use super::error::MAX_BYTES;

/// How long a program may run. Its limit on CPU time is reached before, unless the machine is very busy.
const MAX_SECONDS: u64 = 180;

/// How much CPU time all programs of a run may take together.
const MAX_CPU_SECONDS_OF_RUN: u64 = 300;

/// How much of standard error is read.
const MAX_MESSAGE_BYTES: u64 = 64 * 1024;

/// Where connections of a program lead that may not use the network, should it have one: nothing listens there.
const NO_PROXY: &str = "http://127.0.0.1:1";

/// The variables with which a program is sent to a proxy.
const PROXIES: [&str; 6] = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];

/// What else a program needs of the user's environment to use the network.
const NETWORK: [&str; 4] = ["NO_PROXY", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR"];

/// Reasons why a program yields no output.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProgramError {
    #[error("cannot be started: {0}")]
    Start(io::Error),
    #[error("took more than {MAX_SECONDS} s, or more CPU time than it may")]
    TooSlow,
    #[error("needed more memory than it may")]
    TooLarge,
    #[error("took, with the programs before it, more than {MAX_CPU_SECONDS_OF_RUN} s of CPU time")]
    RunTooSlow,
    #[error("needs more than {} MiB of files", MAX_BYTES / (1024 * 1024))]
    TooMuchInput,
    #[error("printed more than {} MiB", MAX_BYTES / (1024 * 1024))]
    TooMuch,
    #[error("printed text that is not UTF-8")]
    NotUtf8,
    #[error("nothing isolates programs on this machine")]
    NotIsolated,
    #[error("{0}")]
    Failed(String),
}

impl ProgramError {
    /// Whether the result says nothing about the input, because the machine had no more time or memory for it.
    pub(crate) fn is_exhaustion(&self) -> bool {
        matches!(self, Self::TooSlow | Self::TooLarge | Self::RunTooSlow)
    }
}

/// What a program may do beyond reading the files that it is given, because the user allows it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Permissions {
    /// Run programs.
    pub(crate) exec: bool,
    /// Read from the network.
    pub(crate) remote: bool,
    /// Run helm.
    pub(crate) helm: bool,
    /// Do so without any isolation.
    pub(crate) unconfined: bool,
}

/// Finds a program on the PATH. Relative directories on it are passed over: they are those of whatever repository the
/// command runs in.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
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

/// Returns a command for a program that may use nothing but a directory, in which `home` and `tmp` exist, and what the
/// permissions allow.
pub(crate) fn confined(program: &Path, directory: &Path, permissions: Permissions) -> Result<Command, ProgramError> {
    // Helm is a program, and kustomize starts it.
    let rights = Rights { network: permissions.remote, programs: permissions.exec || permissions.helm };
    if permissions.unconfined && rights != Rights::default() {
        return Ok(Command::new(program));
    }
    let command = if permissions.unconfined {
        Ok(Command::new(program))
    } else {
        confinement::command(program, directory, rights)
    };
    let mut command = command.map_err(ProgramError::Start)?;
    command.env_clear().env("HOME", directory.join("home")).env("TMPDIR", directory.join("tmp")).env("PATH", "");
    #[cfg(unix)]
    command.env(confinement::GO_MEMORY.0, confinement::GO_MEMORY.1);
    let user = |name: &str| env::var_os(name).map(|value| (name.to_owned(), value));
    if rights.network {
        command.envs(PROXIES.iter().chain(&NETWORK).filter_map(|name| user(name)));
    } else {
        command.envs(PROXIES.map(|name| (name, NO_PROXY))).env("GIT_ALLOW_PROTOCOL", "");
    }
    // Kustomize fetches repositories with git.
    if rights != Rights::default()
        && let Some(path) = env::var_os("PATH")
        && let Ok(absolute) = env::join_paths(env::split_paths(&path).filter(|directory| directory.is_absolute()))
    {
        command.env("PATH", absolute);
    }
    Ok(command)
}

/// The CPU time that the programs of a run may still take.
#[derive(Debug)]
pub(crate) struct TimeBudget {
    #[cfg(unix)]
    before: Duration,
}

impl TimeBudget {
    /// Starts a budget: only programs that end after this count.
    pub(crate) fn start() -> Self {
        Self {
            #[cfg(unix)]
            before: time_of_children(),
        }
    }

    #[cfg(unix)]
    fn is_spent(&self) -> bool {
        time_of_children().saturating_sub(self.before) > Duration::from_secs(MAX_CPU_SECONDS_OF_RUN)
    }

    #[cfg(not(unix))]
    #[expect(clippy::unused_self, reason = "the time of other processes is not known here")]
    fn is_spent(&self) -> bool {
        false
    }
}

/// Returns the CPU time of the programs that this process has started, and that have ended.
#[cfg(unix)]
fn time_of_children() -> Duration {
    use nix::sys::resource::{UsageWho, getrusage};
    let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else { return Duration::ZERO };
    let seconds = |time: nix::sys::time::TimeVal| Duration::from_secs(time.tv_sec().unsigned_abs());
    seconds(usage.user_time()) + seconds(usage.system_time())
}

/// Runs a command and returns what it prints.
pub(crate) fn run(command: &mut Command, budget: &TimeBudget) -> Result<String, ProgramError> {
    if budget.is_spent() {
        return Err(ProgramError::RunTooSlow);
    }
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // What it starts ends with it.
    #[cfg(target_os = "linux")]
    std::os::unix::process::CommandExt::process_group(command, 0);
    let mut child = command.spawn().map_err(ProgramError::Start)?;
    let output = child.stdout.take().map(|pipe| read_in_background(pipe, MAX_BYTES + 1));
    let message = child.stderr.take().map(|pipe| read_in_background(pipe, MAX_MESSAGE_BYTES));
    let status = wait(&mut child)?;
    // Without its output, a program that succeeds would seem to have printed nothing.
    let joined = |thread: Option<thread::JoinHandle<Vec<u8>>>| {
        let bytes = thread.and_then(|thread| thread.join().ok());
        bytes.ok_or_else(|| ProgramError::Failed("printed what could not be read".to_owned()))
    };
    let (output, message) = (joined(output)?, joined(message)?);
    if u64::try_from(output.len()).is_ok_and(|length| length > MAX_BYTES) {
        return Err(ProgramError::TooMuch);
    }
    if !status.success() {
        let message = String::from_utf8_lossy(&message);
        return Err(match status.code() {
            Some(confinement::NOT_ISOLATED) => ProgramError::NotIsolated,
            // The kernel ended it, which is what happens at the limit on CPU time.
            None => ProgramError::TooSlow,
            // How the runtime of Go reports that memory is used up.
            Some(_) if ["out of memory", "cannot allocate memory"].iter().any(|mark| message.contains(mark)) => {
                ProgramError::TooLarge
            }
            Some(_) => ProgramError::Failed(message.split_whitespace().collect::<Vec<_>>().join(" ")),
        });
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
            // It may have ended just now, which is not a failure.
            #[cfg(target_os = "linux")]
            if let Ok(id) = i32::try_from(child.id()) {
                let group = nix::unistd::Pid::from_raw(id);
                let _ = nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGKILL);
            }
            let _ = child.kill();
            let _ = child.wait();
            return Err(ProgramError::TooSlow);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}
