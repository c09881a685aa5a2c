//! The diagnostics that only Dynamo needs.

use kubefoundry_diagnostics::declare_codes;

declare_codes! {
    IMAGE_WITHOUT_VERSION = "KF0701" "dynamo-image-without-version" Warning "a custom image whose tag does not say its Dynamo version";
    UNKNOWN_RUNTIME_VERSION = "KF0702" "dynamo-unknown-runtime-version" Info "a custom image of a version, by its tag or runtimeVersion, whose flags are not known";
    RUNTIME_VERSION_MISMATCH = "KF0703" "dynamo-runtime-version-mismatch" Warning "a runtimeVersion that is not the default image's";
    ROUTER_MODE_NONE = "KF0704" "dynamo-router-mode-none" Warning "routerMode none, which Dynamo does not have";
    ROUTER_MODE_IN_ENVIRONMENT = "KF0705" "dynamo-router-mode-in-environment" Warning "DYN_ROUTER_MODE set where no router reads it";
    RUNTIME_VERSION_REQUIRED = "KF0706" "dynamo-runtime-version-required" Error "a custom image without a version, which the operator of the dump refuses";
}
