//! Completions in the form of the protocol.

use kubefoundry_compiler::session::Session;
use kubefoundry_editor::completion::{Completion, CompletionKind, complete};
use lsp_types::{CompletionItem, CompletionItemKind, CompletionItemTag, CompletionTextEdit, Documentation, TextEdit};

use super::client::Client;
use super::hover::markup;
use super::position::Lines;

/// Returns what can stand at an offset. The session has the options and the providers of the workspace.
pub(crate) fn at(
    text: &str,
    offset: usize,
    lines: &Lines<'_>,
    session: Option<&Session>,
    client: &Client,
) -> Vec<CompletionItem> {
    let completions = complete(text, offset, session).into_iter().enumerate();
    completions.map(|(number, completion)| to_item(completion, number, lines, client)).collect()
}

/// Converts a completion. Clients sort by name unless told otherwise; the order of declaration says more.
fn to_item(completion: Completion, number: usize, lines: &Lines<'_>, client: &Client) -> CompletionItem {
    let documentation = Some(completion.documentation).filter(|text| !text.is_empty());
    let edit = TextEdit { range: lines.range(completion.span), new_text: completion.new_text };
    CompletionItem {
        kind: Some(match completion.kind {
            CompletionKind::Field => CompletionItemKind::FIELD,
            CompletionKind::Property => CompletionItemKind::PROPERTY,
            CompletionKind::Constant => CompletionItemKind::CONSTANT,
            CompletionKind::Value => CompletionItemKind::VALUE,
        }),
        detail: Some(completion.detail),
        documentation: documentation.map(|text| Documentation::MarkupContent(markup(text, client))),
        tags: completion.deprecated.then(|| vec![CompletionItemTag::DEPRECATED]),
        sort_text: Some(format!("{number:04}")),
        filter_text: Some(completion.label.clone()),
        insert_text_mode: Some(lsp_types::InsertTextMode::AS_IS),
        text_edit: Some(CompletionTextEdit::Edit(edit)),
        label: completion.label,
        ..CompletionItem::default()
    }
}
