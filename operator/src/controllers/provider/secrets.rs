//! Secrets that a deployment names: whether they are there. Their contents never leave the apiserver: only metadata are
//! asked for (`PartialObjectMetadata`).

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use serde_json::Value;

use super::{ReconcileRequest, objects};
use crate::error::Error;
use crate::runtime::events::EventReason;
use crate::status;

/// The Secrets that a deployment needs.
fn named(deployment: &Value) -> BTreeSet<&str> {
    let list = |pointer: &str| deployment.pointer(pointer).and_then(Value::as_array).into_iter().flatten();
    let mut names = BTreeSet::from([objects::text(deployment, "/spec/secrets/huggingFaceToken")]);
    names.extend(list("/spec/imagePullSecrets").map(|secret| objects::text(secret, "/name")));
    let variables = list("/spec/env").filter_map(|variable| variable.pointer("/valueFrom/secretKeyRef"));
    let whole = list("/spec/envFrom").filter_map(|source| source.get("secretRef"));
    let needed = variables.chain(whole).filter(|reference| reference["optional"] != true);
    names.extend(needed.map(|reference| objects::text(reference, "/name")));
    names.remove("");
    names
}

/// The generation that this controller reported last, before which it looked the Secrets up. Core reports a generation in
/// the same field while no provider is selected, without a look at Secrets.
fn reported_generation(deployment: &Value, manager: &str) -> Option<i64> {
    status::owned(deployment, manager).get("f:observedGeneration")?;
    deployment.pointer("/status/observedGeneration")?.as_i64()
}

impl ReconcileRequest<'_> {
    /// Looks the Secrets up when the generation is new, or one was missing.
    pub(super) async fn look_for_secrets(&self) -> Result<(), Error> {
        let names = named(&self.value);
        let uid = self.deployment.uid();
        let generation = self.deployment.metadata.generation;
        let reported = reported_generation(&self.value, &self.context.manager);
        let is_known = self.context.state.knows_secrets(uid, generation).unwrap_or(reported == generation);
        if names.is_empty() || is_known {
            return Ok(());
        }
        let namespace = self.deployment.namespace();
        let api: Api<Secret> = Api::namespaced(self.shared().client.clone(), namespace);
        let mut found = true;
        for name in names {
            match api.get_metadata_opt(name).await {
                Ok(Some(_)) => {}
                Ok(None) => {
                    found = false;
                    let message = format!("Secret '{name}' not found in namespace '{namespace}'");
                    self.shared().events.publish(self.deployment, EventReason::SecretNotFound, &message).await;
                }
                // An operator that may not look does not look.
                Err(kube::Error::Api(status)) if status.is_forbidden() => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        self.context.state.record_secrets(uid, generation, found);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_generation_that_core_reported_does_not_count_as_looked_up() {
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
    fn what_may_be_missing_is_not_looked_for() {
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
        assert_eq!(named(&deployment), BTreeSet::from(["hf", "needed", "registry"]));
        assert!(named(&json!({"spec": {"secrets": {"huggingFaceToken": ""}}})).is_empty());
    }
}
