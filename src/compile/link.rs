//! Phase 3: what needs the whole set. No object may be made twice, or made where the input already has one.

use std::collections::BTreeMap;

use super::document::Document;
use super::index::{Index, InputDocument};
use super::map::{Mapped, Mark};
use super::{Decision, Output};
use crate::diagnostic::{Code, Diagnostic, Findings, ObjectRef, codes};
use crate::manifest::Identity;
use crate::source::SourceId;
use crate::yaml::Span;

/// Where an object was first seen.
#[derive(Debug, Clone, Copy)]
struct Place {
    source: SourceId,
    document: usize,
    span: Span,
}

/// Looks for collisions and lays everything out in input order.
pub(super) fn link(
    mapped: Vec<Mapped>,
    index: &Index<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> (Vec<Output>, Vec<Decision>) {
    duplicate_deployments(index, diagnostics);
    let mut made: BTreeMap<Identity, Place> = BTreeMap::new();
    let given = given_objects(index);
    let mut outputs = Vec::new();
    let mut decisions = Vec::new();
    for Mapped { deployment, mut decision, objects } in mapped {
        let Some(document) = index.deployments.get(deployment) else { continue };
        let place = place_of(document);
        for object in objects {
            let output = match object {
                Mark::Generated(manifest) => Output {
                    identity: manifest.identity(),
                    object: manifest.to_json(),
                    decision: decisions.len(),
                    passed_on: false,
                },
                Mark::PassedOn(object) => {
                    let header = &document.header;
                    let namespace = header.namespace.as_deref();
                    Output {
                        identity: Identity::new(&header.api_version, &header.kind, namespace, &header.name),
                        object,
                        decision: decisions.len(),
                        passed_on: true,
                    }
                }
            };
            let api_version = output.object.get("apiVersion").and_then(serde_json::Value::as_str).unwrap_or_default();
            decision.objects.push(ObjectRef {
                api_version: api_version.to_owned(),
                kind: output.identity.kind.clone(),
                namespace: output.identity.namespace.clone(),
                name: output.identity.name.clone(),
            });
            if !output.passed_on {
                if let Some(first) = made.get(&output.identity) {
                    let verb = "is generated twice";
                    report(
                        &codes::OBJECT_COLLISION,
                        document,
                        &output.identity,
                        verb,
                        *first,
                        "first made here",
                        diagnostics,
                    );
                } else {
                    let own = crate::manifest::owner_name(document.header.namespace.as_deref(), &document.header.name);
                    let foreign =
                        given.get(&output.identity).filter(|(_, owner)| owner.as_deref() != Some(own.as_str()));
                    if let Some((first, _)) = foreign {
                        let verb = "is generated, and the input has one";
                        report(
                            &codes::OBJECT_COLLISION,
                            document,
                            &output.identity,
                            verb,
                            *first,
                            "given here",
                            diagnostics,
                        );
                    }
                    made.insert(output.identity.clone(), place);
                }
            }
            outputs.push(output);
        }
        decisions.push(decision);
    }
    (outputs, decisions)
}

/// One ModelDeployment twice: the same name in the same namespace, whatever its group spells.
fn duplicate_deployments(index: &Index<'_>, diagnostics: &mut Vec<Diagnostic>) {
    let mut seen: BTreeMap<Identity, Place> = BTreeMap::new();
    for document in index.deployments.iter().filter(|document| !document.header.name.is_empty()) {
        let header = &document.header;
        let identity = Identity::new(&header.api_version, &header.kind, header.namespace.as_deref(), &header.name);
        if let Some(first) = seen.get(&identity) {
            let code = &codes::DUPLICATE_MODEL_DEPLOYMENT;
            report(code, document, &identity, "is in the input twice", *first, "first given here", diagnostics);
        } else {
            seen.insert(identity, place_of(document));
        }
    }
}

/// The objects of the input that are not rendered, each with the deployment that it was generated from earlier: such a
/// one may be generated again.
fn given_objects(index: &Index<'_>) -> BTreeMap<Identity, (Place, Option<String>)> {
    let foreign = index.inputs.iter().filter(|input| !input.rendered && !input.header.name.is_empty());
    foreign
        .map(|input| {
            let place = Place { source: input.source, document: input.index, span: input.name_span };
            (identity_of(input), (place, input.owner.clone()))
        })
        .collect()
}

fn identity_of(input: &InputDocument) -> Identity {
    let header = &input.header;
    Identity::new(&header.api_version, &header.kind, header.namespace.as_deref(), &header.name)
}

fn place_of(document: &Document<'_>) -> Place {
    let span = document.root.locate(&crate::path::FieldPath::parse("metadata.name"), crate::yaml::Target::Value);
    Place { source: document.source, document: document.index, span }
}

fn report(
    code: &'static Code,
    document: &Document<'_>,
    identity: &Identity,
    verb: &str,
    first: Place,
    label: &str,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let namespace = identity.namespace.as_ref().map(|namespace| format!("{namespace}/")).unwrap_or_default();
    let message = format!("{} {namespace}{} {verb}, expected one object of that name", identity.kind, identity.name);
    let mut findings = Findings::new(document.scope());
    findings
        .report(code, "metadata.name", message)
        .related_in(first.source, first.document, first.span, label)
        .help("rename one of them, or put them into different namespaces");
    diagnostics.extend(findings.into_diagnostics());
}
