//! Diagnostic codes for reading a document and for checking values of Kubernetes' own types.

pub use kubefoundry_diagnostics::codes::*;
use kubefoundry_diagnostics::declare_codes;

declare_codes! {
    // Reading
    SYNTAX = "KF0001" "syntax" Error "text that is not YAML or JSON";
    DUPLICATE_KEY = "KF0002" "duplicate-key" Error "a key that occurs twice in one mapping, or that overrides a merged one" [WithholdsFixes];
    NOT_JSON = "KF0003" "not-json" Error "a value that JSON, and so Kubernetes, cannot hold";

    // Shape
    WRONG_TYPE = "KF0101" "wrong-type" Error "a value of another type than the field's";
    UNKNOWN_FIELD = "KF0102" "unknown-field" Error "a field that does not exist" [AsciiKey];
    INVALID_VALUE = "KF0103" "invalid-value" Error "a value outside the allowed ones" [AsciiValue];
    REQUIRED_FIELD = "KF0104" "required-field" Error "a missing field";
    OUT_OF_RANGE = "KF0105" "out-of-range" Error "a number or a size outside its limits";
    INVALID_NAME = "KF0106" "invalid-name" Error "a name that Kubernetes does not accept" [AsciiValue];
    INVALID_QUANTITY = "KF0107" "invalid-quantity" Error "text that is not a resource quantity" [AsciiValue];
    INVALID_IMAGE = "KF0108" "invalid-image" Error "text that is not a container image reference" [AsciiValue];
    INVALID_ENVIRONMENT = "KF0109" "invalid-environment" Error "an environment variable that a container does not accept" [AsciiValue];
    INVALID_LABEL = "KF0110" "invalid-label" Error "a label or annotation that Kubernetes does not accept" [AsciiValue];
    RESERVED_LABEL = "KF0111" "reserved-label" Error "a label or annotation that only kubefoundry sets";
    INVALID_TOLERATION = "KF0112" "invalid-toleration" Error "a toleration that Kubernetes does not accept";
    INVALID_VOLUME = "KF0113" "invalid-volume" Error "a storage volume that cannot be mounted";
    DUPLICATE_ENTRY = "KF0114" "duplicate-entry" Error "two list entries with one name";
    UNREAD_ANNOTATION = "KF0119" "unread-annotation" Warning "an annotation with the prefix of the API group that nothing reads";
    TOKEN_AS_NAME = "KF0120" "token-as-name" Error "a token where a name belongs, such as that of a Secret";

    // Translation
    UNKNOWN_OVERRIDE = "KF0503" "unknown-override" Warning "a provider override that does not exist";
    DROPPED_OVERRIDE = "KF0519" "dropped-override" Error "a provider override that airunway merges, but kubefoundry would drop";
}
