//! Every diagnostic code, and its page.

mod pages;

use kubefoundry_diagnostics::Code;

#[doc(inline)]
pub use kubefoundry_compiler::registry::{code, codes};

/// Returns the page of a code, `docs/codes/KFnnnn.md`, as Markdown: its meaning, why it matters, an example and its
/// correction. Returns `None` if the code has no page; `tests/it/codes.rs` ensures that every code has one.
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
