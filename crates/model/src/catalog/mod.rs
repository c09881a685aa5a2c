//! The providers that selection chooses from: the built-in configurations, and those in the input and in the options.

mod candidate;
mod check;

use std::any::Any;
use std::collections::BTreeSet;
use std::sync::Arc;

pub use candidate::{Candidate, CandidateRule, ConfigLocation, EngineSupport};

use super::rule_environment;
use kubefoundry_cel as cel;
use kubefoundry_cel::Environment;
use kubefoundry_deployment::codes;
use kubefoundry_deployment::wire::InferenceProviderConfig;
use kubefoundry_diagnostics::source::SourceId;
use kubefoundry_diagnostics::{DocumentScope, Findings};
use kubefoundry_kubernetes::wire::{Read as _, Reader, typed_path};
use kubefoundry_provider::{Provider, find_provider};
use kubefoundry_transform::Configuration;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::field_path::FieldPath;

/// Every deployment is assessed against every configuration, and its decision records each assessment.
const MAX_CONFIGURATIONS: usize = 256;

/// All candidates, ordered by name.
#[derive(Debug)]
pub struct Catalog {
    /// The providers that this program renders.
    providers: &'static [&'static dyn Provider],
    candidates: Vec<Arc<Candidate>>,
    /// The built-in configurations: what this program can render, whatever a configuration in the input claims.
    builtin: Vec<Arc<Candidate>>,
    /// Names of configurations that could not be read, so that their capabilities and rules are unknown.
    failed: BTreeSet<String>,
    /// The number of configurations in the input.
    given: usize,
    /// The number of selection rules in those configurations.
    rule_count: usize,
    /// Compiles the rules of the input. The options limit their cost.
    environment: Environment,
    /// Compiles the built-in rules. Their limits are fixed, so that no option can disable them.
    builtin_environment: Environment,
}

impl Configuration for Catalog {
    /// Reads the configuration of a provider and adds it. It replaces a built-in configuration of the same name.
    /// Selection rules are compiled here, so that mistakes are found in unused rules too.
    fn read(&mut self, at: &FieldPath, findings: &mut Findings<'_>) {
        self.add(at, findings);
    }

    /// Built-in rules do not spend steps.
    fn spends_steps(&self) -> bool {
        self.rule_count > 0
    }
}

impl Catalog {
    /// Creates a catalog of the built-in providers. `limits` apply to the selection rules of configurations added
    /// later.
    pub fn with_builtin(providers: &'static [&'static dyn Provider], limits: cel::Limits) -> Self {
        let builtin = providers.iter().map(|provider| parse_builtin(provider.name(), provider.info().config));
        let mut candidates: Vec<Arc<Candidate>> = builtin.map(Arc::new).collect();
        candidates.sort_by(|a, b| a.name.cmp(&b.name));
        Self {
            providers,
            builtin: candidates.clone(),
            candidates,
            failed: BTreeSet::new(),
            given: 0,
            rule_count: 0,
            environment: rule_environment::environment(limits),
            builtin_environment: rule_environment::environment(cel::Limits::default()),
        }
    }

    /// Creates a catalog without candidates: only configurations added later can be chosen. [`Self::builtin_candidate`]
    /// still knows the built-in providers.
    pub fn without_builtin(providers: &'static [&'static dyn Provider], limits: cel::Limits) -> Self {
        Self { candidates: Vec::new(), ..Self::with_builtin(providers, limits) }
    }

    /// Returns the catalog of a run, or `None` if its configuration belongs to another transformation.
    pub fn downcast(configuration: &dyn Configuration) -> Option<&Self> {
        (configuration as &dyn Any).downcast_ref()
    }

    fn add(&mut self, at: &FieldPath, findings: &mut Findings<'_>) {
        let errors_before = findings.error_count();
        if self.given == MAX_CONFIGURATIONS {
            let message = format!("the input has more than {MAX_CONFIGURATIONS} provider configurations");
            findings.report(
                &codes::LIMIT_EXCEEDED,
                typed_path::<InferenceProviderConfig>(at).metadata().name(),
                message,
            );
            return;
        }
        self.given += 1;
        let root = findings.scope().root;
        let Some(node) = root.at(at) else { return };
        let Some(config) = InferenceProviderConfig::read(node, at, &mut Reader::strict(findings)) else { return };
        check::check_names(&config, at, findings);
        let spans = check::check_rules(&config, at, root, &self.environment, &mut self.rule_count, findings);
        let Some(name) = config.metadata.as_ref().and_then(|metadata| metadata.name.clone()) else { return };
        if findings.error_count() > errors_before {
            self.failed.insert(name);
            return;
        }
        let path = typed_path::<InferenceProviderConfig>(at).metadata().name();
        let scope = findings.scope();
        let span = root.locate(&path, yaml::FieldPart::Value);
        let location = ConfigLocation { source: scope.source, document: scope.document, span };
        if let Some(other) = self.candidates.iter().find(|other| other.name == name && !other.builtin) {
            // The kind is cluster-scoped and its API groups share the names, so two objects would be one provider.
            let first = other.origin;
            let message = format!("provider {name:?} is configured twice");
            let reported = findings.report(&codes::DUPLICATE_PROVIDER_CONFIG, &path, message);
            if let Some(first) = first {
                reported.related_in(first.source, first.document, first.span, "first configured here");
            }
            return;
        }
        self.candidates.retain(|other| other.name != name);
        self.candidates.push(Arc::new(Candidate::from_config(config, false, Some(location), &spans)));
        self.candidates.sort_by(|a, b| a.name.cmp(&b.name));
    }

    /// Finds a provider that this program renders, by its name.
    pub fn find_provider(&self, name: &str) -> Option<&'static dyn Provider> {
        find_provider(self.providers, name)
    }

    /// Returns every provider that this program renders.
    pub fn providers(&self) -> &'static [&'static dyn Provider] {
        self.providers
    }

    /// Returns all candidates, ordered by name. Selection relies on the order to break ties.
    pub fn candidates(&self) -> &[Arc<Candidate>] {
        &self.candidates
    }

    /// Returns the names of all configured providers, including those whose configuration could not be read.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.candidates.iter().map(|candidate| candidate.name.as_str()).chain(self.failed.iter().map(String::as_str))
    }

    /// Finds a candidate by its provider's name.
    pub fn get(&self, name: &str) -> Option<&Candidate> {
        self.candidates.iter().find(|candidate| candidate.name == name).map(Arc::as_ref)
    }

    /// Returns the built-in configuration of a provider, whatever the input claims, or `None` for a third-party
    /// provider.
    pub fn builtin_candidate(&self, name: &str) -> Option<&Candidate> {
        self.builtin.iter().find(|candidate| candidate.name == name).map(Arc::as_ref)
    }

    /// Returns whether the input has a configuration of this name that could not be read.
    pub fn has_failed(&self, name: &str) -> bool {
        self.failed.contains(name)
    }

    /// Returns whether any configuration could not be read. A choice among the others may then be wrong.
    pub fn is_incomplete(&self) -> bool {
        !self.failed.is_empty()
    }

    /// Returns the environment in which a candidate's rules are compiled and evaluated.
    pub fn environment(&self, candidate: &Candidate) -> &Environment {
        if candidate.builtin { &self.builtin_environment } else { &self.environment }
    }
}

/// Parses a built-in configuration. A test checks that each one can be read.
#[expect(clippy::panic, reason = "the text is a part of the program, and every catalog in the tests loads it")]
fn parse_builtin(provider: &str, text: &str) -> Candidate {
    let parsed = yaml::parse(text, &yaml::Limits::default());
    let config = parsed.documents.first().and_then(|document| {
        let root = &document.root;
        let scope = DocumentScope { source: SourceId::default(), text, document: 0, root, object: None };
        let mut findings = Findings::new(scope);
        let config = InferenceProviderConfig::read(root, &FieldPath::root(), &mut Reader::strict(&mut findings));
        config.filter(|_| !findings.has_errors())
    });
    // Without it, the provider would never be selected, and nothing would say why.
    let config = config.unwrap_or_else(|| panic!("the built-in config.yaml of {provider} is damaged"));
    Candidate::from_config(config, true, None, &[])
}
