//! Code actions: the fixes of `lint --fix`, one by one or all of a document at once.

use kubefoundry_diagnostics as core;
use kubefoundry_editor::fixes::{breaks_syntax, compatible_edits};
use kubefoundry_yaml::Span;
use kubefoundry_yaml::edit::{TextEdit, apply_edits};
use lsp_types::{
    CodeAction, CodeActionKind, DocumentChanges, OneOf, OptionalVersionedTextDocumentIdentifier, Range,
    TextDocumentEdit, WorkspaceEdit,
};

use super::client::Client;
use super::diagnostics::{is_in, to_diagnostic};
use super::documents::OpenDocument;
use super::position::Lines;
use super::workspace::Compiled;

/// The kind of the action that fixes everything, for clients that run it when a document is saved.
pub(crate) const FIX_ALL: &str = "source.fixAll.kubefoundry";

/// Returns the actions for a range of a document. `only` lists the kinds that the client asks for, if it asks for some.
pub(crate) fn of_range(
    compiled: Compiled<'_>,
    range: Range,
    only: Option<&[CodeActionKind]>,
    client: &Client,
) -> Vec<CodeAction> {
    let Compiled { document, project, .. } = compiled;
    let lines = document.lines(client.encoding);
    let wanted = lines.span(range);
    let is_asked_for =
        |kind: &str| only.is_none_or(|kinds| kinds.iter().any(|asked| is_same_or_below(kind, asked.as_str())));
    let fixable: Vec<&core::Diagnostic> = project
        .findings()
        .iter()
        .filter(|finding| finding.fix.is_some() && is_in(finding, project, document))
        .collect();
    let mut actions = Vec::new();
    for finding in fixable.iter().filter(|_| is_asked_for(CodeActionKind::QUICKFIX.as_str())) {
        let touches = |span: Span| span.start <= wanted.end && wanted.start <= span.end;
        let (Some(fix), Some(location)) = (&finding.fix, &finding.location) else { continue };
        if !touches(location.span) || breaks_syntax(&document.text, &apply_edits(&document.text, &fix.edits)) {
            continue;
        }
        let diagnostic = to_diagnostic(finding, true, compiled, &lines, client);
        actions.push(CodeAction {
            title: capitalize(&fix.title),
            kind: Some(CodeActionKind::QUICKFIX),
            diagnostics: diagnostic.map(|diagnostic| vec![diagnostic]),
            edit: Some(workspace_edit(&fix.edits, document, &lines, client)),
            is_preferred: Some(true),
            ..CodeAction::default()
        });
    }
    let edits = compatible_edits(&document.text, fixable.iter().copied());
    if is_asked_for(FIX_ALL)
        && !edits.is_empty()
        && !breaks_syntax(&document.text, &apply_edits(&document.text, &edits))
    {
        actions.push(CodeAction {
            title: "Apply all fixes of kubefoundry".to_owned(),
            kind: Some(CodeActionKind::from(FIX_ALL)),
            edit: Some(workspace_edit(&edits, document, &lines, client)),
            ..CodeAction::default()
        });
    }
    actions
}

/// Returns whether a kind of action is one that was asked for: the same, or below it (`source` covers `source.fixAll`).
fn is_same_or_below(kind: &str, asked: &str) -> bool {
    kind.strip_prefix(asked).is_some_and(|rest| asked.is_empty() || rest.is_empty() || rest.starts_with('.'))
}

/// Converts edits of a document.
#[expect(clippy::mutable_key_type, reason = "the type that the protocol's crate has for changes by URI")]
fn workspace_edit(edits: &[TextEdit], document: &OpenDocument, lines: &Lines<'_>, client: &Client) -> WorkspaceEdit {
    let edits: Vec<lsp_types::TextEdit> = edits
        .iter()
        .map(|edit| lsp_types::TextEdit { range: lines.range(edit.range), new_text: edit.replacement.clone() })
        .collect();
    if !client.has_versioned_edits {
        let changes = std::iter::once((document.uri.clone(), edits)).collect();
        return WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() };
    }
    let text_document =
        OptionalVersionedTextDocumentIdentifier { uri: document.uri.clone(), version: Some(document.version) };
    let edit = TextDocumentEdit { text_document, edits: edits.into_iter().map(OneOf::Left).collect() };
    WorkspaceEdit { document_changes: Some(DocumentChanges::Edits(vec![edit])), ..WorkspaceEdit::default() }
}

fn capitalize(title: &str) -> String {
    let mut characters = title.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_asked_for_by_themselves_or_by_the_kind_above() {
        for (kind, asked, expected) in [
            ("quickfix", "quickfix", true),
            (FIX_ALL, "source", true),
            (FIX_ALL, "source.fixAll", true),
            (FIX_ALL, "source.fix", false),
            ("quickfix", "refactor", false),
            ("quickfix", "", true),
        ] {
            assert_eq!(is_same_or_below(kind, asked), expected, "{kind} {asked}");
        }
    }
}
