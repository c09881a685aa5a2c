//! Un-binding: an object that says that an actor was added to it, and no actor says so.

use super::codes::UNBOUND;
use super::inject;
use super::layout::Layout;
use super::{MANAGED_BY, binding, target};
use crate::ObjectSet;
use crate::wire::AsyncActor;
use kubefoundry_diagnostics::FieldRef;
use kubefoundry_transform::{ChangedObject, ObjectPosition, TransformOutput};
use kubefoundry_yaml::Node;
use kubefoundry_yaml::field_path::FieldPath;

/// Takes out of an object of the input what an actor that is gone, or that is bound elsewhere by now, had added.
pub(super) fn revisit(position: usize, set: &ObjectSet<'_, '_>, out: &mut TransformOutput<'_>) {
    let Some(object) = set.inputs.get(position) else { return };
    let header = &object.header;
    let (group, kind, namespace) = (header.group(), &*header.kind, header.namespace.as_deref());
    let Some(layout) = Layout::of(group, kind) else { return };
    let path = FieldPath::from(AsyncActor::path().metadata().annotations()).key(MANAGED_BY);
    let Some(actor) = object.root.at(&path).and_then(Node::as_str).filter(|actor| !actor.is_empty()) else { return };
    // What is generated anew has nothing in it.
    if set.generated(group, kind, namespace, &header.name).is_some() {
        return;
    }
    let claims = |resolved: target::Resolved| resolved.target == ObjectPosition::Input(position);
    let mut actors = set.inputs.iter().filter_map(|it| binding::claimed(it, namespace, &header.name, set));
    if actors.any(claims) {
        return;
    }
    let message = format!("AsyncActor {actor} no longer binds to this {kind}; its additions are removed");
    out.findings.report(&UNBOUND, FieldRef::key(&path), message);
    out.changed.push(ChangedObject {
        position: ObjectPosition::Input(position),
        object: inject::strip(&object.root.to_json(), layout),
    });
}
