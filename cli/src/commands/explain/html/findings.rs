//! Findings: their number as badges, and as a list.

use kubefoundry_diagnostics::{Diagnostic, Severity};

use crate::style::count;
use kubefoundry_reports::page::Text;
use kubefoundry_reports::run::SourceLocator;
use kubefoundry_yaml::append;

/// Formats the number of findings of each severity as badges: `1 error`, `2 warnings`. `None` if there are none.
pub(super) fn format_severities(findings: &[&Diagnostic]) -> Option<String> {
    let mut parts = Vec::new();
    for severity in [Severity::Error, Severity::Warning, Severity::Info] {
        let number = findings.iter().filter(|finding| finding.severity == severity).count();
        if number > 0 {
            let noun = severity.to_string();
            let words = if severity == Severity::Info { format!("{number} info") } else { count(number, &noun) };
            parts.push(format!("<span class=\"badge {noun}\">{words}</span>"));
        }
    }
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// Writes a list of findings with severity, message, location and help.
pub(super) fn write_findings(out: &mut String, findings: &[&Diagnostic], locator: &mut SourceLocator<'_>) {
    out.push_str("<ul class=\"findings\">\n");
    for finding in findings {
        let (severity, code) = (finding.severity, finding.code);
        append!(
            out,
            "<li class=\"{severity}\"><p><span class=\"badge {severity}\">{severity}</span> <code>{}</code> {}</p>",
            code.id,
            Text(&finding.message)
        );
        if let Some(at) = &finding.location {
            let (file, position) = locator.locate(at.source, at.span.start);
            let place = format!("{file}:{}:{}", position.line, position.column);
            append!(out, "<p class=\"place\"><code>{}</code>", Text(&place));
            let path = at.path.to_string();
            if !path.is_empty() {
                append!(out, " <code>{}</code>", Text(&path));
            }
            out.push_str("</p>");
        }
        if let Some(help) = &finding.help {
            append!(out, "<p class=\"help\">Help: {}</p>", Text(help));
        }
        out.push_str("</li>\n");
    }
    out.push_str("</ul>\n");
}
