//! The diagnostic codes of files that are built or skipped before anything is compiled. The command line reports them.

use kubefoundry_diagnostics::declare_codes;

declare_codes! {
    UNBUILT_KUSTOMIZATION = "KF0013" "unbuilt-kustomization" Warning "a kustomization that was not built" [NotJudged];
    FAILED_BUILD = "KF0014" "failed-build" Error "a kustomization or a chart that cannot be built" [NotJudged];
    SKIPPED_TEMPLATE = "KF0015" "skipped-template" Info "a template that is skipped" [NotJudged];
    EXCLUDED_FILES = "KF0016" "excluded-files" Info "files that a kubefoundry.yaml leaves out" [NotJudged];
    CONFIG_BESIDE_INPUT = "KF0017" "config-beside-input" Info "a file of --config that the authors of the input can change";
}
