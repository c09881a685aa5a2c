//! The webhook configurations. They have no `caBundle`: the operator writes it, and applying these manifests again does
//! not remove it, because another field manager owns it.

use k8s_openapi::api::admissionregistration::v1::{
    MatchCondition, MutatingWebhook, MutatingWebhookConfiguration, RuleWithOperations, ServiceReference,
    ValidatingWebhook, ValidatingWebhookConfiguration, WebhookClientConfig,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use kubefoundry_webhook::ca_bundle::CONFIGURATION;

use super::InstallPlan;
use super::object::{Object, owned_cluster_metadata};
use crate::args::WEBHOOK_SERVICE;

/// Time that the apiserver waits for an answer.
const TIMEOUT_SECONDS: i32 = 5;
/// The version of AdmissionReview.
const REVIEW: &str = "v1";

/// Returns the mutating and the validating configuration.
pub(super) fn objects(plan: &InstallPlan) -> Vec<Object> {
    let strings = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect());
    let rules = |resources: &[&str]| {
        let rule = |api_group: &&kubefoundry_kubernetes::api_group::ApiGroup| RuleWithOperations {
            api_groups: strings(&[api_group.name]),
            api_versions: strings(&[api_group.version]),
            operations: strings(&["CREATE", "UPDATE"]),
            resources: strings(resources),
            // The default, written out: the rules are one atomic list, so an absent field conflicts with the list that
            // another field manager applied, in which the apiserver has set it.
            scope: Some("*".to_owned()),
        };
        Some(plan.groups.iter().map(rule).collect())
    };
    let equivalent = || Some("Equivalent".to_owned());
    vec![
        Object::from_resource(&MutatingWebhookConfiguration {
            metadata: owned_cluster_metadata(CONFIGURATION, &plan.namespace),
            webhooks: Some(vec![MutatingWebhook {
                name: "default.kubefoundry.ai".to_owned(),
                admission_review_versions: vec![REVIEW.to_owned()],
                client_config: client(plan, "/mutate"),
                // Rendering applies the same defaults, so without the webhook they are only missing in the stored
                // object.
                failure_policy: Some("Ignore".to_owned()),
                match_conditions: Some(vec![reviewed_change()]),
                match_policy: equivalent(),
                namespace_selector: Some(namespace_selector(plan)),
                // Another webhook may change a field on which a default depends.
                reinvocation_policy: Some("IfNeeded".to_owned()),
                rules: rules(&["modeldeployments"]),
                side_effects: "None".to_owned(),
                timeout_seconds: Some(TIMEOUT_SECONDS),
                ..MutatingWebhook::default()
            }]),
        }),
        Object::from_resource(&ValidatingWebhookConfiguration {
            metadata: owned_cluster_metadata(CONFIGURATION, &plan.namespace),
            webhooks: Some(vec![ValidatingWebhook {
                name: "validate.kubefoundry.ai".to_owned(),
                admission_review_versions: vec![REVIEW.to_owned()],
                client_config: client(plan, "/validate"),
                failure_policy: Some(plan.failure_policy.as_str().to_owned()),
                match_conditions: Some(vec![reviewed_change()]),
                match_policy: equivalent(),
                namespace_selector: Some(namespace_selector(plan)),
                rules: rules(&["modeldeployments", "modeldeployments/scale", "inferenceproviderconfigs"]),
                side_effects: "None".to_owned(),
                timeout_seconds: Some(TIMEOUT_SECONDS),
                ..ValidatingWebhook::default()
            }]),
        }),
    ]
}

fn client(plan: &InstallPlan, path: &str) -> WebhookClientConfig {
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

/// Limits the calls to changes that the webhooks review: of the specification, the labels and the annotations. Controllers
/// add and remove finalizers while no webhook answers, and users can remove one by hand.
fn reviewed_change() -> MatchCondition {
    let differs = |field: &str| {
        let (new, old) = (format!("object.{field}"), format!("oldObject.{field}"));
        format!("has({new}) != has({old}) || has({new}) && {new} != {old}")
    };
    let metadata = ["labels", "annotations"].map(|field| differs(&format!("metadata.{field}")));
    let changes = [vec![differs("spec")], metadata.into()].concat();
    MatchCondition {
        name: "reviewed-change".to_owned(),
        expression: format!("oldObject == null || {}", changes.join(" || ")),
    }
}

/// Excludes the system namespace and the operator's own: the cluster and the operator must be able to start while no
/// webhook answers.
fn namespace_selector(plan: &InstallPlan) -> LabelSelector {
    LabelSelector {
        match_expressions: Some(vec![LabelSelectorRequirement {
            key: "kubernetes.io/metadata.name".to_owned(),
            operator: "NotIn".to_owned(),
            values: Some(vec!["kube-system".to_owned(), plan.namespace.clone()]),
        }]),
        match_labels: None,
    }
}
