//! Every diagnostic code, and its page.

mod pages;

use kubefoundry_diagnostics::Code;

use kubefoundry_compiler::registry;
use kubefoundry_composition::BUILTIN;

/// Lists every code: shared codes ordered by number, then those of each provider, transformation and analysis.
///
/// ```
/// assert!(kubefoundry::registry::codes().any(|code| code.id == "KF0113" && code.name == "unknown-field"));
/// ```
pub fn codes() -> impl Iterator<Item = &'static Code> {
    registry::codes(&BUILTIN)
}

/// Finds a code by its id or its name.
///
/// ```
/// use kubefoundry::registry;
/// assert_eq!(registry::code("unknown-field"), registry::code("KF0113"));
/// assert!(registry::code("KF9999").is_none());
/// ```
pub fn code(id_or_name: &str) -> Option<&'static Code> {
    registry::code(&BUILTIN, id_or_name)
}

/// Returns the page of a code, `docs/codes/KFnnnn.md`, as Markdown: its meaning, why it matters, an example and its
/// correction. Returns `None` if the code has no page; `tests/it/codes.rs` ensures that every code has one.
///
/// ```
/// use kubefoundry::registry;
/// let code = registry::code("unknown-field").unwrap();
/// assert!(registry::page(code).unwrap().starts_with("# KF0113: unknown-field\n"));
/// ```
pub fn page(code: &Code) -> Option<&'static str> {
    let position = pages::PAGES.binary_search_by_key(&code.id, |(id, _)| id).ok()?;
    pages::PAGES.get(position).map(|(_, page)| *page)
}
