//! Files of the work tree: reading them, and committed files that a task generates.

use std::fs;
use std::path::{Path, PathBuf};

use kubefoundry_yaml::append_line;

use crate::Failure;

/// Returns the folder of the workspace.
pub(crate) fn workspace() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask)
}

/// Reads a text.
pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| broken(path, error))
}

/// Writes a file and creates the folders above it.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(|error| broken(folder, error))?;
    fs::write(path, text).map_err(|error| broken(path, error))
}

/// Says that a file could not be read, written or understood.
pub(crate) fn broken(path: &Path, what: impl std::fmt::Display) -> Failure {
    Failure::Broken(format!("{}: {what}", path.display()))
}

/// Writes every stale file, and reports which were.
pub(crate) fn write_stale(generated: &[(PathBuf, String)]) -> Result<String, Failure> {
    let mut report = String::new();
    for (path, text) in stale(generated) {
        write(path, text)?;
        append_line!(report, "wrote {}", path.strip_prefix(workspace()).unwrap_or(path).display());
    }
    Ok(report)
}

/// Fails if [`write_stale`] would change a file, and names the task that does.
pub(crate) fn refuse_stale(generated: &[(PathBuf, String)], task: &str) -> Result<(), Failure> {
    let names: Vec<String> = stale(generated)
        .map(|(path, _)| path.strip_prefix(workspace()).unwrap_or(path).display().to_string())
        .collect();
    if names.is_empty() {
        return Ok(());
    }
    Err(Failure::Unmet(format!("stale, run `cargo xtask {task}`: {}", names.join(", "))))
}

fn stale(generated: &[(PathBuf, String)]) -> impl Iterator<Item = &(PathBuf, String)> {
    generated.iter().filter(|(path, text)| fs::read_to_string(path).ok().as_ref() != Some(text))
}
