//! A provider that can be chosen: what it can run, and when it is selected.

use std::sync::{Arc, OnceLock};

use crate::ir::{Deployment, ServingMode};
use crate::wire;
use crate::wire::{EngineEntry, InferenceProviderConfig};
use kubefoundry_cel as cel;
use kubefoundry_cel::Environment;
use kubefoundry_diagnostics::source::SourceId;
use kubefoundry_yaml::Span;

/// A provider that can be chosen.
#[derive(Debug)]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// Whether it reports that it works; unknown counts as yes.
    pub ready: Option<bool>,
    /// What it can run, by its own account.
    pub engines: Vec<EngineSupport>,
    /// When it is selected, in the order in which they were written.
    pub rules: Vec<Rule>,
    /// Whether it is one of ours, and not overridden.
    pub builtin: bool,
    /// Where it was written.
    pub origin: Option<ConfigLocation>,
}

/// Where a configuration stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfigLocation {
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
    pub condition: Arc<str>,
    /// The higher wins.
    pub priority: i32,
    /// Why, for people; `{engine}` stands for the engine.
    pub reason: Option<String>,
    /// Where the expression stands in its configuration's text.
    pub span: Option<Span>,
    /// Compiled at the first use: most runs never use most rules.
    compiled: OnceLock<Result<cel::Rule, String>>,
}

impl Rule {
    /// The compiled condition, or why it does not compile.
    pub fn compiled(&self, environment: &Environment) -> Result<&cel::Rule, &str> {
        let compile = || match environment.compile(&self.condition) {
            Ok((rule, _)) => Ok(rule),
            Err(errors) => Err(errors.into_iter().next().map(|error| error.message).unwrap_or_default()),
        };
        self.compiled.get_or_init(compile).as_ref().map_err(String::as_str)
    }
}

impl Candidate {
    /// A configuration as a candidate. `rule_spans` are the places of its conditions.
    pub(super) fn of(
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
        let engines = capabilities.engines.unwrap_or_default().into_iter().map(|entry| match entry {
            EngineEntry::Name(name) => EngineSupport { name, modes: modes.clone(), cpu, gpu },
            EngineEntry::Capability(engine) => EngineSupport {
                name: engine.name.unwrap_or_default(),
                modes: engine.serving_modes.unwrap_or_else(|| modes.clone()),
                cpu: engine.cpu_support.unwrap_or(cpu),
                gpu: engine.gpu_support.unwrap_or(gpu),
            },
        });
        let rule = |(index, rule): (usize, wire::SelectionRule)| Rule {
            condition: rule.condition.unwrap_or_default().into(),
            priority: rule.priority.unwrap_or_default(),
            reason: rule.reason,
            span: rule_spans.get(index).copied().flatten(),
            compiled: OnceLock::new(),
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

    /// Why its capabilities do not admit a deployment; none when they do.
    pub fn closed_gate(&self, deployment: &Deployment) -> Option<String> {
        let uses_gpu = deployment.workload.uses_gpu();
        self.closed_gate_for(deployment.engine.kind.as_str(), deployment.workload.mode(), uses_gpu)
    }

    /// Why its capabilities do not admit an engine in a mode, on GPUs or without; none when they do.
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
