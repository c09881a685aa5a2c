//! Renders single documents with the environment of a run, for analyses that compare alternatives.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::compilation::Compilation;
use super::context::configure_inline;
use super::decision::Decision;
use super::document::Document;
use super::evaluator::Evaluator;
use super::prepared::Attempt;
use super::role::InputDocument;
use crate::options::Options;
use crate::reading::Documents;
use kubefoundry_crd::Crds;
use kubefoundry_diagnostics::source::{Purpose, SourceId, SourceSet};
use kubefoundry_diagnostics::{Findings, ObjectRef, Severity};
use kubefoundry_model::composition::Composition;
use kubefoundry_transform::{Configuration as _, Thoroughness};
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::{Node, Span};

/// Renders ModelDeployments on their own, with the options, provider configurations and CRDs of a run.
///
/// The environment can be combined from several runs, so that the effect of each part can be observed on its own.
///
/// ```
/// use kubefoundry_composition::BUILTIN;
/// use kubefoundry_compiler::pipeline::Renderer;
/// use kubefoundry_diagnostics::source::SourceSet;
/// use kubefoundry_compiler::{Thoroughness, compile};
/// let mut sources = SourceSet::default();
/// sources.add("phi.yaml", "
/// apiVersion: kubefoundry.ai/v1alpha1
/// kind: ModelDeployment
/// metadata: {name: phi}
/// spec: {model: {id: org/phi}, engine: {type: vllm}, resources: {gpu: {count: 1}}}
/// ");
/// let compilation = compile(&BUILTIN, &sources, Thoroughness::Needed);
/// let renderer = Renderer::new(&sources, &compilation);
/// let items = renderer.list_items(&compilation.inputs);
/// let mut phi = renderer.document(&compilation.inputs[0], &items).unwrap();
/// phi["spec"]["resources"]["gpu"]["count"] = 2.into();
/// let rendered = renderer.render(&phi, Thoroughness::Needed).unwrap();
/// assert_eq!(rendered.decision.gpus[0].count, 2);
/// assert_ne!(rendered.objects[0].1, compilation.outputs[0].object);
/// ```
#[derive(Debug, Clone)]
pub struct Renderer<'s> {
    sources: &'s SourceSet,
    evaluator: Evaluator,
}

/// The items of lists, from [`Renderer::list_items`].
#[derive(Debug, Default)]
pub struct ListItems(BTreeMap<(SourceId, usize, Span), Value>);

/// The result of rendering a document.
#[derive(Debug, Clone, PartialEq)]
pub struct RenderedDocument {
    /// The selected provider and the facts about its objects.
    pub decision: Decision,
    /// The objects, supporting ones first.
    pub objects: Vec<(ObjectRef, Value)>,
}

impl<'s> Renderer<'s> {
    /// Creates a renderer for an input that is not divided, with what a run over these texts found. The run has reported
    /// the problems of options, configurations and CRDs.
    pub fn new<O>(sources: &'s SourceSet, compilation: &Compilation<O>) -> Self {
        Self::for_environment(sources, compilation, None)
    }

    /// Creates a renderer for one environment of an input. `view` are its texts.
    pub fn for_environment<O>(view: &'s SourceSet, compilation: &Compilation<O>, name: Option<&str>) -> Self {
        let sources = view;
        let options = compilation.options_of(name).clone();
        let mut catalog = options.composition.configuration(options.rule_limits);
        for (id, _) in sources.iter().filter(|(id, _)| compilation.configured.contains(id)) {
            for document in documents(sources, id, &options)
                .iter()
                .filter(|document| options.composition.configured_by(&document.header).is_some())
            {
                catalog.read(&FieldPath::root(), &mut Findings::new(document.scope()));
            }
        }
        configure_inline(&mut catalog, sources, &options, &mut Vec::new());
        let has_crds = sources.iter().any(|(_, source)| source.purpose == Purpose::Crds);
        let crds = has_crds.then(|| Crds::from_sources(sources, options.composition.crd_kinds()).0.into_owned());
        let evaluator = Evaluator::new(options, catalog, crds, sources);
        let kept_choices = compilation.kept_choices.of_environment(name).cloned().unwrap_or_default();
        let evaluator = evaluator.with_kept_choices(Arc::new(kept_choices));
        Self { sources, evaluator }
    }

    /// Returns the providers and transformations of the program.
    pub fn composition(&self) -> &'static Composition {
        self.evaluator.options().composition
    }

    /// Returns a renderer with the options of another one.
    #[must_use]
    pub fn with_options_of(&self, other: &Self) -> Self {
        let (own, others) = (self.evaluator.options(), other.evaluator.options());
        self.with(self.evaluator.with_options(Options { crds: own.crds, ..others.clone() }))
    }

    /// Returns a renderer with the provider configurations of another one.
    #[must_use]
    pub fn with_providers_of(&self, other: &Self) -> Self {
        self.with(self.evaluator.with_catalog_of(&other.evaluator))
    }

    /// Returns a renderer with the CRDs of another one.
    #[must_use]
    pub fn with_crds_of(&self, other: &Self) -> Self {
        let (own, others) = (self.evaluator.options(), other.evaluator.options());
        let evaluator = self.evaluator.with_options(Options { crds: others.crds, ..own.clone() });
        self.with(evaluator.with_crds_of(&other.evaluator))
    }

    /// Returns a renderer in which deployments keep the providers that they keep in another one.
    #[must_use]
    pub fn with_kept_choices_of(&self, other: &Self) -> Self {
        self.with(self.evaluator.with_kept_choices(Arc::clone(other.evaluator.kept_choices())))
    }

    /// Returns a renderer that keeps no provider, but selects the provider of every deployment.
    #[must_use]
    pub fn without_kept_choices(&self) -> Self {
        self.with(self.evaluator.with_kept_choices(Arc::default()))
    }

    /// Returns a renderer that writes this CRD version for a provider.
    #[must_use]
    pub fn with_crd_version(&self, provider: &str, crd_version: &str) -> Self {
        let mut options = self.evaluator.options().clone();
        options.crd_versions.insert(provider.to_owned(), crd_version.to_owned());
        self.with(self.evaluator.with_options(options))
    }

    fn with(&self, evaluator: Evaluator) -> Self {
        Self { sources: self.sources, evaluator }
    }

    /// Returns the items of the lists among some documents of the run. Each list is read once.
    pub fn list_items<'i>(&self, inputs: impl IntoIterator<Item = &'i Arc<InputDocument>>) -> ListItems {
        let lists: BTreeSet<SourceId> =
            inputs.into_iter().filter(|input| input.item).map(|input| input.source).collect();
        let mut items = BTreeMap::new();
        for id in lists {
            for document in
                documents(self.sources, id, self.evaluator.options()).iter().filter(|document| document.item)
            {
                items.insert((id, document.index(), document.span), document.to_json());
            }
        }
        ListItems(items)
    }

    /// Returns a ModelDeployment of the run as JSON, with the apiVersion and kind that its list may imply, or `None` if
    /// it cannot be read or is an item of a list that is not among `items`.
    pub fn document(&self, input: &InputDocument, items: &ListItems) -> Option<Value> {
        if input.item {
            return items.0.get(&(input.source, input.index, input.span)).cloned();
        }
        let text = self.sources.get(input.source).text.get(input.span.start..input.span.end)?;
        yaml::documents(text, &self.evaluator.options().limits).next().map(|document| document.root.to_json())
    }

    /// Returns the changed fields that a rule of the CRDs refuses, each with the message of the rule; empty without
    /// CRDs.
    pub fn check_change(&self, old: &Value, new: &Value) -> Vec<(FieldPath, String)> {
        self.evaluator.crds().map(|crds| crds.check_change(old, new)).unwrap_or_default()
    }

    /// Renders a single ModelDeployment. Returns `None` if it has errors or is of another kind, which may need other
    /// objects.
    pub fn render(&self, document: &Value, thoroughness: Thoroughness) -> Option<RenderedDocument> {
        // The document may come from either of two runs, so it gets the same position in both.
        let document = Document::without_text(SourceId::default(), Node::from(document));
        let Attempt { objects, decision, findings, .. } = self.evaluator.attempt(&document, None, thoroughness);
        if findings.iter().any(|finding| finding.severity == Severity::Error) {
            return None;
        }
        let decision = decision?;
        let objects = decision.objects.iter().cloned().zip(objects).collect();
        Some(RenderedDocument { decision, objects })
    }
}

/// Returns the documents of a text. Items of lists are separate documents.
fn documents<'t>(sources: &'t SourceSet, id: SourceId, options: &Options) -> Vec<Document<'t>> {
    let source = sources.get(id);
    let mut all = Vec::new();
    for document in Documents::new(options.composition, source, &options.limits) {
        Document::new(id, source, document).flatten(options.composition, &mut all, &mut Vec::new());
    }
    all
}
