//! The registry of diagnostic codes: those of all layers, then those of each provider and transformation.

use kubefoundry_diagnostics::Code;
use kubefoundry_model::composition::Composition;

/// Lists every code: shared codes ordered by number, then those of each provider, transformation and analysis.
///
/// ```
/// use kubefoundry_compiler::registry;
/// use kubefoundry_composition::BUILTIN;
/// assert!(registry::codes(&BUILTIN).any(|code| code.id == "KF0113" && code.name == "unknown-field"));
/// ```
pub fn codes(composition: &'static Composition) -> impl Iterator<Item = &'static Code> {
    let shared = [
        kubefoundry_diagnostics::codes::CODES,
        kubefoundry_kubernetes::codes::CODES,
        kubefoundry_transform::codes::CODES,
        kubefoundry_deployment::codes::CODES,
        kubefoundry_crd::codes::CODES,
        crate::codes::CODES,
    ];
    let mut shared: Vec<&'static Code> = shared.into_iter().flatten().copied().collect();
    shared.sort_by_key(|code| code.id);
    let of_analyses = [crate::codes::input::CODES, crate::codes::import::CODES, crate::codes::migrate::CODES];
    shared.into_iter().chain(composition.codes()).chain(of_analyses.into_iter().flatten().copied())
}

/// Finds a code by its id or its name.
///
/// ```
/// use kubefoundry_compiler::registry;
/// use kubefoundry_composition::BUILTIN;
/// assert_eq!(registry::code(&BUILTIN, "unknown-field"), registry::code(&BUILTIN, "KF0113"));
/// assert!(registry::code(&BUILTIN, "KF9999").is_none());
/// ```
pub fn code(composition: &'static Composition, id_or_name: &str) -> Option<&'static Code> {
    codes(composition).find(|code| code.id == id_or_name || code.name == id_or_name)
}
