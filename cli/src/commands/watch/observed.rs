//! The files and directories whose changes the system reports, and what a change means for the input.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::path::{Path, PathBuf};

use kubefoundry_compiler::options;
use kubefoundry_diagnostics::source::SourceId;
use kubefoundry_input::{self as input, Input, InputArgs};
use notify::{EventHandler, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::WatchError;

/// What a change means for the input.
pub(super) enum Change {
    /// These files have another content, and the input has the same files as before.
    Files(BTreeMap<SourceId, PathBuf>),
    /// Files were added or removed, or the change is not known.
    Everything,
}

/// The observed files. All paths are canonical, except that the last part may be a link.
pub(super) struct ObservedFiles {
    watcher: RecommendedWatcher,
    /// The directories of the arguments, which are observed with all that is below them.
    directories: BTreeSet<PathBuf>,
    /// The files of the arguments, which may be absent for a while.
    named: BTreeSet<PathBuf>,
    /// The files that were read, with their paths in the input.
    known: BTreeMap<PathBuf, (SourceId, PathBuf)>,
    /// The files from which kustomize built texts.
    built_from: BTreeSet<PathBuf>,
    /// The directories of files outside of [`Self::directories`], which are observed alone.
    parents: BTreeSet<PathBuf>,
}

impl ObservedFiles {
    /// Observes what the arguments name.
    ///
    /// # Errors
    /// If the system cannot observe it.
    pub(super) fn new(args: &InputArgs, handler: impl EventHandler) -> Result<Self, WatchError> {
        let mut observed = Self {
            watcher: notify::recommended_watcher(handler)?,
            directories: BTreeSet::new(),
            named: BTreeSet::new(),
            known: BTreeMap::new(),
            built_from: BTreeSet::new(),
            parents: BTreeSet::new(),
        };
        let paths = [&args.paths, &args.providers, &args.crds, &args.cluster, &args.model_config];
        for directory in args.paths.iter().filter(|_| !args.isolated).flat_map(|path| input::option_directories(path)) {
            let options = locate(&directory.join(options::FILE_NAME), &mut BTreeMap::new());
            observed.observe_parent(&options)?;
            observed.named.insert(options);
        }
        for path in paths.into_iter().flatten().chain(&args.config) {
            if path.is_dir() {
                let directory = path.canonicalize().unwrap_or_else(|_| path.clone());
                observed.watcher.watch(&directory, RecursiveMode::Recursive)?;
                observed.directories.insert(directory);
            } else {
                let file = locate(path, &mut BTreeMap::new());
                observed.observe_parent(&file)?;
                observed.named.insert(file);
            }
        }
        Ok(observed)
    }

    /// Observes the files of an input.
    ///
    /// # Errors
    /// If the system cannot observe them.
    pub(super) fn observe(&mut self, input: &Input) -> Result<(), WatchError> {
        let mut parents = BTreeMap::new();
        let files = input.files.iter().map(|(id, path)| (locate(path, &mut parents), (*id, path.clone())));
        self.known = files.collect();
        self.built_from = input.origins.files().map(|path| locate(path, &mut parents)).collect();
        // The kustomization above a file, and the files that options name, are outside of the arguments.
        let outside: Vec<PathBuf> = self
            .known
            .keys()
            .chain(&self.built_from)
            .filter(|path| self.directory_of(path).is_none())
            .cloned()
            .collect();
        outside.iter().try_for_each(|path| self.observe_parent(path))
    }

    /// Observes the directory of a file, because an editor may replace the file by another one.
    fn observe_parent(&mut self, file: &Path) -> Result<(), WatchError> {
        let Some(parent) = file.parent() else { return Ok(()) };
        if self.directory_of(file).is_none() && !self.parents.contains(parent) {
            self.watcher.watch(parent, RecursiveMode::NonRecursive)?;
            self.parents.insert(parent.to_owned());
        }
        Ok(())
    }

    /// Returns the observed directory that contains a path, and the rest of the path.
    fn directory_of<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        self.directories.iter().find_map(|directory| path.strip_prefix(directory).ok())
    }

    /// Whether a change of this path can change the input.
    pub(super) fn is_of_interest(&self, path: &Path) -> bool {
        if self.known.contains_key(path) || self.built_from.contains(path) || self.named.contains(path) {
            return true;
        }
        let Some(below) = self.directory_of(path) else { return false };
        let is_hidden = |part: &std::ffi::OsStr| part.to_string_lossy().starts_with('.') && part != ".gitignore";
        if below.iter().any(is_hidden) {
            return false;
        }
        input::affects_directory(path) || path.is_dir() || self.has_known_below(path)
    }

    /// Whether a file of the input is below a path, which was a directory.
    fn has_known_below(&self, path: &Path) -> bool {
        let after = self.known.range::<Path, _>((Bound::Excluded(path), Bound::Unbounded)).next();
        after.is_some_and(|(known, _)| known.starts_with(path))
    }

    /// Whether a path is a file of the input that is still there.
    pub(super) fn is_read_alone(&self, path: &Path) -> bool {
        self.known.contains_key(path) && path.is_file()
    }

    /// Decides what changes of these paths mean.
    pub(super) fn classify(&self, paths: BTreeSet<PathBuf>) -> Change {
        let files = paths.into_iter().map(|path| {
            let known = self.known.get(&path).filter(|_| path.is_file());
            known.map(|(id, path)| (*id, path.clone()))
        });
        files.collect::<Option<_>>().map_or(Change::Everything, Change::Files)
    }
}

/// Returns the canonical path of the directory of a file with the name of the file: the name itself may be a link, and
/// changes are reported for the link. Directories are looked up once.
fn locate(path: &Path, parents: &mut BTreeMap<PathBuf, PathBuf>) -> PathBuf {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return path.to_owned() };
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let canonical = parents
        .entry(parent.to_owned())
        .or_insert_with_key(|parent| parent.canonicalize().unwrap_or_else(|_| parent.clone()));
    canonical.join(name)
}
