//! Temporary files and directories, which are removed before a signal ends the program.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::TempDir;

/// Whether the program ends with success when it is interrupted, because only an interruption ends it.
static ENDS_WITH_SUCCESS: AtomicBool = AtomicBool::new(false);

/// Ends the program with success when it is interrupted (SIGINT). Another signal still ends it as usual. Elsewhere than
/// on Unix, the system decides with which status an interrupted program ends.
pub fn end_with_success_when_interrupted() {
    ENDS_WITH_SUCCESS.store(true, Ordering::Relaxed);
    drop(paths());
}

static PATHS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Returns the temporary files and directories of this process. While they are locked, no signal ends the program: lock
/// them from before a path is created until it is registered.
pub fn paths() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    watch_signals();
    PATHS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A temporary directory that is removed when it is dropped, and when a signal ends the program.
#[derive(Debug)]
pub(crate) struct TemporaryDirectory(TempDir);

impl TemporaryDirectory {
    pub(crate) fn create() -> io::Result<Self> {
        let mut registered = paths();
        let directory = tempfile::Builder::new().prefix("kubefoundry-").tempdir()?;
        registered.insert(directory.path().to_owned());
        Ok(Self(directory))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn create_folder(&self, name: &str) -> io::Result<()> {
        let _registered = paths();
        fs::create_dir(self.path().join(name))
    }

    /// Writes a file at a relative path, with the directories above it. They cannot come to be while a signal has the
    /// whole directory removed.
    pub(crate) fn write(&self, inside: &Path, bytes: &[u8]) -> io::Result<()> {
        let path = self.path().join(inside);
        let _registered = paths();
        fs::create_dir_all(path.parent().unwrap_or(self.path()))?;
        fs::write(path, bytes)
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        let mut registered = paths();
        // What cannot be removed stays, as it does without a registry.
        let _ = fs::remove_dir_all(self.path());
        registered.remove(self.path());
    }
}

/// The signals that ask a program to end, or end it if it does nothing about them. Those of faults (SIGABRT, SIGBUS,
/// SIGSEGV, SIGSYS and the like) are left alone: after a fault, no code of the program can be relied on. SIGPIPE is
/// ignored by every program in Rust.
#[cfg(unix)]
fn ending_signals() -> impl Iterator<Item = i32> {
    use signal_hook::consts::{
        SIGALRM, SIGHUP, SIGINT, SIGPROF, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU, SIGXFSZ,
    };
    let everywhere =
        [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU, SIGXFSZ];
    everywhere.into_iter().chain(other_ending_signals())
}

/// Those that only Linux ends a program for: SIGSTKFLT, SIGIO, SIGPWR and the real-time signals.
#[cfg(target_os = "linux")]
fn other_ending_signals() -> impl Iterator<Item = i32> {
    [16, 29, 30].into_iter().chain(34..=64)
}

#[cfg(all(unix, not(target_os = "linux")))]
fn other_ending_signals() -> impl Iterator<Item = i32> {
    std::iter::empty()
}

/// Starts a thread that removes the temporary files when a signal ends the program.
#[cfg(unix)]
fn watch_signals() {
    use std::sync::Once;

    use signal_hook::consts::SIGINT;
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        let ignored = ignored_signals();
        // Without handlers, a signal leaves temporary files behind, and nothing else goes wrong.
        let Ok(mut signals) = Signals::new(std::iter::empty::<i32>()) else { return };
        for signal in ending_signals().filter(|signal| ignored >> (signal - 1) & 1 == 0) {
            let _ = signals.add_signal(signal);
        }
        std::thread::spawn(move || {
            if let Some(signal) = signals.forever().next() {
                // The lock is kept, so that no other file is created or renamed.
                let registered = paths();
                for path in registered.iter() {
                    let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
                }
                let ends_with_success = signal == SIGINT && ENDS_WITH_SUCCESS.load(Ordering::Relaxed);
                if !ends_with_success {
                    // It returns for a signal that does not end a program on every system. The status is then the one
                    // by which a shell names the signal.
                    let _ = emulate_default_handler(signal);
                }
                #[expect(clippy::exit, reason = "the main thread cannot know that the program ends")]
                std::process::exit(if ends_with_success { 0 } else { 128 + signal });
            }
        });
    });
}

/// Returns a bit for each signal that the program was started to ignore, as `nohup` does with SIGHUP and a shell with
/// SIGINT for a job in the background: a handler would end the program where it was meant to go on. Only Linux tells
/// it without a system call that is unsafe in Rust; elsewhere no signal counts as ignored.
#[cfg(unix)]
fn ignored_signals() -> u64 {
    let Ok(status) = fs::read_to_string("/proc/self/status") else { return 0 };
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(not(unix))]
fn watch_signals() {}
