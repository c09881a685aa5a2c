//! The pipeline: texts in, objects and findings out.
//!
//! ```text
//! sources ─ options ─ index ─ map (each deployment on its own) ─ link (what needs the whole set) ─ Compilation
//! ```

mod document;
mod index;
mod kustomize;
mod link;
mod map;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

pub use document::Header;
pub use index::InputDocument;

use crate::diagnostic::render::LineIndex;
use crate::diagnostic::{Diagnostic, Findings, ObjectRef, Scope, Severity, codes};
use crate::manifest::Identity;
use crate::model::catalog::Catalog;
use crate::model::provider::Endpoint;
use crate::model::select::Selection;
use crate::options::Options;
use crate::path::FieldPath;
use crate::source::{Purpose, SourceId, SourceSet};
use crate::yaml;

/// What a run came to. Nothing in it may be used as output when [`Compilation::has_errors`].
#[derive(Debug)]
pub struct Compilation {
    /// Generated objects, in the order of their ModelDeployments in the input; within one, supporting objects first.
    pub outputs: Vec<Output>,
    /// Every document of the input, in order.
    pub inputs: Vec<InputDocument>,
    /// Everything found, ordered by file, line, code.
    pub diagnostics: Vec<Diagnostic>,
    /// One for each ModelDeployment, in input order.
    pub decisions: Vec<Decision>,
    /// The options that applied.
    pub options: Options,
}

impl Compilation {
    /// Whether an error was found: then there is no output.
    pub fn has_errors(&self) -> bool {
        self.count(Severity::Error) > 0
    }

    /// How many findings have this severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).count()
    }
}

/// An object to apply.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// What tells it from others.
    pub identity: Identity,
    /// The object, in emission order.
    pub object: Value,
    /// Index of its ModelDeployment in [`Compilation::decisions`].
    pub decision: usize,
    /// Whether it is the ModelDeployment itself, passed on for a provider that this program does not render.
    pub passed_on: bool,
}

/// What was decided for one ModelDeployment, and what it became.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// The ModelDeployment.
    pub object: ObjectRef,
    /// Where it stands.
    #[serde(skip)]
    pub source: SourceId,
    /// Which document of it.
    #[serde(skip)]
    pub document: usize,
    /// Which provider, and why.
    pub selection: Selection,
    /// The CRD version that is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The runtime version that flags and images are for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    /// Where the model answers once it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
    /// The objects it became.
    pub objects: Vec<ObjectRef>,
    /// Every value of the validated deployment, with its field and where it came from; with
    /// [`Thoroughness::Everything`] only.
    pub fields: Vec<Field>,
}

/// One value of a validated deployment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Field {
    /// The field.
    pub path: String,
    /// Its value as JSON text.
    pub value: String,
    /// Written, defaulted or derived.
    pub origin: crate::model::ir::Origin,
}

/// How thorough a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Thoroughness {
    /// Rules are evaluated where they decide something.
    #[default]
    Needed,
    /// Every rule is evaluated for every deployment, so that every mistake in one is found (`lint`, `explain`).
    Everything,
}

/// Runs the whole pipeline. Total: every mistake of the input is a diagnostic, and nothing panics.
///
/// ```
/// use kubefoundry::{compile, Thoroughness, SourceSet};
/// let mut sources = SourceSet::default();
/// sources.add("phi.yaml", "
/// apiVersion: kubefoundry.ai/v1alpha1
/// kind: ModelDeployment
/// metadata: {name: phi}
/// spec:
///   model: {id: microsoft/Phi-4-mini-instruct}
///   engine: {type: vllm}
///   resources: {gpu: {count: 1}}
/// ");
/// let compilation = compile(&sources, Thoroughness::Needed);
/// assert!(!compilation.has_errors());
/// assert_eq!(compilation.outputs[0].identity.kind, "DynamoGraphDeployment");
/// assert_eq!(compilation.decisions[0].selection.reason.as_deref(), Some("default → dynamo (GPU inference default)"));
/// ```
pub fn compile(sources: &SourceSet, thoroughness: Thoroughness) -> Compilation {
    let mut diagnostics = Vec::new();
    let mut options = Options::default();
    read_options(sources, &mut options, &mut diagnostics);
    if diagnostics.iter().any(|found| found.severity == Severity::Error) {
        // With options that do not say what they should, whatever is found in the input may be wrong.
        sort(&mut diagnostics, sources);
        return Compilation { outputs: Vec::new(), inputs: Vec::new(), diagnostics, decisions: Vec::new(), options };
    }
    let mut index = index::index(sources, &options);
    diagnostics.append(&mut index.diagnostics);
    let mut catalog = Catalog::builtin(options.rule_limits);
    read_providers(sources, &options, &index, &mut catalog, &mut diagnostics);
    let mapped = map::map(&index, &catalog, &options, thoroughness, &mut diagnostics);
    let (outputs, decisions) = link::link(mapped, &index, &mut diagnostics);
    let failed = diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
    if index.deployments.is_empty() && !options.allow_empty && !failed {
        let message = "the input has no ModelDeployment to render";
        let diagnostic = Diagnostic::new(&codes::NO_MODEL_DEPLOYMENT, message)
            .help("give a file or directory with one, or say allowEmpty: true in the Render options");
        diagnostics.push(diagnostic);
    }
    let mut diagnostics: Vec<Diagnostic> =
        diagnostics.into_iter().filter_map(|diagnostic| options.adjust(diagnostic)).collect();
    sort(&mut diagnostics, sources);
    diagnostics.dedup();
    say_once(&mut diagnostics);
    Compilation { outputs, inputs: index.inputs, diagnostics, decisions, options }
}

/// Keeps the first of the findings that are about the run rather than about one deployment: that a provider's runtime is
/// not pinned is worth one line, not one for each model of a fleet. The pin that is missing tells them apart.
fn say_once(diagnostics: &mut Vec<Diagnostic>) {
    let mut said = BTreeSet::new();
    diagnostics.retain(|found| found.code != &codes::UNPINNED_RUNTIME || said.insert(found.help.clone()));
}

/// Orders findings by file, line, code, then column and text. Those without a place come first.
fn sort(diagnostics: &mut [Diagnostic], sources: &SourceSet) {
    let mut lines: BTreeMap<SourceId, LineIndex<'_>> = BTreeMap::new();
    for location in diagnostics.iter().filter_map(|diagnostic| diagnostic.location.as_ref()) {
        lines.entry(location.source).or_insert_with(|| LineIndex::new(&sources.get(location.source).text));
    }
    diagnostics.sort_by_cached_key(|diagnostic| {
        let place = diagnostic.location.as_ref().map(|location| {
            let line = lines.get(&location.source).map_or(0, |lines| lines.position(location.span.start).line);
            (location.source, line)
        });
        let span = diagnostic.location.as_ref().map(|location| location.span);
        (place, diagnostic.code.id, span, diagnostic.message.clone())
    });
}

fn read_options(sources: &SourceSet, options: &mut Options, diagnostics: &mut Vec<Diagnostic>) {
    for (id, source) in sources.iter().filter(|(_, source)| source.purpose == Purpose::Options) {
        let parsed = yaml::parse(&source.text, &yaml::Limits::default());
        let empty = yaml::Node { value: yaml::Value::Null, span: yaml::Span::default() };
        if parsed.documents.is_empty() || parsed.failure.is_some() {
            let scope = Scope { source: id, text: &source.text, document: 0, root: &empty, object: None };
            let mut findings = Findings::new(scope);
            for failure in parsed.failure.iter().chain(&parsed.later_failures) {
                document::report_failure(failure, &mut findings);
            }
            diagnostics.extend(findings.into_diagnostics());
        }
        for document in &parsed.documents {
            let scope =
                Scope { source: id, text: &source.text, document: document.index, root: &document.root, object: None };
            let mut findings = Findings::new(scope);
            for problem in &document.problems {
                document::report_failure(problem, &mut findings);
            }
            options.apply(&document.root, &mut findings);
            diagnostics.extend(findings.into_diagnostics());
        }
    }
}

/// Adds the configurations of the input, then those in options, to the catalog.
fn read_providers(
    sources: &SourceSet,
    options: &Options,
    index: &index::Index<'_>,
    catalog: &mut Catalog,
    diagnostics: &mut Vec<Diagnostic>,
) {
    for document in &index.configs {
        let mut findings = Findings::new(document.scope());
        document.report_problems(&mut findings);
        catalog.add(&FieldPath::root(), &mut findings);
        diagnostics.extend(findings.into_diagnostics());
    }
    for (id, source) in sources.iter().filter(|(_, source)| source.purpose == Purpose::Options) {
        let parsed = yaml::parse(&source.text, &options.limits);
        for document in &parsed.documents {
            let providers = document.root.get("providers").map(yaml::Node::items).unwrap_or_default();
            for (position, provider) in providers.iter().enumerate() {
                let (text, root) = (source.text.as_str(), &document.root);
                let object = Some(Header::of(provider).object());
                let scope = Scope { source: id, text, document: document.index, root, object };
                let mut findings = Findings::new(scope);
                let at = FieldPath::parse("providers").index(position);
                if is_provider_config(provider, &at, &mut findings) {
                    catalog.add(&at, &mut findings);
                }
                diagnostics.extend(findings.into_diagnostics());
            }
        }
    }
}

/// Whether an inline configuration says that it is one.
fn is_provider_config(node: &yaml::Node<'_>, at: &FieldPath, findings: &mut Findings<'_>) -> bool {
    let header = Header::of(node);
    let ours = header.dialect().is_some_and(|dialect| dialect.api_version() == header.api_version);
    let fine = ours && header.kind == "InferenceProviderConfig";
    if !fine {
        let (version, kind) = (&header.api_version, &header.kind);
        let message = format!(
            "{at} is a {kind:?} of {version:?}, expected an InferenceProviderConfig of kubefoundry.ai/v1alpha1"
        );
        findings.report(&codes::INVALID_OPTION, at, message);
    }
    fine
}
