//! What to write instead of a flag that an engine does not have.

use std::sync::LazyLock;

/// The answer to a flag that an engine does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replacement {
    /// The flags that set the same, as a command line writes them.
    Flags(&'static str),
    /// The field of the deployment that sets the same.
    Field(ReplacingField),
    /// Nothing sets it any more. The text is the reason.
    Gone(&'static str),
}

/// A field of a deployment that replaces an engine's flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplacingField {
    /// `spec.engine.contextLength`.
    ContextLength,
    /// `spec.engine.enablePrefixCaching`.
    EnablePrefixCaching,
    /// `spec.engine.enforceEager`.
    EnforceEager,
    /// `spec.model.id`.
    ModelId,
    /// `spec.model.servedName`.
    ServedName,
    /// `spec.serving.mode`.
    ServingMode,
    /// `spec.engine.trustRemoteCode`.
    TrustRemoteCode,
}

const FIELDS: &[(&str, ReplacingField)] = &[
    ("contextLength", ReplacingField::ContextLength),
    ("enablePrefixCaching", ReplacingField::EnablePrefixCaching),
    ("enforceEager", ReplacingField::EnforceEager),
    ("modelId", ReplacingField::ModelId),
    ("servedName", ReplacingField::ServedName),
    ("servingMode", ReplacingField::ServingMode),
    ("trustRemoteCode", ReplacingField::TrustRemoteCode),
];

static REPLACEMENTS: &str = include_str!("data/replacements.txt");

/// Finds the answer to a flag that an engine (`vllm`, `sglang`, `trtllm`, `llama-server`) does not have. The name is in
/// kebab-case, without dashes.
///
/// ```
/// use kubefoundry_engines::flags::{Replacement, replacement};
/// assert_eq!(replacement("vllm", "mem-fraction-static"), Some(Replacement::Flags("--gpu-memory-utilization")));
/// assert_eq!(replacement("sglang", "weather"), None);
/// ```
pub fn replacement(engine: &str, flag: &str) -> Option<Replacement> {
    static ENTRIES: LazyLock<Vec<Entry>> = LazyLock::new(|| entries().collect());
    let position = ENTRIES.binary_search_by_key(&(engine, flag), |entry| (entry.engine, entry.flag)).ok()?;
    let entry = ENTRIES.get(position)?;
    Some(match entry.kind {
        "use" => Replacement::Flags(entry.rest),
        "gone" => Replacement::Gone(entry.rest),
        _ => Replacement::Field(FIELDS.iter().find(|(name, _)| *name == entry.rest)?.1),
    })
}

/// A line of the file.
struct Entry {
    engine: &'static str,
    flag: &'static str,
    kind: &'static str,
    rest: &'static str,
}

/// Parses the lines, which are sorted.
fn entries() -> impl Iterator<Item = Entry> {
    REPLACEMENTS.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut words = line.splitn(4, ' ');
        Some(Entry { engine: words.next()?, flag: words.next()?, kind: words.next()?, rest: words.next()? })
    })
}

#[cfg(test)]
mod tests {
    use super::super::{FlagTable, tables_by_version, trtllm_keys};
    use super::*;

    /// Returns the newest tables of an engine and of the programs that run it.
    fn newest_tables(engine: &str) -> Vec<FlagTable> {
        let wrapper = if engine == "trtllm" { "dynamo-trtllm" } else { engine };
        tables_by_version(wrapper).last().map(|(_, table)| table).into_iter().collect()
    }

    #[test]
    fn every_line_is_understood_and_sorted() {
        let lines: Vec<&str> = REPLACEMENTS.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(lines.len() >= 60 && lines.is_sorted(), "{}", lines.len());
        for entry in entries() {
            assert!(replacement(entry.engine, entry.flag).is_some(), "{} {}", entry.engine, entry.flag);
            assert!(matches!(entry.kind, "use" | "field" | "gone"), "{} {}", entry.engine, entry.flag);
        }
        assert_eq!(entries().count(), lines.len());
    }

    #[test]
    fn replacements_exist_and_what_they_replace_does_not() {
        for entry in entries() {
            let tables = newest_tables(entry.engine);
            let has = |name: &str| tables.iter().any(|table| table.lookup(name).is_some());
            let is_key = entry.engine == "trtllm" && trtllm_keys().lookup(entry.flag).is_some();
            assert!(!is_key, "{} {} is a configuration key", entry.engine, entry.flag);
            // Newer versions accept the opposite spelling of a switch; older ones do not.
            if !["disable-log-requests", "disable-prefix-caching"].contains(&entry.flag) {
                assert!(!has(entry.flag), "{} has --{}", entry.engine, entry.flag);
            }
            if entry.kind == "use" {
                for flag in entry.rest.split(' ') {
                    let name = flag.trim_start_matches("--").split('=').next().unwrap_or_default();
                    assert!(has(name), "{} has no --{name}, which replaces --{}", entry.engine, entry.flag);
                }
            }
        }
    }
}
