//! Codes of what a ModelDeployment, its selection and its translation report; codes that a single provider uses are
//! declared in its folder.

use kubefoundry_diagnostics::declare_codes;
pub use kubefoundry_transform::codes::*;

declare_codes! {
    // Models
    FOREIGN_MODEL_DEPLOYMENT = "KF0201" "foreign-model-deployment" Warning "a ModelDeployment of an API group that is not rendered";
    ENGINE_REQUIRES_GPU = "KF0202" "engine-requires-gpu" Error "a GPU engine without a GPU";
    RESOURCES_AND_ROLES = "KF0203" "resources-and-roles" Error "resources.gpu in disaggregated mode";
    ROLES_REQUIRED = "KF0204" "roles-required" Error "disaggregated mode without its two roles";
    ROLE_FIELD_REQUIRED = "KF0205" "role-field-required" Error "a role without a GPU count";
    RESOURCES_IN_DISAGGREGATED = "KF0206" "resources-in-disaggregated" Error "resources.cpu or resources.memory in disaggregated mode";
    ENGINE_TYPE_REQUIRED = "KF0207" "engine-type-required" Error "a missing engine.type";
    MODEL_ID_REQUIRED = "KF0208" "model-id-required" Error "a missing model.id";
    SERVED_NAME_IGNORED = "KF0209" "served-name-ignored" Warning "a servedName that has no effect";
    IMAGE_REQUIRED = "KF0210" "image-required" Error "source custom without an image";
    SCALING_IGNORED = "KF0211" "scaling-ignored" Warning "scaling for the serving mode that is not used";
    GPU_VENDOR_MISMATCH = "KF0212" "gpu-vendor-mismatch" Error "prefill and decode on GPUs of different vendors";
    INVALID_MODEL_ID = "KF0213" "invalid-model-id" Error "a model id that no engine can load";
    INVALID_SERVED_NAME = "KF0214" "invalid-served-name" Error "a served name that engines would split or misread";
    IMAGE_IN_TWO_PLACES = "KF0215" "image-in-two-places" Error "spec.image and spec.engine.image both given";
    GATEWAY_NOT_RENDERED = "KF0216" "gateway-not-rendered" Info "a gateway for which nothing is rendered, because the provider makes its InferencePool";
    KV_ROUTING_WITHOUT_PREFIX_CACHE = "KF0217" "kv-routing-without-prefix-cache" Error "KV routing with prefix caching or cache events off";
    SINGLE_NODE_CLAIM = "KF0218" "single-node-claim" Warning "several pods on a new claim for one node";
    SUSPECT_GPU_TYPE = "KF0219" "suspect-gpu-type" Warning "a GPU resource whose name looks misspelled";
    OVERSIZED_POD = "KF0220" "oversized-pod" Warning "more GPUs in a pod than any known node has";
    GATED_MODEL_WITHOUT_TOKEN = "KF0222" "gated-model-without-token" Warning "a gated model that is downloaded without a token";
    UNUSED_CLAIM = "KF0223" "unused-claim" Warning "a claim for devices that no container uses";
    OTHER_VENDORS_NODES = "KF0224" "other-vendors-nodes" Warning "nodes with GPUs of another vendor than the resource";
    NO_NODE_FITS = "KF0225" "no-node-fits" Warning "a worker that no node of the cluster can run";
    SMALL_HOST_MEMORY = "KF0226" "small-host-memory" Warning "a pod whose memory is far too small for the weights";
    INVALID_RESOURCES = "KF0227" "invalid-resources" Error "requests and limits that Kubernetes refuses together";
    NOTHING_TO_REMOVE = "KF0228" "nothing-to-remove" Error "a null of a role that removes nothing";
    INVALID_CLAIM = "KF0229" "invalid-claim" Error "a claim for devices without one source, or one that the pod does not have";
    REMOTE_CODE_TRUSTED = "KF0230" "remote-code-trusted" Warning "trustRemoteCode in the airunway group (airunway also warns)";
    ROLE_WITHOUT_MEMORY = "KF0231" "role-without-memory" Warning "a role without memory";
    MODEL_ALIAS = "KF0232" "model-alias" Warning "a model name that only another provider knows";
    LARGE_SHARED_MEMORY = "KF0233" "large-shared-memory" Warning "a /dev/shm that is not smaller than the memory limit";
    POD_VOLUME_SOURCE = "KF0234" "pod-volume-source" Error "a volume without exactly one supported source";
    POD_VOLUME_NAME = "KF0235" "pod-volume-name" Error "a volume whose name is invalid or taken";
    UNKNOWN_VOLUME = "KF0236" "unknown-volume" Error "a mount of a volume that does not exist";
    MOUNT_PATH_IN_USE = "KF0237" "mount-path-in-use" Error "a mount where something else is mounted";
    UNUSED_VOLUME = "KF0238" "unused-volume" Warning "a volume that is not mounted";

    // Engines
    INVALID_ARGUMENT_KEY = "KF0301" "invalid-argument-key" Error "a key of engine.args that is not a bare flag name" [AsciiKey];
    DUPLICATE_FLAG = "KF0302" "duplicate-flag" Error "one engine flag given twice";
    INVALID_ARGUMENT_VALUE = "KF0303" "invalid-argument-value" Error "an engine flag with a value that the engine refuses";
    UNKNOWN_ARGUMENT = "KF0304" "unknown-argument" Error "a flag that the version of the runtime does not have";
    UNSAFE_VALUE = "KF0305" "unsafe-value" Error "a value that cannot be passed to the engine safely";
    INVALID_EXTRA_ARGUMENT = "KF0306" "invalid-extra-argument" Error "an element of engine.extraArgs that is not a flag";
    PARALLELISM_EXCEEDS_GPUS = "KF0307" "parallelism-exceeds-gpus" Error "more parallel ranks than GPUs";
    IDLE_GPUS = "KF0308" "idle-gpus" Warning "fewer parallel ranks than GPUs";
    UNEVEN_PARALLELISM = "KF0309" "uneven-parallelism" Error "GPUs that the parallel sizes do not divide";
    RESERVED_ARGUMENT = "KF0310" "reserved-argument" Error "a flag that another field or the provider sets";
    FLAG_NOT_ACCEPTED = "KF0311" "flag-not-accepted" Error "a flag that the program which starts the engine does not accept";
    CONTEXT_LENGTH_LIMITED = "KF0312" "context-length-limited" Warning "a contextLength that a prebuilt engine may limit";
    DEPRECATED_ARGUMENT = "KF0313" "deprecated-argument" Warning "a flag that the engine will drop";
    EXPOSED_SECRET = "KF0314" "exposed-secret" Warning "a secret that is written as plain text";
    DOUBTFUL_ARGUMENT = "KF0315" "doubtful-argument" Warning "a flag that the runtime probably does not have";
    DOUBTFUL_VALUE = "KF0316" "doubtful-value" Warning "a value that the engine knows only with a plugin";
    ROLES_DIFFER = "KF0317" "roles-differ" Error "an engine setting that prefill and decode must share, with different values";
    MODEL_CANNOT_BE_SPLIT = "KF0318" "model-cannot-be-split" Error "a tensor parallel size that the model's heads do not take";
    CONTEXT_BEYOND_MODEL = "KF0319" "context-beyond-model" Error "a context longer than the model's positions";
    MODEL_DOES_NOT_FIT = "KF0320" "model-does-not-fit" Error "a model that needs more memory than its GPUs have";
    MODEL_MAY_NOT_FIT = "KF0321" "model-may-not-fit" Info "a model that may or may not fit its GPUs, depending on details";
    GPU_TOO_OLD = "KF0322" "gpu-too-old" Error "a quantization method or number format that the GPU is too old for";
    ARCHITECTURE_NOT_SERVED = "KF0323" "architecture-not-served" Warning "a model whose architecture the engine's version does not implement";
    FOREIGN_PARSER = "KF0324" "foreign-parser" Warning "a parser of tool calls or reasoning that reads another format than the model writes";
    UNUSED_TOOL_PARSER = "KF0325" "unused-tool-parser" Warning "a tool call parser that the server does not use";
    TOOL_CHOICE_WITHOUT_PARSER = "KF0326" "tool-choice-without-parser" Error "automatic tool choice without a tool call parser";
    QUANTIZATION_OF_ANOTHER_CHECKPOINT = "KF0327" "quantization-of-another-checkpoint" Error "a quantization method that the model's weights do not have";
    FLOAT16_REFUSED = "KF0328" "half-precision-refused" Error "float16 for a model that the engine refuses to run with it";
    DRAFT_MODEL_REFUSED = "KF0329" "draft-model-refused" Error "a draft model that the engine refuses for this model";
    FOREIGN_DRAFT_MODEL = "KF0330" "foreign-draft-model" Warning "a draft model with another vocabulary";
    EXPERT_PARALLELISM_REFUSED = "KF0331" "expert-parallelism-refused" Error "expert parallelism that the engine refuses for this model";
    INVALID_MODEL_CONFIG = "KF0332" "invalid-model-config" Warning "a config.json with values that cannot be used";

    // Selection and rules
    NO_HEALTHY_PROVIDER = "KF0401" "no-healthy-provider" Error "a deployment while every provider reports ready: false";
    NO_COMPATIBLE_PROVIDER = "KF0402" "no-compatible-provider" Error "a deployment that no provider can run";
    UNKNOWN_PROVIDER = "KF0403" "unknown-provider" Error "a provider name that no configuration has";
    PROVIDER_NOT_READY = "KF0404" "provider-not-ready" Warning "a chosen provider that reports ready: false";
    PASSED_ON = "KF0405" "passed-on" Info "an object that this program passes on instead of rendering it";
    INVALID_RULE = "KF0406" "rule-invalid" Error "a selection rule that is not a boolean CEL expression over the deployment";
    RULE_NOT_CHECKED = "KF0407" "rule-not-checked" Warning "a part of a selection rule that is not checked statically";
    RULE_FAILED = "KF0408" "rule-failed" Error "a selection rule that fails when it is evaluated";
    ENGINE_NOT_SUPPORTED = "KF0409" "engine-not-supported" Error "an engine that the provider does not run";
    MODE_NOT_SUPPORTED = "KF0410" "mode-not-supported" Error "a serving mode that the provider does not run";
    PROVIDER_REQUIRES_GPU = "KF0411" "provider-requires-gpu" Error "a deployment without GPUs on a provider that needs them";
    DUPLICATE_PROVIDER_CONFIG = "KF0412" "duplicate-provider-config" Error "two configurations for one provider";
    UNKNOWN_ENGINE_IN_CONFIG = "KF0413" "unknown-engine-in-config" Info "a provider configuration that names an unknown engine";
    CAPABILITY_NOT_CLAIMED = "KF0414" "capability-not-claimed" Warning "a deployment that the chosen provider does not claim to run";
    RULE_NEVER_TRUE = "KF0415" "rule-never-true" Warning "a comparison in a selection rule with a value that its field never has";
    UNUSED_RULE_FAILED = "KF0416" "rule-failed-unused" Warning "a selection rule that fails where it decides nothing";
    INERT_CONFIGURATION = "KF0417" "inert-configuration" Warning "a provider configuration without engines";

    // Rendering
    FIELD_NOT_SUPPORTED = "KF0502" "field-not-supported" Error "a field that the provider does not support";
    ACCELERATOR_NEEDS_IMAGE = "KF0505" "accelerator-needs-image" Error "a GPU that the default image does not support";
    MODEL_ID_NEEDED = "KF0506" "model-id-needed" Error "a custom model without an id, where the provider needs one";
    FOREIGN_IMAGE = "KF0507" "foreign-image" Error "an image that cannot run the engine on this provider";
    GATEWAY_UNNAMED = "KF0508" "gateway-unnamed" Error "an HTTPRoute without a Gateway in the options";
    ENDPOINT_PICKER_REQUIRED = "KF0509" "gateway-endpoint-picker-required" Error "an InferencePool without the endpoint picker that its CRD requires";
    ENDPOINT_PICKER_MISSING = "KF0510" "gateway-endpoint-picker-missing" Warning "an InferencePool without an endpoint picker, which most clusters require";
    GATEWAY_MODEL_UNKNOWN = "KF0511" "gateway-model-unknown" Error "an HTTPRoute for a model whose name is only known to its image";
    GATEWAY_MODEL_MISMATCH = "KF0512" "gateway-model-mismatch" Warning "an HTTPRoute for another name than the model answers to";

    // Patches and policy
    PATCH_WITHOUT_TARGET = "KF0603" "patch-without-target" Error "a patch whose target is not generated";
    PATCH_OF_IDENTITY = "KF0604" "patch-of-identity" Error "a patch of what identifies an object or its owner";
    PATCH_OF_OWNED_VALUE = "KF0605" "patch-of-owned-value" Error "a patch of a value that a field decides";
    PATCH_OF_UNKNOWN_FIELD = "KF0606" "patch-of-unknown-field" Error "a patch with a field that the schema does not have";
    PATCH_VIOLATES_SCHEMA = "KF0607" "patch-violates-schema" Error "a patch with a value that the schema refuses";
    PATCH_WITHOUT_SERVE_CONFIG = "KF0608" "patch-without-serve-config" Error "a patch of a Serve configuration that does not exist";
    PATCH_WITHOUT_ITEM_KEY = "KF0609" "patch-without-item-key" Error "a patch with list items that cannot be told apart";
    PATCH_WITHOUT_EFFECT = "KF0610" "patch-without-effect" Warning "a patch, or a part of one, that changes nothing";
    OWNED_OBJECT_METADATA = "KF0611" "owned-object-metadata" Error "a label or annotation of the provider's object that others own";
}
