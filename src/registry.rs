//! Every diagnostic code, and its page.

mod pages;

use kubefoundry_diagnostics::Code;

#[doc(inline)]
pub use kubefoundry_compiler::registry::{code, codes};

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
