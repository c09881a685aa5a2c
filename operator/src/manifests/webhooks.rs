//! What the apiserver asks the webhooks about. The operator itself writes the caBundle, so there is none here: applying
//! this again leaves it as it is.

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhook, MutatingWebhookConfiguration, RuleWithOperations, ServiceReference, ValidatingWebhook,
    ValidatingWebhookConfiguration, WebhookClientConfig,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

use super::object::{Object, cluster_metadata};
use super::{Plan, WEBHOOK_SERVICE};
use crate::webhook::ca_bundle::CONFIGURATION;

/// How long the apiserver waits for an answer.
const TIMEOUT_SECONDS: i32 = 5;
/// The only version of admission reviews.
const REVIEW: &str = "v1";

/// Both configurations.
pub(super) fn objects(plan: &Plan) -> Vec<Object> {
    let words = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect());
    let rules = |resources: &[&str]| {
        let rule = |api_group: &&kubefoundry_kubernetes::api_group::ApiGroup| RuleWithOperations {
            api_groups: words(&[api_group.name]),
            api_versions: words(&[api_group.version]),
            operations: words(&["CREATE", "UPDATE"]),
            resources: words(resources),
            scope: None,
        };
        Some(plan.groups.iter().map(rule).collect())
    };
    let equivalent = || Some("Equivalent".to_owned());
    vec![
        Object::of(&MutatingWebhookConfiguration {
            metadata: cluster_metadata(CONFIGURATION),
            webhooks: Some(vec![MutatingWebhook {
                name: "default.kubefoundry.ai".to_owned(),
                admission_review_versions: vec![REVIEW.to_owned()],
                client_config: client(plan, "/mutate"),
                // The engine knows the defaults, too: without the webhook they are only not written down.
                failure_policy: Some("Ignore".to_owned()),
                match_policy: equivalent(),
                namespace_selector: Some(namespaces(plan)),
                // Another webhook may add what a default depends on.
                reinvocation_policy: Some("IfNeeded".to_owned()),
                rules: rules(&["modeldeployments"]),
                side_effects: "None".to_owned(),
                timeout_seconds: Some(TIMEOUT_SECONDS),
                ..MutatingWebhook::default()
            }]),
        }),
        Object::of(&ValidatingWebhookConfiguration {
            metadata: cluster_metadata(CONFIGURATION),
            webhooks: Some(vec![ValidatingWebhook {
                name: "validate.kubefoundry.ai".to_owned(),
                admission_review_versions: vec![REVIEW.to_owned()],
                client_config: client(plan, "/validate"),
                failure_policy: Some(plan.failure_policy.as_str().to_owned()),
                match_policy: equivalent(),
                namespace_selector: Some(namespaces(plan)),
                rules: rules(&["modeldeployments", "inferenceproviderconfigs"]),
                side_effects: "None".to_owned(),
                timeout_seconds: Some(TIMEOUT_SECONDS),
                ..ValidatingWebhook::default()
            }]),
        }),
    ]
}

fn client(plan: &Plan, path: &str) -> WebhookClientConfig {
    WebhookClientConfig {
        service: Some(ServiceReference {
            name: WEBHOOK_SERVICE.to_owned(),
            namespace: plan.namespace.clone(),
            path: Some(path.to_owned()),
            port: Some(443),
        }),
        ..WebhookClientConfig::default()
    }
}

/// A cluster has to be able to start without us.
fn namespaces(plan: &Plan) -> LabelSelector {
    LabelSelector {
        match_expressions: Some(vec![LabelSelectorRequirement {
            key: "kubernetes.io/metadata.name".to_owned(),
            operator: "NotIn".to_owned(),
            values: Some(vec!["kube-system".to_owned(), plan.namespace.clone()]),
        }]),
        match_labels: None,
    }
}
