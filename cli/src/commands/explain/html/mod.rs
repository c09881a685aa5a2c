//! Decisions as one page: everything in it, nothing to load, no script.

mod flow;
mod gpus;
mod section;

use std::fmt::{self, Write as _};

use kubefoundry_diagnostics::Diagnostic;

use super::graph::Diagram;
use super::{Placed, Places, Run};
use crate::style::{count, printable};

/// The style sheet. Its hash is in [`POLICY`]; a test compares them.
const STYLE: &str = include_str!("style.css");

/// Nothing is loaded, run, framed or submitted, and no style but [`STYLE`] applies: whatever a name or a reason held,
/// it could do nothing.
const POLICY: &str = "default-src 'none'; style-src 'sha256-WCe6fMiKRhixRQV8/Twqc1XkEBNQEkhSvn4NolgUkSE='; base-uri 'none'; form-action 'none'";

/// A text in HTML, between tags or in a quoted attribute.
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

/// The page: an index of all deployments, findings that belong to none of them, then a section for each.
pub(super) fn html(decisions: &[Placed<'_>], diagrams: &[Diagram], run: &Run, places: &mut Places<'_>) -> String {
    let mut out = String::new();
    head(&mut out, decisions.len(), &run.summary());
    if run.compilation.has_errors() {
        out.push_str(
            "<p class=\"error\">While there is an error, <code>kubefoundry render</code> prints nothing.</p>\n",
        );
    }
    out.push_str("</header>\n<main>\n");
    let findings = run.compilation.diagnostics.as_slice();
    let (of, rest) = attribute(findings, decisions);
    section::index(&mut out, decisions, &of);
    if !rest.is_empty() {
        out.push_str("<section aria-labelledby=\"findings\">\n<h2 id=\"findings\">Other findings</h2>\n");
        section::findings(&mut out, &rest, places);
        out.push_str("</section>\n");
    }
    for (index, (placed, diagram)) in decisions.iter().zip(diagrams).enumerate() {
        let findings = of.get(index).map(Vec::as_slice).unwrap_or_default();
        section::deployment(&mut out, index, placed, diagram, findings, places);
    }
    out.push_str("</main>\n<footer><p>Written by <code>kubefoundry explain</code> ");
    let _ = writeln!(out, "{}.</p></footer>\n</body>\n</html>", env!("CARGO_PKG_VERSION"));
    out
}

fn head(out: &mut String, deployments: usize, summary: &str) {
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

/// The findings of each deployment, and those of none: about options, other objects, or what could not be read.
fn attribute<'d>(
    findings: &'d [Diagnostic],
    decisions: &[Placed<'_>],
) -> (Vec<Vec<&'d Diagnostic>>, Vec<&'d Diagnostic>) {
    let mut of = vec![Vec::new(); decisions.len()];
    let mut rest = Vec::new();
    let places: std::collections::BTreeMap<_, _> = decisions
        .iter()
        .enumerate()
        .map(|(index, Placed { decision, .. })| ((&decision.object, decision.source, decision.document), index))
        .collect();
    for finding in findings {
        let place = finding.object.as_ref().zip(finding.location.as_ref());
        let index = place.and_then(|(object, at)| places.get(&(object, at.source, at.document)));
        match index.and_then(|index| of.get_mut(*index)) {
            Some(of) => of.push(finding),
            None => rest.push(finding),
        }
    }
    (of, rest)
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use proptest::prelude::*;
    use sha2::Digest as _;

    use super::*;

    /// With another hash a browser would drop the whole style sheet.
    #[test]
    fn the_policy_admits_the_style_sheet() {
        let hash = base64::engine::general_purpose::STANDARD.encode(sha2::Sha256::digest(STYLE));
        assert!(POLICY.contains(&format!("'sha256-{hash}'")), "the hash is {hash}");
    }

    #[test]
    fn a_style_sheet_cannot_end_early() {
        assert!(!STYLE.contains('<') && !STYLE.contains("url(") && !STYLE.contains("@import"));
    }

    proptest! {
        /// What is written reads back as it was, and has nothing in it that starts or ends anything.
        #[test]
        fn texts_are_only_texts(text in "\\PC{0,40}[<>&\"']{0,6}\\PC{0,10}") {
            let written = Text(&text).to_string();
            prop_assert!(!written.contains(['<', '>', '"', '\'']));
            let read = written.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'");
            prop_assert_eq!(read.replace("&amp;", "&"), printable(&text));
        }
    }
}
