//! Diagnostic codes of actors.

use kubefoundry_diagnostics::declare_codes;
pub use kubefoundry_transform::codes::*;

declare_codes! {
    // The actor itself
    WORKLOAD_OR_REFERENCE = "KF0740" "actor-workload-or-reference" Error "an AsyncActor with both workload and workloadRef, or with neither";
    RUNTIME_MISPLACED = "KF0741" "actor-runtime-misplaced" Error "runtime or strategy without workloadRef, or workloadRef without runtime";
    RESERVED_CONTAINER = "KF0742" "actor-reserved-container" Error "a container with the name of the sidecar";
    RUNTIME_COMMAND = "KF0743" "actor-runtime-command" Error "a command on the container asya-runtime";
    RUNTIME_CONTAINER = "KF0744" "actor-runtime-container" Error "a workload without exactly one container asya-runtime";
    RESERVED_NAME = "KF0745" "actor-reserved-name" Error "a volume, mount, label or variable that actors reserve";
    FIELD_REPLACED = "KF0746" "actor-field-replaced" Warning "a field of an actor that another field overrides";
    TARGET_URL = "KF0747" "actor-target-url" Error "a targetURL that is not an HTTP URL";
    FOREIGN_ACTOR = "KF0748" "foreign-actor" Warning "an AsyncActor under a group that is not rendered";
    NEWER_ACTOR = "KF0749" "newer-actor" Error "an AsyncActor of an Asya release that is not rendered";

    // Transports and scaling
    TRANSPORT_NOT_USABLE = "KF0750" "actor-transport-not-usable" Error "a transport that is not configured, or that is disabled";
    SCALING_NEEDS = "KF0751" "actor-scaling-needs" Error "a transport whose configuration lacks what KEDA needs";
    SCALING_MODIFIERS = "KF0752" "actor-scaling-modifiers" Error "scaling modifiers that KEDA refuses";
    SERVICE_ACCOUNT = "KF0753" "actor-service-account" Error "a custom service account where the transport brings one";
    USERNAME_KEY = "KF0754" "actor-username-key" Info "a Secret that must have the key username for scaling" [OncePerRun];
    OPERATOR_ONLY_SETTING = "KF0755" "actor-operator-only-setting" Info "a setting of a transport that only the Asya operator uses";
    RUNTIME_SCRIPT = "KF0756" "actor-runtime-script" Warning "the ConfigMap asya-runtime, which must be in the cluster" [OncePerRun];
    RUNTIME_SCRIPT_MISSING = "KF0757" "actor-runtime-script-missing" Error "a ConfigMap asya-runtime without the script";
    QUEUE_NOT_CREATED = "KF0758" "actor-queue-not-created" Warning "a queue that must exist, but that nothing in the input creates";
    SIDECAR_IMAGE = "KF0759" "actor-sidecar-image" Warning "an image of the sidecar that no registry has, or of another release" [OncePerRun];

    // Binding
    TARGET_NAMESPACE = "KF0760" "actor-target-namespace" Error "a workloadRef to another namespace";
    TARGET_KIND = "KF0761" "actor-target-kind" Error "a workloadRef to a kind that actors cannot bind to";
    TARGET_MISSING = "KF0762" "actor-target-missing" Error "a workloadRef to an object that is not in the input";
    TARGET_WITHOUT_TEMPLATE = "KF0763" "actor-target-without-template" Error "a target without a pod template";
    TARGET_VERSION = "KF0764" "actor-target-version" Warning "a workloadRef whose version differs from that of its target";
    TARGET_OCCUPIED = "KF0765" "actor-target-occupied" Error "a target that already has containers or labels of an actor";
    TARGET_SHARED = "KF0766" "actor-target-shared" Error "two actors on one target";
    TARGET_KEEPS_REPLICAS = "KF0767" "actor-target-keeps-replicas" Warning "scaling of a target whose own controller sets its replicas";
    KNATIVE_SCALING = "KF0768" "actor-knative-scaling" Error "scaling of a target that Knative scales";
    KNATIVE_LIMITS = "KF0769" "actor-knative-limits" Info "parts of an actor that Knative does not allow";
    RAY_SCALING = "KF0770" "actor-ray-scaling" Warning "scaling of a Ray cluster, which KEDA cannot scale";
    DETACHED_SCALING = "KF0771" "actor-detached-scaling" Warning "scaling of a detached adapter, which does not scale the model";
    SECOND_SCALER = "KF0772" "actor-second-scaler" Error "a second autoscaler for the target of an actor";
    UNBOUND = "KF0773" "actor-unbound" Info "a target whose actor is gone, and whose additions are removed";
    KNATIVE_PORT = "KF0774" "actor-knative-port" Error "a Knative Service without a container that declares a port";
    KSERVE_CONTAINER = "KF0775" "actor-kserve-container" Error "a predictor whose first container is not kserve-container";
    TARGET_DUPLICATE = "KF0776" "actor-target-duplicate" Error "two objects of the input that a workloadRef may mean";
    TARGET_SLEEPS = "KF0777" "actor-target-sleeps" Warning "a target that scales to zero without looking at the queue";
    LEFTOVER_MOUNT = "KF0778" "actor-leftover-mount" Error "a mount of a volume that is removed with the actor";
    HANDLER_MISSING = "KF0779" "actor-handler-missing" Warning "a container asya-runtime without the variable ASYA_HANDLER";
}
