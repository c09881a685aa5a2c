//! One file a command; here is what they share: read, compile, report.

mod completions;
mod explain;
mod images;
mod lint;
mod render;

use kubefoundry::diagnostic::render::{self as diagnostics, Style};
use kubefoundry::diagnostic::{Diagnostic, Severity};
use kubefoundry::{Compilation, Purpose, SourceSet, Thoroughness, compile};
use serde_json::{Map, Value};

use crate::args::{Command, FailOn, InputArgs, ReportFormat};
use crate::console::{self, Console, StdoutError};
use crate::exit::ExitStatus;
use crate::input::{self, InputError};
use crate::output::{OutDirError, StreamError};
use crate::style;

/// Why a command could not do its work. What is wrong with the input is not among it: that is a finding.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Stream(#[from] StreamError),
    #[error(transparent)]
    OutDir(#[from] OutDirError),
    #[error(transparent)]
    Stdout(#[from] StdoutError),
}

/// Runs a command.
pub(crate) fn run(command: &Command, console: &Console) -> Result<ExitStatus, CommandError> {
    match command {
        Command::Render(args) => render::run(args, console),
        Command::Lint(args) => lint::run(args, console),
        Command::Explain(args) => explain::run(args, console),
        Command::Images(args) => images::run(args, console),
        Command::Completions(args) => completions::run(args),
    }
}

/// What a command reads, and what came of it.
struct Run {
    sources: SourceSet,
    compilation: Compilation,
}

impl Run {
    /// Reads and compiles. `options` are options that the command sets on its own; they win like flags.
    fn new(args: &InputArgs, options: Map<String, Value>, thoroughness: Thoroughness) -> Result<Self, CommandError> {
        let sources = input::read(args, options)?;
        let compilation = compile(&sources, thoroughness);
        Ok(Self { sources, compilation })
    }

    /// The findings in a format. In text a line at the end counts them.
    fn report(&self, format: ReportFormat, style: Style) -> String {
        let findings = &self.compilation.diagnostics;
        match format {
            ReportFormat::Text if findings.is_empty() => String::new(),
            ReportFormat::Text => {
                format!("{}{}\n", diagnostics::text(findings, &self.sources, style), self.summary())
            }
            ReportFormat::Concise => diagnostics::concise(findings, &self.sources),
            ReportFormat::Json => diagnostics::json(findings, &self.sources),
        }
    }

    /// Prints the findings to standard error.
    fn note_findings(&self, format: ReportFormat, console: &Console) {
        console::note(&self.report(format, console.stderr_style()));
    }

    /// `2 errors, 1 warning in 3 files`.
    fn summary(&self) -> String {
        let severities = [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Info, "info")];
        let counts: Vec<String> = severities
            .into_iter()
            .map(|(severity, noun)| (self.compilation.count(severity), noun))
            .filter(|(number, _)| *number > 0)
            .map(|(number, noun)| style::count(number, noun))
            .collect();
        let files = self.sources.iter().filter(|(_, source)| source.purpose != Purpose::Options).count();
        let found = if counts.is_empty() { "no findings".to_owned() } else { counts.join(", ") };
        format!("{found} in {}", style::count(files, "file"))
    }

    /// How the process ends: options that are wrong are wrong usage, whatever was found in the input.
    fn status(&self, fail_on: FailOn) -> ExitStatus {
        if self.compilation.diagnostics.iter().any(|diagnostic| self.is_option_error(diagnostic)) {
            return ExitStatus::Failure;
        }
        let counted = match fail_on {
            FailOn::Error => self.compilation.count(Severity::Error),
            FailOn::Warning => self.compilation.count(Severity::Error) + self.compilation.count(Severity::Warning),
            FailOn::Never => 0,
        };
        if counted > 0 { ExitStatus::Findings } else { ExitStatus::Success }
    }

    fn is_option_error(&self, diagnostic: &Diagnostic) -> bool {
        let location = diagnostic.location.as_ref();
        diagnostic.severity == Severity::Error
            && location.is_some_and(|location| self.sources.get(location.source).purpose == Purpose::Options)
    }
}
