//! Codes of the pipeline and of the analyses: findings about the input as a whole.

pub mod import;
pub mod input;
pub mod migrate;

pub use kubefoundry_crd::codes::*;
pub use kubefoundry_deployment::codes::*;
use kubefoundry_diagnostics::declare_codes;

declare_codes! {
    // Reading
    UNKNOWN_KIND = "KF0006" "unknown-kind" Error "an API group of kubefoundry with an unknown kind";
    NO_MODEL_DEPLOYMENT = "KF0008" "no-model-deployment" Error "nothing to render in the input";
    UNUSED_OPTIONS = "KF0009" "unused-options" Warning "a Render document that is ignored";
    UNUSABLE_NODES = "KF0011" "unusable-nodes" Error "a dump of the cluster's nodes that cannot be used";
    UNUSED_SUPPRESSION = "KF0010" "unused-suppression" Warning "an annotation that ignores a code which is not reported";

    // ModelDeployments of one namespace
    DUPLICATE_SERVED_NAME = "KF0220" "duplicate-served-name" Warning "two models of a namespace under one name";

    // Pod security
    POD_SECURITY_VIOLATED = "KF0536" "pod-security-violated" Error "a pod that the policy of the options does not allow";
    POLICY_FROM_INPUT = "KF0537" "policy-from-input" Error "a file beside the input that sets the policy";

    // Accounting
    FIELD_REACHES_NOTHING = "KF0630" "field-reaches-nothing" Warning "a field that no part of the output depends on";

    // Output
    DUPLICATE_MODEL_DEPLOYMENT = "KF0901" "duplicate-model-deployment" Error "a ModelDeployment that is in the input twice";
    OBJECT_COLLISION = "KF0902" "object-collision" Error "an object that is generated twice, or generated and in the input";
}
