//! Decides for each item whether it is kept, replaced by a generated object, or removed.

use std::collections::{BTreeMap, BTreeSet};

use kubefoundry_compiler::Compilation;
use kubefoundry_compiler::codes;
use kubefoundry_compiler::options::render::OutputMode;
use kubefoundry_compiler::pipeline::OutputRole;
use kubefoundry_diagnostics::Diagnostic;
use kubefoundry_kubernetes::manifest::Identity;
use serde_json::Value;

use crate::changes::{Changes, ItemChange};
use crate::envelope::Envelope;
use crate::generated::{self, FileIndexes};
use crate::item::{self, Origin};
use crate::prune;
use crate::results::Finding;
use crate::sources::{SourceOrigin, Sources};

/// Reports output modes with which the client would delete files, and a generator without input.
pub(crate) fn check_output_mode(
    compilation: &Compilation,
    sources: &Sources,
    envelope: &Envelope<'_>,
) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    match compilation.options.output {
        Some(OutputMode::Generated) => {
            let message = "output: generated would drop every object of the input, expected append or replace";
            diagnostics.push(Diagnostic::new(&codes::INVALID_OPTION, message));
        }
        Some(OutputMode::Replace) => {
            let rendered = rendered_items(compilation, sources);
            let file = rendered
                .iter()
                .filter_map(|position| envelope.items().get(*position))
                .find_map(Origin::from_annotations);
            if let Some(Origin { path, .. }) = file {
                let message = format!("output: replace would make the client delete {path}, expected append");
                diagnostics.push(Diagnostic::new(&codes::INVALID_OPTION, message).help(
                    "replace is for kustomize build; to keep a ModelDeployment out of a cluster elsewhere, \
                     annotate it with config.kubernetes.io/local-config: \"true\"",
                ));
            }
        }
        Some(OutputMode::Append) | None => {}
    }
    if is_empty_generator(envelope) {
        let message = "a kustomize generator gets no resources, so there is no ModelDeployment to render";
        diagnostics.push(
            Diagnostic::new(&codes::NO_MODEL_DEPLOYMENT, message)
                .help("list this file under transformers, or make the ModelDeployment itself the generator"),
        );
    }
    diagnostics
}

/// Whether this is a generator of `kustomize build` whose configuration is not a ModelDeployment. Its only item is then
/// its own configuration, which has no file.
fn is_empty_generator(envelope: &Envelope<'_>) -> bool {
    let ([item], Some(config)) = (envelope.items(), envelope.function_config()) else { return false };
    item::identity(item) == item::identity(config)
        && item::annotation(item, item::FUNCTION).is_some()
        && Origin::from_annotations(item).is_none()
        && item::type_of(item).1 != kubefoundry_deployment::wire::KIND
}

/// Returns the indexes of the items that were rendered.
fn rendered_items(compilation: &Compilation, sources: &Sources) -> Vec<usize> {
    let inputs = compilation.inputs.iter().filter(|input| input.rendered);
    inputs
        .filter_map(|input| match sources.origin(input.source) {
            SourceOrigin::Item(position) => Some(position),
            SourceOrigin::FunctionConfig | SourceOrigin::Defaults => None,
        })
        .collect()
}

/// Plans the changes of all items. Also returns findings about removed and kept objects.
pub(crate) fn plan_changes(
    compilation: &Compilation,
    sources: &Sources,
    envelope: &Envelope<'_>,
) -> (Changes, Vec<Finding>) {
    let items = envelope.items();
    let origins: Vec<Option<Origin>> = items.iter().map(Origin::from_annotations).collect();
    let mut changes = Changes { items: vec![ItemChange::Keep; items.len()], ..Changes::default() };
    let mut file_indexes = FileIndexes::from_origins(origins.iter().flatten());
    // Only items that kubefoundry generated, passed on or changed can be replaced. Another object with the same
    // identity is a collision, which the compiler has already reported as an error.
    let mut present: BTreeMap<Identity, usize> = BTreeMap::new();
    let changed = compilation.outputs.iter().filter(|output| output.role == OutputRole::Changed);
    let changed: BTreeSet<&Identity> = changed.map(|output| &*output.identity).collect();
    for (position, object) in items.iter().enumerate() {
        let is_changed = || changed.contains(&item::identity(object));
        if prune::owner(object).is_some()
            || item::type_of(object).1 == kubefoundry_deployment::wire::KIND
            || is_changed()
        {
            present.entry(item::identity(object)).or_insert(position);
        }
    }
    for output in &compilation.outputs {
        let source = compilation.decisions.get(output.decision).map(|decision| sources.origin(decision.source));
        let present = present.get(&*output.identity).copied();
        if let Some(position) = present
            && let (Some(object), Some(change)) = (items.get(position), changes.items.get_mut(position))
        {
            if !generated::is_up_to_date(output, object) {
                let new = generated::replacement(output, object);
                *change =
                    if output.role == OutputRole::Changed { ItemChange::Patch(new) } else { ItemChange::Replace(new) };
            }
            continue;
        }
        let origin = match source {
            Some(SourceOrigin::Item(position)) => origins.get(position).and_then(Option::as_ref),
            _ => None,
        };
        let new_origin = origin.map(|origin| file_indexes.assign(origin, &output.identity));
        changes.added.push(if output.role == OutputRole::PassedOn {
            generated::plain_item(output)
        } else {
            generated::new_item(output, new_origin.as_ref())
        });
    }
    if compilation.options.output == Some(OutputMode::Replace) {
        let passed_on: BTreeSet<&Identity> = compilation
            .outputs
            .iter()
            .filter(|output| output.role == OutputRole::PassedOn)
            .map(|output| &*output.identity)
            .collect();
        for position in rendered_items(compilation, sources) {
            // An item of kind List may contain other objects, so it is kept.
            let is_removed = items
                .get(position)
                .is_some_and(|object| item::is_source(object) && !passed_on.contains(&item::identity(object)));
            if let Some(change) = changes.items.get_mut(position).filter(|_| is_removed) {
                *change = ItemChange::Remove;
            }
        }
    }
    let findings = prune::prune(compilation, envelope, &mut changes);
    (changes, findings)
}

/// Merges the results of this function with those of earlier functions.
pub(crate) fn merge_results(envelope: &Envelope<'_>, findings: &[Finding]) -> Vec<Value> {
    let own: Vec<Value> = findings.iter().map(|finding| finding.result.clone()).collect();
    if own.is_empty() && envelope.root().get("results").is_none() {
        return own;
    }
    own.into_iter().chain(crate::results::results_of_others(envelope)).collect()
}
