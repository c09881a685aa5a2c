//! Downloads a wheel with pip and reads it with `xtask/python/engine_flags`, without installing, importing or running
//! it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use super::delta::{Facts, Origin};
use super::fact::Fact;
use crate::Failure;

/// The facts of a wheel.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) origin: Origin,
    /// Facts by table.
    pub(crate) tables: BTreeMap<String, Facts>,
    /// The versions of engines that the wheel pins, by package.
    pub(crate) pins: BTreeMap<String, String>,
    /// Flags that could not be read, or that a maintainer should check.
    pub(crate) notes: Vec<String>,
}

/// The packages whose pins are facts.
const ENGINES: &[&str] = &["vllm", "sglang", "tensorrt-llm"];

/// The platforms of downloaded wheels. They are fixed, so that every machine reads the same file; the Python sources
/// are the same on all platforms.
const PLATFORMS: &[&str] = &[
    "any",
    "manylinux1_x86_64",
    "manylinux2014_x86_64",
    "manylinux_2_17_x86_64",
    "manylinux_2_28_x86_64",
    "manylinux_2_31_x86_64",
    "manylinux_2_34_x86_64",
    "manylinux_2_35_x86_64",
];

/// Downloads a wheel of a version, or of the newest one, into `folder`, which must be empty or absent. Dependencies are
/// not downloaded, and source distributions are refused, because building one would run its code.
pub(crate) fn fetch(package: &str, version: Option<&str>, folder: &Path) -> Result<PathBuf, Failure> {
    let broken = |error: &dyn std::fmt::Display| Failure::Broken(format!("{}: {error}", folder.display()));
    fs::create_dir_all(folder).map_err(|error| broken(&error))?;
    let mut command = Command::new("python3");
    command.args([
        "-m",
        "pip",
        "download",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--only-binary=:all:",
    ]);
    command.args(["--python-version", "3.12", "--implementation", "cp"]);
    for platform in PLATFORMS {
        command.args(["--platform", platform]);
    }
    let version = version.map(|version| format!("=={version}")).unwrap_or_default();
    command.arg("--dest").arg(folder).arg(format!("{package}{version}"));
    run(&mut command)?;
    let mut files =
        fs::read_dir(folder).map_err(|error| broken(&error))?.filter_map(Result::ok).map(|entry| entry.path());
    files
        .find(|path| path.extension().is_some_and(|extension| extension == "whl"))
        .ok_or_else(|| broken(&"pip downloaded no wheel"))
}

/// Reads the facts of a wheel.
///
/// # Errors
/// [`Failure::Unmet`] if the wheel does not have the structure that the extractor expects.
pub(crate) fn read(package: &str, wheel: &Path, scripts: &Path) -> Result<Reading, Failure> {
    let output = read_with(&["engine_flags", "--package", package], wheel, scripts)?;
    parse(&output).map_err(|error| Failure::Unmet(format!("{}: {error}", wheel.display())))
}

/// Runs a module of the scripts with its options on a wheel and returns what it prints.
pub(crate) fn read_with(module: &[&str], wheel: &Path, scripts: &Path) -> Result<Vec<u8>, Failure> {
    let mut command = Command::new("python3");
    command.arg("-m").args(module).arg(wheel).env("PYTHONPATH", scripts);
    // Python writes no bytecode beside the sources and imports no module from the current directory.
    command.env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONSAFEPATH", "1");
    let output = run(&mut command).map_err(|failure| match failure {
        Failure::Broken(message) | Failure::Unmet(message) => Failure::Unmet(message),
    })?;
    Ok(output.stdout)
}

fn run(command: &mut Command) -> Result<Output, Failure> {
    let output = command.output().map_err(|error| Failure::Broken(format!("python3: {error}")))?;
    if output.status.success() {
        return Ok(output);
    }
    let arguments: Vec<_> = command.get_args().take(3).map(|argument| argument.to_string_lossy()).collect();
    let messages = String::from_utf8_lossy(&output.stderr);
    Err(Failure::Broken(format!("python3 {}: {}", arguments.join(" "), messages.trim_end())))
}

fn parse(text: &[u8]) -> Result<Reading, String> {
    let value: Value = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    let string = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned).ok_or(format!("no {key}"));
    let object = |key: &str| value.get(key).and_then(Value::as_object).ok_or(format!("no {key}"));
    let mut tables = BTreeMap::new();
    for (table, flags) in object("tables")? {
        let mut facts = Facts::new();
        for flag in flags.as_array().into_iter().flatten() {
            let fact = Fact::from_json(flag).map_err(|error| format!("{table}: {error}"))?;
            facts.insert(fact.name.clone(), fact);
        }
        if facts.is_empty() {
            return Err(format!("{table}: no flag was found"));
        }
        tables.insert(table.clone(), facts);
    }
    let pins = object("requires")?.iter().filter(|(package, _)| ENGINES.contains(&package.as_str()));
    Ok(Reading {
        origin: Origin { source: string("file")?, sha256: string("sha256")?, read: string("read")? },
        tables,
        pins: pins.filter_map(|(package, version)| Some((package.clone(), version.as_str()?.to_owned()))).collect(),
        notes: value
            .get("notes")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
    })
}
