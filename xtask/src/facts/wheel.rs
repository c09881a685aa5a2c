//! Reads wheels with the scripts in `xtask/python`, without installing, importing or running them.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::engines::{self, Fact};
use super::{SOURCE_FOLDER, unmet};
use crate::Failure;
use crate::files::broken;
use crate::flags::wheel as download;

/// A package whose wheels have facts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Package {
    /// `config.json` files of models.
    AiconfiguratorCore,
    /// What an engine serves.
    Engine(&'static str),
}

impl Package {
    pub(crate) const ALL: &'static [Self] = &[Self::AiconfiguratorCore, Self::Engine("sglang"), Self::Engine("vllm")];

    pub(crate) fn parse(name: &str) -> Result<Self, String> {
        let names: Vec<_> = Self::ALL.iter().map(|package| package.name()).collect();
        let known = Self::ALL.iter().find(|package| package.name() == name);
        known.copied().ok_or_else(|| format!("expected one of {}", names.join(", ")))
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::AiconfiguratorCore => "aiconfigurator-core",
            Self::Engine(name) => name,
        }
    }

    /// Reads the given wheel, or one that pip downloads.
    pub(crate) fn read(self, version: Option<&str>, file: Option<&str>, root: &Path) -> Result<Reading, Failure> {
        if let Some(file) = file {
            return self.read_file(Path::new(file), root);
        }
        let folder = root.join(format!("target/facts/{}-{}", self.name(), std::process::id()));
        let reading = download::fetch(self.name(), version, &folder).and_then(|file| self.read_file(&file, root));
        // An error of the download matters more to the caller than a folder that cannot be removed.
        let _ = fs::remove_dir_all(&folder);
        reading
    }

    fn read_file(self, file: &Path, root: &Path) -> Result<Reading, Failure> {
        let module = match self {
            Self::AiconfiguratorCore => vec!["model_facts"],
            Self::Engine(name) => vec!["engine_facts", "--package", name],
        };
        let output = download::read_with(&module, file, &root.join("xtask/python"))?;
        Reading::parse(self, &output).map_err(|error| unmet(file, error))
    }
}

/// The facts of a wheel.
#[derive(Debug)]
pub(crate) struct Reading {
    package: Package,
    version: String,
    /// The file, its hash and the day.
    file: String,
    sha256: String,
    read: String,
    facts: Facts,
}

#[derive(Debug)]
enum Facts {
    /// Lines of models.
    Models(Vec<String>),
    Engine(Vec<Fact>),
}

impl Reading {
    pub(crate) fn parse(package: Package, text: &[u8]) -> Result<Self, String> {
        let value: Value = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        let string = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned).ok_or(format!("no {key}"));
        let file = string("file")?;
        // A wheel is named `<package>-<version>-<tags>.whl`.
        let version = file.split('-').nth(1).ok_or_else(|| format!("{file} is not the name of a wheel"))?.to_owned();
        let facts = match package {
            Package::AiconfiguratorCore => {
                let lines = value.get("lines").and_then(Value::as_array).ok_or("no lines")?;
                Facts::Models(lines.iter().filter_map(Value::as_str).map(str::to_owned).collect())
            }
            Package::Engine(_) => Facts::Engine(engine_facts(value.get("facts").ok_or("no facts")?)?),
        };
        Ok(Self { package, version, file, sha256: string("sha256")?, read: string("read")?, facts })
    }

    /// Writes the facts to the sources.
    pub(crate) fn store(self, root: &Path) -> Result<String, Failure> {
        let sources = root.join(SOURCE_FOLDER);
        let Self { package, version, file, sha256, read, facts } = self;
        let name = package.name();
        let lines = match facts {
            Facts::Engine(facts) => {
                return engines::store(&sources, name, &version, format!("{file} sha256={sha256} read={read}"), facts);
            }
            Facts::Models(lines) => lines,
        };
        let header = format!(
            "# Facts of models, from the files *_config.json of a wheel. `cargo xtask facts --wheel {name}` writes this \
             file; other facts belong in the files beside it.\n\
             wheel: {file}\nsha256: {sha256}\nread: {read}\nsource: {name}-{version}\n\n"
        );
        let path = sources.join("models").join(format!("{name}.txt"));
        fs::write(&path, header + &lines.join("\n") + "\n").map_err(|error| broken(&path, error))?;
        Ok(format!("{name} {version}: {} models\n", lines.len()))
    }
}

/// The kinds of which an engine, or an old version of it, has none.
const MAY_BE_EMPTY: &[&str] = &["dropped", "bfloat16", "assertion"];

/// Returns the facts of an engine. A kind is a list of names, or a map of names to values that may be null.
fn engine_facts(kinds: &Value) -> Result<Vec<Fact>, String> {
    let mut facts = Vec::new();
    for (kind, names) in kinds.as_object().ok_or("the facts are not a map")? {
        let fact = |name: &str, value: Option<&str>| Fact {
            kind: kind.clone(),
            name: name.to_owned(),
            value: value.map(str::to_owned),
        };
        match names {
            Value::Array(names) => facts.extend(names.iter().filter_map(Value::as_str).map(|name| fact(name, None))),
            Value::Object(names) => facts.extend(names.iter().map(|(name, value)| fact(name, value.as_str()))),
            _ => return Err(format!("{kind} is neither a list nor a map")),
        }
        if !MAY_BE_EMPTY.contains(&kind.as_str()) && !facts.iter().any(|fact| fact.kind == *kind) {
            return Err(format!("no {kind} was found: where are they now?"));
        }
    }
    Ok(facts)
}
