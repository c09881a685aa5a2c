//! What the documents of each text became in the last run, kept for the next one.
//!
//! A document that is transformed alone depends on nothing but its own text and on what every document is transformed
//! with: options, configurations, kustomizations, CRDs. So the results of a text hold until one of these changes; only
//! what looks at all objects (the set, collisions, copies) runs each time.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::context::catalog_of;
use super::environment::Environment;
use super::results::DocumentResults;
use super::scan::ReadPlan;
use super::stream;
use super::survey::Survey;
use super::{Providers, Run, set};
use kubefoundry_diagnostics::source::{Purpose, Source, SourceId};
use kubefoundry_model::select;
use kubefoundry_yaml::fingerprint::sha256;

/// The results of the texts of a run, by what they depend on.
#[derive(Clone, Default)]
pub(super) struct ResultCache {
    /// What all results depend on: options, configurations, kustomizations, CRDs.
    environment: String,
    texts: BTreeMap<String, Arc<CachedText>>,
}

/// The results of one text, which had this id.
struct CachedText {
    id: SourceId,
    results: DocumentResults<'static, Value>,
}

impl fmt::Debug for ResultCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResultCache").field("texts", &self.texts.len()).finish_non_exhaustive()
    }
}

impl ResultCache {
    /// How many texts have results that the next run may use.
    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    /// What a run over the texts gives, as [`Run::results`] has it, from what is known of those that did not change.
    pub(super) fn results<'r>(&mut self, run: &'r Run<'_>) -> DocumentResults<'r, Value> {
        let Run { sources, schemas, options, thoroughness } = *run;
        let plan = ReadPlan::new(sources, options);
        let environment_key = environment_key(run, &plan);
        let known = std::mem::take(&mut self.texts);
        let known = if self.environment == environment_key { known } else { BTreeMap::new() };
        self.environment = environment_key;
        let mut survey = Survey::new(sources, options, &plan);
        let (catalog, mut problems) = catalog_of(sources, options, Providers::All, &mut survey);
        survey.diagnostics.append(&mut problems);
        let environment = Environment { catalog: &catalog, schemas, options, thoroughness, chosen: None };
        let mut kept = std::mem::take(&mut survey.kept);
        let mut all: DocumentResults<'r, Value> = DocumentResults::default();
        for (id, source) in sources.iter().filter(|(id, _)| plan.includes(*id)) {
            let key = text_key(source);
            if let Some(cached) = known.get(&key) {
                all.append(cached.results.relocated(cached.id, id));
                self.texts.insert(key, Arc::clone(cached));
                continue;
            }
            let kept: BTreeMap<_, _> = kept.remove(&id).map(|documents| (id, documents)).into_iter().collect();
            let results: DocumentResults<'r, Value> = stream::run(sources, &environment, &survey, kept, &plan.only(id));
            if !plan.is_first(id) && results.set.is_empty() {
                let results = results.into_form();
                all.append(results.relocated(id, id));
                self.texts.insert(key, Arc::new(CachedText { id, results }));
            } else {
                all.append(results);
            }
        }
        // Of a run as a whole, later objects have fewer steps for their rules: where that may show, nothing is kept.
        let least_steps = select::allowance(options.rule_limits, u64::MAX, usize::MAX);
        if plan.is_refuted_by(all.late) || all.most_rule_steps >= least_steps {
            self.texts.clear();
            return run.results();
        }
        survey.diagnostics.drain(..).for_each(|found| all.found.add(found));
        if plan.keeps_set {
            set::transform(&mut all, &environment);
        }
        all.trouble.append(survey.trouble);
        all
    }
}

/// What the results of every text depend on.
fn environment_key(run: &Run<'_>, plan: &ReadPlan) -> String {
    let mut bytes = format!("{:?} {} {}", run.thoroughness, plan.keeps_set, plan.is_among_ours).into_bytes();
    for (id, source) in run.sources.iter() {
        if plan.is_first(id) || matches!(source.purpose, Purpose::Options | Purpose::Crds) {
            bytes.extend_from_slice(format!("\n{} {}", id.0, text_key(source)).as_bytes());
        }
    }
    sha256(&bytes)
}

/// What the results of a text depend on of itself: its bytes, and what is known of them.
fn text_key(source: &Source) -> String {
    let Source { purpose, name, text, not_text, is_rewritten, directory } = source;
    let mut bytes = format!("{purpose:?} {name:?} {not_text:?} {is_rewritten} {directory:?}\n").into_bytes();
    bytes.extend_from_slice(text.as_bytes());
    sha256(&bytes)
}
