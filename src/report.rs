//! Formats for findings: text for people, JSON and others for tools.
//!
//! ```
//! use kubefoundry::report::{self, TextStyle};
//! use kubefoundry::{SourceSet, Thoroughness, compile};
//! let mut sources = SourceSet::default();
//! sources.add("phi.yaml", "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {name: phi}\nspec: {modl: {}}\n");
//! let compilation = compile(&sources, Thoroughness::Needed);
//! let text = report::text(&compilation.diagnostics, &sources, TextStyle::Plain);
//! assert!(text.contains("--> phi.yaml:4:8"), "{text}");
//! let json: serde_json::Value =
//!     serde_json::from_str(&report::json(&compilation.diagnostics, &sources, &compilation.checked_schemas())).unwrap();
//! assert_eq!(json["diagnostics"].as_array().unwrap().len(), compilation.diagnostics.len());
//! ```

#[doc(inline)]
pub use kubefoundry_diagnostics::render::concise;
#[doc(inline)]
pub use kubefoundry_diagnostics::render::json;
#[doc(inline)]
pub use kubefoundry_diagnostics::render::text;

/// ```
/// use kubefoundry::SourceSet;
/// use kubefoundry::report::{TextStyle, text};
/// assert_eq!(text(&[], &SourceSet::default(), TextStyle::Colored), "");
/// ```
#[doc(inline)]
pub use kubefoundry_diagnostics::render::TextStyle;
