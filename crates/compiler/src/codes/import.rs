//! The diagnostic codes of imports.

use kubefoundry_diagnostics::declare_codes;

declare_codes! {
    NOT_IMPORTED = "KF0670" "not-imported" Warning "a field that a ModelDeployment cannot say";
    IMPORT_CHANGES = "KF0671" "import-changes" Warning "a field to which rendering the import gives another value";
    IMPORT_ADDS = "KF0672" "import-adds" Warning "a field that rendering the import adds";
    NOT_IMPORTABLE = "KF0673" "not-importable" Error "an object that no ModelDeployment stands for";
    IMPORT_ASSUMES = "KF0674" "import-assumes" Info "a value that an import has to make up";
    NOTHING_TO_IMPORT = "KF0675" "nothing-to-import" Error "no object to import in the input";
}
