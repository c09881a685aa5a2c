//! A workspace folder of the client: the manifests in it, as they were last read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kubefoundry_composition::BUILTIN;
use kubefoundry_input::workspace;

/// Files without input of kubefoundry are kept up to this size in bytes: they can be patches, or objects that a patch
/// changes. Larger ones are data.
const MAX_OTHER_BYTES: usize = 256 * 1024;

/// A workspace folder.
#[derive(Debug)]
pub(crate) struct Folder {
    pub(crate) root: PathBuf,
    /// The texts of its files.
    files: BTreeMap<PathBuf, String>,
    /// Whether there may be files that are not in `files`.
    is_outdated: bool,
}

impl Folder {
    /// Creates a folder whose files are still to be read.
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root, files: BTreeMap::new(), is_outdated: true }
    }

    /// Reads all files again if there may be others. Returns a note for each file that cannot be read.
    pub(crate) fn update(&mut self) -> Vec<String> {
        if !std::mem::take(&mut self.is_outdated) {
            return Vec::new();
        }
        self.files.clear();
        if self.root.parent().is_none() {
            return vec![format!("{}: not read, because it is the root of the file system", self.root.display())];
        }
        let input = match workspace::read_folder(&self.root) {
            Ok(input) => input,
            Err(error) => return vec![error.to_string()],
        };
        for (id, path) in input.files {
            let source = input.sources.get(id);
            if source.encoding_error.is_none() {
                self.insert(path, source.text.clone());
            }
        }
        input.unread.iter().map(ToString::to_string).collect()
    }

    /// Has all files read again by the next [`Folder::update`].
    pub(crate) fn set_outdated(&mut self) {
        self.is_outdated = true;
    }

    /// Reads a known file again, or forgets it if it is gone. Whether a new file belongs to the folder depends on the
    /// files that git ignores, so all are read again.
    pub(crate) fn refresh(&mut self, path: &Path) {
        if self.files.remove(path).is_none() {
            self.is_outdated |= workspace::is_manifest(path) && path.exists();
        } else if let Ok(Some(text)) = workspace::read_folder_file(&self.root, path) {
            self.insert(path.to_owned(), text);
        }
    }

    fn insert(&mut self, path: PathBuf, text: String) {
        if text.len() <= MAX_OTHER_BYTES || BUILTIN.may_hold_input(&text) {
            self.files.insert(path, text);
        }
    }

    pub(crate) fn contains(&self, path: &Path) -> bool {
        path.starts_with(&self.root)
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.files.iter().map(|(path, text)| (path.as_path(), text.as_str()))
    }

    /// Returns the text of a file, reading it if it was not found before.
    pub(crate) fn text(&self, path: &Path) -> Option<String> {
        match self.files.get(path) {
            Some(text) => Some(text.clone()),
            None => workspace::read_folder_file(&self.root, path).ok().flatten(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_of_the_file_system_is_not_read() {
        let mut folder = Folder::new(PathBuf::from("/"));
        assert_eq!(folder.update(), ["/: not read, because it is the root of the file system"]);
        assert!(folder.files().next().is_none());
        assert!(folder.update().is_empty(), "it says so once");
    }

    #[test]
    fn a_folder_that_is_gone_has_no_files() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("a.yaml"), "a: 1\n").unwrap();
        let mut folder = Folder::new(directory.path().to_owned());
        assert!(folder.update().is_empty() && folder.files().count() == 1);
        drop(directory);
        folder.set_outdated();
        assert_eq!((folder.update().len(), folder.files().count()), (1, 0));
    }
}
