//! `kubefoundry-operator`: evaluates deployments in a cluster. It adds watching, applying and status to the library,
//! and nothing else.
//!
//! ```text
//! apiserver ─ watch ─ evaluator (catalog + CRDs + options) ─┬─ controllers: core ─ selector ─ provider ─ apply, status
//!                                                          └─ webhook (admission)
//! runtime (queue, controller, lease, server, events, metrics, …) carries all of them
//! ```

mod admission;
mod args;
mod context;
mod controllers;
mod evaluator;
mod install;
mod logs;
mod manifests;
mod role;
mod run;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
mod watch;

use std::process::ExitCode;

use clap::Parser as _;

use args::{Arguments, Command};

/// The allocator of musl has one lock and returns memory to the system at once, so a static program would spend most of
/// its time there.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match arguments.command {
        Command::Run(run) => run::main(run),
        Command::Manifests(manifests) => manifests::main(&manifests),
        Command::Install(install) => install::install(&install),
        Command::Upgrade(install) => install::upgrade(&install),
        Command::Uninstall(uninstall) => install::uninstall(&uninstall),
    }
}
