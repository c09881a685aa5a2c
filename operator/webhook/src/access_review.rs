//! Checks with a SubjectAccessReview whether the user who writes a deployment may create the objects that it renders to
//! (OP-7.6).

use std::time::Duration;

use k8s_openapi::api::authentication::v1::UserInfo;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::PostParams;
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use tokio::time::timeout;

/// Timeout of the review. The apiserver waits for the webhook in the meantime, and longer than this
/// (`operator/src/manifests`), so that the user gets the reason.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Creates the review that asks whether a user may create objects of a kind in a namespace.
pub(super) fn create_review(user: &UserInfo, kind: &GroupVersionKind, namespace: &str) -> SubjectAccessReview {
    let resource = ApiResource::from_gvk(kind);
    SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: user.username.clone(),
            uid: user.uid.clone(),
            groups: user.groups.clone(),
            extra: user.extra.clone(),
            resource_attributes: Some(ResourceAttributes {
                verb: Some("create".to_owned()),
                group: Some(resource.group),
                version: Some(resource.version),
                resource: Some(resource.plural),
                namespace: Some(namespace.to_owned()),
                ..ResourceAttributes::default()
            }),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    }
}

/// Returns the reason why the reviewed access is denied; none if it is allowed. A missing answer counts as a denial.
pub(super) fn refusal(review: &SubjectAccessReview) -> Option<String> {
    let status = review.status.as_ref();
    if status.is_some_and(|status| status.allowed && status.denied != Some(true)) {
        return None;
    }
    let attributes = review.spec.resource_attributes.as_ref();
    let attribute = |field: fn(&ResourceAttributes) -> &Option<String>| {
        attributes.and_then(|attributes| field(attributes).as_deref()).unwrap_or_default()
    };
    let group = attribute(|attributes| &attributes.group);
    let dot = if group.is_empty() { "" } else { "." };
    let mut refusal = format!(
        "user {:?} cannot create {}{dot}{group} in namespace {:?}, which the ModelDeployment requires",
        review.spec.user.as_deref().unwrap_or_default(),
        attribute(|attributes| &attributes.resource),
        attribute(|attributes| &attributes.namespace),
    );
    let reasons = status.map(|status| [&status.reason, &status.evaluation_error]);
    for reason in reasons.into_iter().flatten().flatten().filter(|reason| !reason.is_empty()) {
        refusal = format!("{refusal}: {reason}");
    }
    Some(refusal)
}

/// Sends a review, and returns the reason of a denial. A review that fails counts as a denial.
pub async fn check(client: Client, review: SubjectAccessReview) -> Option<String> {
    let reviews = Api::<SubjectAccessReview>::all(client);
    let parameters = PostParams::default();
    let answer = timeout(TIMEOUT, reviews.create(&parameters, &review)).await;
    match answer {
        Ok(Ok(answered)) => {
            // The response need not repeat the spec.
            let status = answered.status;
            refusal(&SubjectAccessReview { status, ..review })
        }
        Ok(Err(error)) => Some(format!("checking the access of the user failed: {error}")),
        Err(_) => Some("checking the access of the user timed out".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::authorization::v1::SubjectAccessReviewStatus;

    use super::*;

    fn answered(allowed: bool, denied: Option<bool>, reason: Option<&str>) -> SubjectAccessReview {
        let user = UserInfo {
            username: Some("jo".to_owned()),
            groups: Some(vec!["devs".to_owned()]),
            extra: Some([("scopes".to_owned(), vec!["a".to_owned()])].into()),
            uid: Some("7".to_owned()),
        };
        let kind = GroupVersionKind::gvk("nvidia.com", "v1alpha1", "DynamoGraphDeployment");
        let mut review = create_review(&user, &kind, "ml");
        let reason = reason.map(str::to_owned);
        review.status = Some(SubjectAccessReviewStatus { allowed, denied, reason, evaluation_error: None });
        review
    }

    #[test]
    fn the_review_is_about_the_user_and_the_kind() {
        let spec = serde_json::to_value(answered(true, None, None).spec).unwrap();
        assert_eq!(
            spec,
            serde_json::json!({
                "user": "jo", "uid": "7", "groups": ["devs"], "extra": {"scopes": ["a"]},
                "resourceAttributes": {
                    "verb": "create", "group": "nvidia.com", "version": "v1alpha1",
                    "resource": "dynamographdeployments", "namespace": "ml",
                },
            })
        );
    }

    #[test]
    fn only_an_explicit_permission_allows() {
        assert_eq!(refusal(&answered(true, None, Some("RBAC: allowed"))), None);
        assert!(refusal(&answered(true, Some(true), None)).is_some());
        let silent = SubjectAccessReview { status: None, ..answered(true, None, None) };
        assert!(refusal(&silent).is_some());
        assert_eq!(
            refusal(&answered(false, None, Some("no rule matched"))).unwrap(),
            "user \"jo\" cannot create dynamographdeployments.nvidia.com in namespace \"ml\", which the ModelDeployment requires: no rule matched"
        );
    }
}
