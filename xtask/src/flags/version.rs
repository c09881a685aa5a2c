//! Versions of Python packages, ordered by release.

use std::fmt;

/// A version as Python packages write it: `0.5.12.post1`, `1.3.0rc11`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version {
    release: Vec<u64>,
    stage: Stage,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    /// A development version, alpha, beta or release candidate; their order among each other is by number only.
    Early(u64),
    Final,
    Post(u64),
}

impl Version {
    pub(crate) fn new(text: &str) -> Self {
        let mut release = Vec::new();
        let mut stage = Stage::Final;
        for part in text.split('.') {
            let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
            let (number, suffix) = part.split_at(digits);
            release.extend(number.parse::<u64>());
            if !suffix.is_empty() {
                let count = suffix.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(0);
                stage = if suffix.starts_with("post") { Stage::Post(count) } else { Stage::Early(count) };
            }
        }
        Self { release, stage, text: text.to_owned() }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The versions to which a correction applies: `*`, `0.20.2`, `0.20.2..`, `..0.29.0`, `0.20.2..0.29.0`, or several of
/// these separated by commas. Ranges include both ends.
#[derive(Debug)]
pub(crate) struct VersionSet(Vec<(Option<Version>, Option<Version>)>);

impl VersionSet {
    pub(crate) fn new(text: &str) -> Self {
        let end = |text: &str| Some(Version::new(text)).filter(|_| !text.is_empty());
        let range = |part: &str| match part.split_once("..") {
            Some((first, last)) => (end(first), end(last)),
            None if part == "*" => (None, None),
            None => (end(part), end(part)),
        };
        Self(text.split(',').map(range).collect())
    }

    pub(crate) fn contains(&self, version: &Version) -> bool {
        self.0.iter().any(|(first, last)| {
            first.as_ref().is_none_or(|first| first <= version) && last.as_ref().is_none_or(|last| version <= last)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_sort_as_they_were_released() {
        let released = ["0.5.9", "0.5.10rc2", "0.5.10", "0.5.10.post1", "0.5.12.post1", "0.5.12.post2", "0.6", "1.0"];
        let mut sorted: Vec<Version> = released.iter().rev().map(|text| Version::new(text)).collect();
        sorted.sort();
        assert_eq!(sorted.iter().map(Version::as_str).collect::<Vec<_>>(), released);
    }

    #[test]
    fn ranges_include_both_ends() {
        for (set, inside, outside) in [
            ("*", "0.1", None),
            ("0.20.2", "0.20.2", Some("0.20.3")),
            ("0.20.2..", "0.33.0", Some("0.19.0")),
            ("..0.29.0", "0.29.0", Some("0.31.0")),
            ("0.20.2..0.29.0,0.33.0", "0.33.0", Some("0.31.0")),
        ] {
            assert!(VersionSet::new(set).contains(&Version::new(inside)), "{set} {inside}");
            assert!(!outside.is_some_and(|outside| VersionSet::new(set).contains(&Version::new(outside))), "{set}");
        }
    }
}
