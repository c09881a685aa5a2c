//! `kubefoundry llamastack`: external providers of Llama Stack.

mod merge_config;
mod validate_provider;
mod wheel_archive;

use std::ffi::OsString;

use crate::args::LlamaStackCommand;
use crate::exit::ExitStatus;
use crate::run::CommandError;

pub(super) fn run(command: &LlamaStackCommand) -> Result<ExitStatus, CommandError> {
    match command {
        LlamaStackCommand::MergeConfig(args) => Ok(merge_config::run(args)),
        LlamaStackCommand::ValidateProvider(args) => validate_provider::run(args),
    }
}

/// Whether a command line that clap rejected is for `merge-config`, which uses only the exit statuses 0 and 1.
pub(super) fn is_merge_config(arguments: impl Iterator<Item = OsString>) -> bool {
    let mut words = arguments.skip_while(|word| word != "llamastack").skip(1);
    let command =
        words.find(|word| ["merge-config", "merge-run-yaml", "validate-provider"].iter().any(|it| word == it));
    command.is_some_and(|command| command != "validate-provider")
}
