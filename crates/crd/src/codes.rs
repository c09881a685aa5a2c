//! Codes of the findings about CRDs and about objects checked against them.

use kubefoundry_diagnostics::declare_codes;
pub use kubefoundry_kubernetes::codes::*;

declare_codes! {
    // Conformance with a dump of CRDs
    NOT_A_CRD = "KF0550" "not-a-crd" Error "a CRD dump without a CRD";
    UNUSABLE_CRD = "KF0551" "unusable-crd" Error "a CRD that cannot be read";
    DUPLICATE_CRD = "KF0552" "duplicate-crd" Error "two different CRDs for one kind";
    CRD_NOT_INSTALLED = "KF0553" "crd-not-installed" Error "a provider whose CRD is not in the dump";
    FIELD_NOT_IN_SCHEMA = "KF0554" "field-not-in-schema" Error "a rendered field that the CRD does not have";
    SCHEMA_VIOLATED = "KF0555" "schema-violated" Error "a rendered value that the CRD's schema refuses";
    CRD_RULE_VIOLATED = "KF0556" "crd-rule-violated" Error "a rendered object that a rule of its CRD refuses";
    FIELD_NOT_IN_NEAREST_SCHEMA = "KF0558" "field-not-in-nearest-schema" Warning "a field that the nearest known schema does not have";
    NEAREST_SCHEMA_VIOLATED = "KF0559" "nearest-schema-violated" Warning "a value that the nearest known schema refuses";
    CRD_RULE_NOT_EVALUATED = "KF0557" "crd-rule-not-evaluated" Info "a rule of a CRD that kubefoundry does not evaluate";
}
