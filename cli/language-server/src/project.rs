//! A project: the texts that are compiled together, because one options file applies to them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kubefoundry_compiler::options::render;
use kubefoundry_compiler::session::{Providers, Session};
use kubefoundry_compiler::{Compilation, Thoroughness, compile};
use kubefoundry_composition::BUILTIN;
use kubefoundry_diagnostics::Diagnostic;
use kubefoundry_diagnostics::source::{Purpose, SourceId, SourceSet};
use kubefoundry_input::{COMMAND_LINE, workspace};
use lsp_types::Uri;
use serde_json::json;

use super::documents::{OpenDocument, OpenDocuments};
use super::folder::Folder;
use super::uri;

/// What distinguishes projects.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ProjectKey {
    /// The files of a workspace folder with the same options files, the nearest last, or those without any.
    Folder { root: PathBuf, options: Vec<PathBuf> },
    /// A document in no workspace folder, by its URI. No file is read for it.
    Alone(String),
}

impl ProjectKey {
    /// Returns the project of a document: the one whose options apply to it.
    pub(crate) fn of(document: &OpenDocument, folders: &[Folder]) -> Self {
        let Some(path) = &document.path else { return Self::Alone(document.uri.as_str().to_owned()) };
        match folder_of(path, folders) {
            Some(folder) => {
                let options = workspace::find_options(path, &folder.root);
                Self::Folder { root: folder.root.clone(), options }
            }
            None => Self::Alone(document.uri.as_str().to_owned()),
        }
    }
}

/// Returns the innermost workspace folder with a path.
pub(crate) fn folder_of<'f>(path: &Path, folders: &'f [Folder]) -> Option<&'f Folder> {
    let containing = folders.iter().filter(|folder| folder.contains(path));
    containing.max_by_key(|folder| folder.root.components().count())
}

/// Where a text comes from.
#[derive(Debug)]
enum Origin {
    File(PathBuf),
    /// A document without a file, or outside of the workspace.
    Document(Uri),
}

/// The texts of a project and the result of compiling them.
#[derive(Debug, Default)]
pub(crate) struct Project {
    /// Keeps the results of unchanged documents.
    session: Option<Session>,
    pub(crate) sources: SourceSet,
    /// The file or the document of each source.
    origins: BTreeMap<SourceId, Origin>,
    pub(crate) compilation: Option<Compilation>,
    /// The state of the server's texts that was compiled.
    pub(crate) revision: u64,
}

impl Project {
    /// Compiles the project with the present texts, as `lint` does.
    pub(crate) fn compile(&mut self, key: &ProjectKey, folders: &[Folder], documents: &OpenDocuments) {
        (self.sources, self.origins) = collect(key, folders, documents);
        if self.session.is_none() {
            self.session = Session::new(&BUILTIN, &SourceSet::default(), Providers::All).ok();
        }
        let mut compilation = match &mut self.session {
            Some(session) => session.compile(&self.sources, Thoroughness::EveryRule),
            None => compile(&BUILTIN, &self.sources, Thoroughness::EveryRule),
        };
        compilation.diagnostics.retain(|finding| !finding.suppressed);
        self.compilation = Some(compilation);
    }

    /// Returns whether a source has the text of a document.
    pub(crate) fn is_source_of(&self, source: SourceId, document: &OpenDocument) -> bool {
        match self.origins.get(&source) {
            Some(Origin::File(path)) => document.path.as_ref() == Some(path),
            Some(Origin::Document(uri)) => *uri == document.uri,
            None => false,
        }
    }

    /// Returns the URI of a source, as the client wrote it if the document is open.
    pub(crate) fn uri_of(&self, source: SourceId, documents: &OpenDocuments) -> Option<Uri> {
        match self.origins.get(&source)? {
            Origin::Document(uri) => Some(uri.clone()),
            Origin::File(path) => {
                let open = documents.values().find(|document| document.path.as_ref() == Some(path));
                open.map(|document| document.uri.clone()).or_else(|| uri::from_path(path))
            }
        }
    }

    pub(crate) fn findings(&self) -> &[Diagnostic] {
        self.compilation.as_ref().map_or(&[], |compilation| &compilation.diagnostics)
    }

    /// Returns a session that evaluates single deployments with the options and providers of the project. If the options
    /// have an error, the default ones apply.
    pub(crate) fn evaluator(&self) -> Option<Session> {
        // A session reads all of its texts, so it gets only those that it needs.
        let is_needed = |id: &SourceId, purpose: Purpose| {
            let configured = self.compilation.as_ref().map(|compilation| &compilation.configured);
            purpose != Purpose::Input || configured.is_some_and(|configured| configured.contains(id))
        };
        let mut sources = SourceSet::default();
        for (_, source) in self.sources.iter().filter(|(id, source)| is_needed(id, source.purpose)) {
            let id = sources.add_for(source.purpose, source.name.clone(), source.text.clone());
            sources.set_found(id, source.is_found);
            if let Some(model) = &source.subject {
                sources.set_subject(id, model.clone());
            }
        }
        let session = Session::new(&BUILTIN, &sources, Providers::All);
        session.or_else(|_| Session::new(&BUILTIN, &SourceSet::default(), Providers::All)).ok()
    }
}

/// Collects the texts of a project. Open documents replace their files.
fn collect(key: &ProjectKey, folders: &[Folder], documents: &OpenDocuments) -> (SourceSet, BTreeMap<SourceId, Origin>) {
    let mut collector = Collector::default();
    match key {
        ProjectKey::Alone(uri) => {
            collector.add_default_options();
            if let Some(document) = documents.get(uri) {
                let id = collector.sources.add(uri.clone(), document.text.clone());
                collector.origins.insert(id, Origin::Document(document.uri.clone()));
            }
        }
        ProjectKey::Folder { root, options } => {
            if let Some(folder) = folders.iter().find(|folder| folder.root == *root) {
                collector.add_folder(folder, options, documents);
            }
        }
    }
    (collector.sources, collector.origins)
}

#[derive(Default)]
struct Collector {
    sources: SourceSet,
    origins: BTreeMap<SourceId, Origin>,
}

impl Collector {
    /// A text without a ModelDeployment is not an error in an editor.
    fn add_default_options(&mut self) {
        let options = json!({"apiVersion": render::API_VERSION, "kind": "Render", "allowEmpty": true});
        self.sources.add_for(Purpose::Options, COMMAND_LINE, options.to_string());
    }

    fn add_folder(&mut self, folder: &Folder, options: &[PathBuf], documents: &OpenDocuments) {
        let open: BTreeMap<&Path, &OpenDocument> =
            documents.values().filter_map(|document| Some((document.path.as_deref()?, document))).collect();
        let text_of = |path: &Path| open.get(path).map(|document| document.text.clone()).or_else(|| folder.text(path));
        for path in options {
            let opened = open.get(path.as_path()).map(|document| document.text.clone());
            let Some(text) = opened.or_else(|| workspace::read_options(path)) else { continue };
            let id = self.add(folder, path, Purpose::Options, text.clone());
            // The repository brings the options, so they cannot set the policy.
            self.sources.set_found(id, true);
            let directory = path.parent().unwrap_or(&folder.root);
            #[expect(clippy::disallowed_methods, reason = "the compiler reports a file that is not read")]
            let configs = workspace::model_configs(&text, directory).unwrap_or_default();
            for (model, file) in configs {
                if let Some(config) = text_of(&file) {
                    let id = self.add(folder, &file, Purpose::ModelConfig, config);
                    self.sources.set_found(id, true);
                    self.sources.set_subject(id, model);
                }
            }
        }
        self.add_default_options();
        let mut options_of = BTreeMap::new();
        let mut has_same_options = |path: &Path| {
            let directory = path.parent().unwrap_or(path).to_owned();
            let found = options_of.entry(directory).or_insert_with(|| workspace::find_options(path, &folder.root));
            found == options
        };
        // Kustomizations elsewhere may apply a file of the project as a patch.
        let mut is_input =
            |path: &Path| !workspace::is_options(path) && (has_same_options(path) || workspace::is_kustomization(path));
        let mut texts: BTreeMap<&Path, &str> = folder.files().filter(|(path, _)| is_input(path)).collect();
        let in_folder = open.iter().filter(|(path, _)| folder.contains(path) && is_input(path));
        texts.extend(in_folder.map(|(path, document)| (*path, document.text.as_str())));
        for (path, text) in texts {
            self.add(folder, path, Purpose::Input, text.to_owned());
        }
    }

    /// Adds a file under its name relative to the workspace folder.
    fn add(&mut self, folder: &Folder, path: &Path, purpose: Purpose, text: String) -> SourceId {
        let name = path.strip_prefix(&folder.root).unwrap_or(path).display().to_string();
        let id = self.sources.add_for(purpose, name.replace('\\', "/"), text);
        self.origins.insert(id, Origin::File(path.to_owned()));
        id
    }
}
