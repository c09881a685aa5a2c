//! `cargo xtask flags`: generates the engine flag tables from facts, and reads new facts from wheels.
//!
//! `xtask/facts/flags/<table>/<version>.txt` holds the facts of one version as a difference from the previous version
//! ([`delta`]); `corrections.txt` beside it holds facts that the extractor cannot read ([`corrections`]). Both are
//! committed. The compact tables in [`DATA_FOLDER`] are generated from them ([`render`]). A version is added from its
//! wheel ([`wheel`]).

mod corrections;
mod delta;
mod fact;
mod pins;
mod render;
mod store;
mod tables;
pub(crate) mod version;
pub(crate) mod wheel;

use std::fs;
use std::path::{Path, PathBuf};

use crate::Failure;
use crate::files::{refuse_stale, workspace, write_stale};
use delta::Facts;
use kubefoundry_yaml::{append, append_line};
use store::Store;
use tables::{PACKAGES, TABLES, Table};
use version::Version;
use wheel::Reading;

/// The folder of the generated tables, relative to the workspace.
const DATA_FOLDER: &str = "crates/engines/src/flags/data";

/// The maximum size of all tables together, because the program embeds them.
const MAX_TABLE_BYTES: usize = 400_000;

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Write nothing, fail when a committed table is stale or a file of facts was changed by hand
    #[arg(long, conflicts_with = "engine")]
    check: bool,
    /// Read the flags of a package from a wheel and add them to the facts; needs Python 3.11
    #[arg(long, value_name = "PACKAGE", value_parser = PACKAGES.to_vec(), requires = "version")]
    engine: Option<String>,
    /// The version of the package
    #[arg(long, requires = "engine")]
    version: Option<String>,
    /// The wheel; one that pip downloads by default
    #[arg(long, value_name = "FILE", requires = "engine")]
    wheel: Option<String>,
    /// Write nothing, fail when the facts say something else than the wheel
    #[arg(long, requires = "engine")]
    compare: bool,
}

/// Runs the task with its options.
pub(crate) fn run(options: &Options) -> Result<String, Failure> {
    match (&options.engine, &options.version) {
        (Some(package), Some(version)) => {
            let reading = read_wheel(package, version, options.wheel.as_deref())?;
            let act = if options.compare { compare } else { add };
            act(workspace(), package, version, &reading)
        }
        _ if options.check => check(workspace()),
        _ => write(workspace()),
    }
}

/// Reads the given wheel, or downloads one into a temporary folder.
fn read_wheel(package: &str, version: &str, file: Option<&str>) -> Result<Reading, Failure> {
    let scripts = workspace().join("xtask/python");
    if let Some(file) = file {
        return wheel::read(package, Path::new(file), &scripts);
    }
    let folder = workspace().join(format!("target/flags/{package}-{version}-{}", std::process::id()));
    let reading = wheel::fetch(package, Some(version), &folder).and_then(|file| wheel::read(package, &file, &scripts));
    // An error of the download matters more to the caller than a folder that cannot be removed.
    let _ = fs::remove_dir_all(&folder);
    reading
}

/// Writes every stale table.
fn write(root: &Path) -> Result<String, Failure> {
    write_stale(&generate(root)?)
}

/// Fails if a file of facts has a wrong hash, or if [`write`] would change a table.
fn check(root: &Path) -> Result<String, Failure> {
    let generated = generate(root)?;
    refuse_stale(&generated, "flags")?;
    Store::new(root).pins()?;
    let bytes: usize = generated.iter().map(|(_, text)| text.len()).sum();
    if bytes > MAX_TABLE_BYTES {
        return Err(Failure::Unmet(format!("the tables take {bytes} bytes, at most {MAX_TABLE_BYTES} are allowed")));
    }
    Ok(format!("{} flag tables are up to date, {bytes} bytes\n", TABLES.len()))
}

/// Adds a version to the facts, or updates it, and writes the tables.
fn add(root: &Path, package: &str, version: &str, reading: &Reading) -> Result<String, Failure> {
    let store = Store::new(root);
    let mut report = headline(reading);
    for (name, facts) in &reading.tables {
        let summary = store.insert(table(name)?, version, facts, &reading.origin)?;
        append_line!(report, "{name} {version}: {summary}");
    }
    if !reading.pins.is_empty() {
        let mut pins = store.pins()?;
        pins.insert(package, version, &reading.pins, &reading.origin.sha256);
        store.write_pins(&pins)?;
    }
    for (engine, pin) in &reading.pins {
        let pinned = pin.strip_prefix(">=").unwrap_or(pin);
        let hint = match TABLES.iter().find(|table| table.package == Some(engine)) {
            None => "; its facts are transcribed by hand".to_owned(),
            Some(table) if store.versions(table)?.iter().any(|known| known.version.as_str() == pinned) => String::new(),
            Some(_) => format!("; add it: cargo xtask flags --engine {engine} --version {pinned}"),
        };
        let verb = if pin == pinned { "pins" } else { "accepts, as the oldest," };
        append_line!(report, "it {verb} {engine} {pinned}{hint}");
    }
    for note in &reading.notes {
        append_line!(report, "note: {note}");
    }
    Ok(report + &write(root)?)
}

/// Fails if a wheel differs from the committed facts of its version.
fn compare(root: &Path, package: &str, version: &str, reading: &Reading) -> Result<String, Failure> {
    let store = Store::new(root);
    let mut report = headline(reading);
    let mut problems = String::new();
    for (name, facts) in &reading.tables {
        let committed = store.versions(table(name)?)?;
        let Some(known) = committed.iter().find(|known| known.version.as_str() == version) else {
            append_line!(problems, "{name} {version}: no committed facts");
            continue;
        };
        let origin = &known.file.origin;
        if origin.source == reading.origin.source && origin.sha256 != reading.origin.sha256 {
            append_line!(
                problems,
                "{name} {version}: the committed facts are from a file with the hash {}",
                origin.sha256
            );
        }
        if known.facts == *facts {
            append_line!(report, "{name} {version}: {} flags, as committed", facts.len());
        } else {
            let difference = delta::difference(&known.facts, facts);
            append!(problems, "{name} {version} differs from the committed facts:\n{difference}");
        }
    }
    if !reading.pins.is_empty() && !store.pins()?.contains(package, version, &reading.pins, &reading.origin.sha256) {
        append_line!(problems, "{package} {version}: {} differs", store.pins_path().display());
    }
    if problems.is_empty() { Ok(report) } else { Err(Failure::Unmet(format!("{report}{}", problems.trim_end()))) }
}

fn headline(reading: &Reading) -> String {
    format!("{} ({})\n", reading.origin.source, reading.origin.sha256)
}

/// Returns the path and the text of every table.
fn generate(root: &Path) -> Result<Vec<(PathBuf, String)>, Failure> {
    let store = Store::new(root);
    TABLES
        .iter()
        .map(|table| {
            let mut versions: Vec<(Version, Facts)> =
                store.versions(table)?.into_iter().map(|known| (known.version, known.facts)).collect();
            render::unify_names(&mut versions);
            let corrections = store.corrections(table)?;
            let text = corrections.apply(&mut versions).and_then(|()| render::render(table, &versions));
            let text = text.map_err(|error| Failure::Unmet(format!("{}: {error}", table.name)))?;
            Ok((root.join(DATA_FOLDER).join(format!("{}.txt", table.name)), text))
        })
        .collect()
}

fn table(name: &str) -> Result<&'static Table, Failure> {
    let found = TABLES.iter().find(|table| table.name == name);
    found.ok_or_else(|| Failure::Broken(format!("the extractor found a table `{name}` that xtask does not know")))
}

#[cfg(test)]
mod tests;
