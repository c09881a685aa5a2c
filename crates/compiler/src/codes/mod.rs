//! Codes of the pipeline and of the analyses: findings about the input as a whole.

pub mod import;
pub mod input;
pub mod migrate;

pub use kubefoundry_crd::codes::*;
pub use kubefoundry_deployment::codes::*;
use kubefoundry_diagnostics::declare_codes;

declare_codes! {
    // Reading
    UNKNOWN_KIND = "KF0106" "unknown-kind" Error "an API group of kubefoundry with an unknown kind";
    NO_MODEL_DEPLOYMENT = "KF0107" "no-model-deployment" Error "nothing to render in the input";
    UNUSED_SUPPRESSION = "KF0128" "unused-suppression" Warning "an annotation that ignores a code which is not reported";

    // Models
    DUPLICATE_SERVED_NAME = "KF0221" "duplicate-served-name" Warning "two models of a namespace under one name";

    // Rendering
    DUPLICATE_MODEL_DEPLOYMENT = "KF0523" "duplicate-model-deployment" Error "a ModelDeployment that is in the input twice";
    OBJECT_COLLISION = "KF0524" "object-collision" Error "an object that is generated twice, or generated and in the input";
    FIELD_REACHES_NOTHING = "KF0526" "field-reaches-nothing" Warning "a field that no part of the output depends on";

    // Patches and policy
    POD_SECURITY_VIOLATED = "KF0612" "policy-pod-security-violated" Error "a pod that the policy of the options does not allow";
    POLICY_FROM_INPUT = "KF0613" "policy-from-input" Error "a file beside the input that sets the policy";

    // Options
    UNUSED_OPTIONS = "KF0803" "options-unused" Warning "a Render document that is ignored";
    UNUSABLE_NODES = "KF0806" "unusable-nodes" Error "a dump of the cluster's nodes that cannot be used";
}
