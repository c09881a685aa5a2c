//! Merges the input with the objects generated from it.
//!
//! The input order is kept: the objects generated from a ModelDeployment take its position, and the text of other
//! objects is copied byte for byte. Documents that are not cluster objects are dropped: documents without a kind,
//! patches, and the configuration of tools (`Kustomization`, `Kptfile`, `Render`, and objects annotated as local
//! configuration).

use std::collections::{BTreeMap, BTreeSet};

use kubefoundry_compiler::Compilation;
use kubefoundry_compiler::options::render::OutputMode;
use kubefoundry_compiler::pipeline::InputDocument;
use kubefoundry_diagnostics::ObjectRef;
use kubefoundry_diagnostics::render::LineIndex;
use kubefoundry_diagnostics::source::SourceId;
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_kubernetes::manifest::Identity;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::{Document, Failure, Node, ParsedText, Span};
use serde_json::Value;

/// API groups of objects that configure tools and do not belong in a cluster.
static TOOL_GROUPS: &[&str] = &["config.kubefoundry.ai", "kpt.dev", "kustomize.config.k8s.io"];

/// The annotation of objects that only tools read; kustomize and kpt drop these objects.
const LOCAL_CONFIG: &str = "config.kubernetes.io/local-config";

/// Reasons why the input cannot be copied to the output.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// A text cannot be read without losing a value.
    #[error("{file}: line {line} cannot be copied to the output: {message}")]
    CannotCopy {
        /// The name of the text.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong there.
        message: String,
    },
}

/// One object of the merged output.
#[derive(Debug)]
pub(crate) enum MergedObject<'c, O> {
    Generated(&'c O),
    /// A document copied from the input.
    Input(&'c InputDocument),
}

/// The parsed texts of the input, from which documents are copied or converted to JSON.
#[derive(Debug)]
pub(crate) struct InputTexts<'s> {
    sources: &'s SourceSet,
    parsed: BTreeMap<SourceId, ParsedText<'s>>,
}

impl<'s> InputTexts<'s> {
    /// Parses every text of the input. Fails for a text that is not valid YAML, which cannot be copied reliably.
    pub(crate) fn parse(sources: &'s SourceSet, limits: &yaml::Limits) -> Result<Self, StreamError> {
        let mut inputs = Self { sources, parsed: BTreeMap::new() };
        for (id, source) in sources.iter().filter(|(_, source)| source.purpose == Purpose::Input) {
            let parsed = yaml::parse(&source.text, limits);
            if let Some(failure) = &parsed.failure {
                return Err(inputs.copy_error(id, failure));
            }
            inputs.parsed.insert(id, parsed);
        }
        Ok(inputs)
    }

    /// Returns the text of a document, or `None` for a list item, whose indentation and anchors depend on the list.
    pub(crate) fn verbatim(&self, input: &InputDocument) -> Option<&'s str> {
        let document = self.document(input).filter(|document| document.span == input.span)?;
        self.sources.get(input.source).text.get(document.span.start..document.span.end)
    }

    fn text_contains(&self, input: &InputDocument, word: &str) -> bool {
        let text = self.sources.get(input.source).text.get(input.span.start..input.span.end);
        text.is_some_and(|text| text.contains(word))
    }

    /// Converts a document or a list item to JSON. Fails if strict parsing found a problem in it, such as a duplicate
    /// key, because a value would be lost.
    pub(crate) fn value(&self, input: &InputDocument) -> Result<Value, StreamError> {
        let document = self.document(input).ok_or_else(|| self.lost(input))?;
        let inside = |span: Span| input.span.start <= span.start && span.end <= input.span.end;
        if let Some(problem) = document.problems.iter().find(|it| it.kind.is_limit() || inside(it.span)) {
            return Err(self.copy_error(input.source, problem));
        }
        if document.span == input.span {
            return Ok(document.root.to_json());
        }
        find_item(&document.root, input.span).map(Node::to_json).ok_or_else(|| self.lost(input))
    }

    fn document(&self, input: &InputDocument) -> Option<&Document<'s>> {
        let documents = &self.parsed.get(&input.source)?.documents;
        let position = documents.binary_search_by_key(&input.index, |document| document.index).ok()?;
        documents.get(position)
    }

    fn copy_error(&self, id: SourceId, failure: &Failure) -> StreamError {
        self.cannot_copy(id, failure.span, failure.message.clone())
    }

    /// Returns the error for an object that is not where the compilation read it, which would vanish from the output.
    fn lost(&self, input: &InputDocument) -> StreamError {
        self.cannot_copy(input.source, input.span, "the object is not found again".to_owned())
    }

    fn cannot_copy(&self, id: SourceId, span: Span, message: String) -> StreamError {
        let source = self.sources.get(id);
        let line = LineIndex::new(&source.text).position(span.start).line;
        StreamError::CannotCopy { file: source.name.clone(), line, message }
    }
}

/// Finds the item at `span` in a list or in a nested list.
fn find_item<'n, 't>(list: &'n Node<'t>, span: Span) -> Option<&'n Node<'t>> {
    let items = list.get("items").map(Node::items).unwrap_or_default();
    let holds = |item: &&Node<'_>| item.span.start <= span.start && span.end <= item.span.end;
    let item = items.iter().find(holds)?;
    if item.span == span { Some(item) } else { find_item(item, span) }
}

/// Merges generated objects into the input, in input order. With `replace`, rendered ModelDeployments are dropped.
pub(crate) fn merge<O>(compilation: &Compilation<O>, mode: OutputMode) -> Vec<MergedObject<'_, O>> {
    let generated: BTreeSet<&Identity> = compilation.outputs.iter().map(|output| &*output.identity).collect();
    let mut outputs = GeneratedObjects::new(compilation);
    let mut output_objects = Vec::new();
    for input in compilation.inputs.iter().filter(|input| is_object(input)) {
        // The input may contain the objects of an earlier run, which are generated again, and a ModelDeployment that is
        // passed on is in both. The generated object replaces the input in both cases.
        let is_regenerated = generated.contains(&identity(input));
        let is_deployment =
            &*input.header.kind == kubefoundry_deployment::wire::KIND && ApiGroup::find(input.header.group()).is_some();
        let is_kept = if input.rendered { mode == OutputMode::Append } else { !is_deployment };
        if is_kept && !is_regenerated {
            output_objects.push(MergedObject::Input(input));
        }
        if input.rendered {
            output_objects.extend(outputs.take(input).map(MergedObject::Generated));
        }
    }
    output_objects.extend(outputs.into_rest().map(MergedObject::Generated));
    output_objects
}

/// The generated objects, grouped by ModelDeployment.
struct GeneratedObjects<'c, O> {
    decisions: BTreeMap<(SourceId, usize, &'c ObjectRef), usize>,
    by_decision: BTreeMap<usize, Vec<&'c O>>,
}

impl<'c, O> GeneratedObjects<'c, O> {
    fn new(compilation: &'c Compilation<O>) -> Self {
        let mut by_decision: BTreeMap<usize, Vec<&O>> = BTreeMap::new();
        for output in &compilation.outputs {
            by_decision.entry(output.decision).or_default().push(&output.object);
        }
        let decisions = compilation.decisions.iter().enumerate();
        let decisions = decisions.map(|(position, it)| ((it.source, it.document, &it.object), position)).collect();
        Self { decisions, by_decision }
    }

    /// Removes and returns the objects of a ModelDeployment.
    fn take(&mut self, input: &InputDocument) -> impl Iterator<Item = &'c O> + use<'c, O> {
        let object = input.header.object();
        let decision = self.decisions.get(&(input.source, input.index, &object));
        decision.and_then(|position| self.by_decision.remove(position)).unwrap_or_default().into_iter()
    }

    /// Returns the objects that were not taken, so that none is lost.
    fn into_rest(self) -> impl Iterator<Item = &'c O> {
        self.by_decision.into_values().flatten()
    }
}

/// Drops input objects that are annotated as local configuration.
pub(crate) fn drop_local_objects<'c, O>(
    output_objects: Vec<MergedObject<'c, O>>,
    inputs: &InputTexts<'_>,
) -> Result<Vec<MergedObject<'c, O>>, StreamError> {
    let mut remaining = Vec::with_capacity(output_objects.len());
    for output_object in output_objects {
        // Converting a document to JSON is expensive, so search its text for the annotation first.
        let is_local = match &output_object {
            MergedObject::Input(input) if inputs.text_contains(input, LOCAL_CONFIG) => {
                is_local_config(&inputs.value(input)?)
            }
            _ => false,
        };
        if !is_local {
            remaining.push(output_object);
        }
    }
    Ok(remaining)
}

/// Whether an object is annotated as local configuration.
fn is_local_config(object: &Value) -> bool {
    let value = object.pointer("/metadata/annotations").and_then(|annotations| annotations.get(LOCAL_CONFIG));
    value.and_then(Value::as_str).is_some_and(|value| value != "false")
}

fn is_object(input: &InputDocument) -> bool {
    let header = &input.header;
    !header.kind.is_empty() && !header.api_version.is_empty() && !TOOL_GROUPS.contains(&header.group())
}

fn identity(input: &InputDocument) -> Identity {
    let header = &input.header;
    Identity::new(&header.api_version, &header.kind, header.namespace.as_deref(), &header.name)
}
