//! Syntax checks of names, as Kubernetes makes them. An error completes the sentence "…, expected …".

use crate::syntax_result::SyntaxResult;

const LABEL: &str =
    "a DNS-1123 label: at most 63 lower-case letters, digits and '-', starting and ending with a letter or digit";
const SUBDOMAIN: &str = "a DNS-1123 subdomain: at most 253 lower-case letters, digits, '-' and '.', each part between \
                         dots starting and ending with a letter or digit";
const LABEL_1035: &str = "a DNS-1035 label: at most 63 lower-case letters, digits and '-', starting with a letter, ending with one or a digit";
const CONFIG_KEY: &str =
    "a key of letters, digits, '-', '_' and '.', at most 253, not \".\" and not starting with \"..\"";

/// Returns whether a text consists of lower-case letters, digits and `-` and neither starts nor ends with `-`. It does
/// not check the length, which differs between the kinds of names.
fn is_label(text: &str) -> bool {
    let bytes = text.as_bytes();
    let alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    bytes.iter().all(|byte| alphanumeric(byte) || *byte == b'-')
        && bytes.first().is_some_and(alphanumeric)
        && bytes.last().is_some_and(alphanumeric)
}

fn expect(fits: bool, expected: &'static str) -> SyntaxResult {
    if fits { Ok(()) } else { Err(expected) }
}

/// Checks a DNS-1123 label, such as the name of a namespace.
///
/// Source: `IsDNS1123Label` in `k8s.io/apimachinery/pkg/util/validation/validation.go`.
///
/// ```
/// use kubefoundry_kubernetes::names::dns_1123_label;
/// assert!(dns_1123_label("llama-3-8b").is_ok());
/// assert!(dns_1123_label("8b").is_ok());
/// assert!(dns_1123_label("Llama").is_err());
/// assert!(dns_1123_label("llama-3.1").is_err());
/// assert!(dns_1123_label(&"a".repeat(64)).is_err());
/// ```
pub fn dns_1123_label(name: &str) -> SyntaxResult {
    expect(name.len() <= 63 && is_label(name), LABEL)
}

/// Checks a DNS-1123 subdomain, such as the name of a Secret or of a PersistentVolumeClaim.
///
/// Source: `IsDNS1123Subdomain` in `k8s.io/apimachinery/pkg/util/validation/validation.go`, which does not limit the
/// length of the parts.
///
/// ```
/// use kubefoundry_kubernetes::names::dns_1123_subdomain;
/// assert!(dns_1123_subdomain("hf-token.v2").is_ok());
/// assert!(dns_1123_subdomain("hf_token").is_err());
/// assert!(dns_1123_subdomain("hf..token").is_err());
/// assert!(dns_1123_subdomain(&"a".repeat(254)).is_err());
/// ```
pub fn dns_1123_subdomain(name: &str) -> SyntaxResult {
    expect(name.len() <= 253 && name.split('.').all(is_label), SUBDOMAIN)
}

/// Checks a DNS-1035 label, such as the name of a Service.
///
/// Source: `IsDNS1035Label` in `k8s.io/apimachinery/pkg/util/validation/validation.go`.
///
/// ```
/// use kubefoundry_kubernetes::names::dns_1035_label;
/// assert!(dns_1035_label("llama-3").is_ok());
/// assert!(dns_1035_label("3-llama").is_err());
/// ```
pub fn dns_1035_label(name: &str) -> SyntaxResult {
    let letter_first = name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    expect(name.len() <= 63 && letter_first && is_label(name), LABEL_1035)
}

/// Checks the name of an environment variable: printable ASCII without `=`. This is what the API server accepts, which
/// is more than a C identifier.
///
/// Source: `IsRelaxedEnvVarName` in `k8s.io/apimachinery/pkg/util/validation/validation.go`.
///
/// ```
/// use kubefoundry_kubernetes::names::environment_variable;
/// assert!(environment_variable("VLLM_LOGGING_LEVEL").is_ok());
/// assert!(environment_variable("my.setting-2").is_ok());
/// assert!(environment_variable("A=B").is_err());
/// assert!(environment_variable("").is_err());
/// ```
pub fn environment_variable(name: &str) -> SyntaxResult {
    let fits = !name.is_empty() && name.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'=');
    expect(fits, "printable ASCII characters without '='")
}

/// Checks a key of a ConfigMap or a Secret.
///
/// Source: `IsConfigMapKey` in `k8s.io/apimachinery/pkg/util/validation/validation.go`.
///
/// ```
/// use kubefoundry_kubernetes::names::config_key;
/// assert!(config_key("HF_TOKEN").is_ok());
/// assert!(config_key("..data").is_err());
/// assert!(config_key("a/b").is_err());
/// ```
pub fn config_key(key: &str) -> SyntaxResult {
    let characters = key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    expect(!key.is_empty() && key.len() <= 253 && characters && key != "." && !key.starts_with(".."), CONFIG_KEY)
}
