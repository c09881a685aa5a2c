//! Candidates: the providers that selection can choose, with their capabilities and selection rules.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::rule_environment::SelectionFacts;
use kubefoundry_cel as cel;
use kubefoundry_cel::Environment;
use kubefoundry_deployment::ir::{Deployment, ServingMode};
use kubefoundry_deployment::wire;
use kubefoundry_deployment::wire::{EngineEntry, InferenceProviderConfig};
use kubefoundry_diagnostics::source::SourceId;
use kubefoundry_yaml::Span;

/// A provider that selection can choose.
#[derive(Debug)]
pub struct Candidate {
    /// The provider's name, as in `spec.provider.name`.
    pub name: String,
    /// The provider's own `status.ready`. `None` counts as ready.
    pub ready: Option<bool>,
    /// The engines that the provider claims to run.
    pub engines: Vec<EngineSupport>,
    /// The selection rules in input order. Messages number them by it.
    pub rules: Vec<CandidateRule>,
    /// Whether this is a built-in configuration that no input replaces.
    pub builtin: bool,
    /// `None` for a built-in configuration.
    pub origin: Option<ConfigLocation>,
}

/// The location of a provider configuration in the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfigLocation {
    /// The source that contains the configuration.
    pub source: SourceId,
    /// The index of the document in its source.
    pub document: usize,
    /// The span of `metadata.name`.
    pub span: Span,
}

/// The capabilities of a provider for one engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineSupport {
    /// The engine as configurations write it, known here or not.
    pub name: String,
    /// The serving modes that the provider supports with this engine.
    pub modes: Vec<ServingMode>,
    /// Whether the provider runs the engine without GPUs.
    pub cpu: bool,
    /// Whether the provider runs the engine on GPUs.
    pub gpu: bool,
}

/// A selection rule of a candidate.
#[derive(Debug)]
pub struct CandidateRule {
    /// A CEL expression.
    pub condition: Arc<str>,
    /// The true rule with the highest priority selects its provider.
    pub priority: i32,
    /// The reason that users read. `{engine}` is replaced by the engine's name.
    pub reason: Option<String>,
    /// The span of the expression in the configuration's text.
    pub span: Option<Span>,
    /// Filled at the first use: most runs never evaluate most rules.
    compiled: OnceLock<Result<cel::Rule, String>>,
    /// The value of the rule for each combination of the facts that it reads. Only for rules that read nothing else.
    values: Mutex<BTreeMap<SelectionFacts, bool>>,
}

/// Maximum number of values that are kept for a rule.
const MAX_KEPT_VALUES: usize = 256;

impl CandidateRule {
    /// Returns the compiled condition, or the message of the first compile error.
    pub fn compiled(&self, environment: &Environment) -> Result<&cel::Rule, &str> {
        let compile = || match environment.compile(&self.condition) {
            Ok((rule, _)) => Ok(rule),
            Err(errors) => Err(errors.into_iter().next().map(|error| error.message).unwrap_or_default()),
        };
        self.compiled.get_or_init(compile).as_ref().map_err(String::as_str)
    }

    /// Returns the value that was kept for these facts.
    pub(crate) fn kept_value(&self, facts: &SelectionFacts) -> Option<bool> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner).get(facts).copied()
    }

    /// Keeps the value of the rule for these facts.
    pub(crate) fn keep_value(&self, facts: SelectionFacts, value: bool) {
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        if values.len() < MAX_KEPT_VALUES {
            values.insert(facts, value);
        }
    }
}

impl Candidate {
    /// Creates a candidate from a configuration. `rule_spans` holds the span of each rule's condition.
    pub(super) fn from_config(
        config: InferenceProviderConfig,
        builtin: bool,
        origin: Option<ConfigLocation>,
        rule_spans: &[Option<Span>],
    ) -> Self {
        let spec = config.spec.unwrap_or_default();
        let capabilities = spec.capabilities.unwrap_or_default();
        let modes = capabilities.serving_modes.clone().unwrap_or_default();
        let cpu = capabilities.cpu_support.unwrap_or_default();
        let gpu = capabilities.gpu_support.unwrap_or_default();
        // An entry of its own capabilities overrides the flat ones of the provider.
        let engines = capabilities.engines.unwrap_or_default().into_iter().map(|entry| match entry {
            EngineEntry::Name(name) => EngineSupport { name, modes: modes.clone(), cpu, gpu },
            EngineEntry::Capability(engine) => EngineSupport {
                name: engine.name.unwrap_or_default(),
                modes: engine.serving_modes.unwrap_or_else(|| modes.clone()),
                cpu: engine.cpu_support.unwrap_or(cpu),
                gpu: engine.gpu_support.unwrap_or(gpu),
            },
        });
        let rule = |(index, rule): (usize, wire::SelectionRule)| CandidateRule {
            condition: rule.condition.unwrap_or_default().into(),
            priority: rule.priority.unwrap_or_default(),
            reason: rule.reason,
            span: rule_spans.get(index).copied().flatten(),
            compiled: OnceLock::new(),
            values: Mutex::default(),
        };
        Self {
            name: config.metadata.and_then(|metadata| metadata.name).unwrap_or_default(),
            ready: config.status.and_then(|status| status.ready),
            engines: engines.collect(),
            rules: spec.selection_rules.unwrap_or_default().into_iter().enumerate().map(rule).collect(),
            builtin,
            origin,
        }
    }

    /// Returns why the capabilities exclude a deployment, or `None` if they admit it.
    pub fn closed_gate(&self, deployment: &Deployment) -> Option<String> {
        let uses_gpu = deployment.workload.uses_gpu();
        self.closed_gate_for(deployment.engine.kind.as_str(), deployment.workload.mode(), uses_gpu)
    }

    /// Returns why the capabilities exclude an engine in a serving mode, with or without GPUs, or `None` if they admit
    /// it.
    pub fn closed_gate_for(&self, engine: &str, mode: ServingMode, uses_gpu: bool) -> Option<String> {
        let Some(support) = self.engines.iter().find(|support| support.name == engine) else {
            return Some(format!("does not support {engine} engine"));
        };
        if !support.modes.contains(&mode) {
            return Some(format!("does not support {mode} mode"));
        }
        if uses_gpu {
            (!support.gpu).then(|| "does not support GPUs".to_owned())
        } else {
            (!support.cpu).then(|| "requires GPU".to_owned())
        }
    }
}
