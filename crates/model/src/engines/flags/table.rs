//! A flag table: sorted text that lookups search in place.
//!
//! A line is `name versions rest`. Letters stand for versions: `*` is all of them, `a-cf-` is a to c and f to the
//! newest. The rest is the flag's type and attributes, `=name` for an alias or `!name` for an off form.

use std::cmp::Ordering;

use super::flag::{Flag, FlagGroup, FlagKind, Repetition, ValueType};
use kubefoundry_yaml::text::closest;

/// The relation between a name and the flag that it stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// The flag's canonical name.
    Name,
    /// Another name of the flag.
    Alias,
    /// The flag's off form, which turns it off.
    Off,
}

/// The flags of one engine version.
#[derive(Debug, Clone, Copy)]
pub struct FlagTable {
    /// The lines of all versions, sorted by name.
    entries: &'static str,
    /// This version's letter in the version column.
    version: u8,
    /// The letter of the newest version.
    newest: u8,
    uncertain: bool,
}

/// A line of a table.
#[derive(Clone, Copy)]
pub(super) struct TableEntry {
    pub(super) name: &'static str,
    versions: &'static str,
    rest: &'static str,
}

impl FlagTable {
    /// Creates the table of `version`, or returns `None` if the text does not know that version.
    pub(super) fn new(text: &'static str, version: &str) -> Option<Self> {
        let (letter, newest) = version_letters(text, version)?;
        Some(Self::with_letters(text, letter, newest))
    }

    /// Creates the table of the newest version.
    pub(super) fn newest(text: &'static str) -> Self {
        let newest = versions(text).next_back().and_then(|(letter, _)| letter.bytes().next()).unwrap_or(b'a');
        Self::with_letters(text, newest, newest)
    }

    /// Creates the table of the newest known version that is not newer than `version`, or of the oldest known version.
    pub(super) fn nearest(text: &'static str, version: &str) -> Self {
        let requested = version_numbers(version);
        let known = versions(text).rfind(|(_, known)| version_numbers(known) <= requested);
        let letter = known.or_else(|| versions(text).next()).and_then(|(letter, _)| letter.bytes().next());
        let newest = versions(text).next_back().and_then(|(letter, _)| letter.bytes().next()).unwrap_or(b'a');
        Self::with_letters(text, letter.unwrap_or(newest), newest)
    }

    /// Creates the table of each known version, oldest first.
    pub(super) fn by_version(text: &'static str) -> impl Iterator<Item = (&'static str, Self)> {
        versions(text).filter_map(move |(_, version)| Some((version, Self::new(text, version)?)))
    }

    fn with_letters(text: &'static str, version: u8, newest: u8) -> Self {
        // The header lines start with `#`.
        let mut entries = text;
        let mut uncertain = false;
        while let Some((line, rest)) = entries.split_once('\n').filter(|(line, _)| line.starts_with('#')) {
            uncertain |= line == "#uncertain";
            entries = rest;
        }
        Self { entries, version, newest, uncertain }
    }

    /// Finds a flag by any of its names, in kebab-case or snake_case, without leading dashes.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use kubefoundry_model::engines::flags;
    /// use kubefoundry_model::engines::flags::{FlagKind, Spelling};
    /// let vllm = flags::vllm("0.26.0").ok_or("known version")?;
    /// let (flag, spelling) = vllm.lookup("max_model_len").ok_or("known flag")?;
    /// assert_eq!((flag.name, flag.kind, spelling), ("max-model-len", FlagKind::Value, Spelling::Name));
    /// let (flag, spelling) = vllm.lookup("no-enable-prefix-caching").ok_or("known flag")?;
    /// assert_eq!((flag.name, flag.kind, spelling), ("enable-prefix-caching", FlagKind::Pair, Spelling::Off));
    /// assert_eq!(vllm.lookup("tp").map(|(flag, spelling)| (flag.name, spelling)), Some(("tensor-parallel-size", Spelling::Alias)));
    /// assert!(vllm.lookup("disable-radix-cache").is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub fn lookup(&self, name: &str) -> Option<(Flag, Spelling)> {
        if let Some(entry) = self.find(name) {
            return self.resolve(entry);
        }
        // Every name of a pair has a negation, its aliases too.
        let (flag, _) = self.resolve(self.find(name.strip_prefix("no-").or_else(|| name.strip_prefix("no_"))?)?)?;
        flag.off.is_some_and(|off| off.starts_with("no-")).then_some((flag, Spelling::Off))
    }

    /// Returns the other names of a flag by its canonical name.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use kubefoundry_model::engines::flags;
    /// let sglang = flags::sglang("0.5.16").ok_or("known version")?;
    /// assert_eq!(sglang.aliases("tp-size").collect::<Vec<_>>(), ["tensor-parallel-size", "tp"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn aliases<'n>(&self, name: &'n str) -> impl Iterator<Item = &'static str> + use<'n> {
        self.version_entries().filter(move |entry| entry.rest.strip_prefix('=') == Some(name)).map(|entry| entry.name)
    }

    /// Returns the canonical names of all flags, sorted.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use kubefoundry_model::engines::flags;
    /// assert_eq!(flags::vllm("0.33.0").ok_or("known version")?.names().count(), 320);
    /// # Ok(())
    /// # }
    /// ```
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.version_entries().filter(|entry| !entry.rest.starts_with(['=', '!'])).map(|entry| entry.name)
    }

    /// Suggests the closest name for an unknown one.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use kubefoundry_model::engines::flags;
    /// let vllm = flags::vllm("0.26.0").ok_or("known version")?;
    /// assert_eq!(vllm.suggest("max_model_length"), Some("max-model-len"));
    /// assert_eq!(vllm.suggest("weather"), None);
    /// # Ok(())
    /// # }
    /// ```
    pub fn suggest(&self, name: &str) -> Option<&'static str> {
        // Every other name of one or two letters would be close to a short one.
        closest(name, self.version_entries().map(|entry| entry.name).filter(|name| name.len() > 2))
    }

    /// Returns the replacement of a flag that this version lacks, if the table of another version names one.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use kubefoundry_model::engines::flags;
    /// let sglang = flags::sglang("0.5.21").ok_or("known version")?;
    /// assert!(sglang.lookup("cuda-graph-bs").is_none());
    /// assert_eq!(sglang.replacement("cuda-graph-bs"), Some("--cuda-graph-bs-decode"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn replacement(&self, name: &str) -> Option<&'static str> {
        self.entries_of(name).find_map(|entry| entry.rest.split_once("use=")).map(|(_, replacement)| replacement)
    }

    /// Returns whether another version of the engine has a flag, alias or off form of this name.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use kubefoundry_model::engines::flags;
    /// let vllm = flags::vllm("0.26.0").ok_or("known version")?;
    /// assert!(vllm.lookup("grpc-port").is_none() && vllm.is_known_in_other_version("grpc-port"));
    /// assert!(!vllm.is_known_in_other_version("swap-space"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn is_known_in_other_version(&self, name: &str) -> bool {
        self.entries_of(name).any(|entry| !self.covers(entry.versions))
    }

    /// Returns the flag of an entry. Aliases and off forms lead to the entry of the canonical name.
    pub(super) fn resolve(&self, entry: TableEntry) -> Option<(Flag, Spelling)> {
        let (entry, spelling) = if let Some(name) = entry.rest.strip_prefix('=') {
            (self.find(name)?, Spelling::Alias)
        } else if let Some(name) = entry.rest.strip_prefix('!') {
            (self.find(name)?, Spelling::Off)
        } else {
            (entry, Spelling::Name)
        };
        Some((self.parse_flag(entry), spelling))
    }

    /// Parses the type and the attributes of an entry.
    fn parse_flag(&self, entry: TableEntry) -> Flag {
        let (rest, replaced_by) = match entry.rest.split_once(" use=") {
            Some((rest, replacement)) => (rest, Some(replacement)),
            None => (entry.rest, None),
        };
        let mut words = rest.split(' ');
        let mut type_word = words.next().unwrap_or_default();
        let (mut kind, mut repeat) = (FlagKind::Value, Repetition::Once);
        if let Some(word) = type_word.strip_suffix('?') {
            (type_word, kind) = (word, FlagKind::OptionalValue);
        } else if let Some(word) = type_word.strip_suffix('+') {
            (type_word, repeat) = (word, Repetition::List);
        } else if let Some(word) = type_word.strip_suffix('&') {
            (type_word, repeat) = (word, Repetition::Append);
        }
        let value_type = match type_word {
            "switch" => {
                kind = FlagKind::Switch;
                ValueType::Boolean
            }
            "pair" => {
                kind = FlagKind::Pair;
                ValueType::Boolean
            }
            "bool" => ValueType::Boolean,
            "int" => ValueType::Integer,
            "human-int" => ValueType::HumanInteger,
            "si-int" => ValueType::SiInteger,
            "float" => ValueType::Float,
            "json" => ValueType::Json,
            "json-object" => ValueType::JsonObject,
            "json-or-str" => ValueType::JsonOrText,
            "path" => ValueType::Path,
            _ => ValueType::Text,
        };
        let mut flag = Flag {
            name: entry.name,
            kind,
            value_type,
            repeat,
            off: None,
            group: FlagGroup::Engine,
            deprecated: false,
            replaced_by,
            uncertain: self.uncertain,
            choices: "",
            special_values: "",
        };
        for word in words {
            match word.split_once('=') {
                Some(("off", off)) => flag.off = Some(off),
                Some(("choices", choices)) => flag.choices = choices,
                Some(("also", also)) => flag.special_values = also,
                _ if word == "frontend" => flag.group = FlagGroup::Frontend,
                _ if word == "wrapper" => flag.group = FlagGroup::Wrapper,
                _ if word == "deprecated" => flag.deprecated = true,
                _ => {}
            }
        }
        flag
    }

    /// Returns this version's entry of a name.
    fn find(&self, name: &str) -> Option<TableEntry> {
        self.entries_of(name).find(|entry| self.covers(entry.versions))
    }

    /// Returns the entries of a name, one for each set of versions with the same facts.
    fn entries_of<'n>(&self, name: &'n str) -> impl Iterator<Item = TableEntry> + use<'n> {
        let text = self.entries;
        // Binary search by byte offset for the first line whose name is not less than the wanted one. The middle of the
        // range is moved back to the start of its line.
        let (mut low, mut high) = (0, text.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let start = text.as_bytes().get(..middle).and_then(|head| head.iter().rposition(|byte| *byte == b'\n'));
            let start = start.map_or(0, |newline| newline + 1);
            let line = text.get(start..).and_then(|tail| tail.lines().next()).unwrap_or_default();
            if compare_names(parse_entry(line).name, name) == Ordering::Less {
                low = start + line.len() + 1;
            } else {
                high = start;
            }
        }
        let tail = text.get(low..).unwrap_or_default();
        tail.lines().map(parse_entry).take_while(move |entry| compare_names(entry.name, name) == Ordering::Equal)
    }

    pub(super) fn version_entries(&self) -> impl Iterator<Item = TableEntry> + use<> {
        let table = *self;
        self.entries.lines().map(parse_entry).filter(move |entry| table.covers(entry.versions))
    }

    /// Returns whether a version column includes this version: `*`, or runs such as `a-cf-`.
    fn covers(&self, column: &str) -> bool {
        let mut letters = column.bytes().peekable();
        while let Some(first) = letters.next() {
            if first == b'*' {
                return true;
            }
            let last = if letters.next_if_eq(&b'-').is_some() { letters.next().unwrap_or(self.newest) } else { first };
            if (first..=last).contains(&self.version) {
                return true;
            }
        }
        false
    }
}

/// Returns the letter of a version and that of the newest version.
fn version_letters(text: &'static str, version: &str) -> Option<(u8, u8)> {
    let letter = versions(text).find(|(_, known)| *known == version)?.0.bytes().next()?;
    let newest = versions(text).next_back()?.0.bytes().next()?;
    Some((letter, newest))
}

/// Returns the letters and versions of a table, oldest first.
fn versions(text: &'static str) -> impl DoubleEndedIterator<Item = (&'static str, &'static str)> {
    let line = text.lines().find_map(|line| line.strip_prefix("#versions ")).unwrap_or_default();
    line.split(' ').filter_map(|word| word.split_once('='))
}

/// Returns the numbers of a version, for comparison.
fn version_numbers(version: &str) -> Vec<u32> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

fn parse_entry(line: &'static str) -> TableEntry {
    let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
    let (versions, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    TableEntry { name, versions, rest }
}

/// Compares a name in a table with a name that a user wrote, in which `_` equals `-`.
fn compare_names(table_name: &str, name: &str) -> Ordering {
    table_name.bytes().cmp(name.bytes().map(|byte| if byte == b'_' { b'-' } else { byte }))
}
