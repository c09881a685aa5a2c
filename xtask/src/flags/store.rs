//! The committed facts: `xtask/facts/flags/<table>/<version>.txt`, and the pins beside the tables.

use std::fs;
use std::path::{Path, PathBuf};

use super::corrections::Corrections;
use super::delta::{Facts, Origin, VersionFile};
use super::pins::Pins;
use super::tables::Table;
use super::version::Version;
use crate::Failure;
use crate::files::{broken, read, write};

/// The folder of the facts, relative to the workspace.
const FACTS_FOLDER: &str = "xtask/facts/flags";

/// The facts of one version, and the file that holds them.
pub(crate) struct Committed {
    pub(crate) version: Version,
    pub(crate) file: VersionFile,
    pub(crate) facts: Facts,
}

/// The facts of a work tree.
pub(crate) struct Store {
    folder: PathBuf,
}

impl Store {
    pub(crate) fn new(root: &Path) -> Self {
        Self { folder: root.join(FACTS_FOLDER) }
    }

    /// Reads the versions of a table, oldest first.
    ///
    /// # Errors
    /// If a file cannot be read or does not follow from the previous version.
    pub(crate) fn versions(&self, table: &Table) -> Result<Vec<Committed>, Failure> {
        let folder = self.folder.join(table.name);
        let mut versions: Vec<Version> = fs::read_dir(&folder)
            .map_err(|error| broken(&folder, error))?
            .filter_map(Result::ok)
            .filter_map(|entry| entry.file_name().to_str().and_then(|name| name.strip_suffix(".txt")).map(Version::new))
            .filter(|version| version.as_str() != "corrections")
            .collect();
        versions.sort();
        let mut committed: Vec<Committed> = Vec::new();
        for version in versions {
            let path = self.path(table, &version);
            let unmet = |error: String| Failure::Unmet(format!("{}: {error}", path.display()));
            let file = VersionFile::parse(&read(&path)?).map_err(unmet)?;
            let before = committed.last();
            let expected = before.map(|before| before.version.as_str());
            if file.after.as_deref() != expected {
                let found = file.after.as_deref().unwrap_or("nothing");
                let expected = expected.unwrap_or("nothing");
                return Err(unmet(format!("it is a difference from {found}, but the previous version is {expected}")));
            }
            if file.origin.sha256.is_empty() != table.package.is_none() {
                return Err(unmet(
                    "the facts of a package come from wheels, all others are transcribed by hand".to_owned(),
                ));
            }
            let facts = file.apply(before.map_or(&Facts::new(), |before| &before.facts)).map_err(unmet)?;
            committed.push(Committed { version, file, facts });
        }
        Ok(committed)
    }

    /// Adds or replaces the facts of a version and returns a summary of the difference from the previous version. It
    /// also rewrites the file of the next version, which is now a difference from this one.
    pub(crate) fn insert(
        &self,
        table: &Table,
        version: &str,
        facts: &Facts,
        origin: &Origin,
    ) -> Result<String, Failure> {
        let version = Version::new(version);
        let mut committed = self.versions(table)?;
        if let Some(index) = committed.iter().position(|known| known.version == version) {
            let known = committed.remove(index);
            if known.facts == *facts && known.file.origin.sha256 == origin.sha256 {
                return Ok("as committed".to_owned());
            }
        }
        let index = committed.partition_point(|other| other.version < version);
        let before = index.checked_sub(1).and_then(|index| committed.get(index));
        let file = VersionFile::between(before.map(|known| (&known.version, &known.facts)), facts, origin.clone());
        self.write(table, &version, &file)?;
        if let Some(Committed { version: next, file: of_next, facts: facts_of_next }) = committed.get(index) {
            let origin = of_next.origin.clone();
            self.write(table, next, &VersionFile::between(Some((&version, facts)), facts_of_next, origin))?;
        }
        Ok(format!("{} flags; {}", facts.len(), file.summary()))
    }

    /// Reads the corrections of a table, which may have none.
    pub(crate) fn corrections(&self, table: &Table) -> Result<Corrections, Failure> {
        let path = self.folder.join(table.name).join("corrections.txt");
        if !path.exists() {
            return Ok(Corrections::default());
        }
        Corrections::parse(&read(&path)?).map_err(|error| unmet(&path, &error))
    }

    pub(crate) fn pins(&self) -> Result<Pins, Failure> {
        let path = self.pins_path();
        Pins::parse(&read(&path)?).map_err(|error| unmet(&path, &error))
    }

    pub(crate) fn write_pins(&self, pins: &Pins) -> Result<(), Failure> {
        write(&self.pins_path(), &pins.render())
    }

    pub(crate) fn pins_path(&self) -> PathBuf {
        self.folder.join("pins.txt")
    }

    fn path(&self, table: &Table, version: &Version) -> PathBuf {
        self.folder.join(table.name).join(format!("{version}.txt"))
    }

    fn write(&self, table: &Table, version: &Version, file: &VersionFile) -> Result<(), Failure> {
        let title = format!("The flags of {} {version}, as a difference from the previous version", table.title);
        write(&self.path(table, version), &file.render(&title))
    }
}

fn unmet(path: &Path, error: &str) -> Failure {
    Failure::Unmet(format!("{}: {error}", path.display()))
}
