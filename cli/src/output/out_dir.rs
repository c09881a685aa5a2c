//! Objects to files: `NAMESPACE/KIND_NAME.yaml`.
//!
//! Everything is checked, then everything is written beside its place, then everything is renamed to it: an error on
//! the way leaves the directory as it was.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use kubefoundry_compiler::composition;
use kubefoundry_compiler::pipeline::OutputRole;
use kubefoundry_compiler::{Compilation, Output};
use kubefoundry_kubernetes::api_group::API_GROUPS;
use kubefoundry_kubernetes::manifest::Identity;
use kubefoundry_yaml as yaml;
use serde_json::Value;

use super::beside::beside;
use super::object_text;
use crate::args::ObjectFormat;

/// Why files could not be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OutDirError {
    #[error("--out-dir writes generated objects only, and the options say output: append or replace")]
    NotGenerated,
    #[error("{path}: two objects would be written to it: {first} and {second}")]
    Collision { path: String, first: String, second: String },
    #[error("{0}: not overwritten, since it is not one object generated from {1}")]
    NotOurs(String, String),
    #[error("{0}: not written through, since it is a symbolic link")]
    Link(String),
    #[error("{0}: not a file name")]
    Name(String),
    #[error("{0}: {1}")]
    Write(String, io::Error),
}

/// A file to write.
struct Target {
    path: PathBuf,
    text: String,
    /// Of the file that it replaces.
    permissions: Option<Permissions>,
}

/// Writes every object to its file below `directory`.
pub(crate) fn write_files(
    directory: &Path,
    compilation: &Compilation,
    format: ObjectFormat,
) -> Result<(), OutDirError> {
    let targets = plan(directory, compilation, format)?;
    let mut made = MadeDirectories(Vec::new());
    made.create(directory)?;
    let mut written = Vec::with_capacity(targets.len());
    for target in &targets {
        let folder = target.path.parent().unwrap_or(directory);
        made.create(folder)?;
        written.push((
            beside(folder, &target.text, target.permissions.as_ref()).map_err(|error| failed(&target.path, error))?,
            &target.path,
        ));
    }
    for (file, path) in written {
        file.persist(path).map_err(|error| failed(path, error.error))?;
    }
    Ok(())
}

/// Where everything goes, without what is there already, byte for byte.
fn plan(directory: &Path, compilation: &Compilation, format: ObjectFormat) -> Result<Vec<Target>, OutDirError> {
    let mut taken: BTreeMap<PathBuf, &Identity> = BTreeMap::new();
    let mut targets = Vec::new();
    for output in &compilation.outputs {
        let path = directory.join(relative_path(&output.identity, format)?);
        if let Some(first) = taken.insert(path.clone(), &output.identity) {
            let (first, second) = (describe(first), describe(&output.identity));
            return Err(OutDirError::Collision { path: path.display().to_string(), first, second });
        }
        let text = object_text(&output.object, format);
        let existing = existing(directory, &path)?;
        match existing {
            Some((old, _)) if old == text.as_bytes() => {}
            Some((old, permissions)) => {
                let deployment = compilation.decisions.get(output.decision).map(|decision| &decision.object);
                if !is_ours(&old, output) {
                    let deployment = deployment.map(ToString::to_string).unwrap_or_default();
                    return Err(OutDirError::NotOurs(path.display().to_string(), deployment));
                }
                targets.push(Target { path, text, permissions: Some(permissions) });
            }
            None => targets.push(Target { path, text, permissions: None }),
        }
    }
    Ok(targets)
}

/// `prod/workspace_phi.yaml`.
fn relative_path(identity: &Identity, format: ObjectFormat) -> Result<PathBuf, OutDirError> {
    let extension = match format {
        ObjectFormat::Yaml => "yaml",
        ObjectFormat::Json => "json",
    };
    let name = format!("{}_{}.{extension}", identity.kind.to_ascii_lowercase(), identity.name);
    let mut path = PathBuf::new();
    for part in identity.namespace.as_deref().into_iter().chain([name.as_str()]) {
        // Names were validated as DNS names. This is about files, and does not rely on it.
        let plain = part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
        if !plain || part.is_empty() || part.starts_with('.') {
            return Err(OutDirError::Name(part.to_owned()));
        }
        path.push(part);
    }
    Ok(path)
}

/// What is at a path, when there is anything. Links below the directory are not followed: they may lead out of it.
fn existing(directory: &Path, path: &Path) -> Result<Option<(Vec<u8>, Permissions)>, OutDirError> {
    let folder = path.parent().filter(|folder| *folder != directory);
    for place in folder.into_iter().chain([path]) {
        match fs::symlink_metadata(place) {
            Ok(metadata) if metadata.is_symlink() => return Err(OutDirError::Link(place.display().to_string())),
            Ok(metadata) if place == path => {
                let text = fs::read(path).map_err(|error| failed(path, error))?;
                return Ok(Some((text, metadata.permissions())));
            }
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(place, error)),
        }
    }
    Ok(None)
}

/// Whether a file holds exactly one object, and that was made from the same ModelDeployment.
fn is_ours(text: &[u8], output: &Output) -> bool {
    let Ok(text) = std::str::from_utf8(text) else { return false };
    let parsed = yaml::parse(text, &yaml::Limits::default());
    let ([document], None) = (parsed.documents.as_slice(), &parsed.failure) else { return false };
    let old = document.root.to_json();
    let header = |object: &Value| {
        ["/apiVersion", "/kind", "/metadata/namespace", "/metadata/name"].map(|field| object.pointer(field).cloned())
    };
    let is_same = || header(&old) == header(&output.object);
    match output.role {
        // A ModelDeployment that is passed on carries its provider, and is itself what it was made from.
        OutputRole::PassedOn => is_same() && API_GROUPS.iter().any(|it| mark(&old, &it.label("provider")).is_some()),
        // What was changed says by what.
        OutputRole::Changed => is_same() && composition::change_annotations().any(|key| mark(&old, key).is_some()),
        OutputRole::Generated | OutputRole::Shared => {
            let mut keys = composition::owner_annotations();
            keys.any(|key| mark(&old, &key).is_some_and(|owner| mark(&output.object, &key) == Some(owner)))
        }
    }
}

/// An annotation.
fn mark<'v>(object: &'v Value, key: &str) -> Option<&'v str> {
    object.pointer("/metadata/annotations")?.get(key)?.as_str()
}

/// Directories that were made on the way, innermost last. In the end those that are empty go again.
struct MadeDirectories(Vec<PathBuf>);

impl MadeDirectories {
    fn create(&mut self, directory: &Path) -> Result<(), OutDirError> {
        let missing: Vec<&Path> = directory
            .ancestors()
            .take_while(|ancestor| !ancestor.as_os_str().is_empty() && fs::symlink_metadata(ancestor).is_err())
            .collect();
        for ancestor in missing.into_iter().rev() {
            fs::create_dir(ancestor).map_err(|error| failed(ancestor, error))?;
            self.0.push(ancestor.to_owned());
        }
        Ok(())
    }
}

impl Drop for MadeDirectories {
    fn drop(&mut self) {
        for directory in self.0.iter().rev() {
            // Fails for one that is not empty.
            let _ = fs::remove_dir(directory);
        }
    }
}

fn describe(identity: &Identity) -> String {
    let Identity { group, kind, name, .. } = identity;
    if group.is_empty() { format!("{kind} {name}") } else { format!("{kind}.{group} {name}") }
}

fn failed(path: &Path, error: io::Error) -> OutDirError {
    OutDirError::Write(path.display().to_string(), error)
}
