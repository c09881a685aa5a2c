//! ServiceAccounts and RBAC: one ClusterRole and one Role for each role of the operator, bound to the ServiceAccount of
//! the Deployment that runs it.

use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role as OwnRole, RoleBinding};
use k8s_openapi::api::rbac::v1::{RoleRef, Subject};

use super::object::{Object, metadata, owned_cluster_metadata};
use super::permissions::{Permission, Scope, permissions};
use super::{DeploymentUnit, InstallPlan};
use crate::role::Role;

/// Returns the ServiceAccounts of all Deployments, and the RBAC objects of all roles.
pub(super) fn objects(plan: &InstallPlan) -> Vec<Object> {
    let units = plan.units();
    let mut objects: Vec<Object> = units.iter().map(|unit| Object::from_resource(&account(plan, unit))).collect();
    for (unit, role) in units.iter().flat_map(|unit| unit.roles.iter().map(move |role| (unit, *role))) {
        let permissions = permissions(role, &plan.groups, plan.check_access);
        let name = rbac_name(role);
        objects.push(Object::from_resource(&ClusterRole {
            metadata: owned_cluster_metadata(&name, &plan.namespace),
            rules: Some(policy_rules(&permissions, Scope::Cluster)),
            aggregation_rule: None,
        }));
        objects.push(Object::from_resource(&ClusterRoleBinding {
            metadata: owned_cluster_metadata(&name, &plan.namespace),
            role_ref: role_ref("ClusterRole", &name),
            subjects: Some(vec![subject(plan, unit)]),
        }));
        objects.push(Object::from_resource(&OwnRole {
            metadata: metadata(&name, &plan.namespace),
            rules: Some(policy_rules(&permissions, Scope::Own)),
        }));
        objects.push(Object::from_resource(&RoleBinding {
            metadata: metadata(&name, &plan.namespace),
            role_ref: role_ref("Role", &name),
            subjects: Some(vec![subject(plan, unit)]),
        }));
    }
    objects
}

/// Returns the name of the RBAC objects of a role: `kubefoundry-kaito`.
fn rbac_name(role: Role) -> String {
    format!("kubefoundry-{}", role.name())
}

fn account(plan: &InstallPlan, unit: &DeploymentUnit) -> ServiceAccount {
    ServiceAccount { metadata: metadata(&unit.name, &plan.namespace), ..ServiceAccount::default() }
}

fn policy_rules(permissions: &[Permission], scope: Scope) -> Vec<PolicyRule> {
    let of_scope = permissions.iter().filter(|permission| permission.scope == scope);
    let to_strings = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    of_scope
        .map(|permission| PolicyRule {
            api_groups: Some(to_strings(&[permission.group])),
            resources: Some(to_strings(&permission.resources)),
            verbs: to_strings(permission.verbs),
            resource_names: (!permission.names.is_empty()).then(|| permission.names.clone()),
            non_resource_urls: None,
        })
        .collect()
}

fn role_ref(kind: &str, name: &str) -> RoleRef {
    RoleRef { api_group: "rbac.authorization.k8s.io".to_owned(), kind: kind.to_owned(), name: name.to_owned() }
}

fn subject(plan: &InstallPlan, unit: &DeploymentUnit) -> Subject {
    Subject {
        kind: "ServiceAccount".to_owned(),
        name: unit.name.clone(),
        namespace: Some(plan.namespace.clone()),
        ..Subject::default()
    }
}
