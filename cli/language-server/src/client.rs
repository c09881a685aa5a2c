//! What the client can do, from its `initialize` request.

use std::path::PathBuf;

use serde_json::Value;

use super::position::Encoding;
use super::uri;

/// The capabilities and settings of the client.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a capability of its own in the protocol")]
pub(crate) struct Client {
    pub(crate) encoding: Encoding,
    /// Whether findings can have related locations.
    pub(crate) shows_related: bool,
    /// Whether edits can name the version of the document that they change.
    pub(crate) has_versioned_edits: bool,
    /// Whether the client reports changes of files that are not open.
    pub(crate) watches_files: bool,
    /// Whether the client renders Markdown in hovers and completions.
    pub(crate) renders_markdown: bool,
    /// The address of the page of a code, with `{code}` in place of the code.
    pub(crate) code_pages: Option<String>,
}

impl Client {
    /// Reads the parameters of `initialize`. What is absent or malformed counts as not supported.
    pub(crate) fn from_parameters(parameters: &Value) -> Self {
        let capability = |pointer: &str| parameters.pointer(&format!("/capabilities/{pointer}"));
        let is_set = |pointer: &str| capability(pointer).and_then(Value::as_bool).unwrap_or_default();
        let encodings = capability("general/positionEncodings").and_then(Value::as_array);
        let formats = capability("textDocument/hover/contentFormat").and_then(Value::as_array);
        Self {
            encoding: Encoding::negotiate(encodings.into_iter().flatten().filter_map(Value::as_str)),
            shows_related: is_set("textDocument/publishDiagnostics/relatedInformation"),
            has_versioned_edits: is_set("workspace/workspaceEdit/documentChanges"),
            watches_files: is_set("workspace/didChangeWatchedFiles/dynamicRegistration"),
            renders_markdown: formats.into_iter().flatten().any(|format| format == "markdown"),
            code_pages: parameters
                .pointer("/initializationOptions/codePages")
                .and_then(Value::as_str)
                .map(str::to_owned),
        }
    }
}

/// Returns the paths of the workspace folders in the parameters of `initialize`.
pub(crate) fn workspace_folders(parameters: &Value) -> Vec<PathBuf> {
    let path = |uri: &Value| uri.as_str().and_then(uri::to_path);
    match parameters.get("workspaceFolders").and_then(Value::as_array) {
        Some(folders) => folders.iter().filter_map(|folder| path(folder.get("uri")?)).collect(),
        // Older clients open a single folder.
        None => parameters.get("rootUri").and_then(path).into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_client_without_capabilities_has_the_least() {
        for parameters in [Value::Null, json!({}), json!({"capabilities": []}), json!({"capabilities": {"general": 1}})]
        {
            let client = Client::from_parameters(&parameters);
            assert_eq!(client.encoding, Encoding::Utf16);
            assert!(!client.shows_related && !client.watches_files && client.code_pages.is_none());
            assert!(workspace_folders(&parameters).is_empty());
        }
    }

    #[test]
    fn reads_folders_and_settings() {
        let parameters = json!({
            "workspaceFolders": [{"uri": "file:///a", "name": "a"}, {"uri": "untitled:b"}],
            "rootUri": "file:///b",
            "initializationOptions": {"codePages": "https://example.com/{code}"},
            "capabilities": {"general": {"positionEncodings": ["utf-8", "utf-16"]}},
        });
        assert_eq!(workspace_folders(&parameters), [PathBuf::from("/a")]);
        let client = Client::from_parameters(&parameters);
        assert_eq!(
            (client.encoding, client.code_pages.as_deref()),
            (Encoding::Utf8, Some("https://example.com/{code}"))
        );
        let old = json!({"rootUri": "file:///b", "workspaceFolders": null});
        assert_eq!(workspace_folders(&old), [PathBuf::from("/b")]);
    }
}
