//! The providers that selection chooses from: the built-in configurations, those in the input, those from options.

use std::sync::OnceLock;

use super::providers::PROVIDERS;
use super::rule_types;
use crate::cel::{self, Environment};
use crate::diagnostic::{Findings, Place, Scope, codes};
use crate::model::ir::ServingMode;
use crate::path::FieldPath;
use crate::source::SourceId;
use crate::wire::{self, EngineEntry, EngineType, InferenceProviderConfig, Read as _, Reader, Word as _};
use crate::yaml::{self, Node, Span};

/// A provider that can be chosen.
#[derive(Debug)]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// Whether it reports that it works; unknown counts as yes.
    pub ready: Option<bool>,
    /// What it can run.
    pub engines: Vec<EngineSupport>,
    /// When it is selected, in the order in which they were written.
    pub rules: Vec<Rule>,
    /// Whether it is one of ours, and not overridden.
    pub builtin: bool,
    /// Where it was written.
    pub origin: Option<ConfigPlace>,
}

/// Where a configuration stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfigPlace {
    /// Which text.
    pub source: SourceId,
    /// Which document of it.
    pub document: usize,
    /// The place of its name.
    pub span: Span,
}

/// What a provider can do with one engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineSupport {
    /// The engine's name.
    pub name: String,
    /// The serving modes it runs in.
    pub modes: Vec<ServingMode>,
    /// Whether it runs without GPUs.
    pub cpu: bool,
    /// Whether it runs on GPUs.
    pub gpu: bool,
}

/// A condition under which a provider is selected.
#[derive(Debug)]
pub struct Rule {
    /// The CEL expression.
    pub condition: String,
    /// The higher wins.
    pub priority: i32,
    /// Why, for people; `{engine}` stands for the engine.
    pub reason: Option<String>,
    /// Compiled at the first use.
    compiled: OnceLock<Option<cel::Rule>>,
}

impl Rule {
    /// The compiled condition; `None` when it does not compile, which [`Catalog::add`] has reported.
    pub fn compiled(&self, environment: &Environment) -> Option<&cel::Rule> {
        self.compiled.get_or_init(|| environment.compile(&self.condition).ok().map(|(rule, _)| rule)).as_ref()
    }
}

/// All candidates, by name.
#[derive(Debug)]
pub struct Catalog {
    candidates: Vec<Candidate>,
    environment: Environment,
}

impl Catalog {
    /// The built-in providers.
    pub fn builtin(limits: cel::Limits) -> Self {
        let mut catalog = Self { candidates: Vec::new(), environment: rule_types::environment(limits) };
        for provider in PROVIDERS {
            let parsed = yaml::parse(provider.config(), &yaml::Limits::default());
            let Some(document) = parsed.documents.first() else { continue };
            let scope = Scope {
                source: SourceId::default(),
                text: provider.config(),
                document: 0,
                root: &document.root,
                object: None,
            };
            let mut findings = Findings::new(scope);
            let mut reader = Reader::strict(&mut findings);
            if let Some(config) = InferenceProviderConfig::read(&document.root, &FieldPath::root(), &mut reader) {
                catalog.candidates.push(Candidate::of(config, true, None));
            }
        }
        catalog.candidates.sort_by(|a, b| a.name.cmp(&b.name));
        catalog
    }

    /// Reads a configuration and adds it; one of a built-in's name takes its place. Rules are compiled at once, so that
    /// every mistake in them is found whether or not they are used.
    pub fn add(&mut self, root: &Node<'_>, findings: &mut Findings<'_>) {
        let before = findings.errors();
        let mut reader = Reader::strict(findings);
        let Some(config) = InferenceProviderConfig::read(root, &FieldPath::root(), &mut reader) else { return };
        check_names(&config, findings);
        self.check_rules(&config, root, findings);
        let name = config.metadata.as_ref().and_then(|metadata| metadata.name.clone());
        let Some(name) = name.filter(|_| findings.errors() == before) else { return };
        let scope = findings.scope();
        let span = root.locate(&FieldPath::parse("metadata.name"), yaml::Target::Value);
        let place = ConfigPlace { source: scope.source, document: scope.document, span };
        if let Some(other) = self.candidates.iter().find(|other| other.name == name && !other.builtin) {
            // Cluster-scoped, and shared by both groups: one name, one configuration.
            let first = other.origin;
            let reported = findings.report(
                &codes::DUPLICATE_PROVIDER_CONFIG,
                "metadata.name",
                format!("provider {name:?} is configured twice, expected one InferenceProviderConfig of that name"),
            );
            if let Some(first) = first {
                reported.related_in(first.source, first.document, first.span, "first configured here");
            }
            return;
        }
        self.candidates.retain(|other| other.name != name);
        self.candidates.push(Candidate::of(config, false, Some(place)));
        self.candidates.sort_by(|a, b| a.name.cmp(&b.name));
    }

    fn check_rules(&self, config: &InferenceProviderConfig, root: &Node<'_>, findings: &mut Findings<'_>) {
        let rules = config.spec.as_ref().and_then(|spec| spec.selection_rules.as_ref());
        for (index, rule) in rules.into_iter().flatten().enumerate() {
            let path = FieldPath::parse("spec.selectionRules").index(index);
            let condition = path.key("condition");
            let Some(text) = &rule.condition else {
                findings.report(&codes::REQUIRED_FIELD, &condition, format!("{condition} is required"));
                continue;
            };
            if rule.priority.is_some_and(|priority| priority < 0) {
                let path = path.key("priority");
                findings.report(&codes::OUT_OF_RANGE, &path, format!("{path} is negative, expected at least 0"));
            }
            let Some(node) = root.at(&condition) else { continue };
            match self.environment.compile(text) {
                Ok((_, warnings)) => {
                    for warning in warnings {
                        let span = inside(findings.scope().text, node.span, text, &warning.offset);
                        findings.report_at(&codes::RULE_NOT_CHECKED, Place::value(&condition), span, warning.message);
                    }
                }
                Err(errors) => {
                    for error in errors {
                        let span = inside(findings.scope().text, node.span, text, &error.offset);
                        findings.report_at(&codes::INVALID_RULE, Place::value(&condition), span, error.message);
                    }
                }
            }
        }
    }

    /// Every candidate, by name.
    pub fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }

    /// The candidate of this name.
    pub fn get(&self, name: &str) -> Option<&Candidate> {
        self.candidates.iter().find(|candidate| candidate.name == name)
    }

    /// What rules are compiled and evaluated in.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }
}

impl Candidate {
    fn of(config: InferenceProviderConfig, builtin: bool, origin: Option<ConfigPlace>) -> Self {
        let spec = config.spec.unwrap_or_default();
        let capabilities = spec.capabilities.unwrap_or_default();
        let modes = capabilities.serving_modes.clone().unwrap_or_default();
        let cpu = capabilities.cpu_support.unwrap_or_default();
        let gpu = capabilities.gpu_support.unwrap_or_default();
        let engines = capabilities.engines.unwrap_or_default().into_iter().map(|entry| match entry {
            EngineEntry::Name(name) => EngineSupport { name, modes: modes.clone(), cpu, gpu },
            EngineEntry::Capability(engine) => EngineSupport {
                name: engine.name.unwrap_or_default(),
                modes: engine.serving_modes.unwrap_or_else(|| modes.clone()),
                cpu: engine.cpu_support.unwrap_or(cpu),
                gpu: engine.gpu_support.unwrap_or(gpu),
            },
        });
        let rule = |rule: wire::SelectionRule| Rule {
            condition: rule.condition.unwrap_or_default(),
            priority: rule.priority.unwrap_or_default(),
            reason: rule.reason,
            compiled: OnceLock::new(),
        };
        Self {
            name: config.metadata.and_then(|metadata| metadata.name).unwrap_or_default(),
            ready: config.status.and_then(|status| status.ready),
            engines: engines.collect(),
            rules: spec.selection_rules.unwrap_or_default().into_iter().map(rule).collect(),
            builtin,
            origin,
        }
    }
}

/// Checks the names in a configuration: the provider's own, and those of its engines.
fn check_names(config: &InferenceProviderConfig, findings: &mut Findings<'_>) {
    if config.metadata.as_ref().is_none_or(|metadata| metadata.name.is_none()) {
        findings.report(&codes::REQUIRED_FIELD, "metadata.name", "metadata.name is required");
    }
    let capabilities = config.spec.as_ref().and_then(|spec| spec.capabilities.as_ref());
    for (index, engine) in capabilities.and_then(|all| all.engines.as_ref()).into_iter().flatten().enumerate() {
        let path = FieldPath::parse("spec.capabilities.engines").index(index);
        let name = match engine {
            EngineEntry::Name(name) => Some(name),
            EngineEntry::Capability(capability) => capability.name.as_ref(),
        };
        match name {
            None => {
                findings.report(&codes::REQUIRED_FIELD, &path.key("name"), format!("{path}.name is required"));
            }
            Some(name) if !EngineType::WORDS.iter().any(|(word, _)| word == name) => {
                findings.report(
                    &codes::UNKNOWN_ENGINE_IN_CONFIG,
                    &path,
                    format!("engine {name:?} is unknown here; no ModelDeployment can ask for it"),
                );
            }
            Some(_) => {}
        }
    }
}

/// The place of a part of a rule in the source. Only a scalar that stands in the text as it is can be pointed into; of
/// one with escapes or folded lines the whole is shown.
fn inside(text: &str, scalar: Span, value: &str, part: &std::ops::Range<usize>) -> Span {
    let written = text.get(scalar.start..scalar.end).unwrap_or_default();
    let quotes = usize::from(written.starts_with(['"', '\'']));
    if written.get(quotes..).is_some_and(|written| written.starts_with(value)) {
        Span { start: scalar.start + quotes + part.start, end: scalar.start + quotes + part.end }
    } else {
        scalar
    }
}
