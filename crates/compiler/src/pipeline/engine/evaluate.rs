//! Evaluates single deployments with the options, provider configurations and CRDs of a cluster.

use serde_json::Value;

use super::Engine;
use crate::codes;
use crate::pipeline::documents::document::Document;
use crate::pipeline::documents::document_role::Role;
use crate::pipeline::documents::run_findings::{RunFindings, deduplicate_run_findings};
use crate::pipeline::documents::suppressions::Suppression;
use crate::pipeline::field_effects::silent_fields::{Accounting, DeploymentPattern};
use crate::pipeline::rendering::attempt::{Attempt, InputDeployment};
use kubefoundry_deployment::ir::Deployment;
use kubefoundry_deployment::wire::ModelDeployment;
use kubefoundry_diagnostics::source::Purpose;
use kubefoundry_diagnostics::{Diagnostic, DocumentScope, Findings, Severity};
use kubefoundry_kubernetes::api_group::{API_GROUPS, ApiGroup};
use kubefoundry_kubernetes::header::Header;
use kubefoundry_kubernetes::wire::{Read as _, Reader};
use kubefoundry_model::composition::MODELS;
use kubefoundry_model::conformance;
use kubefoundry_model::select;
use kubefoundry_model::select::PriorChoice;
use kubefoundry_model::validate;
use kubefoundry_transform::{Decision, Thoroughness};
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::{MappingEntry, Node, Span};

/// Fields that controllers and the API server write. They do not affect the result and can be most of an object, so
/// they are dropped before evaluation.
const REPORTED_FIELDS: &[(&str, Option<&str>)] = &[("status", None), ("metadata", Some("managedFields"))];

/// The result of evaluating a deployment.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Evaluation {
    /// The decision; `None` if the deployment could not be read far enough.
    pub decision: Option<Decision>,
    /// The objects to apply in this order: supporting ones first, the main one last. Empty if there is an error, or for
    /// a provider that kubefoundry does not render.
    pub objects: Vec<Value>,
    /// The findings, ordered by field, without those that the options turn off or the deployment suppresses. Locations
    /// are field paths; there is no text with lines.
    pub diagnostics: Vec<Diagnostic>,
}

impl Evaluation {
    /// Returns whether there is an error and therefore no objects.
    pub fn has_errors(&self) -> bool {
        self.errors().next().is_some()
    }

    /// Returns the errors, in the order of the report.
    pub fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics.iter().filter(|finding| finding.severity == Severity::Error)
    }

    /// Returns the name of the selected provider; `None` if none could be selected.
    pub fn provider(&self) -> Option<&str> {
        self.decision.as_ref()?.provider()
    }
}

impl Engine<'_> {
    /// Evaluates a deployment. `chosen` is an earlier choice of its provider. If no provider is selected, the findings in
    /// provider configurations are reported as well, because they may be the reason.
    pub fn evaluate(&self, deployment: &Value, chosen: Option<&PriorChoice>, thoroughness: Thoroughness) -> Evaluation {
        let mut document = Document::without_text(self.source, user_fields(deployment));
        let mut findings = Findings::new(document.scope());
        let role = Role::classify(&document, Purpose::Input, false, self.options(), &mut findings);
        let is_model = role.is_transformed_alone();
        if !is_model && !findings.has_errors() {
            let Header { api_version, kind, .. } = &document.header;
            let expected = API_GROUPS.iter().map(ApiGroup::api_version).collect::<Vec<_>>().join(" or ");
            let message =
                format!("the object is a {kind:?} of {api_version:?}, expected a {} of {expected}", MODELS.kind().1);
            findings.report(&codes::NO_MODEL_DEPLOYMENT, "kind", message);
        }
        let header_findings = findings.into_diagnostics();
        if !is_model {
            return Evaluation { decision: None, objects: Vec::new(), diagnostics: header_findings };
        }
        let mut attempt = self.transform(&document, chosen, thoroughness);
        if thoroughness != Thoroughness::Needed && attempt.errors().is_empty() {
            let without_effect = self.report_fields_without_effect(&mut document, &attempt.findings);
            attempt.findings.extend(without_effect);
        }
        let Attempt { mut objects, decision, findings: attempt_findings, .. } = attempt;
        let mut findings = RunFindings::new(header_findings);
        for finding in attempt_findings {
            findings.add(finding);
        }
        let is_undecided = decision.as_ref().is_some_and(|decision| decision.provider().is_none());
        if is_undecided && !findings.has_errors() {
            // An invalid configuration may have been the one that would have won.
            self.problems().iter().cloned().for_each(|problem| findings.add(problem));
        }
        // For a provider that kubefoundry does not render, the result is the ModelDeployment itself, and the caller has
        // it.
        if decision
            .as_ref()
            .and_then(Decision::provider)
            .is_some_and(|name| self.options().composition.find_provider(name).is_none())
        {
            objects.clear();
        }
        let diagnostics = self.finalize(findings, &document, thoroughness);
        if diagnostics.iter().any(|finding| finding.severity == Severity::Error) {
            objects.clear();
        }
        Evaluation { decision, objects, diagnostics }
    }

    /// Reports fields without effect, as `lint` does, unless `reported` already has a finding about them.
    fn report_fields_without_effect(&self, document: &mut Document<'_>, reported: &[Diagnostic]) -> Vec<Diagnostic> {
        let (pattern, work) = DeploymentPattern::measure(&document.root);
        let environment = self.environment(Thoroughness::Needed);
        let mut accounting = Accounting::new(self.options().rule_limits);
        let subject = InputDeployment::new(document, &environment);
        accounting.learn(subject.into_iter().map(|subject| (pattern, work, subject)).collect());
        let mut findings = Findings::new(document.scope());
        // Accounting reports no field that another finding is about, so it must see the findings so far.
        reported.iter().cloned().for_each(|finding| findings.add(finding));
        accounting.report(pattern, &document.root, &mut findings);
        findings.into_diagnostics().split_off(reported.len())
    }

    /// Applies suppressions and options to the findings, sorts them and removes duplicates.
    fn finalize(
        &self,
        mut findings: RunFindings,
        document: &Document<'_>,
        thoroughness: Thoroughness,
    ) -> Vec<Diagnostic> {
        let suppressions = Suppression::from_document(self.options().composition, document).into_iter().collect();
        findings.suppress(suppressions, thoroughness != Thoroughness::Needed);
        let stored = findings.into_parts().0.into_iter();
        let mut diagnostics: Vec<Diagnostic> = stored.filter_map(|finding| self.options().adjust(finding)).collect();
        for finding in &mut diagnostics {
            // Without text there is nothing to fix automatically, so the title of the fix becomes help.
            let fix = finding.fix.take();
            finding.help = finding.help.take().or_else(|| fix.map(|fix| fix.title));
        }
        diagnostics.sort_by(|one, other| one.sort_key().cmp(&other.sort_key()));
        diagnostics.dedup();
        deduplicate_run_findings(&mut diagnostics);
        diagnostics
    }

    /// Reads a deployment with its defaults, as far as possible. The second value is whether it has errors.
    pub(crate) fn read_deployment(&self, deployment: &Value) -> (Option<Deployment>, bool) {
        let document = Document::without_text(self.source, user_fields(deployment));
        let mut findings = Findings::new(document.scope());
        let mut read_and_validate = || {
            let api_group = ApiGroup::find(document.header.group())?;
            let reader = &mut Reader::strict(&mut findings).in_group(api_group);
            let wire = ModelDeployment::read(&document.root, &FieldPath::root(), reader)?;
            let assumptions = select::assumptions(&wire, api_group, self.catalog());
            validate::validate_with_assumptions(&wire, api_group, assumptions, &mut findings)
        };
        let deployment = read_and_validate();
        (deployment, findings.has_errors())
    }

    /// Chooses the CRD version of a provider, if kubefoundry renders it and a known version is installed.
    pub(crate) fn find_crd_version(&self, provider: &str) -> Option<String> {
        let provider = self.options().composition.find_provider(provider)?;
        let root = Node { value: yaml::Value::Null, span: Span::default() };
        let scope = DocumentScope { source: self.source, text: "", document: 0, root: &root, object: None };
        let context = self.environment(Thoroughness::Needed).context();
        conformance::choose_crd_version(provider, &context, &mut Findings::new(scope))
    }
}

/// Returns the fields of an object that users write, without those in [`REPORTED_FIELDS`].
fn user_fields(object: &Value) -> Node<'_> {
    let Value::Object(fields) = object else { return Node::from(object) };
    let is_reported = |outer: &str, inner: Option<&str>| REPORTED_FIELDS.contains(&(outer, inner));
    let entries = fields.iter().filter(|(key, _)| !is_reported(key, None)).map(|(key, value)| {
        let node = match value {
            Value::Object(inner) => {
                let inner = inner.iter().filter(|(name, _)| !is_reported(key, Some(name)));
                mapping_node(inner.map(|(name, value)| (name.as_str(), Node::from(value))))
            }
            value => Node::from(value),
        };
        (key.as_str(), node)
    });
    mapping_node(entries)
}

/// Creates a mapping node without a position in a text.
fn mapping_node<'v>(entries: impl Iterator<Item = (&'v str, Node<'v>)>) -> Node<'v> {
    let span = Span::default();
    let entries = entries.map(|(key, node)| MappingEntry { key: key.into(), key_span: span, node });
    Node { value: yaml::Value::Mapping(entries.collect()), span }
}
