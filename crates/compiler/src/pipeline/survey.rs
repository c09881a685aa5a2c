//! What must be known before the first deployment can be mapped: provider configurations, and which files are patches.
//!
//! A text that may hold such is read first, and its documents are kept for their turn. Every other text is read when it
//! is its turn, a document at a time, and needs no room beyond that.

use std::collections::{BTreeMap, BTreeSet};

use super::document::Document;
use super::kustomize;
use super::operations::PatchTarget;
use super::scan::ReadPlan;
use crate::composition;
use crate::options::Options;
use crate::reading::{Documents, ReadFailures};
use kubefoundry_diagnostics::source::{Source, SourceId, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, Findings};
use kubefoundry_kubernetes::header::Header;
use kubefoundry_transform::Configuration;
use kubefoundry_yaml::field_path::FieldPath;

/// What was learned, and what was read on the way.
#[derive(Debug, Default)]
pub(super) struct Survey<'t> {
    /// The documents of each text that was read, items of lists on their own.
    pub(super) kept: BTreeMap<SourceId, Vec<Document<'t>>>,
    /// Files that a kustomization applies as patches, and the kind of ours that it says they are for.
    patched: BTreeMap<String, Option<PatchTarget>>,
    /// Whether the input has objects of ours; known where a kustomization may patch one without naming its group.
    pub(super) is_among_ours: bool,
    /// Options that hold configurations.
    pub(super) configured: BTreeSet<SourceId>,
    /// What was found wrong with those texts.
    pub(super) diagnostics: Vec<Diagnostic>,
    pub(super) trouble: ReadFailures,
}

impl<'t> Survey<'t> {
    /// Reads the texts that the plan says to read first.
    pub(super) fn new(sources: &'t SourceSet, options: &Options, plan: &ReadPlan) -> Self {
        let mut survey = Self { is_among_ours: plan.is_among_ours, ..Self::default() };
        for (id, source) in sources.iter().filter(|(id, _)| plan.is_first(*id)) {
            survey.read(id, source, options);
        }
        survey
    }

    fn read(&mut self, id: SourceId, source: &'t Source, options: &Options) {
        let mut documents = Documents::new(source, &options.limits);
        let mut kept = Vec::new();
        for document in documents.by_ref() {
            let document = Document::new(id, source, document);
            if is_kustomization(source, &document.header) {
                for (path, target) in kustomize::patch_paths(&source.name, &document.root, self.is_among_ours) {
                    let known = self.patched.entry(path).or_default();
                    *known = known.take().or(target);
                }
            }
            document.flatten(&mut kept, &mut self.diagnostics);
        }
        self.trouble.add(id, source, &documents.into_failures());
        self.kept.insert(id, kept);
    }

    /// Whether a kustomization applies a text as a patch.
    pub(super) fn is_patch(&self, source: &Source) -> bool {
        !self.patched.is_empty() && self.patched.contains_key(&kustomize::normalize("", &source.name))
    }

    /// The kind of ours that a text's operations are for, where a kustomization says so.
    pub(super) fn target(&self, source: &Source) -> Option<&PatchTarget> {
        let known = (!self.patched.is_empty()).then(|| self.patched.get(&kustomize::normalize("", &source.name)));
        known.flatten()?.as_ref()
    }

    /// Reads the configurations that were found. Returns what is wrong with them.
    pub(super) fn configure(&self, sources: &SourceSet, configuration: &mut dyn Configuration) -> Vec<Diagnostic> {
        let mut problems = Vec::new();
        for document in self.kept.values().flatten() {
            if composition::configured_by(&document.header).is_some() && !self.is_patch(sources.get(document.source)) {
                let mut findings = Findings::new(document.scope());
                document.report_problems(&mut findings);
                configuration.read(&FieldPath::root(), &mut findings);
                problems.extend(findings.into_diagnostics());
            }
        }
        problems
    }
}

/// Whether a document that was not read first should have been.
pub(super) fn comes_late(source: &Source, header: &Header) -> bool {
    composition::configured_by(header).is_some() || is_kustomization(source, header)
}

/// Whether a document is a kustomization.
pub(super) fn is_kustomization(source: &Source, header: &Header) -> bool {
    kustomize::is_kustomization(&source.name, header.group(), &header.kind)
}
