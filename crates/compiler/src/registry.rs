//! Every diagnostic code there is: those of [`crate::codes`], then each provider's and each transformation's own.

use kubefoundry_diagnostics::Code;

use crate::composition;

/// Every code, the shared ones first, then provider by provider, then transformation by transformation.
///
/// ```
/// assert!(kubefoundry_compiler::registry::codes().any(|code| code.id == "KF0102" && code.name == "unknown-field"));
/// ```
pub fn codes() -> impl Iterator<Item = &'static Code> {
    composition::codes()
}

/// The code with this id or name.
///
/// ```
/// use kubefoundry_compiler::registry;
/// assert_eq!(registry::code("unknown-field"), registry::code("KF0102"));
/// assert!(registry::code("KF9999").is_none());
/// ```
pub fn code(id_or_name: &str) -> Option<&'static Code> {
    codes().find(|code| code.id == id_or_name || code.name == id_or_name)
}
