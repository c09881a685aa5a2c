//! The input together with what was generated from it.
//!
//! Input order. What a ModelDeployment became stands where it stood. Of the other objects every byte is kept. Not an
//! object, and so left out: what has no kind, what tools read (`Kustomization`, `Kptfile`, options of ours, whatever is
//! annotated as local configuration), and patches.

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

/// Groups of objects that tools read, and no cluster.
static TOOL_GROUPS: &[&str] = &["config.kubefoundry.ai", "kpt.dev", "kustomize.config.k8s.io"];

/// The annotation of an object that is for tools only (kustomize and kpt leave it out).
const LOCAL_CONFIG: &str = "config.kubernetes.io/local-config";

/// Why the input cannot be printed again.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StreamError {
    #[error("{file}: line {line} cannot be passed on: {message}")]
    NotPassedOn { file: String, line: usize, message: String },
}

/// One object of the output.
#[derive(Debug)]
pub(super) enum Piece<'c, O> {
    /// An object that was made.
    Object(&'c O),
    /// A document of the input.
    Input(&'c InputDocument),
}

/// The texts of the input, read again: their documents are printed as they stand, or turned into JSON.
#[derive(Debug)]
pub(super) struct Inputs<'s> {
    sources: &'s SourceSet,
    parsed: BTreeMap<SourceId, ParsedText<'s>>,
}

impl<'s> Inputs<'s> {
    /// Reads every text. One that is not YAML is fine where only its ModelDeployments matter, and is not where the
    /// output is to hold all of it.
    pub(super) fn read(sources: &'s SourceSet, limits: &yaml::Limits) -> Result<Self, StreamError> {
        let mut inputs = Self { sources, parsed: BTreeMap::new() };
        for (id, source) in sources.iter().filter(|(_, source)| source.purpose == Purpose::Input) {
            let parsed = yaml::parse(&source.text, limits);
            if let Some(failure) = &parsed.failure {
                return Err(inputs.refuse(id, failure));
            }
            inputs.parsed.insert(id, parsed);
        }
        Ok(inputs)
    }

    /// The text of a document; none for an item of a list, whose indentation and anchors are those of the list.
    pub(super) fn verbatim(&self, input: &InputDocument) -> Option<&'s str> {
        let document = self.document(input).filter(|document| document.span == input.span)?;
        self.sources.get(input.source).text.get(document.span.start..document.span.end)
    }

    /// Whether the text of a document has a word in it.
    fn speaks_of(&self, input: &InputDocument, word: &str) -> bool {
        let text = self.sources.get(input.source).text.get(input.span.start..input.span.end);
        text.is_some_and(|text| text.contains(word))
    }

    /// A document, or an item of a list, as JSON. What a strict reader refuses in it would be lost, and is an error.
    pub(super) fn value(&self, input: &InputDocument) -> Result<Value, StreamError> {
        let Some(document) = self.document(input) else { return Ok(Value::Null) };
        let inside = |span: Span| input.span.start <= span.start && span.end <= input.span.end;
        if let Some(problem) = document.problems.iter().find(|it| it.kind.is_limit() || inside(it.span)) {
            return Err(self.refuse(input.source, problem));
        }
        if document.span == input.span {
            return Ok(document.root.to_json());
        }
        Ok(find_item(&document.root, input.span).map(Node::to_json).unwrap_or_default())
    }

    fn document(&self, input: &InputDocument) -> Option<&Document<'s>> {
        let documents = &self.parsed.get(&input.source)?.documents;
        let position = documents.binary_search_by_key(&input.index, |document| document.index).ok()?;
        documents.get(position)
    }

    fn refuse(&self, id: SourceId, failure: &Failure) -> StreamError {
        let source = self.sources.get(id);
        let line = LineIndex::new(&source.text).position(failure.span.start).line;
        StreamError::NotPassedOn { file: source.name.clone(), line, message: failure.message.clone() }
    }
}

/// The item of a list, or of a list in it, that stands at `span`.
fn find_item<'n, 't>(list: &'n Node<'t>, span: Span) -> Option<&'n Node<'t>> {
    let items = list.get("items").map(Node::items).unwrap_or_default();
    let holds = |item: &&Node<'_>| item.span.start <= span.start && span.end <= item.span.end;
    let item = items.iter().find(holds)?;
    if item.span == span { Some(item) } else { find_item(item, span) }
}

/// Everything in order. With `replace` what was rendered is left out.
pub(super) fn merge<O>(compilation: &Compilation<O>, mode: OutputMode) -> Vec<Piece<'_, O>> {
    let made: BTreeSet<&Identity> = compilation.outputs.iter().map(|output| &output.identity).collect();
    let mut outputs = Outputs::new(compilation);
    let mut pieces = Vec::new();
    for input in compilation.inputs.iter().filter(|input| is_object(input)) {
        // An object that was generated earlier and is generated again, or a ModelDeployment that is passed on.
        let remade = made.contains(&identity(input));
        let deployment =
            &*input.header.kind == kubefoundry_model::wire::KIND && ApiGroup::find(input.header.group()).is_some();
        let kept = if input.rendered { mode == OutputMode::Append } else { !deployment };
        if kept && !remade {
            pieces.push(Piece::Input(input));
        }
        if input.rendered {
            pieces.extend(outputs.take(input).map(Piece::Object));
        }
    }
    pieces.extend(outputs.rest().map(Piece::Object));
    pieces
}

/// What was generated, by the ModelDeployment that it comes from.
struct Outputs<'c, O> {
    decisions: BTreeMap<(SourceId, usize, &'c ObjectRef), usize>,
    by_decision: BTreeMap<usize, Vec<&'c O>>,
}

impl<'c, O> Outputs<'c, O> {
    fn new(compilation: &'c Compilation<O>) -> Self {
        let mut by_decision: BTreeMap<usize, Vec<&O>> = BTreeMap::new();
        for output in &compilation.outputs {
            by_decision.entry(output.decision).or_default().push(&output.object);
        }
        let decisions = compilation.decisions.iter().enumerate();
        let decisions = decisions.map(|(position, it)| ((it.source, it.document, &it.object), position)).collect();
        Self { decisions, by_decision }
    }

    /// What a ModelDeployment became.
    fn take(&mut self, input: &InputDocument) -> impl Iterator<Item = &'c O> + use<'c, O> {
        let object = input.header.object();
        let decision = self.decisions.get(&(input.source, input.index, &object));
        decision.and_then(|position| self.by_decision.remove(position)).unwrap_or_default().into_iter()
    }

    /// Whatever was not taken: nothing that was made is lost.
    fn rest(self) -> impl Iterator<Item = &'c O> {
        self.by_decision.into_values().flatten()
    }
}

/// The pieces without the objects of the input that say that they are for tools only.
pub(super) fn for_clusters<'c, O>(
    pieces: Vec<Piece<'c, O>>,
    inputs: &Inputs<'_>,
) -> Result<Vec<Piece<'c, O>>, StreamError> {
    let mut kept = Vec::with_capacity(pieces.len());
    for piece in pieces {
        // Reading a document as JSON is work; most texts never speak of it.
        let local = match &piece {
            Piece::Input(input) if inputs.speaks_of(input, LOCAL_CONFIG) => is_local(&inputs.value(input)?),
            _ => false,
        };
        if !local {
            kept.push(piece);
        }
    }
    Ok(kept)
}

/// Whether an object says that no cluster shall see it.
fn is_local(object: &Value) -> bool {
    let said = object.pointer("/metadata/annotations").and_then(|annotations| annotations.get(LOCAL_CONFIG));
    said.and_then(Value::as_str).is_some_and(|said| said != "false")
}

fn is_object(input: &InputDocument) -> bool {
    let header = &input.header;
    !header.kind.is_empty() && !header.api_version.is_empty() && !TOOL_GROUPS.contains(&header.group())
}

fn identity(input: &InputDocument) -> Identity {
    let header = &input.header;
    Identity::new(&header.api_version, &header.kind, header.namespace.as_deref(), &header.name)
}
