//! The permissions of each role, with reasons. ClusterRoles, Roles and the documentation are generated from this table.
//! The kinds of a provider come from the provider itself.

mod claimed;

use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_model::gateway;
use kubefoundry_provider::Provider;
use kubefoundry_webhook::{ca_bundle, certificates};

use crate::role::{Role, SELECTOR_LEASE};

/// The scope of a permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// In the whole cluster.
    Cluster,
    /// In the namespace of the operator.
    Own,
}

#[cfg(test)]
impl Scope {
    /// Returns the scope as the table of the documentation names it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Cluster => "cluster",
            Self::Own => "own namespace",
        }
    }
}

/// An RBAC policy rule with the reason for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Permission {
    pub(crate) scope: Scope,
    /// Empty for the core group.
    pub(crate) group: &'static str,
    pub(crate) resources: Vec<&'static str>,
    pub(crate) verbs: &'static [&'static str],
    /// Empty for objects of any name.
    pub(crate) names: Vec<String>,
    pub(crate) reason: &'static str,
}

const WATCH: &[&str] = &["get", "list", "watch"];
const MANAGE: &[&str] = &["get", "list", "watch", "create", "patch", "delete"];

fn cluster_wide(
    group: &'static str,
    resources: Vec<&'static str>,
    verbs: &'static [&'static str],
    reason: &'static str,
) -> Permission {
    Permission { scope: Scope::Cluster, group, resources, verbs, names: Vec::new(), reason }
}

fn own_namespace(
    group: &'static str,
    resources: Vec<&'static str>,
    verbs: &'static [&'static str],
    reason: &'static str,
) -> Permission {
    Permission { scope: Scope::Own, ..cluster_wide(group, resources, verbs, reason) }
}

impl Permission {
    /// Restricts the permission to objects with these names.
    fn named<'n>(mut self, names: impl IntoIterator<Item = &'n str>) -> Self {
        self.names = names.into_iter().map(ToOwned::to_owned).collect();
        self
    }
}

/// Returns all permissions of a role for deployments of these API groups.
pub(crate) fn permissions(role: Role, groups: &[&'static ApiGroup], check_access: bool) -> Vec<Permission> {
    if let Role::Claimed(kind) = role {
        return claimed::permissions(role, kind);
    }
    let mut permissions = common_permissions(groups);
    match role {
        Role::Claimed(_) => {}
        Role::Webhooks => permissions.extend(webhook_permissions(groups, check_access)),
        Role::Core => permissions.extend(controller_permissions(role, groups, "writes the condition `Validated`")),
        Role::Selector => permissions.extend(controller_permissions(role, groups, "writes the selected provider")),
        Role::Provider(provider) => {
            permissions.extend(controller_permissions(
                role,
                groups,
                "writes phase, message, endpoint, replicas and conditions",
            ));
            permissions.extend(provider_permissions(provider, groups));
        }
    }
    permissions
}

/// Returns the read permissions of every role. All roles evaluate deployments, which needs the state of the cluster.
fn common_permissions(groups: &[&'static ApiGroup]) -> Vec<Permission> {
    let ours = groups.iter().flat_map(|api_group| {
        let configurations = vec!["inferenceproviderconfigs"];
        [
            cluster_wide(api_group.name, vec!["modeldeployments"], WATCH, "watches ModelDeployments"),
            cluster_wide(api_group.name, configurations, WATCH, "watches which providers can be selected"),
        ]
    });
    let crds = vec!["customresourcedefinitions"];
    ours.chain([
        cluster_wide(
            "apiextensions.k8s.io",
            crds,
            WATCH,
            "watches which versions of the providers' kinds are installed",
        ),
        cluster_wide("", vec!["namespaces"], WATCH, "reads the annotation `allowed-providers`"),
    ])
    .collect()
}

const WATCH_AND_PATCH: &[&str] = &["list", "watch", "patch"];
const WATCH_AND_UPDATE: &[&str] = &["get", "list", "watch", "update"];

fn webhook_permissions(groups: &[&'static ApiGroup], check_access: bool) -> Vec<Permission> {
    let own_crds: Vec<String> = super::crds::names(groups);
    let own_crds = own_crds.iter().map(String::as_str);
    let configurations = vec!["mutatingwebhookconfigurations", "validatingwebhookconfigurations"];
    let mut permissions = vec![
        cluster_wide("admissionregistration.k8s.io", configurations, WATCH_AND_PATCH, "keeps the caBundle current")
            .named([ca_bundle::CONFIGURATION]),
        cluster_wide(
            "apiextensions.k8s.io",
            vec!["customresourcedefinitions"],
            &["patch"],
            "keeps the caBundle of conversion webhooks current",
        )
        .named(own_crds),
        own_namespace("", vec!["secrets"], WATCH_AND_UPDATE, "stores the certificate and key of the webhooks")
            .named([certificates::SECRET]),
        own_namespace("", vec!["secrets"], &["create"], "creates this Secret; RBAC cannot restrict `create` to a name"),
    ];
    if check_access {
        permissions.push(cluster_wide(
            "authorization.k8s.io",
            vec!["subjectaccessreviews"],
            &["create"],
            "checks whether a user may create the provider's objects (only with `--check-access`)",
        ));
    }
    permissions
}

/// Returns the permissions of every role with a controller: to lead, and to publish events.
fn leader_permissions(role: Role) -> Vec<Permission> {
    let lease = role.lease_name();
    let leases = || vec!["leases"];
    let lead = own_namespace("coordination.k8s.io", leases(), &["get", "update"], "leader election of the role");
    vec![
        cluster_wide("events.k8s.io", vec!["events"], &["create", "patch"], "publishes events"),
        lead.named([lease.as_str()]),
        own_namespace(
            "coordination.k8s.io",
            leases(),
            &["create"],
            "creates this Lease; RBAC cannot restrict `create` to a name",
        ),
    ]
}

fn controller_permissions(role: Role, groups: &[&'static ApiGroup], reason: &'static str) -> Vec<Permission> {
    let mut permissions = leader_permissions(role);
    if role == Role::Core {
        let look = own_namespace("coordination.k8s.io", vec!["leases"], &["get"], "checks whether a selector runs");
        permissions.push(look.named([SELECTOR_LEASE]));
    }
    let status = |api_group: &&'static ApiGroup| {
        cluster_wide(api_group.name, vec!["modeldeployments/status"], &["patch"], reason)
    };
    permissions.extend(groups.iter().map(status));
    permissions
}

fn provider_permissions(provider: &'static dyn Provider, groups: &[&'static ApiGroup]) -> Vec<Permission> {
    let mut permissions = Vec::new();
    for api_group in groups {
        let group = api_group.name;
        permissions.extend([
            cluster_wide(
                group,
                vec!["modeldeployments"],
                &["patch"],
                "writes the finalizer and the annotation `dry-run-result`",
            ),
            cluster_wide(
                group,
                vec!["modeldeployments/finalizers"],
                &["update"],
                "sets owner references that block deletion, where OwnerReferencesPermissionEnforcement is enabled",
            ),
            cluster_wide(group, vec!["inferenceproviderconfigs"], &["create", "patch"], "registers the provider"),
            cluster_wide(
                group,
                vec!["inferenceproviderconfigs/status"],
                &["patch"],
                "writes heartbeat, version and installed CRD version",
            ),
        ]);
    }
    let kinds = kinds(provider);
    let of_group = |wanted: &str| -> Vec<&'static str> {
        kinds.iter().filter(|kind| kind.group == wanted).map(|kind| kind.plural).collect()
    };
    let mut upstream: Vec<&'static str> =
        kinds.iter().map(|kind| kind.group).filter(|group| !group.is_empty()).collect();
    upstream.dedup();
    for group in upstream {
        let is_of_gateway = gateway::KINDS.iter().any(|kind| kind.group == group);
        let reason = if is_of_gateway {
            "applies and deletes what leads from a Gateway to a model, for deployments with spec.gateway"
        } else {
            "applies and deletes the provider's objects"
        };
        permissions.push(cluster_wide(group, of_group(group), MANAGE, reason));
    }
    let (claims, supporting): (Vec<_>, Vec<_>) = of_group("").into_iter().partition(|plural| *plural == CLAIMS);
    if !supporting.is_empty() {
        permissions.push(cluster_wide("", supporting, MANAGE, "applies and deletes supporting objects"));
    }
    if !claims.is_empty() {
        permissions.push(cluster_wide(
            "",
            claims,
            &["get", "create", "patch"],
            "creates and enlarges volume claims; never deletes them",
        ));
    }
    permissions.push(cluster_wide(
        "",
        vec!["secrets"],
        &["get"],
        "checks that the Secrets of a deployment exist; only metadata is requested, which RBAC cannot express",
    ));
    permissions
}

const CLAIMS: &str = "persistentvolumeclaims";

/// A kind that a provider writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WrittenKind {
    /// Empty for the core group.
    pub(crate) group: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) plural: &'static str,
}

/// The built-in kinds that providers write, with the plurals that RBAC uses.
const BUILT_IN: &[(&str, &str)] =
    &[("ConfigMap", "configmaps"), ("PersistentVolumeClaim", CLAIMS), ("Service", "services")];

/// Returns the kinds that a provider writes, sorted. They come from its table of behaviors, which has a row for every
/// field that is written; every provider also writes the kinds of a Gateway.
pub(crate) fn kinds(provider: &'static dyn Provider) -> Vec<WrittenKind> {
    let of_gateway = gateway::KINDS.iter().map(|it| WrittenKind { group: it.group, kind: it.kind, plural: it.plural });
    let mut kinds: Vec<WrittenKind> = provider
        .info()
        .behaviors
        .iter()
        .filter_map(|row| {
            if let Some(own) = provider.info().kinds.iter().find(|own| own.kind == row.kind) {
                return Some(WrittenKind { group: own.group, kind: own.kind, plural: own.plural });
            }
            let (kind, plural) = BUILT_IN.iter().find(|(kind, _)| *kind == row.kind)?;
            Some(WrittenKind { group: "", kind, plural })
        })
        .chain(of_gateway)
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

#[cfg(test)]
mod tests {
    use kubefoundry_composition::PROVIDERS;

    use super::*;

    fn default_groups() -> Vec<&'static ApiGroup> {
        vec![ApiGroup::find("kubefoundry.ai").unwrap()]
    }

    #[test]
    fn every_kind_that_a_provider_writes_has_permissions() {
        for provider in PROVIDERS {
            let kinds = kinds(*provider);
            for row in provider.info().behaviors {
                assert!(
                    kinds.iter().any(|kind| kind.kind == row.kind),
                    "BEHAVIORS of {} has {}: add it to INFO.kinds of the provider, or to BUILT_IN here",
                    provider.name(),
                    row.kind
                );
            }
            let permissions = permissions(Role::Provider(*provider), &default_groups(), false);
            for kind in kinds {
                let permission = permissions
                    .iter()
                    .find(|permission| permission.group == kind.group && permission.resources.contains(&kind.plural));
                assert!(permission.is_some_and(|permission| permission.verbs.contains(&"patch")), "{kind:?}");
            }
        }
    }

    #[test]
    fn no_role_lists_secrets_or_uses_wildcards() {
        for role in Role::all().into_iter().chain(Role::optional()) {
            for permission in permissions(role, &default_groups(), true) {
                assert!(
                    !permission.verbs.contains(&"*") && !permission.resources.contains(&"*") && permission.group != "*",
                    "{permission:?}"
                );
                assert!(!permission.verbs.contains(&"deletecollection"), "{permission:?}");
                if permission.resources.contains(&"secrets") && permission.names.is_empty() {
                    assert!(matches!(permission.verbs, ["get" | "create"]), "{permission:?}");
                    assert!(permission.verbs == ["get"] || permission.scope == Scope::Own, "{permission:?}");
                }
            }
        }
    }

    #[test]
    fn access_reviews_need_the_flag() {
        let creates_reviews = |check| {
            let permissions = permissions(Role::Webhooks, &default_groups(), check);
            permissions.iter().any(|permission| permission.group == "authorization.k8s.io")
        };
        assert!(creates_reviews(true) && !creates_reviews(false));
    }
}
