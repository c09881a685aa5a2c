//! Codes that every transformation may report.

use kubefoundry_diagnostics::declare_codes;
pub use kubefoundry_kubernetes::codes::*;

declare_codes! {
    // Reading
    UNKNOWN_VERSION = "KF0105" "unknown-version" Error "a kind that kubefoundry reads, in an unknown version";

    // Rendering
    FIELD_IGNORED = "KF0501" "field-ignored" Warning "a field without effect on this provider";
    UNPINNED_RUNTIME = "KF0503" "unpinned-runtime" Info "a default image whose version is not pinned" [OncePerRun];
    NAME_TOO_LONG = "KF0504" "name-too-long" Error "a name that is too long for the names derived from it";
    OWNER_WITHOUT_UID = "KF0525" "owner-without-uid" Error "ownerReferences for an object without a uid";

    // Options
    INVALID_OPTION = "KF0801" "option-invalid" Error "an invalid option";
    UNKNOWN_RUNTIME = "KF0802" "option-unknown-runtime" Warning "a runtime version that kubefoundry does not know yet";
    OPTION_FROM_INPUT = "KF0804" "option-from-input" Error "a file beside the input that allows more than what applies without it";
}
