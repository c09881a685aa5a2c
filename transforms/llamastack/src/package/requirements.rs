//! Requirements of wheels (`Requires-Dist` in METADATA).
//!
//! Source: <https://packaging.python.org/en/latest/specifications/dependency-specifiers/>. Versions are compared by
//! `pep440_rs`. Markers are evaluated here, and not by `pep508_rs`, because the Python of the server is not known: a
//! marker can be true, false or open.

use std::str::FromStr as _;

use pep440_rs::{Version, VersionSpecifiers};

use super::wheel::normalized_name;
use kubefoundry_yaml::text::one_line;

/// The most levels of parentheses in a marker.
const MAX_DEPTH: usize = 32;

/// A requirement of a wheel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    text: String,
    name: String,
    extras: Vec<String>,
    /// `None` if any version fits, or if the requirement names a URL.
    versions: Option<VersionSpecifiers>,
    marker: Option<Marker>,
}

/// A condition on the system or on the extras that are installed.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Marker {
    /// `extra == "name"`, with whether it is `!=`.
    Extra(String, bool),
    /// A comparison whose result is known for every pod: the system is Linux and the Python is CPython 3.
    Known(bool),
    /// A comparison that depends on the server.
    Open,
    And(Box<Marker>, Box<Marker>),
    Or(Box<Marker>, Box<Marker>),
}

impl Requirement {
    /// Parses a line of METADATA.
    ///
    /// ```
    /// use kubefoundry_llamastack::package::Requirement;
    /// let requirement = Requirement::parse("Some.Dep[fast,tls] (>=1.0, <2) ; extra == 'all'").unwrap();
    /// assert_eq!((requirement.name(), requirement.extras()), ("some-dep", &["fast".to_owned(), "tls".to_owned()][..]));
    /// assert!(requirement.accepts("1.5") && !requirement.accepts("2.0"));
    /// assert_eq!((requirement.applies(""), requirement.applies("all")), (Some(false), Some(true)));
    /// ```
    ///
    /// # Errors
    /// Returns an error if the line is not a requirement.
    pub fn parse(line: &str) -> Result<Self, String> {
        let invalid = |reason: &str| format!("has the invalid requirement {:?}: {reason}", one_line(line));
        // A URL can contain a semicolon, so that of its marker follows white space.
        let (requirement, marker) = if line.contains('@') {
            line.split_once(" ;").map_or((line, None), |(before, after)| (before, Some(after)))
        } else {
            line.split_once(';').map_or((line, None), |(before, after)| (before, Some(after)))
        };
        let requirement = requirement.trim();
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let end = requirement.find(|c| !is_of_name(c)).unwrap_or(requirement.len());
        let (name, rest) = requirement.split_at(end);
        if name.is_empty() {
            return Err(invalid("it has no name"));
        }
        let mut rest = rest.trim();
        let mut extras = Vec::new();
        if let Some(inside) = rest.strip_prefix('[') {
            let (list, after) = inside.split_once(']').ok_or_else(|| invalid("the extras are not closed"))?;
            extras = list.split(',').map(normalized_name).filter(|extra| !extra.is_empty()).collect();
            rest = after.trim();
        }
        let list = rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(rest).trim();
        let versions = if list.is_empty() || list.starts_with('@') {
            None
        } else {
            Some(VersionSpecifiers::from_str(list).map_err(|error| invalid(&error.to_string()))?)
        };
        let marker = marker.map(|marker| parse_marker(marker).ok_or_else(|| invalid("its marker is not understood")));
        Ok(Self {
            text: one_line(requirement),
            name: normalized_name(name),
            extras,
            versions,
            marker: marker.transpose()?,
        })
    }

    /// Returns the normalized name of what is required.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the normalized extras of it.
    pub fn extras(&self) -> &[String] {
        &self.extras
    }

    /// Returns the requirement as it is written, without its marker.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether a version meets the requirement. One that is not a version of PEP 440 does, since nothing is known.
    pub fn accepts(&self, version: &str) -> bool {
        let Some(versions) = &self.versions else { return true };
        Version::from_str(version).map_or(true, |version| versions.contains(&version))
    }

    /// Returns whether the requirement applies when an extra of its wheel is installed, or without one if `extra` is
    /// empty. `None` if it depends on the server.
    pub fn applies(&self, extra: &str) -> Option<bool> {
        self.marker.as_ref().map_or(Some(true), |marker| marker.evaluate(extra))
    }
}

impl Marker {
    fn evaluate(&self, extra: &str) -> Option<bool> {
        match self {
            Self::Extra(name, negated) => Some((name == extra) != *negated),
            Self::Known(result) => Some(*result),
            Self::Open => None,
            Self::And(left, right) => match (left.evaluate(extra), right.evaluate(extra)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
            Self::Or(left, right) => match (left.evaluate(extra), right.evaluate(extra)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
        }
    }
}

/// A word of a marker.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Word {
    Open,
    Close,
    Name(String),
    Text(String),
    Operator(String),
}

fn parse_marker(text: &str) -> Option<Marker> {
    let words = words(text)?;
    let mut rest = words.as_slice();
    let marker = either(&mut rest, 0)?;
    rest.is_empty().then_some(marker)
}

fn words(text: &str) -> Option<Vec<Word>> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '(' | ')' => {
                words.push(if first == '(' { Word::Open } else { Word::Close });
                1
            }
            '"' | '\'' => {
                let (inside, _) = rest.get(1..)?.split_once(first)?;
                words.push(Word::Text(inside.to_owned()));
                inside.len() + 2
            }
            '<' | '>' | '=' | '!' | '~' => {
                let end = rest.find(|c| !matches!(c, '<' | '>' | '=' | '!' | '~')).unwrap_or(rest.len());
                words.push(Word::Operator(rest.get(..end)?.to_owned()));
                end
            }
            _ => {
                let end =
                    rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.'))).unwrap_or(rest.len());
                let word = rest.get(..end).filter(|word| !word.is_empty())?;
                words.push(Word::Name(word.to_owned()));
                end
            }
        };
        rest = rest.get(length..)?.trim_start();
    }
    Some(words)
}

fn take(rest: &mut &[Word], expected: &Word) -> bool {
    let others = rest.split_first().filter(|(first, _)| *first == expected).map(|(_, others)| others);
    if let Some(others) = others {
        *rest = others;
    }
    others.is_some()
}

fn either(rest: &mut &[Word], depth: usize) -> Option<Marker> {
    let mut marker = both(rest, depth)?;
    while take(rest, &Word::Name("or".to_owned())) {
        marker = Marker::Or(Box::new(marker), Box::new(both(rest, depth)?));
    }
    Some(marker)
}

fn both(rest: &mut &[Word], depth: usize) -> Option<Marker> {
    let mut marker = comparison(rest, depth)?;
    while take(rest, &Word::Name("and".to_owned())) {
        marker = Marker::And(Box::new(marker), Box::new(comparison(rest, depth)?));
    }
    Some(marker)
}

fn comparison(rest: &mut &[Word], depth: usize) -> Option<Marker> {
    if take(rest, &Word::Open) {
        let marker = if depth < MAX_DEPTH { either(rest, depth + 1)? } else { return None };
        return take(rest, &Word::Close).then_some(marker);
    }
    let (left, after) = rest.split_first()?;
    let (mut operator, mut after) = after.split_first()?;
    let mut negated = false;
    if *operator == Word::Name("not".to_owned()) {
        (operator, after) = after.split_first()?;
        negated = true;
    }
    let (right, after) = after.split_first()?;
    *rest = after;
    let operator = match operator {
        Word::Operator(operator) if !negated => operator.as_str(),
        Word::Name(name) if name == "in" => "in",
        _ => return None,
    };
    let ((Word::Name(name), Word::Text(value)) | (Word::Text(value), Word::Name(name))) = (left, right) else {
        return None;
    };
    let equality = match operator {
        "==" | "===" => Some(true),
        "!=" => Some(false),
        _ => None,
    };
    let known = match name.as_str() {
        "os_name" => Some("posix"),
        "sys_platform" => Some("linux"),
        "platform_system" => Some("Linux"),
        "platform_python_implementation" => Some("CPython"),
        "implementation_name" => Some("cpython"),
        _ => None,
    };
    Some(match (name.as_str(), known, equality) {
        ("extra", _, Some(equal)) => Marker::Extra(normalized_name(value), !equal),
        (_, Some(known), Some(equal)) => Marker::Known((known == value) == equal),
        _ => Marker::Open,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evaluates_markers_as_far_as_the_server_is_known() {
        for (marker, expected) in [
            ("sys_platform == 'win32'", Some(false)),
            ("sys_platform != \"win32\"", Some(true)),
            ("python_version < '3.11'", None),
            ("python_version < '3.11' and os_name == 'nt'", Some(false)),
            ("'linux' == sys_platform or python_version < '3'", Some(true)),
            ("(extra == 'a' or extra == 'b') and sys_platform == 'linux'", Some(false)),
            ("platform_machine not in 'arm64 aarch64'", None),
        ] {
            assert_eq!(Requirement::parse(&format!("a ; {marker}")).unwrap().applies(""), expected, "{marker}");
        }
    }

    #[test]
    fn rejects_what_is_not_a_requirement() {
        let deep = format!("a; {}extra == 'a'{}", "(".repeat(100_000), ")".repeat(100_000));
        for line in ["", ">=1", "a[b", "a >=", "a ; extra ==", "a ; extra 'b'", "a ; 'b' == 'c'", "a;\u{e9}", &deep] {
            assert!(Requirement::parse(line).is_err(), "{line:.40}");
        }
    }

    #[test]
    fn compares_versions_by_pep_440() {
        let accepts = |line: &str, version: &str| Requirement::parse(line).unwrap().accepts(version);
        assert!(accepts("a==1.0", "1.0.0") && accepts("a~=1.4", "1.9") && accepts("a==1.0rc1", "1.0.0rc1"));
        assert!(!accepts("a~=1.4", "2.0") && !accepts("a!=1.0", "1") && accepts("a @ https://x/y;z", "7"));
    }
}
