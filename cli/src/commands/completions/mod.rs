//! `kubefoundry completions`: prints shell completion scripts.

mod hints;
mod scripts;

use clap::CommandFactory as _;

use crate::args::{Args, CompletionsArgs};
use crate::console;
use crate::exit::ExitStatus;
use crate::run::CommandError;

/// The name of the program.
const PROGRAM: &str = "kubefoundry";

pub(super) fn run(args: &CompletionsArgs) -> Result<ExitStatus, CommandError> {
    let mut program = Args::command();
    // Arguments are declared when they are needed: here.
    program.build();
    let (mut program, hints) = hints::add_hints(program, args.shell);
    // Generate into memory, because the generator panics if its writer fails, for example on a closed pipe.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program, PROGRAM, &mut script);
    console::print_as_is([scripts::complete_script(args.shell, &String::from_utf8_lossy(&script), &hints)])?;
    Ok(ExitStatus::Success)
}
