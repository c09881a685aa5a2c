//! `cargo xtask generate`: the files that are generated from the code and therefore cannot contradict it.

pub(crate) mod codes;
mod providers;
mod reference;
mod schemas;

use std::path::PathBuf;

use crate::Failure;
use crate::files::{refuse_stale, workspace, write_stale};

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

/// Writes every stale file and returns a report of them, or fails with their names.
pub(crate) fn run(check: bool) -> Result<String, Failure> {
    let mut generated = Vec::new();
    for generator in GENERATORS {
        generated.extend(generator()?.into_iter().map(|file| (workspace().join(file.path), file.text)));
    }
    if check { refuse_stale(&generated, "generate").map(|()| String::new()) } else { write_stale(&generated) }
}
