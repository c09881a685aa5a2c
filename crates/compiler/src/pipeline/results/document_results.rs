//! The results of the documents of a run, in input order.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use crate::pipeline::documents::document_role::InputDocument;
use crate::pipeline::documents::run_findings::{MAX_FINDINGS, RunFindings};
use crate::pipeline::documents::suppressions::Suppression;
use crate::pipeline::read_order::read_plan::LateDocuments;
use crate::pipeline::rendering::output_form::OutputForm;
use crate::pipeline::rendering::transform_object::TransformedObject;
use crate::reading::ReadFailures;
use kubefoundry_diagnostics::source::SourceId;
use kubefoundry_diagnostics::{Diagnostic, Location};
use kubefoundry_kubernetes::header::Header;
use kubefoundry_kubernetes::manifest::Identity;
use kubefoundry_transform::{AnyTransform, InputObject};
use kubefoundry_yaml::Span;

/// The results of documents, in input order.
pub(crate) struct DocumentResults<'t, O> {
    pub(crate) inputs: Vec<Arc<InputDocument>>,
    /// The results of transformed objects.
    pub(crate) transformed: Vec<ObjectResult<O>>,
    pub(crate) findings: RunFindings,
    /// The number of findings in the `copy_findings` of all objects together.
    copy_finding_count: usize,
    pub(crate) read_failures: ReadFailures,
    /// The suppressions of objects.
    pub(crate) suppressions: Vec<Suppression>,
    /// The texts with a provider configuration.
    pub(crate) configured: BTreeSet<SourceId>,
    /// The number of steps of selection rules.
    pub(crate) rule_steps: u64,
    /// The steps of the object that took the most.
    pub(crate) max_rule_steps: u64,
    /// Documents that may have been needed earlier.
    pub(crate) late: LateDocuments,
    /// The objects for transformations that look at others, if they are kept.
    pub(crate) set: Vec<SetObject<'t>>,
}

/// The position of documents: the text, the first byte, and the number of the first document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TextPosition {
    pub(crate) source: SourceId,
    pub(crate) offset: usize,
    pub(crate) document: usize,
}

/// Converts an offset from one base to another. The sum comes first, so that a move to an earlier position does not
/// underflow.
fn shift_offset(offset: usize, from: usize, to: usize) -> usize {
    (offset + to).saturating_sub(from)
}

/// An object that is visible to transformations.
pub(crate) struct SetObject<'t> {
    /// The position of the object's document in [`DocumentResults::inputs`].
    pub(crate) input: usize,
    pub(crate) object: InputObject<'t>,
    /// The transformation of the object, and its position among the transformed objects.
    pub(crate) transformed: Option<(&'static dyn AnyTransform, usize)>,
}

/// The result of a transformed object.
#[derive(Debug, Clone)]
pub(crate) struct ObjectResult<O> {
    /// The position of the object's document in [`DocumentResults::inputs`].
    pub(crate) input: usize,
    /// The transformed object; `None` if it could not be read, or until the set is transformed.
    pub(crate) mapped: Option<Arc<TransformedObject<O>>>,
    /// The findings of a possible copy, which are reported only if it is not a copy.
    pub(crate) copy_findings: Option<Box<RunFindings>>,
}

impl<O> Default for DocumentResults<'_, O> {
    fn default() -> Self {
        Self {
            inputs: Vec::new(),
            transformed: Vec::new(),
            findings: RunFindings::default(),
            copy_finding_count: 0,
            read_failures: ReadFailures::default(),
            suppressions: Vec::new(),
            configured: BTreeSet::new(),
            rule_steps: 0,
            max_rule_steps: 0,
            late: LateDocuments::default(),
            set: Vec::new(),
        }
    }
}

impl<O> DocumentResults<'_, O> {
    /// Appends the results of later documents.
    pub(crate) fn append(&mut self, mut later: Self) {
        let before = self.inputs.len();
        for object in &mut later.set {
            object.input += before;
            object.transformed.iter_mut().for_each(|(_, position)| *position += self.transformed.len());
        }
        self.set.append(&mut later.set);
        for result in &mut later.transformed {
            result.input += before;
            if let Some(findings) = &mut result.copy_findings {
                // Together, the copies may hold no more findings than a run reports.
                findings.limit(MAX_FINDINGS.saturating_sub(self.copy_finding_count));
                self.copy_finding_count += findings.len();
            }
        }
        self.inputs.append(&mut later.inputs);
        self.transformed.append(&mut later.transformed);
        self.findings.append(later.findings);
        self.read_failures.append(later.read_failures);
        self.suppressions.append(&mut later.suppressions);
        self.configured.append(&mut later.configured);
        self.add_totals(later.rule_steps, later.max_rule_steps, later.late);
    }

    fn add_totals(&mut self, rule_steps: u64, max_rule_steps: u64, late: LateDocuments) {
        self.rule_steps = self.rule_steps.saturating_add(rule_steps);
        self.max_rule_steps = self.max_rule_steps.max(max_rule_steps);
        self.late.add(late);
    }

    /// Removes copies that an earlier run passed on, if their original is in the input: `--out-dir` may be below the
    /// input. A copy has an ownership annotation, and its original does not.
    pub(crate) fn remove_copies(&mut self) {
        if self.transformed.iter().all(|result| result.copy_findings.is_none()) {
            return;
        }
        let inputs = &mut self.inputs;
        let identity = |inputs: &[Arc<InputDocument>], result: &ObjectResult<O>| {
            inputs.get(result.input).map(|input| {
                let Header { api_version, kind, namespace, name } = &input.header;
                Identity::new(api_version, kind, namespace.as_deref(), name)
            })
        };
        let originals = self.transformed.iter().filter(|result| result.copy_findings.is_none());
        let originals: BTreeSet<_> = originals.map(|result| identity(inputs, result)).collect();
        self.transformed.retain_mut(|result| {
            let Some(findings) = result.copy_findings.take() else { return true };
            let is_copy = originals.contains(&identity(inputs, result));
            if is_copy {
                inputs.get_mut(result.input).into_iter().for_each(|input| Arc::make_mut(input).rendered = false);
            } else {
                self.findings.append(*findings);
            }
            !is_copy
        });
    }
}

impl DocumentResults<'_, Value> {
    /// Adds a changed object whose own kind is not transformed.
    pub(crate) fn add_changed(&mut self, input: usize, mapped: TransformedObject<Value>) {
        let result = ObjectResult { input, mapped: Some(Arc::new(mapped)), copy_findings: None };
        // The results stay in input order.
        let after = self.transformed.partition_point(|result| result.input < input);
        self.transformed.insert(after, result);
    }

    /// Converts every object to the form that the caller asked for, after all transformations are done.
    pub(crate) fn into_form<'t, O: OutputForm>(self) -> DocumentResults<'t, O> {
        self.map_transformed(|object| Arc::new(Arc::unwrap_or_clone(object).into_form()))
    }
}

impl<O> DocumentResults<'_, O> {
    /// Drops the objects of the set, which borrow from texts.
    pub(crate) fn without_set<'t>(self) -> DocumentResults<'t, O> {
        self.map_transformed(|object| object)
    }

    /// Converts every transformed object, and drops those of the set.
    fn map_transformed<'t, P>(
        self,
        convert: impl Fn(Arc<TransformedObject<O>>) -> Arc<TransformedObject<P>>,
    ) -> DocumentResults<'t, P> {
        let convert_result = |ObjectResult { input, mapped, copy_findings }: ObjectResult<O>| ObjectResult {
            input,
            mapped: mapped.map(&convert),
            copy_findings,
        };
        DocumentResults {
            inputs: self.inputs,
            transformed: self.transformed.into_iter().map(convert_result).collect(),
            findings: self.findings,
            copy_finding_count: self.copy_finding_count,
            read_failures: self.read_failures,
            suppressions: self.suppressions,
            configured: self.configured,
            rule_steps: self.rule_steps,
            max_rule_steps: self.max_rule_steps,
            late: self.late,
            set: Vec::new(),
        }
    }
}

impl<O: Clone> DocumentResults<'_, O> {
    /// Appends a copy of the results of later documents, which moved from one position to another. Their set is not copied.
    pub(crate) fn append_copy(&mut self, later: &DocumentResults<'_, O>, from: TextPosition, to: TextPosition) {
        if from != to || later.transformed.iter().any(|result| result.copy_findings.is_some()) {
            return self.append(later.relocated(from, to));
        }
        let before = self.inputs.len();
        self.inputs.extend_from_slice(&later.inputs);
        self.transformed.extend(later.transformed.iter().map(|result| ObjectResult {
            input: result.input + before,
            mapped: result.mapped.clone(),
            copy_findings: None,
        }));
        self.findings.append_copy(&later.findings);
        self.read_failures.append(later.read_failures.clone());
        self.suppressions.extend_from_slice(&later.suppressions);
        self.configured.extend(&later.configured);
        self.add_totals(later.rule_steps, later.max_rule_steps, later.late);
    }

    /// Returns a copy of these results for documents that moved from one position to another. The set is not copied.
    pub(crate) fn relocated<'t>(&self, from: TextPosition, to: TextPosition) -> DocumentResults<'t, O> {
        let mut copy = DocumentResults {
            inputs: self.inputs.clone(),
            transformed: self.transformed.clone(),
            findings: self.findings.clone(),
            copy_finding_count: self.copy_finding_count,
            read_failures: self.read_failures.clone(),
            suppressions: self.suppressions.clone(),
            configured: self.configured.clone(),
            rule_steps: self.rule_steps,
            max_rule_steps: self.max_rule_steps,
            late: self.late,
            set: Vec::new(),
        };
        if from != to {
            copy.relocate(from, to);
        }
        copy
    }

    /// Converts all positions of documents that moved from one position to another.
    fn relocate(&mut self, from: TextPosition, to: TextPosition) {
        let relocate_span = |span: &mut Span| {
            span.start = shift_offset(span.start, from.offset, to.offset);
            span.end = shift_offset(span.end, from.offset, to.offset);
        };
        let relocate_location = |location: &mut Location| {
            if location.source == from.source {
                location.source = to.source;
                location.document = shift_offset(location.document, from.document, to.document);
                relocate_span(&mut location.span);
            }
        };
        for input in &mut self.inputs {
            let input = Arc::make_mut(input);
            input.source = to.source;
            input.index = shift_offset(input.index, from.document, to.document);
            relocate_span(&mut input.span);
            relocate_span(&mut input.name_span);
        }
        let mut diagnostics: Vec<&mut Diagnostic> = Vec::new();
        diagnostics.extend(self.findings.as_mut_slice());
        diagnostics.extend(self.read_failures.relevant.iter_mut().chain(&mut self.read_failures.foreign));
        for result in &mut self.transformed {
            if let Some(mapped) = &mut result.mapped {
                let mapped = Arc::make_mut(mapped);
                let decision = Arc::make_mut(&mut mapped.decision);
                decision.source = to.source;
                decision.document = shift_offset(decision.document, from.document, to.document);
                mapped.served_name.iter_mut().for_each(|served_name| relocate_span(&mut served_name.span));
            }
            diagnostics.extend(result.copy_findings.iter_mut().flat_map(|findings| findings.as_mut_slice()));
        }
        for diagnostic in diagnostics {
            let is_in_moved_text = diagnostic.location.as_ref().is_some_and(|location| location.source == from.source);
            diagnostic.location.iter_mut().for_each(relocate_location);
            diagnostic.related.iter_mut().for_each(|related| relocate_location(&mut related.location));
            // Edits are in the same text as their finding.
            for edit in diagnostic.fix.iter_mut().filter(|_| is_in_moved_text).flat_map(|fix| &mut fix.edits) {
                relocate_span(&mut edit.range);
            }
        }
        for suppression in &mut self.suppressions {
            relocate_location(&mut suppression.location);
            relocate_span(&mut suppression.span);
        }
        if self.configured.remove(&from.source) {
            self.configured.insert(to.source);
        }
    }
}
