//! Codes that every transformation may report.

use kubefoundry_diagnostics::declare_codes;
pub use kubefoundry_kubernetes::codes::*;

declare_codes! {
    // Translation
    FIELD_IGNORED = "KF0501" "field-ignored" Warning "a field without effect on this provider";
    UNPINNED_RUNTIME = "KF0504" "unpinned-runtime" Info "a default image whose version is not pinned" [OncePerRun];
    NAME_TOO_LONG = "KF0505" "name-too-long" Error "a name that the provider's derived names do not fit";

    // Output
    INVALID_OPTION = "KF0904" "invalid-option" Error "an option that does not fit";
}
