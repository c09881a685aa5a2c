//! Names that Kubernetes accepts. An error completes the sentence "…, expected …".

use crate::check::Checked;

const LABEL: &str =
    "a DNS-1123 label: at most 63 lower-case letters, digits and '-', starting and ending with a letter or digit";
const SUBDOMAIN: &str = "a DNS-1123 subdomain: at most 253 lower-case letters, digits, '-' and '.', each part between \
                         dots starting and ending with a letter or digit";
const LABEL_1035: &str = "a DNS-1035 label: at most 63 lower-case letters, digits and '-', starting with a letter, ending with one or a digit";
const CONFIG_KEY: &str =
    "a key of letters, digits, '-', '_' and '.', at most 253, not \".\" and not starting with \"..\"";

/// Lower-case letters, digits and `-`, the first and the last no `-`.
fn is_label(text: &str) -> bool {
    let bytes = text.as_bytes();
    let alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    bytes.iter().all(|byte| alphanumeric(byte) || *byte == b'-')
        && bytes.first().is_some_and(alphanumeric)
        && bytes.last().is_some_and(alphanumeric)
}

fn expect(fits: bool, expected: &'static str) -> Checked {
    if fits { Ok(()) } else { Err(expected) }
}

/// A DNS-1123 label, such as the name of a namespace.
/// Rule: `IsDNS1123Label` in `k8s.io/apimachinery/pkg/util/validation/validation.go`.
///
/// ```
/// use kubefoundry_kubernetes::names::dns_1123_label;
/// assert!(dns_1123_label("llama-3-8b").is_ok());
/// assert!(dns_1123_label("8b").is_ok());
/// assert!(dns_1123_label("Llama").is_err());
/// assert!(dns_1123_label("llama-3.1").is_err());
/// assert!(dns_1123_label(&"a".repeat(64)).is_err());
/// ```
pub fn dns_1123_label(name: &str) -> Checked {
    expect(name.len() <= 63 && is_label(name), LABEL)
}

/// A DNS-1123 subdomain, such as the name of a Secret or of a PersistentVolumeClaim.
/// Rule: `IsDNS1123Subdomain` in `k8s.io/apimachinery/pkg/util/validation/validation.go`, which does not limit the
/// length of the parts.
///
/// ```
/// use kubefoundry_kubernetes::names::dns_1123_subdomain;
/// assert!(dns_1123_subdomain("hf-token.v2").is_ok());
/// assert!(dns_1123_subdomain("hf_token").is_err());
/// assert!(dns_1123_subdomain("hf..token").is_err());
/// assert!(dns_1123_subdomain(&"a".repeat(254)).is_err());
/// ```
pub fn dns_1123_subdomain(name: &str) -> Checked {
    expect(name.len() <= 253 && name.split('.').all(is_label), SUBDOMAIN)
}

/// A DNS-1035 label, such as the name of a Service.
/// Rule: `IsDNS1035Label` in `k8s.io/apimachinery/pkg/util/validation/validation.go`.
///
/// ```
/// use kubefoundry_kubernetes::names::dns_1035_label;
/// assert!(dns_1035_label("llama-3").is_ok());
/// assert!(dns_1035_label("3-llama").is_err());
/// ```
pub fn dns_1035_label(name: &str) -> Checked {
    let letter_first = name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    expect(name.len() <= 63 && letter_first && is_label(name), LABEL_1035)
}

/// The name of an environment variable: printable ASCII without `=`.
/// Rule: `IsRelaxedEnvVarName` in `k8s.io/apimachinery/pkg/util/validation/validation.go`, what the apiserver accepts.
///
/// ```
/// use kubefoundry_kubernetes::names::environment_variable;
/// assert!(environment_variable("VLLM_LOGGING_LEVEL").is_ok());
/// assert!(environment_variable("my.setting-2").is_ok());
/// assert!(environment_variable("A=B").is_err());
/// assert!(environment_variable("").is_err());
/// ```
pub fn environment_variable(name: &str) -> Checked {
    let fits = !name.is_empty() && name.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'=');
    expect(fits, "printable ASCII characters without '='")
}

/// A key of a ConfigMap or a Secret.
/// Rule: `IsConfigMapKey` in `k8s.io/apimachinery/pkg/util/validation/validation.go`.
///
/// ```
/// use kubefoundry_kubernetes::names::config_key;
/// assert!(config_key("HF_TOKEN").is_ok());
/// assert!(config_key("..data").is_err());
/// assert!(config_key("a/b").is_err());
/// ```
pub fn config_key(key: &str) -> Checked {
    let characters = key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    expect(!key.is_empty() && key.len() <= 253 && characters && key != "." && !key.starts_with(".."), CONFIG_KEY)
}
