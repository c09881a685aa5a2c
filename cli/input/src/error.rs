//! Reasons why the input cannot be read.

use std::io;

use super::git::GitError;

/// Size limit of a file, far above any manifest. The library has its own limits for each document.
pub(crate) const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Reasons why the input cannot be read.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant says what it is")]
pub enum InputError {
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
