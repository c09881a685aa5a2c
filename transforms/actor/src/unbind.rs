//! Unbinding: restoring an object that is marked as bound although no actor of the input binds to it.

use super::codes::{LEFTOVER_MOUNT, UNBOUND};
use super::inject;
use super::layout::Layout;
use super::{MANAGED_BY, binding, target};
use crate::ObjectSet;
use crate::wire::AsyncActor;
use kubefoundry_diagnostics::FieldRef;
use kubefoundry_transform::{ChangedObject, ObjectPosition, TransformOutput};
use kubefoundry_yaml::Node;
use kubefoundry_yaml::field_path::FieldPath;

/// Removes from an input object what an actor added that no longer exists or now binds to another object.
pub(super) fn revisit(position: usize, set: &ObjectSet<'_, '_>, out: &mut TransformOutput<'_>) {
    let Some(object) = set.inputs.get(position) else { return };
    let header = &object.header;
    let (group, kind, namespace) = (header.group(), &*header.kind, header.namespace.as_deref());
    let Some(layout) = Layout::find(group, kind) else { return };
    let path = FieldPath::from(AsyncActor::path().metadata().annotations()).key(MANAGED_BY);
    let Some(actor) = object.root.at(&path).and_then(Node::as_str).filter(|actor| !actor.is_empty()) else { return };
    // An object that this run generates contains no additions of an earlier run.
    if set.find_generated(group, kind, namespace, &header.name).is_some() {
        return;
    }
    let claims = |resolved: target::ResolvedTarget| resolved.target == ObjectPosition::Input(position);
    let mut actors = set.inputs.iter().filter_map(|it| binding::claimed(it, namespace, &header.name, set));
    if actors.any(claims) {
        return;
    }
    let message = format!("AsyncActor {actor} no longer binds to this {kind}, so what was added for it is removed");
    out.findings.report(&UNBOUND, FieldRef::key(&path), message);
    let restored = inject::strip(&object.root.to_json(), layout);
    for (container, volume) in inject::mounts_without_volume(&restored, layout) {
        let message = format!("container {container} mounts the volume {volume}, which is removed with the actor");
        out.findings
            .report(&LEFTOVER_MOUNT, FieldRef::key(&path), message)
            .help("remove the mount, or declare a volume of this name");
    }
    out.changed.push(ChangedObject { position: ObjectPosition::Input(position), object: restored });
}
