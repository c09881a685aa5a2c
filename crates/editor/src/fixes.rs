//! The fixes of findings, as an editor applies them.

use kubefoundry_diagnostics::{Diagnostic, Fix};
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::edit::{TextEdit, apply_groups};

/// Whether a change makes a valid text unparsable. No fix should do that; this check protects the texts of users.
pub fn breaks_syntax(before: &str, after: &str) -> bool {
    let fails = |text: &str| yaml::parse(text, &yaml::Limits::default()).failure.is_some();
    fails(after) && !fails(before)
}

/// Returns the edits of all fixes of a text that can be applied together. When they are applied, the others can be.
pub fn compatible_edits<'f>(text: &str, findings: impl IntoIterator<Item = &'f Diagnostic>) -> Vec<TextEdit> {
    let mut chosen: Vec<TextEdit> = Vec::new();
    for Fix { edits, .. } in findings.into_iter().filter_map(|finding| finding.fix.as_ref()) {
        let groups = [chosen.as_slice(), edits.as_slice()];
        if apply_groups(text, groups).1 == groups.len() {
            chosen.extend(edits.iter().cloned());
        }
    }
    chosen
}
