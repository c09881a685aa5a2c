//! The steps of a migration, in order.

use serde::Serialize;
use serde_json::Value;

use super::ServiceAddress;
use kubefoundry_diagnostics::ObjectRef;
use kubefoundry_provider::draft::{items_at, string_at};

/// A step of a migration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MigrationStep {
    /// The step, in a few words.
    pub title: String,
    /// Remarks, one sentence each.
    pub notes: Vec<String>,
}

/// The data for the steps of one migration.
pub(super) struct StepInputs<'p> {
    pub(super) old: &'p ObjectRef,
    pub(super) new: &'p Value,
    pub(super) old_objects: &'p [ObjectRef],
    pub(super) new_objects: &'p [ObjectRef],
    /// The GPUs of all replicas of the new deployment.
    pub(super) gpus: u64,
    pub(super) from: Option<&'p ServiceAddress>,
    pub(super) to: Option<&'p ServiceAddress>,
    /// The name of the model in requests, before and after, if known.
    pub(super) names: (Option<String>, Option<String>),
}

impl StepInputs<'_> {
    /// Returns the steps: both deployments run, traffic moves, and the old deployment is deleted.
    pub(super) fn steps(&self) -> Vec<MigrationStep> {
        let step = |title: &str, notes: Vec<String>| MigrationStep { title: title.to_owned(), notes };
        let list = |objects: &[ObjectRef]| objects.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let new =
            ObjectRef { name: string_at(self.new, "/metadata/name").unwrap_or_default().into(), ..self.old.clone() };
        let mut run_notes = vec![format!("Apply {new}, or what it becomes: {}.", list(self.new_objects))];
        match self.gpus {
            0 => run_notes.push("It needs no GPU; both take their CPU and memory while they run together.".to_owned()),
            number => {
                run_notes.push(format!("Both run for a while: {number} more GPUs are taken until the old one goes."));
            }
        }
        run_notes.extend(self.volume_notes());
        let mut trial_notes = Vec::new();
        let mut traffic_notes = Vec::new();
        if let Some(to) = self.to {
            trial_notes.push(format!("It answers at {}.", base_url(to)));
        }
        trial_notes.push(
            "Send it some of your own requests, and compare answers and speed, before anybody depends on it."
                .to_owned(),
        );
        if let (Some(from), Some(to)) = (self.from, self.to) {
            traffic_notes.push(format!("Clients, routes and gateways go from {} to {}.", base_url(from), base_url(to)));
        }
        traffic_notes.push(match &self.names {
            (Some(before), Some(after)) if before == after => format!("Requests go on naming the model {before:?}."),
            (Some(before), Some(after)) => format!("Requests named the model {before:?}, and name it {after:?} now."),
            (before, after) => {
                let name_or_unknown = |name: &Option<String>| {
                    name.as_ref()
                        .map_or("a name that the image or the provider chooses".to_owned(), |name| format!("{name:?}"))
                };
                format!(
                    "Requests named the model by {}, and now by {}: see /v1/models of both.",
                    name_or_unknown(before),
                    name_or_unknown(after)
                )
            }
        });
        traffic_notes.push("Until the next step the way back is the same way.".to_owned());
        // Deleting a ModelDeployment does not delete its claims, so they are listed separately.
        let (claims, others): (Vec<ObjectRef>, Vec<ObjectRef>) =
            self.old_objects.iter().cloned().partition(|object| &*object.kind == "PersistentVolumeClaim");
        let mut removal_notes = vec![format!("Delete {}, and with it {}.", self.old, list(&others))];
        if !claims.is_empty() {
            removal_notes.push(format!("{} keeps its data until you delete it.", list(&claims)));
        }
        vec![
            step("Run both", run_notes),
            step("Try the new one", trial_notes),
            step("Send the traffic over", traffic_notes),
            step("Remove the old one", removal_notes),
        ]
    }

    /// Returns remarks on volumes while both deployments run.
    fn volume_notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let (mut has_model_cache, mut others, mut shared) = (false, Vec::new(), Vec::new());
        for volume in items_at(self.new, "/spec/model/storage/volumes") {
            let name = string_at(volume, "/name").unwrap_or_default();
            let is_created = volume.get("size").is_some_and(|size| !size.is_null());
            match (string_at(volume, "/claimName").filter(|_| !is_created), string_at(volume, "/purpose")) {
                (Some(claim), _) => shared.push(claim),
                (None, Some("modelCache")) => has_model_cache = true,
                (None, Some("compilationCache")) => {}
                (None, _) => others.push(name),
            }
        }
        if has_model_cache {
            notes.push(
                "It makes claims of its own and fills them: the model is downloaded once more. The old claims stay as they are."
                    .to_owned(),
            );
        }
        if !others.is_empty() {
            notes.push(format!(
                "It makes claims of its own for {}, which are empty: copy what it needs from the old ones first.",
                others.join(", ")
            ));
        }
        if !shared.is_empty() {
            notes.push(format!(
                "Both mount {}: one that only one node may mount (ReadWriteOnce) keeps both on that node, or the new one waiting.",
                shared.join(", ")
            ));
        }
        notes
    }
}

fn base_url(address: &ServiceAddress) -> String {
    let ServiceAddress { endpoint, namespace } = address;
    let namespace = namespace.as_ref().map_or(String::new(), |namespace| format!(".{namespace}"));
    format!("http://{}{namespace}:{}", endpoint.service, endpoint.port)
}
