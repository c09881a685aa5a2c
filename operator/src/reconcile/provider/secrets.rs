//! Checks that the Secrets that a deployment names exist. Only their metadata is requested (`PartialObjectMetadata`),
//! so their contents never reach the operator.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Secret;
use kube::core::ApiResource;
use serde_json::Value;

use super::{Reconciliation, objects};
use crate::error::Error;
use crate::runtime::events::EventReason;
use crate::status;

/// Returns the names of the Secrets that a deployment needs; optional references do not count.
fn required_secrets(deployment: &Value) -> BTreeSet<&str> {
    let list = |pointer: &str| deployment.pointer(pointer).and_then(Value::as_array).into_iter().flatten();
    let mut names = BTreeSet::from([objects::text(deployment, "/spec/secrets/huggingFaceToken")]);
    names.extend(list("/spec/imagePullSecrets").map(|secret| objects::text(secret, "/name")));
    let env = list("/spec/env").filter_map(|variable| variable.pointer("/valueFrom/secretKeyRef"));
    let env_from = list("/spec/envFrom").filter_map(|source| source.get("secretRef"));
    let needed = env.chain(env_from).filter(|reference| reference["optional"] != true);
    names.extend(needed.map(|reference| objects::text(reference, "/name")));
    names.remove("");
    names
}

/// Returns the generation that this controller reported last; it has checked the Secrets of that generation. While no
/// provider is selected, core reports a generation in the same field without checking Secrets, so the owner of the
/// field matters.
pub(super) fn reported_generation(deployment: &Value, manager: &str) -> Option<i64> {
    status::owned(deployment, manager).get("f:observedGeneration")?;
    deployment.pointer("/status/observedGeneration")?.as_i64()
}

impl Reconciliation<'_> {
    /// Looks the Secrets up when the generation is new, or when one was missing, and publishes an event for each
    /// missing one. The objects are applied all the same: a Secret may be created later.
    pub(super) async fn check_secrets(&self) -> Result<(), Error> {
        let value = &self.observation.base.value;
        let names = required_secrets(value);
        let generation = self.observation.base.generation();
        let reported = reported_generation(value, self.manager());
        let is_known = self.memory().knows_secrets(generation, self.moment()).unwrap_or(reported == generation);
        if names.is_empty() || is_known {
            return Ok(());
        }
        let namespace = self.deployment().namespace();
        let mut all_exist = true;
        for name in names {
            match self.get_metadata(ApiResource::erase::<Secret>(&()), name).await {
                Ok(Some(_)) => {}
                Ok(None) => {
                    all_exist = false;
                    let message = format!("Secret '{name}' not found in namespace '{namespace}'");
                    self.publish(EventReason::SecretNotFound, message).await;
                }
                // A cluster may withhold this permission from the operator. The check is a courtesy, so it is skipped.
                Err(error) if error.has_code(403) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        self.memory().record_secrets(generation, all_exist, self.moment());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_generation_reported_by_core_does_not_count_as_checked() {
        let reported_by = |manager: &str| {
            let fields = json!({"f:status": {"f:observedGeneration": {}}});
            let entry = json!({"manager": manager, "operation": "Apply", "subresource": "status", "fieldsV1": fields});
            let deployment = json!({"metadata": {"managedFields": [entry]}, "status": {"observedGeneration": 3}});
            reported_generation(&deployment, "kaito-provider")
        };
        assert_eq!(reported_by("kubefoundry-core"), None);
        assert_eq!(reported_by("kaito-provider"), Some(3));
    }

    #[test]
    fn optional_secrets_are_not_required() {
        let reference = |name: &str, optional: bool| json!({"name": name, "key": "k", "optional": optional});
        let deployment = json!({"spec": {
            "secrets": {"huggingFaceToken": "hf"},
            "imagePullSecrets": [{"name": "registry"}, {"name": "hf"}],
            "env": [
                {"name": "A", "value": "x"},
                {"name": "B", "valueFrom": {"secretKeyRef": reference("needed", false)}},
                {"name": "C", "valueFrom": {"secretKeyRef": reference("optional", true)}},
                {"name": "D", "valueFrom": {"configMapKeyRef": {"name": "map", "key": "k"}}},
            ],
        }});
        assert_eq!(required_secrets(&deployment), BTreeSet::from(["hf", "needed", "registry"]));
        assert!(required_secrets(&json!({"spec": {"secrets": {"huggingFaceToken": ""}}})).is_empty());
    }
}
