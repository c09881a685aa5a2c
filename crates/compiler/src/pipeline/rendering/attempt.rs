//! Runs a single deployment repeatedly with changes, to learn the effect of a field or to search for a change.

use std::sync::Arc;

use serde_json::Value;

use super::environment::Environment;
use super::transform_object::{self, TransformedObject};
use crate::options::Options;
use crate::pipeline::documents::document::Document;
use kubefoundry_deployment::ir::Deployment;
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::source::SourceId;
use kubefoundry_diagnostics::{Diagnostic, Findings, ObjectRef, Severity};
use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_kubernetes::header::Header;
use kubefoundry_kubernetes::wire::{Read as _, Reader};
use kubefoundry_model::catalog::Catalog;
use kubefoundry_model::composition::MODELS;
use kubefoundry_model::select::StepBudget;
use kubefoundry_model::validate;
use kubefoundry_transform::{Decision, InputObject, PatchedObject, Thoroughness};
use kubefoundry_yaml::Node;
use kubefoundry_yaml::field_path::FieldPath;

/// A deployment of the input, with the environment to transform it.
#[derive(Clone, Copy)]
pub struct InputDeployment<'p> {
    document: &'p Document<'p>,
    environment: Environment<'p>,
    catalog: &'p Catalog,
}

/// The result of running one deployment.
#[derive(Debug)]
pub struct Attempt {
    /// The objects; empty if there is an error.
    pub objects: Vec<Value>,
    /// The decision; `None` if the deployment could not be read.
    pub decision: Option<Decision>,
    /// The findings about it.
    pub findings: Vec<Diagnostic>,
    /// The objects that patches changed.
    pub(crate) patched: Vec<PatchedObject>,
}

impl Attempt {
    pub(crate) fn run(document: &Document<'_>, environment: &Environment<'_>, steps: &mut StepBudget) -> Self {
        let findings = Findings::new(document.scope());
        let outcome = transform_object::transform::<Value>(MODELS, document, environment, steps, findings);
        let (mapped, findings, patched) = (outcome.mapped, outcome.findings, outcome.patched);
        let failed = findings.has_errors();
        let findings = findings.into_diagnostics();
        let Some(TransformedObject { decision, mut objects, .. }) = mapped else {
            return Self { objects: Vec::new(), decision: None, findings, patched };
        };
        let mut decision = Arc::unwrap_or_clone(decision);
        if failed {
            objects.clear();
            decision.objects.clear();
        }
        Self {
            objects: objects.into_iter().map(|generated| generated.object).collect(),
            decision: Some(decision),
            findings,
            patched,
        }
    }

    /// Returns whether there is an error.
    pub fn is_refused(&self) -> bool {
        self.objects.is_empty()
    }

    /// Returns the selected provider.
    pub fn provider(&self) -> Option<&str> {
        self.decision.as_ref()?.provider()
    }

    /// Returns the codes of the errors, sorted and without duplicates.
    pub(crate) fn errors(&self) -> Vec<&'static str> {
        let errors = self.findings.iter().filter(|finding| finding.severity == Severity::Error);
        let mut ids: Vec<&'static str> = Vec::new();
        for finding in errors {
            if !ids.contains(&finding.code.id) {
                ids.push(finding.code.id);
            }
        }
        ids
    }
}

impl<'p> InputDeployment<'p> {
    /// Returns `None` if the configuration of the run is not that of models.
    pub(crate) fn new(document: &'p Document<'p>, environment: &Environment<'p>) -> Option<Self> {
        let catalog = Catalog::downcast(environment.configuration)?;
        Some(Self { document, environment: *environment, catalog })
    }

    /// Returns the source of the deployment.
    pub fn source(&self) -> SourceId {
        self.document.source
    }

    /// Returns the position of its document in the source.
    pub fn index(&self) -> usize {
        self.document.index()
    }

    /// Returns a reference to the deployment.
    pub fn object(&self) -> ObjectRef {
        self.document.header.object()
    }

    /// Returns the node of the deployment.
    pub fn root(&self) -> &'p Node<'p> {
        &self.document.root
    }

    /// Returns the providers that can be selected.
    pub fn catalog(&self) -> &'p Catalog {
        self.catalog
    }

    /// Returns the options of the run.
    pub fn options(&self) -> &'p Options {
        self.environment.options
    }

    /// Returns the deployment with its defaults, if it can be read.
    pub fn deployment(&self) -> Option<Deployment> {
        self.deployment_of(&self.document.root)
    }

    /// Returns the deployment in another node, with its defaults.
    pub(crate) fn deployment_of(&self, root: &Node<'_>) -> Option<Deployment> {
        let api_group = ApiGroup::find(self.document.header.group())?;
        let mut findings = Findings::new(self.document.scope());
        let mut reader = Reader::strict(&mut findings).in_group(api_group);
        let wire = ModelDeployment::read(root, &FieldPath::root(), &mut reader)?;
        validate::validate(&wire, api_group, &mut findings)
    }

    /// Runs the deployment unchanged.
    pub fn run(&self, thoroughness: Thoroughness, steps: &mut StepBudget) -> Attempt {
        Attempt::run(self.document, &self.environment.beside_run(thoroughness), steps)
    }

    /// Runs another node in place of the deployment.
    pub fn attempt(&self, root: Node<'_>, thoroughness: Thoroughness, steps: &mut StepBudget) -> Attempt {
        let InputObject { source, text, document, header, .. } = &self.document.object;
        let new_header = Header::from_node(&root);
        // An item of a typed list may omit its type, which then comes from the list.
        let non_empty = |new: Arc<str>, original: &Arc<str>| if new.is_empty() { original.clone() } else { new };
        let header = Header {
            api_version: non_empty(new_header.api_version, &header.api_version),
            kind: non_empty(new_header.kind, &header.kind),
            ..new_header
        };
        let object = InputObject { source: *source, text, document: *document, header, root, problems: Vec::new() };
        let document = Document { object, span: self.document.span, item: self.document.item };
        Attempt::run(&document, &self.environment.for_attempt(thoroughness), steps)
    }

    /// Runs the deployment with other options.
    pub(crate) fn attempt_with_options(&self, options: &Options, steps: &mut StepBudget) -> Attempt {
        let mut environment = self.environment.for_attempt(Thoroughness::Needed);
        environment.options = options;
        Attempt::run(self.document, &environment, steps)
    }
}
