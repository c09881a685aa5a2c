//! What an editor shows at a place of a text: completions, descriptions, and fixes that can be applied together.
//!
//! Everything here is a pure function of a text and a [`Session`](kubefoundry_compiler::session::Session). The crate is
//! internal: only the package `kubefoundry` promises a stable interface.

pub mod completion;
pub mod fixes;
pub mod hover;
pub mod place;

mod fields;
mod flags;
mod options;
