//! The state of an actor in one line.

use super::assessment::Assessment;
use super::counts::Counts;
use super::objects::ActorObjects;
use crate::status::claimed::joined;
use kubefoundry_actor::status::{ActorState, PODS_NOT_HEALTHY, PodFailure};
use kubefoundry_compiler::cluster_snapshot::LiveObject;
use kubefoundry_compiler::cluster_snapshot::time::format_age;
use kubefoundry_provider::status::deletion_message;

/// Explains the state in one line.
pub(super) fn message(
    found: &ActorObjects<'_>,
    assessment: &Assessment,
    failures: &[(&LiveObject, PodFailure)],
) -> String {
    let Counts { ready, total, desired } = assessment.counts;
    match assessment.state {
        ActorState::Terminating => {
            let mut deleted = found.actor.into_iter().chain(found.workloads.first().copied());
            deleted.find_map(|object| deletion_message(&object.value)).unwrap_or_default()
        }
        ActorState::Creating if found.workloads.is_empty() && found.pods.is_empty() => {
            "no controller has written a status, and the snapshot does not include its workload".to_owned()
        }
        ActorState::Creating => "no controller has written a status".to_owned(),
        ActorState::TransportError | ActorState::ScalingError => assessment.cause.clone(),
        ActorState::Napping => "scaled to zero until messages arrive".to_owned(),
        ActorState::PendingResources
        | ActorState::ImagePullError
        | ActorState::RuntimeError
        | ActorState::SidecarError
        | ActorState::VolumeError
        | ActorState::ConfigError
        | ActorState::WorkloadError => failure_message(assessment, failures),
        ActorState::ScalingUp => ready_of(ready, desired),
        ActorState::ScalingDown => {
            let remain = if desired == 1 { "remains" } else { "remain" };
            format!("{total} {}, of which {desired} {remain}", replicas(total))
        }
        ActorState::Degraded => {
            let age = assessment.seconds_since_scaling.filter(|seconds| *seconds < i64::MAX);
            let age = age.and_then(|seconds| u64::try_from(seconds).ok()).map(format_age);
            let age = age.map_or_else(String::new, |age| format!(", {age} after the last change"));
            format!("{}{age}", ready_of(ready, total))
        }
        ActorState::Running => String::new(),
        ActorState::Unknown => format!("{}, {desired} desired", ready_of(ready, total)),
    }
}

/// Returns how many of several replicas are ready, as a sentence.
fn ready_of(ready: i64, all: i64) -> String {
    format!("{ready} of {all} {} {} ready", replicas(all), if ready == 1 { "is" } else { "are" })
}

fn replicas(count: i64) -> &'static str {
    if count == 1 { "replica" } else { "replicas" }
}

/// Returns the failure of the workload.
pub(super) fn failure_message(assessment: &Assessment, failures: &[(&LiveObject, PodFailure)]) -> String {
    match &assessment.failure {
        Some((reason, message)) if reason == PODS_NOT_HEALTHY => message.clone(),
        Some((reason, message)) => joined(reason, message),
        None => failures.first().map(|(_, failure)| failure.message.clone()).unwrap_or_default(),
    }
}
