//! Syntax checks of labels and annotations, as Kubernetes makes them. An error completes the sentence "…, expected …".

use crate::names;
use crate::syntax_result::SyntaxResult;

/// Maximum total size, in bytes, of the keys and values of an object's annotations.
///
/// Source: `TotalAnnotationSizeLimitB` in `k8s.io/apimachinery/pkg/api/validation/objectmeta.go`.
pub const MAX_ANNOTATION_BYTES: usize = 256 * 1024;

const KEY: &str = "an optional DNS-1123 subdomain and '/', then at most 63 letters, digits, '-', '_' and '.', starting \
                   and ending with a letter or digit";
const VALUE: &str =
    "at most 63 letters, digits, '-', '_' and '.', starting and ending with a letter or digit, or an empty text";

/// Returns whether a text has 1 to 63 letters, digits, `-`, `_` and `.`, and starts and ends with a letter or digit.
fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    text.len() <= 63
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
        && bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
}

/// Checks the key of a label, of a node selector or of a taint.
///
/// Source: `IsQualifiedName` in `k8s.io/apimachinery/pkg/util/validation/validation.go`.
///
/// ```
/// use kubefoundry_kubernetes::labels::label_key;
/// assert!(label_key("team").is_ok());
/// assert!(label_key("example.com/Team").is_ok());
/// assert!(label_key("Example.com/team").is_err());
/// assert!(label_key("example.com/").is_err());
/// assert!(label_key("a/b/c").is_err());
/// ```
pub fn label_key(key: &str) -> SyntaxResult {
    let fits = match key.split_once('/') {
        Some((prefix, name)) => names::dns_1123_subdomain(prefix).is_ok() && is_name(name),
        None => is_name(key),
    };
    if fits { Ok(()) } else { Err(KEY) }
}

/// Checks the value of a label, of a node selector or of a taint. It may be empty.
///
/// Source: `IsValidLabelValue` in `k8s.io/apimachinery/pkg/util/validation/validation.go`.
///
/// ```
/// use kubefoundry_kubernetes::labels::label_value;
/// assert!(label_value("").is_ok());
/// assert!(label_value("A100_80GB").is_ok());
/// assert!(label_value("org/name").is_err());
/// ```
pub fn label_value(value: &str) -> SyntaxResult {
    if value.is_empty() || is_name(value) { Ok(()) } else { Err(VALUE) }
}

/// Checks the key of an annotation: a label key whose prefix may also contain upper-case letters.
///
/// Source: `ValidateAnnotations` in `k8s.io/apimachinery/pkg/api/validation/objectmeta.go`.
///
/// ```
/// use kubefoundry_kubernetes::labels::annotation_key;
/// assert!(annotation_key("Example.com/Note").is_ok());
/// assert!(annotation_key("a b").is_err());
/// ```
pub fn annotation_key(key: &str) -> SyntaxResult {
    label_key(&key.to_ascii_lowercase())
}

/// Checks the total size of an object's annotations.
///
/// Source: `ValidateAnnotationsSize` in `k8s.io/apimachinery/pkg/api/validation/objectmeta.go`.
///
/// ```
/// use kubefoundry_kubernetes::labels::annotations_size;
/// assert!(annotations_size(&[("note".to_owned(), "short".to_owned())]).is_ok());
/// assert!(annotations_size(&[("note".to_owned(), "x".repeat(300_000))]).is_err());
/// ```
pub fn annotations_size(annotations: &[(String, String)]) -> SyntaxResult {
    let size: usize = annotations.iter().map(|(key, value)| key.len() + value.len()).sum();
    if size <= MAX_ANNOTATION_BYTES { Ok(()) } else { Err("at most 262144 bytes of keys and values") }
}

/// Checks the name of an extended resource, such as a type of GPU: a domain, `/`, a name.
///
/// Source: `IsExtendedResourceName` in `k8s.io/kubernetes/pkg/apis/core/v1/helper/helpers.go`.
///
/// ```
/// use kubefoundry_kubernetes::labels::extended_resource;
/// assert!(extended_resource("nvidia.com/mig-1g.10gb").is_ok());
/// assert!(extended_resource("nvidia").is_err());
/// assert!(extended_resource("kubernetes.io/batch").is_err());
/// ```
pub fn extended_resource(name: &str) -> SyntaxResult {
    // A ResourceQuota refers to the resource as `requests.<name>`, which must also be a qualified name.
    let quota = format!("requests.{name}");
    let is_native = name.split('/').next().is_some_and(|domain| domain.ends_with("kubernetes.io"));
    let is_extended = name.contains('/') && !is_native && !name.starts_with("requests.");
    let fits = is_extended && label_key(name).is_ok() && label_key(&quota).is_ok();
    if fits { Ok(()) } else { Err("an extended resource such as nvidia.com/gpu") }
}
