//! The regular expressions of the schemas against the syntax checks that they represent.

use kubefoundry_kubernetes::syntax_result::SyntaxResult;
use kubefoundry_kubernetes::{image, labels, names, quantity};
use proptest::prelude::*;
use regex::Regex;
use serde_json::Value;

use super::schema_file;

/// A syntax check, and a field that uses it.
type Row = (&'static str, fn(&str) -> SyntaxResult, Accepts);

/// Whether the expression is equivalent to the check, or accepts more.
#[derive(Clone, Copy, PartialEq)]
enum Accepts {
    TheSame,
    More,
}

const ROWS: &[Row] = &[
    ("spec.model.storage.volumes[].name", names::dns_1123_label, Accepts::TheSame),
    ("spec.model.storage.volumes[].claimName", names::dns_1123_subdomain, Accepts::TheSame),
    ("spec.resources.memory", quantity::positive_quantity, Accepts::TheSame),
    ("spec.resources.gpu.type", labels::extended_resource, Accepts::More),
    ("spec.image", image::image_reference, Accepts::More),
    ("spec.env[].name", names::environment_variable, Accepts::TheSame),
    ("spec.env[].valueFrom.secretKeyRef.key", names::config_key, Accepts::TheSame),
    ("spec.tolerations[].key", labels::label_key, Accepts::More),
];

/// Generates texts that are nearly valid names, quantities and images.
fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z0-9.-]{0,8}",
        "[a-zA-Z0-9._/-]{0,12}",
        "[+-]?[0-9.]{0,4}(Ki|Mi|G|m|e|E)?[+-]?[0-9]{0,3}",
        "[a-z0-9]{60,66}",
        "([a-z0-9]{50}\\.){4}[a-z0-9]{48,54}",
        "[a-z.]{1,6}/[a-zA-Z_.-]{1,6}",
        "[a-z0-9:@/]{1,14}",
        "[ -~]{0,6}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Expressions accept everything that the checks accept; most also refuse what the checks refuse.
    #[test]
    fn expressions_agree_with_the_checks(text in texts()) {
        for ((field, check, accepts), (pattern, most)) in ROWS.iter().zip(patterns()) {
            let fits = pattern.is_match(&text) && text.len() <= *most;
            let good = check(&text).is_ok();
            prop_assert!(!good || fits, "{field} refuses {text:?}");
            if *accepts == Accepts::TheSame && !text.is_empty() {
                prop_assert_eq!(fits, good, "{} and {:?}", field, text);
            }
        }
    }
}

/// Returns the expression of each row, with the maximum length.
fn patterns() -> &'static [(Regex, usize)] {
    static PATTERNS: std::sync::LazyLock<Vec<(Regex, usize)>> = std::sync::LazyLock::new(|| {
        let schema: Value = serde_json::from_str(&schema_file("modeldeployment.json")).unwrap();
        let row = |(field, ..): &Row| {
            let mut property = &schema;
            for key in field.split('.') {
                property = &property["properties"][key.trim_end_matches("[]")];
                property = if key.ends_with("[]") { &property["items"] } else { property };
            }
            let most = property["maxLength"].as_u64().map_or(usize::MAX, |most| usize::try_from(most).unwrap());
            (Regex::new(property["pattern"].as_str().unwrap_or_else(|| panic!("{field} has a pattern"))).unwrap(), most)
        };
        ROWS.iter().map(row).collect()
    });
    &PATTERNS
}
