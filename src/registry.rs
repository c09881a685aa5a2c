//! Every diagnostic code there is: those of [`crate::diagnostic::codes`], then each provider's own.

use crate::diagnostic::{Code, codes};
use crate::model::providers::PROVIDERS;

/// Every code, the shared ones first, then provider by provider.
///
/// ```
/// assert!(kubefoundry::registry::codes().any(|code| code.id == "KF0102" && code.name == "unknown-field"));
/// ```
pub fn codes() -> impl Iterator<Item = &'static Code> {
    codes::CODES.iter().copied().chain(PROVIDERS.iter().flat_map(|provider| provider.codes().iter().copied()))
}

/// The code with this id or name.
///
/// ```
/// use kubefoundry::registry;
/// assert_eq!(registry::code("unknown-field"), registry::code("KF0102"));
/// assert!(registry::code("KF9999").is_none());
/// ```
pub fn code(id_or_name: &str) -> Option<&'static Code> {
    codes().find(|code| code.id == id_or_name || code.name == id_or_name)
}
