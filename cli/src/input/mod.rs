//! Reads the texts that the library needs from paths and flags.
//!
//! The texts have this order: the options in order of increasing precedence (each `kubefoundry.yaml`, `--config`, the
//! flags), the `config.json` of models, the input in the order of the arguments, then the files of `--providers`,
//! `--cluster` and `--crds`.
//!
//! ```text
//! arguments ─ listing ─┬─ options of each directory ─ which files are read, and to which environment they belong
//!                      ├─ kustomizations ─ built texts, whose places are traced to their files
//!                      └─ templates ─ skipped, or charts rendered by helm
//! ```

mod environments;
mod files;
mod found_options;
pub(crate) mod git;
mod kustomize;
mod listing;
mod model_config;
mod program;
mod templates;
mod walk;
pub(crate) mod workspace;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, Metadata};
use std::io::{self, IsTerminal as _, Read};
use std::path::{Path, PathBuf};

use kubefoundry_compiler::pipeline;
use kubefoundry_diagnostics::source::SourceId;
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, Location, Severity};
use kubefoundry_yaml::field_path::{FieldPath, Segment};
use serde_json::{Map, Value, json};

use crate::args::{Assignment, ConfigArgs, InputArgs};
use environments::{Environments, OptionFiles};
use files::Files;
use found_options::OptionsFinder;
use git::{GitError, Tree};
use kustomize::{BuiltSource, BuiltText, Outcome};
use listing::{Charts, Entry, ListedFile, ListedRoot, Listing, NamedOptions};
use model_config::ModelConfig;

pub(crate) use kustomize::Origins;

/// The name of the options from flags in findings.
pub(crate) const COMMAND_LINE: &str = "<command line>";

/// The options that a flag sets for one provider each, and the flags.
const ASSIGNMENT_FLAGS: [(&str, &str); 2] = [("crdVersions", "--crd-version"), ("runtimes", "--runtime")];

/// The name of the options from Argo CD parameters in findings.
const PARAMETERS: &str = "<parameters>";

/// The name of standard input in findings.
const STDIN: &str = "<stdin>";

/// Size limit of a file, far above any manifest. The library has its own limits for each document.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Reasons why the input cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InputError {
    #[error("{0}: {1}")]
    Read(String, io::Error),
    #[error("{0}")]
    Walk(ignore::Error),
    #[error("{0}: the link leads nowhere")]
    DanglingLink(String),
    #[error("{0}: {1}")]
    Pattern(String, ignore::Error),
    #[error("no temporary directory for kustomize: {0}")]
    Temporary(io::Error),
    #[error("{0}: not read, because it is outside of the application's directory")]
    Outside(String),
    #[error("{0}: not read, because it is outside of {1}")]
    OutsideOf(String, String),
    #[error("--model-config {0}: contains no config.json in a directory that is named like its model")]
    NoModelConfigs(String),
    #[error("{name}: larger than {limit} MiB", limit = MAX_BYTES / (1024 * 1024))]
    TooLarge { name: String, is_foreign: bool },
    #[error("--crds {0}: contains no .yaml, .yml or .json file")]
    NoCrds(String),
    #[error("standard input is used twice; use it once: as PATH, for --cluster or for --crds")]
    StdinTwice,
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("no PATH given, and standard input is a terminal; name a file or a directory, or pipe manifests in")]
    Terminal,
}

/// The input of a command.
#[derive(Debug, Default)]
pub(crate) struct Input {
    pub(crate) sources: SourceSet,
    /// The paths of the texts that are files.
    pub(crate) files: BTreeMap<SourceId, PathBuf>,
    /// The text from standard input, if it was read as input.
    pub(crate) stdin: Option<SourceId>,
    /// Errors for files in directories that could not be read. The other files are checked all the same.
    pub(crate) unread: Vec<InputError>,
    /// Notes for the user, one line each, for standard error.
    pub(crate) notes: Vec<String>,
    /// The path of each `--providers` with its texts.
    pub(crate) providers: Vec<(PathBuf, Vec<SourceId>)>,
    /// The files from which kustomize built texts.
    pub(crate) origins: Origins,
    /// Findings about what was not read or not built, with their environments.
    pub(crate) findings: Vec<(Option<String>, Diagnostic)>,
}

/// Reads everything that the arguments name. `options` are set by the command itself.
///
/// A path in the arguments that cannot be read is an error. An unreadable file in a directory is only recorded in
/// [`Input::unread`], so that one dangling link does not hide the findings in all other files.
pub(crate) fn read(args: &InputArgs, options: Map<String, Value>) -> Result<Input, InputError> {
    let mut reader = Reader::default();
    reader.read_all(args, &args.paths, options)?;
    Ok(reader.input)
}

/// Like [`read`], with the last path as a cluster snapshot instead of input.
pub(crate) fn read_with_snapshot(args: &InputArgs, options: Map<String, Value>) -> Result<Input, InputError> {
    let (snapshot, paths) =
        args.paths.split_last().map_or((None, &[][..]), |(snapshot, paths)| (Some(snapshot), paths));
    let mut reader = Reader::default();
    reader.read_all(args, paths, options)?;
    if let Some(snapshot) = snapshot {
        reader.read_path_or_stdin(Purpose::ClusterSnapshot, snapshot)?;
    }
    Ok(reader.input)
}

/// Reads cluster snapshots: files, directories, or standard input if there is no path.
pub(crate) fn read_snapshots(paths: &[PathBuf]) -> Result<Input, InputError> {
    let mut reader = Reader::default();
    if paths.is_empty() {
        reader.read_stdin_unless_terminal(Purpose::ClusterSnapshot)?;
    }
    for path in paths {
        reader.read_path_or_stdin(Purpose::ClusterSnapshot, path)?;
    }
    Ok(reader.input)
}

/// The content of standard input and pipes (`<(command)`), which can be read only once but are part of both sides of a
/// plan.
#[derive(Debug, Default)]
pub(crate) struct Pipes {
    stdin: Option<Vec<u8>>,
    others: BTreeMap<PathBuf, Vec<u8>>,
}

/// Like [`read`], but reads the input paths from a revision if there is one. Options, providers and CRDs are always
/// read from the file system.
pub(crate) fn read_at(
    args: &InputArgs,
    options: Map<String, Value>,
    tree: Option<Tree>,
    pipes: &mut Pipes,
) -> Result<Input, InputError> {
    let files = tree.map_or(Files::Disk, Files::Revision);
    let mut reader = Reader { disk: files, pipes: Some(std::mem::take(pipes)), ..Reader::default() };
    reader.read_all(args, &args.paths, options)?;
    *pipes = reader.pipes.unwrap_or_default();
    Ok(reader.input)
}

/// Reads the options that apply to a path, and nothing else.
pub(crate) fn read_options(args: &ConfigArgs) -> Result<Input, InputError> {
    let path = args.path.as_deref().unwrap_or(Path::new("."));
    let metadata = path.metadata().map_err(|error| InputError::Read(path.display().to_string(), error))?;
    let directory = if metadata.is_dir() { path } else { path.parent().unwrap_or(Path::new("")) };
    let mut reader = Reader::default();
    for file in &OptionsFinder::new(args.isolated).find(directory, &Files::Disk)?.files {
        let id = reader.read_file(Purpose::Options, file)?;
        reader.input.sources.set_found(id, true);
    }
    if let Some(file) = &args.config {
        let id = reader.read_file(Purpose::Options, file)?;
        reader.input.sources.set_found(id, false);
    }
    let allow_empty = Map::from_iter([("allowEmpty".to_owned(), Value::Bool(true))]);
    if let Some(render) = flags_to_render(&InputArgs::default(), allow_empty) {
        reader.input.sources.add_for(Purpose::Options, COMMAND_LINE, render);
    }
    Ok(reader.input)
}

/// Reads the directory of an Argo CD application, which is the working directory: its options, and then either the
/// output of kustomize or its files. Files outside of it are rejected, even if a link leads to them.
pub(crate) fn read_application(
    config: Option<&Path>,
    options: Map<String, Value>,
    kustomize_output: Option<(&str, String)>,
) -> Result<Input, InputError> {
    let directory = Path::new(".");
    let root = directory.canonicalize().map_err(|error| InputError::Read(directory.display().to_string(), error))?;
    let found = OptionsFinder::default().find(directory, &Files::Disk)?;
    let mut reader = Reader::default();
    // All are files of the application's repository.
    for file in &found.files {
        let options = reader.read_file(Purpose::Options, file)?;
        reader.input.sources.set_found(options, true);
    }
    reader.root = Some(root);
    if let Some(file) = config {
        let options = reader.read_file(Purpose::Options, file)?;
        reader.input.sources.set_found(options, true);
    }
    if let Some(render) = flags_to_render(&InputArgs::default(), options) {
        reader.input.sources.add_for(Purpose::Options, PARAMETERS, render);
    }
    reader.read_named_model_configs()?;
    match kustomize_output {
        Some((name, text)) => drop(reader.input.sources.add(name, text)),
        None => drop(reader.read_path(Purpose::Input, directory)?),
    }
    Ok(reader.input)
}

/// Converts flags to a `Render` document. Returns `None` if there are no flags and no options.
fn flags_to_render(args: &InputArgs, mut options: Map<String, Value>) -> Option<String> {
    let by_provider = |assignments: &[Assignment]| -> Map<String, Value> {
        assignments.iter().map(|it| (it.provider.clone(), Value::from(it.version.as_str()))).collect()
    };
    for ((field, _), assignments) in ASSIGNMENT_FLAGS.into_iter().zip([&args.crd_version, &args.runtime]) {
        if !assignments.is_empty() {
            options.insert(field.to_owned(), by_provider(assignments).into());
        }
    }
    if args.strict {
        options.insert("strict".to_owned(), Value::Bool(true));
    }
    if options.is_empty() {
        return None;
    }
    let mut render = json!({"apiVersion": kubefoundry_compiler::options::render::API_VERSION, "kind": "Render"});
    render.as_object_mut()?.append(&mut options);
    Some(format!("{render:#}\n"))
}

/// Gives findings in the options from flags the flag instead of a place in a text that the user did not write. Returns
/// whether one of them is an error.
pub(crate) fn name_flags(sources: &SourceSet, findings: &mut [Diagnostic]) -> bool {
    let mut is_wrong = false;
    for finding in findings {
        let Some(location) = &finding.location else { continue };
        let source = sources.get(location.source);
        if source.purpose != Purpose::Options || source.name != COMMAND_LINE {
            continue;
        }
        let options: Value = serde_json::from_str(&source.text).unwrap_or_default();
        let mut keys = location.path.segments().iter().filter_map(Segment::as_key);
        let flag = match (keys.next(), keys.next()) {
            (Some(field), Some(provider)) => {
                ASSIGNMENT_FLAGS.iter().find(|(name, _)| *name == field).map(|(_, flag)| {
                    let version = options.get(field).and_then(|field| field.get(provider)).and_then(Value::as_str);
                    format!("{flag} {provider}={}", version.unwrap_or_default())
                })
            }
            _ => None,
        };
        // Options that a command sets for itself have no flag.
        let Some(flag) = flag else { continue };
        finding.message = format!("{flag}: {}", finding.message);
        finding.location = None;
        finding.fix = None;
        is_wrong |= finding.severity == Severity::Error;
    }
    is_wrong
}

/// Returns whether a file that is read for a purpose may also be input, where it is an object like others.
fn is_apart(purpose: Purpose) -> bool {
    matches!(
        purpose,
        Purpose::ClusterNodes | Purpose::ClusterSnapshot | Purpose::Crds | Purpose::ModelConfig | Purpose::Origin
    )
}

/// Collects texts. Each file is read only once for a purpose.
#[derive(Default)]
struct Reader {
    input: Input,
    /// The files that were read. Dumps of a cluster are keyed by purpose, because such a file can also be
    /// input.
    seen: BTreeMap<(Option<Purpose>, PathBuf), SourceId>,
    /// The purpose for which standard input was read.
    stdin_purpose: Option<Purpose>,
    /// The canonical paths of directories whose files were read.
    directories: BTreeMap<PathBuf, PathBuf>,
    /// If set, files outside of this directory are rejected.
    root: Option<PathBuf>,
    /// Where the paths of the input are read from.
    disk: Files,
    /// If set, pipes and standard input are kept here for the next reader.
    pipes: Option<Pipes>,
    /// The `config.json` files that each text with options names.
    model_configs: Vec<(SourceId, SourceId)>,
}

impl Reader {
    /// Reads everything that the arguments name, with `paths` as input.
    fn read_all(&mut self, args: &InputArgs, paths: &[PathBuf], options: Map<String, Value>) -> Result<(), InputError> {
        let named = NamedOptions::read(args)?;
        let mut finder = OptionsFinder::new(args.isolated);
        let listing = Listing::of(paths, &self.disk, &mut finder, &named)?;
        let roots = listing.build_kustomizations(&self.disk, &mut finder, &named)?;
        let mut environments = Environments::default();
        for file in
            listing.option_files().chain(roots.iter().flat_map(|root| &root.options.files)).collect::<OptionFiles>()
        {
            let id = self.read_input_file(Purpose::Options, &file)?;
            self.input.sources.set_found(id, true);
            environments.options.insert(file, id);
        }
        for root in &roots {
            for (file, text) in root.root.function_options() {
                let id = self.input.sources.add_for(Purpose::Options, file.display().to_string(), text);
                self.input.sources.set_found(id, true);
                environments.functions.push((root.environment.clone(), id));
            }
        }
        if let Some(file) = &args.config {
            // The user may name a file that was found, too, which is trusted then. It applies everywhere.
            let id = self.read_file(Purpose::Options, file)?;
            self.input.sources.set_found(id, false);
            environments.options.retain(|_, found| *found != id);
        }
        if let Some(render) = flags_to_render(args, options) {
            self.input.sources.add_for(Purpose::Options, COMMAND_LINE, render);
        }
        self.read_named_model_configs()?;
        for directory in &args.model_config {
            for ModelConfig { model, file } in model_config::find_configs(directory)? {
                let text = self.read_file(Purpose::ModelConfig, &file)?;
                self.input.sources.set_subject(text, model);
            }
        }
        if paths.is_empty() {
            self.read_stdin_unless_terminal(Purpose::Input)?;
        }
        self.read_listing(listing, roots, &named, &mut environments)?;
        environments.apply(&mut self.input.sources, &self.model_configs);
        for path in &args.providers {
            let texts = self.read_path(Purpose::Providers, path)?;
            self.input.providers.push((path.clone(), texts));
        }
        for path in &args.cluster {
            self.read_path_or_stdin(Purpose::ClusterNodes, path)?;
        }
        for path in &args.crds {
            if path.is_dir() {
                self.read_crd_directory(path)?;
            } else {
                self.read_path_or_stdin(Purpose::Crds, path)?;
            }
        }
        Ok(())
    }

    /// Reads the files of a listing, and the texts that were built from them instead.
    fn read_listing(
        &mut self,
        listing: Listing,
        mut roots: Vec<ListedRoot>,
        named: &NamedOptions,
        environments: &mut Environments,
    ) -> Result<(), InputError> {
        let replaced: BTreeSet<PathBuf> = roots
            .iter()
            .filter(|root| !root.is_unbuilt())
            .flat_map(|root| root.root.closure.files().cloned())
            .collect();
        let mut unbuilt: BTreeMap<PathBuf, String> = BTreeMap::new();
        for root in roots.iter().filter(|root| root.is_unbuilt()) {
            let name = kustomize::name_of(&root.root.directory);
            unbuilt.extend(root.root.closure.resources.iter().map(|file| (file.clone(), name.clone())));
        }
        let mut charts = Charts::default();
        self.input.notes.extend(listing.notes);
        for entry in listing.entries {
            match entry {
                Entry::Stdin => self.read_stdin(Purpose::Input)?,
                Entry::Named(file) => {
                    let id = self.read_input_file(Purpose::Input, &file.path)?;
                    environments.add(&file.environment, &file.options.files, id);
                    if pipeline::may_hold_input(&self.input.sources.get(id).text) {
                        self.read_kustomizations_above(&file, environments)?;
                    }
                }
                Entry::Listed(file) => {
                    if let Some(position) = roots.iter().position(|root| root.root.file == file.path) {
                        let root = roots.remove(position);
                        self.read_root(root, environments)?;
                    }
                    let path = &file.path;
                    if !replaced.contains(path) && !charts.claims(path, &self.disk) {
                        self.read_listed(&file, &unbuilt, environments);
                    }
                }
                Entry::Unread(error) => self.record_unread(error),
            }
        }
        self.read_charts(charts, named, environments)
    }

    /// Reads a file of a directory. A file that cannot be read does not hide the others.
    fn read_listed(&mut self, file: &ListedFile, unbuilt: &BTreeMap<PathBuf, String>, environments: &mut Environments) {
        let id = match self.read_input_file(Purpose::Input, &file.path) {
            Ok(id) => id,
            Err(error) => return self.record_unread(error),
        };
        let text = &self.input.sources.get(id).text;
        if let Some(mark) =
            Some(text).filter(|text| pipeline::may_hold_input(text)).and_then(|text| templates::find_mark(text))
        {
            let mut finding = templates::skipped_template();
            finding.location = Some(Location::new(id, 0, mark, FieldPath::root()));
            self.input.sources.set_purpose(id, Purpose::Origin);
            self.input.findings.push((Some(file.environment.clone()), finding));
        }
        if let Some(kustomization) = unbuilt.get(&file.path) {
            self.input.sources.set_unbuilt(id, kustomization.as_str());
        }
        environments.add(&file.environment, &file.options.files, id);
    }

    /// Adds what a kustomization became: a built text with the texts of its files, or a finding.
    fn read_root(&mut self, listed: ListedRoot, environments: &mut Environments) -> Result<(), InputError> {
        let ListedRoot { root, options, environment } = listed;
        let file = self.read_input_file(Purpose::Origin, &root.file)?;
        let location = Some(Location::from_source(file));
        match root.outcome {
            Outcome::Unbuilt(mut finding) | Outcome::Failed(mut finding) => {
                finding.location = location;
                self.input.findings.push((Some(environment), finding));
            }
            Outcome::Built(built) => {
                let BuiltText { text, origins, starts } = built;
                let name = format!("{} (built by kustomize)", kustomize::name_of(&root.directory));
                let id = self.input.sources.add(name, text);
                let mut texts = BTreeMap::from([(root.file.clone(), file)]);
                let kustomizations = root.closure.kustomizations.iter().map(|it| &it.file);
                let functions = root.closure.functions.iter().map(|function| &function.file);
                for path in kustomizations.chain(&root.closure.resources).chain(&root.closure.patches).chain(functions)
                {
                    texts.insert(path.clone(), self.read_input_file(Purpose::Origin, path)?);
                }
                environments.add(&environment, &options.files, id);
                let origins = origins
                    .into_iter()
                    .map(|origin| origin.map(|path| listing::from_boundary(&root.directory, &path, &self.disk)))
                    .collect();
                let source = BuiltSource { root: root.directory, closure: root.closure, origins, starts, texts };
                self.input.origins.built.insert(id, source);
            }
        }
        Ok(())
    }

    /// Adds what helm renders from charts, or a finding about each chart whose templates are skipped.
    fn read_charts(
        &mut self,
        charts: Charts,
        named: &NamedOptions,
        environments: &mut Environments,
    ) -> Result<(), InputError> {
        for (chart, count) in charts.relevant(&self.disk)? {
            let file = self.read_input_file(Purpose::Origin, &templates::chart_file(&chart))?;
            let mut finding = templates::skipped_chart(&chart, count);
            if named.permissions.helm && self.disk.revision().is_none() {
                match templates::render_chart(&chart) {
                    Ok(text) => {
                        let name = format!("{} (rendered by helm)", kustomize::name_of(&chart));
                        let id = self.input.sources.add(name, text);
                        environments.add(&kustomize::name_of(&chart), &[], id);
                        continue;
                    }
                    Err(error) => finding = templates::failed_chart(&chart, &error),
                }
            }
            finding.location = Some(Location::from_source(file));
            self.input.findings.push((None, finding));
        }
        Ok(())
    }

    /// Records a file of a directory that cannot be read. A large file without any of our API groups is data, not a
    /// manifest.
    fn record_unread(&mut self, error: InputError) {
        match error {
            InputError::TooLarge { is_foreign: true, .. } | InputError::DanglingLink(_) => {
                self.input.notes.push(format!("{error}; skipped"));
            }
            error => self.input.unread.push(error),
        }
    }

    /// Reads a file of the input, from the revision if there is one.
    fn read_input_file(&mut self, purpose: Purpose, path: &Path) -> Result<SourceId, InputError> {
        let Some(tree) = self.disk.revision() else { return self.read_file(purpose, path) };
        let key = (Some(purpose).filter(|it| is_apart(*it)), path.to_owned());
        if let Some(text) = self.seen.get(&key) {
            return Ok(*text);
        }
        let name = path.display().to_string();
        let Some(bytes) = tree.file(path)? else {
            return Err(InputError::Read(name, io::ErrorKind::NotFound.into()));
        };
        let text = self.input.sources.add_bytes(purpose, name, bytes.to_vec());
        self.seen.insert(key, text);
        Ok(text)
    }

    /// Reads the `config.json` files that the options name.
    fn read_named_model_configs(&mut self) -> Result<(), InputError> {
        let options: Vec<(SourceId, String, String)> = self
            .input
            .sources
            .iter()
            .filter(|(_, source)| source.purpose == Purpose::Options)
            .map(|(id, source)| (id, source.name.clone(), source.text.clone()))
            .collect();
        for (id, name, text) in options {
            let folder = Path::new(&name).parent().unwrap_or(Path::new(""));
            for ModelConfig { model, file } in model_config::named_configs(&text, folder)? {
                let text = if self.input.files.contains_key(&id) {
                    model_config::check_is_below(&file, folder)?;
                    self.read_file(Purpose::ModelConfig, &file)?
                } else if self.disk.revision().is_some_and(|tree| tree.is_file(&file)) {
                    self.read_input_file(Purpose::ModelConfig, &file)?
                } else {
                    // The options of flags and parameters name no files.
                    continue;
                };
                self.input.sources.set_subject(text, model);
                self.model_configs.push((id, text));
            }
        }
        Ok(())
    }

    fn read_path_or_stdin(&mut self, purpose: Purpose, path: &Path) -> Result<(), InputError> {
        if path.as_os_str() == "-" { self.read_stdin(purpose) } else { self.read_path(purpose, path).map(drop) }
    }

    /// Reads a file, or the files of a directory. Returns their texts.
    fn read_path(&mut self, purpose: Purpose, path: &Path) -> Result<Vec<SourceId>, InputError> {
        if !path.is_dir() {
            return self.read_file(purpose, path).map(|text| vec![text]);
        }
        let mut texts = Vec::new();
        let files = walk::find_manifests(path);
        if files.is_empty() {
            self.input.notes.push(walk::describe_empty(path));
        }
        for file in files {
            match file.and_then(|file| self.read_file(purpose, &file)) {
                Ok(text) => texts.push(text),
                Err(error @ InputError::TooLarge { is_foreign: true, .. })
                    if matches!(purpose, Purpose::ClusterNodes | Purpose::ClusterSnapshot) =>
                {
                    self.input.unread.push(error);
                }
                Err(error) => self.record_unread(error),
            }
        }
        Ok(texts)
    }

    /// Reads the CRDs in a directory. A directory without files is an error, because nothing would be checked.
    fn read_crd_directory(&mut self, path: &Path) -> Result<(), InputError> {
        let unread = self.input.unread.len();
        let texts = self.read_path(Purpose::Crds, path)?;
        if texts.is_empty() && self.input.unread.len() == unread {
            return Err(InputError::NoCrds(path.display().to_string()));
        }
        for text in texts {
            self.input.sources.set_directory(text, path.display().to_string());
        }
        Ok(())
    }

    fn read_file(&mut self, purpose: Purpose, path: &Path) -> Result<SourceId, InputError> {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| InputError::Read(name.clone(), error))?;
        let identity = self.identify(path);
        if self.root.as_ref().is_some_and(|directory| !identity.starts_with(directory)) {
            return Err(InputError::Outside(name));
        }
        // The input directory may contain the CRDs, too: there they are objects like others.
        let identity = (Some(purpose).filter(|it| is_apart(*it)), identity);
        if let Some(text) = self.seen.get(&identity) {
            return Ok(*text);
        }
        // A pipe is empty when it is opened a second time, so its content is kept.
        let size = file.metadata().ok().filter(Metadata::is_file).map(|metadata| metadata.len());
        let cache = self.pipes.as_mut().filter(|_| size.is_none()).map(|pipes| &mut pipes.others);
        let size = size.unwrap_or_default();
        let bytes = match cache {
            None => read_limited(&name, file, size)?,
            Some(cache) => match cache.get(path) {
                Some(bytes) => bytes.clone(),
                None => cache.entry(path.to_owned()).or_insert(read_limited(&name, file, size)?).clone(),
            },
        };
        let text = self.input.sources.add_bytes(purpose, name, bytes);
        self.input.files.insert(text, path.to_owned());
        self.seen.insert(identity, text);
        Ok(text)
    }

    /// Returns the canonical path of a file, or the path as given for a pipe (`<(command)`), which has none. That of a
    /// directory is looked up only once, because a system call for each part of the path of each file is slower than
    /// reading the file.
    fn identify(&mut self, path: &Path) -> PathBuf {
        let parent = path.parent().map(|parent| if parent.as_os_str().is_empty() { Path::new(".") } else { parent });
        let is_link = || path.symlink_metadata().map_or(true, |metadata| metadata.is_symlink());
        let (Some(parent), Some(name), false) = (parent, path.file_name(), is_link()) else {
            return path.canonicalize().unwrap_or_else(|_| path.to_owned());
        };
        if let Some(directory) = self.directories.get(parent) {
            return directory.join(name);
        }
        match parent.canonicalize() {
            Ok(directory) => self.directories.entry(parent.to_owned()).or_insert(directory).join(name),
            Err(_) => path.to_owned(),
        }
    }

    /// Reads the kustomizations in the directory of a file and in the one above. They tell whether the file is a patch,
    /// which matters if it was named alone, for example by a commit hook.
    fn read_kustomizations_above(
        &mut self,
        file: &ListedFile,
        environments: &mut Environments,
    ) -> Result<(), InputError> {
        for folder in file.path.ancestors().skip(1).take(2) {
            if let Some(kustomization) =
                kustomize::FILE_NAMES.iter().map(|name| folder.join(name)).find(|it| self.disk.is_file(it))
            {
                let id = self.read_input_file(Purpose::Input, &walk::strip_current_dir(&kustomization))?;
                environments.add(&file.environment, &file.options.files, id);
            }
        }
        Ok(())
    }

    /// Reads standard input if no path was given. A terminal is an error, because the command would seem to hang.
    fn read_stdin_unless_terminal(&mut self, purpose: Purpose) -> Result<(), InputError> {
        if io::stdin().is_terminal() { Err(InputError::Terminal) } else { self.read_stdin(purpose) }
    }

    fn read_stdin(&mut self, purpose: Purpose) -> Result<(), InputError> {
        match self.stdin_purpose {
            Some(before) if before != purpose => return Err(InputError::StdinTwice),
            Some(_) => {}
            None => {
                self.stdin_purpose = Some(purpose);
                let bytes = match self.pipes.as_mut().map(|pipes| &mut pipes.stdin) {
                    None => read_limited(STDIN, io::stdin().lock(), 0)?,
                    Some(Some(bytes)) => bytes.clone(),
                    Some(empty) => empty.insert(read_limited(STDIN, io::stdin().lock(), 0)?).clone(),
                };
                let id = self.input.sources.add_bytes(purpose, STDIN, bytes);
                self.input.stdin = Some(id).filter(|_| purpose == Purpose::Input);
            }
        }
        Ok(())
    }
}

/// Reads up to [`MAX_BYTES`]; more is an error. `size` is the expected number of bytes, or 0 if it is not known.
fn read_limited(name: &str, reader: impl Read, size: u64) -> Result<Vec<u8>, InputError> {
    // One byte more than expected, so that the end is found without growing the buffer.
    let mut bytes = Vec::with_capacity(usize::try_from(size.min(MAX_BYTES) + 1).unwrap_or_default());
    reader.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| InputError::Read(name.to_owned(), error))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > MAX_BYTES) {
        let is_foreign = !pipeline::may_hold_input(&String::from_utf8_lossy(&bytes));
        return Err(InputError::TooLarge { name: name.to_owned(), is_foreign });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text of a flag must not be able to set another option.
    #[test]
    fn flags_become_a_render_document() {
        let crd_version = vec![Assignment { provider: "dynamo\"\nstrict: true".into(), version: "v\u{7}\"".into() }];
        let args = InputArgs { crd_version, ..InputArgs::default() };
        let text = flags_to_render(&args, Map::new()).unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(&text).unwrap(),
            json!({"apiVersion": "config.kubefoundry.ai/v1alpha1", "kind": "Render",
                   "crdVersions": {"dynamo\"\nstrict: true": "v\u{7}\""}})
        );
    }

    #[test]
    fn no_flags_become_no_document() {
        assert_eq!(flags_to_render(&InputArgs::default(), Map::new()), None);
    }

    /// The limit applies while reading, so that endless input is rejected.
    #[test]
    fn rejects_endless_input() {
        assert!(matches!(read_limited("zero", io::repeat(b' '), 0), Err(InputError::TooLarge { .. })));
    }
}
