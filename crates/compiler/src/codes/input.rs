//! The diagnostic codes of files that are built or skipped before anything is compiled. The command line reports them.

use kubefoundry_diagnostics::declare_codes;

declare_codes! {
    // Reading
    UNBUILT_KUSTOMIZATION = "KF0108" "unbuilt-kustomization" Warning "a kustomization that was not built" [NotJudged];
    FAILED_BUILD = "KF0109" "failed-build" Error "a kustomization or a chart that cannot be built" [NotJudged];
    SKIPPED_TEMPLATE = "KF0110" "skipped-template" Info "a template that is skipped" [NotJudged];
    EXCLUDED_FILES = "KF0111" "excluded-files" Info "files that a kubefoundry.yaml leaves out" [NotJudged];

    // Options
    CONFIG_BESIDE_INPUT = "KF0805" "options-beside-input" Info "a file of --config that the authors of the input can change";
}
