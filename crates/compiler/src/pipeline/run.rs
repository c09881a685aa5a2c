//! One run over all texts: in which order they are read, and what is done once all of them were.

use std::mem;

use serde_json::Value;

use super::conformance::CrdSchemas;
use super::context::configure;
use super::environment::Environment;
use super::form::OutputForm;
use super::results::DocumentResults;
use super::scan::ReadPlan;
use super::skeletons::Skeletons;
use super::survey::Survey;
use super::{set, stream};
use crate::composition;
use crate::options::Options;
use kubefoundry_diagnostics::source::SourceSet;
use kubefoundry_transform::Thoroughness;

/// The inputs that all documents of a run share.
pub(super) struct Run<'s> {
    pub(super) sources: &'s SourceSet,
    pub(super) schemas: Option<&'s CrdSchemas<'s>>,
    /// Without a dump of CRDs: the skeletons.
    pub(super) skeletons: Option<&'s Skeletons>,
    pub(super) options: &'s Options,
    pub(super) thoroughness: Thoroughness,
}

impl Run<'_> {
    /// Reads the texts as they need to be read. A document that came too late makes it read them once more, all of them
    /// before the first object is transformed; then none can.
    pub(super) fn results<O: OutputForm>(&self) -> DocumentResults<'_, O> {
        let plan = ReadPlan::new(self.sources, self.options);
        self.results_of(&plan).or_else(|| self.results_of(&ReadPlan::everything(self.sources))).unwrap_or_default()
    }

    /// Sends every document through. None when the plan was wrong. As long as a transformation may need to see the
    /// objects they stay values, and only then take the form that the caller asked for.
    fn results_of<O: OutputForm>(&self, plan: &ReadPlan) -> Option<DocumentResults<'_, O>> {
        let Self { sources, schemas, skeletons, options, thoroughness } = *self;
        let mut survey = Survey::new(sources, options, plan);
        let mut configuration = composition::configuration(options.rule_limits);
        let mut problems = configure(&mut configuration, sources, options, &mut survey);
        survey.diagnostics.append(&mut problems);
        let environment =
            Environment { configuration: &configuration, schemas, skeletons, options, thoroughness, chosen: None };
        let kept = mem::take(&mut survey.kept);
        let mut results = if plan.keeps_set {
            let mut results: DocumentResults<'_, Value> = stream::run(sources, &environment, &survey, kept, plan);
            if plan.is_refuted_by(results.late) {
                return None;
            }
            survey.diagnostics.drain(..).for_each(|found| results.found.add(found));
            set::transform(&mut results, &environment);
            results.into_form()
        } else {
            let mut results: DocumentResults<'_, O> = stream::run(sources, &environment, &survey, kept, plan);
            if plan.is_refuted_by(results.late) {
                return None;
            }
            survey.diagnostics.drain(..).for_each(|found| results.found.add(found));
            results
        };
        results.trouble.append(survey.trouble);
        results.configured.append(&mut survey.configured);
        Some(results)
    }
}
