//! Reads the texts that the library needs from paths and flags, for the command line and its language server.
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

mod args;
mod assembly;
pub mod confinement;
mod environments;
mod error;
mod files;
mod flags;
mod found_options;
mod git;
mod kustomize;
mod listing;
mod model_config;
mod paths;
mod program;
mod reader;
mod revision;
mod templates;
pub mod temporary;
mod walk;
pub mod workspace;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use kubefoundry_diagnostics::Severity;
use kubefoundry_diagnostics::source::{Purpose, SourceId, SourceSet};
use serde_json::{Map, Value};

use environments::{Environments, OptionFiles};
use files::{Files, read_limited};
use flags::flags_to_render;
use found_options::OptionsFinder;
use listing::{ListedRoot, Listing, NamedOptions};
use paths::{is_kustomization, is_manifest};
use reader::Reader;

pub use args::{Assignment, BuildArgs, InputArgs, parse_assignment};
pub use error::InputError;
pub use flags::{COMMAND_LINE, name_flags};
pub use git::{GitError, checked_out_commit};
pub use kustomize::{KnownBuilds, Origins};
pub use reader::{Input, Pipes};
pub use revision::{Sides, Tree};

/// The name of the options from Argo CD parameters in findings.
const PARAMETERS: &str = "<parameters>";

/// Reads everything that the arguments name. `options` are set by the command itself.
///
/// A path in the arguments that cannot be read is an error. An unreadable file in a directory is only recorded in
/// [`Input::unread`], so that one dangling link does not hide the findings in all other files.
pub fn read(args: &InputArgs, options: Map<String, Value>) -> Result<Input, InputError> {
    let mut reader = Reader { files: Files::on_disk(&args.paths), ..Reader::default() };
    reader.read_all(args, &args.paths, options)?;
    Ok(reader.input)
}

/// Like [`read`], for a command that judges. With the sides of a change, the new one is read, and what decides about
/// findings comes from the old one.
pub fn read_judging(args: &InputArgs, options: Map<String, Value>, sides: Option<&Sides>) -> Result<Input, InputError> {
    let new = sides.and_then(|sides| sides.new.clone());
    let paths = sides.map_or(&args.paths, |sides| &sides.new_paths);
    let files = new.map_or_else(|| Files::on_disk(paths), Files::Revision);
    let base = sides.map(|sides| Rc::clone(&sides.old));
    let mut reader = Reader { files, config_base: base.clone(), base, notes_config: true, ..Reader::default() };
    reader.read_all(args, paths, options)?;
    Ok(reader.input)
}

/// Like [`read`], but kustomizations whose files are as they were before are not built again.
pub fn read_rebuilding(
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
pub fn read_with_snapshot(args: &InputArgs, options: Map<String, Value>) -> Result<Input, InputError> {
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
pub fn read_snapshots(paths: &[PathBuf]) -> Result<Input, InputError> {
    let mut reader = Reader::default();
    if paths.is_empty() {
        reader.read_stdin_unless_terminal(Purpose::ClusterSnapshot)?;
    }
    for path in paths {
        reader.read_path_or_stdin(Purpose::ClusterSnapshot, path)?;
    }
    Ok(reader.input)
}

/// Like [`read`], but reads the input paths from a revision if there is one. Providers and CRDs are always read from the
/// file system. Options of `--config` are those of `base` if it has the file.
pub fn read_at(
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

/// Reads the options that apply to a path, and nothing else. With `is_isolated`, none are looked for.
pub fn read_options(path: Option<&Path>, config: Option<&Path>, is_isolated: bool) -> Result<Input, InputError> {
    let path = path.unwrap_or(Path::new("."));
    let metadata = path.metadata().map_err(|error| InputError::Read(path.display().to_string(), error))?;
    let directory = if metadata.is_dir() { path } else { path.parent().unwrap_or(Path::new("")) };
    let mut reader = Reader::default();
    for file in &OptionsFinder::new(is_isolated, None).find(directory, &Files::default())?.files {
        let id = reader.read_file(Purpose::Options, file)?;
        reader.input.sources.set_found(id, true);
    }
    if let Some(file) = config {
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
pub fn read_application(
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
pub fn read_again(sources: &mut SourceSet, text: SourceId, path: &Path) -> bool {
    let source = sources.get(text);
    if source.purpose != Purpose::Input || source.encoding_error.is_some() || is_kustomization(path) {
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
pub fn affects_directory(path: &Path) -> bool {
    is_manifest(path) || path.file_name().is_some_and(|name| name == ".gitignore")
}

/// Returns the directories whose options files apply to a path: from the root of the repository down.
pub fn option_directories(path: &Path) -> Vec<PathBuf> {
    let directory = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new("")) };
    Files::on_disk(&[path.to_owned()]).directories_to(directory)
}
