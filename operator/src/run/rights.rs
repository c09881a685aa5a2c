//! Checks by SelfSubjectAccessReview whether this process has the rights that its role needs
//! ([`crate::manifests::permissions`]).

use std::fmt;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec, SelfSubjectRulesReview,
    SelfSubjectRulesReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};
use kubefoundry_kubernetes::api_group::ApiGroup;

use crate::manifests::permissions::{Permission, Scope, permissions};
use crate::role::Role;

/// A verb on a resource.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Right {
    pub(crate) group: &'static str,
    /// The plural, and the subresource if the right is about one.
    pub(crate) resource: &'static str,
    verb: &'static str,
    /// None for objects of any name.
    name: Option<String>,
    /// None for the whole cluster.
    namespace: Option<String>,
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, [self.resource, self.group].join(".").trim_end_matches('.'))?;
        if let Some(name) = &self.name {
            write!(f, " {name:?}")?;
        }
        match &self.namespace {
            Some(namespace) => write!(f, " in namespace {namespace:?}"),
            None => Ok(()),
        }
    }
}

impl Right {
    fn review(&self) -> SelfSubjectAccessReview {
        let (resource, subresource) = match self.resource.split_once('/') {
            Some((resource, subresource)) => (resource, Some(subresource.to_owned())),
            None => (self.resource, None),
        };
        let attributes = ResourceAttributes {
            verb: Some(self.verb.to_owned()),
            group: Some(self.group.to_owned()),
            resource: Some(resource.to_owned()),
            subresource,
            name: self.name.clone(),
            namespace: self.namespace.clone(),
            ..ResourceAttributes::default()
        };
        let spec = SelfSubjectAccessReviewSpec {
            resource_attributes: Some(attributes),
            ..SelfSubjectAccessReviewSpec::default()
        };
        SelfSubjectAccessReview { spec, ..SelfSubjectAccessReview::default() }
    }
}

/// Lists the rights of a role, without those on its Lease, which a leader has proved.
fn needed(role: Role, groups: &[&'static ApiGroup], namespace: &str) -> Vec<Right> {
    let rights = |permission: Permission| {
        let namespace = (permission.scope == Scope::Own).then(|| namespace.to_owned());
        let names: Vec<Option<String>> = match permission.names.as_slice() {
            [] => vec![None],
            names => names.iter().cloned().map(Some).collect(),
        };
        let mut rights = Vec::new();
        for resource in permission.resources {
            for verb in permission.verbs {
                let right = |name: &Option<String>| Right {
                    group: permission.group,
                    resource,
                    verb,
                    name: name.clone(),
                    namespace: namespace.clone(),
                };
                rights.extend(names.iter().map(right));
            }
        }
        rights
    };
    let mut all: Vec<Right> = permissions(role, groups, false).into_iter().flat_map(rights).collect();
    all.retain(|right| right.resource != "leases");
    all.sort();
    all.dedup();
    all
}

/// Number of reviews that are sent at a time.
const CONCURRENT_REVIEWS: usize = 8;
/// After this many checks all rights are reviewed again, even if the rules look unchanged: an authorizer other than RBAC
/// does not list its rules.
const FULL_CHECK_EVERY: u32 = 10;

/// Checks the rights of a role again and again.
///
/// A review of every right takes about fifty requests. So one SelfSubjectRulesReview decides whether they are needed:
/// they are when the rules of this process changed since the last time.
pub(crate) struct RightsChecker {
    client: Client,
    namespace: String,
    needed: Vec<Right>,
    /// The rules at the last review of all rights, and the rights that were missing.
    last: Option<(Vec<String>, Vec<Right>)>,
    checks: u32,
}

impl RightsChecker {
    pub(crate) fn new(client: Client, role: Role, groups: &[&'static ApiGroup], namespace: &str) -> Self {
        let needed = needed(role, groups, namespace);
        Self { client, namespace: namespace.to_owned(), needed, last: None, checks: 0 }
    }

    /// Returns the rights that are missing. A right counts only if `concerns` holds for it: nothing is needed for a kind
    /// that is not installed.
    ///
    /// # Errors
    /// When the apiserver does not answer a review. Then nothing is known.
    pub(crate) async fn missing(&mut self, concerns: impl Fn(&Right) -> bool) -> Result<Vec<Right>, kube::Error> {
        let rules = self.rules().await?;
        self.checks = self.checks.wrapping_add(1);
        let known = self.last.as_ref().filter(|(before, missing)| {
            *before == rules && missing.is_empty() && !self.checks.is_multiple_of(FULL_CHECK_EVERY)
        });
        if known.is_none() {
            let reviews = Api::<SelfSubjectAccessReview>::all(self.client.clone());
            let review = |right: Right| {
                let reviews = reviews.clone();
                async move {
                    let answer = reviews.create(&PostParams::default(), &right.review()).await?;
                    let is_allowed = answer.status.is_some_and(|status| status.allowed && status.denied != Some(true));
                    Ok::<_, kube::Error>((!is_allowed).then_some(right))
                }
            };
            let answers = stream::iter(self.needed.clone()).map(review).buffered(CONCURRENT_REVIEWS);
            let answers: Vec<Option<Right>> = answers.try_collect().await?;
            self.last = Some((rules, answers.into_iter().flatten().collect()));
        }
        let missing = self.last.iter().flat_map(|(_, missing)| missing);
        Ok(missing.filter(|right| concerns(right)).cloned().collect())
    }

    /// Returns the rules that apply to this process in its namespace, sorted, because their order is not constant.
    async fn rules(&self) -> Result<Vec<String>, kube::Error> {
        let review = SelfSubjectRulesReview {
            spec: SelfSubjectRulesReviewSpec { namespace: Some(self.namespace.clone()) },
            ..SelfSubjectRulesReview::default()
        };
        let reviews = Api::<SelfSubjectRulesReview>::all(self.client.clone());
        let answer = reviews.create(&PostParams::default(), &review).await?;
        let rules = answer.status.into_iter().flat_map(|status| status.resource_rules);
        let mut rules: Vec<String> = rules
            .map(|rule| serde_json::to_string(&rule).map_err(kube::Error::SerdeError))
            .collect::<Result<_, _>>()?;
        rules.sort_unstable();
        Ok(rules)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_needs_every_verb_of_its_permissions() {
        let groups = [ApiGroup::find("kubefoundry.ai").unwrap()];
        let rights = needed(Role::parse("kaito").unwrap(), &groups, "system");
        let texts: Vec<String> = rights.iter().map(ToString::to_string).collect();
        for expected in [
            "list workspaces.kaito.sh",
            "delete workspaces.kaito.sh",
            "patch modeldeployments/status.kubefoundry.ai",
            "get secrets",
            "create events.events.k8s.io",
        ] {
            assert!(texts.iter().any(|text| text == expected), "{expected} in {texts:?}");
        }
        assert!(!texts.iter().any(|text| text.contains("leases")), "{texts:?}");
        let status = rights.iter().find(|right| right.resource == "modeldeployments/status").unwrap().review();
        let attributes = status.spec.resource_attributes.unwrap();
        assert_eq!(attributes.resource.as_deref(), Some("modeldeployments"));
        assert_eq!(attributes.subresource.as_deref(), Some("status"));
    }

    #[test]
    fn a_right_names_its_object_and_namespace() {
        let right = Right {
            group: "",
            resource: "secrets",
            verb: "update",
            name: Some("tls".to_owned()),
            namespace: Some("system".to_owned()),
        };
        assert_eq!(right.to_string(), "update secrets \"tls\" in namespace \"system\"");
    }
}
