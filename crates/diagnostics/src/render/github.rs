//! Findings as GitHub Actions workflow commands: `::error file=a.yaml,line=3,col=5,…::message`.
//!
//! Source of the form: "Workflow commands for GitHub Actions", and `actions/toolkit` `packages/core/src/command.ts` for
//! what is escaped. Of each kind GitHub shows ten in one step; the whole list stays in the log.

use std::fmt::Write as _;

use super::checkout::Checkout;
use super::location::LocationResolver;
use crate::source::SourceSet;
use crate::{Diagnostic, Severity};

/// One workflow command a finding. File names count from the root of `checkout`.
pub fn github(diagnostics: &[Diagnostic], sources: &SourceSet, checkout: &Checkout) -> String {
    let places = LocationResolver::new(diagnostics, sources);
    let mut out = String::new();
    for diagnostic in diagnostics {
        let command = match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "notice",
        };
        let _ = write!(out, "::{command} ");
        if let Some(location) = &diagnostic.location {
            let place = places.resolve(location);
            if let Some(file) = checkout.relative(place.file) {
                let range = place.range;
                let _ = write!(out, "file={},line={},col={}", escape_property(&file), range.line, range.column);
                let _ = write!(out, ",endLine={},endColumn={},", range.end_line, range.end_column);
            }
        }
        let _ = write!(out, "title={}::", escape_property(&format!("{} {}", diagnostic.code.id, diagnostic.code.name)));
        let _ = writeln!(out, "{}", escape_data(&message_with_help(diagnostic)));
    }
    out
}

/// The message, and on a line of its own what to do.
pub(super) fn message_with_help(diagnostic: &Diagnostic) -> String {
    let help = diagnostic.help.as_ref().map(|help| format!("\nhelp: {help}"));
    format!("{}{}", diagnostic.message, help.unwrap_or_default())
}

/// Text after `::`.
fn escape_data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a property.
fn escape_property(text: &str) -> String {
    escape_data(text).replace(':', "%3A").replace(',', "%2C")
}
