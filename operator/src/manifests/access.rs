//! Accounts, and what they may do: one ClusterRole and one Role for each role of the operator, bound to the account of
//! the Deployment that runs it.

use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role as OwnRole, RoleBinding};
use k8s_openapi::api::rbac::v1::{RoleRef, Subject};

use super::object::{Object, cluster_metadata, metadata};
use super::rights::{Right, Scope, rights};
use super::{Plan, Unit};
use crate::role::Role;

/// The accounts of all Deployments, the rights of all their roles, and who has them.
pub(super) fn objects(plan: &Plan) -> Vec<Object> {
    let units = plan.units();
    let mut objects: Vec<Object> = units.iter().map(|unit| Object::of(&account(plan, unit))).collect();
    for (unit, role) in units.iter().flat_map(|unit| unit.roles.iter().map(move |role| (unit, *role))) {
        let rights = rights(role, &plan.groups, plan.check_access);
        let name = name(role);
        objects.push(Object::of(&ClusterRole {
            metadata: cluster_metadata(&name),
            rules: Some(rules(&rights, Scope::Cluster)),
            aggregation_rule: None,
        }));
        objects.push(Object::of(&ClusterRoleBinding {
            metadata: cluster_metadata(&name),
            role_ref: reference("ClusterRole", &name),
            subjects: Some(vec![subject(plan, unit)]),
        }));
        objects.push(Object::of(&OwnRole {
            metadata: metadata(&name, &plan.namespace),
            rules: Some(rules(&rights, Scope::Own)),
        }));
        objects.push(Object::of(&RoleBinding {
            metadata: metadata(&name, &plan.namespace),
            role_ref: reference("Role", &name),
            subjects: Some(vec![subject(plan, unit)]),
        }));
    }
    objects
}

/// What the rights of a role are called: `kubefoundry-kaito`.
fn name(role: Role) -> String {
    format!("kubefoundry-{}", role.name())
}

fn account(plan: &Plan, unit: &Unit) -> ServiceAccount {
    ServiceAccount { metadata: metadata(&unit.name, &plan.namespace), ..ServiceAccount::default() }
}

fn rules(rights: &[Right], scope: Scope) -> Vec<PolicyRule> {
    let of_scope = rights.iter().filter(|right| right.scope == scope);
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    of_scope
        .map(|right| PolicyRule {
            api_groups: Some(owned(&[right.group])),
            resources: Some(owned(&right.resources)),
            verbs: owned(right.verbs),
            resource_names: (!right.names.is_empty()).then(|| right.names.clone()),
            non_resource_urls: None,
        })
        .collect()
}

fn reference(kind: &str, name: &str) -> RoleRef {
    RoleRef { api_group: "rbac.authorization.k8s.io".to_owned(), kind: kind.to_owned(), name: name.to_owned() }
}

fn subject(plan: &Plan, unit: &Unit) -> Subject {
    Subject {
        kind: "ServiceAccount".to_owned(),
        name: unit.name.clone(),
        namespace: Some(plan.namespace.clone()),
        ..Subject::default()
    }
}
