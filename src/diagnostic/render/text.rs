//! Findings as rustc-like snippets, drawn by annotate-snippets.

use std::collections::BTreeMap;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Renderer, Snippet};

use super::position::{LineIndex, line_indexes};
use crate::diagnostic::{Diagnostic, Location, Severity, one_line};
use crate::source::{SourceId, SourceSet};
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
    let indexes = line_indexes(diagnostics, sources);
    let mut out = String::new();
    for diagnostic in diagnostics {
        out.push_str(&one(diagnostic, sources, &indexes, &renderer));
        out.push_str("\n\n");
    }
    out
}

/// One thing to underline, and what to say about it.
struct Mark<'d> {
    location: &'d Location,
    label: Option<&'d str>,
}

fn one(
    diagnostic: &Diagnostic,
    sources: &SourceSet,
    indexes: &BTreeMap<SourceId, LineIndex<'_>>,
    renderer: &Renderer,
) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Info => Level::INFO,
    };
    let message = one_line(&diagnostic.message);
    let title = level.primary_title(message.as_str()).id(diagnostic.code.id);
    let mut group: Group<'_> = Group::with_title(title);
    for marks in marks_by_source(diagnostic) {
        if let Some(index) = marks.first().and_then(|mark| indexes.get(&mark.location.source)) {
            group = group.element(snippet(&marks, sources, index));
        }
    }
    if let Some(object) = &diagnostic.object {
        let field = diagnostic.location.as_ref().map(|location| location.path.to_string()).unwrap_or_default();
        let note = if field.is_empty() { format!("in {object}") } else { format!("in {object}, {field}") };
        group = group.element(Level::NOTE.message(one_line(&note)));
    }
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(one_line(help)));
    }
    renderer.render(&[group])
}

/// The finding's own place first, then related ones; those of one source together.
fn marks_by_source(diagnostic: &Diagnostic) -> Vec<Vec<Mark<'_>>> {
    let own = diagnostic.location.iter().map(|location| Mark { location, label: None });
    let related = diagnostic.related.iter();
    let related = related.map(|related| Mark { location: &related.location, label: Some(related.message.as_str()) });
    let mut groups: Vec<Vec<Mark<'_>>> = Vec::new();
    for mark in own.chain(related) {
        let same = |group: &&mut Vec<Mark<'_>>| {
            group.first().is_some_and(|first| first.location.source == mark.location.source)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(mark),
            None => groups.push(vec![mark]),
        }
    }
    groups
}

/// The lines that the marks are on, and no more of the text: a finding costs the same however long its file is.
fn snippet<'s>(marks: &[Mark<'s>], sources: &'s SourceSet, index: &LineIndex<'s>) -> Snippet<'s, Annotation<'s>> {
    let spans = marks.iter().map(|mark| mark.location.span);
    let first = spans.clone().map(|span| index.position(span.start).line).min().unwrap_or(1);
    let last = spans.map(|span| index.position(span.start).line).max().unwrap_or(1);
    let text = index.lines(first, last);
    let offset = index.start(first);
    let name = marks.first().map_or("", |mark| sources.get(mark.location.source).name.as_str());
    let mut snippet = Snippet::source(text).line_start(first).path(name);
    for mark in marks {
        let span = Span { start: mark.location.span.start - offset, end: mark.location.span.end.max(offset) - offset };
        let span = visible(text, span);
        snippet = snippet.annotation(match mark.label {
            None => AnnotationKind::Primary.span(span),
            Some(label) => AnnotationKind::Context.span(span).label(label),
        });
    }
    snippet
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
