//! A flag table: sorted text, searched in place.

use std::cmp::Ordering;

use super::flag::{Flag, FlagGroup, FlagKind, Repetition, ValueType};
use kubefoundry_yaml::text::closest;

/// How the user's name for a flag relates to the flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// Its canonical name.
    Name,
    /// Another name of it.
    Alias,
    /// Its off form: what was written says no.
    Off,
}

/// The flags of one engine version.
#[derive(Debug, Clone, Copy)]
pub struct FlagTable {
    /// Entries of all versions, sorted by name.
    entries: &'static str,
    /// This version's letter in the version column.
    version: u8,
    /// The letter of the newest version.
    newest: u8,
    uncertain: bool,
}

/// One line of a table: `name versions rest`.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) name: &'static str,
    versions: &'static str,
    rest: &'static str,
}

impl FlagTable {
    /// The table in `text` as `version` sees it; none where the text does not know that version.
    pub(super) fn new(text: &'static str, version: &str) -> Option<Self> {
        let (letter, newest) = letters(text, version)?;
        Some(Self::with_letters(text, letter, newest))
    }

    /// The table in `text` as its newest version sees it.
    pub(super) fn newest(text: &'static str) -> Self {
        let newest = versions(text).next_back().and_then(|(letter, _)| letter.bytes().next()).unwrap_or(b'a');
        Self::with_letters(text, newest, newest)
    }

    /// The table in `text` as the newest version not after `version` sees it; of an older one than all, as the oldest.
    pub(super) fn nearest(text: &'static str, version: &str) -> Self {
        let wanted = numbers(version);
        let known = versions(text).rfind(|(_, known)| numbers(known) <= wanted);
        let letter = known.or_else(|| versions(text).next()).and_then(|(letter, _)| letter.bytes().next());
        let newest = versions(text).next_back().and_then(|(letter, _)| letter.bytes().next()).unwrap_or(b'a');
        Self::with_letters(text, letter.unwrap_or(newest), newest)
    }

    /// The table in `text` as each of its versions sees it, oldest first.
    pub(super) fn all(text: &'static str) -> impl Iterator<Item = (&'static str, Self)> {
        versions(text).filter_map(move |(_, version)| Some((version, Self::new(text, version)?)))
    }

    fn with_letters(text: &'static str, version: u8, newest: u8) -> Self {
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

    /// The other names of a flag, given its canonical name.
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
        self.own_entries().filter(move |entry| entry.rest.strip_prefix('=') == Some(name)).map(|entry| entry.name)
    }

    /// The canonical names of all flags, sorted.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use kubefoundry_model::engines::flags;
    /// assert_eq!(flags::vllm("0.33.0").ok_or("known version")?.names().count(), 320);
    /// # Ok(())
    /// # }
    /// ```
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.own_entries().filter(|entry| !entry.rest.starts_with(['=', '!'])).map(|entry| entry.name)
    }

    /// The name the user may have meant: did you mean …?
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
        // Of one letter or two, any other is close.
        closest(name, self.own_entries().map(|entry| entry.name).filter(|name| name.len() > 2))
    }

    /// For a name this version lacks: what takes its place, where another version of the engine says so.
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
        self.named(name).find_map(|entry| entry.rest.split_once("use=")).map(|(_, replacement)| replacement)
    }

    /// Whether another version of the engine has a flag, alias or off form of this name.
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
        self.named(name).any(|entry| !self.covers(entry.versions))
    }

    /// The flag an entry stands for.
    pub(super) fn resolve(&self, entry: Entry) -> Option<(Flag, Spelling)> {
        let (entry, spelling) = if let Some(name) = entry.rest.strip_prefix('=') {
            (self.find(name)?, Spelling::Alias)
        } else if let Some(name) = entry.rest.strip_prefix('!') {
            (self.find(name)?, Spelling::Off)
        } else {
            (entry, Spelling::Name)
        };
        Some((self.flag(entry), spelling))
    }

    fn flag(&self, entry: Entry) -> Flag {
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

    /// This version's entry of a name.
    fn find(&self, name: &str) -> Option<Entry> {
        self.named(name).find(|entry| self.covers(entry.versions))
    }

    /// The entries of a name, one for each set of versions that agree.
    fn named<'n>(&self, name: &'n str) -> impl Iterator<Item = Entry> + use<'n> {
        let text = self.entries;
        // The first line whose name is not less than the one looked for.
        let (mut low, mut high) = (0, text.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let start = text.as_bytes().get(..middle).and_then(|head| head.iter().rposition(|byte| *byte == b'\n'));
            let start = start.map_or(0, |newline| newline + 1);
            let line = text.get(start..).and_then(|tail| tail.lines().next()).unwrap_or_default();
            if compare(entry(line).name, name) == Ordering::Less {
                low = start + line.len() + 1;
            } else {
                high = start;
            }
        }
        let tail = text.get(low..).unwrap_or_default();
        tail.lines().map(entry).take_while(move |entry| compare(entry.name, name) == Ordering::Equal)
    }

    pub(super) fn own_entries(&self) -> impl Iterator<Item = Entry> + use<> {
        let table = *self;
        self.entries.lines().map(entry).filter(move |entry| table.covers(entry.versions))
    }

    /// Whether a version column includes this version: `*`, or runs such as `a-cf-`.
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

/// A version's letter and that of the newest version.
fn letters(text: &'static str, version: &str) -> Option<(u8, u8)> {
    let letter = versions(text).find(|(_, known)| *known == version)?.0.bytes().next()?;
    let newest = versions(text).next_back()?.0.bytes().next()?;
    Some((letter, newest))
}

/// The versions a table knows with their letters, oldest first.
fn versions(text: &'static str) -> impl DoubleEndedIterator<Item = (&'static str, &'static str)> {
    let line = text.lines().find_map(|line| line.strip_prefix("#versions ")).unwrap_or_default();
    line.split(' ').filter_map(|word| word.split_once('='))
}

/// The numbers of a version, for comparison.
fn numbers(version: &str) -> Vec<u32> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

fn entry(line: &'static str) -> Entry {
    let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
    let (versions, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    Entry { name, versions, rest }
}

/// Orders a table's name and a user's, in which `_` is the same as `-`.
fn compare(own: &str, name: &str) -> Ordering {
    own.bytes().cmp(name.bytes().map(|byte| if byte == b'_' { b'-' } else { byte }))
}
