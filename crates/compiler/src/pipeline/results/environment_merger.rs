//! Merges the results of the environments of an input, each of which is compiled on its own.

use std::sync::Arc;

use super::compilation::{Compilation, CompiledEnvironment, Output};
use crate::options::Options;
use crate::pipeline::documents::run_findings::{RunFindings, deduplicate_run_findings, sort};
use kubefoundry_diagnostics::source::{Environment, SourceSet};
use kubefoundry_model::composition::Composition;

/// Merges the results of environments, in their order. A finding in a text that several environments share, such as
/// options, is reported once.
pub(crate) fn merge<O>(
    composition: &'static Composition,
    parts: Vec<(Environment, Compilation<O>)>,
    sources: &SourceSet,
) -> Compilation<O> {
    let mut merged = Compilation::empty(Options::new(composition));
    let mut findings = RunFindings::default();
    for (number, (environment, part)) in parts.into_iter().enumerate() {
        let first_decision = merged.decisions.len();
        let outputs = part.outputs.into_iter();
        merged.outputs.extend(outputs.map(|output| Output { decision: output.decision + first_decision, ..output }));
        merged.decisions.extend(part.decisions.into_iter().map(|mut decision| {
            Arc::make_mut(&mut decision).environment =
                environment.label().is_some().then(|| Arc::clone(&environment.name));
            decision
        }));
        merged.inputs.extend(part.inputs);
        merged.configured.extend(part.configured);
        merged.suppressed.extend(part.suppressed);
        merged.omitted_suppressed += part.omitted_suppressed;
        part.diagnostics.into_iter().for_each(|finding| findings.add(finding));
        merged.environments.push(CompiledEnvironment { name: environment.name, options: part.options.clone() });
        if number == 0 {
            merged.options = part.options;
        }
    }
    sort(&mut merged.suppressed, sources);
    merged.suppressed.dedup();
    let (mut diagnostics, omitted) = findings.into_parts();
    sort(&mut diagnostics, sources);
    diagnostics.dedup();
    deduplicate_run_findings(&mut diagnostics);
    diagnostics.extend(omitted.report(&merged.options));
    merged.omitted_suppressed += omitted.suppressed();
    merged.diagnostics = diagnostics;
    merged
}
