//! Runs `kustomize build` for applications that are overlays.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::input::workspace;

/// Reasons why `kustomize build` yields no input.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KustomizeError {
    #[error("parameter kustomize is true, but the directory has no kustomization.yaml")]
    NoKustomization,
    #[error("cannot run kustomize: {0}; add kustomize to the PATH of the plugin's image")]
    CannotRun(io::Error),
    #[error("kustomize build failed: {0}")]
    Failed(String),
    #[error("kustomize build printed text that is not UTF-8")]
    NotUtf8,
}

/// Whether the working directory has a kustomization.
pub(super) fn has_kustomization() -> bool {
    workspace::kustomizations_of(Path::new("")).any(|file| file.is_file())
}

/// Runs `kustomize build .` and returns its output.
///
/// It runs without a shell and with the defaults of kustomize: no plugins, and no files from outside the directory.
pub(super) fn build() -> Result<String, KustomizeError> {
    if !has_kustomization() {
        return Err(KustomizeError::NoKustomization);
    }
    let output = Command::new("kustomize").args(["build", "."]).stdin(Stdio::null()).output();
    let output = output.map_err(KustomizeError::CannotRun)?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        return Err(KustomizeError::Failed(message.split_whitespace().collect::<Vec<_>>().join(" ")));
    }
    String::from_utf8(output.stdout).map_err(|_| KustomizeError::NotUtf8)
}
