//! Parts of HTML pages about decisions. They need the style sheet [`STYLE`] and no script.

mod flow;
mod memory;

use std::fmt::{self, Write as _};

use kubefoundry_compiler::Decision;
use kubefoundry_deployment::ir::FieldOrigin;
use kubefoundry_yaml::append_line;
use kubefoundry_yaml::text::printable;

pub use flow::write_flow;
pub use memory::write_memory;

use crate::graph::{MAX_DEPLOYMENTS, build_diagrams};
use crate::run::{LocatedDecision, RunResult};

/// The style sheet of the parts, and of the pages that contain them.
pub const STYLE: &str = include_str!("style.css");

/// Displays text escaped for HTML, for use between tags or in a quoted attribute.
pub struct Text<'t>(pub &'t str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = ' ';
        for c in printable(self.0).chars() {
            match c {
                // A line of the page is not a command of the CI runner that prints it; see `break_commands`.
                '#' if before == '#' => f.write_str("&#35;")?,
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                c => f.write_char(c)?,
            }
            before = c;
        }
        Ok(())
    }
}

/// Writes the result of a selection in one sentence.
pub fn write_result(out: &mut String, decision: &Decision) {
    match (decision.provider(), decision.reason()) {
        (Some(provider), Some(reason)) => {
            append_line!(out, "<p class=\"lead\"><strong>{}</strong>: {}</p>", Text(provider), Text(reason));
        }
        (Some(provider), None) => {
            append_line!(out, "<p class=\"lead\"><strong>{}</strong></p>", Text(provider));
        }
        (None, _) if decision.selection.is_none() => {}
        (None, _) => out.push_str("<p class=\"lead\"><strong>No provider was selected.</strong></p>\n"),
    }
}

/// Writes what was derived and no field holds.
pub fn write_facts(out: &mut String, decision: &Decision) {
    for fact in &decision.facts {
        append_line!(out, "<p>{}: <strong>{}</strong></p>", Text(fact.name), Text(&fact.value));
    }
}

/// Writes the values of the fields. With thousands of deployments they are most of the page, so a row has only what it
/// needs.
pub fn write_values(out: &mut String, name: &str, decision: &Decision) {
    if decision.fields.is_empty() {
        return;
    }
    append_line!(
        out,
        "<details>\n<summary>Values <span class=\"quiet\">({})</span></summary>\n<table class=\"values\" \
         aria-label=\"Values of {}\"><thead><tr><th scope=\"col\">Field</th><th scope=\"col\">Value</th>\
         <th scope=\"col\">Origin</th></tr></thead><tbody>",
        decision.fields.len(),
        Text(name)
    );
    for field in &decision.fields {
        let origin = match field.origin {
            FieldOrigin::Written => "written",
            FieldOrigin::Defaulted => "defaulted",
            FieldOrigin::Derived => "derived",
        };
        append_line!(
            out,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{origin}</td></tr>",
            Text(&field.path),
            Text(&field.value)
        );
    }
    out.push_str("</tbody></table>\n</details>\n");
}

/// Formats the decisions of a run as sections of a page, without the frame of the page and without findings. At most
/// [`MAX_DEPLOYMENTS`] are shown.
pub fn sections(run: RunResult<'_>) -> String {
    let mut locator = run.locator();
    let decisions: Vec<LocatedDecision<'_>> = run.locate_decisions(&mut locator).take(MAX_DEPLOYMENTS).collect();
    let diagrams = build_diagrams(&decisions, run.compilation);
    let mut out = String::new();
    for (located, diagram) in decisions.iter().zip(&diagrams) {
        let title = Text(&diagram.title).to_string();
        append_line!(out, "<section class=\"deployment\" aria-label=\"{title}\">\n<h2>{title}</h2>");
        write_result(&mut out, located.decision);
        write_facts(&mut out, located.decision);
        write_flow(&mut out, diagram, &run.compilation.outputs);
        write_memory(&mut out, located.decision);
        write_values(&mut out, &diagram.title, located.decision);
        out.push_str("</section>\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_style_sheet_is_safe_to_inline() {
        assert!(!STYLE.contains('<') && !STYLE.contains("url(") && !STYLE.contains("@import"));
    }

    proptest! {
        /// Escaped text has no character of HTML syntax, and unescaping yields the original.
        #[test]
        fn escaped_text_round_trips(text in "\\PC{0,40}[<>&#\"']{0,6}\\PC{0,10}") {
            let written = Text(&text).to_string();
            prop_assert!(!written.contains(['<', '>', '"', '\'']));
            let read = written.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'");
            let read = read.replace("&#35;", "#");
            prop_assert_eq!(read.replace("&amp;", "&"), printable(&text));
        }
    }
}
