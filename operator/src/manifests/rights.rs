//! What each role may do, and why: the one table that the ClusterRoles, the Roles and the documentation are made from.
//! Kinds of providers come from the providers themselves.

use kubefoundry_kubernetes::api_group::ApiGroup;
use kubefoundry_model::provider::Provider;

use crate::role::{Role, SELECTOR_LEASE};
use crate::webhook::{ca_bundle, certificates};

/// Where a right holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// In the whole cluster.
    Cluster,
    /// In the operator's own namespace.
    Own,
}

#[cfg(test)]
impl Scope {
    /// As documentation says it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Cluster => "cluster",
            Self::Own => "own namespace",
        }
    }
}

/// A rule of RBAC, and why it is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Right {
    pub(crate) scope: Scope,
    /// Empty for the core group.
    pub(crate) group: &'static str,
    pub(crate) resources: Vec<&'static str>,
    pub(crate) verbs: &'static [&'static str],
    /// Empty for objects of any name.
    pub(crate) names: Vec<String>,
    pub(crate) why: &'static str,
}

const WATCH: &[&str] = &["get", "list", "watch"];
const MANAGE: &[&str] = &["get", "list", "watch", "create", "patch", "delete"];

fn everywhere(
    group: &'static str,
    resources: Vec<&'static str>,
    verbs: &'static [&'static str],
    why: &'static str,
) -> Right {
    Right { scope: Scope::Cluster, group, resources, verbs, names: Vec::new(), why }
}

fn at_home(
    group: &'static str,
    resources: Vec<&'static str>,
    verbs: &'static [&'static str],
    why: &'static str,
) -> Right {
    Right { scope: Scope::Own, ..everywhere(group, resources, verbs, why) }
}

impl Right {
    /// The same right, only for objects of these names.
    fn named<'n>(mut self, names: impl IntoIterator<Item = &'n str>) -> Self {
        self.names = names.into_iter().map(ToOwned::to_owned).collect();
        self
    }
}

/// All that a role may do with the deployments of these API groups.
pub(crate) fn rights(role: Role, groups: &[&'static ApiGroup], check_access: bool) -> Vec<Right> {
    let mut rights = common(groups);
    match role {
        Role::Webhooks => rights.extend(of_webhooks(groups, check_access)),
        Role::Core => rights.extend(of_controller(role, groups, "writes the condition `Validated`")),
        Role::Selector => rights.extend(of_controller(role, groups, "writes the provider that was selected")),
        Role::Provider(provider) => {
            rights.extend(of_controller(role, groups, "writes phase, message, endpoint, replicas and conditions"));
            rights.extend(of_provider(provider, groups));
        }
    }
    rights
}

/// What every role reads: all of them run the engine, and the engine has to know the cluster.
fn common(groups: &[&'static ApiGroup]) -> Vec<Right> {
    let ours = groups.iter().flat_map(|api_group| {
        let configurations = vec!["inferenceproviderconfigs"];
        [
            everywhere(api_group.name, vec!["modeldeployments"], WATCH, "watches the deployments"),
            everywhere(api_group.name, configurations, WATCH, "knows what providers can run, and which are alive"),
        ]
    });
    let crds = vec!["customresourcedefinitions"];
    ours.chain([
        everywhere("apiextensions.k8s.io", crds, WATCH, "knows which versions of a provider's kinds are installed"),
        everywhere("", vec!["namespaces"], WATCH, "reads the annotation `allowed-providers`"),
    ])
    .collect()
}

const FOLLOW: &[&str] = &["list", "watch", "patch"];
const KEEP: &[&str] = &["get", "list", "watch", "update"];

fn of_webhooks(groups: &[&'static ApiGroup], check_access: bool) -> Vec<Right> {
    let own_crds: Vec<String> = super::crds::names(groups);
    let own_crds = own_crds.iter().map(String::as_str);
    let configurations = vec!["mutatingwebhookconfigurations", "validatingwebhookconfigurations"];
    let mut rights = vec![
        everywhere("admissionregistration.k8s.io", configurations, FOLLOW, "keeps the caBundle current")
            .named([ca_bundle::CONFIGURATION]),
        everywhere(
            "apiextensions.k8s.io",
            vec!["customresourcedefinitions"],
            &["patch"],
            "keeps the caBundle of conversion webhooks current",
        )
        .named(own_crds),
        at_home("", vec!["secrets"], KEEP, "keeps certificate and key of the webhooks").named([certificates::SECRET]),
        at_home("", vec!["secrets"], &["create"], "makes that Secret; RBAC cannot name what does not exist yet"),
    ];
    if check_access {
        rights.push(everywhere(
            "authorization.k8s.io",
            vec!["subjectaccessreviews"],
            &["create"],
            "asks whether a user may create the provider's objects (only with `--check-access`)",
        ));
    }
    rights
}

fn of_controller(role: Role, groups: &[&'static ApiGroup], why: &'static str) -> Vec<Right> {
    let lease = role.lease_name();
    let leases = || vec!["leases"];
    let lead = at_home("coordination.k8s.io", leases(), &["get", "update"], "one process leads the role");
    let mut rights = vec![
        everywhere("events.k8s.io", vec!["events"], &["create", "patch"], "writes events"),
        lead.named([lease.as_str()]),
        at_home(
            "coordination.k8s.io",
            leases(),
            &["create"],
            "makes that Lease; RBAC cannot name what does not exist yet",
        ),
    ];
    if role == Role::Core {
        let look = at_home("coordination.k8s.io", leases(), &["get"], "knows whether there is a selector");
        rights.push(look.named([SELECTOR_LEASE]));
    }
    let status =
        |api_group: &&'static ApiGroup| everywhere(api_group.name, vec!["modeldeployments/status"], &["patch"], why);
    rights.extend(groups.iter().map(status));
    rights
}

fn of_provider(provider: &'static dyn Provider, groups: &[&'static ApiGroup]) -> Vec<Right> {
    let mut rights = Vec::new();
    for api_group in groups {
        let group = api_group.name;
        rights.extend([
            everywhere(group, vec!["modeldeployments"], &["patch"], "finalizer, and the annotation `dry-run-result`"),
            everywhere(
                group,
                vec!["modeldeployments/finalizers"],
                &["update"],
                "owner references that block deletion, where OwnerReferencesPermissionEnforcement is on",
            ),
            everywhere(group, vec!["inferenceproviderconfigs"], &["create", "patch"], "registers the provider"),
            everywhere(
                group,
                vec!["inferenceproviderconfigs/status"],
                &["patch"],
                "heartbeat, version, and what is installed upstream",
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
        rights.push(everywhere(group, of_group(group), MANAGE, "the provider's objects"));
    }
    let (claims, supporting): (Vec<_>, Vec<_>) = of_group("").into_iter().partition(|plural| *plural == CLAIMS);
    if !supporting.is_empty() {
        rights.push(everywhere("", supporting, MANAGE, "objects that the provider's objects refer to"));
    }
    if !claims.is_empty() {
        rights.push(everywhere("", claims, &["get", "create", "patch"], "claims of a size; never deleted"));
    }
    rights.push(everywhere(
        "",
        vec!["secrets"],
        &["get"],
        "whether Secrets that a deployment names exist: only their metadata are asked for, which RBAC cannot say",
    ));
    rights
}

const CLAIMS: &str = "persistentvolumeclaims";

/// A kind that a provider writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Written {
    /// Empty for the core group.
    pub(crate) group: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) plural: &'static str,
}

/// The kinds of Kubernetes that providers write, with the plurals by which RBAC knows them.
const BUILT_IN: &[(&str, &str)] =
    &[("ConfigMap", "configmaps"), ("PersistentVolumeClaim", CLAIMS), ("Service", "services")];

/// The kinds that a provider writes, sorted: those whose behaviour it knows, as a row of behaviour exists for every
/// field that is written.
pub(crate) fn kinds(provider: &'static dyn Provider) -> Vec<Written> {
    let mut kinds: Vec<Written> = provider
        .info()
        .behaviors
        .iter()
        .filter_map(|row| {
            if let Some(own) = provider.info().kinds.iter().find(|own| own.kind == row.kind) {
                return Some(Written { group: own.group, kind: own.kind, plural: own.plural });
            }
            let (kind, plural) = BUILT_IN.iter().find(|(kind, _)| *kind == row.kind)?;
            Some(Written { group: "", kind, plural })
        })
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

#[cfg(test)]
mod tests {
    use kubefoundry_model::providers::PROVIDERS;

    use super::*;

    fn specified() -> Vec<&'static ApiGroup> {
        vec![ApiGroup::find("kubefoundry.ai").unwrap()]
    }

    #[test]
    fn every_kind_that_a_provider_writes_has_its_rights() {
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
            let rights = rights(Role::Provider(*provider), &specified(), false);
            for kind in kinds {
                let right =
                    rights.iter().find(|right| right.group == kind.group && right.resources.contains(&kind.plural));
                assert!(right.is_some_and(|right| right.verbs.contains(&"patch")), "{kind:?}");
            }
        }
    }

    #[test]
    fn nobody_may_list_secrets_or_do_anything_with_everything() {
        for role in Role::all() {
            for right in rights(role, &specified(), true) {
                assert!(
                    !right.verbs.contains(&"*") && !right.resources.contains(&"*") && right.group != "*",
                    "{right:?}"
                );
                assert!(!right.verbs.contains(&"deletecollection"), "{right:?}");
                if right.resources.contains(&"secrets") && right.names.is_empty() {
                    assert!(matches!(right.verbs, ["get" | "create"]), "{right:?}");
                    assert!(right.verbs == ["get"] || right.scope == Scope::Own, "{right:?}");
                }
            }
        }
    }

    #[test]
    fn users_are_looked_up_only_where_that_was_asked_for() {
        let asks = |check| {
            let rights = rights(Role::Webhooks, &specified(), check);
            rights.iter().any(|right| right.group == "authorization.k8s.io")
        };
        assert!(asks(true) && !asks(false));
    }
}
