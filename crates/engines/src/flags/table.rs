//! The flags of one version of a program.

use super::file::{FlagFile, TableEntry};
use super::flag::{Flag, FlagGroup, FlagKind, Repetition, ValueType};

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
    file: &'static FlagFile,
    /// This version's letter in the file.
    version: u8,
}

impl FlagTable {
    /// Creates the table of `version`, or returns `None` if the file does not know that version.
    pub(super) fn new(file: &'static FlagFile, version: &str) -> Option<Self> {
        let (letter, _) = file.versions().iter().find(|(_, known)| *known == version)?;
        Some(Self { file, version: *letter })
    }

    /// Creates the table of the newest version.
    pub(super) fn newest(file: &'static FlagFile) -> Self {
        Self { file, version: file.newest() }
    }

    /// Creates the table of the newest known version that is not newer than `version`, or of the oldest known version.
    pub(super) fn nearest(file: &'static FlagFile, version: &str) -> Self {
        let requested = version_numbers(version);
        let versions = file.versions();
        let known = versions.iter().rfind(|(_, known)| version_numbers(known) <= requested).or(versions.first());
        known.map_or_else(|| Self::newest(file), |(letter, _)| Self { file, version: *letter })
    }

    /// Creates the table of each known version, oldest first.
    pub(super) fn by_version(file: &'static FlagFile) -> impl Iterator<Item = (&'static str, Self)> {
        file.versions().iter().map(move |(letter, version)| (*version, Self { file, version: *letter }))
    }

    /// Finds a flag by any of its names, in kebab-case or snake_case, without leading dashes.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use kubefoundry_engines::flags;
    /// use kubefoundry_engines::flags::{FlagKind, Spelling};
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
    /// use kubefoundry_engines::flags;
    /// let sglang = flags::sglang("0.5.16").ok_or("known version")?;
    /// assert_eq!(sglang.aliases("tp-size").collect::<Vec<_>>(), ["tensor-parallel-size", "tp"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn aliases<'n>(&self, name: &'n str) -> impl Iterator<Item = &'static str> + use<'n> {
        self.entries().filter(move |entry| entry.rest.strip_prefix('=') == Some(name)).map(|entry| entry.name)
    }

    /// Returns the canonical names of all flags, sorted.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use kubefoundry_engines::flags;
    /// assert_eq!(flags::vllm("0.33.0").ok_or("known version")?.names().count(), 320);
    /// # Ok(())
    /// # }
    /// ```
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.entries().filter(|entry| !entry.rest.starts_with(['=', '!'])).map(|entry| entry.name)
    }

    /// Returns the version of the program.
    pub fn version(&self) -> &'static str {
        let versions = self.file.versions();
        versions.iter().find(|(letter, _)| *letter == self.version).map_or("", |(_, version)| version)
    }

    /// Returns the program that takes the flags: `vllm`, `dynamo-vllm`.
    pub fn program(&self) -> &'static str {
        self.file.program
    }

    /// Returns whether the program may have other flags, because these come from its documentation or sources instead of
    /// the package of this version.
    pub fn is_uncertain(&self) -> bool {
        self.file.is_uncertain()
    }

    /// Suggests the closest name for an unknown one.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use kubefoundry_engines::flags;
    /// let vllm = flags::vllm("0.26.0").ok_or("known version")?;
    /// assert_eq!(vllm.suggest("max_model_length"), Some("max-model-len"));
    /// assert_eq!(vllm.suggest("weather"), None);
    /// # Ok(())
    /// # }
    /// ```
    pub fn suggest(&self, name: &str) -> Option<&'static str> {
        self.file.suggest(self.version, name)
    }

    /// Returns the replacement of a flag that this version lacks, if the table of another version names one.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use kubefoundry_engines::flags;
    /// let sglang = flags::sglang("0.5.21").ok_or("known version")?;
    /// assert!(sglang.lookup("cuda-graph-bs").is_none());
    /// assert_eq!(sglang.replacement("cuda-graph-bs"), Some("--cuda-graph-bs-decode"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn replacement(&self, name: &str) -> Option<&'static str> {
        self.file.entries_of(name).find_map(|entry| entry.rest.split_once("use=")).map(|(_, replacement)| replacement)
    }

    /// Returns whether another version of the engine has a flag, alias or off form of this name.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use kubefoundry_engines::flags;
    /// let vllm = flags::vllm("0.26.0").ok_or("known version")?;
    /// assert!(vllm.lookup("grpc-port").is_none() && vllm.is_known_in_other_version("grpc-port"));
    /// assert!(!vllm.is_known_in_other_version("weather"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn is_known_in_other_version(&self, name: &str) -> bool {
        self.file.entries_of(name).any(|entry| !self.file.covers(&entry, self.version))
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
            uncertain: self.file.is_uncertain(),
            choices: "",
            known_values: "",
            special_values: "",
            range: "",
        };
        for word in words {
            match word.split_once('=') {
                Some(("off", off)) => flag.off = Some(off),
                Some(("choices", choices)) => flag.choices = choices,
                Some(("known", known)) => flag.known_values = known,
                Some(("also", also)) => flag.special_values = also,
                Some(("range", range)) => flag.range = range,
                _ if word == "frontend" => flag.group = FlagGroup::Frontend,
                _ if word == "wrapper" => flag.group = FlagGroup::Wrapper,
                _ if word == "deprecated" => flag.deprecated = true,
                _ => {}
            }
        }
        flag
    }

    /// Returns the entry for a name in this version.
    fn find(&self, name: &str) -> Option<TableEntry> {
        self.file.entries_of(name).find(|entry| self.file.covers(entry, self.version))
    }

    /// Returns the entries of this version, sorted by name.
    pub(super) fn entries(&self) -> impl Iterator<Item = TableEntry> + use<> {
        self.file.entries_of_version(self.version).iter().copied()
    }

    /// Returns the entries of this version whose names start with a prefix, sorted by name.
    pub(super) fn entries_with_prefix(&self, prefix: &str) -> &'static [TableEntry] {
        self.file.entries_with_prefix(self.version, prefix)
    }
}

/// Returns the numbers of a version, for comparison.
fn version_numbers(version: &str) -> Vec<u32> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}
