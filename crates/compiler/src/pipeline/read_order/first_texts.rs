//! Collects the facts that the first deployment already needs: provider configurations, and which files are patches.
//!
//! A text that may contain these is read first, and its documents are kept until their turn. Every other text is read
//! in its turn, one document at a time, so it needs no memory beyond that.

use std::collections::{BTreeMap, BTreeSet};

use super::read_plan::ReadPlan;
use crate::options::Options;
use crate::pipeline::documents::document::Document;
use crate::pipeline::documents::run_findings::RunFindings;
use crate::pipeline::patch_files::kustomizations;
use crate::pipeline::patch_files::patch_operations::PatchTarget;
use crate::reading::{Documents, ReadFailures};
use kubefoundry_diagnostics::source::{Source, SourceId, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, Findings};
use kubefoundry_kubernetes::header::Header;
use kubefoundry_model::composition::Composition;
use kubefoundry_transform::Configuration;
use kubefoundry_yaml::field_path::FieldPath;

/// The collected facts, and the documents that were read for them.
#[derive(Debug)]
pub(crate) struct Survey<'t> {
    composition: &'static Composition,
    /// The documents of each text that was read. Items of lists are separate documents.
    pub(crate) read_documents: BTreeMap<SourceId, Vec<Document<'t>>>,
    /// Files that a kustomization applies as patches, with the input kind that it names as their target.
    patched: BTreeMap<String, Option<PatchTarget>>,
    /// Whether the input has objects of input kinds. Only then may a kustomization patch one without naming its group.
    pub(crate) has_input_kinds: bool,
    /// Options that contain configurations.
    pub(crate) configured: BTreeSet<SourceId>,
    /// The findings about these texts.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The findings in configurations.
    pub(crate) problems: Vec<Diagnostic>,
    pub(crate) read_failures: ReadFailures,
}

impl<'t> Survey<'t> {
    /// Reads the texts that must be read first according to the plan.
    pub(crate) fn new(sources: &'t SourceSet, options: &Options, plan: &ReadPlan) -> Self {
        let mut survey = Self {
            composition: options.composition,
            read_documents: BTreeMap::new(),
            patched: BTreeMap::new(),
            has_input_kinds: plan.has_input_kinds,
            configured: BTreeSet::new(),
            diagnostics: Vec::new(),
            problems: Vec::new(),
            read_failures: ReadFailures::default(),
        };
        for (id, source) in sources.iter().filter(|(id, _)| plan.is_first(*id)) {
            survey.read(id, source, options);
        }
        survey
    }

    /// Reads a text, and records the files that a kustomization in it applies as patches.
    fn read(&mut self, id: SourceId, source: &'t Source, options: &Options) {
        let mut documents = Documents::new(options.composition, source, &options.limits);
        let mut read_documents = Vec::new();
        for document in documents.by_ref() {
            let document = Document::new(id, source, document);
            if is_kustomization(source, &document.header) {
                for (path, target) in
                    kustomizations::patch_paths(self.composition, &source.name, &document.root, self.has_input_kinds)
                {
                    // The first kustomization that names a target decides.
                    let known_target = self.patched.entry(path).or_default();
                    *known_target = known_target.take().or(target);
                }
            }
            document.flatten(self.composition, &mut read_documents, &mut self.diagnostics);
        }
        self.read_failures.add(self.composition, id, source, &documents.into_failures());
        self.read_documents.insert(id, read_documents);
    }

    /// Returns whether a kustomization applies a text as a patch.
    pub(crate) fn is_patch(&self, source: &Source) -> bool {
        !self.patched.is_empty() && self.patched.contains_key(&kustomizations::normalize("", &source.name))
    }

    /// Returns the target that a kustomization names for a patch file. `None` if no kustomization lists the file, or
    /// its target is not of an input kind.
    pub(crate) fn patch_target(&self, source: &Source) -> Option<&PatchTarget> {
        let target = (!self.patched.is_empty()).then(|| self.patched.get(&kustomizations::normalize("", &source.name)));
        target.flatten()?.as_ref()
    }

    /// Reads the collected configurations, and keeps their problems.
    pub(crate) fn configure(&mut self, sources: &SourceSet, configuration: &mut dyn Configuration) {
        for document in self.read_documents.values().flatten() {
            if self.composition.configured_by(&document.header).is_some()
                && !self.is_patch(sources.get(document.source))
            {
                let mut findings = Findings::new(document.scope());
                document.report_problems(&mut findings);
                configuration.read(&FieldPath::root(), &mut findings);
                self.problems.extend(findings.into_diagnostics());
            }
        }
    }

    /// Adds the findings about these texts and in configurations to those of a run.
    pub(crate) fn report(&mut self, findings: &mut RunFindings) {
        self.diagnostics.drain(..).chain(self.problems.drain(..)).for_each(|finding| findings.add(finding));
    }
}

/// Returns whether a document must be read before the first object is transformed, because it affects others.
pub(crate) fn must_be_read_first(composition: &Composition, source: &Source, header: &Header) -> bool {
    composition.configured_by(header).is_some() || is_kustomization(source, header)
}

/// Returns whether a document is a kustomization.
pub(crate) fn is_kustomization(source: &Source, header: &Header) -> bool {
    kustomizations::is_kustomization(&source.name, header.group(), &header.kind)
}
