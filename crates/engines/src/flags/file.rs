//! A committed flag file: sorted text, which is searched in place.
//!
//! A line is `name versions rest`. Letters stand for versions: `*` is all of them, `a-cf-` is a to c and f to the
//! newest. The rest is the flag's type and attributes, `=name` for an alias or `!name` for an off form.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};

use kubefoundry_yaml::text::closest;

/// Maximum number of versions in a file. A version has a lower-case letter.
const MAX_VERSIONS: usize = 26;

/// Maximum number of searches without an index of the lines. An index makes a search cheaper by half, but costs as much
/// as forty searches, and a run over one document has fewer.
const MAX_SEARCHES_WITHOUT_INDEX: u32 = 32;

/// Maximum number of suggestions that are kept.
const MAX_KEPT_SUGGESTIONS: usize = 256;

/// The flags of a program in all known versions. What is derived from the text is computed at the first use and kept,
/// because a run looks up the same flags in thousands of deployments.
#[derive(Debug)]
pub(super) struct FlagFile {
    /// The program: `vllm`, `dynamo-vllm`.
    pub(super) program: &'static str,
    pub(super) text: &'static str,
    header: OnceLock<Header>,
    /// How many names were searched.
    searches: AtomicU32,
    /// The offset of each line in the entries.
    line_starts: OnceLock<Vec<u32>>,
    /// The entries of each version, by its letter. Only scans need them.
    entries: [OnceLock<Vec<TableEntry>>; MAX_VERSIONS],
    /// The suggestions for unknown names, by version. A name is compared with hundreds of others to find one, and the
    /// deployments of a team make the same mistake.
    suggestions: Mutex<BTreeMap<(u8, String), Option<&'static str>>>,
}

/// The lines before the entries.
#[derive(Debug)]
struct Header {
    /// The letters and versions, oldest first.
    versions: Vec<(u8, &'static str)>,
    is_uncertain: bool,
    /// The text after the header.
    entries: &'static str,
}

/// A line of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct TableEntry {
    pub(super) name: &'static str,
    pub(super) versions: &'static str,
    pub(super) rest: &'static str,
}

impl FlagFile {
    pub(super) const fn new(program: &'static str, text: &'static str) -> Self {
        Self {
            program,
            text,
            header: OnceLock::new(),
            searches: AtomicU32::new(0),
            line_starts: OnceLock::new(),
            entries: [const { OnceLock::new() }; MAX_VERSIONS],
            suggestions: Mutex::new(BTreeMap::new()),
        }
    }

    fn header(&self) -> &Header {
        self.header.get_or_init(|| {
            let mut header = Header { versions: Vec::new(), is_uncertain: false, entries: self.text };
            while let Some((line, rest)) = header.entries.split_once('\n').filter(|(line, _)| line.starts_with('#')) {
                if let Some(versions) = line.strip_prefix("#versions ") {
                    let words = versions.split(' ').filter_map(|word| word.split_once('='));
                    let letters = words.filter_map(|(letter, version)| Some((letter.bytes().next()?, version)));
                    header.versions = letters.collect();
                }
                header.is_uncertain |= line == "#uncertain";
                header.entries = rest;
            }
            header
        })
    }

    /// Returns the letters and versions, oldest first.
    pub(super) fn versions(&self) -> &[(u8, &'static str)] {
        &self.header().versions
    }

    /// Returns the letter of the newest version.
    pub(super) fn newest(&self) -> u8 {
        self.versions().last().map_or(b'a', |(letter, _)| *letter)
    }

    /// Returns whether the program may have other flags, because these come from its documentation or sources instead of
    /// the package of this version.
    pub(super) fn is_uncertain(&self) -> bool {
        self.header().is_uncertain
    }

    /// Returns the entries of a name, one for each set of versions with the same facts.
    pub(super) fn entries_of<'n>(&self, name: &'n str) -> impl Iterator<Item = TableEntry> + use<'n> {
        let text = self.header().entries;
        let start = if self.searches.fetch_add(1, Relaxed) < MAX_SEARCHES_WITHOUT_INDEX {
            find_without_index(text, name)
        } else {
            self.find_by_index(text, name)
        };
        text.get(start..)
            .unwrap_or_default()
            .lines()
            .map(parse_entry)
            .take_while(move |entry| compare_names(entry.name, name) == Ordering::Equal)
    }

    /// Returns the start of the first line whose name is not less.
    fn find_by_index(&self, text: &str, name: &str) -> usize {
        let line_starts = self.line_starts.get_or_init(|| {
            let ends = memchr::memchr_iter(b'\n', text.as_bytes());
            std::iter::once(0).chain(ends.map(|end| u32::try_from(end + 1).unwrap_or(u32::MAX))).collect()
        });
        let is_less = |start: &u32| {
            let line = text.get(*start as usize..).unwrap_or_default();
            !line.is_empty() && compare_names(name_of_line(line), name) == Ordering::Less
        };
        let position = line_starts.partition_point(is_less);
        line_starts.get(position).map_or(text.len(), |start| *start as usize)
    }

    /// Returns all entries of the version with this letter, sorted by name.
    #[expect(clippy::expect_used, reason = "the letter is one of this file, which is a part of the program")]
    pub(super) fn entries_of_version(&self, letter: u8) -> &[TableEntry] {
        let lines = || self.header().entries.lines().map(parse_entry).filter(move |entry| self.covers(entry, letter));
        let slot =
            self.entries.get(usize::from(letter.saturating_sub(b'a'))).expect("a version has a letter from a to z");
        slot.get_or_init(|| lines().collect())
    }

    /// Returns the entries of the version with this letter whose names start with a prefix, sorted by name.
    pub(super) fn entries_with_prefix(&self, letter: u8, prefix: &str) -> &[TableEntry] {
        let entries = self.entries_of_version(letter);
        let (_, rest) = entries.split_at(entries.partition_point(|entry| entry.name < prefix));
        let (found, _) = rest.split_at(rest.partition_point(|entry| entry.name.starts_with(prefix)));
        found
    }

    /// Returns the name in the version with this letter that is closest to an unknown one, if any is close.
    pub(super) fn suggest(&'static self, letter: u8, name: &str) -> Option<&'static str> {
        let key = (letter, name.to_owned());
        let kept = || self.suggestions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(suggestion) = kept().get(&key) {
            return *suggestion;
        }
        // Every other name of one or two letters would be close to a short one.
        let names = self.entries_of_version(letter).iter().map(|entry| entry.name).filter(|name| name.len() > 2);
        let suggestion = closest(name, names);
        let mut kept = kept();
        if kept.len() < MAX_KEPT_SUGGESTIONS {
            kept.insert(key, suggestion);
        }
        suggestion
    }

    /// Returns whether the version column of an entry includes a letter: `*`, or runs such as `a-cf-`.
    pub(super) fn covers(&self, entry: &TableEntry, letter: u8) -> bool {
        let mut letters = entry.versions.bytes().peekable();
        while let Some(first) = letters.next() {
            if first == b'*' {
                return true;
            }
            let last =
                if letters.next_if_eq(&b'-').is_some() { letters.next().unwrap_or(self.newest()) } else { first };
            if (first..=last).contains(&letter) {
                return true;
            }
        }
        false
    }
}

/// Returns the start of the first line whose name is not less, by a binary search over bytes: the middle is moved to the
/// start of its line.
fn find_without_index(text: &str, name: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut start, mut end) = (0, bytes.len());
    while start < end {
        let middle = start + (end - start) / 2;
        let before = bytes.get(start..middle).unwrap_or_default();
        let line_start = memchr::memrchr(b'\n', before).map_or(start, |at| start + at + 1);
        let line = text.get(line_start..).unwrap_or_default();
        if compare_names(name_of_line(line), name) == Ordering::Less {
            start = line_start + memchr::memchr(b'\n', line.as_bytes()).map_or(line.len(), |at| at + 1);
        } else {
            end = line_start;
        }
    }
    start
}

/// Returns the name at the start of a line.
fn name_of_line(line: &str) -> &str {
    let length = memchr::memchr(b' ', line.as_bytes()).unwrap_or(line.len());
    line.get(..length).unwrap_or_default()
}

fn parse_entry(line: &'static str) -> TableEntry {
    let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
    let (versions, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    TableEntry { name, versions, rest }
}

/// Compares a name in a file with a name that a user wrote, in which `_` equals `-`.
fn compare_names(file_name: &str, name: &str) -> Ordering {
    file_name.bytes().cmp(name.bytes().map(|byte| if byte == b'_' { b'-' } else { byte }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_searches_find_the_same_line() {
        let file = FlagFile::new("p", "#versions a=1\nabc * v\nand * v\nand b v\nb-c a v\n");
        let text = file.header().entries;
        for name in ["", "a", "abc", "and", "abe", "b_c", "b-c", "c"] {
            assert_eq!(find_without_index(text, name), file.find_by_index(text, name), "{name}");
        }
        assert_eq!(file.entries_of("and").count(), 2);
        assert_eq!(file.entries_of("b_c").count(), 1);
        assert_eq!(file.entries_of("zzz").count(), 0);
    }
}
