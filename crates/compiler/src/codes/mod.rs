//! Codes of the pipeline and of the analyses: what a run reports about its input as a whole.

pub mod import;
pub mod migrate;

pub use kubefoundry_crd::codes::*;
use kubefoundry_diagnostics::declare_codes;
pub use kubefoundry_model::codes::*;

declare_codes! {
    // Reading
    UNKNOWN_KIND = "KF0006" "unknown-kind" Error "one of our groups with a kind that does not exist";
    NO_MODEL_DEPLOYMENT = "KF0008" "no-model-deployment" Error "nothing to render in the input";
    UNUSED_OPTIONS = "KF0009" "unused-options" Warning "options in the input, where they have no effect";
    UNUSED_SUPPRESSION = "KF0010" "unused-suppression" Warning "a diagnostic that an object says to ignore, and that is not found in it";

    // Accounting
    FIELD_REACHES_NOTHING = "KF0630" "field-reaches-nothing" Warning "a field that no part of the output depends on";

    // Output
    DUPLICATE_MODEL_DEPLOYMENT = "KF0901" "duplicate-model-deployment" Error "one ModelDeployment twice in the input";
    OBJECT_COLLISION = "KF0902" "object-collision" Error "one object made twice, or made and given";
}
