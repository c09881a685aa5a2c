//! Looks up names of flags in the tables of a launcher.

use crate::flags::{Flag, FlagGroup, FlagTable, Spelling};
use crate::launcher::{Launcher, RefusedFlag};

/// The meaning of a flag name.
#[derive(Debug)]
pub(crate) enum Meaning {
    /// A known flag, spelled out or abbreviated.
    One(KnownFlag),
    /// An abbreviation of several flags, with their names.
    Several(Vec<&'static str>),
    /// No table has the flag.
    Unknown,
}

/// A flag of a table with the spelling that the user chose.
#[derive(Debug)]
pub(crate) struct KnownFlag {
    pub(crate) flag: Flag,
    /// Tells whether the user wrote the off form.
    pub(crate) spelling: Spelling,
}

impl Launcher {
    /// Looks up a name in kebab-case or snake_case, without dashes. A complete name wins over an abbreviation, and a
    /// name from the `args` mapping that may be a configuration key is never an abbreviation.
    pub(crate) fn lookup(&self, name: &str, from_mapping: bool) -> Meaning {
        let exact = self.tables().find_map(|table| table.lookup(name));
        if let Some((flag, spelling)) = exact {
            return Meaning::One(KnownFlag { flag, spelling });
        }
        if from_mapping && self.config_keys.is_some() {
            return Meaning::Unknown;
        }
        // Each parser leaves unknown flags to the next one, so the first parser that expands the name decides.
        let parsers = self.parsers.iter().filter(|parser| parser.abbreviates);
        let Some(mut candidates) =
            parsers.map(|parser| parser.table.expand_abbreviation(name)).find(|candidates| !candidates.is_empty())
        else {
            return Meaning::Unknown;
        };
        // Server flags that the program lacks do not make a name ambiguous.
        let is_accepted = |flag: &Flag| self.server_flag_refusal.is_none() || flag.group != FlagGroup::Frontend;
        if candidates.iter().any(|(flag, _)| is_accepted(flag)) {
            candidates.retain(|(flag, _)| is_accepted(flag));
        }
        match candidates.as_slice() {
            [(flag, spelling)] => Meaning::One(KnownFlag { flag: *flag, spelling: *spelling }),
            _ => Meaning::Several(
                candidates
                    .iter()
                    .map(|(flag, spelling)| flag.off.filter(|_| *spelling == Spelling::Off).unwrap_or(flag.name))
                    .collect(),
            ),
        }
    }

    /// Returns the canonical name of a flag that is written under another name, such as `tp` for
    /// `tensor-parallel-size`.
    pub fn canonical_name(&self, name: &str) -> Option<&'static str> {
        let (flag, spelling) = self.tables().find_map(|table| table.lookup(name))?;
        (spelling == Spelling::Alias).then_some(flag.name)
    }

    /// Returns whether this version deprecates a flag.
    pub(crate) fn is_deprecated(&self, name: &str) -> bool {
        self.tables().find_map(|table| table.lookup(name)).is_some_and(|(flag, _)| flag.deprecated)
    }

    /// Returns the tables of the parsers, outermost first.
    pub fn tables(&self) -> impl Iterator<Item = FlagTable> {
        self.parsers.iter().map(|parser| parser.table)
    }

    /// Suggests the closest known flag for a misspelled one.
    pub(crate) fn suggest(&self, name: &str) -> Option<&'static str> {
        self.tables().find_map(|table| table.suggest(name))
    }

    /// Returns the replacement of a flag that this version lacks, as a command line writes it.
    pub(crate) fn replacement(&self, name: &str) -> Option<&'static str> {
        self.tables().find_map(|table| table.replacement(name))
    }

    /// Returns the refusal of a flag by its canonical name.
    pub(crate) fn refusal(&self, name: &str) -> Option<&'static RefusedFlag> {
        self.refused_flags.iter().copied().flatten().find(|refused| refused.flag == name)
    }

    /// Returns whether another version of the program has this flag.
    pub(crate) fn is_known_in_other_version(&self, name: &str) -> bool {
        self.tables().any(|table| table.is_known_in_other_version(name))
    }
}
