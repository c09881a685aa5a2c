//! `kubefoundry argocd`: a config management plugin of Argo CD, one command for each thing that it asks.
//!
//! Argo CD runs these in the application's directory, in a fresh copy of the repository. What is on standard output is
//! the answer; standard error is shown only when the command fails.

mod generate;
mod kustomize;
mod parameters;
mod served;

use std::env;

use kubefoundry_compiler::composition;
use kubefoundry_diagnostics::source::{Purpose, Source};
use serde_json::Map;

use super::CommandError;
use crate::args::ArgoCdCommand;
use crate::console::{self, Console};
use crate::exit::ExitStatus;
use crate::input;

/// Why Argo CD gets no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArgoCdError {
    #[error(transparent)]
    Parameter(#[from] parameters::ParameterError),
    #[error(transparent)]
    Kustomize(#[from] kustomize::KustomizeError),
    #[error(transparent)]
    CrdVersion(#[from] served::CrdVersionError),
}

pub(super) fn run(command: ArgoCdCommand, console: &Console) -> Result<ExitStatus, CommandError> {
    match command {
        ArgoCdCommand::Generate => generate::run(console),
        ArgoCdCommand::Discover => discover(),
        ArgoCdCommand::Params => params(),
    }
}

/// An application is ours when a file of it may hold an object that is turned into others. One that is broken counts:
/// `generate` says what is wrong with it, while "not mine" would leave the application without a word. Everything else
/// is somebody's whose YAML we need not understand.
fn discover() -> Result<ExitStatus, CommandError> {
    let input = input::read_application(None, Map::new(), None)?;
    let is_ours = |source: &Source| source.purpose == Purpose::Input && composition::may_hold_source(&source.text);
    let files = input.sources.iter().filter(|(_, source)| is_ours(source));
    let names: Vec<&str> = files.flat_map(|(_, source)| [source.name.as_str(), "\n"]).collect();
    console::print(names)?;
    Ok(ExitStatus::Success)
}

fn params() -> Result<ExitStatus, CommandError> {
    // What an application says wrongly is for `generate` to refuse; the list is there to put it right.
    let mut text = serde_json::to_string_pretty(&parameters::announcement()).unwrap_or_default();
    text.push('\n');
    console::print([&text])?;
    Ok(ExitStatus::Success)
}

/// The parameters of this run.
fn given() -> Result<parameters::Given, ArgoCdError> {
    Ok(parameters::read(env::vars_os())?)
}
