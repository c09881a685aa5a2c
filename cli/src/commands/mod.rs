//! The commands, one module each. This module has what they share: reading, compiling and reporting.

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
mod lsp;
mod man;
mod migrate;
mod plan;
mod render;
mod schema;
mod status;
mod watch;

use std::io::IsTerminal as _;
use std::iter::once;
use std::process::ExitCode;

use kubefoundry_compiler::options::render::OutputMode;
use kubefoundry_compiler::pipeline::{self, KeptChoices, OutputForm, compile_keeping};
use kubefoundry_compiler::{Compilation, Thoroughness};
use kubefoundry_composition::BUILTIN;
use kubefoundry_diagnostics::render::{self as diagnostics, CheckedSchema, ReportGuide, TextStyle};
use kubefoundry_diagnostics::source::SourceId;
use kubefoundry_diagnostics::source::{Purpose, Source, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, Severity, count_not_judged};
use kubefoundry_reports::manifests::StreamError;
use kubefoundry_reports::run::RunResult;
use serde_json::{Map, Value};

use crate::args::{BuildArgs, Command, Deferred, DiagnosticsArgs, FailOn, FindingArgs, InputArgs, ReportFormat};
use crate::confinement;
use crate::console::{self, Console, StdoutError};
use crate::exit::ExitStatus;
use crate::input::{self, Input, InputError, Origins};
use crate::output::OutDirError;
use crate::output::input_changes::InputChangeError;
use crate::progress::Progress;
use crate::style;

/// Reasons why a command cannot run. Errors in the content of the input are findings instead.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("--providers {0}: contains no InferenceProviderConfig")]
    NoProviders(String),
    #[error(transparent)]
    Init(#[from] init::InitError),
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
    InputChange(#[from] InputChangeError),
    #[error(transparent)]
    ArgoCd(#[from] argocd::ArgoCdError),
    #[error(transparent)]
    LlamaStack(#[from] llamastack::LlamaStackError),
    #[error(transparent)]
    Lsp(#[from] lsp::LspError),
    #[error(transparent)]
    Baseline(#[from] lint::BaselineError),
    #[error(transparent)]
    Plan(#[from] plan::PlanUsageError),
    #[error(transparent)]
    Man(#[from] man::ManError),
    #[error(transparent)]
    Migrate(#[from] migrate::MigrateError),
    #[error(transparent)]
    Upstream(#[from] schema::UpstreamError),
    #[error(transparent)]
    Watch(#[from] watch::WatchError),
    #[error(transparent)]
    Stdout(#[from] StdoutError),
}

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
        Command::Lsp(Deferred(_)) => lsp::run(),
        Command::Function => Ok(ExitStatus::from_function(kubefoundry_krm::serve())),
        Command::Completions(Deferred(args)) => completions::run(args),
        Command::Man(Deferred(args)) => man::run(args),
        Command::Confined(Deferred(args)) => Ok(confinement::run(args)),
    }
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

/// How the user of a command gets what its report in text leaves out.
struct ReportOptions {
    /// The options that list every finding.
    list_all: &'static str,
    /// What applies the fixes.
    fix: &'static str,
}

/// Of commands that report findings on standard error, besides their own output.
const NOTED: ReportOptions = ReportOptions { list_all: "--diagnostics concise", fix: "`kubefoundry lint --fix`" };

/// The findings that a command reports.
#[derive(Clone, Copy)]
struct ReportScope<'a> {
    findings: &'a FindingArgs,
    /// The findings that fail the run, which are always reported.
    fail_on: FailOn,
}

impl<'a> From<&'a FindingArgs> for ReportScope<'a> {
    fn from(findings: &'a FindingArgs) -> Self {
        Self { findings, fail_on: FailOn::Error }
    }
}

/// The input of a command and the result of its compilation.
struct Run<O = Value> {
    sources: SourceSet,
    /// The files from which texts were built.
    origins: Origins,
    compilation: Compilation<O>,
    /// Whether a file in a directory could not be read. Its error has been printed to standard error.
    is_partial: bool,
    /// Whether the value of a flag is wrong.
    has_wrong_flag: bool,
    /// Whether the user wants neither notes nor a summary.
    is_quiet: bool,
    /// Number of findings that are not reported because they are not severe enough.
    hidden: usize,
    /// Number of parts of the input that were not judged, whether or not their findings are reported.
    not_judged: usize,
    /// Number of findings that are not reported because they are in the baseline.
    in_baseline: usize,
}

impl<O: OutputForm> Run<O> {
    /// Reads and compiles the input. `options` are set by the command itself and have the precedence of flags.
    fn new<'a>(
        args: &InputArgs,
        scope: impl Into<ReportScope<'a>>,
        options: Map<String, Value>,
        thoroughness: Thoroughness,
    ) -> Result<Self, CommandError> {
        let scope = scope.into();
        Self::from_input(read_with_progress(args, scope.findings, options)?, scope, thoroughness)
    }

    /// Compiles the input, and prints its notes and read errors to standard error. The input was read with
    /// [`FindingArgs::add_severities`].
    fn from_input<'a>(
        input: Input,
        scope: impl Into<ReportScope<'a>>,
        thoroughness: Thoroughness,
    ) -> Result<Self, CommandError> {
        Self::from_input_keeping(input, scope, thoroughness, KeptChoices::default())
    }

    /// Like [`Run::from_input`], but deployments keep providers that were selected before.
    fn from_input_keeping<'a>(
        input: Input,
        scope: impl Into<ReportScope<'a>>,
        thoroughness: Thoroughness,
        kept: KeptChoices,
    ) -> Result<Self, CommandError> {
        Self::from_input_with(input, scope, |sources| compile_keeping(&BUILTIN, sources, thoroughness, kept))
    }

    /// Like [`Run::from_input`], with a function that compiles.
    fn from_input_with<'a>(
        input: Input,
        scope: impl Into<ReportScope<'a>>,
        compile: impl FnOnce(&SourceSet) -> Compilation<O>,
    ) -> Result<Self, CommandError> {
        let ReportScope { findings, fail_on } = scope.into();
        let Input { sources, unread, notes, providers, origins, findings: input_findings, .. } = input;
        if sources.iter().map(|(_, source)| source.text.len()).sum::<usize>() > pipeline::CHUNK_BYTES {
            // This thread works as one of the pool's, rather than waiting for them: one thread less competes for the
            // cores, and the memory of results that this thread frees is its own. An existing pool stays.
            let _ = rayon::ThreadPoolBuilder::new().use_current_thread().build_global();
        }
        let progress = Progress::compiling(count_files(&sources, &origins), findings.quiet);
        let mut compilation = compile(&sources);
        drop(progress);
        let input_findings = input_findings
            .into_iter()
            .filter_map(|(environment, finding)| compilation.options_of(environment.as_deref()).adjust(finding));
        let input_findings: Vec<Diagnostic> = input_findings.collect();
        if !input_findings.is_empty() || !origins.is_empty() {
            compilation.diagnostics.extend(input_findings);
            for traced in [&mut compilation.diagnostics, &mut compilation.suppressed] {
                origins.trace_findings(&sources, traced);
                pipeline::sort(traced, &sources);
            }
        }
        // Only a text that was read can be fixed, and not the options on the command line.
        for finding in compilation.diagnostics.iter_mut().filter(|finding| finding.fix.is_some()) {
            let source = finding.location.as_ref().map(|location| sources.get(location.source));
            if source.is_none_or(|source| source.name == input::COMMAND_LINE) {
                finding.fix = None;
            }
        }
        let has_wrong_flag = input::name_flags(&sources, &mut compilation.diagnostics);
        // A file with errors may contain the missing configuration, so this check needs a clean run.
        if !compilation.has_errors() && unread.is_empty() {
            let has_no_provider = |texts: &[SourceId]| !texts.iter().any(|text| compilation.configured.contains(text));
            if let Some((path, _)) = providers.iter().find(|(_, texts)| has_no_provider(texts)) {
                return Err(CommandError::NoProviders(path.display().to_string()));
            }
        }
        note_lines(&unread, &notes, findings);
        let not_judged = count_not_judged(compilation.diagnostics.iter().chain(&compilation.suppressed));
        let hidden = findings.retain(&mut compilation.diagnostics, fail_on);
        let is_quiet = findings.quiet;
        Ok(Self {
            sources,
            origins,
            compilation,
            is_partial: !unread.is_empty(),
            has_wrong_flag,
            is_quiet,
            not_judged,
            hidden,
            in_baseline: 0,
        })
    }

    /// Whether output must be withheld because of an error or an unreadable file.
    fn has_failed(&self) -> bool {
        self.is_partial || self.compilation.has_errors()
    }

    /// Chooses the objects to print; by default, only generated ones.
    fn output_mode(&self) -> OutputMode {
        self.compilation.options.output.unwrap_or(OutputMode::Generated)
    }

    /// Returns what reports are made from.
    fn result(&self) -> RunResult<'_, O> {
        RunResult { sources: &self.sources, origins: &self.origins, compilation: &self.compilation }
    }

    /// Formats the findings, in parts: the text of ten thousand findings need not be in memory as a whole. Text ends with a
    /// summary, and with a pointer to the page of the most severe finding.
    fn report_parts(
        &self,
        format: ReportFormat,
        style: TextStyle,
        options: &ReportOptions,
    ) -> Box<dyn Iterator<Item = String> + '_> {
        let findings = &self.compilation.diagnostics;
        match format {
            ReportFormat::Text if findings.is_empty() && self.is_quiet => Box::new(std::iter::empty()),
            ReportFormat::Text if findings.is_empty() => Box::new(once(self.checked_schemas())),
            ReportFormat::Text => {
                let end = if self.is_quiet {
                    String::new()
                } else {
                    let (summary, fixes) = (self.summary(), fix_hint(findings, options));
                    format!("{summary}\n{fixes}{}{}", self.checked_schemas(), explain_hint(findings))
                };
                let guide = ReportGuide { list_all: options.list_all, marks_fixes: true };
                Box::new(diagnostics::report_parts(findings, &self.sources, style, guide).chain(once(end)))
            }
            ReportFormat::Concise => Box::new(once(diagnostics::concise(findings, &self.sources))),
            ReportFormat::Json => {
                let schemas = self.compilation.checked_schemas();
                Box::new(once(diagnostics::json_of_reported(findings, &self.sources, &schemas, self.not_judged)))
            }
        }
    }

    /// Formats a line for each schema of `--crds` that objects were checked against.
    fn checked_schemas(&self) -> String {
        let line =
            |it: CheckedSchema| format!("checked against {} {}, schema {}\n", it.api_version, it.kind, it.fingerprint);
        self.compilation.checked_schemas().into_iter().map(line).collect::<Vec<_>>().concat()
    }

    /// Prints the findings to standard error.
    fn note_findings(&self, format: ReportFormat, console: &Console) {
        let is_parsed = format == ReportFormat::Json;
        console::note_report(self.report_parts(format, console.stderr_style(), &NOTED), is_parsed);
    }

    /// Formats the last line of a report: `2 errors, 1 warning in 3 files (1 suppressed), 1 part of the input not judged`.
    fn summary(&self) -> String {
        let totals = count_findings(&self.compilation.diagnostics);
        let files = count_files(&self.sources, &self.origins);
        let suppressed = self.compilation.suppressed.len() + self.compilation.omitted_suppressed;
        let unreported =
            [(suppressed, "suppressed"), (self.in_baseline, "in the baseline"), (self.hidden, "less severe")];
        let unreported: Vec<String> = unreported
            .iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, why)| format!("{number} {why}"))
            .collect();
        let unreported = if unreported.is_empty() { String::new() } else { format!(" ({})", unreported.join(", ")) };
        let not_judged = self.count_not_judged().map(|parts| format!(", {parts}")).unwrap_or_default();
        format!("{totals} in {}{unreported}{not_judged}", style::count(files, "file"))
    }

    /// Counts what was not judged, if there is any: `2 parts of the input not judged`.
    fn count_not_judged(&self) -> Option<String> {
        (self.not_judged > 0).then(|| format!("{} of the input not judged", style::count(self.not_judged, "part")))
    }

    /// Returns the exit status of the run. Errors in options or CRDs, and unreadable files, count as wrong usage, even
    /// if there are other findings.
    fn status(&self, fail_on: FailOn) -> ExitStatus {
        if self.is_partial
            || self.has_wrong_flag
            || self.compilation.diagnostics.iter().any(|diagnostic| self.is_option_error(diagnostic))
        {
            return ExitStatus::Failure;
        }
        if self.fails(fail_on) { ExitStatus::Findings } else { ExitStatus::Success }
    }

    /// Whether there is a finding of at least a severity.
    fn fails(&self, fail_on: FailOn) -> bool {
        let findings = &self.compilation.diagnostics;
        fail_on.severity().is_some_and(|least| findings.iter().any(|finding| finding.severity <= least))
    }

    fn is_option_error(&self, diagnostic: &Diagnostic) -> bool {
        let location = diagnostic.location.as_ref();
        diagnostic.severity == Severity::Error
            && location.is_some_and(|location| {
                matches!(
                    self.sources.get(location.source).purpose,
                    Purpose::Options | Purpose::ClusterNodes | Purpose::Crds | Purpose::ModelConfig
                )
            })
    }
}

/// Returns the number of files that were read, without those of options.
fn count_files(sources: &SourceSet, origins: &Origins) -> usize {
    let is_file = |id, source: &Source| source.purpose != Purpose::Options && !origins.is_built(id);
    sources.iter().filter(|(id, source)| is_file(*id, source)).count()
}

/// Formats the numbers of findings of each severity: `2 errors, 1 warning`.
fn count_findings(findings: &[Diagnostic]) -> String {
    let severities = [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Info, "info")];
    let counts: Vec<String> = severities
        .into_iter()
        .map(|(severity, noun)| (findings.iter().filter(|finding| finding.severity == severity).count(), noun))
        .filter(|(number, _)| *number > 0)
        .map(|(number, noun)| style::count(number, noun))
        .collect();
    if counts.is_empty() { "no findings".to_owned() } else { counts.join(", ") }
}

/// Prints findings of a command that does not compile its input to standard error. Text ends with the number of findings
/// after `result`, which says what the command has done: `1 imported`.
fn note_findings(
    result: &str,
    findings: &[Diagnostic],
    sources: &SourceSet,
    args: &DiagnosticsArgs,
    console: &Console,
) {
    let style = console.stderr_style();
    let report = match args.diagnostics {
        ReportFormat::Text => {
            // `lint` does not read these objects, so it cannot fix them.
            let guide = ReportGuide { list_all: NOTED.list_all, marks_fixes: false };
            let text: String = diagnostics::report_parts(findings, sources, style, guide).collect();
            let summary = || format!("{result}, {}\n{}", count_findings(findings), explain_hint(findings));
            if args.findings.quiet { text } else { text + &summary() }
        }
        ReportFormat::Concise => diagnostics::concise(findings, sources),
        ReportFormat::Json => diagnostics::json(findings, sources, &[]),
    };
    console::note_report([report], args.diagnostics == ReportFormat::Json);
}

/// Reads the input for a command that reports these findings.
fn read_with_progress(
    args: &InputArgs,
    findings: &FindingArgs,
    options: Map<String, Value>,
) -> Result<Input, InputError> {
    read_with(args, findings, options, input::read)
}

/// Like [`read_with_progress`], with a function that reads.
fn read_with(
    args: &InputArgs,
    findings: &FindingArgs,
    options: Map<String, Value>,
    read: impl FnOnce(&InputArgs, Map<String, Value>) -> Result<Input, InputError>,
) -> Result<Input, InputError> {
    // The line would overwrite what the user types.
    let is_typed = std::io::stdin().is_terminal() && args.paths.iter().any(|path| path.as_os_str() == "-");
    let _progress = Progress::start("reading the input", findings.quiet || is_typed);
    read(args, findings.add_severities(options))
}

/// Reads input for a command that does not compile it, and prints notes and read errors to standard error.
///
/// Also returns whether a file in a directory could not be read.
fn read_input(args: &InputArgs, findings: &FindingArgs) -> Result<(Input, bool), CommandError> {
    // What is read is changed or converted, so it must be the files.
    let build = BuildArgs { no_kustomize: true, ..BuildArgs::default() };
    let input = read_with_progress(&InputArgs { build, ..args.clone() }, findings, Map::new())?;
    note_lines(&input.unread, &input.notes, findings);
    let is_partial = !input.unread.is_empty();
    Ok((input, is_partial))
}

/// Prints the files that could not be read, and notes unless the user wants none.
fn note_lines(unread: &[InputError], notes: &[String], findings: &FindingArgs) {
    let notes = notes.iter().filter(|_| !findings.quiet).cloned();
    for line in unread.iter().map(ToString::to_string).chain(notes) {
        console::note(&format!("kubefoundry: {}\n", kubefoundry_yaml::text::printable(&line)));
    }
}

/// Returns the exit status of a command with these findings; see [`Run::status`].
fn exit_status(findings: &[Diagnostic], sources: &SourceSet, is_partial: bool) -> ExitStatus {
    let errors = || findings.iter().filter(|finding| finding.severity == Severity::Error);
    let is_option_error = |finding: &Diagnostic| {
        let purpose = finding.location.as_ref().map(|location| sources.get(location.source).purpose);
        matches!(purpose, Some(Purpose::Options | Purpose::ClusterNodes | Purpose::Crds | Purpose::ModelConfig))
    };
    if is_partial || errors().any(is_option_error) {
        ExitStatus::Failure
    } else if errors().next().is_some() {
        ExitStatus::Findings
    } else {
        ExitStatus::Success
    }
}

/// Returns the number of findings with a fix and how to apply it, like that of ruff.
fn fix_hint(findings: &[Diagnostic], options: &ReportOptions) -> String {
    match findings.iter().filter(|finding| finding.fix.is_some()).count() {
        0 => String::new(),
        number => format!("[*] {number} fixable with {}.\n", options.fix),
    }
}

/// Returns a pointer to the page of the most severe finding, like that of rustc.
fn explain_hint(findings: &[Diagnostic]) -> String {
    let most_severe = findings.iter().min_by_key(|diagnostic| diagnostic.severity).map(|diagnostic| diagnostic.code.id);
    most_severe.map_or(String::new(), |id| format!("For more about a finding, try `kubefoundry explain {id}`.\n"))
}
