//! Codes of the findings about CRDs and about objects checked against them.

use kubefoundry_diagnostics::declare_codes;
pub use kubefoundry_kubernetes::codes::*;

declare_codes! {
    NOT_A_CRD = "KF0513" "not-a-crd" Error "a CRD dump without a CRD";
    UNUSABLE_CRD = "KF0514" "crd-unusable" Error "a CRD that cannot be read";
    DUPLICATE_CRD = "KF0515" "crd-duplicate" Error "two different CRDs for one kind";
    CRD_NOT_INSTALLED = "KF0516" "crd-not-installed" Error "a provider whose CRD is not in the dump";
    FIELD_NOT_IN_SCHEMA = "KF0517" "field-not-in-schema" Error "a rendered field that the CRD does not have";
    SCHEMA_VIOLATED = "KF0518" "schema-violated" Error "a rendered value that the CRD's schema refuses";
    CRD_RULE_VIOLATED = "KF0519" "crd-rule-violated" Error "a rendered object that a rule of its CRD refuses";
    CRD_RULE_NOT_EVALUATED = "KF0520" "crd-rule-not-evaluated" Info "a rule of a CRD that kubefoundry does not evaluate";
    FIELD_NOT_IN_NEAREST_SCHEMA = "KF0521" "field-not-in-nearest-schema" Warning "a field that the nearest known schema does not have";
    NEAREST_SCHEMA_VIOLATED = "KF0522" "nearest-schema-violated" Warning "a value that the nearest known schema refuses";
}
