//! Starts a program that can do nothing but read what it is given and print: a hidden command of our own program
//! ([`COMMAND`]) gives up its rights, and then becomes the other program. A program that builds input has to have it.
//!
//! ```text
//! kubefoundry ── starts ── kubefoundry confined … -- kustomize build … ── gives up its rights, becomes ── kustomize
//! ```
//!
//! There are two walls, and each holds without the other one: the system calls and files that the process may use
//! (seccomp and Landlock), and a network of its own without any interface (a user and a network namespace). Limits on
//! memory and CPU time apply everywhere but on Windows.

#[cfg(unix)]
mod limits;
#[cfg(target_os = "linux")]
mod walls;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Args as ClapArgs, ValueEnum};

#[cfg(unix)]
pub(crate) use limits::GO_MEMORY;

/// The name of the hidden command.
pub const COMMAND: &str = "confined";

/// The exit status that says that nothing isolates the program here, so it was not started. No program that is started
/// uses it.
pub const NOT_ISOLATED: i32 = 125;

/// What a confined program may do besides reading one directory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Rights {
    /// Connect to the network.
    pub(crate) network: bool,
    /// Run the programs that are installed.
    pub(crate) programs: bool,
}

/// A wall that can be left out, so that the others can be tested alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Wall {
    Seccomp,
    Landlock,
    Namespace,
}

#[derive(Debug, ClapArgs)]
#[expect(missing_docs, reason = "documentation would become the help of the hidden command")]
pub struct ConfinedArgs {
    /// The only directory that the program may read and write
    #[arg(long, value_name = "DIR")]
    directory: PathBuf,
    /// Let the program connect to the network
    #[arg(long)]
    network: bool,
    /// Let the program run other programs
    #[arg(long)]
    programs: bool,
    /// Do not start the program where nothing isolates it
    #[arg(long)]
    require: bool,
    /// Leave a wall out, to test the others
    #[arg(long, value_name = "WALL")]
    without: Vec<Wall>,
    /// The program and its arguments
    #[arg(last = true, required = true, num_args = 1..)]
    command: Vec<OsString>,
}

/// Returns a command that starts a program confined to a directory. With rights, the program is started only where the
/// rest is really closed.
pub(crate) fn command(program: &Path, directory: &Path, rights: Rights) -> io::Result<Command> {
    let mut command = Command::new(own_program()?);
    command.arg(COMMAND).arg("--directory").arg(directory);
    if rights.network {
        command.arg("--network");
    }
    if rights.programs {
        command.arg("--programs");
    }
    if rights != Rights::default() {
        command.arg("--require");
    }
    command.arg("--").arg(program);
    Ok(command)
}

/// Returns the path of our own program. On Linux it stays the running one if the file is replaced.
fn own_program() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") { Ok(PathBuf::from("/proc/self/exe")) } else { std::env::current_exe() }
}

/// Reasons why a program was not started.
#[derive(Debug, thiserror::Error)]
pub enum NotStarted {
    /// Nothing isolates it here, and it must be isolated. The process ends with [`NOT_ISOLATED`].
    #[error("nothing isolates programs on this machine")]
    NotIsolated,
    /// The name of the program, and what went wrong.
    #[error("{0} cannot be started: {1}")]
    Failed(String, io::Error),
}

/// Gives up the rights of this process, and becomes the program. Returns only if that fails.
pub fn run(args: &ConfinedArgs) -> NotStarted {
    let Some((program, arguments)) = args.command.split_first() else { return NotStarted::NotIsolated };
    match confine_and_start(args, program, arguments) {
        Ok(()) => NotStarted::NotIsolated,
        Err(error) => NotStarted::Failed(program.display().to_string(), error),
    }
}

/// Returns without an error if nothing isolates the program, and it must be isolated.
fn confine_and_start(args: &ConfinedArgs, program: &OsStr, arguments: &[OsString]) -> io::Result<()> {
    let is_isolated = confine(args, Path::new(program))?;
    if args.require && !is_isolated {
        return Ok(());
    }
    Err(become_program(Command::new(program).args(arguments)))
}

/// Builds the walls. Returns whether files and the network are closed.
#[cfg(target_os = "linux")]
fn confine(args: &ConfinedArgs, program: &Path) -> io::Result<bool> {
    limits::close_descriptors()?;
    limits::end_with_parent()?;
    limits::limit_resources()?;
    let rights = Rights { network: args.network, programs: args.programs };
    let is_built = |wall: Wall| !args.without.contains(&wall);
    let has_own_network = is_built(Wall::Namespace) && !rights.network && walls::unshare_network();
    let are_files_closed = is_built(Wall::Landlock) && walls::close_files(program, &args.directory, rights);
    let are_calls_closed = is_built(Wall::Seccomp) && walls::close_calls(rights);
    Ok(are_files_closed && (rights.network || are_calls_closed || has_own_network))
}

#[cfg(all(unix, not(target_os = "linux")))]
fn confine(_: &ConfinedArgs, _: &Path) -> io::Result<bool> {
    limits::close_descriptors()?;
    limits::limit_resources()?;
    Ok(false)
}

#[cfg(not(unix))]
fn confine(_: &ConfinedArgs, _: &Path) -> io::Result<bool> {
    Ok(false)
}

#[cfg(unix)]
fn become_program(command: &mut Command) -> io::Error {
    use std::os::unix::process::CommandExt as _;
    command.exec()
}

/// Windows has no way to become another program, so the program is started, and its status passed on.
#[cfg(not(unix))]
fn become_program(command: &mut Command) -> io::Error {
    match command.status() {
        #[expect(clippy::exit, reason = "the status of the program is that of this process")]
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(error) => error,
    }
}
