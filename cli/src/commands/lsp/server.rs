//! The server: its life from `initialize` to `exit`, and the messages in between.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use lsp_server::{ErrorCode, Message, Notification, Request, RequestId};
use lsp_types::{
    CodeActionParams, CompletionParams, DidChangeTextDocumentParams, DidChangeWatchedFilesParams,
    DidChangeWorkspaceFoldersParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams, DidSaveTextDocumentParams,
    ExecuteCommandParams, GotoDefinitionParams, HoverParams, Location, TextDocumentIdentifier,
    TextDocumentPositionParams,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::client::{Client, workspace_folders};
use super::definition::Texts;
use super::documents::{OpenDocument, OpenDocuments};
use super::folder::Folder;
use super::position::Lines;
use super::project::{Project, ProjectKey, folder_of};
use super::rendered::{self, RenderedManifestParams};
use super::transport::{self, Incoming};
use super::{actions, completion, diagnostics, hover, uri};
use crate::exit::ExitStatus;

/// The custom request for the manifests of a document.
const RENDERED_MANIFEST: &str = "kubefoundry/renderedManifest";

/// The command for the same, for clients that can run commands only.
const RENDERED_MANIFEST_COMMAND: &str = "kubefoundry.renderedManifest";

/// `MessageType.Warning` of the protocol.
const WARNING: u8 = 2;

/// The stage of the server's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Started,
    Initialized,
    ShutDown,
}

/// Why a request has no result.
#[derive(Debug)]
struct Refusal {
    code: ErrorCode,
    message: String,
}

type Answer = Result<Value, Refusal>;

/// A language server that writes its messages to `output`.
pub(super) struct Server<W> {
    output: W,
    stage: Stage,
    has_lost_client: bool,
    client: Client,
    folders: Vec<Folder>,
    documents: OpenDocuments,
    projects: BTreeMap<ProjectKey, Project>,
    /// Counts the changes of texts and folders.
    revision: u64,
    /// The revision whose findings the client has.
    published: u64,
    /// Counts the requests to the client.
    requests: i32,
}

impl<W: Write> Server<W> {
    pub(super) fn new(output: W) -> Self {
        Self {
            output,
            stage: Stage::Started,
            has_lost_client: false,
            client: Client::default(),
            folders: Vec::new(),
            documents: OpenDocuments::new(),
            projects: BTreeMap::new(),
            revision: 0,
            published: 0,
            requests: 0,
        }
    }

    /// Returns whether a message could not be written.
    pub(super) fn has_lost_client(&self) -> bool {
        self.has_lost_client
    }

    /// Returns the exit status that the protocol demands: success only after `shutdown`.
    pub(super) fn exit_status(&self) -> ExitStatus {
        if self.stage == Stage::ShutDown { ExitStatus::Success } else { ExitStatus::Findings }
    }

    /// Handles a message. Returns the exit status at the end.
    pub(super) fn handle(&mut self, incoming: Incoming) -> Option<ExitStatus> {
        match incoming {
            Incoming::Malformed(answer) => self.send(&answer),
            Incoming::Message(Message::Request(request)) => self.handle_request(request),
            Incoming::Message(Message::Notification(notification)) if notification.method == "exit" => {
                return Some(self.exit_status());
            }
            Incoming::Message(Message::Notification(notification)) => {
                if self.stage == Stage::Initialized {
                    self.handle_notification(notification);
                }
            }
            // The client has registered the watcher, or it has not.
            Incoming::Message(Message::Response(_)) => {}
        }
        None
    }

    fn handle_request(&mut self, request: Request) {
        let Request { id, method, params } = request;
        let refuse = |code, message: &str| Err(Refusal { code, message: message.to_owned() });
        let answer = match (self.stage, method.as_str()) {
            (Stage::Started, "initialize") => Ok(self.initialize(&params)),
            (Stage::Started, _) => refuse(ErrorCode::ServerNotInitialized, "expected initialize as the first request"),
            (Stage::ShutDown, _) => refuse(ErrorCode::InvalidRequest, "the server was shut down; expected exit"),
            (Stage::Initialized, "initialize") => refuse(ErrorCode::InvalidRequest, "the server is initialized"),
            (Stage::Initialized, "shutdown") => {
                self.stage = Stage::ShutDown;
                Ok(Value::Null)
            }
            (Stage::Initialized, "textDocument/hover") => parse(params).and_then(|params| self.hover(&params)),
            (Stage::Initialized, "textDocument/completion") => parse(params).and_then(|params| self.complete(&params)),
            (Stage::Initialized, "textDocument/codeAction") => {
                parse(params).and_then(|params| self.code_actions(&params))
            }
            (Stage::Initialized, "textDocument/definition") => parse(params).and_then(|params| self.define(&params)),
            (Stage::Initialized, "workspace/executeCommand") => parse(params).and_then(|params| self.execute(params)),
            (Stage::Initialized, RENDERED_MANIFEST) => parse(params).and_then(|params| self.render(&params)),
            (Stage::Initialized, other) => refuse(ErrorCode::MethodNotFound, &format!("there is no request {other:?}")),
        };
        self.answer(&id, answer);
    }

    fn answer(&mut self, id: &RequestId, answer: Answer) {
        let message = match answer {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(Refusal { code, message }) => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": code as i32, "message": message}})
            }
        };
        self.send(&message);
    }

    fn handle_notification(&mut self, notification: Notification) {
        let Notification { method, params } = notification;
        let handled = match method.as_str() {
            "initialized" => {
                self.watch_files();
                Ok(())
            }
            "textDocument/didOpen" => parse(params).map(|params| self.open(params)),
            "textDocument/didChange" => parse(params).map(|params| self.change(params)),
            "textDocument/didSave" => parse(params).map(|params| self.save(&params)),
            "textDocument/didClose" => parse(params).map(|params| self.close(&params)),
            "workspace/didChangeWatchedFiles" => parse(params).map(|params| self.refresh_files(&params)),
            "workspace/didChangeWorkspaceFolders" => parse(params).map(|params| self.change_folders(&params)),
            // The protocol lets a server ignore every other notification.
            _ => Ok(()),
        };
        if let Err(refusal) = handled {
            self.log(&format!("{method} was ignored: {}", refusal.message));
        }
    }

    fn initialize(&mut self, parameters: &Value) -> Value {
        self.client = Client::from_parameters(parameters);
        for root in workspace_folders(parameters) {
            self.add_folder(&root);
        }
        self.stage = Stage::Initialized;
        json!({
            "serverInfo": {"name": "kubefoundry", "version": env!("CARGO_PKG_VERSION")},
            "capabilities": {
                "positionEncoding": self.client.encoding.kind(),
                // 2 stands for changes of parts of a text.
                "textDocumentSync": {"openClose": true, "change": 2, "save": true},
                "hoverProvider": true,
                "completionProvider": {"triggerCharacters": [":", " "]},
                "codeActionProvider": {"codeActionKinds": ["quickfix", actions::FIX_ALL]},
                "definitionProvider": true,
                "executeCommandProvider": {"commands": [RENDERED_MANIFEST_COMMAND]},
                "workspace": {"workspaceFolders": {"supported": true, "changeNotifications": true}},
                "experimental": {"renderedManifest": true},
            },
        })
    }

    /// Asks the client to report changes of manifests that are not open.
    fn watch_files(&mut self) {
        if !self.client.watches_files {
            return;
        }
        self.requests += 1;
        let watchers: Vec<Value> =
            ["**/*.{yaml,yml,json}", "**/Kustomization"].map(|glob| json!({"globPattern": glob})).into();
        let registration = json!({
            "id": "kubefoundry-files",
            "method": "workspace/didChangeWatchedFiles",
            "registerOptions": {"watchers": watchers},
        });
        let message = json!({
            "jsonrpc": "2.0",
            "id": self.requests,
            "method": "client/registerCapability",
            "params": {"registrations": [registration]},
        });
        self.send(&message);
    }

    fn add_folder(&mut self, root: &Path) {
        if self.folders.iter().any(|folder| folder.root == root) {
            return;
        }
        self.folders.push(Folder::new(root.to_owned()));
        self.revision += 1;
    }

    /// Reads the folders again that may have other files.
    fn update_folders(&mut self) {
        let notes: Vec<String> = self.folders.iter_mut().flat_map(Folder::update).collect();
        for note in notes {
            self.log(&note);
        }
    }

    fn change_folders(&mut self, params: &DidChangeWorkspaceFoldersParams) {
        for removed in params.event.removed.iter().filter_map(|folder| uri::to_path(folder.uri.as_str())) {
            self.folders.retain(|folder| folder.root != removed);
        }
        for added in params.event.added.iter().filter_map(|folder| uri::to_path(folder.uri.as_str())) {
            self.add_folder(&added);
        }
        self.revision += 1;
    }

    fn open(&mut self, params: DidOpenTextDocumentParams) {
        let document = params.text_document;
        let key = document.uri.as_str().to_owned();
        self.documents.insert(key, OpenDocument::new(document.uri, document.version, document.text));
        self.revision += 1;
    }

    fn change(&mut self, params: DidChangeTextDocumentParams) {
        let identifier = params.text_document;
        match self.documents.get_mut(identifier.uri.as_str()) {
            Some(document) => document.apply(identifier.version, params.content_changes, self.client.encoding),
            None => self.log(&format!("{} was changed, but is not open", identifier.uri.as_str())),
        }
        self.revision += 1;
    }

    /// Reads the file again; all files, if the client does not say which ones have changed besides.
    fn save(&mut self, params: &DidSaveTextDocumentParams) {
        let Some(path) = uri::to_path(params.text_document.uri.as_str()) else { return };
        for folder in self.folders.iter_mut().filter(|folder| folder.contains(&path)) {
            if self.client.watches_files {
                folder.refresh(&path);
            } else {
                folder.set_outdated();
            }
        }
        self.revision += 1;
    }

    fn close(&mut self, params: &DidCloseTextDocumentParams) {
        let uri = &params.text_document.uri;
        self.documents.remove(uri.as_str());
        if let Some(path) = uri::to_path(uri.as_str()) {
            self.refresh(&path);
        }
        self.notify("textDocument/publishDiagnostics", &json!({"uri": uri, "diagnostics": []}));
        self.revision += 1;
    }

    fn refresh_files(&mut self, params: &DidChangeWatchedFilesParams) {
        for path in params.changes.iter().filter_map(|change| uri::to_path(change.uri.as_str())) {
            self.refresh(&path);
        }
        self.revision += 1;
    }

    fn refresh(&mut self, path: &Path) {
        self.folders.iter_mut().filter(|folder| folder.contains(path)).for_each(|folder| folder.refresh(path));
    }

    /// Compiles the project of a document unless it is up to date, and returns both.
    fn compiled(&mut self, uri: &str) -> Result<(&Project, &OpenDocument), Refusal> {
        self.update_folders();
        let document = self.documents.get(uri).ok_or_else(|| not_open(uri))?;
        let key = ProjectKey::of(document, &self.folders);
        let project = self.projects.entry(key.clone()).or_default();
        if project.compilation.is_none() || project.revision != self.revision {
            project.compile(&key, &self.folders, &self.documents);
            project.revision = self.revision;
        }
        Ok((project, document))
    }

    /// Sends the findings of every open document that have changed.
    pub(super) fn publish_findings(&mut self) {
        if self.stage != Stage::Initialized || self.published == self.revision {
            return;
        }
        self.published = self.revision;
        self.update_folders();
        let uris: Vec<String> = self.documents.keys().cloned().collect();
        for uri in uris {
            if self.compiled(&uri).is_err() {
                continue;
            }
            let Some(document) = self.documents.get(&uri) else { continue };
            let Some(project) = self.projects.get(&ProjectKey::of(document, &self.folders)) else { continue };
            let found = diagnostics::of_document(project, document, &self.documents, &self.client);
            if document.published.as_ref() == Some(&found) {
                continue;
            }
            let params = json!({"uri": document.uri, "version": document.version, "diagnostics": found});
            self.notify("textDocument/publishDiagnostics", &params);
            if let Some(document) = self.documents.get_mut(&uri) {
                document.published = Some(found);
            }
        }
        let used: Vec<ProjectKey> = self.documents.values().map(|it| ProjectKey::of(it, &self.folders)).collect();
        self.projects.retain(|key, _| used.contains(key));
    }

    fn hover(&mut self, params: &HoverParams) -> Answer {
        let (document, offset) = self.locate(&params.text_document_position_params)?;
        let (text, lines) = (document.text.clone(), document.uri.as_str().to_owned());
        let session = self.compiled(&lines)?.0.evaluator();
        let lines = Lines::new(&text, self.client.encoding);
        to_answer(&hover::at(&text, offset, &lines, session.as_ref(), &self.client))
    }

    fn complete(&mut self, params: &CompletionParams) -> Answer {
        let (document, offset) = self.locate(&params.text_document_position)?;
        let (text, uri) = (document.text.clone(), document.uri.as_str().to_owned());
        let session = self.compiled(&uri)?.0.evaluator();
        let lines = Lines::new(&text, self.client.encoding);
        to_answer(&completion::at(&text, offset, &lines, session.as_ref(), &self.client))
    }

    fn code_actions(&mut self, params: &CodeActionParams) -> Answer {
        let uri = params.text_document.uri.as_str();
        self.compiled(uri)?;
        let document = self.documents.get(uri).ok_or_else(|| not_open(uri))?;
        let Some(project) = self.projects.get(&ProjectKey::of(document, &self.folders)) else { return Ok(json!([])) };
        let only = params.context.only.as_deref();
        to_answer(&actions::of_range(project, document, &self.documents, params.range, only, &self.client))
    }

    fn define(&mut self, params: &GotoDefinitionParams) -> Answer {
        self.update_folders();
        let (document, offset) = self.locate(&params.text_document_position_params)?;
        let Some(path) = &document.path else { return Ok(Value::Null) };
        let Some(folder) = folder_of(path, &self.folders) else { return Ok(Value::Null) };
        let mut texts: BTreeMap<&Path, &str> = folder.files().collect();
        let open =
            self.documents.values().filter_map(|document| Some((document.path.as_deref()?, document.text.as_str())));
        texts.extend(open.filter(|(path, _)| folder.contains(path)));
        let searched = Texts::new(&folder.root, texts.clone());
        let locations = searched.definitions(path, offset).into_iter().filter_map(|found| {
            let text = texts.get(found.path.as_path())?;
            let range = Lines::new(text, self.client.encoding).range(found.span);
            let open = self.documents.values().find(|document| document.path.as_ref() == Some(&found.path));
            let uri = open.map(|document| document.uri.clone()).or_else(|| uri::from_path(&found.path))?;
            Some(Location { uri, range })
        });
        to_answer(&locations.collect::<Vec<_>>())
    }

    fn render(&mut self, params: &RenderedManifestParams) -> Answer {
        let encoding = self.client.encoding;
        let (project, document) = self.compiled(params.text_document.uri.as_str())?;
        let rendered = rendered::render(project, document, params.position, encoding);
        to_answer(&rendered.map_err(|message| Refusal { code: ErrorCode::RequestFailed, message })?)
    }

    /// Runs a command. Its arguments are the URI of a document and, optionally, a position.
    fn execute(&mut self, params: ExecuteCommandParams) -> Answer {
        if params.command != RENDERED_MANIFEST_COMMAND {
            let message = format!("there is no command {:?}, expected {RENDERED_MANIFEST_COMMAND}", params.command);
            return Err(Refusal { code: ErrorCode::InvalidParams, message });
        }
        let mut arguments = params.arguments.into_iter();
        let identifier = arguments.next().unwrap_or_default();
        // Some clients pass the parameters of the request instead of the URI alone.
        if identifier.is_object() {
            return parse(identifier).and_then(|params| self.render(&params));
        }
        let text_document = TextDocumentIdentifier { uri: parse(identifier)? };
        let position = parse(arguments.next().unwrap_or_default())?;
        self.render(&RenderedManifestParams { text_document, position })
    }

    /// Finds the document and the offset that a request is about.
    fn locate(&self, params: &TextDocumentPositionParams) -> Result<(&OpenDocument, usize), Refusal> {
        let uri = params.text_document.uri.as_str();
        let document = self.documents.get(uri).ok_or_else(|| not_open(uri))?;
        Ok((document, document.lines(self.client.encoding).offset(params.position)))
    }

    fn log(&mut self, message: &str) {
        self.notify("window/logMessage", &json!({"type": WARNING, "message": message}));
    }

    fn notify(&mut self, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    fn send(&mut self, message: &Value) {
        self.has_lost_client |= transport::write(&mut self.output, message).is_err();
    }
}

fn not_open(uri: &str) -> Refusal {
    Refusal { code: ErrorCode::InvalidParams, message: format!("{uri} is not open") }
}

fn parse<T: DeserializeOwned>(params: Value) -> Result<T, Refusal> {
    serde_json::from_value(params).map_err(|error| Refusal {
        code: ErrorCode::InvalidParams,
        message: format!("the parameters are wrong: {error}"),
    })
}

fn to_answer(result: &impl serde::Serialize) -> Answer {
    serde_json::to_value(result).map_err(|error| Refusal { code: ErrorCode::InternalError, message: error.to_string() })
}
