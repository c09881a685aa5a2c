//! One line per finding: `models/llama.yaml:8:16: error[KF0113] unknown field "modle"`.

use super::position::line_indexes;
use crate::Diagnostic;
use crate::source::SourceSet;
use kubefoundry_yaml::append;
use kubefoundry_yaml::text::one_line;

/// Renders each finding on one line, in the form that editors parse and `grep` prints.
pub fn concise(diagnostics: &[Diagnostic], sources: &SourceSet) -> String {
    let indexes = line_indexes(diagnostics, sources);
    let mut out = String::new();
    for diagnostic in diagnostics {
        if let Some(location) = &diagnostic.location
            && let Some(index) = indexes.get(&location.source)
        {
            let name = &sources.get(location.source).name;
            let position = index.position(location.span.start);
            append!(out, "{name}:{}:{}: ", position.line, position.column);
        }
        append!(out, "{}[{}] {}", diagnostic.severity, diagnostic.code.id, one_line(&diagnostic.message));
        // A suggestion is short, and often all that is needed.
        if let Some(suggestion) = diagnostic.help.as_ref().filter(|help| help.starts_with("did you mean ")) {
            append!(out, " ({})", one_line(suggestion));
        }
        out.push('\n');
    }
    out
}
