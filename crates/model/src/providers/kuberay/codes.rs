//! The diagnostics that only KubeRay needs.

use kubefoundry_diagnostics::declare_codes;

declare_codes! {
    RAY_VERSION_ASSUMED = "KF0801" "ray-version-assumed" Info "an image of a Ray version that is not said, or whose flags are not known";
    INVALID_RAY_START_PARAMETER = "KF0802" "invalid-ray-start-parameter" Error "a head.rayStartParams entry that cannot be passed to ray start";
    UNKNOWN_RAY_START_PARAMETER = "KF0803" "unknown-ray-start-parameter" Warning "a head.rayStartParams entry that ray start does not know";
}
