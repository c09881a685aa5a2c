//! The diagnostic codes of imports.

use kubefoundry_diagnostics::declare_codes;

declare_codes! {
    NOT_IMPORTED = "KF0701" "import-omits" Warning "a field that a ModelDeployment cannot express";
    IMPORT_CHANGES = "KF0702" "import-changes" Warning "a field that the import renders with another value";
    IMPORT_ADDS = "KF0703" "import-adds" Warning "a field that only the import renders";
    NOT_IMPORTABLE = "KF0704" "import-refused" Error "an object that cannot become a ModelDeployment";
    IMPORT_ASSUMES = "KF0705" "import-assumes" Info "a placeholder in an imported ModelDeployment";
    NOTHING_TO_IMPORT = "KF0706" "import-finds-nothing" Error "no object to import in the input";
    IMPORT_RESOLVES = "KF0707" "import-resolves" Info "a value that the object has in another form";
    IMPORT_RENAMES = "KF0708" "import-renames" Warning "an imported object whose name is too long";
    IMPORT_ADDS_OBJECT = "KF0709" "import-adds-object" Info "an object that only the import renders";
    IMPORT_SPLITS = "KF0710" "import-splits" Warning "an imported object that serves several models";
    IMPORT_NEEDS_POLICY = "KF0711" "import-needs-policy" Info "an import whose pods need a looser policy";
}
