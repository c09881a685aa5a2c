//! Finds the options files of directories: `kubefoundry.yaml` in the directory itself and in those above it, up to the
//! root of the repository. The nearest file wins for each key.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use kubefoundry_compiler::options::{self, InputOptions, render};
use kubefoundry_yaml::spelling::may_spell;

use super::InputError;
use super::files::{Files, absolute, lexical};
use super::model_config::check_is_below;

/// The options files that apply to a directory.
#[derive(Debug, Default)]
pub(super) struct FoundOptions {
    /// The files, the nearest last.
    pub(super) files: Vec<PathBuf>,
    /// The directory of the nearest file.
    pub(super) nearest: Option<PathBuf>,
    environments: Option<Gitignore>,
    include: Option<Gitignore>,
    exclude: Option<Gitignore>,
    /// What the files say about input, without what they may not set.
    pub(super) input: InputOptions,
}

impl FoundOptions {
    /// Whether the files have a file be read.
    pub(super) fn selects(&self, file: &Path) -> bool {
        let matches = |patterns: &Gitignore| is_matched(patterns, file);
        !self.exclude.as_ref().is_some_and(matches) && self.include.as_ref().is_none_or(matches)
    }

    /// Returns the innermost directory above a file that `environments` names.
    pub(super) fn environment_of(&self, file: &Path) -> Option<PathBuf> {
        innermost_environment(self.environments.as_ref()?, file)
    }
}

/// Compiles patterns as those of a `.gitignore` in a directory.
pub(super) fn compile_patterns(directory: &Path, patterns: &[String], origin: &str) -> Result<Gitignore, InputError> {
    let mut builder = GitignoreBuilder::new(absolute(directory));
    let invalid = |error: ignore::Error| InputError::Pattern(origin.to_owned(), error);
    for pattern in patterns {
        builder.add_line(None, pattern).map_err(invalid)?;
    }
    builder.build().map_err(invalid)
}

/// Whether patterns match a file or a directory above it. A file outside of their directory matches none.
pub(super) fn is_matched(patterns: &Gitignore, file: &Path) -> bool {
    let file = absolute(file);
    file.starts_with(patterns.path()) && patterns.matched_path_or_any_parents(file, false).is_ignore()
}

/// Returns the innermost directory above a file that patterns match.
pub(super) fn innermost_environment(patterns: &Gitignore, file: &Path) -> Option<PathBuf> {
    let file = lexical(file);
    let mut directories = file.ancestors().skip(1).filter(|directory| !directory.as_os_str().is_empty());
    directories.find(|directory| is_environment(patterns, directory)).map(Path::to_owned)
}

/// Whether patterns match a directory itself.
fn is_environment(patterns: &Gitignore, directory: &Path) -> bool {
    let directory = absolute(directory);
    directory.starts_with(patterns.path()) && patterns.matched(directory, true).is_ignore()
}

/// Finds options files. The files of each directory are looked for once.
#[derive(Debug, Default)]
pub(super) struct OptionsFinder {
    /// Whether files are not looked for.
    is_isolated: bool,
    found: BTreeMap<PathBuf, Rc<FoundOptions>>,
}

impl OptionsFinder {
    pub(super) fn new(is_isolated: bool) -> Self {
        Self { is_isolated, found: BTreeMap::new() }
    }

    /// Returns the options files that apply to a directory.
    pub(super) fn find(&mut self, directory: &Path, files: &Files) -> Result<Rc<FoundOptions>, InputError> {
        let directory = lexical(directory);
        if let Some(found) = self.found.get(&directory) {
            return Ok(Rc::clone(found));
        }
        let found = Rc::new(self.search(&directory, files)?);
        self.found.insert(directory, Rc::clone(&found));
        Ok(found)
    }

    fn search(&self, directory: &Path, files: &Files) -> Result<FoundOptions, InputError> {
        let mut found = FoundOptions::default();
        let directories = if self.is_isolated { Vec::new() } else { files.directories_to(directory) };
        let root = directories.first().cloned().unwrap_or_default();
        for folder in directories {
            let file = folder.join(options::FILE_NAME);
            let Some(bytes) = files.read(&file)? else { continue };
            if files.revision().is_none() {
                check_is_below(&file, &root)?;
            }
            let text = String::from_utf8_lossy(&bytes);
            if !holds_options(&text) {
                continue;
            }
            let options = InputOptions::read(&text).restricted();
            if options.root == Some(true) {
                found = FoundOptions::default();
            }
            let name = file.display().to_string();
            let compile = |patterns: &Option<Vec<String>>| {
                patterns.as_deref().map(|patterns| compile_patterns(&folder, patterns, &name)).transpose()
            };
            found.environments = compile(&options.environments)?.or(found.environments);
            found.include = compile(&options.include)?.or(found.include);
            found.exclude = compile(&options.exclude)?.or(found.exclude);
            found.input = std::mem::take(&mut found.input).merged_with(options);
            found.files.push(file);
            found.nearest = Some(folder);
        }
        Ok(found)
    }
}

/// Whether a file that is named `kubefoundry.yaml` holds options. Another object, such as the Argo CD Application of the
/// operator, may be in a file of that name.
pub(super) fn holds_options(text: &str) -> bool {
    let group = render::API_VERSION.split('/').next().unwrap_or_default();
    let is_empty = || text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with(['#', '-']));
    let has_type =
        |text: &[u8]| [group, "Render"].into_iter().any(|word| memchr::memmem::find(text, word.as_bytes()).is_some());
    may_spell(text.as_bytes(), has_type) || is_empty()
}
