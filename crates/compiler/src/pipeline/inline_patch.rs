//! Checks patches that a kustomization contains as text: `patches: [{patch: ...}]`, `patchesStrategicMerge: [...]`,
//! `patchesJson6902: [{patch: ...}]`.
//!
//! They are checked like patch files: fields of our kinds must exist and have the right type. In a literal block
//! (`patch: |-`), every byte of the patch has a position in the file, so findings and fixes refer to it. For a quoted
//! or folded patch, findings refer to the whole value.
//!
//! A ModelDeployment that is given as a generator is checked in the same way; the KRM function reports its other
//! problems.

use super::document::Document;
use super::operations::{self, PatchTarget};
use super::role::Role;
use crate::composition::{self, mentions_input_kinds};
use crate::options::Options;
use crate::reading;
use kubefoundry_diagnostics::source::{Purpose, Source};
use kubefoundry_diagnostics::{Diagnostic, Findings};
use kubefoundry_kubernetes::header::Header;
use kubefoundry_transform::InputObject;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::{Failure, Node, Span, Value};

/// Checks the patches in a kustomization. `has_input_kinds` states whether the input has objects of our kinds.
pub(super) fn check(
    kustomization: &Document<'_>,
    source: &Source,
    options: &Options,
    has_input_kinds: bool,
) -> Vec<Diagnostic> {
    let listed = |field: &str| kustomization.root.get(field).map(Node::items).unwrap_or_default();
    let with_target = listed("patches").iter().chain(listed("patchesJson6902"));
    let with_target =
        with_target.filter_map(|entry| Some((entry.get("patch")?, PatchTarget::from_entry(entry, has_input_kinds))));
    let merged = listed("patchesStrategicMerge").iter().chain(listed("generators")).map(|text| (text, None));
    let mut found = Vec::new();
    for (node, target) in with_target.chain(merged) {
        if let Some(text) = node.as_str().filter(|text| target.is_some() || mentions_input_kinds(text)) {
            InlinePatch { kustomization, source, node, target }.check(text, options, &mut found);
        }
    }
    found
}

struct InlinePatch<'k, 't> {
    kustomization: &'k Document<'t>,
    source: &'k Source,
    /// The patch as a value of the kustomization.
    node: &'k Node<'t>,
    /// Our kind that is the target of operations in the patch.
    target: Option<PatchTarget>,
}

impl InlinePatch<'_, '_> {
    fn check(&self, text: &str, options: &Options, found: &mut Vec<Diagnostic>) {
        if let Some((block, start)) = self.literal() {
            // All lines have the same indentation, so the block can be parsed with it.
            for (at, part) in split_block(block) {
                self.check_part(part, options, found, |span| shifted(span, start + at));
            }
        } else {
            let before = found.len();
            self.check_part(text, options, found, |_| self.node.span);
            // The bytes of the value have no position in the source.
            found.iter_mut().skip(before).for_each(|diagnostic| diagnostic.fix = None);
        }
    }

    /// Returns the lines of a literal block with their indentation, and their offset in the source.
    fn literal(&self) -> Option<(&str, usize)> {
        let Span { start, end } = self.node.span;
        let written = self.source.text.get(start..end).filter(|written| written.starts_with('|'))?;
        let first = written.find('\n')? + 1;
        Some((written.get(first..)?, start + first))
    }

    /// Checks the documents of a text. `place` maps a span of the text to one of the source.
    fn check_part(&self, patch: &str, options: &Options, found: &mut Vec<Diagnostic>, place: impl Fn(Span) -> Span) {
        let parsed = yaml::parse(patch, &options.limits);
        let (source, index) = (self.kustomization.source, self.kustomization.index());
        let mut add = |diagnostics: Vec<Diagnostic>| {
            found.extend(diagnostics.into_iter().map(|diagnostic| placed(diagnostic, &place)));
        };
        let failures: Vec<Failure> = parsed.failure.into_iter().chain(parsed.later_failures).collect();
        add(reading::report(source, patch, index, &failures));
        for yaml::Document { root, span, problems, .. } in parsed.documents {
            let header = Header::from_node(&root);
            if let (Value::Sequence(_), Some(target)) = (&root.value, &self.target) {
                add(operations::check(&root, target, operations::PatchSource { source, text: patch, document: index }));
                continue;
            }
            let object = InputObject { source, text: patch, document: index, header, root, problems };
            let document = Document { object, span, item: true };
            let mut findings = Findings::new(document.scope());
            // Patches of other kinds are not checked.
            if composition::owner_of_group(document.header.group()).is_some()
                && let Role::Patch(transform) = Role::classify(&document, Purpose::Input, true, options, &mut findings)
            {
                document.report_problems(&mut findings);
                transform.check_patch(&document.header.kind, &document.root, &mut findings);
            }
            add(findings.into_diagnostics());
        }
    }
}

/// Splits a block into documents at indented `---`. Returns each with its offset.
fn split_block(block: &str) -> Vec<(usize, &str)> {
    let mut parts = Vec::new();
    let (mut start, mut at) = (0, 0);
    for line in block.split_inclusive('\n') {
        let end = at + line.len();
        if line.trim() == "---" {
            parts.push((start, block.get(start..at).unwrap_or_default()));
            start = end;
        }
        at = end;
    }
    parts.push((start, block.get(start..).unwrap_or_default()));
    parts
}

fn shifted(span: Span, by: usize) -> Span {
    Span { start: span.start + by, end: span.end + by }
}

/// Moves a finding to the position of its patch in the source.
fn placed(mut diagnostic: Diagnostic, place: impl Fn(Span) -> Span) -> Diagnostic {
    let related = diagnostic.related.iter_mut().map(|related| &mut related.location);
    for location in diagnostic.location.iter_mut().chain(related) {
        location.span = place(location.span);
    }
    for edit in diagnostic.fix.iter_mut().flat_map(|fix| &mut fix.edits) {
        edit.range = place(edit.range);
    }
    diagnostic
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_split_into_documents() {
        assert_eq!(split_block("  a: 1\n  ---\n  b: 1\n"), [(0, "  a: 1\n"), (13, "  b: 1\n")]);
        assert_eq!(split_block("  a: 1"), [(0, "  a: 1")]);
    }
}
