//! Links the results of all documents: reports objects that are generated twice or that the input already has, and lays
//! out the output in input order.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::compilation::Output;
use super::document_results::ObjectResult;
use crate::codes;
use crate::pipeline::documents::document_role::InputDocument;
use crate::pipeline::documents::identity_hash::{IdentityHash, RepeatedHashes};
use crate::pipeline::documents::run_findings::RunFindings;
use crate::pipeline::rendering::transform_object::{GeneratedObject, TransformedObject};
use kubefoundry_diagnostics::source::{SourceId, SourceSet};
use kubefoundry_diagnostics::{Code, DocumentScope, FieldRef, Findings};
use kubefoundry_kubernetes::header::Header;
use kubefoundry_kubernetes::manifest::{Identity, owner_name};
use kubefoundry_kubernetes::wire::metadata;
use kubefoundry_transform::{Decision, ServedName};
use kubefoundry_yaml::{Node, Span, Value};

/// The place where an object occurs first in the input.
#[derive(Debug, Clone, Copy)]
struct FirstOccurrence {
    source: SourceId,
    document: usize,
    span: Span,
}

/// Reports collisions, and returns the outputs and decisions in input order. Duplicate deployments come first: all
/// objects of a duplicate collide, and one finding about the deployment replaces one for each of them.
pub(crate) fn link<O: Clone>(
    deployments: Vec<ObjectResult<O>>,
    inputs: &[Arc<InputDocument>],
    sources: &SourceSet,
    findings: &mut RunFindings,
) -> (Vec<Output<O>>, Vec<Arc<Decision>>) {
    let mut reporter = CollisionReporter { sources, findings };
    let duplicates = report_duplicate_deployments(&deployments, inputs, &mut reporter);
    let deployment_count = deployments.len();
    let (mut outputs, mut hashes, mut decisions, mut served_names, mut origins) = (
        Vec::with_capacity(deployment_count),
        Vec::with_capacity(deployment_count),
        Vec::with_capacity(deployment_count),
        Vec::with_capacity(deployment_count),
        Vec::with_capacity(deployment_count),
    );
    for ObjectResult { input, mapped, .. } in deployments {
        let (Some(mapped), Some(document)) = (mapped, inputs.get(input)) else { continue };
        let TransformedObject { decision, served_name, objects } = Arc::unwrap_or_clone(mapped);
        for GeneratedObject { identity, identity_hash, object, role, .. } in objects {
            hashes.push(identity_hash);
            outputs.push(Output { identity, object, decision: decisions.len(), role });
        }
        decisions.push(decision);
        served_names.push(served_name);
        // All objects of a duplicate deployment collide; the finding about the deployment covers them.
        origins.push(Some(&**document).filter(|_| !duplicates.contains(&input)));
    }
    report_duplicate_served_names(&served_names, &origins, &mut reporter);
    report_collisions(&outputs, &hashes, &origins, inputs, &mut reporter);
    (outputs, decisions)
}

/// Reports ModelDeployments with the same name and namespace, whatever the spelling of their group. Returns the
/// positions of the later ones.
fn report_duplicate_deployments<O>(
    deployments: &[ObjectResult<O>],
    inputs: &[Arc<InputDocument>],
    reporter: &mut CollisionReporter<'_>,
) -> BTreeSet<usize> {
    let mut duplicates = BTreeSet::new();
    let mut first_occurrences: BTreeMap<IdentityKey<'_>, FirstOccurrence> = BTreeMap::new();
    let positioned_inputs =
        || deployments.iter().filter_map(|result| Some((result.input, &**inputs.get(result.input)?)));
    let named_inputs = || positioned_inputs().filter(|(_, input)| !input.header.name.is_empty());
    let repeated: RepeatedHashes = named_inputs().map(|(_, input)| input.identity_hash).collect();
    for (position, input) in named_inputs().filter(|(_, input)| repeated.contains(input.identity_hash)) {
        match first_occurrences.entry(IdentityKey::from_input(input)) {
            Entry::Occupied(first) => {
                duplicates.insert(position);
                let code = &codes::DUPLICATE_MODEL_DEPLOYMENT;
                let Header { kind, namespace, name, .. } = &input.header;
                let object = (&**kind, namespace.as_deref(), &**name);
                reporter.report(code, input, object, "is in the input twice", *first.get(), "first one here");
            }
            Entry::Vacant(entry) => drop(entry.insert(occurrence_of(input))),
        }
    }
    duplicates
}

/// Reports deployments of one namespace that set the same name for their models in requests. Only written names count: two
/// deployments of one model share the name that is derived from its id, and that is how a model moves from one provider
/// to another.
fn report_duplicate_served_names(
    served_names: &[Option<ServedName>],
    origins: &[Option<&InputDocument>],
    reporter: &mut CollisionReporter<'_>,
) {
    let mut first_occurrences: BTreeMap<(Option<&str>, &str), (&InputDocument, Span)> = BTreeMap::new();
    for (served_name, origin) in served_names.iter().zip(origins) {
        let (Some(ServedName { name, path, span }), Some(origin)) = (served_name, *origin) else { continue };
        match first_occurrences.entry((origin.header.namespace.as_deref(), name)) {
            Entry::Vacant(entry) => drop(entry.insert((origin, *span))),
            Entry::Occupied(first) => {
                let (first, first_span) = *first.get();
                let message = format!(
                    "the name {name:?} is also that of the model of {} {} in the same namespace, expected a name of its own",
                    first.header.kind, first.header.name
                );
                let occurrence = FirstOccurrence { source: first.source, document: first.index, span: first_span };
                let help = "a gateway or client that chooses by name cannot tell them apart: change one of the two";
                let code = &codes::DUPLICATE_SERVED_NAME;
                reporter.report_at(code, origin, (path.into(), *span), message, (occurrence, "first one here"), help);
            }
        }
    }
}

/// Reports objects that are generated twice, or that the input has too. An input object may be generated again by the
/// deployment that its ownership annotation names. `hashes` are those of the outputs, and `origins` are the
/// ModelDeployments by decision, without duplicates.
fn report_collisions<O>(
    outputs: &[Output<O>],
    hashes: &[IdentityHash],
    origins: &[Option<&InputDocument>],
    inputs: &[Arc<InputDocument>],
    reporter: &mut CollisionReporter<'_>,
) {
    let inputs = || inputs.iter().map(|input| &**input);
    let untransformed = || inputs().filter(|it| !it.rendered && !it.patch && !it.header.name.is_empty());
    let generated = || {
        let with_origin = |(output, hash): (_, &IdentityHash)| {
            let output: &Output<O> = output;
            Some((output, *hash, origins.get(output.decision).copied().flatten()?))
        };
        outputs.iter().zip(hashes).filter(|(output, _)| output.is_generated()).filter_map(with_origin)
    };
    let input_hashes = untransformed().map(|input| input.identity_hash);
    let repeated: RepeatedHashes = generated().map(|(_, hash, _)| hash).chain(input_hashes).collect();
    let input_objects: BTreeMap<IdentityKey<'_>, &InputDocument> = untransformed()
        .filter(|input| repeated.contains(input.identity_hash))
        .map(|input| (IdentityKey::from_input(input), input))
        .collect();
    // Only objects of an earlier run name an owner. Without one in the input, the owners need not be collected.
    let has_owned_inputs = input_objects.values().any(|input| input.owner.is_some());
    let deployments = inputs().filter(|input| has_owned_inputs && input.rendered);
    let owners: BTreeSet<String> = deployments.map(owner_of).collect();
    let mut first_occurrences: BTreeMap<IdentityKey<'_>, FirstOccurrence> = BTreeMap::new();
    for (Output { identity, .. }, _, origin) in generated().filter(|(_, hash, _)| repeated.contains(*hash)) {
        let key = IdentityKey::from_identity(identity);
        let object = (&*identity.kind, identity.namespace.as_deref(), &*identity.name);
        let code = &codes::OBJECT_COLLISION;
        match first_occurrences.entry(key) {
            Entry::Occupied(first) => {
                reporter.report(code, origin, object, "is generated twice", *first.get(), "first generated here");
                continue;
            }
            Entry::Vacant(entry) => drop(entry.insert(occurrence_of(origin))),
        }
        // If its ModelDeployment is gone or was renamed (by a name prefix, or a namespace set later in the pipeline),
        // no other deployment owns the object.
        let belongs_to_another = |owner: &String| *owner != owner_of(origin) && owners.contains(owner);
        if let Some(other) = input_objects.get(&key).filter(|other| other.owner.as_ref().is_none_or(belongs_to_another))
        {
            let verb = "is generated, but the input already has one";
            reporter.report(code, origin, object, verb, occurrence_of(other), "in the input here");
        }
    }
}

/// The identity of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct IdentityKey<'i> {
    name: &'i str,
    namespace: Option<&'i str>,
    kind: &'i str,
    group: &'i str,
}

impl<'i> IdentityKey<'i> {
    fn from_identity(Identity { group, kind, namespace, name }: &'i Identity) -> Self {
        Self { name, namespace: namespace.as_deref(), kind, group }
    }

    fn from_input(input: &'i InputDocument) -> Self {
        let header = &input.header;
        Self { name: &header.name, namespace: header.namespace.as_deref(), kind: &header.kind, group: header.group() }
    }
}

/// Returns the text with which generated objects name their deployment.
fn owner_of(input: &InputDocument) -> String {
    format!("{} {}", input.header.kind, owner_name(input.header.namespace.as_deref(), &input.header.name))
}

fn occurrence_of(input: &InputDocument) -> FirstOccurrence {
    FirstOccurrence { source: input.source, document: input.index, span: input.name_span }
}

/// Reports collisions to the findings of the run.
struct CollisionReporter<'r> {
    sources: &'r SourceSet,
    findings: &'r mut RunFindings,
}

impl CollisionReporter<'_> {
    /// Reports a collision at the name of `input`, with the first occurrence as a related location.
    fn report(
        &mut self,
        code: &'static Code,
        input: &InputDocument,
        (kind, namespace, name): (&str, Option<&str>, &str),
        verb: &str,
        first: FirstOccurrence,
        label: &str,
    ) {
        let object = owner_name(namespace, name);
        let message = format!("{kind} {object} {verb}");
        let place = (metadata().name().into(), input.name_span);
        let help = "rename one of the two, or put them into different namespaces";
        self.report_at(code, input, place, message, (first, label), help);
    }

    /// Reports a finding at a field of `input`, with the first occurrence as a related location.
    fn report_at(
        &mut self,
        code: &'static Code,
        input: &InputDocument,
        (place, span): (FieldRef, Span),
        message: String,
        (first, label): (FirstOccurrence, &str),
        help: &str,
    ) {
        // The documents have been dropped to save memory; only the spans of their names are left.
        let root = Node { value: Value::Null, span: input.span };
        let text = &self.sources.get(input.source).text;
        let object = Some(input.header.object());
        let mut collision =
            Findings::new(DocumentScope { source: input.source, text, document: input.index, root: &root, object });
        collision
            .report_at(code, place, span, message)
            .related_in(first.source, first.document, first.span, label)
            .help(help);
        collision.into_diagnostics().into_iter().for_each(|finding| self.findings.add(finding));
    }
}
