//! Findings as rustc-like snippets, drawn by annotate-snippets.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use super::concise::one_line;
use crate::diagnostic::{Diagnostic, Severity};
use crate::source::SourceSet;
use crate::yaml::Span;

/// Whether the text is for a terminal that shows colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// No escape sequences.
    Plain,
    /// ANSI colours.
    Colored,
}

/// Every finding with the lines it is about, its help and its fix.
pub fn text(diagnostics: &[Diagnostic], sources: &SourceSet, style: Style) -> String {
    let renderer = match style {
        Style::Plain => Renderer::plain(),
        Style::Colored => Renderer::styled(),
    }
    .decor_style(DecorStyle::Ascii);
    let mut out = String::new();
    for diagnostic in diagnostics {
        out.push_str(&one(diagnostic, sources, &renderer));
        out.push_str("\n\n");
    }
    out
}

fn one(diagnostic: &Diagnostic, sources: &SourceSet, renderer: &Renderer) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Info => Level::INFO,
    };
    let message = one_line(&diagnostic.message);
    let title = level.primary_title(message.as_str()).id(diagnostic.code.id);
    let mut group: Group<'_> = match &diagnostic.location {
        None => Group::with_title(title),
        Some(location) => {
            let source = sources.get(location.source);
            let mut snippet = Snippet::source(source.text.as_str())
                .path(source.name.as_str())
                .annotation(AnnotationKind::Primary.span(visible(&source.text, location.span)));
            for related in diagnostic.related.iter().filter(|related| related.location.source == location.source) {
                let span = visible(&source.text, related.location.span);
                snippet = snippet.annotation(AnnotationKind::Context.span(span).label(related.message.as_str()));
            }
            let mut group = title.element(snippet);
            for related in diagnostic.related.iter().filter(|related| related.location.source != location.source) {
                let other = sources.get(related.location.source);
                let span = visible(&other.text, related.location.span);
                group = group.element(
                    Snippet::source(other.text.as_str())
                        .path(other.name.as_str())
                        .annotation(AnnotationKind::Context.span(span).label(related.message.as_str())),
                );
            }
            group
        }
    };
    if let Some(object) = &diagnostic.object {
        let field = diagnostic.location.as_ref().map(|location| location.path.to_string()).unwrap_or_default();
        let note = if field.is_empty() { format!("in {object}") } else { format!("in {object}, {field}") };
        group = group.element(Level::NOTE.message(one_line(&note)));
    }
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    renderer.render(&[group])
}

/// The part of a span worth underlining: its first line only, since a block that runs over a page helps no one.
fn visible(text: &str, span: Span) -> std::ops::Range<usize> {
    let start = floor(text, span.start);
    let end = floor(text, span.end.max(start));
    let first_line = text.get(start..end).and_then(|part| part.find('\n')).map_or(end, |length| start + length);
    let trimmed = text.get(start..first_line).map_or(first_line, |part| start + part.trim_end().len());
    start..trimmed.max(start)
}

/// The nearest character boundary at or before `offset`.
fn floor(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}
