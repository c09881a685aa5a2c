//! Differences between two outputs of a deployment: created and deleted objects, and changed fields of the others.

use serde_json::Value;

use super::difference::{Granularity, coarsen, differences};
use kubefoundry_diagnostics::ObjectRef;
use kubefoundry_yaml::field_path::FieldPath;

/// Maximum number of changed fields told apart in one object; beyond it, fields are merged into their parents.
const MAX_CHANGES_PER_OBJECT: usize = 256;

/// An object's reference and its content.
pub(super) type Object = (ObjectRef, Value);

/// A difference between two outputs of a deployment.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RenderedChange {
    /// The object after the change, or before it if it was deleted.
    pub(super) object: ObjectRef,
    /// Whether this is the main object of the deployment.
    pub(super) is_main: bool,
    /// The path; the root for an object that was created or deleted.
    pub(super) path: FieldPath,
    /// The old value; `None` if it is new.
    pub(super) before: Option<Value>,
    /// The new value; `None` if it was deleted.
    pub(super) after: Option<Value>,
}

impl RenderedChange {
    /// Returns whether the object itself was created or deleted.
    pub(super) fn is_whole(&self) -> bool {
        self.path.segments().is_empty()
    }

    /// Returns whether one of two changes is part of the other.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        is_same(&self.object, &other.object)
            && (self.path.starts_with(&other.path) || other.path.starts_with(&self.path))
    }
}

/// Returns whether two references name one object, regardless of the version in which it is written.
pub(super) fn is_same(one: &ObjectRef, other: &ObjectRef) -> bool {
    let group = |object: &ObjectRef| object.api_version.rsplit_once('/').map(|(group, _)| group.to_owned());
    one.kind == other.kind
        && one.name == other.name
        && one.namespace == other.namespace
        && (one.api_version == other.api_version || group(one) == group(other))
}

/// Lists the differences between two outputs of one deployment. The main object is the last of each.
pub(super) fn diff_outputs(before: &[Object], after: &[Object]) -> Vec<RenderedChange> {
    let mut changes = Vec::new();
    let is_last = |objects: &[Object], position: usize| position + 1 == objects.len();
    for (position, (object, new)) in after.iter().enumerate() {
        let is_main = is_last(after, position);
        let old = before.iter().find(|(other, _)| is_same(object, other));
        let change = |path, before, after| RenderedChange { object: object.clone(), is_main, path, before, after };
        match old {
            None => changes.push(change(FieldPath::root(), None, Some(new.clone()))),
            Some((_, old)) => {
                let fields = coarsen(differences(old, new, Granularity::Trees), MAX_CHANGES_PER_OBJECT, old, new);
                changes.extend(fields.into_iter().map(|it| change(it.path, it.before, it.after)));
            }
        }
    }
    for (position, (object, old)) in before.iter().enumerate() {
        if !after.iter().any(|(other, _)| is_same(object, other)) {
            let (object, is_main) = (object.clone(), is_last(before, position));
            changes.push(RenderedChange {
                object,
                is_main,
                path: FieldPath::root(),
                before: Some(old.clone()),
                after: None,
            });
        }
    }
    changes
}
