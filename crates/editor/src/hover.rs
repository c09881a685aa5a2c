//! Hover: what a field, a word, a flag or a code means.

use kubefoundry::registry;
use kubefoundry_compiler::pipeline::IGNORE_ANNOTATION;
use kubefoundry_compiler::session::Session;
use kubefoundry_diagnostics::Code;
use kubefoundry_kubernetes::api_group::API_GROUPS;
use kubefoundry_kubernetes::wire::metadata;
use kubefoundry_reference::DocumentedKind;
use kubefoundry_yaml::field_path::{FieldPath, Segment};
use kubefoundry_yaml::{FieldPart, Span};

use crate::fields::{self, declared_at, kind_of, one_paragraph, words_of};
use crate::flags::{flags_at, split_flag};
use crate::options::is_code_key;
use crate::place::{self, Place};

/// What a part of a text means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// The description, in Markdown.
    pub markdown: String,
    /// The bytes that it describes.
    pub span: Span,
}

/// Describes what stands at a byte offset. The session has the options and the providers of the workspace.
pub fn describe(text: &str, offset: usize, session: Option<&Session>) -> Option<Description> {
    let place = place::find(text, offset)?;
    let (markdown, span) = describe_place(&place, text, offset, session)?;
    Some(Description { markdown, span })
}

fn describe_place(place: &Place, text: &str, offset: usize, session: Option<&Session>) -> Option<(String, Span)> {
    let kind = kind_of(&place.header)?;
    describe_code(place, kind, text, offset)
        .or_else(|| describe_flag(place, text, session))
        .or_else(|| describe_word(place, text))
        .or_else(|| describe_field(place, kind))
}

/// Describes a code that options or an annotation name.
fn describe_code(place: &Place, kind: &DocumentedKind, text: &str, offset: usize) -> Option<(String, Span)> {
    let name = place.path.segments().last().and_then(Segment::as_key)?;
    if place.part == FieldPart::Key && is_code_key(kind, &place.path.parent()) {
        return Some((page_of(registry::code(name)?), place.span));
    }
    if place.part == FieldPart::Value && is_ignore_annotation(&place.path) {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let (before, after) = text.split_at_checked(offset)?;
        let start = before.trim_end_matches(is_part).len();
        let end = text.len() - after.trim_start_matches(is_part).len();
        let word = text.get(start..end)?;
        let code = registry::code(word).or_else(|| registry::code(&word.to_ascii_uppercase()))?;
        return Some((page_of(code), Span { start, end }));
    }
    None
}

/// Returns whether a field is the annotation that ignores findings.
pub(crate) fn is_ignore_annotation(path: &FieldPath) -> bool {
    let annotations = FieldPath::from(metadata().annotations());
    let key = path.segments().last().and_then(Segment::as_key).unwrap_or_default();
    path.parent() == annotations && API_GROUPS.iter().any(|group| group.is_label(key, IGNORE_ANNOTATION))
}

/// Returns the page of a code, as `explain` prints it.
fn page_of(code: &'static Code) -> String {
    registry::page(code).map_or_else(|| format!("{}: {}", code.id, code.summary), str::to_owned)
}

/// Describes a flag: a key of `args` or its value, or an item of `extraArgs`.
fn describe_flag(place: &Place, text: &str, session: Option<&Session>) -> Option<(String, Span)> {
    let flags = |path: &FieldPath| flags_at(session, &place.header, &place.document, path);
    if let Some((field, name)) = split_flag(&place.path)
        && let Some(flags) = flags(&field)
    {
        let (flag, _, table) = flags.find(name)?;
        return Some((flags.describe(&flag, &table), place.span));
    }
    let flags =
        flags(&place.path.parent()).filter(|_| matches!(place.path.segments().last(), Some(Segment::Index(_))))?;
    let written = text.get(place.span.start..place.span.end)?.trim_matches(['"', '\'']);
    let (flag, _, table) = flags.find(written.split_once(['=', ' ']).map_or(written, |(name, _)| name))?;
    Some((flags.describe(&flag, &table), place.span))
}

/// Describes a value that is one of the words of its field.
fn describe_word(place: &Place, text: &str) -> Option<(String, Span)> {
    let declared = declared_at(&place.header, &place.document, &place.path, None)?;
    let written = text.get(place.span.start..place.span.end)?.trim_matches(['"', '\'']);
    let words = words_of(&declared);
    let (word, doc) = words.iter().find(|(word, doc)| *word == written && !doc.is_empty())?;
    (place.part == FieldPart::Value)
        .then(|| (format!("`{}: {word}`\n\n{}", place.path, one_paragraph(doc)), place.span))
}

fn describe_field(place: &Place, kind: &DocumentedKind) -> Option<(String, Span)> {
    let declared = declared_at(&place.header, &place.document, &place.path, None)?;
    Some((fields::describe(kind, &place.path, &declared), place.span))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the description at the cursor, which `|` marks.
    fn hover(marked: &str) -> Option<String> {
        let (text, offset) = (marked.replacen('|', "", 1), marked.find('|').unwrap());
        describe(&text, offset, None).map(|description| description.markdown)
    }

    const HEAD: &str = "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\n";
    const RENDER: &str = "apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\n";

    #[test]
    fn describes_what_stands_at_the_cursor() {
        for (marked, start) in [
            (format!("{HEAD}spec: {{engine: {{context|Length: 1}}}}\n"), "`spec.engine.contextLength` *integer*"),
            (format!("{HEAD}spec: {{engine: {{contextLength: 1|0}}}}\n"), "`spec.engine.contextLength` *integer*"),
            (format!("{HEAD}spec: {{engine: {{type: vl|lm}}}}\n"), "`spec.engine.type: vllm`"),
            (format!("{HEAD}spec: {{engine: {{type: vllm, args: {{d|type: half}}}}}}\n"), "`--dtype` *string*"),
            (format!("{HEAD}spec: {{engine: {{type: vllm, args: {{dtype: ha|lf}}}}}}\n"), "`--dtype` *string*"),
            (format!("{HEAD}spec: {{engine: {{type: vllm, extraArgs: [\"--dt|ype=half\"]}}}}\n"), "`--dtype` *string*"),
            (
                format!(
                    "{HEAD}metadata: {{annotations: {{kubefoundry.ai/lint-ignore: \"KF0211, unknown-f|ield\"}}}}\n"
                ),
                "# KF0113",
            ),
            (format!("{RENDER}severities:\n  unknown-fi|eld: error\n"), "# KF0113: unknown-field\n"),
            (format!("{RENDER}severities:\n  KF0211: o|ff\n"), "`severities.KF0211: off`"),
            (format!("{RENDER}str|ict: true\n"), "`strict` *boolean*"),
        ] {
            let found = hover(&marked);
            assert!(found.as_ref().is_some_and(|text| text.starts_with(start)), "{marked}: {found:?}");
        }
    }

    #[test]
    fn says_nothing_about_what_it_does_not_know() {
        for marked in ["apiVersion: v1\nkind: Ser|vice\n", &format!("{HEAD}spec: {{modl|: 1}}\n"), "[|", "a|b"] {
            assert_eq!(hover(marked), None, "{marked}");
        }
    }
}
