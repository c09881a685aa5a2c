//! `cargo xtask generate`: files that are written from the code, so that they cannot say something else than it does.

mod codes;
mod providers;
mod reference;
mod schemas;

use std::path::{Path, PathBuf};

use crate::Failure;

/// A file and what is to stand in it.
pub(crate) struct Generated {
    /// Relative to the project's root.
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// What writes files: each looks only at the library, never at what it wrote before.
type Generator = fn() -> Result<Vec<Generated>, Failure>;

/// Every generator, in the order in which they run.
const GENERATORS: &[Generator] = &[codes::generate, providers::generate, reference::generate, schemas::generate];

/// Writes every file that is not as it should be.
pub(crate) fn write() -> Result<String, Failure> {
    let stale = stale()?;
    for file in &stale {
        let path = root().join(&file.path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|error| broken(folder, &error))?;
        }
        std::fs::write(&path, &file.text).map_err(|error| broken(&path, &error))?;
    }
    let report: Vec<String> = stale.iter().map(|file| format!("wrote {}\n", file.path.display())).collect();
    Ok(report.concat())
}

/// Names every file that is not as it should be.
pub(crate) fn check() -> Result<String, Failure> {
    let stale: Vec<String> = stale()?.iter().map(|file| file.path.display().to_string()).collect();
    if stale.is_empty() {
        return Ok(String::new());
    }
    Err(Failure::Unmet(format!("stale, run `cargo xtask generate`: {}", stale.join(", "))))
}

fn stale() -> Result<Vec<Generated>, Failure> {
    let mut stale = Vec::new();
    for generator in GENERATORS {
        for file in generator()? {
            if std::fs::read_to_string(root().join(&file.path)).ok().as_deref() != Some(&file.text) {
                stale.push(file);
            }
        }
    }
    Ok(stale)
}

fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_owned()
}

fn broken(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Broken(format!("{}: {error}", path.display()))
}
