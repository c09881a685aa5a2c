//! A workspace folder of the client: the manifests in it, as they were last read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kubefoundry_compiler::pipeline::may_hold_input;

use crate::input::workspace;

/// Files without input of kubefoundry are kept up to this size in bytes: they can be patches, or objects that a patch
/// changes. Larger ones are data.
const MAX_OTHER_BYTES: usize = 256 * 1024;

/// A workspace folder.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) root: PathBuf,
    /// The texts of its files.
    files: BTreeMap<PathBuf, String>,
}

impl Folder {
    /// Reads a folder. Also returns a note for each file that cannot be read.
    pub(super) fn read(root: PathBuf) -> (Self, Vec<String>) {
        let mut folder = Self { root, files: BTreeMap::new() };
        let notes = folder.reload();
        (folder, notes)
    }

    /// Reads all files again.
    pub(super) fn reload(&mut self) -> Vec<String> {
        let input = match workspace::read_folder(&self.root) {
            Ok(input) => input,
            Err(error) => return vec![error.to_string()],
        };
        self.files.clear();
        for (id, path) in input.files {
            let source = input.sources.get(id);
            if source.encoding_error.is_none() {
                self.insert(path, source.text.clone());
            }
        }
        input.unread.iter().map(ToString::to_string).collect()
    }

    /// Reads one file again, or forgets it if it is gone. Files that were not found by [`Folder::reload`] because they
    /// are hidden or ignored by git stay unknown.
    pub(super) fn refresh(&mut self, path: &Path) {
        let is_new = !self.files.contains_key(path);
        self.files.remove(path);
        let is_hidden = || {
            let below = path.strip_prefix(&self.root).unwrap_or(path);
            below.iter().any(|part| part.to_string_lossy().starts_with('.'))
        };
        if !workspace::is_manifest(path) || (is_new && is_hidden()) {
            return;
        }
        if let Ok(Some(text)) = workspace::read_folder_file(&self.root, path) {
            self.insert(path.to_owned(), text);
        }
    }

    fn insert(&mut self, path: PathBuf, text: String) {
        if text.len() <= MAX_OTHER_BYTES || may_hold_input(&text) {
            self.files.insert(path, text);
        }
    }

    pub(super) fn contains(&self, path: &Path) -> bool {
        path.starts_with(&self.root)
    }

    pub(super) fn files(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.files.iter().map(|(path, text)| (path.as_path(), text.as_str()))
    }

    /// Returns the text of a file, reading it if it was not found before.
    pub(super) fn text(&self, path: &Path) -> Option<String> {
        match self.files.get(path) {
            Some(text) => Some(text.clone()),
            None => workspace::read_folder_file(&self.root, path).ok().flatten(),
        }
    }
}
