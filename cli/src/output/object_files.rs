//! The files of objects: where they are, and what is in them.

use std::io;
use std::path::{Component, Path, PathBuf};

use kubefoundry_compiler::{Compilation, Output};
use kubefoundry_kubernetes::manifest::Identity;
use kubefoundry_yaml as yaml;
use serde_json::Value;

use super::written_files::environment_of;
use crate::args::ObjectFormat;

/// Reasons why files cannot be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OutDirError {
    #[error(
        "--out-dir cannot place the environment {0}, which is outside of PATH; pass the directory that contains it"
    )]
    Environment(String),
    #[error("--out-dir writes only generated objects; remove output: append or output: replace from the options")]
    NotGenerated,
    #[error("{path}: {first} and {second} would be written to the same file")]
    Collision { path: String, first: String, second: String },
    #[error("{0}: not overwritten, because it does not contain exactly one object generated from {1}")]
    ForeignFile(String, String),
    #[error("{0}: not overwritten, because it exists with another content")]
    OtherContent(String),
    #[error("{0}: not overwritten, because it exists; nothing was written")]
    Exists(String),
    #[error("{0}: is a symbolic link; kubefoundry does not write through links")]
    Link(String),
    #[error("{0}: not a valid file name")]
    Name(String),
    #[error("{0}: {1}")]
    Write(String, io::Error),
}

pub(super) fn write_error(path: &Path, error: io::Error) -> OutDirError {
    OutDirError::Write(path.display().to_string(), error)
}

/// Returns the directory for the objects of an output's environment, which is below the output directory as the
/// environment is below the input.
pub(super) fn output_directory<O>(
    directory: &Path,
    compilation: &Compilation<O>,
    output: &Output<O>,
) -> Result<PathBuf, OutDirError> {
    let Some(environment) = environment_of(compilation, output).map(|environment| &**environment) else {
        return Ok(directory.to_owned());
    };
    // An environment above the input has a name that leads out of the directory.
    if !Path::new(environment).components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(OutDirError::Environment(environment.to_owned()));
    }
    Ok(directory.join(environment))
}

/// Returns the path of a file below the output directory: `prod/workspace_phi.yaml`.
pub(super) fn relative_path(identity: &Identity, format: ObjectFormat) -> Result<PathBuf, OutDirError> {
    file_path(identity.namespace.as_deref(), &identity.kind, &identity.name, format)
}

pub(super) fn file_path(
    namespace: Option<&str>,
    kind: &str,
    name: &str,
    format: ObjectFormat,
) -> Result<PathBuf, OutDirError> {
    let extension = match format {
        ObjectFormat::Yaml => "yaml",
        ObjectFormat::Json => "json",
    };
    let name = format!("{}_{name}.{extension}", kind.to_ascii_lowercase());
    let mut path = PathBuf::new();
    for part in namespace.into_iter().chain([name.as_str()]) {
        // Object names were validated as DNS names, but the safety of paths must not depend on that.
        let plain = part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
        if !plain || part.is_empty() || part.starts_with('.') {
            return Err(OutDirError::Name(part.to_owned()));
        }
        path.push(part);
    }
    Ok(path)
}

/// Returns the object of a text that has exactly one document.
pub(super) fn single_object(text: &str) -> Option<Value> {
    let parsed = yaml::parse(text, &yaml::Limits::default());
    match (parsed.documents.as_slice(), &parsed.failure) {
        ([document], None) => Some(document.root.to_json()),
        _ => None,
    }
}

/// Returns the value of an annotation.
pub(super) fn annotation<'v>(object: &'v Value, key: &str) -> Option<&'v str> {
    object.pointer("/metadata/annotations")?.get(key)?.as_str()
}
