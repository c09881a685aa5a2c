//! What a kind of claimed objects brings along: which objects it reads, and what its status says.

use kube::core::{ApiResource, GroupVersionKind};
use kubefoundry_compiler::cluster_snapshot::time::Time;
use kubefoundry_kubernetes::header::is_builtin_group;
use serde_json::Value;

use super::binding::TargetReference;
use super::rendering::Rendered;
use super::report::Report;
use crate::status::StatusUpdate;

/// A kind whose objects this operator runs once they are handed to it.
pub trait ClaimedKind: Sync {
    /// Returns the name of the role, the controller and the field manager: `actors`.
    fn name(&self) -> &'static str;

    /// Returns the group and the kind.
    fn group_kind(&self) -> (&'static str, &'static str);

    /// Returns the kind in the version that the operator reads.
    fn resource(&self) -> ApiResource;

    /// Returns the kind as RBAC names it.
    fn plural(&self) -> &'static Plural;

    /// Returns the field manager of the controller.
    fn manager(&self) -> &'static str;

    /// Returns the finalizer, without the prefix; none for a kind whose deletion the garbage collector completes.
    fn finalizer(&self) -> Option<&'static str>;

    /// Returns every kind that the controller reads or writes.
    fn related(&self) -> &'static [RelatedKind];

    /// Returns the objects that rendering needs.
    fn inputs(&self, object: &Value) -> Vec<Read>;

    /// Returns further objects that the status is about.
    fn surroundings(&self, object: &Value) -> Vec<Read>;

    /// Whether the object changes a workload of another owner.
    fn binds(&self, _object: &Value) -> bool {
        false
    }

    /// Whether the object, as it is now, means a workload that it was bound to.
    fn means(&self, _object: &Value, _target: &TargetReference) -> bool {
        false
    }

    /// Returns the status, without the conditions about applying and binding.
    fn status(&self, view: &View<'_>) -> StatusUpdate;
}

/// The names of a kind in RBAC.
#[derive(Debug)]
pub struct Plural {
    pub objects: &'static str,
    pub status: &'static str,
    pub finalizers: &'static str,
}

/// What is known when the status is written.
pub struct View<'v> {
    /// The claimed object.
    pub(super) object: &'v Value,
    /// What it renders to; none if it has errors.
    pub(super) rendered: Option<&'v Rendered>,
    /// Generated objects, inputs and surroundings as they are in the cluster.
    pub(super) live: &'v [Value],
    pub(super) outcome: Report<'v>,
    pub(super) now: Time,
}

/// Objects to read in the namespace of the claimed object.
#[derive(Debug, Clone, PartialEq)]
pub enum Read {
    /// The object of this name.
    Named(ApiResource, String),
    /// All objects with a label: `key=value`.
    Labeled(ApiResource, String),
}

/// A kind that a controller of claimed objects reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RelatedKind {
    /// Empty for the core group.
    pub group: &'static str,
    /// The version of a built-in kind. That of a kind with a CRD is the one that the CRD serves first.
    pub version: &'static str,
    /// The kind.
    pub kind: &'static str,
    /// The plural, by which the apiserver knows it.
    pub plural: &'static str,
    /// A label selector that all objects of interest match; empty for all objects.
    pub labels: &'static str,
    /// What is done with its objects.
    pub access: Access,
}

/// The label of everything that the engine generates.
pub(super) const GENERATED: &str = "kubefoundry.ai/managed-by=kubefoundry";

/// Describes a kind by its group and version, its kind and plural.
pub(super) const fn related(
    (group, version): (&'static str, &'static str),
    (kind, plural): (&'static str, &'static str),
    labels: &'static str,
    access: Access,
) -> RelatedKind {
    RelatedKind { group, version, kind, plural, labels, access }
}

/// What a controller does with a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reads it.
    Read,
    /// Reads objects of other owners, and binds to them.
    Bind,
    /// Creates, changes and deletes objects of its own.
    Manage,
    /// Creates and changes objects that outlive the claimed one.
    Keep,
}

impl RelatedKind {
    /// Whether the kind is part of Kubernetes, and not defined by a CRD.
    pub fn is_built_in(&self) -> bool {
        is_builtin_group(self.group)
    }

    /// Returns the API resource in a version.
    pub fn resource(&self, version: &str) -> ApiResource {
        let kind = GroupVersionKind::gvk(self.group, version, self.kind);
        ApiResource::from_gvk_with_plural(&kind, self.plural)
    }
}
