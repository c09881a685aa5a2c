//! `render --watch` and `lint --watch`: the command runs again whenever its input changes, until it is interrupted.
//!
//! A [`Cache`] keeps the results of all documents, so that a change of one file costs the work of that file. Options,
//! CRDs and provider configurations decide about all results, which are then computed again; a file of a kustomization
//! makes kustomize build what it belongs to again.

mod burst;
mod observed;

use std::mem;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use kubefoundry_compiler::pipeline::Cache;
use kubefoundry_compiler::pipeline::OutputForm;
use kubefoundry_compiler::{Compilation, Thoroughness};
use kubefoundry_composition::BUILTIN;
use kubefoundry_diagnostics::source::SourceSet;
use kubefoundry_input::{self as input, Input, InputArgs, KnownBuilds, temporary};
use serde_json::{Map, Value};

use crate::console::{self, StdoutError};
use crate::exit::ExitStatus;
use crate::run::{CommandError, ReportScope, Run};
use crate::style;
use burst::{Burst, ChangedPaths};
use observed::{Change, ObservedFiles};

/// An editor writes a file in several steps, which are one change if none is later than this after the one before.
const QUIET: Duration = Duration::from_millis(10);

/// A file that is written without a pause is read after this time.
const MAX_WAIT: Duration = Duration::from_millis(500);

/// Reasons why the input cannot be watched.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WatchError {
    #[error("--watch cannot read standard input; name files or directories")]
    Stdin,
    #[error("--watch: {0}")]
    Notify(#[from] notify::Error),
    #[error("--watch: the system no longer reports changes")]
    Ended,
}

/// The input as it was read and shown last.
struct KnownInput<O> {
    input: Input,
    /// What was shown. To free it takes as long as to compute it, so that is left for the time of waiting.
    shown: Option<Compilation<O>>,
}

/// Runs `show` at once, and again after every change of the input. `options` are set by the command itself.
///
/// # Errors
/// If the input cannot be read at first, or no longer be watched. Later errors are printed, because the next change can
/// correct them.
pub(super) fn watch<O: OutputForm>(
    args: &InputArgs,
    options: Map<String, Value>,
    scope: ReportScope<'_>,
    thoroughness: Thoroughness,
    mut show: impl FnMut(&mut Run<O>) -> Result<(), CommandError>,
) -> Result<ExitStatus, CommandError> {
    if args.paths.is_empty()
        || args.paths.iter().chain(&args.crds).chain(&args.cluster).any(|path| path.as_os_str() == "-")
    {
        return Err(WatchError::Stdin.into());
    }
    let options = scope.findings.add_severities(options);
    let mut cache = Cache::default();
    let (sender, events) = mpsc::channel();
    // The system reports changes from here on, so that none is missed while the input is read.
    let mut observed = ObservedFiles::new(args, move |event| drop(sender.send(event)))?;
    temporary::end_with_success_when_interrupted();

    let mut builds = KnownBuilds::default();
    let mut input = Some(input::read_rebuilding(args, options.clone(), &mut builds)?);
    // Whether all files were read, so that there may be others than before.
    let mut is_read = true;
    let mut known = None;
    let mut change = None;
    let mut since = Instant::now();
    let mut burst = Burst::default();
    loop {
        if let Some(input) = input.take() {
            if is_read {
                observed.observe(&input)?;
            }
            console::clear_screen();
            known = show_input(input, scope, |sources| cache.compile(&BUILTIN, sources, thoroughness), &mut show)?;
            if !scope.findings.quiet {
                let files = known.as_ref().map_or(0, |known: &KnownInput<O>| known.input.files.len());
                let done = change.take().unwrap_or_else(|| format!("watching {}", style::count(files, "file")));
                let took = since.elapsed().as_millis();
                console::note(&format!("kubefoundry: {done} ({took} ms); press Ctrl-C to stop\n"));
            }
        }
        if let Some(known) = &mut known {
            known.shown = None;
        }
        let changes = wait(&events, &observed, &mut burst)?;
        since = changes.since;
        change = Some(changes.describe());
        (input, is_read) = match read_changed_files(&changes.change, &mut known) {
            FilesRead::Same => (None, false),
            FilesRead::Changed(input) => (Some(*input), false),
            FilesRead::NotAlone => (read_everything(args, &options, &mut builds, &mut known), true),
        };
    }
}

/// Compiles and shows an input, and returns it for the next run.
fn show_input<O: OutputForm>(
    mut input: Input,
    scope: ReportScope<'_>,
    compile: impl FnOnce(&SourceSet) -> Compilation<O>,
    show: &mut impl FnMut(&mut Run<O>) -> Result<(), CommandError>,
) -> Result<Option<KnownInput<O>>, CommandError> {
    let rest = Input {
        files: mem::take(&mut input.files),
        stdin: input.stdin,
        notes: input.notes.clone(),
        providers: input.providers.clone(),
        findings: input.findings.clone(),
        ..Input::default()
    };
    let shown = Run::from_input_with(input, scope, compile).and_then(|mut run| show(&mut run).map(|()| run));
    match shown {
        Ok(Run { sources, origins, compilation, is_partial, .. }) => {
            // A file that could not be read is tried again with all others.
            let is_whole = !is_partial;
            let input = Input { sources, origins, ..rest };
            Ok(is_whole.then_some(KnownInput { input, shown: Some(compilation) }))
        }
        Err(error) if error.is::<StdoutError>() => Err(error),
        Err(error) => {
            print_error(&error);
            Ok(None)
        }
    }
}

fn print_error(error: &CommandError) {
    console::note(&format!("kubefoundry: {}\n", kubefoundry_yaml::text::printable(&error.to_string())));
}

/// What changed since the last run.
struct Changes {
    since: Instant,
    change: Change,
}

impl Changes {
    fn new(changed: ChangedPaths, since: Option<Instant>, observed: &ObservedFiles) -> Self {
        let change = if changed.is_everything { Change::Everything } else { observed.classify(changed.paths) };
        Self { since: since.unwrap_or_else(Instant::now), change }
    }

    /// Formats what changed: `models/llama.yaml changed`.
    fn describe(&self) -> String {
        match &self.change {
            Change::Files(files) => match files.values().next() {
                Some(path) if files.len() == 1 => {
                    format!("{} changed", kubefoundry_yaml::text::printable(&path.display().to_string()))
                }
                _ => format!("{} changed", style::count(files.len(), "file")),
            },
            Change::Everything => "the input changed".to_owned(),
        }
    }
}

/// Waits for a change, and for the end of those that follow it at once, or for [`MAX_WAIT`].
fn wait(
    events: &Receiver<notify::Result<notify::Event>>,
    observed: &ObservedFiles,
    burst: &mut Burst,
) -> Result<Changes, CommandError> {
    let mut since: Option<Instant> = None;
    let mut waits_from: Option<Instant> = None;
    loop {
        let changed = if !burst.is_going_on() {
            Some(events.recv().map_err(|_| WatchError::Ended)?)
        } else if waits_from.is_some_and(|from| from.elapsed() > MAX_WAIT) {
            None
        } else {
            match events.recv_timeout(QUIET) {
                Ok(event) => Some(event),
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    let ended = burst.end();
                    if ended.is_empty() {
                        continue;
                    }
                    return Ok(Changes::new(ended, since, observed));
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => return Err(WatchError::Ended.into()),
            }
        };
        let now = Instant::now();
        let Some(event) = changed else {
            let early = burst.take_early(now, |path| observed.is_read_alone(path));
            if !early.is_empty() {
                return Ok(Changes::new(early, since, observed));
            }
            waits_from = Some(now);
            continue;
        };
        let mut changed = ChangedPaths::default();
        match event {
            // The program itself opens files.
            Ok(event) if matches!(event.kind, notify::EventKind::Access(_)) => continue,
            Ok(event) => {
                changed.is_everything = event.need_rescan();
                changed.paths.extend(event.paths.into_iter().filter(|path| observed.is_of_interest(path)));
            }
            // A lost event may be about any file.
            Err(_) => changed.is_everything = true,
        }
        if !changed.is_empty() {
            burst.add(changed, now);
            since.get_or_insert(now);
            waits_from.get_or_insert(now);
        }
    }
}

/// What came of reading changed files alone.
enum FilesRead {
    /// No text is different.
    Same,
    Changed(Box<Input>),
    /// Everything must be read.
    NotAlone,
}

/// Reads changed files into the known input.
fn read_changed_files<O>(change: &Change, known: &mut Option<KnownInput<O>>) -> FilesRead {
    let Change::Files(files) = change else { return FilesRead::NotAlone };
    let Some(mut before) = known.take() else { return FilesRead::NotAlone };
    let texts = |sources: &SourceSet| files.keys().map(|id| sources.get(*id).text.clone()).collect::<Vec<_>>();
    let old = texts(&before.input.sources);
    if !files.iter().all(|(id, path)| input::read_again(&mut before.input.sources, *id, path)) {
        // Some texts may be new, so the input is no longer one that was shown.
        return FilesRead::NotAlone;
    }
    if texts(&before.input.sources) == old {
        *known = Some(before);
        return FilesRead::Same;
    }
    FilesRead::Changed(Box::new(before.input))
}

/// Reads all files. Returns `None` if the input is the same as before, for example because an ignored file changed, or if
/// it cannot be read now.
fn read_everything<O>(
    args: &InputArgs,
    options: &Map<String, Value>,
    builds: &mut KnownBuilds,
    known: &mut Option<KnownInput<O>>,
) -> Option<Input> {
    match input::read_rebuilding(args, options.clone(), builds) {
        Ok(input) if known.as_ref().is_some_and(|known| is_same(&known.input, &input)) => None,
        Ok(input) => Some(input),
        Err(error) => {
            *known = None;
            print_error(&error.into());
            None
        }
    }
}

/// Whether two inputs have the same texts for the same purposes, and the same findings about what was not read.
fn is_same(one: &Input, other: &Input) -> bool {
    let texts = |input: &Input| input.sources.iter().count();
    other.unread.is_empty()
        && (&one.notes, &one.findings) == (&other.notes, &other.findings)
        && one.sources.environments() == other.sources.environments()
        && texts(one) == texts(other)
        && one.sources.iter().zip(other.sources.iter()).all(|((_, one), (_, other))| {
            (one.purpose, &one.name, &one.text, &one.unbuilt)
                == (other.purpose, &other.name, &other.text, &other.unbuilt)
        })
}
