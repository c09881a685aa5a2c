//! Writes findings of one mark on one short ASCII line, which most findings are, without annotate-snippets. The text is
//! the same, at a thirtieth of its cost.

use super::{Entry, LineIndex, SourceSet, visible_range};
use crate::Severity;
use kubefoundry_yaml::Span;
use kubefoundry_yaml::append;

/// Maximum length of a line in bytes. annotate-snippets shortens lines that are wider than a terminal.
const MAX_LINE_BYTES: usize = 100;

/// Appends a finding in plain text, or returns `None` and appends nothing if it has another shape.
pub(super) fn push_finding(
    out: &mut String,
    entry: &Entry<'_>,
    sources: &SourceSet,
    index: &LineIndex<'_>,
) -> Option<()> {
    let diagnostic = entry.diagnostic;
    let location = diagnostic.location.as_ref().filter(|_| diagnostic.related.is_empty())?;
    let source = sources.get(location.source);
    let (start, end) = (location.span.start, location.span.end);
    let before = source.text.as_bytes().get(..start)?;
    let line_start = memchr::memrchr(b'\n', before.get(start.saturating_sub(MAX_LINE_BYTES + 1)..)?)
        .map(|at| start.saturating_sub(MAX_LINE_BYTES + 1) + at + 1)
        .or_else(|| (start <= MAX_LINE_BYTES).then_some(0))?;
    let rest = source.text.get(line_start..)?;
    let scanned = rest.as_bytes().get(..MAX_LINE_BYTES + 1).unwrap_or(rest.as_bytes());
    let length = memchr::memchr(b'\n', scanned).or_else(|| (rest.len() <= MAX_LINE_BYTES).then_some(rest.len()))?;
    let line = rest.get(..length)?;
    // With its line feed, because a span that includes it is shown differently.
    let span = Span { start: start - line_start, end: end.max(line_start) - line_start };
    let mark = visible_range(rest.get(..(length + 1).min(rest.len()))?, span);
    let help = diagnostic.help.as_deref().unwrap_or_default();
    let line = &*index.mask_lines(line_start..line_start + line.len());
    let texts = [line, source.name.as_str(), diagnostic.message.as_str(), help];
    if line.ends_with(' ')
        || mark.start >= line.len()
        || mark.end > line.len()
        || !texts.into_iter().all(is_printable_ascii)
    {
        return None;
    }
    let position = index.position(start);
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "info",
    };
    let digits = position.line.checked_ilog10().map_or(1, |log| log as usize + 1);
    let margin = SPACES.get(..digits)?;
    let length_before = out.len();
    out.reserve(4 * line.len() + diagnostic.message.len() + help.len() + source.name.len() + 200);
    out.extend([
        severity,
        "[",
        diagnostic.code.id,
        "]: ",
        entry.mark(),
        &diagnostic.message,
        "\n",
        margin,
        "--> ",
        &source.name,
    ]);
    // Writing to a string does not fail.
    append!(out, ":{}:{}\n{margin} |\n{} | ", position.line, position.column, position.line);
    out.extend([line, "\n", margin, " | "]);
    out.extend([SPACES.get(..mark.start)?, CARETS.get(..mark.len().max(1))?]);
    if diagnostic.object.is_some() || diagnostic.help.is_some() || entry.note.is_some() {
        out.extend(["\n", margin, " |"]);
    }
    if let Some(object) = &diagnostic.object {
        out.extend(["\n", margin, " = note: in "]);
        let note_start = out.len();
        append!(out, "{object}");
        if !location.path.segments().is_empty() {
            append!(out, ", {}", location.path);
        }
        if !out.get(note_start..).is_some_and(is_printable_ascii) {
            out.truncate(length_before);
            return None;
        }
    }
    if diagnostic.help.is_some() {
        out.extend(["\n", margin, " = help: ", help]);
    }
    if let Some(note) = &entry.note {
        out.extend(["\n", margin, " = note: ", note]);
    }
    Some(())
}

/// As many spaces as a margin or an underlined line has at most.
const SPACES: &str = match std::str::from_utf8(&[b' '; MAX_LINE_BYTES]) {
    Ok(spaces) => spaces,
    Err(_) => "",
};

/// As many carets as a line has at most.
const CARETS: &str = match std::str::from_utf8(&[b'^'; MAX_LINE_BYTES]) {
    Ok(carets) => carets,
    Err(_) => "",
};

fn is_printable_ascii(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}
