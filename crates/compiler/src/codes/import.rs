//! The diagnostic codes of imports.

use kubefoundry_diagnostics::declare_codes;

declare_codes! {
    NOT_IMPORTED = "KF0670" "not-imported" Warning "a field that a ModelDeployment cannot express";
    IMPORT_CHANGES = "KF0671" "import-changes" Warning "a field that the import renders with another value";
    IMPORT_ADDS = "KF0672" "import-adds" Warning "a field that only the import renders";
    NOT_IMPORTABLE = "KF0673" "not-importable" Error "an object that cannot become a ModelDeployment";
    IMPORT_ASSUMES = "KF0674" "import-assumes" Info "a placeholder in an imported ModelDeployment";
    IMPORT_RESOLVES = "KF0676" "import-resolves" Info "a value that the object has in another form";
    IMPORT_RENAMES = "KF0693" "import-renames" Warning "an imported object whose name is too long";
    IMPORT_ADDS_OBJECT = "KF0694" "import-adds-object" Info "an object that only the import renders";
    IMPORT_SPLITS = "KF0695" "import-splits" Warning "an imported object that serves several models";
    IMPORT_NEEDS_POLICY = "KF0538" "import-needs-policy" Info "an import whose pods need a looser policy";
    NOTHING_TO_IMPORT = "KF0675" "nothing-to-import" Error "no object to import in the input";
}
