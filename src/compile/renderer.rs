//! One document at a time, with all that a run knew: for whoever asks what would come out if something were different.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::document::{Document, Header};
use super::map::{self, Setting};
use super::role::{InputDocument, is_config};
use super::text::Documents;
use super::{Compilation, Decision, Thoroughness, read_inline_configs};
use crate::crds::Crds;
use crate::diagnostic::{Findings, ObjectRef};
use crate::model::catalog::Catalog;
use crate::model::select::{self, Steps};
use crate::options::Options;
use crate::path::FieldPath;
use crate::source::{Purpose, SourceId, SourceSet};
use crate::yaml::{self, Node, Span};

/// Renders ModelDeployments on their own, with the options, provider configurations and CRDs of a run.
///
/// Its parts can be those of several runs, so that what one of them does can be seen alone.
///
/// ```
/// use kubefoundry::compile::Renderer;
/// use kubefoundry::{SourceSet, Thoroughness, compile};
/// let mut sources = SourceSet::default();
/// sources.add("phi.yaml", "
/// apiVersion: kubefoundry.ai/v1alpha1
/// kind: ModelDeployment
/// metadata: {name: phi}
/// spec: {model: {id: org/phi}, engine: {type: vllm}, resources: {gpu: {count: 1}}}
/// ");
/// let compilation = compile(&sources, Thoroughness::Needed);
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
    options: Arc<Options>,
    catalog: Arc<Catalog>,
    crds: Option<Arc<Crds<'s>>>,
}

/// The items of lists, read with their lists; made by [`Renderer::list_items`].
#[derive(Debug, Default)]
pub struct ListItems(BTreeMap<(SourceId, usize, Span), Value>);

/// What a document came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Rendered {
    /// What was decided.
    pub decision: Decision,
    /// Its objects, supporting ones first.
    pub objects: Vec<(ObjectRef, Value)>,
}

impl<'s> Renderer<'s> {
    /// With what a run over these texts knew. What was wrong with any of it the run itself said.
    pub fn new<O>(sources: &'s SourceSet, compilation: &Compilation<O>) -> Self {
        let options = compilation.options.clone();
        let mut catalog = Catalog::builtin(options.rule_limits);
        for id in &compilation.configured {
            for document in documents(sources, *id, &options).iter().filter(|document| is_config(&document.header)) {
                catalog.add(&FieldPath::root(), &mut Findings::new(document.scope()));
            }
        }
        read_inline_configs(sources, &options, &mut catalog, &mut Vec::new());
        let dumped = sources.iter().any(|(_, source)| source.purpose == Purpose::Crds);
        let crds = dumped.then(|| Arc::new(Crds::read(sources).0));
        Self { sources, options: Arc::new(options), catalog: Arc::new(catalog), crds }
    }

    /// The same with another one's options.
    #[must_use]
    pub fn with_options_of(&self, other: &Self) -> Self {
        let options = Options { crds: self.options.crds, ..Options::clone(&other.options) };
        Self { options: Arc::new(options), ..self.clone() }
    }

    /// The same with another one's provider configurations.
    #[must_use]
    pub fn with_providers_of(&self, other: &Self) -> Self {
        Self { catalog: Arc::clone(&other.catalog), ..self.clone() }
    }

    /// The same with another one's CRDs.
    #[must_use]
    pub fn with_crds_of(&self, other: &Self) -> Self {
        let options = Options { crds: other.options.crds, ..Options::clone(&self.options) };
        Self { options: Arc::new(options), crds: other.crds.clone(), ..self.clone() }
    }

    /// The same, writing this CRD version for a provider.
    #[must_use]
    pub fn with_target(&self, provider: &str, target: &str) -> Self {
        let mut options = Options::clone(&self.options);
        options.targets.insert(provider.to_owned(), target.to_owned());
        Self { options: Arc::new(options), ..self.clone() }
    }

    /// The items of lists among some documents of the run: a list is read once for all of them.
    pub fn list_items<'i>(&self, inputs: impl IntoIterator<Item = &'i InputDocument>) -> ListItems {
        let lists: BTreeSet<SourceId> = inputs.into_iter().filter(|input| input.item).map(|it| it.source).collect();
        let mut items = BTreeMap::new();
        for id in lists {
            for document in documents(self.sources, id, &self.options).iter().filter(|document| document.item) {
                items.insert((id, document.index, document.span), map::with_header(document));
            }
        }
        ListItems(items)
    }

    /// A ModelDeployment of the run as JSON, with the apiVersion and kind that it may have from its list; none when it
    /// cannot be read, or is an item of a list that is not among `items`.
    pub fn document(&self, input: &InputDocument, items: &ListItems) -> Option<Value> {
        if input.item {
            return items.0.get(&(input.source, input.index, input.span)).cloned();
        }
        let text = self.sources.get(input.source).text.get(input.span.start..input.span.end)?;
        yaml::documents(text, &self.options.limits).next().map(|document| document.root.to_json())
    }

    /// Fields of an object whose change the rules of the CRDs refuse, each with the rule's message; none without CRDs.
    pub fn check_change(&self, old: &Value, new: &Value) -> Vec<(FieldPath, String)> {
        self.crds.as_ref().map(|crds| crds.check_change(old, new)).unwrap_or_default()
    }

    /// What a ModelDeployment comes to on its own; none when it has errors, or is of another kind: those need the set.
    pub fn render(&self, document: &Value, thoroughness: Thoroughness) -> Option<Rendered> {
        let root = Node::from(document);
        let header = Header::of(&root);
        let document = Document {
            source: SourceId::default(),
            text: "",
            index: 0,
            span: Span::default(),
            item: false,
            header,
            root,
            problems: Vec::new(),
            written: None,
        };
        let setting = Setting {
            catalog: &self.catalog,
            crds: self.crds.as_deref(),
            options: &self.options,
            thoroughness,
            keeps_set: false,
        };
        let mut steps = Steps::new(select::allowance(self.options.rule_limits, 0, 1));
        let mut findings = Findings::new(document.scope());
        let mapped = map::deployment::<Value>(&document, &setting, &mut steps, &mut findings)?;
        if findings.has_errors() {
            return None;
        }
        let map::Mapped { mut decision, objects } = mapped;
        let objects: Vec<(ObjectRef, Value)> =
            objects.into_iter().map(|made| (made.reference(), made.object)).collect();
        decision.objects = objects.iter().map(|(reference, _)| reference.clone()).collect();
        Some(Rendered { decision, objects })
    }
}

/// The documents of a text, items of lists on their own.
fn documents<'t>(sources: &'t SourceSet, id: SourceId, options: &Options) -> Vec<Document<'t>> {
    let source = sources.get(id);
    let mut all = Vec::new();
    for document in Documents::new(source, &options.limits) {
        Document::new(id, source, document).flatten(&mut all, &mut Vec::new());
    }
    all
}
