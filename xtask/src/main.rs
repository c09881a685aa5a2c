//! Developer tasks: `cargo xtask <task>`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer tool: it reads and writes the work tree and talks to the terminal"
)]

mod corpus;
mod facts;
mod flags;
mod fuzz;
mod generate;
mod generated_files;
mod import_corpus;
mod instructions;
mod packages;
mod site;
mod upstream;

use std::process::ExitCode;

const USAGE: &str = "\
Usage: cargo xtask <task> [options]

Tasks:
  generate [--check]
                    write the files that are generated from the code: the index of diagnostic codes, docs/providers,
                    docs/reference, schemas
                    --check: write nothing, fail when a committed file is stale
  fuzz [--minutes N | --seconds N] [--seed S]
                    try mutated inputs until the time is up (1 minute unless given), from the seed S (of the clock unless
                    given); an input that breaks an invariant is minimized and saved in testdata/fuzz/failures
  flags [--check]   write the engine flag tables from the facts in xtask/facts/flags
                    --check: write nothing, fail when a committed table is stale or a file of facts was changed by hand
  flags --engine PACKAGE --version VERSION [--wheel FILE] [--compare]
                    read the flags of vllm, sglang, ai-dynamo or ray from a wheel (FILE, or one that pip downloads)
                    and add them to the facts; needs Python 3.11
                    --compare: write nothing, fail when the facts say something else
  facts [--check]   write the facts of crates/facts from the sources in xtask/facts
                    --check: write nothing, fail when a committed file is stale
  facts --wheel PACKAGE [--version VERSION] [--file FILE]
                    read facts of aiconfigurator-core (models), sglang or vllm from a wheel (FILE, or one that pip
                    downloads) into the sources, and write the facts; needs Python 3.11
  upstream [--crds FOLDER] [--check]
                    write the skeletons of upstream CRDs (crates/crd/schemas, NOTICE) from the dumps in FOLDER; a
                    skeleton whose dump is not in FOLDER stays unchanged
                    --check: write nothing, fail when a committed file is stale
  upstream --crds FOLDER --compare
                    check 1,000 mutated objects against the dumps and their skeletons; fail when the results differ
  upstream --print GROUP/KIND [--release VERSION]
                    print a skeleton as a CustomResourceDefinition
  upstream --export FOLDER
                    write every skeleton as a CustomResourceDefinition
  corpus N [--findings] [--out PATH]
                    print or write N varied ModelDeployments for measurements (docs/performance.md); into a folder, in
                    files of 10,000 documents
                    --findings: documents with 1.5 findings each instead of 0.2
  corpus N --foreign --out FOLDER
                    write N files that contain no ModelDeployment, for measurements
  import-corpus FOLDER [--check]
                    import every object in FOLDER/{dynamo,kaito,kuberay}, render the results, compare them with the
                    originals field by field, and write the counts to docs/import-corpus.md; fail when a difference is
                    reported by no finding
                    --check: write nothing, fail when the counts differ
  instructions [FILTER] [--programs FOLDER]
                    count the instructions of fixed runs of the programs in FOLDER (target/release unless given), or of
                    the runs whose names contain FILTER; fail when one takes 2 % more than benches/instructions.toml
                    says; needs valgrind
                    --update: write the counts to that file
  packages labels --commit COMMIT
                    print the labels of an image
  packages nfpm FOLDER --architecture NAME --time TIME
                    print the configuration with which nfpm packs the files of an unpacked archive for Debian and RPM
  packages describe FOLDER --commit COMMIT --builder URI [--tag TAG] [--parameter NAME=VALUE]...
                    write what belongs to the packages in FOLDER: the krew manifest, the formula for Homebrew, the
                    provenance (in-toto, SLSA) and SHA256SUMS
  site              change a book on standard input, as mdBook asks its preprocessor (site/book.toml): add the pages and
                    files that docs/ links to, and rewrite the links
  site --copy-files FOLDER
                    copy the files that pages of the site link to, because they are large or no text, to FOLDER
";

/// Why a task fails. Each variant has its own exit status.
#[derive(Debug)]
enum Failure {
    /// A check failed: exit status 1.
    Unmet(String),
    /// The task could not run, because of its arguments or an I/O error: exit status 2.
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
        ["generate"] => generate::write(),
        ["generate", "--check"] => generate::check(),
        ["fuzz", options @ ..] => fuzz::run(options),
        ["flags", options @ ..] => flags::run(options),
        ["facts", options @ ..] => facts::run(options),
        ["upstream", arguments @ ..] => upstream::run(arguments),
        ["corpus", arguments @ ..] => corpus::run(arguments),
        ["import-corpus", arguments @ ..] => import_corpus::run(arguments),
        ["instructions", arguments @ ..] => instructions::run(arguments),
        ["packages", arguments @ ..] => packages::run(arguments),
        ["site", arguments @ ..] => site::run(arguments),
        ["help" | "--help" | "-h"] => Ok(USAGE.to_owned()),
        [] => Err(Failure::Broken(format!("no task given\n\n{USAGE}"))),
        [task, ..] => Err(Failure::Broken(format!("unknown task or option in `{task} …`\n\n{USAGE}"))),
    }
}
