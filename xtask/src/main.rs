//! Developer tasks: `cargo xtask <task>`.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer tool: it reads and writes the work tree and talks to the terminal"
)]

mod flags;

use std::process::ExitCode;

const USAGE: &str = "\
Usage: cargo xtask <task> [options]

Tasks:
  flags [--check]   write the engine flag tables from ../shared/data/engine-flags.json
                    --check: write nothing, fail when a committed table is stale
";

/// Why a task ends without success, and the exit status that says so.
#[derive(Debug)]
enum Failure {
    /// What the task was asked to verify does not hold: exit status 1.
    Unmet(String),
    /// The task could not be done: exit status 2.
    Broken(String),
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
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

fn run(arguments: &[&str]) -> Result<String, Failure> {
    match arguments {
        ["flags"] => flags::write(),
        ["flags", "--check"] => flags::check(),
        ["help" | "--help" | "-h"] => Ok(USAGE.to_owned()),
        [] => Err(Failure::Broken(format!("no task given\n\n{USAGE}"))),
        [task, ..] => Err(Failure::Broken(format!("unknown task or option in `{task} …`\n\n{USAGE}"))),
    }
}
