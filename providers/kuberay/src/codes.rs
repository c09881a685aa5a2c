//! The codes that only KubeRay reports.

use kubefoundry_diagnostics::declare_codes;

declare_codes! {
    RAY_VERSION_ASSUMED = "KF1201" "kuberay-version-assumed" Warning "an image whose Ray version, or the flags of that version, are not known";
    INVALID_RAY_START_PARAMETER = "KF1202" "kuberay-invalid-start-parameter" Error "a head.rayStartParams entry that cannot be passed to ray start";
    UNKNOWN_RAY_START_PARAMETER = "KF1203" "kuberay-unknown-start-parameter" Warning "a head.rayStartParams entry that ray start does not know";
}
