//! A run over all texts: the order in which they are read, and the steps after all of them are read.

use std::mem;

use serde_json::Value;

use super::conformance::CrdSchemas;
use super::context::configure;
use super::environment::Environment;
use super::form::OutputForm;
use super::kept_choices::KeptChoices;
use super::patch_judge;
use super::results::DocumentResults;
use super::scan::ReadPlan;
use super::skeletons::Skeletons;
use super::survey::Survey;
use super::{set, stream};
use crate::options::Options;
use kubefoundry_diagnostics::source::SourceSet;
use kubefoundry_transform::Thoroughness;

/// The inputs that all documents of a run share.
pub(super) struct Run<'s> {
    pub(super) sources: &'s SourceSet,
    pub(super) schemas: Option<&'s CrdSchemas<'s>>,
    /// The skeletons, if the input has no CRDs.
    pub(super) skeletons: Option<&'s Skeletons>,
    pub(super) options: &'s Options,
    pub(super) thoroughness: Thoroughness,
    /// The providers that deployments keep from before the run.
    pub(super) kept_choices: Option<&'s KeptChoices>,
}

impl Run<'_> {
    /// Reads and transforms the texts. A late document makes it start once more, with all texts read before the first
    /// object is transformed, so that no document can be late.
    pub(super) fn results<O: OutputForm>(&self) -> DocumentResults<'_, O> {
        let plan = ReadPlan::new(self.sources, self.options);
        let (results, is_valid) = self.run_plan(&plan);
        if is_valid { results } else { self.run_plan(&ReadPlan::everything(self.options.composition, self.sources)).0 }
    }

    /// Processes every document, and returns the results and whether the plan turned out to be valid. If transformations look at
    /// other objects, all objects stay JSON values until the last transformation is done. Only then are they converted
    /// to the form that the caller asked for.
    fn run_plan<O: OutputForm>(&self, plan: &ReadPlan) -> (DocumentResults<'_, O>, bool) {
        let Self { sources, schemas, skeletons, options, thoroughness, kept_choices } = *self;
        let mut survey = Survey::new(sources, options, plan);
        let mut configuration = options.composition.configuration(options.rule_limits);
        let mut problems = configure(&mut configuration, sources, options, &mut survey);
        survey.diagnostics.append(&mut problems);
        let environment = Environment {
            configuration: &configuration,
            schemas,
            skeletons,
            patch_skeletons: skeletons,
            options,
            thoroughness,
            chosen: None,
            kept_choices,
            patch_judge: Some(patch_judge::judge),
        };
        let read_documents = mem::take(&mut survey.read_documents);
        let is_valid;
        let mut results = if plan.keeps_set {
            let mut results: DocumentResults<'_, Value> =
                stream::run(sources, &environment, &survey, read_documents, plan);
            is_valid = !plan.is_invalidated_by(results.late);
            survey.diagnostics.drain(..).for_each(|finding| results.findings.add(finding));
            set::transform(&mut results, &environment);
            results.into_form()
        } else {
            let mut results: DocumentResults<'_, O> = stream::run(sources, &environment, &survey, read_documents, plan);
            is_valid = !plan.is_invalidated_by(results.late);
            survey.diagnostics.drain(..).for_each(|finding| results.findings.add(finding));
            results
        };
        results.read_failures.append(survey.read_failures);
        results.configured.append(&mut survey.configured);
        (results, is_valid)
    }
}
