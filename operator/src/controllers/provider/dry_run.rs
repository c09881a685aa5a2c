//! Dry run of a deployment (OP-4.3): writes the rendered objects into an annotation, and reports whether the apiserver
//! would accept them. Nothing is applied, and running objects stay.

use kube::Api;
use kube::api::{Patch, PatchParams};
use kubefoundry_yaml::to_yaml_stream;
use serde_json::{Value, json};

use super::converge::ReconcileOutcome;
use super::desired::Desired;
use super::request::{self, Mode};
use super::{ReconcileRequest, objects};
use crate::cached_object::CachedObject;
use crate::error::Error;
use crate::names::{DRY_RUN_RESULT, condition};
use crate::status::{self, Force};

/// Maximum size of the result in bytes. All annotations of an object together may have 256 KiB.
const MAX_RESULT_BYTES: usize = 200_000;

impl ReconcileRequest<'_> {
    /// Dry-runs the desired objects. An unchanged result is not tried again: its message is still in the status.
    pub(super) async fn dry_run(&self, desired: &Desired) -> Result<ReconcileOutcome, Error> {
        let key = self.shared().api_group.label(DRY_RUN_RESULT);
        let result = annotation_text(&desired.rendered);
        if self.deployment.annotation(&key) == Some(result.as_str())
            && let Some(message) = reported_message(&self.value)
        {
            return Ok(ReconcileOutcome::DryRun(message.to_owned()));
        }
        let mut refusals = Vec::new();
        for object in desired.objects() {
            let namespace = self.deployment.namespace();
            let live = self.shared().upstream.find(&objects::resource(object), namespace, objects::name(object));
            let is_ours = live.is_some_and(|live| live.object.controller_uid() == Some(self.deployment.uid()));
            let force = if is_ours { Force::Yes } else { Force::No };
            if let Err(error) = self.apply(object, Mode::DryRun, force).await {
                let conflict = error.has_code(409).then(|| error.to_string());
                let Some(refusal) = conflict.or_else(|| request::refusal(&error)) else { return Err(error) };
                refusals.push(format!("{} would be refused: {refusal}", objects::title(object)));
            }
        }
        self.write_result(Some(&result)).await?;
        let message = if refusals.is_empty() {
            let titles: Vec<String> = desired.rendered.iter().map(objects::title).collect();
            format!("would be applied: {}; see the annotation {key}", titles.join(", "))
        } else {
            refusals.join("; ")
        };
        Ok(ReconcileOutcome::DryRun(message))
    }

    /// Writes the annotation with the result; `None` removes it.
    pub(super) async fn write_result(&self, result: Option<&str>) -> Result<(), Error> {
        let shared = self.shared();
        let key = shared.api_group.label(DRY_RUN_RESULT);
        if self.deployment.annotation(&key) == result {
            return Ok(());
        }
        let api: Api<CachedObject> =
            Api::namespaced_with(shared.client.clone(), self.deployment.namespace(), &shared.resource);
        let patch = json!({"metadata": {"uid": self.deployment.uid(), "annotations": {key: result}}});
        let params = PatchParams { field_manager: Some(self.context.manager.clone()), ..PatchParams::default() };
        let written = api.patch(self.deployment.name(), &params, &Patch::Merge(&patch)).await?;
        self.context.state.record_write(&written);
        Ok(())
    }
}

/// Returns the value of the annotation: the objects as YAML, or a note when they are too long.
fn annotation_text(objects: &[Value]) -> String {
    let text = to_yaml_stream(objects);
    if text.len() <= MAX_RESULT_BYTES {
        return text;
    }
    let bytes = text.len();
    format!("# {bytes} bytes of YAML, more than the {MAX_RESULT_BYTES} that fit here; kubefoundry render prints them\n")
}

/// Returns the message of an earlier dry run, if it was about the current generation.
fn reported_message(deployment: &Value) -> Option<&str> {
    let condition = status::find(&deployment["status"], condition::RESOURCE_CREATED)?;
    let generation = deployment.pointer("/metadata/generation");
    let is_current = condition["reason"] == "DryRun" && condition.get("observedGeneration") == generation;
    condition["message"].as_str().filter(|_| is_current)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_a_result_that_is_too_long_by_a_note() {
        let object = |length: usize| json!({"data": "x".repeat(length)});
        assert_eq!(annotation_text(&[object(3), object(1)]), "data: xxx\n---\ndata: x\n");
        let long = annotation_text(&[object(MAX_RESULT_BYTES)]);
        assert_eq!(
            long,
            "# 200007 bytes of YAML, more than the 200000 that fit here; kubefoundry render prints them\n"
        );
    }

    #[test]
    fn ignores_the_message_of_an_older_generation() {
        let deployment = |generation: i64, reason: &str| {
            json!({"metadata": {"generation": 2}, "status": {"conditions": [
                {"type": "ResourceCreated", "reason": reason, "message": "m", "observedGeneration": generation},
            ]}})
        };
        assert_eq!(reported_message(&deployment(2, "DryRun")), Some("m"));
        assert_eq!(reported_message(&deployment(1, "DryRun")), None);
        assert_eq!(reported_message(&deployment(2, "Refused")), None);
    }
}
