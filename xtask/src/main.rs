//! Developer tasks: `cargo xtask <task>`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer tool: it reads and writes the work tree and talks to the terminal"
)]

mod facts;
mod files;
mod flags;
mod fuzz;
mod generate;
mod packages;
mod upstream;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Developer tasks
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", max_term_width = 120)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Write the files that are generated from the code: the index of codes, docs/providers, docs/reference, schemas
    Generate {
        /// Write nothing, fail when a committed file is stale
        #[arg(long)]
        check: bool,
    },
    /// Print the next free number of a diagnostic code in each area
    Codes,
    /// Try mutated inputs until the time is up; an input that breaks an invariant is minimized and saved in
    /// testdata/fuzz/failures
    Fuzz(fuzz::Options),
    /// Write the engine flag tables from the facts in xtask/facts/flags, or read the flags of a wheel
    Flags(flags::Options),
    /// Write the facts of crates/facts from the sources in xtask/facts, or read facts from a wheel
    Facts(facts::Options),
    /// Write the skeletons of upstream CRDs (crates/crd/schemas, NOTICE)
    Upstream(upstream::Options),
    /// Print or write what the packages of a release say about themselves
    #[command(subcommand)]
    Packages(packages::Part),
}

/// Why a task fails. Each variant has its own exit status.
#[derive(Debug)]
enum Failure {
    /// A check failed: exit status 1.
    Unmet(String),
    /// The task could not run, because of its arguments or an I/O error: exit status 2.
    Broken(String),
}

fn main() -> ExitCode {
    let report = match Arguments::parse().task {
        Task::Generate { check } => generate::run(check),
        Task::Codes => generate::codes::next_numbers(),
        Task::Fuzz(options) => fuzz::run(&options),
        Task::Flags(options) => flags::run(&options),
        Task::Facts(options) => facts::run(&options),
        Task::Upstream(options) => upstream::run(&options),
        Task::Packages(part) => packages::run(&part),
    };
    match report {
        Ok(report) => {
            print!("{report}");
            ExitCode::SUCCESS
        }
        Err(Failure::Unmet(message)) => {
            eprintln!("error: {message}");
            ExitCode::from(1)
        }
        Err(Failure::Broken(message)) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn options_that_do_not_fit_together_are_refused() {
        Arguments::command().debug_assert();
        for (options, reason) in [
            ("flags --chek", "unexpected argument '--chek'"),
            ("flags --engine", "a value is required for '--engine"),
            ("flags --engine vllm", "--version <VERSION>"),
            ("flags --engine vim --version 9.0", "invalid value 'vim'"),
            ("facts --wheel vim", "expected one of aiconfigurator-core, sglang, vllm"),
            ("facts --version 1.0", "--wheel <PACKAGE>"),
            ("upstream --compare", "--crds <FOLDER>"),
            ("packages describe out --commit a --builder b --parameter c", "expected NAME=VALUE"),
        ] {
            let words = std::iter::once("xtask").chain(options.split(' '));
            let error = Arguments::try_parse_from(words).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.contains(reason), "{options}: {error}");
        }
    }
}
