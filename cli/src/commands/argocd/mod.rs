//! `kubefoundry argocd`: a config management plugin of Argo CD, with one command for each request of Argo CD.
//!
//! Argo CD runs these commands in the application's directory, in a fresh copy of the repository. It reads standard
//! output, and shows standard error only when the command fails.

mod generate;
mod parameters;
mod served_versions;

use std::env;

use kubefoundry_composition::BUILTIN;
use kubefoundry_diagnostics::source::{Purpose, Source};
use kubefoundry_input as input;
use serde_json::Map;

use crate::args::ArgoCdCommand;
use crate::console::{self, Console};
use crate::exit::ExitStatus;
use crate::run::CommandError;

/// Reasons why a request of Argo CD fails.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArgoCdError {
    #[error(transparent)]
    Parameter(#[from] parameters::ParameterError),
    #[error(transparent)]
    CrdVersion(#[from] served_versions::CrdVersionError),
}

pub(super) fn run(command: ArgoCdCommand, console: &Console) -> Result<ExitStatus, CommandError> {
    match command {
        ArgoCdCommand::Generate => generate::run(console),
        ArgoCdCommand::Discover => print_renderable_files(),
        ArgoCdCommand::Params => print_parameters(),
    }
}

/// Prints the files that may contain an object to render; Argo CD uses the plugin if there are any.
///
/// A file with a syntax error counts, so that `generate` reports the error. Without it, Argo CD would silently treat
/// the application as one that does not need the plugin.
fn print_renderable_files() -> Result<ExitStatus, CommandError> {
    let input = input::read_application(None, None, Map::new(), false)?;
    let is_renderable = |source: &Source| source.purpose == Purpose::Input && BUILTIN.may_hold_source(&source.text);
    let files = input.sources.iter().filter(|(_, source)| is_renderable(source));
    let names: Vec<&str> = files.flat_map(|(_, source)| [source.name.as_str(), "\n"]).collect();
    console::print(names)?;
    Ok(ExitStatus::Success)
}

fn print_parameters() -> Result<ExitStatus, CommandError> {
    // The environment is not read here: invalid values are reported by `generate`, and the UI needs this list to fix
    // them.
    let mut text = kubefoundry_yaml::infallible::to_pretty_json(&parameters::announcement());
    text.push('\n');
    console::print_as_is([&text])?;
    Ok(ExitStatus::Success)
}

/// Reads the parameter values of this run from the environment.
fn read_parameters() -> Result<parameters::ParameterValues, ArgoCdError> {
    Ok(parameters::read(env::vars_os())?)
}
