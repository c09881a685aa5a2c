//! The permissions of the roles that are off by default: those on the kinds that their controllers read and write.

use kubefoundry_reconcile::claimed::{Access, ClaimedKind};

use super::{MANAGE, Permission, WATCH, cluster_wide, leader_permissions};
use crate::role::Role;

const BIND: &[&str] = &["get", "list", "watch", "patch"];
const KEEP: &[&str] = &["get", "list", "watch", "create", "patch"];

/// Returns all permissions of the role of a kind.
pub(super) fn permissions(role: Role, kind: &'static dyn ClaimedKind) -> Vec<Permission> {
    let (group, _) = kind.group_kind();
    let plural = kind.plural();
    let mut permissions = vec![
        cluster_wide(
            "apiextensions.k8s.io",
            vec!["customresourcedefinitions"],
            WATCH,
            "watches which of the kinds below are installed",
        ),
        cluster_wide(group, vec![plural.objects], WATCH, "watches the objects that may be handed to the operator"),
        cluster_wide(group, vec![plural.status], &["patch"], "writes their status"),
        cluster_wide(
            group,
            vec![plural.finalizers],
            &["update"],
            "sets owner references that block deletion, where OwnerReferencesPermissionEnforcement is enabled",
        ),
    ];
    if kind.finalizer().is_some() {
        permissions.push(cluster_wide(group, vec![plural.objects], &["patch"], "writes the finalizer"));
    }
    permissions.extend(leader_permissions(role));
    let rows = [
        (Access::Read, WATCH, "reads what rendering and the status need"),
        (Access::Bind, BIND, "adds actors to workloads, and removes them"),
        (Access::Keep, KEEP, "creates objects that outlive their source; never deletes them"),
        (Access::Manage, MANAGE, "applies and deletes objects"),
    ];
    for (access, verbs, reason) in rows {
        let related = || kind.related().iter().filter(|related| related.access == access);
        let mut groups: Vec<&'static str> = related().map(|related| related.group).collect();
        groups.sort_unstable();
        groups.dedup();
        for group in groups {
            let plurals = related().filter(|related| related.group == group).map(|related| related.plural);
            permissions.push(cluster_wide(group, plurals.collect(), verbs, reason));
        }
    }
    permissions
}
