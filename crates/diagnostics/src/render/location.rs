//! Locations of findings in reports: file, field, lines and columns.

use std::collections::BTreeMap;

use serde::Serialize;

use super::position::{LineIndex, Position, line_indexes};
use crate::source::{SourceId, SourceSet};
use crate::{Diagnostic, Fix, Location};
use kubefoundry_yaml::Span;
use kubefoundry_yaml::edit::TextEdit;
use kubefoundry_yaml::secret::has_secret;

/// A range in a file, and the field there.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(super) struct ReportLocation<'a> {
    /// The file, as it was given; `-` is standard input.
    pub(super) file: &'a str,
    /// The position of the document in the file, from 0.
    pub(super) document: usize,
    /// The field, such as `spec.env[0].name`; empty for the whole document.
    pub(super) path: String,
    #[serde(flatten)]
    pub(super) range: Range,
}

/// Lines and columns, counted from 1; columns in characters. The end column is exclusive.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(super) struct Range {
    /// The first line, from 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub(super) line: usize,
    /// The first column, in characters from 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub(super) column: usize,
    /// The last line.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub(super) end_line: usize,
    /// The column after the last character.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub(super) end_column: usize,
}

/// Converts byte spans to files, lines and columns.
pub(super) struct LocationResolver<'s> {
    sources: &'s SourceSet,
    indexes: BTreeMap<SourceId, LineIndex<'s>>,
}

impl<'s> LocationResolver<'s> {
    /// Indexes the lines of every source with findings.
    pub(super) fn new(diagnostics: &[Diagnostic], sources: &'s SourceSet) -> Self {
        Self { sources, indexes: line_indexes(diagnostics, sources) }
    }

    /// Returns the file, field and range of a location.
    pub(super) fn resolve(&self, location: &Location) -> ReportLocation<'_> {
        ReportLocation {
            file: &self.sources.get(location.source).name,
            document: location.document,
            path: location.path.to_string(),
            range: self.range(location.source, location.span),
        }
    }

    /// Returns the fix of a finding, unless it repeats a secret: a masked one would be applied.
    pub(super) fn shown_fix<'d>(&self, diagnostic: &'d Diagnostic) -> Option<(&'d Fix, &'d Location)> {
        let (fix, location) = (diagnostic.fix.as_ref()?, diagnostic.location.as_ref()?);
        let index = self.indexes.get(&location.source);
        let is_secret =
            |edit: &TextEdit| has_secret(&edit.replacement) || index.is_some_and(|index| index.has_secret(edit.range));
        (!fix.edits.iter().any(is_secret)).then_some((fix, location))
    }

    /// Returns the lines and columns of a span.
    pub(super) fn range(&self, source: SourceId, span: Span) -> Range {
        let position = |offset| {
            let start = Position { line: 1, column: 1 };
            self.indexes.get(&source).map_or(start, |index| index.position(offset))
        };
        let (start, end) = (position(span.start), position(span.end));
        Range { line: start.line, column: start.column, end_line: end.line, end_column: end.column }
    }
}
