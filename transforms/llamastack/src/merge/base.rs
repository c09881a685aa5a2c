//! The base configuration (`run.yaml`): reads it and checks that it has the shape that a merge needs.

use crate::wire::Api;
use kubefoundry_diagnostics::render::{LineIndex, Position};
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::{Document, Failure, FailureKind, Limits, Node, Span, Value};

/// Why a text cannot be the base of a merge.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {}, column {}: {message}", .position.line, .position.column)]
pub struct BaseError {
    /// Line and column of the error.
    pub position: Position,
    /// The byte range of the error.
    pub span: Span,
    /// What was found and what is expected, on one line.
    pub message: String,
}

impl BaseError {
    pub(super) fn at(text: &str, span: Span, message: impl Into<String>) -> Self {
        Self { position: LineIndex::new(text).position(span.start), span, message: message.into() }
    }

    /// Returns the error as the merge prints it, with the name of the file.
    pub fn block(&self, file: &str) -> String {
        let Position { line, column } = self.position;
        format!(
            "ERROR: Cannot merge external providers into base configuration\n\n{file}:{line}:{column}: {}\n\nResolution: \
             Correct the run.yaml in the distribution image or in the user ConfigMap.",
            self.message
        )
    }
}

/// Reads a base configuration of at most one document.
pub(super) fn read(text: &str) -> Result<Vec<Document<'_>>, BaseError> {
    let parsed = yaml::parse(text, &Limits::default());
    if let Some(failure) = &parsed.failure {
        return Err(BaseError::at(text, failure.span, failure.sentence()));
    }
    if let Some(second) = parsed.documents.get(1) {
        return Err(BaseError::at(text, second.span, "found a second document, expected one"));
    }
    let Some(document) = parsed.documents.first() else { return Ok(Vec::new()) };
    if let Some(problem) = document.problems.iter().find(|problem| matters(problem, text, &document.root)) {
        return Err(BaseError::at(text, problem.span, problem.sentence()));
    }
    check_shape(text, &document.root)?;
    Ok(parsed.documents)
}

/// Returns whether a problem prevents the merge. llama-stack reads its configuration with PyYAML, which uses the last
/// of two equal keys, lets keys override merged ones, and supports `.inf`. Such problems are ignored outside of the
/// sections that the merge changes.
fn matters(problem: &Failure, text: &str, root: &Node<'_>) -> bool {
    match problem.kind {
        FailureKind::DuplicateKey => {
            let key = problem.span.of(text).trim_matches(['"', '\'']);
            let inside = |entry: &yaml::MappingEntry<'_>| {
                (entry.key_span.start..entry.node.span.end).contains(&problem.span.start)
            };
            let entries = ["providers", "apis"].into_iter().filter_map(|key| root.entry(key));
            matches!(key, "providers" | "apis") || entries.into_iter().any(inside)
        }
        FailureKind::MergeOverride | FailureKind::NotJson => false,
        _ => true,
    }
}

fn check_shape(text: &str, root: &Node<'_>) -> Result<(), BaseError> {
    let wrong = |node: &Node<'_>, field: &str, expected: &str| {
        let message = format!("{field} is {}, expected {expected}", node.describe());
        Err(BaseError::at(text, node.span, message))
    };
    if !matches!(root.value, Value::Mapping(_) | Value::Null) {
        return wrong(root, "run.yaml", "a mapping");
    }
    if let Some(apis) = root.get("apis").filter(|apis| !matches!(apis.value, Value::Sequence(_) | Value::Null)) {
        return wrong(apis, "apis", "a list");
    }
    let Some(providers) = root.get("providers") else { return Ok(()) };
    if !matches!(providers.value, Value::Mapping(_) | Value::Null) {
        return wrong(providers, "providers", "a mapping of APIs to lists");
    }
    for api in Api::ALL {
        let section = providers.get(api.as_str());
        if let Some(section) = section.filter(|it| !matches!(it.value, Value::Sequence(_) | Value::Null)) {
            return wrong(section, &format!("providers.{api}"), "a list of providers");
        }
    }
    Ok(())
}
