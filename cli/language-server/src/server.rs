//! The server: its life from `initialize` to `exit`, and the messages in between.

use std::io::Write;

use lsp_server::{ErrorCode, Message, Notification, Request, RequestId};
use lsp_types::{
    CodeActionKind, DidChangeTextDocumentParams, DidChangeWatchedFilesParams, DidChangeWorkspaceFoldersParams,
    DidCloseTextDocumentParams, DidOpenTextDocumentParams, DidSaveTextDocumentParams, Range, TextDocumentIdentifier,
    TextDocumentPositionParams, VersionedTextDocumentIdentifier, WorkspaceFolder,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::client::{Client, workspace_folders};
use super::documents::OpenDocument;
use super::position::Lines;
use super::rendered::{self, RenderedManifestParams};
use super::transport::{self, Incoming};
use super::workspace::{Compiled, Workspace};
use super::{actions, completion, diagnostics, hover, uri};

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

/// What the server needs of the parameters of `textDocument/codeAction`, which bring whole findings.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CodeActionRequest {
    text_document: TextDocumentIdentifier,
    range: Range,
    context: CodeActionFilter,
}

#[derive(Debug, Deserialize)]
struct CodeActionFilter {
    #[serde(default)]
    only: Option<Vec<CodeActionKind>>,
}

/// The parameters of `workspace/executeCommand`.
#[derive(Debug, Deserialize)]
struct CommandRequest {
    command: String,
    #[serde(default)]
    arguments: Vec<Value>,
}

/// A language server that writes its messages to `output`.
pub(crate) struct Server<W> {
    output: W,
    stage: Stage,
    has_lost_client: bool,
    client: Client,
    workspace: Workspace,
    /// The revision of the workspace whose findings the client has.
    published: u64,
    /// Counts the requests to the client.
    requests: i32,
}

impl<W: Write> Server<W> {
    pub(crate) fn new(output: W) -> Self {
        Self {
            output,
            stage: Stage::Started,
            has_lost_client: false,
            client: Client::default(),
            workspace: Workspace::default(),
            published: 0,
            requests: 0,
        }
    }

    /// Returns whether a message could not be written.
    pub(crate) fn has_lost_client(&self) -> bool {
        self.has_lost_client
    }

    /// Returns whether the client has sent `shutdown`.
    pub(crate) fn is_shut_down(&self) -> bool {
        self.stage == Stage::ShutDown
    }

    /// Handles a message. Returns whether the session goes on.
    pub(crate) fn handle(&mut self, incoming: Incoming) -> bool {
        match incoming {
            Incoming::Malformed(answer) => self.send(&answer),
            Incoming::Message(Message::Request(request)) => self.handle_request(request),
            Incoming::Message(Message::Notification(notification)) if notification.method == "exit" => {
                return false;
            }
            Incoming::Message(Message::Notification(notification)) => {
                if self.stage == Stage::Initialized {
                    self.handle_notification(notification);
                }
            }
            // The client has registered the watcher, or it has not.
            Incoming::Message(Message::Response(_)) => {}
        }
        true
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
            self.workspace.add_folder(&root);
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

    fn change_folders(&mut self, params: &DidChangeWorkspaceFoldersParams) {
        let path = |folder: &WorkspaceFolder| uri::to_path(folder.uri.as_str());
        for removed in params.event.removed.iter().filter_map(path) {
            self.workspace.remove_folder(&removed);
        }
        for added in params.event.added.iter().filter_map(path) {
            self.workspace.add_folder(&added);
        }
    }

    fn open(&mut self, params: DidOpenTextDocumentParams) {
        let document = params.text_document;
        self.workspace.open(OpenDocument::new(document.uri, document.version, document.text));
    }

    fn change(&mut self, params: DidChangeTextDocumentParams) {
        let VersionedTextDocumentIdentifier { uri, version } = params.text_document;
        if !self.workspace.change(uri.as_str(), version, params.content_changes, self.client.encoding) {
            self.log(&format!("{} was changed, but is not open", uri.as_str()));
        }
    }

    /// Reads the file again; all files, if the client does not say which ones have changed besides.
    fn save(&mut self, params: &DidSaveTextDocumentParams) {
        let uri = params.text_document.uri.as_str();
        if self.client.watches_files {
            self.workspace.refresh_file(uri);
        } else {
            self.workspace.refresh_folder(uri);
        }
    }

    fn close(&mut self, params: &DidCloseTextDocumentParams) {
        let uri = &params.text_document.uri;
        self.workspace.close(uri.as_str());
        self.notify("textDocument/publishDiagnostics", &json!({"uri": uri, "diagnostics": []}));
    }

    fn refresh_files(&mut self, params: &DidChangeWatchedFilesParams) {
        for change in &params.changes {
            self.workspace.refresh_file(change.uri.as_str());
        }
    }

    /// Reads the folders again that may have other files, and logs the files that cannot be read.
    fn update_folders(&mut self) {
        for note in self.workspace.update_folders() {
            self.log(&note);
        }
    }

    /// Sends the findings of every open document that have changed.
    pub(crate) fn publish_findings(&mut self) {
        if self.stage != Stage::Initialized || self.published == self.workspace.revision() {
            return;
        }
        self.published = self.workspace.revision();
        self.update_folders();
        for uri in self.workspace.uris() {
            let Some(compiled) = self.workspace.compiled(&uri) else { continue };
            let document = compiled.document;
            let found = diagnostics::of_document(compiled, &self.client);
            if document.published.as_ref() == Some(&found) {
                continue;
            }
            let params = json!({"uri": document.uri, "version": document.version, "diagnostics": found});
            self.notify("textDocument/publishDiagnostics", &params);
            if let Some(document) = self.workspace.document_mut(&uri) {
                document.published = Some(found);
            }
        }
        self.workspace.drop_unused_projects();
    }

    /// Compiles the project of a document, as far as it is not up to date.
    fn compiled(&mut self, identifier: &TextDocumentIdentifier) -> Result<(Compiled<'_>, &Client), Refusal> {
        self.update_folders();
        let uri = identifier.uri.as_str();
        let compiled = self.workspace.compiled(uri).ok_or_else(|| not_open(uri))?;
        Ok((compiled, &self.client))
    }

    fn hover(&mut self, params: &TextDocumentPositionParams) -> Answer {
        let TextDocumentPositionParams { text_document, position } = params;
        let (Compiled { document, project, .. }, client) = self.compiled(text_document)?;
        let lines = document.lines(client.encoding);
        let session = project.evaluator();
        to_answer(&hover::at(&document.text, lines.offset(*position), &lines, session.as_ref(), client))
    }

    fn complete(&mut self, params: &TextDocumentPositionParams) -> Answer {
        let TextDocumentPositionParams { text_document, position } = params;
        let (Compiled { document, project, .. }, client) = self.compiled(text_document)?;
        let lines = document.lines(client.encoding);
        let session = project.evaluator();
        to_answer(&completion::at(&document.text, lines.offset(*position), &lines, session.as_ref(), client))
    }

    fn code_actions(&mut self, params: &CodeActionRequest) -> Answer {
        let (compiled, client) = self.compiled(&params.text_document)?;
        to_answer(&actions::of_range(compiled, params.range, params.context.only.as_deref(), client))
    }

    fn define(&mut self, params: &TextDocumentPositionParams) -> Answer {
        self.update_folders();
        let TextDocumentPositionParams { text_document, position } = params;
        let (uri, encoding) = (text_document.uri.as_str(), self.client.encoding);
        let document = self.workspace.document(uri).ok_or_else(|| not_open(uri))?;
        let offset = Lines::new(&document.text, encoding).offset(*position);
        to_answer(&self.workspace.definitions(document, offset, encoding))
    }

    fn render(&mut self, params: &RenderedManifestParams) -> Answer {
        let (Compiled { document, project, .. }, client) = self.compiled(&params.text_document)?;
        let rendered = rendered::render(project, document, params.position, client.encoding);
        to_answer(&rendered.map_err(|message| Refusal { code: ErrorCode::RequestFailed, message })?)
    }

    /// Runs a command. Its arguments are the URI of a document and, optionally, a position.
    fn execute(&mut self, params: CommandRequest) -> Answer {
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
