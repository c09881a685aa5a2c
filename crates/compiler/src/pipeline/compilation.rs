//! What a run comes to.

use std::collections::BTreeSet;

use serde_json::Value;

use super::decision::{Decision, OutputRole};
use super::role::InputDocument;
use crate::options::Options;
use kubefoundry_diagnostics::render::CheckedSchema;
use kubefoundry_diagnostics::source::SourceId;
use kubefoundry_diagnostics::{Diagnostic, Severity};
use kubefoundry_kubernetes::manifest::Identity;

/// What a run came to. Nothing in it may be used as output when [`Compilation::has_errors`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Compilation<O = Value> {
    /// Generated objects, in the order of their ModelDeployments in the input; within one, supporting objects first.
    pub outputs: Vec<Output<O>>,
    /// Every document of the input, in order.
    pub inputs: Vec<InputDocument>,
    /// The texts that hold a provider configuration, whether or not it could be used.
    pub configured: BTreeSet<SourceId>,
    /// What was found, ordered by file, line, code: of a run at most 10,000, and at the end how many more there are.
    pub diagnostics: Vec<Diagnostic>,
    /// Warnings and infos that objects say to ignore, in the same order. Errors stay among the findings.
    pub suppressed: Vec<Diagnostic>,
    /// How many more findings objects say to ignore, past the 10,000 that are kept.
    pub suppressed_left_out: usize,
    /// One for each object that is transformed, in input order.
    pub decisions: Vec<Decision>,
    /// The options that applied.
    pub options: Options,
}

impl<O> Compilation<O> {
    /// Whether an error was found: then there is no output.
    pub fn has_errors(&self) -> bool {
        self.count(Severity::Error) > 0
    }

    /// The schemas of a CRD dump that the main objects were checked against, each once, in order.
    pub fn checked_schemas(&self) -> Vec<CheckedSchema> {
        let checked = self.decisions.iter().filter_map(|decision| {
            let (object, fingerprint) = (decision.objects.last()?, decision.schema_fingerprint.clone()?);
            let (api_version, kind) = (object.api_version.to_string(), object.kind.to_string());
            Some(CheckedSchema { api_version, kind, fingerprint })
        });
        checked.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// How many findings have this severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).count()
    }
}

/// An object to apply.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Output<O = Value> {
    /// What tells it from others.
    pub identity: Identity,
    /// The object, in the form that was asked for.
    pub object: O,
    /// Index of its ModelDeployment in [`Compilation::decisions`].
    pub decision: usize,
    /// How it comes to be in the output.
    pub role: OutputRole,
}

impl<O> Output<O> {
    /// Whether it was generated for the object that its decision is about.
    pub fn is_generated(&self) -> bool {
        matches!(self.role, OutputRole::Generated | OutputRole::Shared)
    }
}
