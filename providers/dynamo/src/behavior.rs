//! The reactions of the Dynamo operator to changed fields of a graph.
//!
//! Sources are files of ai-dynamo/dynamo under `deploy/operator`, chart 1.5.0.

use kubefoundry_provider::Behavior;
use kubefoundry_provider::Reaction;
use kubefoundry_provider::Reaction::{Grows, InPlace, Refused, RollingRestart};

const GRAPH: &str = "DynamoGraphDeployment";
const CLAIM: &str = "PersistentVolumeClaim";

/// Components cannot be added or removed.
const TOPOLOGY: &str = "ai-dynamo/dynamo deploy/operator/internal/webhook/validation/dynamographdeployment.go: component \
     topology is immutable";
/// A component stays on one node or on several.
const NODES: &str = "ai-dynamo/dynamo deploy/operator/internal/webhook/validation/dynamographdeployment.go: node topology \
     is immutable";
/// Scaling does not start a new generation of workers.
const SCALING: &str = "ai-dynamo/dynamo deploy/operator/internal/dynamo/hash.go: replicas are not hashed";
/// Any other change of a pod starts a new generation.
const GENERATION: &str = "ai-dynamo/dynamo deploy/operator/internal/dynamo/worker-hash.md: a changed worker spec rolls the \
     workers; a frontend's Deployment rolls";
const KUBERNETES: &str = "Kubernetes: the spec of a claim is immutable except for its requests";

const fn graph(path: &'static str, reaction: Reaction, source: &'static str) -> Behavior {
    Behavior { kind: GRAPH, path, reaction, source }
}

const fn claim(path: &'static str, reaction: Reaction, source: &'static str) -> Behavior {
    Behavior { kind: CLAIM, path, reaction, source }
}

/// One row for every field that this provider writes, in both CRD versions.
pub(super) static BEHAVIORS: &[Behavior] = &[
    graph(
        "apiVersion",
        InPlace,
        "CRD: the operator's conversion webhook keeps one object and serves it in both versions",
    ),
    graph("metadata", Reaction::None, "Kubernetes: the object's labels and annotations are not part of the pods"),
    graph(
        "spec.backendFramework",
        Refused,
        "ai-dynamo/dynamo deploy/operator/internal/webhook/validation/dynamographdeployment.go: \
     spec.backendFramework is immutable",
    ),
    // v1alpha1
    graph(
        "spec.pvcs",
        InPlace,
        "ai-dynamo/dynamo deploy/operator/internal/controller/dgd_pvc_reconciler.go: the operator looks for \
     existing claims; pods are unchanged",
    ),
    graph("spec.services", Refused, TOPOLOGY),
    graph("spec.services.*", Refused, TOPOLOGY),
    graph("spec.services.*.componentType", RollingRestart, GENERATION),
    graph("spec.services.*.subComponentType", RollingRestart, GENERATION),
    graph("spec.services.*.replicas", InPlace, SCALING),
    graph("spec.services.*.multinode", Refused, NODES),
    graph("spec.services.*.multinode.nodeCount", RollingRestart, GENERATION),
    graph(
        "spec.services.*.runtimeVersionOverride",
        RollingRestart,
        "CRD: from 1.5.0 a changed override may roll the component",
    ),
    graph("spec.services.*.envFromSecret", RollingRestart, GENERATION),
    graph("spec.services.*.envs", RollingRestart, GENERATION),
    graph("spec.services.*.resources", RollingRestart, GENERATION),
    graph("spec.services.*.sharedMemory", RollingRestart, GENERATION),
    graph("spec.services.*.livenessProbe", RollingRestart, GENERATION),
    graph("spec.services.*.readinessProbe", RollingRestart, GENERATION),
    graph("spec.services.*.volumeMounts", RollingRestart, GENERATION),
    graph("spec.services.*.extraPodMetadata", RollingRestart, GENERATION),
    graph("spec.services.*.extraPodSpec", RollingRestart, GENERATION),
    // v1beta1
    graph("spec.components", Refused, TOPOLOGY),
    graph("spec.components.*", Refused, TOPOLOGY),
    graph("spec.components.*.name", Refused, TOPOLOGY),
    graph("spec.components.*.type", RollingRestart, GENERATION),
    graph("spec.components.*.replicas", InPlace, SCALING),
    graph("spec.components.*.multinode", Refused, NODES),
    graph("spec.components.*.multinode.nodeCount", RollingRestart, GENERATION),
    graph(
        "spec.components.*.runtimeVersionOverride",
        RollingRestart,
        "CRD: from 1.5.0 a changed override may roll the component",
    ),
    graph("spec.components.*.sharedMemorySize", RollingRestart, GENERATION),
    graph("spec.components.*.compilationCache", RollingRestart, GENERATION),
    graph("spec.components.*.podTemplate", RollingRestart, GENERATION),
    // Claims
    claim("metadata", Reaction::None, "Kubernetes: labels and annotations do not bind"),
    claim("spec", Refused, KUBERNETES),
    claim(
        "spec.resources.requests.storage",
        Grows,
        "Kubernetes: grows if the StorageClass allows expansion; ValidatePersistentVolumeClaimUpdate refuses a smaller value",
    ),
];
