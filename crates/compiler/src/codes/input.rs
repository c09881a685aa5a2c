//! The diagnostic codes of files that are built or skipped before anything is compiled. The command line reports them.

use kubefoundry_diagnostics::declare_codes;

declare_codes! {
    UNBUILT_KUSTOMIZATION = "KF0013" "unbuilt-kustomization" Warning "a kustomization that was not built";
    FAILED_BUILD = "KF0014" "failed-build" Error "a kustomization or a chart that cannot be built";
    SKIPPED_TEMPLATE = "KF0015" "skipped-template" Info "a template that is skipped";
}
