//! The commands, one module each.

mod argocd;
mod completions;
mod config;
mod drift;
mod explain;
mod fit;
mod images;
mod import;
mod init;
mod lint;
mod llamastack;
mod man;
mod migrate;
mod plan;
mod render;
mod schema;
mod status;
mod watch;

use std::io::IsTerminal as _;
use std::process::ExitCode;

use kubefoundry_input::confinement::{self, NotStarted};

use crate::args::{Command, Deferred};
use crate::console::{self, Console};
use crate::exit::ExitStatus;
use crate::run::CommandError;

pub(crate) fn run(command: &Command, console: &Console) -> Result<ExitStatus, CommandError> {
    match command {
        Command::Init(Deferred(args)) => init::run(args),
        Command::Render(Deferred(args)) => render::run(args, console),
        Command::Lint(Deferred(args)) => lint::run(args, console),
        Command::Explain(Deferred(args)) => explain::run(args, console),
        Command::Plan(Deferred(args)) => plan::run(args, console),
        Command::Fit(Deferred(args)) => fit::run(args, console),
        Command::Images(Deferred(args)) => images::run(args, console),
        Command::Import(Deferred(args)) => import::run(args, console),
        Command::Migrate(Deferred(args)) => migrate::run(args, console),
        Command::Status(Deferred(args)) => status::run(args, console),
        Command::Drift(Deferred(args)) => drift::run(args, console),
        Command::Argocd(command) => argocd::run(*command, console),
        Command::Llamastack(command) => llamastack::run(command),
        Command::Config(Deferred(args)) => config::run(args, console),
        Command::Schema(Deferred(args)) => schema::run(args),
        Command::Lsp(Deferred(_)) => {
            Ok(if kubefoundry_language_server::serve()? { ExitStatus::Success } else { ExitStatus::Findings })
        }
        Command::Function => Ok(ExitStatus::from_function(kubefoundry_krm::serve())),
        Command::Completions(Deferred(args)) => completions::run(args),
        Command::Man(Deferred(args)) => man::run(args),
        Command::Controller(Deferred(args)) => {
            console::note(&name_command_of_operator(&args.words));
            Ok(ExitStatus::Failure)
        }
        Command::Confined(Deferred(args)) => Ok(match confinement::run(args) {
            NotStarted::NotIsolated => ExitStatus::NotIsolated,
            error @ NotStarted::Failed(..) => {
                console::note(&format!("{error}\n"));
                ExitStatus::Failure
            }
        }),
    }
}

/// Returns what to run instead of `controller install`, which the specification names: this program has no client of a cluster.
fn name_command_of_operator(words: &[String]) -> String {
    let known = ["install", "upgrade", "uninstall", "manifests"];
    let command = words.first().and_then(|word| known.iter().find(|known| *known == word)).unwrap_or(&known[0]);
    format!("kubefoundry: the operator is a program of its own; run `kubefoundry-operator {command}`\n")
}

/// Prints a usage error, or the help or version that the user requested, and returns the exit code.
pub(crate) fn print_usage(usage: &clap::Error) -> ExitCode {
    if usage.use_stderr() && !std::io::stderr().is_terminal() {
        console::note(&usage.render().to_string());
    } else {
        // An error here cannot be reported anywhere.
        let _ = usage.print();
    }
    match usage.exit_code() {
        0 => ExitStatus::Success.into(),
        _ if llamastack::is_merge_config(std::env::args_os()) => ExitStatus::Findings.into(),
        _ => ExitStatus::Failure.into(),
    }
}
