//! The entries of the page: every deployment of the input, whether or not a decision was reached.

use std::collections::BTreeMap;

use kubefoundry_compiler::Decision;
use kubefoundry_diagnostics::source::SourceId;
use kubefoundry_diagnostics::{Diagnostic, ObjectRef, Severity};

use crate::run::Run;
use kubefoundry_reports::graph::{Diagram, MAX_DEPLOYMENTS};
use kubefoundry_reports::run::{LocatedDecision, SourceLocator};

/// A deployment: a row of the index and a section of the page.
pub(super) struct Entry<'e> {
    pub(super) object: ObjectRef,
    /// `models/llama.yaml:5:9`.
    pub(super) place: String,
    /// `None` if the deployment has errors that prevented a decision.
    pub(super) decided: Option<(&'e Decision, &'e Diagram)>,
    pub(super) findings: Vec<&'e Diagnostic>,
}

/// What identifies a deployment: two documents can describe the same object.
type Key = (SourceId, usize, ObjectRef);

/// Lists the deployments by namespace, then in the order of the input, and the findings that belong to none of them.
pub(super) fn list_entries<'e>(
    run: &'e Run,
    decisions: &[LocatedDecision<'e>],
    diagrams: &'e [Diagram],
    locator: &mut SourceLocator<'e>,
) -> (Vec<Entry<'e>>, Vec<&'e Diagnostic>) {
    let mut entries: BTreeMap<Key, Entry<'e>> = BTreeMap::new();
    for (located, diagram) in decisions.iter().zip(diagrams) {
        let decision = located.decision;
        let object = decision.object.clone();
        let place = format!("{}:{}:{}", located.file, located.line, located.column);
        let entry = Entry { object: object.clone(), place, decided: Some((decision, diagram)), findings: Vec::new() };
        entries.insert((decision.source, decision.document, object), entry);
    }
    add_undecided(run, &mut entries, locator);
    let mut others = Vec::new();
    for finding in &run.compilation.diagnostics {
        let key = finding.object.as_ref().zip(finding.location.as_ref());
        let key = key.map(|(object, at)| (at.source, at.document, object.clone()));
        match key.and_then(|key| entries.get_mut(&key)) {
            Some(entry) => entry.findings.push(finding),
            None => others.push(finding),
        }
    }
    let mut entries: Vec<Entry<'e>> = entries.into_values().collect();
    entries.sort_by(|one, other| one.object.namespace.cmp(&other.object.namespace));
    (entries, others)
}

/// Adds the deployments with errors that prevented a decision.
fn add_undecided<'e>(run: &'e Run, entries: &mut BTreeMap<Key, Entry<'e>>, locator: &mut SourceLocator<'e>) {
    let errors = run.compilation.diagnostics.iter().filter(|finding| finding.severity == Severity::Error);
    let broken: std::collections::BTreeSet<(SourceId, usize)> =
        errors.filter_map(|finding| finding.location.as_ref()).map(|at| (at.source, at.document)).collect();
    let decided: std::collections::BTreeSet<(SourceId, usize)> =
        run.compilation.decisions.iter().map(|decision| (decision.source, decision.document)).collect();
    for input in run.compilation.inputs.iter().filter(|input| input.rendered && !input.patch) {
        let document = (input.source, input.index);
        if entries.len() >= MAX_DEPLOYMENTS || decided.contains(&document) || !broken.contains(&document) {
            continue;
        }
        let object = input.header.object();
        let (file, position) = locator.locate(input.source, input.name_span.start);
        let place = format!("{file}:{}:{}", position.line, position.column);
        let entry = Entry { object: object.clone(), place, decided: None, findings: Vec::new() };
        entries.insert((input.source, input.index, object), entry);
    }
}

impl Entry<'_> {
    pub(super) fn provider(&self) -> Option<&str> {
        self.decided.and_then(|(decision, _)| decision.provider())
    }

    /// Whether a finding of this severity belongs to the deployment.
    pub(super) fn has(&self, severity: Severity) -> bool {
        self.findings.iter().any(|finding| finding.severity == severity)
    }

    pub(super) fn name(&self) -> &str {
        if self.object.name.is_empty() { "(no name)" } else { &self.object.name }
    }

    pub(super) fn namespace(&self) -> &str {
        self.object.namespace.as_deref().unwrap_or("(no namespace)")
    }
}
