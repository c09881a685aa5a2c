//! Finds the options files of directories: `kubefoundry.yaml` in the directory itself and in those above it, up to the
//! root of the repository. The nearest file wins for each key.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use kubefoundry_compiler::options::{self, InputOptions, render};
use kubefoundry_yaml::spelling::may_spell;

use super::error::InputError;
use super::files::Files;
use super::model_config::check_is_below;
use super::paths::{absolute, lexical};
use super::revision::Tree;
use super::walk::MAX_PATTERN_BYTES;

/// The options files that apply to a directory.
#[derive(Debug, Default)]
pub(crate) struct FoundOptions {
    /// The files, the nearest last.
    pub(crate) files: Vec<PathBuf>,
    /// The directory of the nearest file.
    pub(crate) nearest: Option<PathBuf>,
    environments: Option<Rc<Gitignore>>,
    include: Option<Selection>,
    exclude: Option<Selection>,
}

/// Patterns that select files, and the options file that has them.
#[derive(Debug, Clone)]
struct Selection {
    patterns: Rc<Gitignore>,
    options: PathBuf,
}

impl FoundOptions {
    /// Returns the options file that has a file not be read, if one does.
    pub(crate) fn left_out_by(&self, file: &Path) -> Option<&Path> {
        let excluding = self.exclude.as_ref().filter(|exclude| is_matched(&exclude.patterns, file));
        let including = || self.include.as_ref().filter(|include| !is_matched(&include.patterns, file));
        excluding.or_else(including).map(|selection| selection.options.as_path())
    }

    /// Returns the innermost directory above a file that `environments` names.
    pub(crate) fn environment_of(&self, file: &Path) -> Option<PathBuf> {
        innermost_environment(self.environments.as_ref()?, file)
    }
}

/// The maximum number of patterns, and of their bytes, in one list and in all lists of a run. Each takes kilobytes of
/// memory.
const MAX_PATTERNS: usize = 1_000;
const MAX_PATTERNS_OF_RUN: usize = 20_000;
const MAX_LIST_BYTES: usize = 64 * 1024;

/// Compiles the patterns of options, up to a number that all lists of a run share.
#[derive(Debug, Default)]
pub(crate) struct PatternCompiler {
    compiled: usize,
}

impl PatternCompiler {
    /// Compiles patterns as those of a `.gitignore` in a directory.
    pub(crate) fn compile(
        &mut self,
        directory: &Path,
        patterns: &[String],
        origin: &str,
    ) -> Result<Gitignore, InputError> {
        self.compiled += patterns.len();
        let bytes: usize = patterns.iter().map(String::len).sum();
        let limit = if patterns.len() > MAX_PATTERNS {
            Some(format!("a list has more than {MAX_PATTERNS} patterns"))
        } else if bytes > MAX_LIST_BYTES || patterns.iter().any(|pattern| pattern.len() > MAX_PATTERN_BYTES) {
            Some("a list has more than 64 KiB of patterns, or a pattern of more than 4096 bytes".to_owned())
        } else {
            let is_over = self.compiled > MAX_PATTERNS_OF_RUN;
            is_over.then(|| format!("the lists of a run have more than {MAX_PATTERNS_OF_RUN} patterns"))
        };
        if let Some(limit) = limit {
            return Err(InputError::TooManyPatterns { origin: origin.to_owned(), limit });
        }
        let mut builder = GitignoreBuilder::new(absolute(directory));
        let invalid = |error: ignore::Error| InputError::Pattern(origin.to_owned(), error);
        for pattern in patterns {
            builder.add_line(None, pattern).map_err(invalid)?;
        }
        builder.build().map_err(invalid)
    }
}

/// Whether patterns match a file or a directory above it. A file outside of their directory matches none.
pub(crate) fn is_matched(patterns: &Gitignore, file: &Path) -> bool {
    let file = absolute(file);
    file.starts_with(patterns.path()) && patterns.matched_path_or_any_parents(file, false).is_ignore()
}

/// Returns the innermost directory above a file that patterns match.
pub(crate) fn innermost_environment(patterns: &Gitignore, file: &Path) -> Option<PathBuf> {
    let file = lexical(file);
    let mut directories = file.ancestors().skip(1).filter(|directory| !directory.as_os_str().is_empty());
    directories.find(|directory| is_environment(patterns, directory)).map(Path::to_owned)
}

/// Whether patterns match a directory itself.
fn is_environment(patterns: &Gitignore, directory: &Path) -> bool {
    let directory = absolute(directory);
    directory.starts_with(patterns.path()) && patterns.matched(directory, true).is_ignore()
}

/// Finds options files. Each directory is looked at once, and each file is read once.
#[derive(Debug, Default)]
pub(crate) struct OptionsFinder {
    /// Whether files are not looked for.
    is_isolated: bool,
    /// The revision that judges, whose options apply where it has a file of this name.
    base: Option<Rc<Tree>>,
    found: BTreeMap<PathBuf, Rc<FoundOptions>>,
    parsed: BTreeMap<PathBuf, Option<Rc<ParsedFile>>>,
    compiler: PatternCompiler,
}

/// What an options file says about files.
#[derive(Debug)]
struct ParsedFile {
    is_root: bool,
    environments: Option<Rc<Gitignore>>,
    include: Option<Rc<Gitignore>>,
    exclude: Option<Rc<Gitignore>>,
}

impl OptionsFinder {
    pub(crate) fn new(is_isolated: bool, base: Option<Rc<Tree>>) -> Self {
        Self { is_isolated, base, ..Self::default() }
    }

    /// Whether the change that is judged touches a file. Without a base, nothing is known of a change.
    pub(crate) fn is_touched(&self, file: &Path, files: &Files) -> Result<bool, InputError> {
        self.base.as_ref().map_or(Ok(false), |base| files.differs_from(base, file))
    }

    /// Whether a file is that of the revision that judges.
    pub(crate) fn is_of_base(&self, file: &Path) -> bool {
        self.base.as_ref().is_some_and(|base| base.is_file(file))
    }

    /// Returns the options files that apply to a directory.
    pub(crate) fn find(&mut self, directory: &Path, files: &Files) -> Result<Rc<FoundOptions>, InputError> {
        let directory = lexical(directory);
        if let Some(found) = self.found.get(&directory) {
            return Ok(Rc::clone(found));
        }
        let found = Rc::new(self.search(&directory, files)?);
        self.found.insert(directory, Rc::clone(&found));
        Ok(found)
    }

    fn search(&mut self, directory: &Path, files: &Files) -> Result<FoundOptions, InputError> {
        let mut found = FoundOptions::default();
        let directories = if self.is_isolated { Vec::new() } else { files.directories_to(directory) };
        let root = directories.first().cloned().unwrap_or_default();
        for folder in directories {
            let file = folder.join(options::FILE_NAME);
            let parsed = if let Some(parsed) = self.parsed.get(&file) {
                parsed.clone()
            } else {
                let parsed = self.parse(&file, &folder, &root, files)?.map(Rc::new);
                self.parsed.insert(file.clone(), parsed.clone());
                parsed
            };
            let Some(parsed) = parsed else { continue };
            if parsed.is_root {
                found = FoundOptions::default();
            }
            let selection = |patterns: &Option<Rc<Gitignore>>| {
                patterns.clone().map(|patterns| Selection { patterns, options: file.clone() })
            };
            found.environments = parsed.environments.clone().or(found.environments);
            found.include = selection(&parsed.include).or(found.include);
            found.exclude = selection(&parsed.exclude).or(found.exclude);
            found.files.push(file);
            found.nearest = Some(folder);
        }
        Ok(found)
    }

    /// Reads what an options file says about files. `None` if there is none.
    fn parse(
        &mut self,
        file: &Path,
        folder: &Path,
        root: &Path,
        files: &Files,
    ) -> Result<Option<ParsedFile>, InputError> {
        let of_base = self.base.as_ref().map(|base| base.file(file)).transpose()?.flatten();
        // A link that leads out is not even opened.
        if of_base.is_none() && files.revision().is_none() && files.is_file(file) {
            check_is_below(file, root)?;
        }
        let Some(bytes) = of_base.map_or_else(|| files.read(file), |bytes| Ok(Some(bytes)))? else { return Ok(None) };
        let text = String::from_utf8_lossy(&bytes);
        if !holds_options(&text) {
            return Ok(None);
        }
        let options = InputOptions::read(&text).restricted();
        let name = file.display().to_string();
        let mut compile = |patterns: Option<Vec<String>>| {
            let compiled = patterns.map(|patterns| self.compiler.compile(folder, &patterns, &name)).transpose()?;
            Ok::<_, InputError>(compiled.map(Rc::new))
        };
        Ok(Some(ParsedFile {
            is_root: options.root == Some(true),
            environments: compile(options.environments)?,
            include: compile(options.include)?,
            exclude: compile(options.exclude)?,
        }))
    }
}

/// Whether a file that is named `kubefoundry.yaml` holds options. Another object, such as the Argo CD Application of the
/// operator, may be in a file of that name.
pub(crate) fn holds_options(text: &str) -> bool {
    let group = render::API_VERSION.split('/').next().unwrap_or_default();
    let is_empty = || text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with(['#', '-']));
    let has_type =
        |text: &[u8]| [group, "Render"].into_iter().any(|word| memchr::memmem::find(text, word.as_bytes()).is_some());
    may_spell(text.as_bytes(), has_type) || is_empty()
}
