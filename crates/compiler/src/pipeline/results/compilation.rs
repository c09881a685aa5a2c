//! The result of a run.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use crate::options::Options;
use crate::pipeline::documents::document_role::InputDocument;
use crate::pipeline::rendering::kept_choices::KeptChoices;
use crate::pipeline::rendering::output_role::OutputRole;
use kubefoundry_diagnostics::render::CheckedSchema;
use kubefoundry_diagnostics::source::SourceId;
use kubefoundry_diagnostics::{Diagnostic, Severity};
use kubefoundry_kubernetes::manifest::Identity;
use kubefoundry_transform::Decision;

/// The result of a run. It must not be used as output if [`Compilation::has_errors`].
///
/// What a [`Cache`](crate::pipeline::Cache) keeps for the next run is shared with it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Compilation<O = Value> {
    /// Generated objects, in the order of their ModelDeployments in the input; within one, supporting objects first.
    pub outputs: Vec<Output<O>>,
    /// Every document of the input, in order.
    pub inputs: Vec<Arc<InputDocument>>,
    /// The texts with a provider configuration, valid or not.
    pub configured: BTreeSet<SourceId>,
    /// The findings, ordered by file, line and code: at most 10,000 per run, followed by the number of further ones.
    pub diagnostics: Vec<Diagnostic>,
    /// Warnings and infos that objects suppress, in the same order. Suppressed errors stay among the findings.
    pub suppressed: Vec<Diagnostic>,
    /// The number of further suppressed findings, beyond the 10,000 that are kept.
    pub omitted_suppressed: usize,
    /// The decisions for transformed objects, in input order.
    pub decisions: Vec<Arc<Decision>>,
    /// The options of the run; those of the first environment, if the input is divided into several.
    pub options: Options,
    /// The environments that the input is divided into, in order; none if it is not divided.
    pub environments: Vec<CompiledEnvironment>,
    /// The providers that deployments kept from before the run; see [`compile_keeping`](crate::pipeline::compile_keeping).
    pub kept_choices: Arc<KeptChoices>,
}

/// An environment of the input, which was compiled on its own.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CompiledEnvironment {
    /// The name of the environment.
    pub name: Arc<str>,
    /// The options of its run.
    pub options: Options,
}

impl<O> Compilation<O> {
    /// Returns a result without any object or finding.
    pub(crate) fn empty(options: Options) -> Self {
        Self {
            outputs: Vec::new(),
            inputs: Vec::new(),
            configured: BTreeSet::new(),
            diagnostics: Vec::new(),
            suppressed: Vec::new(),
            omitted_suppressed: 0,
            decisions: Vec::new(),
            options,
            environments: Vec::new(),
            kept_choices: Arc::default(),
        }
    }

    /// Returns the options of an environment, or those of the run if the input is not divided.
    pub fn options_of(&self, environment: Option<&str>) -> &Options {
        let found = self.environments.iter().find(|it| environment.unwrap_or_default() == &*it.name);
        found.map_or(&self.options, |it| &it.options)
    }

    /// Returns whether there is an error, which means that there is no output.
    pub fn has_errors(&self) -> bool {
        self.count(Severity::Error) > 0
    }

    /// Returns the CRD schemas against which the main objects were checked, sorted and without duplicates.
    pub fn checked_schemas(&self) -> Vec<CheckedSchema> {
        let checked = self.decisions.iter().filter_map(|decision| {
            let (object, fingerprint) = (decision.objects.last()?, decision.schema_fingerprint.clone()?);
            let (api_version, kind) = (object.api_version.to_string(), object.kind.to_string());
            Some(CheckedSchema { api_version, kind, fingerprint })
        });
        checked.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Returns the number of findings with a severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).count()
    }
}

/// An object to apply.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Output<O = Value> {
    /// The identity of the object.
    pub identity: Arc<Identity>,
    /// The object, in the form that the caller asked for.
    pub object: O,
    /// The index of its decision in [`Compilation::decisions`].
    pub decision: usize,
    /// The reason why the object is in the output.
    pub role: OutputRole,
}

impl<O> Output<O> {
    /// Returns whether the object was generated for the object of its decision.
    pub fn is_generated(&self) -> bool {
        matches!(self.role, OutputRole::Generated | OutputRole::Shared)
    }
}
