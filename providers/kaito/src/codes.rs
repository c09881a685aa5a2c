//! The codes that only KAITO reports.

use kubefoundry_diagnostics::declare_codes;

declare_codes! {
    WORKLOAD_KIND_CHANGES = "KF1001" "kaito-workload-kind-changes" Warning "a replica count where a change to or from 1 replaces the object";
    WORKSPACE_REPLICAS = "KF1002" "kaito-workspace-replicas" Error "a Workspace with a replica count other than 1";
    SELECTS_EVERY_NODE = "KF1003" "kaito-selects-every-node" Warning "a preset without nodeSelector, for which KAITO inspects every node";
    INSTANCE_TYPE_REQUIRED = "KF1004" "kaito-instance-type-required" Error "a missing instanceType where KAITO provisions nodes";
    INSTANCE_TYPE_REFUSED = "KF1005" "kaito-instance-type-refused" Error "an instanceType where KAITO provisions no nodes";
    INSTANCE_TYPE_MISSING = "KF1006" "kaito-instance-type-missing" Warning "a missing instanceType, which KAITO rejects by default";
    PRESET_RESOURCES = "KF1007" "kaito-preset-resources" Info "resources of a preset, which its instance type decides";
    LLAMACPP_IMAGE_REQUIRED = "KF1008" "kaito-llamacpp-image-required" Error "llamacpp without an image, for which there is no default";
    UNKNOWN_RUNNER = "KF1009" "kaito-unknown-runner" Error "a llamacpp image that kubefoundry does not know how to start";
    MODEL_FILE_NOT_NAMED = "KF1010" "kaito-model-file-not-named" Warning "a GGUF repository without the name of the file to run";
    UNSUITABLE_INSTANCE_TYPE = "KF1011" "kaito-unsuitable-instance-type" Warning "an instance type without the GPUs that the model asks for";
    MODEL_NEEDS_NODES = "KF1012" "kaito-model-needs-nodes" Info "a model that needs several nodes of its instance type";
    PARTITION_REFUSED = "KF1013" "kaito-partition-refused" Error "a partition that KAITO rejects";
    OTHER_ENGINE = "KF1014" "kaito-other-engine" Warning "an annotation with which KAITO starts another engine than vLLM";
}
