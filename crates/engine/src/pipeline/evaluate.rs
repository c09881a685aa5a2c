//! How a session sends one deployment through, and says what was found.

use serde_json::Value;

use super::conformance::CrdSchemas;
use super::document::Document;
use super::environment::Environment;
use super::findings::RunFindings;
use super::role::Role;
use super::session::{Evaluation, Session};
use super::subject::Subject;
use super::suppress::{self, Suppression};
use super::{Attempt, Decision, Thoroughness, say_once};
use crate::codes;
use crate::composition::MODELS;
use crate::trace::accounting;
use crate::trace::accounting::Accounting;
use kubefoundry_diagnostics::source::Purpose;
use kubefoundry_diagnostics::{Diagnostic, Findings, Severity};
use kubefoundry_kubernetes::api_group::{DIALECTS, Dialect};
use kubefoundry_kubernetes::header::Header;
use kubefoundry_kubernetes::wire::{Read as _, Reader};
use kubefoundry_model::ir::Deployment;
use kubefoundry_model::providers;
use kubefoundry_model::select;
use kubefoundry_model::select::{Chosen, Steps};
use kubefoundry_model::validate;
use kubefoundry_model::wire::ModelDeployment;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::{Entry, Node, Span};

/// Fields of an object that say nothing of what is wanted, and may be most of it.
const REPORTED: &[(&str, Option<&str>)] = &[("status", None), ("metadata", Some("managedFields"))];

impl Session {
    /// Sends a deployment through.
    pub(super) fn run(&self, deployment: &Value, chosen: Option<&Chosen>, thoroughness: Thoroughness) -> Evaluation {
        let mut document = Document::without_text(self.source, wanted(deployment));
        let mut findings = Findings::new(document.scope());
        let role = Role::of(&document, Purpose::Input, false, &self.options, &mut findings);
        let is_model = role.transform().is_some_and(|transform| !transform.needs_set());
        if !is_model && !findings.has_errors() {
            let Header { api_version, kind, .. } = &document.header;
            let expected = DIALECTS.iter().map(Dialect::api_version).collect::<Vec<_>>().join(" or ");
            let message =
                format!("the object is a {kind:?} of {api_version:?}, expected a {} of {expected}", MODELS.kind().1);
            findings.report(&codes::NO_MODEL_DEPLOYMENT, "kind", message);
        }
        let found = findings.into_diagnostics();
        if !is_model {
            return Evaluation { decision: None, objects: Vec::new(), diagnostics: found };
        }
        let mut attempt = self.attempt(&document, chosen, thoroughness);
        if thoroughness != Thoroughness::Needed && attempt.errors().is_empty() {
            let without_effect = self.without_effect(&mut document, &attempt.findings);
            attempt.findings.extend(without_effect);
        }
        let Attempt { mut objects, decision, findings } = attempt;
        let mut found = RunFindings::new(found);
        for finding in findings {
            found.add(finding);
        }
        let is_undecided = decision.as_ref().is_some_and(|decision| decision.provider().is_none());
        if is_undecided && !found.has_errors() {
            // Nothing is said of the deployment when what could not be read may have been the one.
            self.problems.iter().cloned().for_each(|problem| found.add(problem));
        }
        if decision.as_ref().and_then(Decision::provider).is_some_and(|name| providers::find(name).is_none()) {
            objects.clear();
        }
        let diagnostics = self.said(found, &document, thoroughness);
        if diagnostics.iter().any(|found| found.severity == Severity::Error) {
            objects.clear();
        }
        Evaluation { decision, objects, diagnostics }
    }

    /// Runs one deployment.
    pub(super) fn attempt(
        &self,
        document: &Document<'_>,
        chosen: Option<&Chosen>,
        thoroughness: Thoroughness,
    ) -> Attempt {
        let schemas = self.schemas();
        let environment = Environment { thoroughness, chosen, ..self.environment(schemas.as_ref()) };
        let mut steps = Steps::new(select::allowance(self.options.rule_limits, 0, 1));
        Attempt::of(document, &environment, &mut steps)
    }

    pub(super) fn schemas(&self) -> Option<CrdSchemas<'_>> {
        self.crds.as_deref().map(CrdSchemas)
    }

    pub(super) fn environment<'e>(&'e self, schemas: Option<&'e CrdSchemas<'e>>) -> Environment<'e> {
        let (catalog, options) = (&*self.catalog, &*self.options);
        Environment { catalog, schemas, options, thoroughness: Thoroughness::Needed, chosen: None }
    }

    /// What `lint` says of fields that reach nothing and that nothing else is said of.
    fn without_effect(&self, document: &mut Document<'_>, said: &[Diagnostic]) -> Vec<Diagnostic> {
        let (kind, work) = accounting::Kind::of(&document.root);
        let schemas = self.schemas();
        let environment = self.environment(schemas.as_ref());
        let mut accounting = Accounting::new(self.options.rule_limits);
        accounting.learn(vec![(kind, work, Subject::new(document, &environment))]);
        let mut findings = Findings::new(document.scope());
        said.iter().cloned().for_each(|said| findings.add(said));
        accounting.report(kind, &document.root, &mut findings);
        findings.into_diagnostics().split_off(said.len())
    }

    /// What is said of all that was found.
    fn said(&self, mut found: RunFindings, document: &Document<'_>, thoroughness: Thoroughness) -> Vec<Diagnostic> {
        let suppressions = Suppression::of(document).into_iter().collect();
        suppress::suppress(&mut found, suppressions, thoroughness != Thoroughness::Needed);
        let found = found.into_parts().0.into_iter();
        let mut said: Vec<Diagnostic> = found.filter_map(|found| self.options.adjust(found)).collect();
        for found in &mut said {
            // There is no text that a machine may mend; people may.
            let fix = found.fix.take();
            found.help = found.help.take().or_else(|| fix.map(|fix| fix.title));
        }
        said.sort_by(|one, other| one.sort_key().cmp(&other.sort_key()));
        said.dedup();
        say_once(&mut said);
        said
    }

    /// A deployment with its defaults, as far as it can be read, and whether anything is wrong with it.
    pub(super) fn read(&self, deployment: &Value) -> (Option<Deployment>, bool) {
        let document = Document::without_text(self.source, wanted(deployment));
        let mut findings = Findings::new(document.scope());
        let mut read = || {
            let dialect = Dialect::of_group(document.header.group())?;
            let reader = &mut Reader::strict(&mut findings);
            let wire = ModelDeployment::read(&document.root, &FieldPath::root(), reader)?;
            let engine = select::default_engine(&wire, dialect, &self.catalog);
            validate::validate_for(&wire, dialect, engine, &mut findings)
        };
        let read = read();
        (read, findings.has_errors())
    }
}

/// What an object says is wanted, without what was reported of it.
fn wanted(object: &Value) -> Node<'_> {
    let Value::Object(fields) = object else { return Node::from(object) };
    let is_reported = |outer: &str, inner: Option<&str>| REPORTED.contains(&(outer, inner));
    let entries = fields.iter().filter(|(key, _)| !is_reported(key, None)).map(|(key, value)| {
        let node = match value {
            Value::Object(inner) => {
                let inner = inner.iter().filter(|(name, _)| !is_reported(key, Some(name)));
                mapping(inner.map(|(name, value)| (name.as_str(), Node::from(value))))
            }
            value => Node::from(value),
        };
        (key.as_str(), node)
    });
    mapping(entries)
}

/// A mapping that is in no text.
fn mapping<'v>(entries: impl Iterator<Item = (&'v str, Node<'v>)>) -> Node<'v> {
    let span = Span::default();
    let entries = entries.map(|(key, node)| Entry { key: key.into(), key_span: span, node });
    Node { value: yaml::Value::Mapping(entries.collect()), span }
}
