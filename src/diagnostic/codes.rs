//! The registry of diagnostic codes. Codes that only one provider uses are declared in its folder;
//! [`crate::registry`] joins them all. A code, once released, keeps its meaning.

use super::Severity;

/// A stable name for one kind of finding.
#[derive(Debug, PartialEq, Eq)]
pub struct Code {
    /// `KFnnnn`.
    pub id: &'static str,
    /// The same in words: `unknown-field`.
    pub name: &'static str,
    /// How much it matters unless options say otherwise.
    pub severity: Severity,
    /// What it flags, in one line.
    pub summary: &'static str,
}

/// Declares codes and the list of them.
macro_rules! codes {
    ($($(#[$doc:meta])* $constant:ident = $id:literal $name:literal $severity:ident $summary:literal;)*) => {
        $(#[doc = concat!("`", $id, "` ", $name, ": ", $summary, ".")] $(#[$doc])*
        pub static $constant: $crate::diagnostic::Code = $crate::diagnostic::Code {
            id: $id, name: $name, severity: $crate::diagnostic::Severity::$severity, summary: $summary,
        };)*
        /// The codes declared here, by number.
        pub static CODES: &[&$crate::diagnostic::Code] = &[$(&$constant),*];
    };
}
pub(crate) use codes;

codes! {
    // Reading
    SYNTAX = "KF0001" "syntax" Error "text that is not YAML or JSON";
    DUPLICATE_KEY = "KF0002" "duplicate-key" Error "a key that stands twice in one mapping, or again over a merged one";
    NOT_JSON = "KF0003" "not-json" Error "a value that JSON, and so Kubernetes, cannot hold";
    LIMIT_EXCEEDED = "KF0004" "limit-exceeded" Error "a document larger or deeper than the limits";
    UNKNOWN_VERSION = "KF0005" "unknown-version" Error "one of our groups with a version that does not exist";
    UNKNOWN_KIND = "KF0006" "unknown-kind" Error "one of our groups with a kind that does not exist";
    FOREIGN_MODEL_DEPLOYMENT = "KF0007" "foreign-model-deployment" Warning "a ModelDeployment of a group that is not ours";
    NO_MODEL_DEPLOYMENT = "KF0008" "no-model-deployment" Error "nothing to render in the input";
    UNUSED_OPTIONS = "KF0009" "unused-options" Warning "options in the input, where they have no effect";
    UNUSED_SUPPRESSION = "KF0010" "unused-suppression" Warning "a diagnostic that an object says to ignore, and that is not found in it";

    // Shape
    WRONG_TYPE = "KF0101" "wrong-type" Error "a value of another type than the field's";
    UNKNOWN_FIELD = "KF0102" "unknown-field" Error "a field that does not exist";
    INVALID_VALUE = "KF0103" "invalid-value" Error "a value outside the allowed ones";
    REQUIRED_FIELD = "KF0104" "required-field" Error "a missing field";
    OUT_OF_RANGE = "KF0105" "out-of-range" Error "a number that is too small or too large";
    INVALID_NAME = "KF0106" "invalid-name" Error "a name that Kubernetes does not accept";
    INVALID_QUANTITY = "KF0107" "invalid-quantity" Error "text that is not a resource quantity";
    INVALID_IMAGE = "KF0108" "invalid-image" Error "text that is not a container image reference";
    INVALID_ENVIRONMENT = "KF0109" "invalid-environment" Error "an environment variable that a container does not accept";
    INVALID_LABEL = "KF0110" "invalid-label" Error "a label or annotation that Kubernetes does not accept";
    RESERVED_LABEL = "KF0111" "reserved-label" Error "a label or annotation that only kubefoundry sets";
    INVALID_TOLERATION = "KF0112" "invalid-toleration" Error "a toleration that Kubernetes does not accept";
    INVALID_VOLUME = "KF0113" "invalid-volume" Error "a storage volume that cannot be mounted";
    DUPLICATE_ENTRY = "KF0114" "duplicate-entry" Error "two list entries with one name";

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
    SCALING_IGNORED = "KF0210" "scaling-ignored" Warning "scaling of the mode that is not used";
    GPU_VENDOR_MISMATCH = "KF0211" "gpu-vendor-mismatch" Error "prefill and decode on GPUs of different vendors";
    INVALID_MODEL_ID = "KF0212" "invalid-model-id" Error "a model id that no engine can load";
    INVALID_SERVED_NAME = "KF0213" "invalid-served-name" Error "a served name that engines would split or misread";
    IMAGE_IN_TWO_PLACES = "KF0214" "image-in-two-places" Error "spec.image and spec.engine.image both given";
    GATEWAY_NOT_RENDERED = "KF0215" "gateway-not-rendered" Error "spec.gateway, which is not rendered yet";
    KV_ROUTING_WITHOUT_PREFIX_CACHE = "KF0216" "kv-routing-without-prefix-cache" Error "KV routing with prefix caching off";

    // Engine arguments
    INVALID_ARGUMENT_KEY = "KF0301" "invalid-argument-key" Error "an engine.args key that is not a bare flag name";
    DUPLICATE_FLAG = "KF0302" "duplicate-flag" Error "one engine flag given twice";
    INVALID_ARGUMENT_VALUE = "KF0303" "invalid-argument-value" Error "an engine flag with a value that the engine refuses";
    UNKNOWN_ARGUMENT = "KF0304" "unknown-argument" Info "a flag that the runtime's table does not know";
    UNSAFE_VALUE = "KF0305" "unsafe-value" Error "a value that cannot be passed to the engine safely";
    INVALID_EXTRA_ARGUMENT = "KF0306" "invalid-extra-argument" Error "an engine.extraArgs element that is not a flag";
    PARALLELISM_EXCEEDS_GPUS = "KF0307" "parallelism-exceeds-gpus" Error "more parallel ranks than GPUs";
    IDLE_GPUS = "KF0308" "idle-gpus" Warning "fewer parallel ranks than GPUs";
    UNEVEN_PARALLELISM = "KF0309" "uneven-parallelism" Error "GPUs that the parallel sizes do not divide";
    RESERVED_ARGUMENT = "KF0310" "reserved-argument" Error "a flag that another field, or the provider, sets";
    FLAG_NOT_ACCEPTED = "KF0311" "flag-not-accepted" Error "a flag of the engine that its launcher does not take";
    CONTEXT_LENGTH_LIMITED = "KF0312" "context-length-limited" Warning "a contextLength that a prebuilt engine may cap";
    DEPRECATED_ARGUMENT = "KF0313" "deprecated-argument" Warning "a flag that the engine is about to drop";
    EXPOSED_SECRET = "KF0314" "exposed-secret" Warning "a secret written as an engine argument";

    // Selection
    NO_HEALTHY_PROVIDER = "KF0401" "no-healthy-provider" Error "every provider reports ready: false";
    NO_COMPATIBLE_PROVIDER = "KF0402" "no-compatible-provider" Error "no provider takes this deployment";
    UNKNOWN_PROVIDER = "KF0403" "unknown-provider" Error "a provider name that no configuration has";
    PROVIDER_NOT_READY = "KF0404" "provider-not-ready" Warning "a chosen provider that reports ready: false";
    PASSED_ON = "KF0405" "passed-on" Info "a deployment for a provider that this program does not render";
    INVALID_RULE = "KF0406" "invalid-rule" Error "a selection rule that is not a boolean CEL expression over the deployment";
    RULE_NOT_CHECKED = "KF0407" "rule-not-checked" Warning "a part of a selection rule that is not checked statically";
    RULE_FAILED = "KF0408" "rule-failed" Error "a selection rule that fails when it is evaluated";
    ENGINE_NOT_SUPPORTED = "KF0409" "engine-not-supported" Error "an engine that the provider does not run";
    MODE_NOT_SUPPORTED = "KF0410" "mode-not-supported" Error "a serving mode that the provider does not run";
    PROVIDER_REQUIRES_GPU = "KF0411" "provider-requires-gpu" Error "a provider that needs GPUs without any";
    DUPLICATE_PROVIDER_CONFIG = "KF0412" "duplicate-provider-config" Error "two configurations for one provider";
    UNKNOWN_ENGINE_IN_CONFIG = "KF0413" "unknown-engine-in-config" Info "a provider configuration that names an engine unknown here";
    CAPABILITY_NOT_CLAIMED = "KF0414" "capability-not-claimed" Warning "a deployment that the chosen provider does not claim to run";
    RULE_NEVER_TRUE = "KF0415" "rule-never-true" Warning "a comparison in a selection rule with a value that its field never has";
    UNUSED_RULE_FAILED = "KF0416" "unused-rule-failed" Warning "a selection rule that fails where it decides nothing";

    // Translation
    FIELD_IGNORED = "KF0501" "field-ignored" Warning "a field without effect on this provider";
    FIELD_NOT_SUPPORTED = "KF0502" "field-not-supported" Error "a field that this provider cannot carry";
    UNKNOWN_OVERRIDE = "KF0503" "unknown-override" Warning "a provider override that does not exist";
    UNPINNED_RUNTIME = "KF0504" "unpinned-runtime" Info "a default image whose version is not pinned";
    NAME_TOO_LONG = "KF0505" "name-too-long" Error "a name that the provider's derived names do not fit";
    ACCELERATOR_NEEDS_IMAGE = "KF0506" "accelerator-needs-image" Error "a GPU that the default image cannot drive";
    MODEL_ID_NEEDED = "KF0507" "model-id-needed" Error "a custom model without an id, where the provider needs one";

    // Conformance with a dump of CRDs
    NOT_A_CRD = "KF0550" "not-a-crd" Error "a CRD dump without a CRD";
    UNUSABLE_CRD = "KF0551" "unusable-crd" Error "a CRD that cannot be read";
    DUPLICATE_CRD = "KF0552" "duplicate-crd" Error "two different CRDs for one kind";
    CRD_NOT_INSTALLED = "KF0553" "crd-not-installed" Error "a provider whose CRD is not in the dump";
    FIELD_NOT_IN_SCHEMA = "KF0554" "field-not-in-schema" Error "a rendered field that the CRD does not have";
    SCHEMA_VIOLATED = "KF0555" "schema-violated" Error "a rendered value that the CRD's schema refuses";
    CRD_RULE_VIOLATED = "KF0556" "crd-rule-violated" Error "a rendered object that a rule of its CRD refuses";
    CRD_RULE_NOT_EVALUATED = "KF0557" "crd-rule-not-evaluated" Info "a rule of a CRD that is not evaluated here";

    // Accounting
    FIELD_REACHES_NOTHING = "KF0630" "field-reaches-nothing" Warning "a field that no part of the output depends on";

    // Output
    DUPLICATE_MODEL_DEPLOYMENT = "KF0901" "duplicate-model-deployment" Error "one ModelDeployment twice in the input";
    OBJECT_COLLISION = "KF0902" "object-collision" Error "one object made twice, or made and given";
    OWNER_WITHOUT_UID = "KF0903" "owner-without-uid" Error "ownerReferences asked for without a uid in the input";
    INVALID_OPTION = "KF0904" "invalid-option" Error "an option that does not fit";
}
