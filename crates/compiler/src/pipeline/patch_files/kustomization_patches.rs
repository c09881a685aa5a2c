//! Checks patches that a kustomization contains as text: `patches: [{patch: ...}]`, `patchesStrategicMerge: [...]`,
//! `patchesJson6902: [{patch: ...}]`.
//!
//! They are checked like patch files: fields of input kinds must exist and have the right type. In a literal block
//! (`patch: |-`), every byte of the patch has a position in the file, so findings and fixes refer to it. For a quoted
//! or folded patch, findings refer to the whole value.
//!
//! A ModelDeployment that is given as a generator is checked in the same way; the KRM function reports its other
//! problems.

use super::patch_operations::{self, PatchSource, PatchTarget};
use crate::options::Options;
use crate::pipeline::documents::document::Document;
use crate::pipeline::documents::document_role::Role;
use crate::reading;
use kubefoundry_diagnostics::source::{Purpose, Source};
use kubefoundry_diagnostics::{Diagnostic, Findings};
use kubefoundry_kubernetes::header::Header;
use kubefoundry_transform::InputObject;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::{Failure, Node, Span, Value};

/// Checks the patches in a kustomization. `has_input_kinds` states whether the input has objects of input kinds.
pub(crate) fn check(
    kustomization: &Document<'_>,
    source: &Source,
    options: &Options,
    has_input_kinds: bool,
) -> Vec<Diagnostic> {
    let entries_of = |field: &str| kustomization.root.get(field).map(Node::items).unwrap_or_default();
    let entries = entries_of("patches").iter().chain(entries_of("patchesJson6902"));
    let with_target = entries.filter_map(|entry| {
        Some((entry.get("patch")?, PatchTarget::from_entry(options.composition, entry, has_input_kinds)))
    });
    let without_target =
        entries_of("patchesStrategicMerge").iter().chain(entries_of("generators")).map(|text| (text, None));
    let mut diagnostics = Vec::new();
    for (node, target) in with_target.chain(without_target) {
        if let Some(text) = node.as_str().filter(|text| target.is_some() || options.composition.may_hold_input(text)) {
            InlinePatch { kustomization, source, node, target }.check(text, options, &mut diagnostics);
        }
    }
    diagnostics
}

struct InlinePatch<'k, 't> {
    kustomization: &'k Document<'t>,
    source: &'k Source,
    /// The patch as a value of the kustomization.
    node: &'k Node<'t>,
    /// The input kind and object that operations in the patch apply to.
    target: Option<PatchTarget>,
}

impl InlinePatch<'_, '_> {
    /// Checks the patch and appends its findings, with positions in the kustomization.
    fn check(&self, text: &str, options: &Options, diagnostics: &mut Vec<Diagnostic>) {
        if let Some((block, start)) = self.find_literal_block() {
            // All lines have the same indentation, so the block can be parsed with it.
            for (offset, part) in split_block(block) {
                self.check_part(part, options, diagnostics, |span| shift_span(span, start + offset));
            }
        } else {
            let before = diagnostics.len();
            self.check_part(text, options, diagnostics, |_| self.node.span);
            // The bytes of the value have no position in the source.
            diagnostics.iter_mut().skip(before).for_each(|diagnostic| diagnostic.fix = None);
        }
    }

    /// Returns the lines of a literal block with their indentation, and their offset in the source.
    fn find_literal_block(&self) -> Option<(&str, usize)> {
        let Span { start, end } = self.node.span;
        let text = self.source.text.get(start..end).filter(|text| text.starts_with('|'))?;
        let first_line = text.find('\n')? + 1;
        Some((text.get(first_line..)?, start + first_line))
    }

    /// Checks the documents of a text. `relocate` converts a span in the text to one in the source.
    fn check_part(
        &self,
        patch: &str,
        options: &Options,
        diagnostics: &mut Vec<Diagnostic>,
        relocate: impl Fn(Span) -> Span,
    ) {
        let parsed = yaml::parse(patch, &options.limits);
        let (source, index) = (self.kustomization.source, self.kustomization.index());
        let mut add = |part_diagnostics: Vec<Diagnostic>| {
            diagnostics
                .extend(part_diagnostics.into_iter().map(|diagnostic| relocate_diagnostic(diagnostic, &relocate)));
        };
        let failures: Vec<Failure> = parsed.failure.into_iter().chain(parsed.later_failures).collect();
        add(reading::failure_diagnostics(source, patch, index, &failures));
        for yaml::Document { root, span, problems, .. } in parsed.documents {
            let header = Header::from_node(&root);
            if let (Value::Sequence(_), Some(target)) = (&root.value, &self.target) {
                add(patch_operations::check(&root, target, PatchSource { source, text: patch, document: index }));
                continue;
            }
            let object = InputObject { source, text: patch, document: index, header, root, problems };
            let document = Document { object, span, item: true };
            let mut findings = Findings::new(document.scope());
            // Patches of other kinds are not checked.
            if options.composition.owner_of_group(document.header.group()).is_some()
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
    let (mut start, mut offset) = (0, 0);
    for line in block.split_inclusive('\n') {
        let end = offset + line.len();
        if line.trim() == "---" {
            parts.push((start, block.get(start..offset).unwrap_or_default()));
            start = end;
        }
        offset = end;
    }
    parts.push((start, block.get(start..).unwrap_or_default()));
    parts
}

fn shift_span(span: Span, by: usize) -> Span {
    Span { start: span.start + by, end: span.end + by }
}

/// Moves a finding to the position of its patch in the source.
fn relocate_diagnostic(mut diagnostic: Diagnostic, relocate: impl Fn(Span) -> Span) -> Diagnostic {
    let related = diagnostic.related.iter_mut().map(|related| &mut related.location);
    for location in diagnostic.location.iter_mut().chain(related) {
        location.span = relocate(location.span);
    }
    for edit in diagnostic.fix.iter_mut().flat_map(|fix| &mut fix.edits) {
        edit.range = relocate(edit.range);
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
