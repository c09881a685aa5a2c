//! `cargo xtask generate`: the files that are generated from the code and therefore cannot contradict it.

mod codes;
mod providers;
mod reference;
mod schemas;

use std::path::{Path, PathBuf};

use crate::Failure;

/// The expected content of a generated file.
pub(crate) struct Generated {
    /// Relative to the project's root.
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// Generates files from the library alone; it never reads the files that it generated before.
type Generator = fn() -> Result<Vec<Generated>, Failure>;

/// Every generator, in the order in which they run.
const GENERATORS: &[Generator] = &[codes::generate, providers::generate, reference::generate, schemas::generate];

/// Writes every stale file and returns a report of them.
pub(crate) fn write() -> Result<String, Failure> {
    let stale = stale_files()?;
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

/// Fails with the names of all stale files.
pub(crate) fn check() -> Result<String, Failure> {
    let stale: Vec<String> = stale_files()?.iter().map(|file| file.path.display().to_string()).collect();
    if stale.is_empty() {
        return Ok(String::new());
    }
    Err(Failure::Unmet(format!("stale, run `cargo xtask generate`: {}", stale.join(", "))))
}

/// Returns the generated files whose committed text differs.
fn stale_files() -> Result<Vec<Generated>, Failure> {
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
