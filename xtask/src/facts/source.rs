//! Sources of facts: lines `name key=value …`, as in the generated files, under lines that name where they are from.
//!
//! `source: TOKEN` holds for the lines after it, up to the next such line. Lines that start with `#` are comments, and
//! the other lines `key: value` say how a file was read.

use std::path::Path;

use kubefoundry_yaml::{append, append_line};

use super::{read_text, unmet};
use crate::Failure;

/// A line of facts with its source.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Record {
    pub(crate) name: String,
    /// Keys and values, in their order.
    pub(crate) pairs: Vec<(String, String)>,
    pub(crate) source: String,
}

impl Record {
    fn parse(line: &str, source: &str) -> Result<Self, String> {
        let mut words = line.split(' ');
        let name = words.next().unwrap_or_default().to_owned();
        let mut pairs: Vec<(String, String)> = Vec::new();
        for word in words {
            let (key, value) = word.split_once('=').ok_or_else(|| format!("{name}: `{word}` is not key=value"))?;
            if value.is_empty() {
                return Err(format!("{name}: `{key}` has no value"));
            }
            if pairs.iter().any(|(other, _)| other == key) {
                return Err(format!("{name}: `{key}` occurs twice"));
            }
            pairs.push((key.to_owned(), value.to_owned()));
        }
        if source.is_empty() {
            return Err(format!("{name}: no line `source:` above it"));
        }
        Ok(Self { name, pairs, source: source.to_owned() })
    }

    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.pairs.iter().find(|(other, _)| other == key).map(|(_, value)| value.as_str())
    }

    /// Returns the name by which lines are sorted and found.
    pub(crate) fn sort_key(&self) -> String {
        self.name.to_ascii_lowercase()
    }
}

/// Reads a source.
pub(crate) fn read(path: &Path) -> Result<Vec<Record>, Failure> {
    parse(&read_text(path)?).map_err(|error| unmet(path, error))
}

pub(crate) fn parse(text: &str) -> Result<Vec<Record>, String> {
    let mut source = "";
    let mut records: Vec<Record> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.split_once(": ") {
            Some(("source", token)) => source = token,
            Some((key, _)) if key.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()) => {}
            _ => {
                let record = Record::parse(line, source)?;
                if records.iter().any(|other| other.sort_key() == record.sort_key()) {
                    return Err(format!("{} occurs twice", record.name));
                }
                records.push(record);
            }
        }
    }
    Ok(records)
}

/// Returns the generated lines, sorted as `crates/facts/src/line.rs` searches them.
pub(crate) fn render(records: &[Record]) -> String {
    let mut records: Vec<&Record> = records.iter().collect();
    records.sort_by_key(|record| record.sort_key());
    let mut text = String::new();
    for record in records {
        text.push_str(&record.name);
        for (key, value) in &record.pairs {
            append!(text, " {key}={value}");
        }
        append_line!(text, " source={}", record.source);
    }
    text
}
