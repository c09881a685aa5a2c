//! Diagnostic codes of actors.

use kubefoundry_diagnostics::declare_codes;
pub use kubefoundry_transform::codes::*;

declare_codes! {
    WORKLOAD_OR_REFERENCE = "KF2101" "actor-workload-or-reference" Error "an AsyncActor with both workload and workloadRef, or with neither";
    RUNTIME_MISPLACED = "KF2102" "actor-runtime-misplaced" Error "runtime or strategy without workloadRef, or workloadRef without runtime";
    RESERVED_CONTAINER = "KF2103" "actor-reserved-container" Error "a container with the name of the sidecar";
    RUNTIME_COMMAND = "KF2104" "actor-runtime-command" Error "a command on the container asya-runtime";
    RUNTIME_CONTAINER = "KF2105" "actor-runtime-container" Error "a workload without exactly one container asya-runtime";
    RESERVED_NAME = "KF2106" "actor-reserved-name" Error "a volume, mount, label or variable that actors reserve";
    FIELD_REPLACED = "KF2107" "actor-field-replaced" Warning "a field of an actor that another field overrides";
    TARGET_URL = "KF2108" "actor-target-url" Error "a targetURL that is not an HTTP URL";
    FOREIGN_ACTOR = "KF2109" "actor-foreign" Warning "an AsyncActor under a group that is not rendered";
    NEWER_ACTOR = "KF2110" "actor-newer" Error "an AsyncActor of an Asya release that is not rendered";
    TRANSPORT_NOT_USABLE = "KF2111" "actor-transport-not-usable" Error "a transport that is not configured, or that is disabled";
    SCALING_NEEDS = "KF2112" "actor-scaling-needs" Error "a transport whose configuration lacks what KEDA needs";
    SCALING_MODIFIERS = "KF2113" "actor-scaling-modifiers" Error "scaling modifiers that KEDA refuses";
    SERVICE_ACCOUNT = "KF2114" "actor-service-account" Error "a custom service account where the transport brings one";
    USERNAME_KEY = "KF2115" "actor-username-key" Info "a Secret that must have the key username for scaling" [OncePerRun];
    OPERATOR_ONLY_SETTING = "KF2116" "actor-operator-only-setting" Info "a setting of a transport that only the Asya operator uses";
    RUNTIME_SCRIPT = "KF2117" "actor-runtime-script" Warning "the ConfigMap asya-runtime, which must be in the cluster" [OncePerRun];
    RUNTIME_SCRIPT_MISSING = "KF2118" "actor-runtime-script-missing" Error "a ConfigMap asya-runtime without the script";
    QUEUE_NOT_CREATED = "KF2119" "actor-queue-not-created" Warning "a queue that must exist, but that nothing in the input creates";
    SIDECAR_IMAGE = "KF2120" "actor-sidecar-image" Warning "an image of the sidecar that no registry has, or of another release" [OncePerRun];
    TARGET_NAMESPACE = "KF2121" "actor-target-namespace" Error "a workloadRef to another namespace";
    TARGET_KIND = "KF2122" "actor-target-kind" Error "a workloadRef to a kind that actors cannot bind to";
    TARGET_MISSING = "KF2123" "actor-target-missing" Error "a workloadRef to an object that is not in the input";
    TARGET_WITHOUT_TEMPLATE = "KF2124" "actor-target-without-template" Error "a target without a pod template";
    TARGET_VERSION = "KF2125" "actor-target-version" Warning "a workloadRef whose version differs from that of its target";
    TARGET_OCCUPIED = "KF2126" "actor-target-occupied" Error "a target that already has containers or labels of an actor";
    TARGET_SHARED = "KF2127" "actor-target-shared" Error "two actors on one target";
    TARGET_KEEPS_REPLICAS = "KF2128" "actor-target-keeps-replicas" Warning "scaling of a target whose own controller sets its replicas";
    KNATIVE_SCALING = "KF2129" "actor-knative-scaling" Error "scaling of a target that Knative scales";
    KNATIVE_LIMITS = "KF2130" "actor-knative-limits" Info "parts of an actor that Knative does not allow";
    RAY_SCALING = "KF2131" "actor-ray-scaling" Warning "scaling of a Ray cluster, which KEDA cannot scale";
    DETACHED_SCALING = "KF2132" "actor-detached-scaling" Warning "scaling of a detached adapter, which does not scale the model";
    SECOND_SCALER = "KF2133" "actor-second-scaler" Error "a second autoscaler for the target of an actor";
    UNBOUND = "KF2134" "actor-unbound" Info "a target whose actor is gone, and whose additions are removed";
    KNATIVE_PORT = "KF2135" "actor-knative-port" Error "a Knative Service without a container that declares a port";
    KSERVE_CONTAINER = "KF2136" "actor-kserve-container" Error "a predictor whose first container is not kserve-container";
    TARGET_DUPLICATE = "KF2137" "actor-target-duplicate" Error "two objects of the input that a workloadRef may mean";
    TARGET_SLEEPS = "KF2138" "actor-target-sleeps" Warning "a target that scales to zero without looking at the queue";
    LEFTOVER_MOUNT = "KF2139" "actor-leftover-mount" Error "a mount of a volume that is removed with the actor";
    HANDLER_MISSING = "KF2140" "actor-handler-missing" Warning "a container asya-runtime without the variable ASYA_HANDLER";
}
