//! Phase 3: what needs the whole set. No object may be made twice, or made where the input already has one.

use std::collections::{BTreeMap, BTreeSet};

use super::compilation::Output;
use super::decision::Decision;
use super::findings::RunFindings;
use super::map::{GeneratedObject, TransformedObject};
use super::results::ObjectResult;
use super::role::InputDocument;
use crate::codes;
use kubefoundry_diagnostics::source::{SourceId, SourceSet};
use kubefoundry_diagnostics::{Code, DocumentScope, Findings};
use kubefoundry_kubernetes::header::Header;
use kubefoundry_kubernetes::manifest::{Identity, owner_name};
use kubefoundry_kubernetes::wire::metadata;
use kubefoundry_yaml::{Node, Span, Value};

/// Where an object was first seen.
#[derive(Debug, Clone, Copy)]
struct FirstOccurrence {
    source: SourceId,
    document: usize,
    span: Span,
}

/// Looks for collisions and lays everything out in input order.
pub(super) fn link<O>(
    deployments: Vec<ObjectResult<O>>,
    inputs: &[InputDocument],
    sources: &SourceSet,
    found: &mut RunFindings,
) -> (Vec<Output<O>>, Vec<Decision>) {
    let mut report = CollisionReporter { sources, found };
    let repeated = duplicate_deployments(&deployments, inputs, &mut report);
    let number = deployments.len();
    let (mut outputs, mut decisions, mut origins) =
        (Vec::with_capacity(number), Vec::with_capacity(number), Vec::with_capacity(number));
    for ObjectResult { input, mapped, .. } in deployments {
        let (Some(mapped), Some(document)) = (mapped, inputs.get(input)) else { continue };
        let TransformedObject { mut decision, objects } = *mapped;
        decision.objects.reserve_exact(objects.len());
        for made in objects {
            decision.objects.push(made.reference());
            let GeneratedObject { identity, object, role, .. } = made;
            outputs.push(Output { identity, object, decision: decisions.len(), role });
        }
        decisions.push(decision);
        // Of a deployment that is there twice, all objects are: one finding says it.
        origins.push(Some(document).filter(|_| !repeated.contains(&input)));
    }
    collisions(&outputs, &origins, inputs, &mut report);
    (outputs, decisions)
}

/// One ModelDeployment twice: the same name in the same namespace, whatever its group spells.
/// Returns the positions of the later ones.
fn duplicate_deployments<O>(
    deployments: &[ObjectResult<O>],
    inputs: &[InputDocument],
    report: &mut CollisionReporter<'_>,
) -> BTreeSet<usize> {
    let mut repeated = BTreeSet::new();
    let mut seen: BTreeMap<IdentityKey<'_>, FirstOccurrence> = BTreeMap::new();
    let named = deployments.iter().filter_map(|result| Some((result.input, inputs.get(result.input)?)));
    for (position, input) in named.filter(|(_, input)| !input.header.name.is_empty()) {
        if let Some(first) = seen.get(&key_of(input)) {
            repeated.insert(position);
            let code = &codes::DUPLICATE_MODEL_DEPLOYMENT;
            let Header { kind, namespace, name, .. } = &input.header;
            report.collision(
                code,
                input,
                (kind, namespace.as_deref(), name),
                "is in the input twice",
                *first,
                "first one here",
            );
        } else {
            seen.insert(key_of(input), place_of(input));
        }
    }
    repeated
}

/// An object that is made twice, or that the input has; one there may be generated again by the deployment that it was
/// generated from earlier. `origins` are the ModelDeployments by decision, those left
/// out that are there twice.
fn collisions<O>(
    outputs: &[Output<O>],
    origins: &[Option<&InputDocument>],
    inputs: &[InputDocument],
    report: &mut CollisionReporter<'_>,
) {
    let foreign = inputs.iter().filter(|input| !input.rendered && !input.patch && !input.header.name.is_empty());
    let given: BTreeMap<IdentityKey<'_>, &InputDocument> = foreign.map(|input| (key_of(input), input)).collect();
    let owned = given.values().any(|input| input.owner.is_some());
    let deployments = inputs.iter().filter(|input| owned && input.rendered);
    let owners: BTreeSet<String> = deployments.map(owner_of).collect();
    let mut made: BTreeMap<IdentityKey<'_>, FirstOccurrence> = BTreeMap::new();
    for Output { identity, decision, .. } in outputs.iter().filter(|output| output.is_generated()) {
        let Some(origin) = origins.get(*decision).copied().flatten() else { continue };
        let Identity { group, kind, namespace, name } = identity;
        let key: IdentityKey<'_> = (group, kind, namespace.as_deref(), name);
        let object = (&**kind, namespace.as_deref(), &**name);
        let code = &codes::OBJECT_COLLISION;
        if let Some(first) = made.get(&key) {
            report.collision(code, origin, object, "is generated twice", *first, "first generated here");
            continue;
        }
        let own = owner_of(origin);
        // An object whose ModelDeployment is gone, or has another name or namespace by now (a name prefix, a namespace set
        // further down a pipeline), is nobody else's.
        let of_another = |owner: &String| *owner != own && owners.contains(owner);
        if let Some(other) = given.get(&key).filter(|other| other.owner.as_ref().is_none_or(of_another)) {
            let verb = "is generated, but the input has one already";
            report.collision(code, origin, object, verb, place_of(other), "in the input here");
        }
        made.insert(key, place_of(origin));
    }
}

/// What tells an object from others, as [`Identity`] has it: group, kind, namespace, name.
type IdentityKey<'i> = (&'i str, &'i str, Option<&'i str>, &'i str);

fn key_of(input: &InputDocument) -> IdentityKey<'_> {
    let header = &input.header;
    (header.group(), &header.kind, header.namespace.as_deref(), &header.name)
}

/// How objects name a deployment that they were generated from.
fn owner_of(input: &InputDocument) -> String {
    format!("{} {}", input.header.kind, owner_name(input.header.namespace.as_deref(), &input.header.name))
}

fn place_of(input: &InputDocument) -> FirstOccurrence {
    FirstOccurrence { source: input.source, document: input.index, span: input.name_span }
}

/// Where collisions are reported.
struct CollisionReporter<'r> {
    sources: &'r SourceSet,
    found: &'r mut RunFindings,
}

impl CollisionReporter<'_> {
    fn collision(
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
        // The documents are gone; where their names stand is known.
        let root = Node { value: Value::Null, span: input.span };
        let text = &self.sources.get(input.source).text;
        let object = Some(input.header.object());
        let mut findings =
            Findings::new(DocumentScope { source: input.source, text, document: input.index, root: &root, object });
        findings
            .report_at(code, metadata().name(), input.name_span, message)
            .related_in(first.source, first.document, first.span, label)
            .help("rename one of the two, or put them into different namespaces");
        findings.into_diagnostics().into_iter().for_each(|found| self.found.add(found));
    }
}
