//! Measuring instruments: `cargo measure <instrument>`. What they find is for maintainers; no user and no test needs them.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer tool: it reads and writes the work tree and talks to the terminal"
)]

mod corpus;
mod import_corpus;
mod instructions;

use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

/// Measuring instruments
#[derive(Parser)]
#[command(name = "cargo measure", bin_name = "cargo measure", max_term_width = 120)]
enum Instrument {
    /// Print or write varied ModelDeployments for measurements (docs/performance.md)
    Corpus(corpus::Options),
    /// Import every object in FOLDER/{dynamo,kaito,kuberay}, render the results, compare them with the originals field by
    /// field, and write the counts to docs/import-corpus.md; fail when a difference is reported by no finding
    ImportCorpus(import_corpus::Options),
    /// Count the instructions of fixed runs of our programs; fail when one takes 2 % more than benches/instructions.toml
    /// says; needs valgrind
    Instructions(instructions::Options),
}

/// Why an instrument fails. Each variant has its own exit status.
#[derive(Debug)]
enum Failure {
    /// A check failed: exit status 1.
    Unmet(String),
    /// Nothing could be measured, because of the arguments or an I/O error: exit status 2.
    Broken(String),
}

/// Returns the folder of the workspace.
fn workspace() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// Says that a file could not be read or written.
fn broken(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Broken(format!("{}: {error}", path.display()))
}

fn main() -> ExitCode {
    let report = match Instrument::parse() {
        Instrument::Corpus(options) => corpus::run(&options),
        Instrument::ImportCorpus(options) => import_corpus::run(&options),
        Instrument::Instructions(options) => instructions::run(&options),
    };
    let (message, status) = match report {
        Ok(report) => {
            print!("{report}");
            return ExitCode::SUCCESS;
        }
        Err(Failure::Unmet(message)) => (message, 1),
        Err(Failure::Broken(message)) => (message, 2),
    };
    eprintln!("error: {message}");
    ExitCode::from(status)
}
