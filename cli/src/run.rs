//! What commands share: reading the input, compiling it, and reporting what was found.

use std::error::Error;
use std::io::IsTerminal as _;
use std::iter::once;

use kubefoundry_compiler::options::render::OutputMode;
use kubefoundry_compiler::pipeline::{self, KeptChoices, OutputForm, compile_keeping};
use kubefoundry_compiler::{Compilation, Thoroughness};
use kubefoundry_composition::BUILTIN;
use kubefoundry_diagnostics::render::{self as diagnostics, CheckedSchema, ReportGuide, TextStyle};
use kubefoundry_diagnostics::source::{Purpose, Source, SourceId, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, Severity, count_not_judged};
use kubefoundry_input::{self as input, BuildArgs, Input, InputArgs, InputError, Origins};
use kubefoundry_reports::run::RunResult;
use serde_json::{Map, Value};

use crate::args::{DiagnosticsArgs, FailOn, FindingArgs, ReportFormat};
use crate::console::{self, Console};
use crate::exit::ExitStatus;
use crate::progress::Progress;
use crate::style;

/// Why a command cannot run. Errors in the content of the input are findings instead.
pub(crate) type CommandError = Box<dyn Error>;

/// A path of `--providers` has none.
#[derive(Debug, thiserror::Error)]
#[error("--providers {0}: contains no InferenceProviderConfig")]
struct NoProviders(String);

/// How the user of a command gets what its report in text leaves out.
pub(crate) struct ReportOptions {
    /// The options that list every finding.
    pub(crate) list_all: &'static str,
    /// What applies the fixes.
    pub(crate) fix: &'static str,
}

/// Of commands that report findings on standard error, besides their own output.
const NOTED: ReportOptions = ReportOptions { list_all: "--diagnostics concise", fix: "`kubefoundry lint --fix`" };

/// The findings that a command reports.
#[derive(Clone, Copy)]
pub(crate) struct ReportScope<'a> {
    pub(crate) findings: &'a FindingArgs,
    /// The findings that fail the run, which are always reported.
    pub(crate) fail_on: FailOn,
}

impl<'a> From<&'a FindingArgs> for ReportScope<'a> {
    fn from(findings: &'a FindingArgs) -> Self {
        Self { findings, fail_on: FailOn::Error }
    }
}

/// The input of a command and the result of its compilation.
pub(crate) struct Run<O = Value> {
    pub(crate) sources: SourceSet,
    /// The files from which texts were built.
    pub(crate) origins: Origins,
    pub(crate) compilation: Compilation<O>,
    /// Whether a file in a directory could not be read. Its error has been printed to standard error.
    pub(crate) is_partial: bool,
    /// Whether the value of a flag is wrong.
    has_wrong_flag: bool,
    /// Whether the user wants neither notes nor a summary.
    pub(crate) is_quiet: bool,
    /// Number of findings that are not reported because they are not severe enough.
    pub(crate) hidden: usize,
    /// Number of parts of the input that were not judged, whether or not their findings are reported.
    pub(crate) not_judged: usize,
    /// Number of findings that are not reported because they are in the baseline.
    pub(crate) in_baseline: usize,
}

impl<O: OutputForm> Run<O> {
    /// Reads and compiles the input. `options` are set by the command itself and have the precedence of flags.
    pub(crate) fn new<'a>(
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
    pub(crate) fn from_input<'a>(
        input: Input,
        scope: impl Into<ReportScope<'a>>,
        thoroughness: Thoroughness,
    ) -> Result<Self, CommandError> {
        Self::from_input_keeping(input, scope, thoroughness, KeptChoices::default())
    }

    /// Like [`Run::from_input`], but deployments keep providers that were selected before.
    pub(crate) fn from_input_keeping<'a>(
        input: Input,
        scope: impl Into<ReportScope<'a>>,
        thoroughness: Thoroughness,
        kept: KeptChoices,
    ) -> Result<Self, CommandError> {
        Self::from_input_with(input, scope, |sources| compile_keeping(&BUILTIN, sources, thoroughness, kept))
    }

    /// Like [`Run::from_input`], with a function that compiles.
    pub(crate) fn from_input_with<'a>(
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
                return Err(NoProviders(path.display().to_string()).into());
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
    pub(crate) fn has_failed(&self) -> bool {
        self.is_partial || self.compilation.has_errors()
    }

    /// Chooses the objects to print; by default, only generated ones.
    pub(crate) fn output_mode(&self) -> OutputMode {
        self.compilation.options.output.unwrap_or(OutputMode::Generated)
    }

    /// Returns what reports are made from.
    pub(crate) fn result(&self) -> RunResult<'_, O> {
        RunResult { sources: &self.sources, origins: &self.origins, compilation: &self.compilation }
    }

    /// Formats the findings, in parts: the text of ten thousand findings need not be in memory as a whole. Text ends with a
    /// summary, and with a pointer to the page of the most severe finding.
    pub(crate) fn report_parts(
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
    pub(crate) fn note_findings(&self, format: ReportFormat, console: &Console) {
        let is_parsed = format == ReportFormat::Json;
        console::note_report(self.report_parts(format, console.stderr_style(), &NOTED), is_parsed);
    }

    /// Formats the last line of a report: `2 errors, 1 warning in 3 files (1 suppressed), 1 part of the input not judged`.
    pub(crate) fn summary(&self) -> String {
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
    pub(crate) fn count_not_judged(&self) -> Option<String> {
        (self.not_judged > 0).then(|| format!("{} of the input not judged", style::count(self.not_judged, "part")))
    }

    /// Returns the exit status of the run. Errors in options or CRDs, and unreadable files, count as wrong usage, even
    /// if there are other findings.
    pub(crate) fn status(&self, fail_on: FailOn) -> ExitStatus {
        if self.is_partial
            || self.has_wrong_flag
            || self.compilation.diagnostics.iter().any(|finding| is_option_error(finding, &self.sources))
        {
            return ExitStatus::Failure;
        }
        if self.fails(fail_on) { ExitStatus::Findings } else { ExitStatus::Success }
    }

    /// Whether there is a finding of at least a severity.
    pub(crate) fn fails(&self, fail_on: FailOn) -> bool {
        let findings = &self.compilation.diagnostics;
        fail_on.severity().is_some_and(|least| findings.iter().any(|finding| finding.severity <= least))
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
pub(crate) fn note_findings(
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
pub(crate) fn read_with_progress(
    args: &InputArgs,
    findings: &FindingArgs,
    options: Map<String, Value>,
) -> Result<Input, InputError> {
    read_with(args, findings, options, input::read)
}

/// Like [`read_with_progress`], with a function that reads.
pub(crate) fn read_with(
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
pub(crate) fn read_input(args: &InputArgs, findings: &FindingArgs) -> Result<(Input, bool), CommandError> {
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
pub(crate) fn exit_status(findings: &[Diagnostic], sources: &SourceSet, is_partial: bool) -> ExitStatus {
    if is_partial || findings.iter().any(|finding| is_option_error(finding, sources)) {
        ExitStatus::Failure
    } else if findings.iter().any(|finding| finding.severity == Severity::Error) {
        ExitStatus::Findings
    } else {
        ExitStatus::Success
    }
}

/// Whether a finding is an error in options or CRDs.
fn is_option_error(finding: &Diagnostic, sources: &SourceSet) -> bool {
    let purpose = finding.location.as_ref().map(|location| sources.get(location.source).purpose);
    finding.severity == Severity::Error
        && matches!(purpose, Some(Purpose::Options | Purpose::ClusterNodes | Purpose::Crds | Purpose::ModelConfig))
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
