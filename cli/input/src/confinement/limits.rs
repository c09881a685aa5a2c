//! What a confined program inherits, and how much it may use.

use std::fs;
use std::io;
use std::os::fd::RawFd;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// How much memory a program may have. The runtime of Go reserves about half of it without using it.
const MAX_MEMORY: u64 = 2 * 1024 * 1024 * 1024;

/// How much CPU time a program may take.
const MAX_CPU_SECONDS: u64 = 30;

/// The variable that has the runtime of Go free memory before the limit is reached, and its value.
pub(crate) const GO_MEMORY: (&str, &str) = ("GOMEMLIMIT", "1GiB");

/// Closes every descriptor but the standard ones. Those of our own process close themselves; those that its parent left
/// open do not.
pub(super) fn close_descriptors() -> io::Result<()> {
    let open: Vec<RawFd> =
        fs::read_dir("/dev/fd")?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for descriptor in open.into_iter().filter(|descriptor| *descriptor > 2) {
        // That of the listing itself is closed already.
        let _ = nix::unistd::close(descriptor);
    }
    Ok(())
}

/// Has the kernel end the program when our own process ends, however that happens.
#[cfg(target_os = "linux")]
pub(super) fn end_with_parent() -> io::Result<()> {
    Ok(nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?)
}

/// Limits memory and CPU time, and leaves no core dump.
pub(super) fn limit_resources() -> io::Result<()> {
    lower(Resource::RLIMIT_CORE, 0)?;
    lower(Resource::RLIMIT_CPU, MAX_CPU_SECONDS)?;
    // macOS has the limit and does not apply it.
    if cfg!(target_os = "linux") {
        lower(Resource::RLIMIT_AS, MAX_MEMORY)?;
    }
    Ok(())
}

/// Sets a limit, unless a lower one applies already.
fn lower(resource: Resource, limit: u64) -> io::Result<()> {
    let limit = limit.min(getrlimit(resource)?.1);
    Ok(setrlimit(resource, limit, limit)?)
}
