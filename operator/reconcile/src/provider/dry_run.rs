//! Dry run of a deployment (OP-4.3): writes the rendered objects into an annotation, and reports whether the apiserver
//! would accept them. Nothing is applied, and running objects stay.

use kubefoundry_controller_runtime::error::Error;
use kubefoundry_controller_runtime::observed::ObjectView;
use kubefoundry_yaml::to_yaml_stream;
use serde_json::{Value, json};

use super::converge::ReconcileOutcome;
use super::desired::Desired;
use super::{Reconciliation, objects, request};
use crate::cached_object::CachedObject;
use crate::names::{DRY_RUN_RESULT, condition};
use crate::request::{DeploymentPatch, Mode};
use crate::status::Force;

/// Maximum size of all annotations of an object together, keys and values, in bytes
/// (`k8s.io/apimachinery/pkg/api/validation/objectmeta.go`).
const MAX_ANNOTATION_BYTES: usize = 256 * 1024;
/// Maximum size of the result in bytes: clients add annotations later.
const MAX_RESULT_BYTES: usize = 200_000;

impl Reconciliation<'_> {
    /// Dry-runs the desired objects. An unchanged result is not tried again: its message is still in the status.
    pub(super) async fn dry_run(&self, desired: &Desired) -> Result<ReconcileOutcome, Error> {
        let base = &self.observation.base;
        let key = base.api_group.label(DRY_RUN_RESULT);
        let result = annotation_text(&desired.rendered, room(&base.deployment, &key));
        if base.deployment.annotation(&key) == result.as_deref()
            && let Some(message) = reported_message(&base.value)
        {
            return Ok(ReconcileOutcome::DryRun(message.to_owned()));
        }
        let mut refusals = Vec::new();
        for object in desired.objects() {
            let is_ours = self
                .observation
                .find(object)
                .is_some_and(|live| live.object.controller_uid() == Some(base.deployment.uid()));
            let force = if is_ours { Force::Yes } else { Force::No };
            if let Err(error) = self.apply(object, Mode::DryRun, force).await {
                let conflict = error.has_code(409).then(|| error.to_string());
                let Some(refusal) = conflict.or_else(|| request::refusal(&error)) else { return Err(error) };
                refusals.push(format!("{} would be refused: {refusal}", objects::title(object)));
            }
        }
        self.write_result(result.as_deref()).await?;
        if !refusals.is_empty() {
            return Ok(ReconcileOutcome::DryRun(refusals.join("; ")));
        }
        let titles: Vec<String> = desired.rendered.iter().map(objects::title).collect();
        let titles = titles.join(", ");
        let place = match result {
            Some(_) => format!("see the annotation {key}"),
            None => "the other annotations leave no room to show it, kubefoundry render prints it".to_owned(),
        };
        Ok(ReconcileOutcome::DryRun(format!("would be applied: {titles}; {place}")))
    }

    /// Writes the annotation with the result; `None` removes it.
    pub(super) async fn write_result(&self, result: Option<&str>) -> Result<(), Error> {
        let deployment = self.deployment();
        let key = self.observation.base.api_group.label(DRY_RUN_RESULT);
        if deployment.annotation(&key) == result {
            return Ok(());
        }
        let patch = json!({"metadata": {"uid": deployment.uid(), "annotations": {key: result}}});
        self.patch_deployment(DeploymentPatch::Merge(patch)).await.map(drop)
    }
}

/// Returns the number of bytes that the other annotations of a deployment leave for the value of this one.
fn room(deployment: &CachedObject, key: &str) -> usize {
    let own = deployment.annotation(key).map_or(0, |value| key.len() + value.len());
    let others = deployment.annotation_bytes() - own;
    MAX_ANNOTATION_BYTES.saturating_sub(others + key.len())
}

/// Returns the value of the annotation: the objects as YAML, or a note when they are too long. None when there is no
/// room for the note either.
fn annotation_text(objects: &[Value], room: usize) -> Option<String> {
    let limit = room.min(MAX_RESULT_BYTES);
    let text = to_yaml_stream(objects);
    if text.len() <= limit {
        return Some(text);
    }
    let bytes = text.len();
    let note =
        format!("# {bytes} bytes of YAML, more than the {limit} that fit here; kubefoundry render prints them\n");
    (note.len() <= room).then_some(note)
}

/// Returns the message of an earlier dry run, if it was about the current generation.
fn reported_message(deployment: &Value) -> Option<&str> {
    let deployment = ObjectView(deployment);
    let created = deployment.status().condition(condition::RESOURCE_CREATED)?;
    let is_current = created.reason() == "DryRun" && created.observed_generation() == deployment.generation();
    is_current.then(|| created.message())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_a_result_that_is_too_long_by_a_note() {
        let object = |length: usize| json!({"data": "x".repeat(length)});
        let text = |objects: &[Value], room| annotation_text(objects, room).unwrap_or_default();
        assert_eq!(text(&[object(3), object(1)], MAX_ANNOTATION_BYTES), "data: xxx\n---\ndata: x\n");
        assert_eq!(
            text(&[object(MAX_RESULT_BYTES)], MAX_ANNOTATION_BYTES),
            "# 200007 bytes of YAML, more than the 200000 that fit here; kubefoundry render prints them\n"
        );
        assert_eq!(
            text(&[object(1000)], 500),
            "# 1007 bytes of YAML, more than the 500 that fit here; kubefoundry render prints them\n"
        );
        assert_eq!(annotation_text(&[object(1000)], 50), None);
    }

    #[test]
    fn other_annotations_take_room() {
        let deployment = |annotations: Value| {
            CachedObject::new(json!({"metadata": {"name": "phi", "annotations": annotations}})).unwrap()
        };
        let key = "kubefoundry.ai/dry-run-result";
        let free = MAX_ANNOTATION_BYTES - key.len();
        assert_eq!(room(&deployment(json!({})), key), free);
        assert_eq!(room(&deployment(json!({"a": "bc", (key): "an earlier result"})), key), free - 3);
        let last_applied = json!({"kubectl.kubernetes.io/last-applied-configuration": "x".repeat(1000)});
        assert_eq!(room(&deployment(last_applied), key), free - 1000 - 48);
        assert_eq!(room(&deployment(json!({"a": "x".repeat(300_000)})), key), 0);
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
