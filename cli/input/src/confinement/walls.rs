//! The walls around a confined program, built with what Linux offers to a process without privileges. Each is built as
//! far as the kernel knows it; what a function returns is whether it stands.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, RestrictionStatus, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{Gid, Uid};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};

use super::Rights;

/// The newest interface of Landlock that is used. An older kernel closes less: before Linux 6.7 no connection, before 6.12
/// no signal.
const LANDLOCK: ABI = ABI::V9;

/// Where the loader of a program finds its libraries.
const LIBRARIES: [&str; 8] =
    ["/lib", "/lib64", "/lib32", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache", "/nix/store"];

/// Where programs and what they read are installed. Nothing of a user is there.
const PROGRAMS: [&str; 7] = ["/bin", "/sbin", "/usr", "/opt", "/etc/alternatives", "/etc/passwd", "/etc/group"];

/// What a program reads to find a host and to trust it.
const NETWORK: [&str; 9] = [
    "/etc/resolv.conf",
    "/run/systemd/resolve",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/services",
    "/etc/ssl",
    "/etc/pki",
    "/etc/ca-certificates",
    "/etc/gai.conf",
];

/// Devices without content of anybody.
const DEVICES: [&str; 4] = ["/dev/null", "/dev/zero", "/dev/urandom", "/dev/random"];

/// The system calls that reach the network or a service of this machine. Sockets of every family are closed: a service
/// that listens in the file system can do whatever it is asked to.
const NETWORK_CALLS: [libc::c_long; 2] = [libc::SYS_socket, libc::SYS_io_uring_setup];

/// The system calls that reach into other processes or into the kernel.
const OTHER_CALLS: [libc::c_long; 18] = [
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_pivot_root,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
];

/// What the number of a system call has added in the ABI x32, which some kernels offer to programs for x86-64.
const X32: libc::c_long = 0x4000_0000;

/// Moves into a network without an interface. A container or a policy of the distribution may forbid that.
pub(super) fn unshare_network() -> bool {
    let (user, group) = (Uid::current(), Gid::current());
    if unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET).is_err() {
        return false;
    }
    // Without these, files that are created have no owner. A process that may not write them can still read.
    let _ = fs::write("/proc/self/setgroups", "deny");
    let _ = fs::write("/proc/self/uid_map", format!("{user} {user} 1"));
    let _ = fs::write("/proc/self/gid_map", format!("{group} {group} 1"));
    true
}

/// Closes all files but those of a directory, the program itself and its libraries.
pub(super) fn close_files(program: &Path, directory: &Path, rights: Rights) -> bool {
    let restrict = || -> Result<RestrictionStatus, RulesetError> {
        let all = AccessFs::from_all(LANDLOCK);
        let read = AccessFs::from_read(LANDLOCK);
        let mut ruleset = Ruleset::default().set_compatibility(CompatLevel::BestEffort).handle_access(all)?;
        ruleset = ruleset.scope(Scope::from_all(LANDLOCK))?;
        if !rights.network {
            ruleset = ruleset.handle_access(AccessNet::from_all(LANDLOCK))?;
        }
        ruleset
            .create()?
            .add_rules(path_beneath_rules([directory], all))?
            .add_rules(path_beneath_rules(DEVICES, AccessFs::ReadFile | AccessFs::WriteFile))?
            .add_rules(path_beneath_rules(readable(program, rights), read))?
            .restrict_self()
    };
    restrict().is_ok_and(|status| status.ruleset != RulesetStatus::NotEnforced)
}

/// Returns what a program may read and run besides its directory.
fn readable(program: &Path, rights: Rights) -> Vec<PathBuf> {
    let mut readable: Vec<PathBuf> = LIBRARIES.map(PathBuf::from).to_vec();
    readable.push(program.to_owned());
    readable.extend(program.canonicalize());
    if rights.programs || rights.network || is_script(program) {
        readable.extend(PROGRAMS.map(PathBuf::from));
    }
    if rights.programs {
        let path = std::env::var_os("PATH").unwrap_or_default();
        readable.extend(std::env::split_paths(&path).filter(|directory| directory.is_absolute()));
    }
    if rights.network {
        readable.extend(NETWORK.map(PathBuf::from));
    }
    readable
}

/// Whether a file is run by another program, such as a shell.
fn is_script(program: &Path) -> bool {
    use std::io::Read as _;
    let mut start = [0; 2];
    fs::File::open(program).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == *b"#!"
}

/// Closes the system calls that reach beyond this process.
pub(super) fn close_calls(rights: Rights) -> bool {
    let Ok(architecture) = TargetArch::try_from(std::env::consts::ARCH) else { return false };
    let network = if rights.network { &[][..] } else { &NETWORK_CALLS[..] };
    let calls = OTHER_CALLS.iter().chain(network);
    let x32: &[libc::c_long] = if architecture == TargetArch::x86_64 { &[0, X32] } else { &[0] };
    let rules: BTreeMap<i64, _> =
        calls.flat_map(|call| x32.iter().map(move |abi| (*call + *abi, Vec::new()))).collect();
    let refuse = SeccompAction::Errno(libc::EACCES.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, architecture);
    let program = filter.and_then(BpfProgram::try_from);
    program.is_ok_and(|program| seccompiler::apply_filter(&program).is_ok())
}
