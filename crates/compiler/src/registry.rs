//! The registry of diagnostic codes: those of [`crate::codes`], then those of each provider and transformation.

use kubefoundry_diagnostics::Code;

use crate::composition;

/// Lists every code: shared codes first, then those of each provider, then those of each transformation.
///
/// ```
/// assert!(kubefoundry_compiler::registry::codes().any(|code| code.id == "KF0102" && code.name == "unknown-field"));
/// ```
pub fn codes() -> impl Iterator<Item = &'static Code> {
    composition::codes()
}

/// Finds a code by its id or its name.
///
/// ```
/// use kubefoundry_compiler::registry;
/// assert_eq!(registry::code("unknown-field"), registry::code("KF0102"));
/// assert!(registry::code("KF9999").is_none());
/// ```
pub fn code(id_or_name: &str) -> Option<&'static Code> {
    codes().find(|code| code.id == id_or_name || code.name == id_or_name)
}
