//! Codes of the pipeline and of the analyses: what a run reports about its input as a whole.

pub mod import;
pub mod migrate;

pub use kubefoundry_crd::codes::*;
use kubefoundry_diagnostics::declare_codes;
pub use kubefoundry_model::codes::*;

declare_codes! {
    // Reading
    UNKNOWN_VERSION = "KF0005" "unknown-version" Error "one of our groups with a version that does not exist";
    UNKNOWN_KIND = "KF0006" "unknown-kind" Error "one of our groups with a kind that does not exist";
    FOREIGN_MODEL_DEPLOYMENT = "KF0007" "foreign-model-deployment" Warning "a ModelDeployment of a group that is not ours";
    NO_MODEL_DEPLOYMENT = "KF0008" "no-model-deployment" Error "nothing to render in the input";
    UNUSED_OPTIONS = "KF0009" "unused-options" Warning "options in the input, where they have no effect";
    UNUSED_SUPPRESSION = "KF0010" "unused-suppression" Warning "a diagnostic that an object says to ignore, and that is not found in it";

    // Accounting
    FIELD_REACHES_NOTHING = "KF0630" "field-reaches-nothing" Warning "a field that no part of the output depends on";

    // Output
    DUPLICATE_MODEL_DEPLOYMENT = "KF0901" "duplicate-model-deployment" Error "one ModelDeployment twice in the input";
    OBJECT_COLLISION = "KF0902" "object-collision" Error "one object made twice, or made and given";
    OWNER_WITHOUT_UID = "KF0903" "owner-without-uid" Error "ownerReferences asked for without a uid in the input";
}
