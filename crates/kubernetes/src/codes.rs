//! Diagnostic codes for reading a document and for checking values of Kubernetes' own types.

pub use kubefoundry_diagnostics::codes::*;
use kubefoundry_diagnostics::declare_codes;

declare_codes! {
    // Reading
    SYNTAX = "KF0101" "syntax" Error "text that is not YAML or JSON";
    DUPLICATE_KEY = "KF0102" "duplicate-key" Error "a key that occurs twice in one mapping, or that overrides a merged one" [WithholdsFixes];
    NOT_JSON = "KF0103" "not-json" Error "a value that JSON, and so Kubernetes, cannot hold";
    WRONG_TYPE = "KF0112" "wrong-type" Error "a value of another type than the field's";
    UNKNOWN_FIELD = "KF0113" "unknown-field" Error "a field that does not exist" [AsciiKey];
    INVALID_VALUE = "KF0114" "invalid-value" Error "a value outside the allowed ones" [AsciiValue];
    REQUIRED_FIELD = "KF0115" "required-field" Error "a missing field";
    OUT_OF_RANGE = "KF0116" "out-of-range" Error "a number or a size outside its limits";
    INVALID_NAME = "KF0117" "invalid-name" Error "a name that Kubernetes does not accept" [AsciiValue];
    INVALID_QUANTITY = "KF0118" "invalid-quantity" Error "text that is not a resource quantity" [AsciiValue];
    INVALID_IMAGE = "KF0119" "invalid-image" Error "text that is not a container image reference" [AsciiValue];
    INVALID_ENVIRONMENT = "KF0120" "invalid-environment" Error "an environment variable that a container does not accept" [AsciiValue];
    INVALID_LABEL = "KF0121" "invalid-label" Error "a label or annotation that Kubernetes does not accept" [AsciiValue];
    RESERVED_LABEL = "KF0122" "reserved-label" Error "a label or annotation that only kubefoundry sets";
    INVALID_TOLERATION = "KF0123" "invalid-toleration" Error "a toleration that Kubernetes does not accept";
    INVALID_VOLUME = "KF0124" "invalid-volume" Error "a storage volume that cannot be mounted";
    DUPLICATE_ENTRY = "KF0125" "duplicate-entry" Error "two list entries with one name";
    UNREAD_ANNOTATION = "KF0126" "unread-annotation" Warning "an annotation with the prefix of the API group that nothing reads";
    TOKEN_AS_NAME = "KF0127" "token-as-name" Error "a token where a name belongs, such as that of a Secret";

    // Patches and policy
    UNKNOWN_OVERRIDE = "KF0601" "override-unknown" Warning "a provider override that does not exist";
    DROPPED_OVERRIDE = "KF0602" "override-dropped" Error "a provider override that airunway merges, but kubefoundry would drop";
}
