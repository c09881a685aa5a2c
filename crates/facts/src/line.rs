//! Lines of facts: a name and `key=value` pairs, separated by blanks, sorted by name.

use std::cmp::Ordering;
use std::str::FromStr;

/// A line of a file of facts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'f> {
    /// The first word.
    pub(crate) name: &'f str,
    pairs: &'f str,
}

impl<'f> Line<'f> {
    fn new(line: &'f str) -> Self {
        let (name, pairs) = line.split_once(' ').unwrap_or((line, ""));
        Self { name, pairs }
    }

    /// Returns the value of a key. Blanks in values are written as `_`.
    pub(crate) fn get(&self, key: &str) -> Option<&'f str> {
        let mut pairs = self.pairs.split(' ');
        pairs.find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='))
    }

    /// Returns the value of a key that every line of the file has.
    pub(crate) fn required(&self, key: &str) -> &'f str {
        self.get(key).unwrap_or_else(|| damaged(self.name, key))
    }

    /// Returns the number that a key has.
    pub(crate) fn number<N: FromStr>(&self, key: &str) -> Option<N> {
        Some(parse(self.name, key, self.get(key)?))
    }

    /// Returns the number that a key of every line has.
    pub(crate) fn required_number<N: FromStr>(&self, key: &str) -> N {
        parse(self.name, key, self.required(key))
    }

    /// Returns the two numbers that a key has, with a separator between them.
    pub(crate) fn two_numbers<N: FromStr>(&self, key: &str, separator: char) -> Option<(N, N)> {
        Some(parse_two(self.name, key, self.get(key)?, separator))
    }

    /// Returns the values of a key, which are separated by commas.
    pub(crate) fn list(&self, key: &str) -> Vec<&'f str> {
        self.get(key).into_iter().flat_map(|values| values.split(',')).collect()
    }

    /// Splits the line into its pairs once, for a reader of many keys.
    pub(crate) fn pairs(&self) -> Pairs<'f> {
        let mut pairs = Vec::with_capacity(32);
        pairs.extend(self.pairs.split(' ').filter_map(|pair| pair.split_once('=')));
        Pairs { name: self.name, pairs }
    }
}

/// The pairs of a line.
pub(crate) struct Pairs<'f> {
    name: &'f str,
    pairs: Vec<(&'f str, &'f str)>,
}

impl<'f> Pairs<'f> {
    /// Returns the value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&'f str> {
        self.pairs.iter().find(|(known, _)| *known == key).map(|(_, value)| *value)
    }

    /// Returns the value of a key that every line of the file has.
    pub(crate) fn required(&self, key: &str) -> &'f str {
        self.get(key).unwrap_or_else(|| damaged(self.name, key))
    }

    /// Returns the number that a key has.
    pub(crate) fn number<N: FromStr>(&self, key: &str) -> Option<N> {
        Some(parse(self.name, key, self.get(key)?))
    }

    /// Returns the two numbers that a key has, with a separator between them.
    pub(crate) fn two_numbers<N: FromStr>(&self, key: &str, separator: char) -> Option<(N, N)> {
        Some(parse_two(self.name, key, self.get(key)?, separator))
    }

    /// Returns the values of a key, which are separated by commas.
    pub(crate) fn list(&self, key: &str) -> Vec<&'f str> {
        self.get(key).into_iter().flat_map(|values| values.split(',')).collect()
    }
}

fn parse<N: FromStr>(name: &str, key: &str, text: &str) -> N {
    text.parse().unwrap_or_else(|_| damaged(name, key))
}

pub(crate) fn parse_two<N: FromStr>(name: &str, key: &str, text: &str, separator: char) -> (N, N) {
    let (first, second) = text.split_once(separator).unwrap_or_else(|| damaged(name, key));
    (parse(name, key, first), parse(name, key, second))
}

/// Stops the program, because a file of facts is not as it was generated. An absent fact means that it is unknown, so
/// going on would weaken checks silently. The tests of the readers read every line.
#[expect(clippy::panic, reason = "the files are a part of the program; no text of a user gets here")]
fn damaged(name: &str, key: &str) -> ! {
    panic!("the built-in facts of {name:?} are damaged: {key}")
}

/// Finds the line of a name in a file whose lines are sorted by their names in lower case. Case does not matter.
pub(crate) fn find(file: &'static str, name: &str) -> Option<Line<'static>> {
    let name = name.to_ascii_lowercase();
    search(file, |other| other.bytes().map(|byte| byte.to_ascii_lowercase()).cmp(name.bytes()))
}

/// Finds the line of a name in a file whose lines are sorted by the bytes of their names. Case matters.
pub(crate) fn find_exact(file: &'static str, name: &str) -> Option<Line<'static>> {
    search(file, |other| other.cmp(name))
}

/// Searches a file whose lines are in the order of `compare`, which compares a name with the one that is searched.
fn search(file: &'static str, compare: impl Fn(&str) -> Ordering) -> Option<Line<'static>> {
    // A binary search over bytes: the middle is moved to the start of its line.
    let (mut start, mut end) = (0, file.len());
    while start < end {
        let middle = file.get(start..start + (end - start) / 2)?.rfind('\n').map_or(start, |at| start + at + 1);
        let rest = file.get(middle..end)?;
        // Lines are long, and most of those that the search meets are not read to their end.
        let length = rest.bytes().position(|byte| matches!(byte, b' ' | b'\n')).unwrap_or(rest.len());
        let name = rest.get(..length)?;
        match compare(name) {
            Ordering::Equal => return rest.lines().next().map(Line::new),
            Ordering::Less => start = middle + rest.find('\n').map_or(rest.len(), |at| at + 1),
            Ordering::Greater => end = middle,
        }
    }
    None
}

/// Returns all lines of a file.
pub(crate) fn lines(file: &'static str) -> impl Iterator<Item = Line<'static>> {
    file.lines().map(Line::new)
}
