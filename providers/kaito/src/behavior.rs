//! The reactions of KAITO to changed fields. Sources are files of kaito-project/kaito.

use kubefoundry_provider::Behavior;
use kubefoundry_provider::Reaction;
use kubefoundry_provider::Reaction::{Grows, InPlace, NoEffect, Refused, RollingRestart};

const WEBHOOK: &str = "kaito-project/kaito api/v1beta1/workspace_validation.go, validateUpdate";
const REPLICA: &str = "kaito-project/kaito pkg/inferenceset/inferenceset_controller.go: only new replicas use the new \
     template";
const KUBERNETES: &str = "Kubernetes: the spec of a claim is immutable except for its requests";

const fn row(kind: &'static str, path: &'static str, reaction: Reaction, source: &'static str) -> Behavior {
    Behavior { kind, path, reaction, source }
}

/// One row for every field that this provider writes.
pub(super) static BEHAVIORS: &[Behavior] = &[
    row("Workspace", "metadata", Reaction::None, "the object's labels and annotations are not part of the pods"),
    row("Workspace", "resource", Refused, WEBHOOK),
    row("Workspace", "resource.count", Refused, WEBHOOK),
    row("Workspace", "resource.instanceType", Refused, WEBHOOK),
    row("Workspace", "resource.labelSelector", Refused, WEBHOOK),
    row("Workspace", "resource.partition", Refused, WEBHOOK),
    row(
        "Workspace",
        "resource.preferredNodes",
        NoEffect,
        "accepted by the webhook; a node that runs the workload is not exchanged",
    ),
    // A change from preset to template, or back.
    row("Workspace", "inference", Refused, WEBHOOK),
    row("Workspace", "inference.preset", Refused, WEBHOOK),
    row(
        "Workspace",
        "inference.config",
        RollingRestart,
        "kaito-project/kaito pkg/workspace/controllers/workspace_controller.go: a new revision updates the \
     volumes of the StatefulSet",
    ),
    row(
        "Workspace",
        "inference.template",
        NoEffect,
        "accepted by the webhook; pkg/workspace/inference/template_inference.go creates the workload and never updates it",
    ),
    row("InferenceSet", "metadata", Reaction::None, "the object's labels and annotations are not part of the pods"),
    row(
        "InferenceSet",
        "spec.replicas",
        InPlace,
        "kaito-project/kaito pkg/inferenceset/inferenceset_controller.go: Workspaces are created and deleted",
    ),
    row(
        "InferenceSet",
        "spec.nodeCountLimit",
        InPlace,
        "kaito-project/kaito api/v1beta1/inferenceset_types.go: a limit for new nodes",
    ),
    row(
        "InferenceSet",
        "spec.autoUpgrade",
        InPlace,
        "kaito-project/kaito api/v1beta1/inferenceset_types.go: read when KAITO has a newer base image",
    ),
    row("InferenceSet", "spec.labelSelector", NoEffect, REPLICA),
    row("InferenceSet", "spec.template", NoEffect, REPLICA),
    row(
        "InferenceSet",
        "spec.template.resource.partition",
        Refused,
        "kaito-project/kaito api/v1beta1/inferenceset_validation.go, validateUpdate",
    ),
    row("ConfigMap", "metadata", Reaction::None, "KAITO reads only the data"),
    row(
        "ConfigMap",
        "data",
        NoEffect,
        "KAITO does not watch it; its name contains a hash of it, so it does not change",
    ),
    row("Service", "metadata", Reaction::None, "Kubernetes: the selector of a Service is in its spec"),
    row("Service", "spec", InPlace, "Kubernetes"),
    row("PersistentVolumeClaim", "metadata", Reaction::None, "Kubernetes: labels and annotations do not bind"),
    row("PersistentVolumeClaim", "spec", Refused, KUBERNETES),
    row(
        "PersistentVolumeClaim",
        "spec.resources.requests.storage",
        Grows,
        "Kubernetes: grows if the StorageClass allows expansion; ValidatePersistentVolumeClaimUpdate refuses a smaller value",
    ),
];
