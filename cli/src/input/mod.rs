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

mod assembly;
mod environments;
mod files;
mod found_options;
pub(crate) mod git;
mod kustomize;
mod listing;
mod model_config;
mod program;
mod reader;
mod templates;
mod walk;
pub(crate) mod workspace;

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use kubefoundry_diagnostics::source::SourceId;
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, Severity};
use kubefoundry_yaml::field_path::Segment;
use serde_json::{Map, Value, json};

use crate::args::{Assignment, ConfigArgs, InputArgs};
use environments::{Environments, OptionFiles};
use files::Files;
use found_options::OptionsFinder;
use git::{GitError, Sides, Tree};
use listing::{ListedRoot, Listing, NamedOptions};
use reader::{Reader, read_limited};

pub(crate) use kustomize::{KnownBuilds, Origins};

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
    #[error("{0}: the link leads nowhere")]
    DanglingLink(String),
    #[error("{0}: the link leads out of the repository")]
    LinkOutside(String),
    #[error("{0}: {1}")]
    Pattern(String, ignore::Error),
    #[error("{0}: not judged, because {1}")]
    Unjudged(String, String),
    #[error("parameter kustomize is true, but the directory has no kustomization.yaml")]
    NoKustomization,
    #[error(
        "{origin}: {limit}, so nothing in the directories to which its patterns apply, or after them, is read or judged"
    )]
    TooManyPatterns { origin: String, limit: String },
    #[error("no temporary directory for kustomize: {0}")]
    Temporary(io::Error),
    #[error("{0}: not read, because it is outside of the application's directory")]
    Outside(String),
    #[error("{0}: not read, because it is outside of {1}")]
    OutsideOf(String, String),
    #[error("{0}: is not a regular file, so it is not read")]
    NotRegular(String),
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
    let mut reader = Reader { files: Files::on_disk(&args.paths), ..Reader::default() };
    reader.read_all(args, &args.paths, options)?;
    Ok(reader.input)
}

/// Like [`read`], for a command that judges. With the sides of a change, the new one is read, and what decides about
/// findings comes from the old one.
pub(crate) fn read_judging(
    args: &InputArgs,
    options: Map<String, Value>,
    sides: Option<&Sides>,
) -> Result<Input, InputError> {
    let new = sides.and_then(|sides| sides.new.clone());
    let paths = sides.map_or(&args.paths, |sides| &sides.new_paths);
    let files = new.map_or_else(|| Files::on_disk(paths), Files::Revision);
    let base = sides.map(|sides| Rc::clone(&sides.old));
    let mut reader = Reader { files, config_base: base.clone(), base, notes_config: true, ..Reader::default() };
    reader.read_all(args, paths, options)?;
    Ok(reader.input)
}

/// Like [`read`], but kustomizations whose files are as they were before are not built again.
pub(crate) fn read_rebuilding(
    args: &InputArgs,
    options: Map<String, Value>,
    builds: &mut KnownBuilds,
) -> Result<Input, InputError> {
    let mut reader =
        Reader { files: Files::on_disk(&args.paths), builds: Some(std::mem::take(builds)), ..Reader::default() };
    reader.read_all(args, &args.paths, options)?;
    *builds = reader.builds.unwrap_or_default();
    Ok(reader.input)
}

/// Like [`read`], with the last path as a cluster snapshot instead of input.
pub(crate) fn read_with_snapshot(args: &InputArgs, options: Map<String, Value>) -> Result<Input, InputError> {
    let (snapshot, paths) =
        args.paths.split_last().map_or((None, &[][..]), |(snapshot, paths)| (Some(snapshot), paths));
    let mut reader = Reader { files: Files::on_disk(paths), ..Reader::default() };
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

/// Like [`read`], but reads the input paths from a revision if there is one. Providers and CRDs are always read from the
/// file system. Options of `--config` are those of `base` if it has the file.
pub(crate) fn read_at(
    args: &InputArgs,
    options: Map<String, Value>,
    tree: Option<Rc<Tree>>,
    config_base: Option<Rc<Tree>>,
    pipes: &mut Pipes,
) -> Result<Input, InputError> {
    let files = tree.map_or_else(|| Files::on_disk(&args.paths), Files::Revision);
    let mut reader = Reader { files, config_base, pipes: Some(std::mem::take(pipes)), ..Reader::default() };
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
    for file in &OptionsFinder::new(args.isolated, None).find(directory, &Files::default())?.files {
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

/// Reads the directory of an Argo CD application, which is the working directory: its options, up to the root of the
/// repository, and then either what its kustomization builds, if `builds` says so, or the files that `render` would read
/// without building kustomizations. Files outside of the directory are rejected, even if a link leads to them; a
/// kustomization may include others of the repository.
///
/// # Errors
/// [`InputError::NoKustomization`] if there is nothing to build.
pub(crate) fn read_application(
    repository: Option<&Path>,
    config: Option<&Path>,
    options: Map<String, Value>,
    builds: bool,
) -> Result<Input, InputError> {
    let directory = Path::new(".");
    let root = directory.canonicalize().map_err(|error| InputError::Read(directory.display().to_string(), error))?;
    if let Some(config) = config
        && config.canonicalize().is_ok_and(|file| !file.starts_with(&root))
    {
        return Err(InputError::Outside(config.display().to_string()));
    }
    let mut reader = Reader { files: Files::on_disk(repository.map(Path::to_owned).as_slice()), ..Reader::default() };
    let named = NamedOptions::of_application(config)?;
    let mut finder = OptionsFinder::default();
    let listing =
        if builds { None } else { Some(Listing::of(&[directory.to_owned()], &reader.files, &mut finder, &named)?) };
    let found: Vec<PathBuf> = match &listing {
        Some(listing) => listing.option_files().collect::<OptionFiles>().into_iter().collect(),
        None => finder.find(directory, &reader.files)?.files.clone(),
    };
    let mut environments = Environments::default();
    // All are files of the application's repository.
    for file in found {
        let options = reader.read_file(Purpose::Options, &file)?;
        reader.input.sources.set_found(options, true);
        environments.options.insert(file, options);
    }
    if builds {
        let folder = Path::new("");
        let boundary = listing::boundary_of(folder, &reader.files);
        let built = kustomize::build_directory(folder, &reader.files, boundary)?.ok_or(InputError::NoKustomization)?;
        for (file, text) in built.function_options() {
            let id = reader.input.sources.add_for(Purpose::Options, file.display().to_string(), text);
            reader.input.sources.set_found(id, true);
        }
        let options = finder.find(folder, &reader.files)?;
        reader.read_root(ListedRoot { root: built, options, environment: String::new() }, &mut environments)?;
        // What is not built is not deployed, and there is no flag to allow it.
        for (_, finding) in &mut reader.input.findings {
            finding.severity = Severity::Error;
        }
    }
    reader.root = Some(root);
    if let Some(file) = config {
        let options = reader.read_regular_file(Purpose::Options, file)?;
        reader.input.sources.set_found(options, true);
        environments.options.retain(|_, found| *found != options);
    }
    if let Some(render) = flags_to_render(&InputArgs::default(), options) {
        reader.input.sources.add_for(Purpose::Options, PARAMETERS, render);
    }
    reader.read_named_model_configs()?;
    if let Some(listing) = listing {
        reader.read_listing(listing, Vec::new(), &named, &mut environments)?;
        environments.apply(&mut reader.input.sources, &reader.model_configs);
    }
    Ok(reader.input)
}

/// Reads a file of the input again. Returns whether the input is then as [`read`] would return it; if not, everything
/// must be read again.
///
/// Only a file that is input itself is read alone: kustomizations, what they build from, options and templates decide how
/// other files are read.
pub(crate) fn read_again(sources: &mut SourceSet, text: SourceId, path: &Path) -> bool {
    let source = sources.get(text);
    if source.purpose != Purpose::Input || source.encoding_error.is_some() || workspace::is_kustomization(path) {
        return false;
    }
    let read = File::open(path).map_err(|error| InputError::Read(source.name.clone(), error));
    let bytes = read.and_then(|file| read_limited(&source.name, file, 0));
    match bytes.map(String::from_utf8) {
        Ok(Ok(new)) if !templates::has_mark(&source.text) && !templates::has_mark(&new) => {
            sources.set_text(text, new);
            true
        }
        // An error is reported when everything is read.
        _ => false,
    }
}

/// Returns whether a directory that contains this file is read differently than without it.
pub(crate) fn affects_directory(path: &Path) -> bool {
    walk::is_manifest(path) || path.file_name().is_some_and(|name| name == ".gitignore")
}

/// Returns the directories whose options files apply to a path: from the root of the repository down.
pub(crate) fn option_directories(path: &Path) -> Vec<PathBuf> {
    let directory = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new("")) };
    Files::on_disk(&[path.to_owned()]).directories_to(directory)
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
        #[expect(clippy::disallowed_methods, reason = "this program wrote the text; without it, the flag has no value")]
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
}
