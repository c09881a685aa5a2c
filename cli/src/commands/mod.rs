//! One file a command; here is what they share: read, compile, report.

mod argocd;
mod completions;
mod drift;
mod explain;
mod images;
mod import;
mod lint;
mod llamastack;
mod man;
mod migrate;
mod places;
mod plan;
mod render;
mod schema;
mod status;

use std::process::ExitCode;

use kubefoundry_compiler::options::render::OutputMode;
use kubefoundry_compiler::pipeline::{OutputForm, compile_as};
use kubefoundry_compiler::{Compilation, Thoroughness};
use kubefoundry_diagnostics::render::{self as diagnostics, CheckedSchema, TextStyle};
use kubefoundry_diagnostics::source::SourceId;
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, Severity};
use serde_json::{Map, Value};

use crate::args::{Command, FailOn, InputArgs, ReportFormat};
use crate::console::{self, Console, StdoutError};
use crate::exit::ExitStatus;
use crate::input::{self, Input, InputError};
use crate::output::{OutDirError, StreamError};
use crate::style;

/// Why a command could not do its work. What is wrong with the input is not among it: that is a finding.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("--providers {0}: no InferenceProviderConfig in it")]
    NoProviders(String),
    #[error(transparent)]
    Code(#[from] explain::CodeError),
    #[error(transparent)]
    Field(#[from] explain::FieldError),
    #[error(transparent)]
    Report(#[from] explain::ReportError),
    #[error(transparent)]
    Stream(#[from] StreamError),
    #[error(transparent)]
    OutDir(#[from] OutDirError),
    #[error(transparent)]
    Mend(#[from] lint::MendError),
    #[error(transparent)]
    ArgoCd(#[from] argocd::ArgoCdError),
    #[error(transparent)]
    LlamaStack(#[from] llamastack::LlamaStackError),
    #[error(transparent)]
    Plan(#[from] plan::PlanUsage),
    #[error(transparent)]
    Man(#[from] man::ManError),
    #[error(transparent)]
    Migrate(#[from] migrate::MigrateError),
    #[error(transparent)]
    Upstream(#[from] schema::UpstreamError),
    #[error(transparent)]
    Stdout(#[from] StdoutError),
}

/// Runs a command.
pub(crate) fn run(command: &Command, console: &Console) -> Result<ExitStatus, CommandError> {
    match command {
        Command::Render(args) => render::run(args, console),
        Command::Lint(args) => lint::run(args, console),
        Command::Explain(args) => explain::run(args, console),
        Command::Plan(args) => plan::run(args, console),
        Command::Images(args) => images::run(args, console),
        Command::Import(args) => import::run(args, console),
        Command::Migrate(args) => migrate::run(args, console),
        Command::Status(args) => status::run(args, console),
        Command::Drift(args) => drift::run(args, console),
        Command::Argocd(command) => argocd::run(*command, console),
        Command::Llamastack(command) => llamastack::run(command),
        Command::Schema(args) => schema::run(args),
        Command::Function => Ok(ExitStatus::of_function(kubefoundry_krm::serve())),
        Command::Completions(args) => completions::run(args),
        Command::Man(args) => man::run(args),
    }
}

/// Prints what was wrong with the command line, or the help that was asked for.
pub(crate) fn usage(usage: &clap::Error) -> ExitCode {
    // When that fails there is nowhere left to say so.
    let _ = usage.print();
    match usage.exit_code() {
        0 => ExitStatus::Success.into(),
        _ if llamastack::is_merge(std::env::args_os()) => ExitStatus::Findings.into(),
        _ => ExitStatus::Failure.into(),
    }
}

/// What a command reads, and what came of it.
struct Run<O = Value> {
    sources: SourceSet,
    compilation: Compilation<O>,
    /// Whether a file of a directory could not be read; standard error says which.
    is_partial: bool,
}

impl<O: OutputForm> Run<O> {
    /// Reads and compiles. `options` are options that the command sets on its own; they win like flags.
    fn new(args: &InputArgs, options: Map<String, Value>, thoroughness: Thoroughness) -> Result<Self, CommandError> {
        Self::of(input::read(args, options)?, thoroughness)
    }

    /// Compiles what was read. Of files that could not be, standard error says which.
    fn of(input: Input, thoroughness: Thoroughness) -> Result<Self, CommandError> {
        let Input { sources, unread, notes, providers, .. } = input;
        let compilation = compile_as(&sources, thoroughness);
        // What is in a broken text is not known.
        if !compilation.has_errors() && unread.is_empty() {
            let is_idle = |texts: &[SourceId]| !texts.iter().any(|text| compilation.configured.contains(text));
            if let Some((path, _)) = providers.iter().find(|(_, texts)| is_idle(texts)) {
                return Err(CommandError::NoProviders(path.display().to_string()));
            }
        }
        for line in unread.iter().map(ToString::to_string).chain(notes) {
            console::note(&format!("kubefoundry: {}\n", style::printable(&line)));
        }
        Ok(Self { sources, compilation, is_partial: !unread.is_empty() })
    }

    /// Whether nothing may be printed or written: there is an error, or a file whose content is not known.
    fn has_failed(&self) -> bool {
        self.is_partial || self.compilation.has_errors()
    }

    /// What of the objects is printed; what is generated, unless options say more.
    fn output_mode(&self) -> OutputMode {
        self.compilation.options.output.unwrap_or(OutputMode::Generated)
    }

    /// The findings in a format. In text a line at the end counts them, and one says how to read on about the gravest.
    fn report(&self, format: ReportFormat, style: TextStyle) -> String {
        let findings = &self.compilation.diagnostics;
        match format {
            ReportFormat::Text if findings.is_empty() => self.checked(),
            ReportFormat::Text => {
                let text = diagnostics::text(findings, &self.sources, style);
                format!("{text}{}\n{}{}", self.summary(), self.checked(), explanation(findings))
            }
            ReportFormat::Concise => diagnostics::concise(findings, &self.sources),
            ReportFormat::Json => diagnostics::json(findings, &self.sources, &self.compilation.checked_schemas()),
        }
    }

    /// A line for each schema of `--crds` that objects were checked against.
    fn checked(&self) -> String {
        let line =
            |it: CheckedSchema| format!("checked against {} {}, schema {}\n", it.api_version, it.kind, it.fingerprint);
        self.compilation.checked_schemas().into_iter().map(line).collect::<Vec<_>>().concat()
    }

    /// Prints the findings to standard error.
    fn note_findings(&self, format: ReportFormat, console: &Console) {
        console::note(&self.report(format, console.stderr_style()));
    }

    /// `2 errors, 1 warning in 3 files`, and how much objects say to ignore.
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
        let suppressed = match self.compilation.suppressed.len() + self.compilation.suppressed_left_out {
            0 => String::new(),
            number => format!(" ({number} suppressed)"),
        };
        format!("{found} in {}{suppressed}", style::count(files, "file"))
    }

    /// How the process ends: options or CRDs that are wrong are wrong usage, and input that was not read was not
    /// judged, whatever was found in the rest.
    fn status(&self, fail_on: FailOn) -> ExitStatus {
        if self.is_partial || self.compilation.diagnostics.iter().any(|diagnostic| self.is_option_error(diagnostic)) {
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
            && location.is_some_and(|location| {
                matches!(self.sources.get(location.source).purpose, Purpose::Options | Purpose::Crds)
            })
    }
}

/// Findings that are not those of a compilation, in a format.
fn report_of(found: &[Diagnostic], sources: &SourceSet, format: ReportFormat, style: TextStyle) -> String {
    match format {
        ReportFormat::Text if found.is_empty() => String::new(),
        ReportFormat::Text => format!("{}\n{}", diagnostics::text(found, sources, style), explanation(found)),
        ReportFormat::Concise => diagnostics::concise(found, sources),
        ReportFormat::Json => diagnostics::json(found, sources, &[]),
    }
}

/// The same as the value of a report's field.
fn findings_of(found: &[Diagnostic], sources: &SourceSet) -> Value {
    let mut report: Value = serde_json::from_str(&diagnostics::json(found, sources, &[])).unwrap_or_default();
    report.get_mut("diagnostics").map(Value::take).unwrap_or_default()
}

/// Reads input for a command that does not compile it as a whole. What could not be read is said, and the rest is read.
fn read(args: &InputArgs) -> Result<(Input, bool), CommandError> {
    let input = input::read(args, Map::new())?;
    for line in input.unread.iter().map(ToString::to_string).chain(input.notes.iter().cloned()) {
        console::note(&format!("kubefoundry: {}\n", style::printable(&line)));
    }
    let is_partial = !input.unread.is_empty();
    Ok((input, is_partial))
}

/// How a process ends that found this.
fn status_of(found: &[Diagnostic], sources: &SourceSet, is_partial: bool) -> ExitStatus {
    let errors = || found.iter().filter(|found| found.severity == Severity::Error);
    let of_options = |found: &Diagnostic| {
        let purpose = found.location.as_ref().map(|location| sources.get(location.source).purpose);
        matches!(purpose, Some(Purpose::Options | Purpose::Crds))
    };
    if is_partial || errors().any(of_options) {
        ExitStatus::Failure
    } else if errors().next().is_some() {
        ExitStatus::Findings
    } else {
        ExitStatus::Success
    }
}

/// Findings as every JSON report has them.
fn findings(diagnostics: &[Diagnostic], sources: &SourceSet) -> Vec<Value> {
    let mut report: Value = serde_json::from_str(&diagnostics::json(diagnostics, sources, &[])).unwrap_or_default();
    let findings = report.get_mut("diagnostics").map(Value::take).unwrap_or_default();
    if let Value::Array(findings) = findings { findings } else { Vec::new() }
}

/// Where to read on, as rustc says it: once a run, whatever was found.
fn explanation(findings: &[Diagnostic]) -> String {
    let gravest = findings.iter().min_by_key(|diagnostic| diagnostic.severity).map(|diagnostic| diagnostic.code.id);
    gravest.map_or(String::new(), |id| format!("For more about a finding, try `kubefoundry explain {id}`.\n"))
}
