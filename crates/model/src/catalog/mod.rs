//! The providers that selection chooses from: the built-in configurations, those in the input, those from options.

mod candidate;
mod check;

use std::any::Any;
use std::collections::BTreeSet;
use std::sync::Arc;

pub use candidate::{Candidate, ConfigLocation, EngineSupport, Rule};

use super::providers::PROVIDERS;
use super::rule_environment;
use crate::codes;
use crate::wire::InferenceProviderConfig;
use kubefoundry_cel as cel;
use kubefoundry_cel::Environment;
use kubefoundry_diagnostics::source::SourceId;
use kubefoundry_diagnostics::{DocumentScope, Findings};
use kubefoundry_kubernetes::wire::{Read as _, Reader, located_at};
use kubefoundry_transform::Configuration;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::field_path::FieldPath;

/// Every deployment is held against every configuration, and keeps what was said of it.
const MOST_CONFIGURATIONS: usize = 256;

/// All candidates, by name.
#[derive(Debug)]
pub struct Catalog {
    candidates: Vec<Arc<Candidate>>,
    /// What the providers of this program can really render, whatever a configuration of their name claims.
    builtin: Vec<Arc<Candidate>>,
    /// Names of configurations that could not be read: what they would have said is not known.
    failed: BTreeSet<String>,
    /// How many configurations were given.
    given: usize,
    /// How many rules they have, all together.
    rules: usize,
    /// Where given rules are compiled; their cost is limited by options.
    environment: Environment,
    /// Where built-in rules are compiled; no option may switch them off by a limit.
    builtin_environment: Environment,
}

impl Configuration for Catalog {
    /// Reads the configuration of a provider and adds it; one of a built-in's name takes its place. Rules are compiled at
    /// once, so that every mistake in them is found whether or not they are used.
    fn read(&mut self, at: &FieldPath, findings: &mut Findings<'_>) {
        self.add(at, findings);
    }
}

impl Catalog {
    /// The built-in providers. `limits` are on the rules of configurations that are added.
    pub fn with_builtin(limits: cel::Limits) -> Self {
        let builtin = PROVIDERS.iter().filter_map(|provider| builtin(provider.info().config));
        let mut candidates: Vec<Arc<Candidate>> = builtin.map(Arc::new).collect();
        candidates.sort_by(|a, b| a.name.cmp(&b.name));
        Self {
            builtin: candidates.clone(),
            candidates,
            failed: BTreeSet::new(),
            given: 0,
            rules: 0,
            environment: rule_environment::environment(limits),
            builtin_environment: rule_environment::environment(cel::Limits::default()),
        }
    }

    /// The same without the built-in providers: only what is added can be chosen. What the providers of this program can
    /// render is known all the same.
    pub fn without_builtin(limits: cel::Limits) -> Self {
        Self { candidates: Vec::new(), ..Self::with_builtin(limits) }
    }

    /// The catalog that a run was given.
    pub fn downcast(configuration: &dyn Configuration) -> Option<&Self> {
        (configuration as &dyn Any).downcast_ref()
    }

    fn add(&mut self, at: &FieldPath, findings: &mut Findings<'_>) {
        let before = findings.error_count();
        if self.given == MOST_CONFIGURATIONS {
            let message = format!("the input has more than {MOST_CONFIGURATIONS} provider configurations");
            findings.report(
                &codes::LIMIT_EXCEEDED,
                located_at::<InferenceProviderConfig>(at).metadata().name(),
                message,
            );
            return;
        }
        self.given += 1;
        let root = findings.scope().root;
        let Some(node) = root.at(at) else { return };
        let Some(config) = InferenceProviderConfig::read(node, at, &mut Reader::strict(findings)) else { return };
        check::names(&config, at, findings);
        let spans = check::rules(&config, at, root, &self.environment, &mut self.rules, findings);
        let Some(name) = config.metadata.as_ref().and_then(|metadata| metadata.name.clone()) else { return };
        if findings.error_count() > before {
            self.failed.insert(name);
            return;
        }
        let path = located_at::<InferenceProviderConfig>(at).metadata().name();
        let scope = findings.scope();
        let span = root.locate(&path, yaml::FieldPart::Value);
        let place = ConfigLocation { source: scope.source, document: scope.document, span };
        if let Some(other) = self.candidates.iter().find(|other| other.name == name && !other.builtin) {
            // Cluster-scoped, and shared by both groups: one name, one configuration.
            let first = other.origin;
            let message = format!("provider {name:?} is configured twice");
            let reported = findings.report(&codes::DUPLICATE_PROVIDER_CONFIG, &path, message);
            if let Some(first) = first {
                reported.related_in(first.source, first.document, first.span, "first configured here");
            }
            return;
        }
        self.candidates.retain(|other| other.name != name);
        self.candidates.push(Arc::new(Candidate::of(config, false, Some(place), &spans)));
        self.candidates.sort_by(|a, b| a.name.cmp(&b.name));
    }

    /// Every candidate, by name.
    pub fn candidates(&self) -> &[Arc<Candidate>] {
        &self.candidates
    }

    /// The name of every provider that is configured, also of those whose configuration could not be read.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.candidates.iter().map(|candidate| candidate.name.as_str()).chain(self.failed.iter().map(String::as_str))
    }

    /// The candidate of this name.
    pub fn get(&self, name: &str) -> Option<&Candidate> {
        self.candidates.iter().find(|candidate| candidate.name == name).map(Arc::as_ref)
    }

    /// What a provider of this program can render; none for providers of others.
    pub fn builtin_candidate(&self, name: &str) -> Option<&Candidate> {
        self.builtin.iter().find(|candidate| candidate.name == name).map(Arc::as_ref)
    }

    /// Whether a configuration of this name was given and could not be read.
    pub fn has_failed(&self, name: &str) -> bool {
        self.failed.contains(name)
    }

    /// Whether any configuration could not be read: then a choice among the rest may be another one than meant.
    pub fn is_incomplete(&self) -> bool {
        !self.failed.is_empty()
    }

    /// What a candidate's rules are compiled and evaluated in.
    pub fn environment(&self, candidate: &Candidate) -> &Environment {
        if candidate.builtin { &self.builtin_environment } else { &self.environment }
    }
}

/// A built-in configuration; a test holds that each can be read.
fn builtin(text: &str) -> Option<Candidate> {
    let parsed = yaml::parse(text, &yaml::Limits::default());
    let root = &parsed.documents.first()?.root;
    let scope = DocumentScope { source: SourceId::default(), text, document: 0, root, object: None };
    let mut findings = Findings::new(scope);
    let config = InferenceProviderConfig::read(root, &FieldPath::root(), &mut Reader::strict(&mut findings))?;
    Some(Candidate::of(config, true, None, &[]))
}
