//! Formats decisions as a self-contained HTML page without scripts.

mod flow;
mod gpus;
mod memory;
mod section;

use std::fmt::{self, Write as _};

use kubefoundry_diagnostics::Diagnostic;

use super::graph::{Diagram, omission_note};
use super::{LocatedDecision, Run, SourceLocator};
use crate::style::{count, printable};

/// The style sheet. Its hash is in [`POLICY`]; a test compares them.
const STYLE: &str = include_str!("style.css");

/// The content security policy: nothing is loaded, run, framed or submitted, and only [`STYLE`] applies. Should a name
/// or a reason escape its quoting, it still has no effect.
const POLICY: &str = "default-src 'none'; style-src 'sha256-q5qO+naEtTC7DJcXgHq7BRSaeYepAazuk78iqt/T2MU='; base-uri 'none'; form-action 'none'";

/// Displays text escaped for HTML, for use between tags or in a quoted attribute.
pub(super) struct Text<'t>(pub(super) &'t str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in printable(self.0).chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// Formats the page: an index of all deployments, the findings that belong to none of them, and a section for each.
pub(super) fn html(
    decisions: &[LocatedDecision<'_>],
    diagrams: &[Diagram],
    run: &Run,
    locator: &mut SourceLocator<'_>,
) -> String {
    let mut out = String::new();
    write_head(&mut out, decisions.len(), &run.summary());
    if let Some(note) = omission_note(run.compilation.decisions.len()) {
        let _ = writeln!(out, "<p class=\"error\">{}</p>", Text(note.trim_start_matches("kubefoundry: ").trim_end()));
    }
    if run.compilation.has_errors() {
        out.push_str("<p class=\"error\">Because of the errors, <code>kubefoundry render</code> prints nothing.</p>\n");
    }
    out.push_str("</header>\n<main>\n");
    let findings = run.compilation.diagnostics.as_slice();
    let (by_decision, rest) = group_by_decision(findings, decisions);
    section::write_index(&mut out, decisions, &by_decision);
    if !rest.is_empty() {
        out.push_str("<section aria-labelledby=\"findings\">\n<h2 id=\"findings\">Other findings</h2>\n");
        section::write_findings(&mut out, &rest, locator);
        out.push_str("</section>\n");
    }
    for (index, (located, diagram)) in decisions.iter().zip(diagrams).enumerate() {
        let findings = by_decision.get(index).map(Vec::as_slice).unwrap_or_default();
        section::write_deployment(&mut out, index, located, diagram, findings, locator);
    }
    out.push_str("</main>\n<footer><p>Written by <code>kubefoundry explain</code> ");
    let _ = writeln!(out, "{}.</p></footer>\n</body>\n</html>", env!("CARGO_PKG_VERSION"));
    out
}

fn write_head(out: &mut String, deployments: usize, summary: &str) {
    let title = count(deployments, "model deployment");
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>kubefoundry explain: {title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#index\">Skip to the deployments</a>\n\
         <header>\n<h1>{title}</h1>\n<p>{}</p>\n",
        Text(summary)
    );
}

/// Groups findings by deployment. The second list has the others: about options, other objects or unreadable documents.
fn group_by_decision<'d>(
    findings: &'d [Diagnostic],
    decisions: &[LocatedDecision<'_>],
) -> (Vec<Vec<&'d Diagnostic>>, Vec<&'d Diagnostic>) {
    let mut by_decision = vec![Vec::new(); decisions.len()];
    let mut rest = Vec::new();
    let indexes: std::collections::BTreeMap<_, _> = decisions
        .iter()
        .enumerate()
        .map(|(index, LocatedDecision { decision, .. })| {
            ((&decision.object, decision.source, decision.document), index)
        })
        .collect();
    for finding in findings {
        let subject = finding.object.as_ref().zip(finding.location.as_ref());
        let index = subject.and_then(|(object, at)| indexes.get(&(object, at.source, at.document)));
        match index.and_then(|index| by_decision.get_mut(*index)) {
            Some(group) => group.push(finding),
            None => rest.push(finding),
        }
    }
    (by_decision, rest)
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use proptest::prelude::*;
    use sha2::Digest as _;

    use super::*;

    /// With a wrong hash, browsers ignore the whole style sheet.
    #[test]
    fn the_policy_has_the_hash_of_the_style_sheet() {
        let hash = base64::engine::general_purpose::STANDARD.encode(sha2::Sha256::digest(STYLE));
        assert!(POLICY.contains(&format!("'sha256-{hash}'")), "the hash is {hash}");
    }

    #[test]
    fn the_style_sheet_is_safe_to_inline() {
        assert!(!STYLE.contains('<') && !STYLE.contains("url(") && !STYLE.contains("@import"));
    }

    proptest! {
        /// Escaped text has no character of HTML syntax, and unescaping yields the original.
        #[test]
        fn escaped_text_round_trips(text in "\\PC{0,40}[<>&\"']{0,6}\\PC{0,10}") {
            let written = Text(&text).to_string();
            prop_assert!(!written.contains(['<', '>', '"', '\'']));
            let read = written.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'");
            prop_assert_eq!(read.replace("&amp;", "&"), printable(&text));
        }
    }
}
