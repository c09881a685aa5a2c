//! The reactions of KubeRay to changed fields of a RayService.
//!
//! Sources are files of ray-project/kuberay under `ray-operator` (read at 01106276, between 1.6 and 1.7).

use kubefoundry_provider::Behavior;
use kubefoundry_provider::Reaction;
use kubefoundry_provider::Reaction::{BlueGreen, Grows, NoEffect, Refused, RollingRestart};

const SERVICE: &str = "RayService";
const CLAIM: &str = "PersistentVolumeClaim";

/// The hash that decides about a new cluster excludes these fields, and the running cluster is left as it is.
const COUNTS: &str = "ray-project/kuberay ray-operator/controllers/ray/rayservice_controller.go: shouldUpdateCluster and \
     generateHashWithoutReplicasAndWorkersToDelete; kuberay #2331 (intended) and #4568 (open)";
/// The hash covers every other field of the cluster.
const CLUSTER: &str = "ray-project/kuberay ray-operator/controllers/ray/rayservice_controller.go: shouldPrepareNewCluster \
     starts a second cluster and moves the Services when it serves; with upgradeStrategy None or \
     ENABLE_ZERO_DOWNTIME=false nothing happens";
/// The code version of an application includes its arguments.
const SERVE: &str = "ray-project/kuberay ray-operator/controllers/ray/rayservice_controller.go: updateServeDeployment \
     sends the configuration to the running cluster; ray/serve/_private/deploy_utils.py (Ray 2.56.0): \
     get_app_code_version hashes args, so all replicas are replaced, even if only num_replicas changed";

const fn service(path: &'static str, reaction: Reaction, source: &'static str) -> Behavior {
    Behavior { kind: SERVICE, path, reaction, source }
}

const fn claim(path: &'static str, reaction: Reaction, source: &'static str) -> Behavior {
    Behavior { kind: CLAIM, path, reaction, source }
}

/// One row for every field that this provider writes.
pub(super) static BEHAVIORS: &[Behavior] = &[
    service(
        "metadata",
        Reaction::None,
        "ray-project/kuberay ray-operator/controllers/ray/rayservice_controller.go: \
     constructRayClusterForRayService copies them to the next cluster only",
    ),
    service("spec.serveConfigV2", RollingRestart, SERVE),
    service("spec.rayClusterConfig", BlueGreen, CLUSTER),
    service("spec.rayClusterConfig.workerGroupSpecs.*.replicas", NoEffect, COUNTS),
    service("spec.rayClusterConfig.workerGroupSpecs.*.minReplicas", NoEffect, COUNTS),
    service("spec.rayClusterConfig.workerGroupSpecs.*.maxReplicas", NoEffect, COUNTS),
    // Claims
    claim("metadata", Reaction::None, "Kubernetes: labels and annotations do not bind"),
    claim("spec", Refused, "Kubernetes: the spec of a claim is immutable except for its requests"),
    claim(
        "spec.resources.requests.storage",
        Grows,
        "Kubernetes: grows if the StorageClass allows expansion; ValidatePersistentVolumeClaimUpdate refuses a smaller value",
    ),
];
