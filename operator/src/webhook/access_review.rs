//! Whether the user who writes a deployment may create what it becomes (OP-7.6): the apiserver is asked.

use std::time::Duration;

use k8s_openapi::api::authentication::v1::UserInfo;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::PostParams;
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use tokio::time::timeout;

/// How long an answer may take: the apiserver waits for ours meanwhile.
const PATIENCE: Duration = Duration::from_secs(5);

/// The question: may this user create objects of this kind in this namespace?
pub(super) fn question(user: &UserInfo, kind: &GroupVersionKind, namespace: &str) -> SubjectAccessReview {
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

/// Why the user may not, if so.
pub(super) fn refusal(review: &SubjectAccessReview) -> Option<String> {
    let status = review.status.as_ref();
    if status.is_some_and(|status| status.allowed && status.denied != Some(true)) {
        return None;
    }
    let attributes = review.spec.resource_attributes.as_ref();
    let part = |part: fn(&ResourceAttributes) -> &Option<String>| {
        attributes.and_then(|attributes| part(attributes).as_deref()).unwrap_or_default()
    };
    let mut refusal = format!(
        "user {:?} cannot create {}.{} in namespace {:?}, which the ModelDeployment becomes",
        review.spec.user.as_deref().unwrap_or_default(),
        part(|attributes| &attributes.resource),
        part(|attributes| &attributes.group),
        part(|attributes| &attributes.namespace),
    );
    let said = status.map(|status| [&status.reason, &status.evaluation_error]);
    for why in said.into_iter().flatten().flatten().filter(|why| !why.is_empty()) {
        refusal = format!("{refusal}: {why}");
    }
    Some(refusal)
}

/// Asks. Whoever cannot be asked about is refused.
pub(super) async fn ask(client: Client, question: SubjectAccessReview) -> Option<String> {
    let reviews = Api::<SubjectAccessReview>::all(client);
    let parameters = PostParams::default();
    let asked = timeout(PATIENCE, reviews.create(&parameters, &question)).await;
    match asked {
        Ok(Ok(answered)) => {
            // The answer need not repeat the question.
            let status = answered.status;
            refusal(&SubjectAccessReview { status, ..question })
        }
        Ok(Err(error)) => Some(format!("the access of the user could not be checked: {error}")),
        Err(_) => Some("the access of the user could not be checked: the apiserver took too long".to_owned()),
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
        let mut review = question(&user, &kind, "ml");
        let reason = reason.map(str::to_owned);
        review.status = Some(SubjectAccessReviewStatus { allowed, denied, reason, evaluation_error: None });
        review
    }

    #[test]
    fn the_question_is_about_the_user_and_the_kind() {
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
    fn only_a_plain_yes_lets_through() {
        assert_eq!(refusal(&answered(true, None, Some("RBAC: allowed"))), None);
        assert!(refusal(&answered(true, Some(true), None)).is_some());
        let silent = SubjectAccessReview { status: None, ..answered(true, None, None) };
        assert!(refusal(&silent).is_some());
        assert_eq!(
            refusal(&answered(false, None, Some("no rule matched"))).unwrap(),
            "user \"jo\" cannot create dynamographdeployments.nvidia.com in namespace \"ml\", which the ModelDeployment becomes: no rule matched"
        );
    }
}
