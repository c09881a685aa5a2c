//! What the documents of a run leave behind, in input order.

use std::collections::BTreeSet;

use serde_json::Value;

use super::findings::{MAX_FINDINGS, RunFindings};
use super::form::OutputForm;
use super::map::{GeneratedObject, TransformedObject};
use super::role::InputDocument;
use super::scan::LateDocuments;
use super::suppress::Suppression;
use crate::reading::ReadFailures;
use kubefoundry_diagnostics::source::SourceId;
use kubefoundry_diagnostics::{Diagnostic, Location};
use kubefoundry_kubernetes::header::Header;
use kubefoundry_kubernetes::manifest::Identity;
use kubefoundry_transform::{AnyTransform, InputObject};
use kubefoundry_yaml::Span;

/// What documents leave behind, in input order.
pub(super) struct DocumentResults<'t, O> {
    pub(super) inputs: Vec<InputDocument>,
    /// Of each object that is transformed, what it became.
    pub(super) transformed: Vec<ObjectResult<O>>,
    pub(super) found: RunFindings,
    /// How many findings the possible copies among the objects hold.
    held: usize,
    /// What is wrong with whole texts.
    pub(super) trouble: ReadFailures,
    /// What objects say to ignore.
    pub(super) suppressions: Vec<Suppression>,
    /// The texts that hold a provider configuration.
    pub(super) configured: BTreeSet<SourceId>,
    /// Steps that selection rules took.
    pub(super) rule_steps: u64,
    /// The most steps that the rules of one object took.
    pub(super) most_rule_steps: u64,
    /// What turned up that may have been needed before.
    pub(super) late: LateDocuments,
    /// The objects that transformations may need to see, when they are kept at all.
    pub(super) set: Vec<SetObject<'t>>,
}

/// Where documents stand: in which text, from which byte on, and which document of it the first one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TextPosition {
    pub(super) source: SourceId,
    pub(super) offset: usize,
    pub(super) document: usize,
}

fn shift_offset(at: usize, from: usize, to: usize) -> usize {
    (at + to).saturating_sub(from)
}

/// An object that transformations may need to see.
pub(super) struct SetObject<'t> {
    /// Its place among the inputs.
    pub(super) input: usize,
    pub(super) object: InputObject<'t>,
    /// What transforms it, and its place among the transformed objects.
    pub(super) transformed: Option<(&'static dyn AnyTransform, usize)>,
}

/// What an object that is transformed leaves behind.
#[derive(Debug, Clone)]
pub(super) struct ObjectResult<O> {
    /// Its place among the inputs.
    pub(super) input: usize,
    /// What it became; none when it could not be read, or as long as it waits for the others.
    pub(super) mapped: Option<Box<TransformedObject<O>>>,
    /// Of an object that may be a copy of another one: what was found in it, reported only if it is not a copy.
    pub(super) copy: Option<Box<RunFindings>>,
}

impl<O> Default for DocumentResults<'_, O> {
    fn default() -> Self {
        Self {
            inputs: Vec::new(),
            transformed: Vec::new(),
            found: RunFindings::default(),
            held: 0,
            trouble: ReadFailures::default(),
            suppressions: Vec::new(),
            configured: BTreeSet::new(),
            rule_steps: 0,
            most_rule_steps: 0,
            late: LateDocuments::default(),
            set: Vec::new(),
        }
    }
}

impl<O> DocumentResults<'_, O> {
    /// Adds the results of documents that stand behind these.
    pub(super) fn append(&mut self, mut later: Self) {
        let before = self.inputs.len();
        for object in &mut later.set {
            object.input += before;
            object.transformed.iter_mut().for_each(|(_, position)| *position += self.transformed.len());
        }
        self.set.append(&mut later.set);
        for result in &mut later.transformed {
            result.input += before;
            if let Some(found) = &mut result.copy {
                found.limit(MAX_FINDINGS.saturating_sub(self.held));
                self.held += found.len();
            }
        }
        self.inputs.append(&mut later.inputs);
        self.transformed.append(&mut later.transformed);
        self.found.append(later.found);
        self.trouble.append(later.trouble);
        self.suppressions.append(&mut later.suppressions);
        self.configured.append(&mut later.configured);
        self.rule_steps = self.rule_steps.saturating_add(later.rule_steps);
        self.most_rule_steps = self.most_rule_steps.max(later.most_rule_steps);
        self.late.add(later.late);
    }

    /// Leaves out what an earlier run passed on of an object that is in the input itself: `--out-dir` may lie below the
    /// input. Such a copy bears a mark, and its original does not.
    pub(super) fn leave_out_copies(&mut self) {
        if self.transformed.iter().all(|result| result.copy.is_none()) {
            return;
        }
        let inputs = &mut self.inputs;
        let identity = |inputs: &[InputDocument], result: &ObjectResult<O>| {
            inputs.get(result.input).map(|input| {
                let Header { api_version, kind, namespace, name } = &input.header;
                Identity::new(api_version, kind, namespace.as_deref(), name)
            })
        };
        let originals = self.transformed.iter().filter(|result| result.copy.is_none());
        let originals: BTreeSet<_> = originals.map(|result| identity(inputs, result)).collect();
        self.transformed.retain_mut(|result| {
            let Some(found) = result.copy.take() else { return true };
            let is_left_out = originals.contains(&identity(inputs, result));
            if is_left_out {
                inputs.get_mut(result.input).into_iter().for_each(|input| input.rendered = false);
            } else {
                self.found.append(*found);
            }
            !is_left_out
        });
    }
}

impl DocumentResults<'_, Value> {
    /// Adds what an object became that is changed, and is not of a kind that is transformed.
    pub(super) fn add_changed(&mut self, input: usize, mapped: TransformedObject<Value>) {
        let result = ObjectResult { input, mapped: Some(Box::new(mapped)), copy: None };
        let after = self.transformed.partition_point(|result| result.input < input);
        self.transformed.insert(after, result);
    }

    /// A copy of the results of documents that stood at one place, for a run in which they stand at another one. The set
    /// is not copied.
    pub(super) fn relocated<'t>(&self, from: TextPosition, to: TextPosition) -> DocumentResults<'t, Value> {
        let mut copy = DocumentResults {
            inputs: self.inputs.clone(),
            transformed: self.transformed.clone(),
            found: self.found.clone(),
            held: self.held,
            trouble: self.trouble.clone(),
            suppressions: self.suppressions.clone(),
            configured: self.configured.clone(),
            rule_steps: self.rule_steps,
            most_rule_steps: self.most_rule_steps,
            late: self.late,
            set: Vec::new(),
        };
        if from != to {
            copy.relocate(from, to);
        }
        copy
    }

    /// Says of everything that stands at one place that it stands at another one.
    fn relocate(&mut self, from: TextPosition, to: TextPosition) {
        let moves = |span: &mut Span| {
            span.start = shift_offset(span.start, from.offset, to.offset);
            span.end = shift_offset(span.end, from.offset, to.offset);
        };
        let place = |location: &mut Location| {
            if location.source == from.source {
                location.source = to.source;
                location.document = shift_offset(location.document, from.document, to.document);
                moves(&mut location.span);
            }
        };
        for input in &mut self.inputs {
            input.source = to.source;
            input.index = shift_offset(input.index, from.document, to.document);
            moves(&mut input.span);
            moves(&mut input.name_span);
        }
        let mut diagnostics: Vec<&mut Diagnostic> = Vec::new();
        diagnostics.extend(self.found.kept_mut());
        diagnostics.extend(self.trouble.ours.iter_mut().chain(&mut self.trouble.foreign));
        for result in &mut self.transformed {
            if let Some(mapped) = &mut result.mapped {
                mapped.decision.source = to.source;
                mapped.decision.document = shift_offset(mapped.decision.document, from.document, to.document);
            }
            diagnostics.extend(result.copy.iter_mut().flat_map(|found| found.kept_mut()));
        }
        for diagnostic in diagnostics {
            let is_here = diagnostic.location.as_ref().is_some_and(|location| location.source == from.source);
            diagnostic.location.iter_mut().for_each(place);
            diagnostic.related.iter_mut().for_each(|related| place(&mut related.location));
            // Edits are in the text that the finding is in.
            for edit in diagnostic.fix.iter_mut().filter(|_| is_here).flat_map(|fix| &mut fix.edits) {
                moves(&mut edit.range);
            }
        }
        for suppression in &mut self.suppressions {
            place(&mut suppression.location);
            moves(&mut suppression.span);
        }
        if self.configured.remove(&from.source) {
            self.configured.insert(to.source);
        }
    }

    /// The same with every object in the form that the caller asked for, once nothing needs to see it any more.
    pub(super) fn into_form<'t, O: OutputForm>(self) -> DocumentResults<'t, O> {
        let into_form = |result: ObjectResult<Value>| {
            let mapped = result.mapped.map(|mapped| {
                let TransformedObject { decision, objects } = *mapped;
                Box::new(TransformedObject {
                    decision,
                    objects: objects.into_iter().map(GeneratedObject::into_form).collect(),
                })
            });
            ObjectResult { input: result.input, mapped, copy: result.copy }
        };
        DocumentResults {
            inputs: self.inputs,
            transformed: self.transformed.into_iter().map(into_form).collect(),
            found: self.found,
            held: self.held,
            trouble: self.trouble,
            suppressions: self.suppressions,
            configured: self.configured,
            rule_steps: self.rule_steps,
            most_rule_steps: self.most_rule_steps,
            late: self.late,
            set: Vec::new(),
        }
    }
}
