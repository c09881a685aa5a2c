//! What becomes of each item: kept, replaced by what is generated in its place, or removed where that was asked for.

use std::collections::{BTreeMap, BTreeSet};

use kubefoundry_compiler::Compilation;
use kubefoundry_compiler::codes;
use kubefoundry_compiler::options::render::OutputMode;
use kubefoundry_compiler::pipeline::OutputRole;
use kubefoundry_diagnostics::Diagnostic;
use kubefoundry_kubernetes::manifest::Identity;
use serde_json::Value;

use crate::changes::{Change, Changes};
use crate::envelope::Envelope;
use crate::generated::{self, Places};
use crate::item::{self, Origin};
use crate::prune;
use crate::results::Finding;
use crate::sources::{Made, Sources};

/// What is asked for and cannot be done without taking something from the user.
pub(crate) fn refusals(compilation: &Compilation, sources: &Sources, envelope: &Envelope<'_>) -> Vec<Diagnostic> {
    let mut refusals = Vec::new();
    match compilation.options.output {
        Some(OutputMode::Generated) => {
            let message = "output: generated would drop every object of the input, expected append or replace";
            refusals.push(Diagnostic::new(&codes::INVALID_OPTION, message));
        }
        Some(OutputMode::Replace) => {
            let rendered = rendered(compilation, sources);
            let file = rendered.iter().filter_map(|position| envelope.items().get(*position)).find_map(Origin::of);
            if let Some(Origin { path, .. }) = file {
                let message = format!("output: replace would make the client delete {path}, expected append");
                refusals.push(Diagnostic::new(&codes::INVALID_OPTION, message).help(
                    "replace is for kustomize build; to keep a ModelDeployment out of a cluster elsewhere, \
                     annotate it with config.kubernetes.io/local-config: \"true\"",
                ));
            }
        }
        Some(OutputMode::Append) | None => {}
    }
    if is_empty_generator(envelope) {
        let message = "a kustomize generator gets no resources, so there is no ModelDeployment to render";
        refusals.push(
            Diagnostic::new(&codes::NO_MODEL_DEPLOYMENT, message)
                .help("list this file under transformers, or make the ModelDeployment itself the generator"),
        );
    }
    refusals
}

/// Whether this is a generator of `kustomize build` whose configuration is not a ModelDeployment: its only item is its
/// configuration, and that comes from no file.
fn is_empty_generator(envelope: &Envelope<'_>) -> bool {
    let ([only], Some(config)) = (envelope.items(), envelope.function_config()) else { return false };
    item::identity(only) == item::identity(config)
        && item::annotation(only, item::FUNCTION).is_some()
        && Origin::of(only).is_none()
        && item::type_of(only).1 != kubefoundry_model::wire::KIND
}

/// The items that were rendered.
fn rendered(compilation: &Compilation, sources: &Sources) -> Vec<usize> {
    let inputs = compilation.inputs.iter().filter(|input| input.rendered);
    inputs
        .filter_map(|input| match sources.made(input.source) {
            Made::Item(position) => Some(position),
            Made::FunctionConfig | Made::Defaults => None,
        })
        .collect()
}

/// The changes, and what is to be said about them.
pub(crate) fn plan(compilation: &Compilation, sources: &Sources, envelope: &Envelope<'_>) -> (Changes, Vec<Finding>) {
    let items = envelope.items();
    let origins: Vec<Option<Origin>> = items.iter().map(Origin::of).collect();
    let mut changes = Changes { items: vec![Change::Keep; items.len()], ..Changes::default() };
    let mut places = Places::taken_by(origins.iter().flatten());
    // What has no mark of ours is a patch for what has: another object of that name is a collision, and an error by
    // now.
    let mut present: BTreeMap<Identity, usize> = BTreeMap::new();
    let changed = compilation.outputs.iter().filter(|output| output.role == OutputRole::Changed);
    let changed: BTreeSet<&Identity> = changed.map(|output| &output.identity).collect();
    for (position, object) in items.iter().enumerate() {
        let is_changed = || changed.contains(&item::identity(object));
        if prune::owner(object).is_some() || item::type_of(object).1 == kubefoundry_model::wire::KIND || is_changed() {
            present.entry(item::identity(object)).or_insert(position);
        }
    }
    for output in &compilation.outputs {
        let source = compilation.decisions.get(output.decision).map(|decision| sources.made(decision.source));
        let present = present.get(&output.identity).copied();
        if let Some(position) = present
            && let (Some(object), Some(change)) = (items.get(position), changes.items.get_mut(position))
        {
            if !generated::is_same(output, object) {
                let new = generated::replacement(output, object);
                *change = if output.role == OutputRole::Changed { Change::Patch(new) } else { Change::Replace(new) };
            }
            continue;
        }
        let origin = match source {
            Some(Made::Item(position)) => origins.get(position).and_then(Option::as_ref),
            _ => None,
        };
        let place = origin.map(|origin| places.beside(origin, &output.identity));
        changes.added.push(if output.role == OutputRole::PassedOn {
            generated::plain(output)
        } else {
            generated::new_item(output, place.as_ref())
        });
    }
    if compilation.options.output == Some(OutputMode::Replace) {
        let passed_on: BTreeSet<&Identity> = compilation
            .outputs
            .iter()
            .filter(|output| output.role == OutputRole::PassedOn)
            .map(|output| &output.identity)
            .collect();
        for position in rendered(compilation, sources) {
            // An item that is a List holds other objects, too.
            let goes = items
                .get(position)
                .is_some_and(|object| item::is_source(object) && !passed_on.contains(&item::identity(object)));
            if let Some(change) = changes.items.get_mut(position).filter(|_| goes) {
                *change = Change::Remove;
            }
        }
    }
    let said = prune::prune(compilation, envelope, &mut changes);
    (changes, said)
}

/// All results: those of functions before us, and ours.
pub(crate) fn results(envelope: &Envelope<'_>, findings: &[Finding]) -> Vec<Value> {
    let ours: Vec<Value> = findings.iter().map(|finding| finding.result.clone()).collect();
    if ours.is_empty() && envelope.root().get("results").is_none() {
        return ours;
    }
    ours.into_iter().chain(crate::results::of_others(envelope)).collect()
}
