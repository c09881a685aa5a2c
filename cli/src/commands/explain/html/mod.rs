//! Formats decisions as a self-contained HTML page without scripts.

mod entry;
mod filter;
mod findings;
mod gpus;
mod header;
mod index;
mod section;

use std::path::PathBuf;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use kubefoundry_reports::graph::{Diagram, omission_note};
use kubefoundry_reports::page::{STYLE, Text};
use kubefoundry_reports::run::{LocatedDecision, SourceLocator};
use kubefoundry_yaml::{append, append_line};
use sha2::{Digest as _, Sha256};

use crate::run::Run;
use filter::Filters;

/// Formats the page: an index of all deployments, the findings that belong to none of them, and a section for each.
pub(super) fn html<'r>(
    decisions: &[LocatedDecision<'r>],
    diagrams: &'r [Diagram],
    run: &'r Run,
    paths: &[PathBuf],
    locator: &mut SourceLocator<'r>,
) -> String {
    let (entries, others) = entry::list_entries(run, decisions, diagrams, locator);
    let filters = Filters::new(&entries);
    let mut out = String::new();
    write_head(&mut out, &header::format_title(&entries), &filters.style());
    header::write_source(&mut out, paths);
    append_line!(out, "<p>{}</p>", Text(&run.summary()));
    if let Some(note) = omission_note(run.compilation.decisions.len()) {
        append_line!(out, "<p class=\"error\">{}</p>", Text(note.trim_start_matches("kubefoundry: ").trim_end()));
    }
    if run.compilation.has_errors() {
        out.push_str("<p class=\"error\">Because of the errors, <code>kubefoundry render</code> prints nothing.</p>\n");
    }
    header::write_totals(&mut out, &entries);
    out.push_str("</header>\n<main>\n");
    index::write_index(&mut out, &entries, &filters);
    if !others.is_empty() {
        out.push_str("<section aria-labelledby=\"findings\">\n<h2 id=\"findings\">Other findings</h2>\n");
        findings::write_findings(&mut out, &others, locator);
        out.push_str("</section>\n");
    }
    for (index, entry) in entries.iter().enumerate() {
        section::write_deployment(&mut out, index, entry, &filters.classes(entry), &run.compilation, locator);
    }
    out.push_str("</main>\n<footer><p>Written by <code>kubefoundry explain</code> ");
    append_line!(out, "{}.</p></footer>\n</body>\n</html>", env!("CARGO_PKG_VERSION"));
    out
}

fn write_head(out: &mut String, title: &str, filter_style: &str) {
    append!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>kubefoundry explain: {title}</title>\n<style>{STYLE}</style>\n<style>{filter_style}</style>\n</head>\n\
         <body>\n<a class=\"skip\" href=\"#index\">Skip to the deployments</a>\n<header>\n<h1>{title}</h1>\n",
        policy(&[STYLE, filter_style])
    );
}

/// Returns the content security policy: nothing is loaded, run, framed or submitted, and only these style sheets apply.
/// Should a name or a reason escape its quoting, it still has no effect.
fn policy(styles: &[&str]) -> String {
    let hashes: Vec<String> =
        styles.iter().map(|style| format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(style)))).collect();
    format!("default-src 'none'; style-src {}; base-uri 'none'; form-action 'none'", hashes.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a wrong hash, browsers ignore the whole style sheet. This one is from `openssl dgst -sha256 -binary`.
    #[test]
    fn the_policy_has_the_hash_of_each_style_sheet() {
        let hash = "'sha256-6hWWMOcF+mJesSJGYhmK2lkIIEw9Xc5XKGLPVzh8yxs='";
        let policy = policy(&["a{color:red}", "a{color:red}"]);
        assert!(policy.contains(&format!("style-src {hash} {hash};")), "{policy}");
    }
}
