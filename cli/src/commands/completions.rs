//! `kubefoundry completions`: what a shell completes.

use clap::CommandFactory as _;

use super::CommandError;
use crate::args::{Args, CompletionsArgs};
use crate::console;
use crate::exit::ExitStatus;

pub(super) fn run(args: &CompletionsArgs) -> Result<ExitStatus, CommandError> {
    // Into memory first: the generator panics when its writer fails, as a closed pipe does.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "kubefoundry", &mut script);
    console::print([&String::from_utf8_lossy(&script)])?;
    Ok(ExitStatus::Success)
}
