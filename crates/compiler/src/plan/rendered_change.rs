//! What moved in the output: objects that came or went, and fields of those that stayed.

use serde_json::Value;

use super::difference::{Granularity, coarsen, differences};
use kubefoundry_diagnostics::ObjectRef;
use kubefoundry_yaml::field_path::FieldPath;

/// Fields of an object that are told apart; more are put together.
const MAX_CHANGES_PER_OBJECT: usize = 256;

/// An object and what is in it.
pub(super) type Object = (ObjectRef, Value);

/// Something in the output that is not as it was.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RenderedChange {
    /// The object, as it is after, or was before it went.
    pub(super) object: ObjectRef,
    /// Whether it is the main object of its deployment.
    pub(super) is_main: bool,
    /// The field; the root for an object that came or went.
    pub(super) path: FieldPath,
    /// What was there; nothing when it is new.
    pub(super) before: Option<Value>,
    /// What is there; nothing when it is gone.
    pub(super) after: Option<Value>,
}

impl RenderedChange {
    /// Whether the object itself came or went.
    pub(super) fn is_whole(&self) -> bool {
        self.path.segments().is_empty()
    }

    /// Whether one of two movements is a part of the other.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        is_same(&self.object, &other.object)
            && (self.path.starts_with(&other.path) || other.path.starts_with(&self.path))
    }
}

/// Whether two references are to one object: it may be written in several versions.
pub(super) fn is_same(one: &ObjectRef, other: &ObjectRef) -> bool {
    let group = |object: &ObjectRef| object.api_version.rsplit_once('/').map(|(group, _)| group.to_owned());
    one.kind == other.kind
        && one.name == other.name
        && one.namespace == other.namespace
        && (one.api_version == other.api_version || group(one) == group(other))
}

/// Everything that moved between two outputs of one deployment, whose main object comes last.
pub(super) fn between(before: &[Object], after: &[Object]) -> Vec<RenderedChange> {
    let mut movements = Vec::new();
    let main = |objects: &[Object], position: usize| position + 1 == objects.len();
    for (position, (object, new)) in after.iter().enumerate() {
        let is_main = main(after, position);
        let old = before.iter().find(|(other, _)| is_same(object, other));
        let moved = |path, before, after| RenderedChange { object: object.clone(), is_main, path, before, after };
        match old {
            None => movements.push(moved(FieldPath::root(), None, Some(new.clone()))),
            Some((_, old)) => {
                let fields = coarsen(differences(old, new, Granularity::Trees), MAX_CHANGES_PER_OBJECT, old, new);
                movements.extend(fields.into_iter().map(|it| moved(it.path, it.before, it.after)));
            }
        }
    }
    for (position, (object, old)) in before.iter().enumerate() {
        if !after.iter().any(|(other, _)| is_same(object, other)) {
            let (object, is_main) = (object.clone(), main(before, position));
            movements.push(RenderedChange {
                object,
                is_main,
                path: FieldPath::root(),
                before: Some(old.clone()),
                after: None,
            });
        }
    }
    movements
}
