//! The facts of engines, each with the versions in which it holds.
//!
//! `xtask/facts/engines/<engine>.txt` lists the versions with their wheels, and one line for each fact:
//! `<kind> <name> [=<value>] <versions>`. Versions are `*` for all, or ranges that include both ends: `0.19.0..0.28.0`,
//! `..0.28.0`, `0.29.0..`, `0.31.0`. A fact whose value changes has a line for each value.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use kubefoundry_yaml::{append, append_line};

use super::{read_text, unmet};
use crate::Failure;
use crate::files::broken;
use crate::flags::version::Version;

/// The engines, which are named like their packages.
pub(crate) const ENGINES: &[&str] = &["sglang", "vllm"];

/// Versions of an engine by their text.
type Versions = BTreeSet<String>;

/// A fact of an engine: `method`, `fp8`, `7.5`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fact {
    /// `architecture`, `dropped`, `method`, `checkpoint`, `bfloat16`, `assertion`, `tool` or `reasoning`.
    pub(crate) kind: String,
    pub(crate) name: String,
    /// The last version of a dropped architecture, or the minimum capability of a method, if it has one.
    pub(crate) value: Option<String>,
}

/// The facts of all versions of an engine.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Engine {
    /// The versions in ascending order, with the file, its hash and the day on which it was read.
    versions: Vec<(Version, String)>,
    /// For each fact, the versions in which it holds.
    facts: BTreeMap<Fact, Versions>,
}

impl Engine {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut engine = Self::default();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(entry) = line.strip_prefix("version: ") {
                let (version, origin) = entry.split_once(' ').ok_or_else(|| format!("{line}: no wheel"))?;
                engine.versions.push((Version::new(version), origin.to_owned()));
                continue;
            }
            let words: Vec<&str> = line.split(' ').collect();
            let (kind, name, value, versions) = match words.as_slice() {
                [kind, name, versions] => (kind, name, None, versions),
                [kind, name, value, versions] => (kind, name, value.strip_prefix('='), versions),
                _ => return Err(format!("`{line}` is not a fact")),
            };
            let fact = Fact { kind: (*kind).to_owned(), name: (*name).to_owned(), value: value.map(str::to_owned) };
            let versions = engine.expand(versions).map_err(|error| format!("{line}: {error}"))?;
            if engine.facts.insert(fact, versions).is_some() {
                return Err(format!("{line}: it occurs twice"));
            }
        }
        if !engine.versions.is_sorted_by(|(one, _), (other, _)| one < other) {
            return Err("the versions are not sorted".to_owned());
        }
        Ok(engine)
    }

    /// Adds a version, or replaces its facts.
    pub(crate) fn insert(&mut self, version: &str, origin: String, facts: Vec<Fact>) {
        for versions in self.facts.values_mut() {
            versions.remove(version);
        }
        self.versions.retain(|(known, _)| known.as_str() != version);
        for fact in facts {
            self.facts.entry(fact).or_default().insert(version.to_owned());
        }
        self.facts.retain(|_, versions| !versions.is_empty());
        self.versions.push((Version::new(version), origin));
        self.versions.sort();
    }

    /// Returns the text of the source.
    pub(crate) fn source(&self, name: &str) -> String {
        let mut text = format!(
            "# The facts of {name}, with the versions in which they hold. `cargo xtask facts --wheel {name} --version X` \
             writes this file.\n"
        );
        for (version, origin) in &self.versions {
            append_line!(text, "version: {version} {origin}");
        }
        text.push('\n');
        for (fact, versions) in &self.facts {
            let value = fact.value.as_ref().map(|value| format!(" ={value}")).unwrap_or_default();
            append_line!(text, "{} {}{value} {}", fact.kind, fact.name, self.short_ranges(versions));
        }
        text
    }

    /// Returns the generated lines: one for the versions, and one for each name of a kind.
    pub(crate) fn lines(&self, engine: &str) -> Vec<String> {
        let mut lines = vec![format!("{engine} versions={} source={engine}-wheels", self.known().join(","))];
        let mut named: BTreeMap<(&str, &str), Vec<(&Fact, &Versions)>> = BTreeMap::new();
        for (fact, versions) in &self.facts {
            named.entry((&fact.kind, &fact.name)).or_default().push((fact, versions));
        }
        for ((kind, name), facts) in named {
            let mut line = format!("{engine}/{kind}/{name}");
            let all: Versions = facts.iter().flat_map(|(_, versions)| (*versions).clone()).collect();
            if all.len() < self.versions.len() {
                append!(line, " in={}", self.ranges(&all));
            }
            let values: Vec<String> = match facts.as_slice() {
                // One value for all versions of the fact needs no versions.
                [(fact, _)] => fact.value.iter().cloned().collect(),
                _ => facts.iter().filter_map(|(fact, versions)| self.value(fact, versions)).collect(),
            };
            if !values.is_empty() {
                append!(line, " value={}", values.join(","));
            }
            lines.push(line);
        }
        lines
    }

    /// Returns the value of a fact with its versions: `7.5@0.14.1..0.33.0`.
    fn value(&self, fact: &Fact, versions: &Versions) -> Option<String> {
        Some(format!("{}@{}", fact.value.as_ref()?, self.ranges(versions)))
    }

    /// Returns versions as a source has them: the ends of all versions are left out.
    fn short_ranges(&self, versions: &Versions) -> String {
        let known = self.known();
        let (oldest, newest) = (known.first().copied(), known.last().copied());
        let range = |(first, last): (&str, &str)| match (Some(first) == oldest, Some(last) == newest) {
            (true, true) => "*".to_owned(),
            _ if first == last => first.to_owned(),
            (true, false) => format!("..{last}"),
            (false, true) => format!("{first}.."),
            (false, false) => format!("{first}..{last}"),
        };
        self.spans(versions).into_iter().map(range).collect::<Vec<_>>().join(",")
    }

    /// Returns versions as a generated line has them: with all ends, and with `|` because commas separate values.
    fn ranges(&self, versions: &Versions) -> String {
        let range = |(first, last)| if first == last { String::from(first) } else { format!("{first}..{last}") };
        self.spans(versions).into_iter().map(range).collect::<Vec<_>>().join("|")
    }

    /// Returns the first and the last version of each run of versions that follow each other.
    fn spans(&self, versions: &Versions) -> Vec<(&str, &str)> {
        let mut spans: Vec<(&str, &str)> = Vec::new();
        let mut is_open = false;
        for version in self.known() {
            let is_member = versions.contains(version);
            match spans.last_mut() {
                Some((_, last)) if is_open && is_member => *last = version,
                _ if is_member => spans.push((version, version)),
                _ => {}
            }
            is_open = is_member;
        }
        spans
    }

    /// Returns the versions that were read, oldest first.
    fn known(&self) -> Vec<&str> {
        self.versions.iter().map(|(version, _)| version.as_str()).collect()
    }

    /// Returns the versions in the ranges of a source.
    fn expand(&self, ranges: &str) -> Result<Versions, String> {
        let known = self.known();
        if ranges == "*" {
            return Ok(known.into_iter().map(str::to_owned).collect());
        }
        let position = |version: &str| {
            known.iter().position(|other| *other == version).ok_or_else(|| format!("there is no version {version}"))
        };
        let mut versions = Versions::new();
        for range in ranges.split(',') {
            let (first, last) = range.split_once("..").unwrap_or((range, range));
            let first = if first.is_empty() { 0 } else { position(first)? };
            let last = if last.is_empty() { known.len() - 1 } else { position(last)? };
            versions.extend(known.iter().take(last + 1).skip(first).map(|version| (*version).to_owned()));
        }
        Ok(versions)
    }
}

/// Returns the generated lines of all engines, sorted by their bytes: names of architectures differ in case alone.
pub(crate) fn render(sources: &Path) -> Result<String, Failure> {
    let mut lines = Vec::new();
    for engine in ENGINES {
        let path = path(sources, engine);
        lines.extend(Engine::parse(&read_text(&path)?).map_err(|error| unmet(&path, error))?.lines(engine));
    }
    lines.sort_by(|one, other| name(one).cmp(name(other)));
    Ok(lines.into_iter().map(|line| line + "\n").collect())
}

fn name(line: &str) -> &str {
    line.split(' ').next().unwrap_or_default()
}

/// Adds a version to the source of an engine, which may be new.
pub(crate) fn store(
    sources: &Path,
    name: &str,
    version: &str,
    origin: String,
    facts: Vec<Fact>,
) -> Result<String, Failure> {
    let path = path(sources, name);
    let text = if path.exists() { read_text(&path)? } else { String::new() };
    let mut engine = Engine::parse(&text).map_err(|error| unmet(&path, error))?;
    let summary = format!("{name} {version}: {} facts\n", facts.len());
    engine.insert(version, origin, facts);
    std::fs::write(&path, engine.source(name)).map_err(|error| broken(&path, error))?;
    Ok(summary)
}

fn path(sources: &Path, engine: &str) -> std::path::PathBuf {
    sources.join("engines").join(format!("{engine}.txt"))
}
