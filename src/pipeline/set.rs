//! What needs to see other objects: every transformation but that of models, on all that it asked to see.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::map::{self, Made, Mapped};
use super::stream::{Kept, Traces};
use super::{Decision, Header, OutputRole};
use super::{conformance, document};
use crate::composition;
use crate::composition::TRANSFORMS;
use crate::options::Options;
use kubefoundry_crd::Crds;
use kubefoundry_diagnostics::source::{Purpose, SourceSet};
use kubefoundry_diagnostics::{Diagnostic, Findings};
use kubefoundry_kubernetes::api_group;
use kubefoundry_kubernetes::manifest;
use kubefoundry_kubernetes::manifest::{Identity, Manifest};
use kubefoundry_transform::{AllSettings, AnyTransform, Changed, Generated, Object, Set, Sink, Target};
use kubefoundry_yaml::field_path::FieldPath;

/// What the owner annotation of a shared object says: it is no single object's.
const ALL: &str = "*";

/// Whether a text may hold an object of a transformation.
pub(super) fn is_needed(sources: &SourceSet) -> bool {
    sources.iter().any(|(_, source)| source.purpose == Purpose::Input && composition::may_hold_source(&source.text))
}

/// Runs the transformations, one after the other, each over its objects in input order.
pub(super) fn transform(traces: &mut Traces<'_, Value>, options: &Options, crds: Option<&Crds<'_>>) {
    let mut kept = std::mem::take(&mut traces.set);
    leave_out_copies(&mut kept);
    let (objects, places): (Vec<Object<'_>>, Vec<Place>) = kept.into_iter().map(Place::split).unzip();
    let (generated, made_at) = generated(traces);
    let set = Set { inputs: &objects, generated: &generated, images: &options.images, settings: &options.settings };
    let mut all_changed = Vec::new();
    for (position, transform) in TRANSFORMS.iter().enumerate() {
        let own = |place: &Place| place.transformed.filter(|(by, _)| *by == position);
        for (object, place) in objects.iter().zip(&places) {
            let Some((_, trace)) = own(place) else { continue };
            let mut out = Sink::new(Findings::new(object.scope()));
            transform.run(object, &set, &mut out);
            let (mapped, changed, found) = finish(*transform, object, out, &set, options, crds);
            for found in found {
                traces.found.add(found);
            }
            if let Some(trace) = traces.deployments.get_mut(trace) {
                trace.mapped = Some(Box::new(mapped));
            }
            all_changed.extend(changed.into_iter().map(|changed| (Some(trace), changed)));
        }
    }
    for (at, object) in objects.iter().enumerate() {
        for transform in TRANSFORMS {
            let mut out = Sink::new(Findings::new(object.scope()));
            transform.revisit(at, &set, &mut out);
            let (_, changed, found) = finish(*transform, object, out, &set, options, crds);
            for found in found {
                traces.found.add(found);
            }
            all_changed.extend(changed.into_iter().map(|changed| (None, changed)));
        }
    }
    share(traces);
    change(traces, all_changed, &objects, &places, &made_at);
}

/// Leaves out what an earlier run made of an object of the input that it changed: `--out-dir` may lie below the input. Such
/// a copy bears the annotation of what changed it, and its original does not.
fn leave_out_copies(kept: &mut Vec<Kept<'_>>) {
    let is_changed = |kept: &Kept<'_>| {
        let annotations = kept.object.root.get("metadata").and_then(|metadata| metadata.get("annotations"));
        kept.transformed.is_none()
            && composition::change_annotations().any(|key| annotations.is_some_and(|it| it.get(key).is_some()))
    };
    if !kept.iter().any(is_changed) {
        return;
    }
    let identity = |kept: &Kept<'_>| {
        let Header { api_version, kind, namespace, name } = &kept.object.header;
        Identity::new(api_version, kind, namespace.as_deref(), name)
    };
    let originals: BTreeSet<Identity> = kept.iter().filter(|kept| !is_changed(kept)).map(identity).collect();
    kept.retain(|kept| !is_changed(kept) || !originals.contains(&identity(kept)));
}

/// Where an object of the set stands among the traces.
#[derive(Debug, Clone, Copy)]
struct Place {
    input: usize,
    transformed: Option<(usize, usize)>,
}

impl Place {
    fn split(kept: Kept<'_>) -> (Object<'_>, Self) {
        let Kept { input, object, transformed } = kept;
        (object, Self { input, transformed })
    }
}

/// What models became, and which object of which trace each is.
fn generated(traces: &Traces<'_, Value>) -> (Vec<Generated>, Vec<(usize, usize)>) {
    let of_trace = |(trace, it): (usize, &super::stream::Trace<Value>)| {
        let objects = it.mapped.as_deref().map(|mapped| mapped.objects.as_slice()).unwrap_or_default();
        let objects = objects.iter().enumerate().filter(|(_, made)| made.role == OutputRole::Generated);
        let made = objects.map(|(position, made)| {
            let Made { api_version, identity, object, .. } = made;
            let (api_version, identity, object) = (api_version.to_string(), identity.clone(), object.clone());
            (Generated { api_version, identity, object }, (trace, position))
        });
        made.collect::<Vec<_>>()
    };
    traces.deployments.iter().enumerate().flat_map(of_trace).unzip()
}

/// Marks what an object became as its own, checks it against a dump of CRDs, and decides on it.
fn finish(
    transform: &dyn AnyTransform,
    object: &Object<'_>,
    out: Sink<'_>,
    set: &Set<'_, '_, AllSettings>,
    options: &Options,
    crds: Option<&Crds<'_>>,
) -> (Mapped<Value>, Vec<Changed>, Vec<Diagnostic>) {
    let Sink { mut findings, mut manifests, mut shared, changed, endpoint } = out;
    own(transform, object, &mut manifests, options, &mut findings);
    let namespace = object.header.namespace.as_deref();
    for manifest in &mut shared {
        manifest.metadata.namespace = namespace.map(str::to_owned);
        manifest::mark_owned(manifest, api_group::DEFAULT, transform.owner_annotation(), None, ALL);
    }
    for Changed { target, .. } in &changed {
        if let Target::Input(position) = target
            && let Some(target) = set.inputs.get(*position)
        {
            // What strict reading refuses in it would be lost.
            target.problems.iter().for_each(|problem| document::report_failure(problem, &mut findings));
        }
    }
    let mut decision = Decision::new(object.header.object(), object.source, object.document);
    decision.endpoint = endpoint;
    if let Some(crds) = crds {
        let made = shared.iter().chain(&manifests).cloned().map(Manifest::into_json);
        conformance::check_objects(&made.collect::<Vec<_>>(), crds, &mut findings);
        for Changed { target, object } in &changed {
            let before = match target {
                Target::Input(position) => set.inputs.get(*position).map(|input| input.root.to_json()),
                Target::Generated(position) => set.generated.get(*position).map(|made| made.object.clone()),
            };
            conformance::check_change(&before.unwrap_or_default(), object, crds, &mut findings);
        }
    }
    let shared = shared.into_iter().map(|manifest| Made { role: OutputRole::Shared, ..Made::generated(manifest) });
    let objects = shared.chain(manifests.into_iter().map(Made::generated)).collect();
    (Mapped { decision, objects }, changed, findings.into_diagnostics())
}

fn own(
    transform: &dyn AnyTransform,
    object: &Object<'_>,
    manifests: &mut [Manifest],
    options: &Options,
    findings: &mut Findings<'_>,
) {
    let header = &object.header;
    let owner = (options.owner_references && !manifests.is_empty()).then(|| {
        let uid = object.root.at(&FieldPath::parse("metadata.uid")).and_then(|uid| uid.as_str());
        map::owner(header.api_version.to_string(), &header.kind, &header.name, uid, findings)
    });
    let owner = owner.flatten();
    for manifest in manifests {
        manifest.metadata.namespace = header.namespace.as_deref().map(str::to_owned);
        let annotation = transform.owner_annotation();
        manifest::mark_owned(manifest, api_group::DEFAULT, annotation, header.namespace.as_deref(), &header.name);
        if manifest.kind != "PersistentVolumeClaim" {
            manifest.metadata.owner_references.extend(owner.clone());
        }
    }
}

/// Keeps the first of equal objects that several share. Those that differ are a collision, which the linker finds.
fn share(traces: &mut Traces<'_, Value>) {
    let mut seen: BTreeMap<Identity, Value> = BTreeMap::new();
    for mapped in traces.deployments.iter_mut().filter_map(|trace| trace.mapped.as_deref_mut()) {
        mapped.objects.retain(|made| {
            if made.role != OutputRole::Shared {
                return true;
            }
            if let Some(first) = seen.get(&made.identity) {
                return *first != made.object;
            }
            seen.insert(made.identity.clone(), made.object.clone());
            true
        });
    }
}

/// Puts changed objects in the place of those that they were, or beside what their transformation made.
fn change(
    traces: &mut Traces<'_, Value>,
    changed: Vec<(Option<usize>, Changed)>,
    objects: &[Object<'_>],
    places: &[Place],
    made_at: &[(usize, usize)],
) {
    for (by, Changed { target, object }) in changed {
        match target {
            Target::Generated(position) => {
                let made = made_at.get(position).and_then(|(trace, position)| {
                    let mapped = traces.deployments.get_mut(*trace)?.mapped.as_deref_mut()?;
                    mapped.objects.get_mut(*position)
                });
                if let Some(made) = made {
                    made.object = object;
                }
            }
            Target::Input(position) => {
                let (Some(target), Some(place)) = (objects.get(position), places.get(position)) else { continue };
                let header = &target.header;
                let namespace = header.namespace.as_deref();
                let made = Made {
                    api_version: header.api_version.clone(),
                    identity: Identity::new(&header.api_version, &header.kind, namespace, &header.name),
                    object,
                    role: OutputRole::Changed,
                };
                let mapped = by.and_then(|trace| traces.deployments.get_mut(trace)?.mapped.as_deref_mut());
                if let Some(mapped) = mapped {
                    mapped.objects.push(made);
                } else {
                    let decision = Decision::new(header.object(), target.source, target.document);
                    traces.changed(place.input, Mapped { decision, objects: vec![made] });
                }
            }
        }
    }
}
