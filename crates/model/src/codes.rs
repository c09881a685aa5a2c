//! Codes of what a ModelDeployment, its selection and its translation report; codes that a single provider uses are
//! declared in its folder.

use kubefoundry_diagnostics::declare_codes;
pub use kubefoundry_transform::codes::*;

declare_codes! {
    // Reading
    FOREIGN_MODEL_DEPLOYMENT = "KF0007" "foreign-model-deployment" Warning "a ModelDeployment of an API group that is not rendered";

    // Meaning
    ENGINE_REQUIRES_GPU = "KF0201" "engine-requires-gpu" Error "a GPU engine without a GPU";
    RESOURCES_AND_ROLES = "KF0202" "resources-and-roles" Error "resources.gpu in disaggregated mode";
    ROLES_REQUIRED = "KF0203" "roles-required" Error "disaggregated mode without its two roles";
    ROLE_FIELD_REQUIRED = "KF0204" "role-field-required" Error "a role without GPUs or memory";
    RESOURCES_IN_DISAGGREGATED = "KF0205" "resources-in-disaggregated" Error "resources.cpu or resources.memory in disaggregated mode";
    ENGINE_TYPE_REQUIRED = "KF0206" "engine-type-required" Error "a missing engine.type";
    MODEL_ID_REQUIRED = "KF0207" "model-id-required" Error "a missing model.id";
    SERVED_NAME_IGNORED = "KF0208" "served-name-ignored" Warning "a servedName that has no effect";
    IMAGE_REQUIRED = "KF0209" "image-required" Error "source custom without an image";
    SCALING_IGNORED = "KF0210" "scaling-ignored" Warning "scaling for the serving mode that is not used";
    GPU_VENDOR_MISMATCH = "KF0211" "gpu-vendor-mismatch" Error "prefill and decode on GPUs of different vendors";
    INVALID_MODEL_ID = "KF0212" "invalid-model-id" Error "a model id that no engine can load";
    INVALID_SERVED_NAME = "KF0213" "invalid-served-name" Error "a served name that engines would split or misread";
    IMAGE_IN_TWO_PLACES = "KF0214" "image-in-two-places" Error "spec.image and spec.engine.image both given";
    GATEWAY_NOT_RENDERED = "KF0215" "gateway-not-rendered" Error "spec.gateway, which is not rendered yet";
    KV_ROUTING_WITHOUT_PREFIX_CACHE = "KF0216" "kv-routing-without-prefix-cache" Error "KV routing with prefix caching off";

    // Engine arguments
    INVALID_ARGUMENT_KEY = "KF0301" "invalid-argument-key" Error "a key of engine.args that is not a bare flag name" [AsciiKey];
    DUPLICATE_FLAG = "KF0302" "duplicate-flag" Error "one engine flag given twice";
    INVALID_ARGUMENT_VALUE = "KF0303" "invalid-argument-value" Error "an engine flag with a value that the engine refuses";
    UNKNOWN_ARGUMENT = "KF0304" "unknown-argument" Info "a flag that the runtime is not known to have";
    UNSAFE_VALUE = "KF0305" "unsafe-value" Error "a value that cannot be passed to the engine safely";
    INVALID_EXTRA_ARGUMENT = "KF0306" "invalid-extra-argument" Error "an element of engine.extraArgs that is not a flag";
    PARALLELISM_EXCEEDS_GPUS = "KF0307" "parallelism-exceeds-gpus" Error "more parallel ranks than GPUs";
    IDLE_GPUS = "KF0308" "idle-gpus" Warning "fewer parallel ranks than GPUs";
    UNEVEN_PARALLELISM = "KF0309" "uneven-parallelism" Error "GPUs that the parallel sizes do not divide";
    RESERVED_ARGUMENT = "KF0310" "reserved-argument" Error "a flag that another field or the provider sets";
    FLAG_NOT_ACCEPTED = "KF0311" "flag-not-accepted" Error "a flag that the program which starts the engine does not accept";
    CONTEXT_LENGTH_LIMITED = "KF0312" "context-length-limited" Warning "a contextLength that a prebuilt engine may limit";
    DEPRECATED_ARGUMENT = "KF0313" "deprecated-argument" Warning "a flag that the engine will drop";
    EXPOSED_SECRET = "KF0314" "exposed-secret" Warning "a secret in an engine argument";

    // Selection
    NO_HEALTHY_PROVIDER = "KF0401" "no-healthy-provider" Error "a deployment while every provider reports ready: false";
    NO_COMPATIBLE_PROVIDER = "KF0402" "no-compatible-provider" Error "a deployment that no provider can run";
    UNKNOWN_PROVIDER = "KF0403" "unknown-provider" Error "a provider name that no configuration has";
    PROVIDER_NOT_READY = "KF0404" "provider-not-ready" Warning "a chosen provider that reports ready: false";
    PASSED_ON = "KF0405" "passed-on" Info "a deployment for a provider that kubefoundry does not render";
    INVALID_RULE = "KF0406" "invalid-rule" Error "a selection rule that is not a boolean CEL expression over the deployment";
    RULE_NOT_CHECKED = "KF0407" "rule-not-checked" Warning "a part of a selection rule that is not checked statically";
    RULE_FAILED = "KF0408" "rule-failed" Error "a selection rule that fails when it is evaluated";
    ENGINE_NOT_SUPPORTED = "KF0409" "engine-not-supported" Error "an engine that the provider does not run";
    MODE_NOT_SUPPORTED = "KF0410" "mode-not-supported" Error "a serving mode that the provider does not run";
    PROVIDER_REQUIRES_GPU = "KF0411" "provider-requires-gpu" Error "a deployment without GPUs on a provider that needs them";
    DUPLICATE_PROVIDER_CONFIG = "KF0412" "duplicate-provider-config" Error "two configurations for one provider";
    UNKNOWN_ENGINE_IN_CONFIG = "KF0413" "unknown-engine-in-config" Info "a provider configuration that names an unknown engine";
    CAPABILITY_NOT_CLAIMED = "KF0414" "capability-not-claimed" Warning "a deployment that the chosen provider does not claim to run";
    RULE_NEVER_TRUE = "KF0415" "rule-never-true" Warning "a comparison in a selection rule with a value that its field never has";
    UNUSED_RULE_FAILED = "KF0416" "unused-rule-failed" Warning "a selection rule that fails where it decides nothing";

    // Translation
    FIELD_NOT_SUPPORTED = "KF0502" "field-not-supported" Error "a field that the provider does not support";
    ACCELERATOR_NEEDS_IMAGE = "KF0506" "accelerator-needs-image" Error "a GPU that the default image does not support";
    MODEL_ID_NEEDED = "KF0507" "model-id-needed" Error "a custom model without an id, where the provider needs one";
}
