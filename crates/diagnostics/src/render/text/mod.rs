//! Findings as rustc-like snippets, rendered by annotate-snippets.

mod arrange;
mod short_line;

use std::borrow::Cow;
use std::collections::BTreeMap;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use self::arrange::arrange;
use super::position::{LineIndex, line_indexes};
use crate::source::{SourceId, SourceSet};
use crate::{Diagnostic, Location, Severity};
use kubefoundry_yaml::Span;
use kubefoundry_yaml::text::{is_unprintable, one_line};

/// Whether the text contains colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextStyle {
    /// No escape sequences.
    Plain,
    /// ANSI colors.
    Colored,
}

/// What a report for people leaves out, and how the reader gets it.
#[derive(Debug, Clone, Copy)]
pub struct ReportGuide {
    /// The options with which the command lists every finding: `--output concise`.
    pub list_all: &'static str,
    /// Whether findings with a fix are marked with `[*]`.
    pub marks_fixes: bool,
}

/// A finding in a report, and what the report adds to it.
struct Entry<'d> {
    diagnostic: &'d Diagnostic,
    /// A note about findings that are left out for this one.
    note: Option<String>,
    is_marked: bool,
}

impl<'d> Entry<'d> {
    fn plain(diagnostic: &'d Diagnostic) -> Self {
        Self { diagnostic, note: None, is_marked: false }
    }

    fn mark(&self) -> &'static str {
        if self.is_marked { "[*] " } else { "" }
    }
}

/// Renders every finding with its lines, its object and its help, in the order of the input.
pub fn text(diagnostics: &[Diagnostic], sources: &SourceSet, style: TextStyle) -> String {
    text_parts(diagnostics, sources, style).collect()
}

/// Renders every finding like [`text`], but one at a time, so that a long report need not be in memory as a whole.
pub fn text_parts<'s>(
    diagnostics: &'s [Diagnostic],
    sources: &'s SourceSet,
    style: TextStyle,
) -> impl Iterator<Item = String> + use<'s> {
    render_entries(diagnostics, diagnostics.iter().map(Entry::plain), sources, style)
}

/// Renders a report for a terminal, one finding at a time. Errors come last, where they are seen, after warnings and
/// infos. Many infos of one code would bury them, so only the first is shown, with the number of the others.
pub fn report_parts<'s>(
    diagnostics: &'s [Diagnostic],
    sources: &'s SourceSet,
    style: TextStyle,
    guide: ReportGuide,
) -> impl Iterator<Item = String> + use<'s> {
    render_entries(diagnostics, arrange(diagnostics, guide), sources, style)
}

fn render_entries<'s>(
    diagnostics: &[Diagnostic],
    entries: impl Iterator<Item = Entry<'s>>,
    sources: &'s SourceSet,
    style: TextStyle,
) -> impl Iterator<Item = String> {
    let renderer = match style {
        TextStyle::Plain => Renderer::plain(),
        TextStyle::Colored => Renderer::styled(),
    }
    .decor_style(DecorStyle::Ascii);
    let indexes = line_indexes(diagnostics, sources);
    entries.map(move |entry| {
        let mut part = String::new();
        let index = entry.diagnostic.location.as_ref().and_then(|location| indexes.get(&location.source));
        let short = index
            .filter(|_| style == TextStyle::Plain)
            .and_then(|index| short_line::push_finding(&mut part, &entry, sources, index));
        if short.is_none() {
            part = render_one(&entry, sources, &indexes, &renderer);
        }
        part.push_str("\n\n");
        part
    })
}

/// A location to underline, and its label. The finding's own location has none.
struct Mark<'d> {
    location: &'d Location,
    label: Option<&'d str>,
}

fn render_one(
    entry: &Entry<'_>,
    sources: &SourceSet,
    indexes: &BTreeMap<SourceId, LineIndex<'_>>,
    renderer: &Renderer,
) -> String {
    let diagnostic = entry.diagnostic;
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Info => Level::INFO,
    };
    let message = format!("{}{}", entry.mark(), one_line(&diagnostic.message));
    let title = level.primary_title(message.as_str()).id(diagnostic.code.id);
    let mut group: Group<'_> = Group::with_title(title);
    for marks in marks_by_source(diagnostic) {
        let Some(first) = marks.first() else { continue };
        let Some(index) = indexes.get(&first.location.source) else { continue };
        let source = sources.get(first.location.source);
        if is_showable(&marks, &source.text) {
            group = group.element(build_snippet(&marks, &source.name, index));
        } else {
            let position = index.position(first.location.span.start);
            group = group.element(Origin::path(source.name.as_str()).line(position.line).char_column(position.column));
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
    if let Some(note) = &entry.note {
        group = group.element(Level::NOTE.message(note));
    }
    renderer.render(&[group])
}

/// Groups the locations of a finding by source, its own location first.
fn marks_by_source(diagnostic: &Diagnostic) -> Vec<Vec<Mark<'_>>> {
    let primary = diagnostic.location.iter().map(|location| Mark { location, label: None });
    let related = diagnostic.related.iter();
    let related = related.map(|related| Mark { location: &related.location, label: Some(related.message.as_str()) });
    let mut groups: Vec<Vec<Mark<'_>>> = Vec::new();
    for mark in primary.chain(related) {
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

/// Whether the lines of the marks are short enough to be shown. Very long lines are unreadable and slow to render.
fn is_showable(marks: &[Mark<'_>], text: &str) -> bool {
    let starts = || marks.iter().map(|mark| mark.location.span.start.min(text.len()));
    let bytes = text.as_bytes();
    let is_break = |byte: &u8| *byte == b'\n';
    let fits = |at: usize| {
        let before = bytes.get(at.saturating_sub(MAX_LINE_BYTES)..at).unwrap_or_default();
        let after = bytes.get(at..).unwrap_or_default();
        let end = after.get(..MAX_LINE_BYTES).unwrap_or(after);
        (before.len() < MAX_LINE_BYTES || before.iter().any(is_break))
            && (end.len() < MAX_LINE_BYTES || end.iter().any(is_break))
    };
    let (first, last) = (starts().min().unwrap_or_default(), starts().max().unwrap_or_default());
    last - first <= MAX_SNIPPET_BYTES && starts().all(fits)
}

/// Maximum number of bytes of a line before and after a mark. Findings in longer lines have no snippet.
const MAX_LINE_BYTES: usize = 1000;

/// Maximum number of bytes from the first to the last mark. Findings with marks further apart have no snippet.
const MAX_SNIPPET_BYTES: usize = 100_000;

/// Builds the snippet from only the lines of the marks, so that a finding costs the same however long its file is.
/// `name` is that of the file.
fn build_snippet<'s>(marks: &[Mark<'s>], name: &'s str, index: &LineIndex<'s>) -> Snippet<'s, Annotation<'s>> {
    let spans = marks.iter().map(|mark| mark.location.span);
    let first = spans.clone().map(|span| index.position(span.start).line).min().unwrap_or(1);
    let last = spans.map(|span| index.position(span.start).line).max().unwrap_or(1);
    let offset = index.line_start(first);
    let text = index.mask_lines(offset..index.line_start(last + 1));
    let shown = replace_unprintable(&text).into_owned();
    let mut snippet = Snippet::source(shown).line_start(first).path(name);
    for mark in marks {
        let span = Span { start: mark.location.span.start - offset, end: mark.location.span.end.max(offset) - offset };
        let span = visible_range(&text, span);
        snippet = snippet.annotation(match mark.label {
            None => AnnotationKind::Primary.span(span),
            Some(label) => AnnotationKind::Context.span(span).label(label),
        });
    }
    snippet
}

/// Replaces unprintable characters beyond ASCII, such as U+009B (CSI) and U+2028: terminals interpret them, and the
/// snippet renderer escapes only those of ASCII and some that change the direction of text. A replacement has the same
/// number of bytes, so that spans stay valid.
fn replace_unprintable(text: &str) -> Cow<'_, str> {
    let is_replaced = |c: char| !c.is_ascii() && is_unprintable(c);
    if text.is_ascii() || !text.contains(is_replaced) {
        return Cow::Borrowed(text);
    }
    let replacement = |c: char| match c.len_utf8() {
        2 => "\u{b7}",
        3 => "\u{fffd}",
        _ => "\u{fffd}_",
    };
    let mut replaced = String::with_capacity(text.len());
    for c in text.chars() {
        if is_replaced(c) {
            replaced.push_str(replacement(c));
        } else {
            replaced.push(c);
        }
    }
    Cow::Owned(replaced)
}

/// Returns the part of a span to underline: its first line without a trailing comment. Underlining a whole block would
/// hide the snippet.
fn visible_range(text: &str, span: Span) -> std::ops::Range<usize> {
    let start = floor_char_boundary(text, span.start);
    let end = floor_char_boundary(text, span.end.max(start));
    let first_line = text.get(start..end).and_then(|part| part.find('\n')).map_or(end, |length| start + length);
    let line = text.get(start..first_line).unwrap_or_default();
    let line = if first_line < end { strip_comment(line) } else { line };
    let trimmed = start + line.trim_end().len();
    start..trimmed.max(start)
}

/// Strips the comment from the first line of a multi-line value. A `#` in quotes or without a blank before it starts no
/// comment.
fn strip_comment(line: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        let starts = before.is_whitespace() || matches!(before, '[' | '{' | ',' | ':');
        if let Some(open) = quote {
            if c == open && before != '\\' {
                quote = None;
            }
        } else if c == '#' && before.is_whitespace() {
            return line.get(..at).unwrap_or(line);
        } else if starts && matches!(c, '"' | '\'') {
            quote = Some(c);
        }
        before = c;
    }
    line
}

/// Returns the nearest character boundary at or before `offset`.
fn floor_char_boundary(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Code, ObjectRef, Severity};
    use kubefoundry_yaml::field_path::FieldPath;
    use proptest::prelude::*;
    use proptest::sample::select;

    const CODE: Code =
        Code { id: "KF0000", name: "test-finding", severity: Severity::Error, summary: "", attributes: &[] };

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: ProptestConfig::default().cases.max(1024),
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        /// A finding that is written without annotate-snippets looks exactly like one written by it.
        #[test]
        fn short_lines_look_as_annotate_snippets_renders_them(
            pieces in prop::collection::vec(select(TEXT_PIECES), 1..14),
            start: prop::sample::Index,
            length in 0..40_usize,
            message in select(&["found 3, expected 4", "n\u{fc}tzlich", "a\nb", ""][..]),
            help in prop::option::of(select(&["set it", "two\nlines", ""][..])),
            object in prop::option::of(select(&["chat", "n\u{e4}me"][..])),
            path in select(&["", "spec.model.id"][..]),
            severity in select(&[Severity::Error, Severity::Warning, Severity::Info][..]),
            note in prop::option::of(Just("4 more".to_owned())),
            is_marked: bool,
        ) {
            let text = pieces.concat();
            let start = floor_char_boundary(&text, start.index(text.len() + 1));
            let end = floor_char_boundary(&text, start + length);
            let mut sources = SourceSet::default();
            let source = sources.add("models/a.yaml", text);
            let diagnostic = Diagnostic {
                severity,
                message: message.to_owned(),
                help: help.map(str::to_owned),
                object: object.map(|name| ObjectRef {
                    api_version: "kubefoundry.ai/v1alpha1".into(),
                    kind: "ModelDeployment".into(),
                    namespace: None,
                    name: name.into(),
                }),
                location: Some(Location { source, document: 0, span: Span { start, end }, path: FieldPath::parse(path) }),
                ..Diagnostic::new(&CODE, "")
            };
            let diagnostics = [diagnostic];
            let entry = Entry { diagnostic: &diagnostics[0], note, is_marked };
            let indexes = line_indexes(&diagnostics, &sources);
            let renderer = Renderer::plain().decor_style(DecorStyle::Ascii);
            let expected = render_one(&entry, &sources, &indexes, &renderer);
            let mut found = String::new();
            if short_line::push_finding(&mut found, &entry, &sources, &indexes[&source]).is_some() {
                prop_assert_eq!(found, expected);
            } else {
                prop_assert_eq!(found, "", "nothing is appended for another shape");
            }
        }
    }

    /// What lines of findings consist of.
    const TEXT_PIECES: &[&str] = &[
        "spec:\n",
        "  replicas: 3",
        "  # comment",
        " ",
        "   ",
        "\n",
        "\n\n",
        "\t",
        "\r\n",
        "\"quoted # text\"",
        "\u{e9}",
        "a_long_word_that_fills_a_line_to_its_limit_of_a_hundred_bytes_with_others",
        "- x: 1\n",
        "\u{1b}[0m",
    ];

    #[test]
    fn strips_comments_but_not_quoted_hash_signs() {
        for (line, expected) in [
            ("name: a # b", "name: a "),
            ("name: a#b", "name: a#b"),
            ("name: \"a # b\" # c", "name: \"a # b\" "),
            ("name: \"a \\\" # b\" # c", "name: \"a \\\" # b\" "),
            ("{a: it's, # c", "{a: it's, "),
            ("{a: 'x # y', # c", "{a: 'x # y', "),
            ("|  # a block", "|  "),
            ("# nothing", ""),
        ] {
            assert_eq!(strip_comment(line), expected, "{line}");
        }
    }
}
