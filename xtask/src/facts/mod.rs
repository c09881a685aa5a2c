//! `cargo xtask facts`: writes the lines of `crates/facts/data` from the sources in `xtask/facts`, and reads sources from
//! wheels.
//!
//! A source is text that a person can read and compare: [`source`] describes it. Facts about models come from several
//! sources, which [`models`] joins; GPUs and instance types are recorded by hand, with units ([`hardware`]); the facts of
//! engines are read from wheels, and [`engines`] keeps for each fact the versions in which it holds.

mod engines;
mod hardware;
mod models;
mod source;
#[cfg(test)]
mod tests;
mod wheel;

use std::path::{Path, PathBuf};

use crate::Failure;
use crate::files::{read as read_text, refuse_stale, workspace, write_stale};
use wheel::Package;

/// The folder of the sources, relative to the workspace.
const SOURCE_FOLDER: &str = "xtask/facts";

/// The folder of the generated lines, relative to the workspace.
const DATA_FOLDER: &str = "crates/facts/data";

/// The maximum size of all generated lines together, because the program embeds them.
const MAX_DATA_BYTES: usize = 400_000;

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Write nothing, fail when a committed file is stale
    #[arg(long, conflicts_with = "wheel")]
    check: bool,
    /// Read facts of models (aiconfigurator-core) or of an engine from a wheel into the sources; needs Python 3.11
    #[arg(long, value_name = "PACKAGE", value_parser = Package::parse)]
    wheel: Option<Package>,
    /// The version that pip downloads, the newest by default
    #[arg(long, requires = "wheel")]
    version: Option<String>,
    /// The wheel; one that pip downloads by default
    #[arg(long, requires = "wheel")]
    file: Option<String>,
}

/// Runs the task with its options.
pub(crate) fn run(options: &Options) -> Result<String, Failure> {
    let Some(package) = options.wheel else {
        return if options.check { check(workspace()) } else { write(workspace()) };
    };
    let reading = package.read(options.version.as_deref(), options.file.as_deref(), workspace())?;
    let summary = reading.store(workspace())?;
    Ok(summary + &write(workspace())?)
}

/// Writes every stale file.
fn write(root: &Path) -> Result<String, Failure> {
    write_stale(&generate(root)?)
}

/// Fails if [`write`] would change a file.
fn check(root: &Path) -> Result<String, Failure> {
    let generated = generate(root)?;
    refuse_stale(&generated, "facts")?;
    let bytes: usize = generated.iter().map(|(_, text)| text.len()).sum();
    if bytes > MAX_DATA_BYTES {
        return Err(Failure::Unmet(format!("the facts take {bytes} bytes, at most {MAX_DATA_BYTES} are allowed")));
    }
    let lines: usize = generated.iter().map(|(_, text)| text.lines().count()).sum();
    Ok(format!("{lines} lines of facts are up to date, {bytes} bytes\n"))
}

/// Returns the path and the text of every generated file.
fn generate(root: &Path) -> Result<Vec<(PathBuf, String)>, Failure> {
    let sources = root.join(SOURCE_FOLDER);
    let gpus = hardware::gpus(&sources)?;
    let instance_types = hardware::instance_types(&sources, &gpus)?;
    let texts = [
        ("models.txt", source::render(&models::join(&sources)?)),
        ("gpus.txt", source::render(&gpus)),
        ("instance-types.txt", source::render(&instance_types)),
        ("engines.txt", engines::render(&sources)?),
    ];
    Ok(texts.into_iter().map(|(name, text)| (root.join(DATA_FOLDER).join(name), text)).collect())
}

fn unmet(path: &Path, error: impl std::fmt::Display) -> Failure {
    Failure::Unmet(format!("{}: {error}", path.display()))
}
