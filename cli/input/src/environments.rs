//! Divides the texts of the input into environments.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use kubefoundry_diagnostics::source::{SourceId, SourceSet};

use super::paths::lexical;

/// The texts of each environment, by its name.
#[derive(Debug, Default)]
pub(crate) struct Environments {
    /// The texts of the options files that were found.
    pub(crate) options: BTreeMap<PathBuf, SourceId>,
    /// The options that our own function has in a kustomization, with the environment that they are for.
    pub(crate) functions: Vec<(String, SourceId)>,
    members: BTreeMap<String, Members>,
    /// The names in the order in which they come up.
    order: Vec<String>,
}

#[derive(Debug, Default)]
struct Members {
    texts: BTreeSet<SourceId>,
    options: BTreeSet<PathBuf>,
}

impl Environments {
    /// Adds a text to an environment, to which these options files apply.
    pub(crate) fn add(&mut self, environment: &str, options: &[PathBuf], text: SourceId) {
        if !self.members.contains_key(environment) {
            self.order.push(environment.to_owned());
            self.members.insert(environment.to_owned(), Members::default());
        }
        let Some(members) = self.members.get_mut(environment) else { return };
        members.texts.insert(text);
        for file in options {
            if !members.options.contains(file) {
                members.options.insert(file.clone());
            }
        }
    }

    /// Divides the texts, unless all of them belong to the environment without a name.
    pub(crate) fn apply(self, sources: &mut SourceSet, model_configs: &[(SourceId, SourceId)]) {
        if self.order.iter().all(String::is_empty) {
            return;
        }
        for name in &self.order {
            let Some(members) = self.members.get(name) else { continue };
            let options = members.options.iter().filter_map(|file| self.options.get(file).copied());
            let functions = self.functions.iter().filter(|(environment, _)| environment == name).map(|(_, id)| *id);
            let options: BTreeSet<SourceId> = options.chain(functions).collect();
            let configs = model_configs.iter().filter(|(named_by, _)| options.contains(named_by)).map(|(_, id)| *id);
            sources.add_environment(name, members.texts.iter().copied().chain(configs).chain(options.iter().copied()));
        }
    }
}

/// Options files in the order of their precedence: those of a directory come before those of the directories in it.
#[derive(Debug, Default)]
pub(crate) struct OptionFiles(BTreeSet<(usize, PathBuf)>);

impl<'f> FromIterator<&'f PathBuf> for OptionFiles {
    fn from_iter<I: IntoIterator<Item = &'f PathBuf>>(files: I) -> Self {
        Self(files.into_iter().map(|file| (depth(file), file.clone())).collect())
    }
}

impl IntoIterator for OptionFiles {
    type Item = PathBuf;
    type IntoIter =
        std::iter::Map<std::collections::btree_set::IntoIter<(usize, PathBuf)>, fn((usize, PathBuf)) -> PathBuf>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter().map(|(_, file)| file)
    }
}

/// Returns how deep a file is. One that is reached by leading up is less deep than one in the working directory.
fn depth(file: &Path) -> usize {
    const MIDDLE: usize = 1 << 16;
    let ups = file.components().filter(|part| matches!(part, std::path::Component::ParentDir)).count();
    MIDDLE + file.components().count() - 2 * ups
}

/// Returns the name of the environment in a directory: its path below the directory that the user named. An environment
/// that contains that directory has no name.
pub(crate) fn name_environment(directory: &Path, base: &Path) -> String {
    let (directory, base) = (lexical(directory), lexical(base));
    if base.starts_with(&directory) || is_above_working_directory(&directory) && base.is_relative() {
        return String::new();
    }
    directory.strip_prefix(&base).unwrap_or(&directory).display().to_string()
}

/// Whether a directory contains the working directory.
fn is_above_working_directory(directory: &Path) -> bool {
    directory.components().all(|part| matches!(part, std::path::Component::ParentDir))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environments_are_named_by_their_place_below_the_argument() {
        for (directory, base, expected) in [
            ("clusters/dev", ".", "clusters/dev"),
            ("clusters/dev", "clusters", "dev"),
            ("clusters/dev", "clusters/dev", ""),
            ("clusters", "clusters/dev", ""),
            ("", "clusters/dev", ""),
            ("..", "clusters/dev", ""),
            ("../other", "clusters", "../other"),
            ("/repo/clusters/dev", "/repo", "clusters/dev"),
        ] {
            assert_eq!(name_environment(Path::new(directory), Path::new(base)), expected, "{directory} in {base}");
        }
    }

    #[test]
    fn options_of_inner_directories_come_last() {
        let files = ["a/b/o", "o", "../o", "a/o", "../../o"].map(PathBuf::from);
        let ordered: Vec<PathBuf> = files.iter().collect::<OptionFiles>().into_iter().collect();
        assert_eq!(ordered, ["../../o", "../o", "o", "a/o", "a/b/o"].map(PathBuf::from));
    }
}
