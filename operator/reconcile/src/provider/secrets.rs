//! Checks that the Secrets that a deployment names exist. Only their metadata is requested (`PartialObjectMetadata`),
//! so their contents never reach the operator.

use k8s_openapi::api::core::v1::Secret;
use kube::core::ApiResource;
use kubefoundry_controller_runtime::error::Error;
use kubefoundry_controller_runtime::observed::ObjectView;
use serde_json::Value;

use super::Reconciliation;
use crate::event::EventReason;
use crate::status;

/// Returns the generation that this controller reported last; it has checked the Secrets of that generation. While no
/// provider is selected, core reports a generation in the same field without checking Secrets, so the owner of the
/// field matters.
pub(super) fn reported_generation(deployment: &Value, manager: &str) -> Option<i64> {
    status::owned(deployment, manager).get("f:observedGeneration")?;
    ObjectView(deployment).status().observed_generation()
}

impl Reconciliation<'_> {
    /// Looks the Secrets up when the generation is new, or when one was missing, and publishes an event for each
    /// missing one. The objects are applied all the same: a Secret may be created later.
    pub(super) async fn check_secrets(&self) -> Result<(), Error> {
        let value = &self.observation.base.value;
        let names = ObjectView(value).spec().required_secrets();
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
}
