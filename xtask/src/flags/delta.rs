//! The file of one version: the source of its facts, and their difference from the previous version.

use std::collections::BTreeMap;

use kubefoundry_yaml::{append, append_line};
use sha2::{Digest as _, Sha256};

use super::fact::Fact;
use super::version::Version;

/// All facts of one version, by flag name.
pub(crate) type Facts = BTreeMap<String, Fact>;

/// The source of facts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The file name of the wheel, or the document from which the facts were transcribed.
    pub(crate) source: String,
    /// The SHA-256 of the wheel; empty for a transcription.
    pub(crate) sha256: String,
    /// The date on which it was read.
    pub(crate) read: String,
}

/// One file below `xtask/facts/flags`.
#[derive(Debug)]
pub(crate) struct VersionFile {
    pub(crate) origin: Origin,
    /// The previous version; `None` for the oldest version, which lists all of its facts.
    pub(crate) after: Option<String>,
    /// The hash of all resulting facts, which detects manual changes of this file or an older one. Empty for a
    /// transcription, which is edited by hand.
    result: String,
    changes: Vec<Change>,
}

#[derive(Debug, PartialEq, Eq)]
enum Change {
    Added(Fact),
    Changed(Fact),
    Removed(String),
}

impl Change {
    fn name(&self) -> &str {
        match self {
            Self::Added(fact) | Self::Changed(fact) => &fact.name,
            Self::Removed(name) => name,
        }
    }
}

impl VersionFile {
    /// Returns the file that turns the facts of the previous version, if any, into `facts`.
    pub(crate) fn between(before: Option<(&Version, &Facts)>, facts: &Facts, origin: Origin) -> Self {
        let nothing = Facts::new();
        let old = before.map_or(&nothing, |(_, facts)| facts);
        let mut changes: Vec<Change> =
            old.keys().filter(|name| !facts.contains_key(*name)).cloned().map(Change::Removed).collect();
        changes.extend(facts.values().filter_map(|fact| match old.get(&fact.name) {
            None => Some(Change::Added(fact.clone())),
            Some(known) if known != fact => Some(Change::Changed(fact.clone())),
            Some(_) => None,
        }));
        changes.sort_by(|one, other| one.name().cmp(other.name()));
        Self { origin, after: before.map(|(version, _)| version.to_string()), result: hash(facts), changes }
    }

    /// Parses a file.
    ///
    /// # Errors
    /// For an unknown line, a missing header line, or changes that are not sorted by name.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut header = BTreeMap::new();
        let mut changes: Vec<Change> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let at = |error: String| format!("line {}: {error}", index + 1);
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let change = match line.split_once(' ') {
                Some(("+", fact)) => Change::Added(Fact::parse(fact).map_err(at)?),
                Some(("~", fact)) => Change::Changed(Fact::parse(fact).map_err(at)?),
                Some(("-", name)) => Change::Removed(name.to_owned()),
                Some((key, value)) if key.ends_with(':') && changes.is_empty() => {
                    header.insert(key.trim_end_matches(':'), value.to_owned());
                    continue;
                }
                _ => return Err(at(format!("expected `key: value`, `+ fact`, `~ fact` or `- name`, found {line:?}"))),
            };
            if changes.last().is_some_and(|last| last.name() >= change.name()) {
                return Err(at(format!("`{}` must come after the previous name", change.name())));
            }
            changes.push(change);
        }
        // Only a file from a wheel has these.
        let (sha256, result) =
            (header.remove("sha256").unwrap_or_default(), header.remove("result").unwrap_or_default());
        let mut take = |key: &str| header.remove(key).ok_or_else(|| format!("no `{key}:` line"));
        let file = Self {
            origin: Origin { source: take("source")?, sha256, read: take("read")? },
            after: Some(take("after")?).filter(|after| after != "nothing"),
            result,
            changes,
        };
        if file.result.is_empty() != file.origin.sha256.is_empty() {
            return Err("a file from a wheel has `sha256:` and `result:`; any other file has neither".to_owned());
        }
        match header.keys().next() {
            Some(key) => Err(format!("unknown key `{key}:`")),
            None => Ok(file),
        }
    }

    /// Computes the facts of this version by applying the changes to those of the previous version.
    ///
    /// # Errors
    /// If a change does not fit the previous facts, or the result does not match the recorded hash, if there is one.
    pub(crate) fn apply(&self, before: &Facts) -> Result<Facts, String> {
        let mut facts = before.clone();
        for change in &self.changes {
            let name = change.name();
            let fits = match change {
                Change::Added(fact) => facts.insert(name.to_owned(), fact.clone()).is_none(),
                Change::Changed(fact) => facts.insert(name.to_owned(), fact.clone()).is_some(),
                Change::Removed(_) => facts.remove(name).is_some(),
            };
            if !fits {
                return Err(match change {
                    Change::Added(_) => format!("`{name}` is added, but already exists"),
                    Change::Changed(_) | Change::Removed(_) => {
                        format!("`{name}` is changed or removed, but does not exist")
                    }
                });
            }
        }
        if self.result.is_empty() || hash(&facts) == self.result {
            Ok(facts)
        } else {
            Err(format!(
                "the facts have the hash {}, expected {}: a file was changed by hand",
                hash(&facts),
                self.result
            ))
        }
    }

    /// Returns the text of the file.
    pub(crate) fn render(&self, title: &str) -> String {
        let Origin { source, sha256, read } = &self.origin;
        let after = self.after.as_deref().unwrap_or("nothing");
        let mut text = format!(
            "# {title}. `cargo xtask flags` writes this file; what it cannot read belongs in corrections.txt.\n\
             source: {source}\nsha256: {sha256}\nread: {read}\nafter: {after}\nresult: {}\n\n",
            self.result
        );
        for change in &self.changes {
            match change {
                Change::Added(fact) => append_line!(text, "+ {fact}"),
                Change::Changed(fact) => append_line!(text, "~ {fact}"),
                Change::Removed(name) => append_line!(text, "- {name}"),
            }
        }
        text
    }

    /// Returns the numbers of added, changed and removed flags, as text.
    pub(crate) fn summary(&self) -> String {
        let count = |kind: fn(&Change) -> bool| self.changes.iter().filter(|change| kind(change)).count();
        format!(
            "{} added, {} changed, {} removed",
            count(|change| matches!(change, Change::Added(_))),
            count(|change| matches!(change, Change::Changed(_))),
            count(|change| matches!(change, Change::Removed(_))),
        )
    }
}

/// Lists the differences between two sets of facts, one per line.
pub(crate) fn difference(old: &Facts, new: &Facts) -> String {
    let origin = Origin { source: String::new(), sha256: String::new(), read: String::new() };
    let file = VersionFile::between(Some((&Version::new("0"), old)), new, origin);
    file.changes.iter().fold(String::new(), |mut text, change| {
        match change {
            Change::Added(fact) => append_line!(text, "  + {fact}"),
            Change::Changed(fact) => {
                let known = &old[&fact.name];
                append_line!(text, "  ~ {fact}\n    (committed: {known})");
            }
            Change::Removed(name) => append_line!(text, "  - {name}"),
        }
        text
    })
}

/// Returns the SHA-256 of the lines of all facts.
fn hash(facts: &Facts) -> String {
    let mut hasher = Sha256::new();
    for fact in facts.values() {
        hasher.update(format!("{fact}\n"));
    }
    hasher.finalize().iter().fold(String::new(), |mut text, byte| {
        append!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(lines: &[&str]) -> Facts {
        lines.iter().map(|line| Fact::parse(line).expect(line)).map(|fact| (fact.name.clone(), fact)).collect()
    }

    fn origin() -> Origin {
        Origin { source: "x-1-py3-none-any.whl".to_owned(), sha256: "00".to_owned(), read: "2026-11-22".to_owned() }
    }

    fn delta() -> (Facts, Facts, String) {
        let old = facts(&["gone int", "kept str choices=a|b", "turned switch"]);
        let new = facts(&["kept str choices=a|b", "new float", "turned pair off=no-turned"]);
        let text = VersionFile::between(Some((&Version::new("1"), &old)), &new, origin()).render("x 2");
        (old, new, text)
    }

    #[test]
    fn a_delta_lists_what_differs_and_nothing_else() {
        let (_, _, text) = delta();
        let changes: Vec<&str> = text.lines().filter(|line| line.starts_with(['+', '-', '~'])).collect();
        assert_eq!(changes, ["- gone", "+ new float", "~ turned pair off=no-turned"]);
    }

    #[test]
    fn a_written_delta_reads_back_to_the_same_facts() {
        let (old, new, text) = delta();
        let file = VersionFile::parse(&text).expect("a written file");
        assert_eq!((&file.origin, file.after.as_deref()), (&origin(), Some("1")));
        assert_eq!(file.apply(&old).expect("the facts it was made from"), new);
        assert_eq!(file.render("x 2"), text);
    }

    #[test]
    fn the_oldest_version_lists_everything() {
        let all = facts(&["a int", "b switch"]);
        let text = VersionFile::between(None, &all, origin()).render("x 1");
        let file = VersionFile::parse(&text).expect("a written file");
        assert_eq!(file.after, None);
        assert_eq!(file.apply(&Facts::new()).expect("a base"), all);
    }

    #[test]
    fn a_manual_change_is_detected() {
        let (old, _, text) = delta();
        for (from, to, reason) in [
            ("+ new float", "+ new int", "changed by hand"),
            ("+ new float\n", "", "changed by hand"),
            ("- gone", "- absent", "removed, but does not exist"),
            ("+ new float", "+ zzz float", "must come after"),
            ("~ turned pair off=no-turned", "~ zzz switch", "changed or removed, but does not exist"),
            ("+ new float", "+ new integer", "unknown type"),
            ("+ new float", "new float", "expected `key: value`"),
            ("after: 1\n", "", "no `after:` line"),
            ("read: ", "written: ", "no `read:` line"),
            ("after: ", "before: 0\nafter: ", "unknown key `before:`"),
            ("sha256: 00\n", "", "has `sha256:` and `result:`"),
        ] {
            let changed = text.replace(from, to);
            assert_ne!(changed, text, "{from}");
            let error = VersionFile::parse(&changed).and_then(|file| file.apply(&old)).expect_err(from);
            assert!(error.contains(reason), "{from} -> {to}: {error}");
        }
    }

    #[test]
    fn a_transcription_needs_no_hash() {
        let file = VersionFile::parse("source: help text\nread: 2026-11-22\nafter: nothing\n+ a int\n")
            .expect("a transcription");
        assert_eq!(file.apply(&Facts::new()).expect("facts"), facts(&["a int"]));
    }

    #[test]
    fn a_delta_of_another_version_does_not_apply() {
        let (_, new, text) = delta();
        VersionFile::parse(&text)
            .expect("a written file")
            .apply(&new)
            .expect_err("the file is a difference from the older version");
    }
}
