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

use std::fs;
use std::path::{Path, PathBuf};

use crate::Failure;
use crate::generated_files::{refuse_stale_files, write_stale_files};
use wheel::Package;

/// The folder of the sources, relative to the workspace.
const SOURCE_FOLDER: &str = "xtask/facts";

/// The folder of the generated lines, relative to the workspace.
const DATA_FOLDER: &str = "crates/facts/data";

/// The maximum size of all generated lines together, because the program embeds them.
const MAX_DATA_BYTES: usize = 400_000;

/// Runs the task with its options.
pub(crate) fn run(options: &[&str]) -> Result<String, Failure> {
    match options {
        [] => write(workspace()),
        ["--check"] => check(workspace()),
        _ => {
            let Request { package, version, file } = Request::parse(options).map_err(Failure::Broken)?;
            let reading = package.read(version, file, workspace())?;
            let summary = reading.store(workspace())?;
            Ok(summary + &write(workspace())?)
        }
    }
}

/// A request to read one wheel.
struct Request<'a> {
    package: Package,
    /// The version to download; without one, the newest.
    version: Option<&'a str>,
    /// A local wheel; without one, pip downloads it.
    file: Option<&'a str>,
}

impl<'a> Request<'a> {
    fn parse(options: &[&'a str]) -> Result<Self, String> {
        let (mut package, mut version, mut file) = (None, None, None);
        let mut options = options.iter();
        while let Some(&option) = options.next() {
            let value = match option {
                "--wheel" => &mut package,
                "--version" => &mut version,
                "--file" => &mut file,
                _ => return Err(format!("facts: unknown option `{option}`")),
            };
            *value = Some(*options.next().ok_or_else(|| format!("facts: `{option}` needs a value"))?);
        }
        let name = package.ok_or("facts: --version and --file belong to --wheel")?;
        let known = Package::ALL.iter().find(|package| package.name() == name);
        let package = *known.ok_or_else(|| {
            let names: Vec<_> = Package::ALL.iter().map(|package| package.name()).collect();
            format!("facts: unknown package `{name}`, expected one of {}", names.join(", "))
        })?;
        Ok(Self { package, version, file })
    }
}

/// Writes every stale file.
fn write(root: &Path) -> Result<String, Failure> {
    write_stale_files(&generate(root)?)
}

/// Fails if [`write`] would change a file.
fn check(root: &Path) -> Result<String, Failure> {
    let generated = generate(root)?;
    refuse_stale_files(&generated, "facts")?;
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

fn read_text(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| broken(path, &error))
}

fn broken(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Broken(format!("{}: {error}", path.display()))
}

fn unmet(path: &Path, error: impl std::fmt::Display) -> Failure {
    Failure::Unmet(format!("{}: {error}", path.display()))
}

fn workspace() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}
