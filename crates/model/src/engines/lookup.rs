//! What names of flags mean to a launcher.

use super::flags::{Flag, FlagGroup, FlagTable, Spelling};
use super::launcher::Launcher;

/// What a name stands for.
#[derive(Debug)]
pub(super) enum Meaning {
    /// A flag.
    One(Known),
    /// The start of several flags; their names.
    Several(Vec<&'static str>),
    /// No flag that is known.
    Unknown,
}

/// A flag of a table, and how it was spelled.
#[derive(Debug)]
pub(super) struct Known {
    /// The flag.
    pub(super) flag: Flag,
    /// Whether its on- or its off-form was written.
    pub(super) spelling: Spelling,
}

impl Launcher {
    /// What a name stands for, kebab-case or snake_case, without dashes. A whole name is never an abbreviation; nor is a
    /// name that may be a configuration key.
    pub(super) fn lookup(&self, name: &str, from_mapping: bool) -> Meaning {
        let exact = self.tables().find_map(|table| table.lookup(name));
        if let Some((flag, spelling)) = exact {
            return Meaning::One(Known { flag, spelling });
        }
        if from_mapping && self.keys.is_some() {
            return Meaning::Unknown;
        }
        let parsers = self.parsers.iter().filter(|parser| parser.abbreviates);
        let Some(mut meant) =
            parsers.map(|parser| parser.table.expand_abbreviation(name)).find(|meant| !meant.is_empty())
        else {
            return Meaning::Unknown;
        };
        // Flags that the program does not have make no name ambiguous.
        let is_taken = |flag: &Flag| self.server_flags.is_none() || flag.group != FlagGroup::Frontend;
        if meant.iter().any(|(flag, _)| is_taken(flag)) {
            meant.retain(|(flag, _)| is_taken(flag));
        }
        match meant.as_slice() {
            [(flag, spelling)] => Meaning::One(Known { flag: *flag, spelling: *spelling }),
            _ => Meaning::Several(
                meant
                    .iter()
                    .map(|(flag, how)| flag.off.filter(|_| *how == Spelling::Off).unwrap_or(flag.name))
                    .collect(),
            ),
        }
    }

    /// Whether a flag works in this version, and will go.
    pub(super) fn deprecates(&self, name: &str) -> bool {
        self.tables().find_map(|table| table.lookup(name)).is_some_and(|(flag, _)| flag.deprecated)
    }

    fn tables(&self) -> impl Iterator<Item = FlagTable> {
        self.parsers.iter().map(|parser| parser.table)
    }

    /// The flag that was probably meant.
    pub(super) fn suggest(&self, name: &str) -> Option<&'static str> {
        self.tables().find_map(|table| table.suggest(name))
    }

    /// What replaces a flag that this version does not have, as a command line says it.
    pub(super) fn replacement(&self, name: &str) -> Option<&'static str> {
        self.tables().find_map(|table| table.replacement(name))
    }

    /// Whether another version has this flag.
    pub(super) fn is_known_in_other_version(&self, name: &str) -> bool {
        self.tables().any(|table| table.is_known_in_other_version(name))
    }
}
