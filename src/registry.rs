//! Every diagnostic code there is: those of [`crate::codes`], then each provider's and each transformation's
//! own; and its page.

mod pages;

use kubefoundry_diagnostics::Code;

use crate::composition;

/// Every code, the shared ones first, then provider by provider, then transformation by transformation.
///
/// ```
/// assert!(kubefoundry::registry::codes().any(|code| code.id == "KF0102" && code.name == "unknown-field"));
/// ```
pub fn codes() -> impl Iterator<Item = &'static Code> {
    composition::codes()
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

/// The page of a code, `docs/codes/KFnnnn.md`, as Markdown: what it means, why it matters, an example and its correction.
/// `None` when nobody has written it, which `tests/codes.rs` does not let pass.
///
/// ```
/// use kubefoundry::registry;
/// let code = registry::code("unknown-field").unwrap();
/// assert!(registry::page(code).unwrap().starts_with("# KF0102: unknown-field\n"));
/// ```
pub fn page(code: &Code) -> Option<&'static str> {
    let position = pages::PAGES.binary_search_by_key(&code.id, |(id, _)| id).ok()?;
    pages::PAGES.get(position).map(|(_, page)| *page)
}
