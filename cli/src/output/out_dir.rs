//! Writes objects to files: `NAMESPACE/KIND_NAME.yaml`.
//!
//! All checks come first. Then all texts are written to temporary files, and at last these are renamed and stale files are
//! removed, so that an error before the renaming leaves the directory unchanged.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kubefoundry_compiler::pipeline::OutputRole;
use kubefoundry_compiler::{Compilation, Output};
use kubefoundry_composition::BUILTIN;
use kubefoundry_kubernetes::api_group::API_GROUPS;
use kubefoundry_kubernetes::manifest::Identity;
use serde_json::Value;

use super::file_change::{DirectoryChanges, FileChange};
use super::file_replacement::{FileReplacement, check_target};
use super::object_files::{
    OutDirError, annotation, file_path, output_directory, relative_path, single_object, write_error,
};
use super::output_object::{OutputObject, object_text};
use super::stale_files;
use super::written_files::{WrittenFiles, environment_of};
use crate::args::ObjectFormat;

/// Compares the files below `directory` with the objects that [`write_changes`] writes to them. With `prune`, files of
/// objects that are no longer generated are to be removed.
///
/// # Errors
/// If two objects have the same path, if an existing file was not generated from the same object, or if a file cannot be
/// read.
pub(crate) fn plan_changes<O: OutputObject + PartialEq>(
    directory: &Path,
    compilation: &Compilation<O>,
    format: ObjectFormat,
    prune: bool,
) -> Result<DirectoryChanges, OutDirError> {
    plan_changed_files(directory, compilation, format, prune, &WrittenFiles::default()).map(|(changes, _)| changes)
}

/// Like [`plan_changes`], but the files of objects that this program wrote `before`, and that are still the same, are not
/// read. Also returns the path of each output.
///
/// # Errors
/// Those of [`plan_changes`].
pub(crate) fn plan_changed_files<O: OutputObject + PartialEq>(
    directory: &Path,
    compilation: &Compilation<O>,
    format: ObjectFormat,
    prune: bool,
    before: &WrittenFiles<O>,
) -> Result<(DirectoryChanges, Vec<Arc<Path>>), OutDirError> {
    let paths = place_outputs(directory, compilation, format, before)?;
    let mut changes = plan_files(directory, compilation, format, &paths, before)?;
    if prune {
        stale_files::add_stale_files(directory, compilation, &mut changes)?;
    }
    Ok((changes, paths))
}

/// Writes the files that are created or changed, and removes the stale ones.
///
/// # Errors
/// The first file that cannot be written or removed.
pub(crate) fn write_changes(directory: &Path, changes: &DirectoryChanges) -> Result<(), OutDirError> {
    let mut created = CreatedDirectories(Vec::new());
    created.create(directory)?;
    let mut replacement = FileReplacement::default();
    for change in &changes.files {
        let FileChange { path, after, .. } = change;
        let staged = match after {
            Some(text) => {
                created.create(path.parent().unwrap_or(directory))?;
                replacement.stage(path, text, None)
            }
            None => replacement.stage_removal(path),
        };
        staged.map_err(|error| write_error(path, error))?;
    }
    replacement.commit().map_err(|(path, error)| write_error(&path, error))?;
    // A folder in which nothing is left is removed, too.
    for folder in changes.removed().filter_map(Path::parent).filter(|folder| *folder != directory) {
        let _ = fs::remove_dir(folder);
    }
    Ok(())
}

/// Writes every imported ModelDeployment to its file below `directory`. A file that a user has changed must not be lost, so
/// an existing file with another content is not overwritten.
pub(crate) fn write_imports<'d>(
    directory: &Path,
    deployments: impl IntoIterator<Item = &'d Value>,
    format: ObjectFormat,
) -> Result<(), OutDirError> {
    let mut changes = DirectoryChanges::default();
    for deployment in deployments {
        let field = |pointer: &str| deployment.pointer(pointer).and_then(Value::as_str);
        let (kind, name) = (field("/kind").unwrap_or_default(), field("/metadata/name").unwrap_or_default());
        let path = directory.join(file_path(field("/metadata/namespace"), kind, name, format)?);
        let text = object_text(deployment, format);
        match read_existing(directory, &path)? {
            Some(old) if old == text.as_bytes() => {}
            Some(_) => return Err(OutDirError::OtherContent(path.display().to_string())),
            None => changes.files.push(FileChange { path, before: None, after: Some(text) }),
        }
    }
    write_changes(directory, &changes)
}

/// Writes new files below `directory`. If one of them exists, nothing is written.
pub(crate) fn write_new_files(directory: &Path, files: &[(PathBuf, String)]) -> Result<(), OutDirError> {
    let mut changes = DirectoryChanges::default();
    for (relative, text) in files {
        let path = directory.join(relative);
        refuse_links(directory, &path)?;
        if fs::symlink_metadata(&path).is_ok() {
            return Err(OutDirError::Exists(path.display().to_string()));
        }
        changes.files.push(FileChange { path, before: None, after: Some(text.clone()) });
    }
    write_changes(directory, &changes)
}

/// Refuses folders between `directory` and `path` that are links, because they may lead out of the directory.
fn refuse_links(directory: &Path, path: &Path) -> Result<(), OutDirError> {
    let is_below = |folder: &&Path| folder.starts_with(directory) && *folder != directory;
    for folder in path.ancestors().skip(1).take_while(is_below) {
        if fs::symlink_metadata(folder).is_ok_and(|metadata| metadata.is_symlink()) {
            return Err(OutDirError::Link(folder.display().to_string()));
        }
    }
    Ok(())
}

/// Computes the path of each output.
fn place_outputs<O>(
    directory: &Path,
    compilation: &Compilation<O>,
    format: ObjectFormat,
    before: &WrittenFiles<O>,
) -> Result<Vec<Arc<Path>>, OutDirError> {
    let outputs = &compilation.outputs;
    let mut paths: Vec<Arc<Path>> = Vec::with_capacity(outputs.len());
    let mut are_as_before = true;
    for (position, output) in outputs.iter().enumerate() {
        let known = before.path_of(position, output, environment_of(compilation, output));
        are_as_before &= known.is_some();
        paths.push(match known {
            Some(path) => Arc::clone(path),
            None => {
                output_directory(directory, compilation, output)?.join(relative_path(&output.identity, format)?).into()
            }
        });
    }
    if are_as_before {
        // Paths were checked for collisions when they were first written.
        return Ok(paths);
    }
    let mut owners: BTreeMap<&Path, &Identity> = BTreeMap::new();
    for (path, output) in paths.iter().zip(outputs) {
        if let Some(first) = owners.insert(path, &output.identity) {
            let (first, second) = (describe(first), describe(&output.identity));
            return Err(OutDirError::Collision { path: path.display().to_string(), first, second });
        }
    }
    Ok(paths)
}

/// Computes the content of each file, in output order. `paths` are those of the outputs.
fn plan_files<O: OutputObject + PartialEq>(
    directory: &Path,
    compilation: &Compilation<O>,
    format: ObjectFormat,
    paths: &[Arc<Path>],
    before: &WrittenFiles<O>,
) -> Result<DirectoryChanges, OutDirError> {
    let mut changes = DirectoryChanges::default();
    for (position, (output, path)) in compilation.outputs.iter().zip(paths).enumerate() {
        if before.has_content(position, output, path) {
            changes.unchanged.push(Arc::clone(path));
            continue;
        }
        let text = output.object.file_text(format);
        let before = match read_existing(directory, path)? {
            Some(old) if old == text.as_bytes() => {
                changes.unchanged.push(Arc::clone(path));
                continue;
            }
            Some(old) => {
                let old = String::from_utf8(old).ok().filter(|old| was_generated_for_same_owner(old, output));
                if old.is_none() {
                    let deployment = compilation.decisions.get(output.decision).map(|decision| &decision.object);
                    let deployment = deployment.map(ToString::to_string).unwrap_or_default();
                    return Err(OutDirError::ForeignFile(path.display().to_string(), deployment));
                }
                old
            }
            None => None,
        };
        changes.files.push(FileChange { path: path.to_path_buf(), before, after: Some(text.into_owned()) });
    }
    Ok(changes)
}

/// Reads the existing file at a path, if any. Links below the directory are rejected, because they may lead out of it.
fn read_existing(directory: &Path, path: &Path) -> Result<Option<Vec<u8>>, OutDirError> {
    let folder = path.parent().filter(|folder| *folder != directory);
    for step in folder.into_iter().chain([path]) {
        match fs::symlink_metadata(step) {
            Ok(metadata) if metadata.is_symlink() => return Err(OutDirError::Link(step.display().to_string())),
            Ok(_) if step == path => {
                // Reading a pipe would wait for ever.
                check_target(path).map_err(|error| write_error(path, error))?;
                return fs::read(path).map(Some).map_err(|error| write_error(path, error));
            }
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(write_error(step, error)),
        }
    }
    Ok(None)
}

/// Whether a file contains exactly one object that was generated from the same ModelDeployment as `output`.
fn was_generated_for_same_owner<O: OutputObject>(text: &str, output: &Output<O>) -> bool {
    let Some(old) = single_object(text) else { return false };
    let new = output.object.value();
    let header = |object: &Value| {
        ["/apiVersion", "/kind", "/metadata/namespace", "/metadata/name"].map(|field| object.pointer(field).cloned())
    };
    let is_same = || header(&old) == header(&new);
    match output.role {
        // A ModelDeployment that is passed on has the provider annotation, and is its own owner.
        OutputRole::PassedOn => {
            is_same() && API_GROUPS.iter().any(|it| annotation(&old, &it.label("provider")).is_some())
        }
        // A changed object has an annotation that names its owner.
        OutputRole::Changed => is_same() && BUILTIN.change_annotations().any(|key| annotation(&old, key).is_some()),
        OutputRole::Generated | OutputRole::Shared => {
            let mut keys = BUILTIN.owner_annotations();
            keys.any(|key| annotation(&old, &key).is_some_and(|owner| annotation(&new, &key) == Some(owner)))
        }
    }
}

/// The directories created by this run, innermost last. On drop, those that are still empty are removed.
struct CreatedDirectories(Vec<PathBuf>);

impl CreatedDirectories {
    fn create(&mut self, directory: &Path) -> Result<(), OutDirError> {
        let missing: Vec<&Path> = directory
            .ancestors()
            .take_while(|ancestor| !ancestor.as_os_str().is_empty() && fs::symlink_metadata(ancestor).is_err())
            .collect();
        for ancestor in missing.into_iter().rev() {
            fs::create_dir(ancestor).map_err(|error| write_error(ancestor, error))?;
            self.0.push(ancestor.to_owned());
        }
        Ok(())
    }
}

impl Drop for CreatedDirectories {
    fn drop(&mut self) {
        for directory in self.0.iter().rev() {
            // Fails if the directory is not empty, which is intended.
            let _ = fs::remove_dir(directory);
        }
    }
}

fn describe(identity: &Identity) -> String {
    let Identity { group, kind, name, .. } = identity;
    if group.is_empty() { format!("{kind} {name}") } else { format!("{kind}.{group} {name}") }
}
