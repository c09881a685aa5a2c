//! `kubefoundry completions`: prints shell completion scripts.

use clap::CommandFactory as _;

use super::CommandError;
use crate::args::{Args, CompletionsArgs};
use crate::console;
use crate::exit::ExitStatus;

pub(super) fn run(args: &CompletionsArgs) -> Result<ExitStatus, CommandError> {
    // Generate into memory, because the generator panics if its writer fails, for example on a closed pipe.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "kubefoundry", &mut script);
    console::print([&String::from_utf8_lossy(&script)])?;
    Ok(ExitStatus::Success)
}
