//! The steps of a migration, in their order.

use serde::Serialize;
use serde_json::Value;

use super::Address;
use crate::diagnostic::ObjectRef;
use crate::model::draft::{count, text};

/// One step: what is done, and what there is to know about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    /// What is done, in a few words.
    pub title: String,
    /// What there is to know, a sentence each.
    pub notes: Vec<String>,
}

/// What a plan is made of.
pub(super) struct Parts<'p> {
    pub(super) old: &'p ObjectRef,
    pub(super) new: &'p Value,
    pub(super) old_objects: &'p [ObjectRef],
    pub(super) new_objects: &'p [ObjectRef],
    pub(super) from: Option<&'p Address>,
    pub(super) to: Option<&'p Address>,
    /// The model's name in requests, before and after, where it is known.
    pub(super) names: (Option<String>, Option<String>),
}

impl Parts<'_> {
    /// Both run beside each other, then traffic goes over, then the old one goes.
    pub(super) fn steps(&self) -> Vec<Step> {
        let step = |title: &str, notes: Vec<String>| Step { title: title.to_owned(), notes };
        let list = |objects: &[ObjectRef]| objects.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let new = ObjectRef { name: text(self.new, "/metadata/name").unwrap_or_default().into(), ..self.old.clone() };
        let mut run = vec![format!("Apply {new}, or what it becomes: {}.", list(self.new_objects))];
        match gpus(self.new) {
            0 => run.push("It needs no GPU; both take their CPU and memory while they run together.".to_owned()),
            number => run.push(format!("Both run for a while: {number} more GPUs are taken until the old one goes.")),
        }
        let is_claim = |object: &&ObjectRef| &*object.kind == "PersistentVolumeClaim";
        if self.new_objects.iter().any(|object| is_claim(&object)) {
            run.push(
                "It makes claims of its own and fills them: the model is downloaded once more. The old claims stay as they are."
                    .to_owned(),
            );
        }
        let mut wait = Vec::new();
        let mut traffic = Vec::new();
        if let Some(to) = self.to {
            wait.push(format!("It answers at {}.", url(to)));
        }
        wait.push("Send it requests of yours, and compare answers and speed, before anybody depends on it.".to_owned());
        if let (Some(from), Some(to)) = (self.from, self.to) {
            traffic.push(format!("Clients, routes and gateways go from {} to {}.", url(from), url(to)));
        }
        traffic.push(match &self.names {
            (Some(before), Some(after)) if before == after => format!("Requests go on naming the model {before:?}."),
            (Some(before), Some(after)) => format!("Requests named the model {before:?}, and name it {after:?} now."),
            (before, after) => {
                let known = |name: &Option<String>| {
                    name.as_ref()
                        .map_or("a name that the image or the provider chooses".to_owned(), |name| format!("{name:?}"))
                };
                format!(
                    "Requests named the model by {}, and now by {}: see /v1/models of both.",
                    known(before),
                    known(after)
                )
            }
        });
        traffic.push("Until the next step the way back is the same way.".to_owned());
        let (claims, others): (Vec<ObjectRef>, Vec<ObjectRef>) =
            self.old_objects.iter().cloned().partition(|object| is_claim(&object));
        let mut remove = vec![format!("Delete {}, and with it {}.", self.old, list(&others))];
        if !claims.is_empty() {
            remove.push(format!("{} keeps its data until somebody deletes it, too.", list(&claims)));
        }
        vec![
            step("Run both", run),
            step("Try the new one", wait),
            step("Send the traffic over", traffic),
            step("Remove the old one", remove),
        ]
    }
}

fn url(address: &Address) -> String {
    let Address { endpoint, namespace } = address;
    let namespace = namespace.as_ref().map_or(String::new(), |namespace| format!(".{namespace}"));
    format!("http://{}{namespace}:{}", endpoint.service, endpoint.port)
}

/// The GPUs of all replicas of a deployment.
fn gpus(deployment: &Value) -> u32 {
    let number = |pointer: &str, default| count(deployment, pointer).unwrap_or(default);
    let aggregated = number("/spec/scaling/replicas", 1).saturating_mul(number("/spec/resources/gpu/count", 0));
    if text(deployment, "/spec/serving/mode") != Some("disaggregated") {
        return aggregated;
    }
    let role = |role: &str| {
        number(&format!("/spec/scaling/{role}/replicas"), 1)
            .saturating_mul(number(&format!("/spec/scaling/{role}/gpu/count"), 0))
    };
    role("prefill").saturating_add(role("decode"))
}
