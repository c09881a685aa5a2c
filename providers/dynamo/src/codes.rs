//! The codes that only Dynamo reports.

use kubefoundry_diagnostics::declare_codes;

declare_codes! {
    IMAGE_WITHOUT_VERSION = "KF1101" "dynamo-image-without-version" Warning "a custom image whose tag is not a version of Dynamo";
    UNKNOWN_RUNTIME_VERSION = "KF1102" "dynamo-unknown-runtime-version" Warning "a custom image with a version whose flags are not known";
    RUNTIME_VERSION_MISMATCH = "KF1103" "dynamo-runtime-version-mismatch" Warning "a runtimeVersion that differs from that of the default image";
    ROUTER_MODE_NONE = "KF1104" "dynamo-router-mode-none" Warning "routerMode none, which Dynamo does not support";
    ROUTER_MODE_IN_ENVIRONMENT = "KF1105" "dynamo-router-mode-in-environment" Warning "DYN_ROUTER_MODE set where no router reads it";
    RUNTIME_VERSION_REQUIRED = "KF1106" "dynamo-runtime-version-required" Error "a custom image without a version, which the installed operator rejects";
    FRONTEND_IN_TWO_PLACES = "KF1107" "dynamo-frontend-in-two-places" Error "a setting of the frontend that differs from the override of the same meaning";
    COMPONENT_FIELD_ELSEWHERE = "KF1108" "dynamo-component-field-elsewhere" Error "a field of a component's container or pod that another field decides";
    COMPONENT_SETTING_WITHOUT_EFFECT = "KF1109" "dynamo-component-setting-without-effect" Warning "an override of a component that changes nothing";
    NAMES_TOO_LONG_FOR_GROVE = "KF1110" "dynamo-names-too-long-for-grove" Warning "a component whose name is too long where Grove runs the pods";
}
