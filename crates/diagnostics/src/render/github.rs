//! Findings as GitHub Actions workflow commands: `::error file=a.yaml,line=3,col=5,…::message`.
//!
//! Sources: "Workflow commands for GitHub Actions" in GitHub's documentation, and `packages/core/src/command.ts` of
//! `actions/toolkit` for escaping. GitHub shows at most ten annotations of each kind per step; the log has all of them.

use super::checkout::Checkout;
use super::location::LocationResolver;
use crate::source::SourceSet;
use crate::{Diagnostic, Severity};
use kubefoundry_yaml::secret::mask;
use kubefoundry_yaml::text::break_commands;
use kubefoundry_yaml::{append, append_line};

/// Renders one workflow command per finding, and one for `not_judged`, which counts what was not judged. File names are
/// relative to the root of `checkout`.
pub fn github(
    diagnostics: &[Diagnostic],
    sources: &SourceSet,
    checkout: &Checkout,
    not_judged: Option<&str>,
) -> String {
    let resolver = LocationResolver::new(diagnostics, sources);
    let mut out = String::new();
    for diagnostic in diagnostics {
        let command = match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "notice",
        };
        append!(out, "::{command} ");
        if let Some(location) = &diagnostic.location {
            let report_location = resolver.resolve(location);
            if let Some(file) = checkout.relative(report_location.file) {
                let range = report_location.range;
                let file = mask(&file);
                append!(out, "file={},line={},col={}", escape_property(&file), range.line, range.column);
                append!(out, ",endLine={},endColumn={},", range.end_line, range.end_column);
            }
        }
        append!(out, "title={}::", escape_property(&format!("{} {}", diagnostic.code.id, diagnostic.code.name)));
        append_line!(out, "{}", escape_data(&message_with_help(diagnostic)));
    }
    if let Some(not_judged) = not_judged {
        append_line!(out, "::notice title=kubefoundry::{}", escape_data(not_judged));
    }
    break_commands(&out).into_owned()
}

/// Returns the message, followed by the help on its own line.
pub(super) fn message_with_help(diagnostic: &Diagnostic) -> String {
    let help = diagnostic.help.as_ref().map(|help| format!("\nhelp: {help}"));
    format!("{}{}", diagnostic.message, help.unwrap_or_default())
}

/// Escapes the text after `::`.
fn escape_data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes the value of a property.
fn escape_property(text: &str) -> String {
    escape_data(text).replace(':', "%3A").replace(',', "%2C")
}
