//! `kustomize build`, for applications that are overlays.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// The files by which kustomize knows a directory as one of its own.
const FILES: &[&str] = &["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// Why there is nothing to render.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KustomizeError {
    #[error("parameter kustomize is true, and the directory has no kustomization.yaml")]
    NotThere,
    #[error("kustomize cannot be run: {0}; the plugin's image needs it on its PATH")]
    NotRun(io::Error),
    #[error("kustomize build failed: {0}")]
    Failed(String),
    #[error("kustomize build printed text that is not UTF-8")]
    NotUtf8,
}

/// Whether the directory is one of kustomize's.
pub(super) fn is_there() -> bool {
    FILES.iter().any(|file| Path::new(file).is_file())
}

/// What `kustomize build .` prints. No shell, no plugins, and nothing is loaded from outside the directory.
pub(super) fn build() -> Result<String, KustomizeError> {
    if !is_there() {
        return Err(KustomizeError::NotThere);
    }
    let output = Command::new("kustomize").args(["build", "."]).stdin(Stdio::null()).output();
    let output = output.map_err(KustomizeError::NotRun)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(KustomizeError::Failed(said.split_whitespace().collect::<Vec<_>>().join(" ")));
    }
    String::from_utf8(output.stdout).map_err(|_| KustomizeError::NotUtf8)
}
