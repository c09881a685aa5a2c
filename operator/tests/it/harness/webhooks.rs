//! Webhook configurations, as the manifests of the operator have them, for an operator without a Service.

use serde_json::{Value, json};

/// Has the apiserver ask the validating webhook at an address about ModelDeployments. The operator writes the bundle that
/// the apiserver trusts; until then it cannot connect.
pub fn validating(address: &str, failure_policy: &str, timeout_seconds: u32) -> Value {
    json!({
        "metadata": {"name": "kubefoundry"},
        "webhooks": [{
            "name": "validate.kubefoundry.ai",
            "clientConfig": {"url": format!("https://{address}/validate")},
            "rules": [{
                "apiGroups": ["kubefoundry.ai"], "apiVersions": ["v1alpha1"],
                "operations": ["CREATE", "UPDATE"], "resources": ["modeldeployments"],
            }],
            "failurePolicy": failure_policy, "sideEffects": "None", "timeoutSeconds": timeout_seconds,
            "admissionReviewVersions": ["v1"],
        }],
    })
}

/// Has the apiserver ask a webhook of a provider that does not answer about objects of a kind of it.
pub fn silent(group: &str, plural: &str) -> Value {
    json!({
        "metadata": {"name": "silent"},
        "webhooks": [{
            "name": format!("silent.{group}"),
            // Nothing listens at port 1.
            "clientConfig": {"url": "https://127.0.0.1:1/validate"},
            "rules": [{
                "apiGroups": [group], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": [plural],
            }],
            "failurePolicy": "Fail", "sideEffects": "None", "timeoutSeconds": 1, "admissionReviewVersions": ["v1"],
        }],
    })
}
