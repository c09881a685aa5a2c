//! Compiles an input again and again, and transforms only the documents that changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::pipeline::{Compilation, OutputForm, ResultCache, Thoroughness, compile_cached};
use kubefoundry_diagnostics::source::SourceSet;
use kubefoundry_model::composition::Composition;

/// Runs the whole pipeline like [`compile_as`](crate::pipeline::compile_as), and keeps the result of each document for the
/// next run. The results equal those of a fresh run.
///
/// A text that is unchanged in a clone of the [`SourceSet`] of the last run is not even read; of other texts, the
/// documents with the same bytes are not transformed. Options, provider configurations, kustomizations and CRDs decide
/// about all documents of their environment.
///
/// ```
/// use kubefoundry_composition::BUILTIN;
/// use kubefoundry_compiler::Thoroughness;
/// use kubefoundry_compiler::pipeline::YamlText;
/// use kubefoundry_compiler::recompiler::Recompiler;
/// use kubefoundry_diagnostics::source::SourceSet;
/// let mut sources = SourceSet::default();
/// let ids = ["phi", "llama"].map(|name| sources.add(name, format!("
/// apiVersion: kubefoundry.ai/v1alpha1
/// kind: ModelDeployment
/// metadata: {{name: {name}}}
/// spec: {{model: {{id: org/{name}}}, engine: {{type: vllm}}, resources: {{gpu: {{count: 1}}}}}}
/// ")));
/// let mut recompiler = Recompiler::<YamlText>::default();
/// recompiler.compile(&BUILTIN, &sources, Thoroughness::Needed);
/// assert_eq!(recompiler.mapped_documents(), 2);
/// sources.set_text(ids[1], sources.get(ids[1]).text.replace("count: 1", "count: 2"));
/// assert_eq!(recompiler.compile(&BUILTIN, &sources, Thoroughness::Needed).decisions[1].gpus[0].count, 2);
/// assert_eq!(recompiler.mapped_documents(), 1);
/// ```
#[derive(Debug, Clone)]
pub struct Recompiler<O = Value> {
    /// The results of the last run, by environment.
    caches: BTreeMap<Option<Arc<str>>, ResultCache<O>>,
}

impl<O> Default for Recompiler<O> {
    fn default() -> Self {
        Self { caches: BTreeMap::new() }
    }
}

impl<O: OutputForm> Recompiler<O> {
    /// Compiles the sources, which bring their own options, configurations and CRDs.
    pub fn compile(
        &mut self,
        composition: &'static Composition,
        sources: &SourceSet,
        thoroughness: Thoroughness,
    ) -> Compilation<O> {
        compile_cached(composition, sources, thoroughness, &mut self.caches)
    }

    /// Returns the number of documents that the last run transformed or classified because no cached result applied.
    pub fn mapped_documents(&self) -> usize {
        self.caches.values().map(ResultCache::mapped).sum()
    }
}
