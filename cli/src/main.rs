//! The `kubefoundry` command: files, standard input and flags in; manifests, findings and reasons out.
//!
//! A thin front end. Everything that decides anything is in the `kubefoundry` library; what is here reads texts, hands
//! them in, and prints what comes back.
#![expect(clippy::disallowed_methods, reason = "the command line is where files and the environment are")]

mod args;
mod commands;
mod console;
mod exit;
mod input;
mod output;
mod style;
mod table;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let args = match args::Args::try_parse() {
        Ok(args) => args,
        Err(error) if error.use_stderr() && args::is_for_function(std::env::args_os().skip(1)) => {
            // A client takes an empty answer for "delete all": the list comes back, with the error in it.
            let message = format!("{}: options are in the functionConfig", args::first_line(&error));
            return exit::ExitStatus::of_function(kubefoundry_krm::serve_refusal(&message)).into();
        }
        Err(usage) => return commands::usage(&usage),
    };
    let console = console::Console::new(args.color);
    let status = commands::run(&args.command, &console).unwrap_or_else(|error| {
        console::note(&format!("kubefoundry: {}\n", style::printable(&error.to_string())));
        exit::ExitStatus::Failure
    });
    status.into()
}
