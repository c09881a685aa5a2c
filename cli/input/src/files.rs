//! Where input comes from: the file system, or a revision of a git repository.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use kubefoundry_composition::BUILTIN;

use super::error::{InputError, MAX_BYTES};
use super::paths::{KUSTOMIZATION_NAMES, is_manifest, lexical};
use super::revision::Tree;
use super::walk::Walker;

/// The files of the input.
#[derive(Debug)]
pub(crate) enum Files {
    /// Those of the file system, with the canonical paths of the directories that the user names.
    Disk(Vec<PathBuf>, Walker),
    /// Those of a revision.
    Revision(Rc<Tree>),
}

impl Default for Files {
    fn default() -> Self {
        Self::Disk(Vec::new(), Walker::default())
    }
}

impl Files {
    /// The file system, for a user who names these paths.
    pub(crate) fn on_disk(paths: &[PathBuf]) -> Self {
        let named = paths.iter().filter(|path| path.is_dir()).filter_map(|path| path.canonicalize().ok());
        Self::Disk(named.collect(), Walker::default())
    }

    pub(crate) fn revision(&self) -> Option<&Tree> {
        if let Self::Revision(tree) = self { Some(tree) } else { None }
    }

    /// Whether there is a regular file at a path, or a link to one.
    pub(crate) fn is_file(&self, path: &Path) -> bool {
        match self {
            Self::Disk(..) => path.is_file(),
            Self::Revision(tree) => tree.is_file(path),
        }
    }

    /// Whether there is a directory at a path.
    pub(crate) fn is_directory(&self, path: &Path) -> bool {
        match self {
            Self::Disk(..) => path.is_dir(),
            Self::Revision(tree) => !tree.below(path).is_empty(),
        }
    }

    /// Returns the kustomization file of a directory.
    pub(crate) fn kustomization_in(&self, directory: &Path) -> Option<PathBuf> {
        KUSTOMIZATION_NAMES.iter().map(|name| directory.join(name)).find(|file| self.is_file(file))
    }

    /// Whether a path is below a directory after links are followed. What does not exist leads nowhere, and the links of a
    /// revision are followed before.
    pub(crate) fn is_below(&self, path: &Path, directory: &Path) -> bool {
        match (self, path.canonicalize(), directory.canonicalize()) {
            (Self::Disk(..), Ok(path), Ok(directory)) => path.starts_with(directory),
            _ => true,
        }
    }

    /// Returns the size of the file at a path, or of the one that a link leads to; `None` if there is none.
    pub(crate) fn size(&self, path: &Path) -> Option<u64> {
        match self {
            Self::Disk(..) => path.metadata().ok().filter(fs::Metadata::is_file).map(|metadata| metadata.len()),
            // A missing object is reported when it is read.
            Self::Revision(tree) => tree.is_file(path).then(|| tree.size(path).unwrap_or_default()),
        }
    }

    /// Reads a file; `None` if there is none.
    pub(crate) fn read(&self, path: &Path) -> Result<Option<Rc<[u8]>>, InputError> {
        let tree = match self {
            Self::Revision(tree) => tree,
            Self::Disk(..) if !path.is_file() => return Ok(None),
            Self::Disk(..) => {
                let name = path.display().to_string();
                let file = File::open(path).map_err(|error| InputError::Read(name.clone(), error))?;
                let size = file.metadata().map_or(0, |metadata| metadata.len());
                return read_limited(&name, file, size).map(|bytes| Some(bytes.into()));
            }
        };
        tree.file(path)
    }

    /// Whether a file is not as it is in a revision, or only one of the two has it.
    pub(crate) fn differs_from(&self, base: &Tree, path: &Path) -> Result<bool, InputError> {
        match self {
            Self::Revision(tree) => Ok(!tree.has_same(base, path)),
            Self::Disk(..) => {
                let size = fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|metadata| metadata.len());
                if size != base.size(path) {
                    return Ok(true);
                }
                Ok(size.is_some() && self.read(path)? != base.file(path)?)
            }
        }
    }

    /// Lists the manifests below a directory, in order; links to others of them come last ([`Walker::find_manifests`]).
    pub(crate) fn list(&self, directory: &Path) -> Vec<Result<PathBuf, InputError>> {
        match self {
            Self::Disk(_, walker) => walker.find_manifests(directory),
            Self::Revision(tree) => {
                let listed = tree.below(directory).into_iter().map(Path::new);
                let listed: Vec<&Path> = listed.filter(|file| is_manifest(file)).collect();
                let all: BTreeSet<&Path> = listed.iter().copied().collect();
                let is_duplicate = |file: &&Path| tree.link_target(file).is_some_and(|target| all.contains(target));
                let (duplicates, others): (Vec<&Path>, Vec<&Path>) = listed.into_iter().partition(is_duplicate);
                others.into_iter().chain(duplicates).map(|file| Ok(file.to_owned())).collect()
            }
        }
    }

    /// Lists all files below a directory, in order, as paths relative to it, without those that git ignores and does not
    /// track. Links are left out.
    pub(crate) fn list_all(&self, directory: &Path) -> Vec<PathBuf> {
        let directory = lexical(directory);
        let start = if directory.as_os_str().is_empty() { Path::new(".") } else { &directory };
        let (start, files) = match self {
            Self::Disk(_, walker) => (start, walker.find_files(start)),
            Self::Revision(tree) => (&*directory, tree.below(&directory).into_iter().map(PathBuf::from).collect()),
        };
        files.iter().filter_map(|path| path.strip_prefix(start).ok().map(Path::to_owned)).collect()
    }

    /// Returns the directories from the root of a repository down to `directory`, as they are reached from the working
    /// directory. Outside of a repository, the first one is the outermost of those that contain the directory: the working
    /// directory, the directories that the user names, and the directory itself.
    pub(crate) fn directories_to(&self, directory: &Path) -> Vec<PathBuf> {
        let mut directories = vec![lexical(directory)];
        match self {
            Self::Revision(tree) => {
                let root = tree.repository_root();
                while directories.last().is_some_and(|last| *last != root) && directories.len() <= MAX_DEPTH {
                    directories.extend(directories.last().map(|last| parent(last)));
                }
            }
            Self::Disk(named, _) => {
                for _ in 0..levels_to_root(directory, named).unwrap_or_default() {
                    directories.extend(directories.last().map(|last| parent(last)));
                }
            }
        }
        directories.reverse();
        directories
    }
}

/// How deep directories may be nested.
const MAX_DEPTH: usize = 255;

/// Returns how many directories a directory is below the root of its repository, or outside of one below the outermost of
/// the working directory and the named directories.
fn levels_to_root(directory: &Path, named: &[PathBuf]) -> Option<usize> {
    // An editor may have a document in a directory that does not exist yet.
    let mut existing = directory.ancestors().enumerate();
    let (missing, canonical) = existing.find_map(|(level, ancestor)| {
        let ancestor = if ancestor.as_os_str().is_empty() { Path::new(".") } else { ancestor };
        Some((level, fs::canonicalize(ancestor).ok()?))
    })?;
    let root = canonical.ancestors().position(|ancestor| ancestor.join(".git").exists());
    let level = root.or_else(|| {
        let working_directory = fs::canonicalize(".").ok();
        let containing = working_directory.iter().chain(named);
        containing.filter_map(|outer| canonical.ancestors().position(|ancestor| ancestor == outer)).max()
    })?;
    Some(level + missing)
}

/// Returns the directory above, as it is reached from the working directory, which is an empty path.
fn parent(directory: &Path) -> PathBuf {
    match directory.components().next_back() {
        None => PathBuf::from(".."),
        Some(Component::ParentDir) => directory.join(".."),
        Some(_) => directory.parent().unwrap_or(Path::new("")).to_owned(),
    }
}

/// Reads up to [`MAX_BYTES`]; more is an error. `size` is the expected number of bytes, or 0 if it is not known.
pub(crate) fn read_limited(name: &str, reader: impl Read, size: u64) -> Result<Vec<u8>, InputError> {
    // One byte more than expected, so that the end is found without growing the buffer.
    let mut bytes = Vec::with_capacity(usize::try_from(size.min(MAX_BYTES) + 1).unwrap_or(0));
    reader.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| InputError::Read(name.to_owned(), error))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > MAX_BYTES) {
        let is_foreign = !BUILTIN.may_hold_input(&String::from_utf8_lossy(&bytes));
        return Err(InputError::TooLarge { name: name.to_owned(), is_foreign });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn parents_lead_up_from_the_working_directory() {
        for (path, expected) in [("a/b", "a"), ("a", ""), ("", ".."), ("..", "../.."), ("/a", "/")] {
            assert_eq!(parent(Path::new(path)), Path::new(expected), "{path}");
        }
    }

    /// The limit applies while reading, so that endless input is rejected.
    #[test]
    fn rejects_endless_input() {
        assert!(matches!(read_limited("zero", io::repeat(b' '), 0), Err(InputError::TooLarge { .. })));
    }
}
