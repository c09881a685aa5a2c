//! Descriptions in the form of the protocol.

use kubefoundry_compiler::session::Session;
use kubefoundry_editor::hover::describe;
use lsp_types::{Hover, HoverContents, MarkupContent, MarkupKind};

use super::client::Client;
use super::position::Lines;

/// Describes what stands at an offset.
pub(crate) fn at(
    text: &str,
    offset: usize,
    lines: &Lines<'_>,
    session: Option<&Session>,
    client: &Client,
) -> Option<Hover> {
    let description = describe(text, offset, session)?;
    let contents = HoverContents::Markup(markup(description.markdown, client));
    Some(Hover { contents, range: Some(lines.range(description.span)) })
}

/// Returns a text in the format that the client renders.
pub(crate) fn markup(text: String, client: &Client) -> MarkupContent {
    let kind = if client.renders_markdown { MarkupKind::Markdown } else { MarkupKind::PlainText };
    MarkupContent { kind, value: text }
}
