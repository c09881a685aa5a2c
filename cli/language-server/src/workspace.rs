//! The state of the server: open documents, the files around them, and the projects that they form.

use std::collections::BTreeMap;
use std::path::Path;

use lsp_types::{Location, TextDocumentContentChangeEvent};

use super::definition::Texts;
use super::documents::{OpenDocument, OpenDocuments};
use super::folder::Folder;
use super::position::{Encoding, Lines};
use super::project::{Project, ProjectKey, folder_of};
use super::uri;

/// All texts that the server knows, and the results of compiling them.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    folders: Vec<Folder>,
    documents: OpenDocuments,
    projects: BTreeMap<ProjectKey, Project>,
    /// Counts the changes of texts and folders.
    revision: u64,
}

/// An open document with its compiled project.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compiled<'w> {
    pub(crate) document: &'w OpenDocument,
    pub(crate) documents: &'w OpenDocuments,
    pub(crate) project: &'w Project,
}

impl Workspace {
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    pub(crate) fn add_folder(&mut self, root: &Path) {
        if self.folders.iter().all(|folder| folder.root != root) {
            self.folders.push(Folder::new(root.to_owned()));
            self.revision += 1;
        }
    }

    pub(crate) fn remove_folder(&mut self, root: &Path) {
        self.folders.retain(|folder| folder.root != root);
        self.revision += 1;
    }

    /// Reads the folders again that may have other files. Returns a note for each file that cannot be read.
    pub(crate) fn update_folders(&mut self) -> Vec<String> {
        self.folders.iter_mut().flat_map(Folder::update).collect()
    }

    pub(crate) fn open(&mut self, document: OpenDocument) {
        self.documents.insert(document.uri.as_str().to_owned(), document);
        self.revision += 1;
    }

    /// Changes an open document. Returns whether there is one.
    pub(crate) fn change(
        &mut self,
        uri: &str,
        version: i32,
        changes: Vec<TextDocumentContentChangeEvent>,
        encoding: Encoding,
    ) -> bool {
        let Some(document) = self.documents.get_mut(uri) else { return false };
        document.apply(version, changes, encoding);
        self.revision += 1;
        true
    }

    /// Forgets a document. Its file counts again.
    pub(crate) fn close(&mut self, uri: &str) {
        self.documents.remove(uri);
        self.refresh_file(uri);
    }

    /// Reads a file again.
    pub(crate) fn refresh_file(&mut self, uri: &str) {
        self.in_folders_of(uri, Folder::refresh);
    }

    /// Has every file in the folder of a document read again.
    pub(crate) fn refresh_folder(&mut self, uri: &str) {
        self.in_folders_of(uri, |folder, _| folder.set_outdated());
    }

    fn in_folders_of(&mut self, uri: &str, change: impl Fn(&mut Folder, &Path)) {
        let Some(path) = uri::to_path(uri) else { return };
        self.folders.iter_mut().filter(|folder| folder.contains(&path)).for_each(|folder| change(folder, &path));
        self.revision += 1;
    }

    pub(crate) fn uris(&self) -> Vec<String> {
        self.documents.keys().cloned().collect()
    }

    pub(crate) fn document(&self, uri: &str) -> Option<&OpenDocument> {
        self.documents.get(uri)
    }

    pub(crate) fn document_mut(&mut self, uri: &str) -> Option<&mut OpenDocument> {
        self.documents.get_mut(uri)
    }

    /// Compiles the project of an open document unless it is up to date.
    pub(crate) fn compiled(&mut self, uri: &str) -> Option<Compiled<'_>> {
        let document = self.documents.get(uri)?;
        let key = ProjectKey::of(document, &self.folders);
        let project = self.projects.entry(key.clone()).or_default();
        if project.compilation.is_none() || project.revision != self.revision {
            project.compile(&key, &self.folders, &self.documents);
            project.revision = self.revision;
        }
        Some(Compiled { document, documents: &self.documents, project })
    }

    /// Forgets the projects without an open document.
    pub(crate) fn drop_unused_projects(&mut self) {
        let used: Vec<ProjectKey> = self.documents.values().map(|it| ProjectKey::of(it, &self.folders)).collect();
        self.projects.retain(|key, _| used.contains(key));
    }

    /// Returns the definitions of what stands at an offset of a document.
    pub(crate) fn definitions(&self, document: &OpenDocument, offset: usize, encoding: Encoding) -> Vec<Location> {
        let Some(path) = &document.path else { return Vec::new() };
        let Some(folder) = folder_of(path, &self.folders) else { return Vec::new() };
        let open = self.documents.values().filter_map(|open| Some((open.path.as_deref()?, open)));
        let open: BTreeMap<&Path, &OpenDocument> = open.filter(|(path, _)| folder.contains(path)).collect();
        let mut texts: BTreeMap<&Path, &str> = folder.files().collect();
        texts.extend(open.iter().map(|(path, document)| (*path, document.text.as_str())));
        let definitions = Texts::new(&folder.root, &texts).definitions(path, offset);
        let locate = |path: &Path, span| {
            let range = Lines::new(texts.get(path)?, encoding).range(span);
            let uri = open.get(path).map(|document| document.uri.clone()).or_else(|| uri::from_path(path))?;
            Some(Location { uri, range })
        };
        definitions.iter().filter_map(|found| locate(&found.path, found.span)).collect()
    }
}
