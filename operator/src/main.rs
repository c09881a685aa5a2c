//! `kubefoundry-operator`: evaluates deployments in a cluster. It adds watching, applying and status to the library,
//! and nothing else.
//!
//! ```text
//! apiserver ─ watch ─ evaluator (catalog + CRDs + options) ─┬─ controllers: core ─ selector ─ provider ─ apply, status
//!                                                          └─ webhook (admission)
//! runtime (queue, controller, lease, server, events, metrics, …) carries all of them
//! ```

mod args;
mod rights;
mod role;
mod runtime;

mod mutex;
mod names;
mod observed;
mod recreation;

mod cached_object;
mod client;
mod error;
mod hash;

mod evaluator;
mod watch;

mod reference;
mod status;

mod reconcile;
#[cfg(test)]
mod simulation;

mod context;
mod controllers;
mod registration;

mod webhook;

mod run;

mod install;
mod manifests;

mod logs;

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
