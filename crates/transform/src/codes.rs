//! Codes that every transformation may report.

use kubefoundry_diagnostics::declare_codes;
pub use kubefoundry_kubernetes::codes::*;

declare_codes! {
    // Reading
    OPTION_FROM_INPUT = "KF0012" "option-from-input" Error "a file beside the input that allows more than what applies without it";
    UNKNOWN_VERSION = "KF0005" "unknown-version" Error "a kind that kubefoundry reads, in an unknown version";

    // Translation
    FIELD_IGNORED = "KF0501" "field-ignored" Warning "a field without effect on this provider";
    UNPINNED_RUNTIME = "KF0504" "unpinned-runtime" Info "a default image whose version is not pinned" [OncePerRun];
    NAME_TOO_LONG = "KF0505" "name-too-long" Error "a name that is too long for the names derived from it";

    // Output
    OWNER_WITHOUT_UID = "KF0903" "owner-without-uid" Error "ownerReferences for an object without a uid";
    INVALID_OPTION = "KF0904" "invalid-option" Error "an invalid option";
    UNKNOWN_RUNTIME = "KF0905" "unknown-runtime" Warning "a runtime version that kubefoundry does not know yet";
}
