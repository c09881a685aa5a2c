//! The `ModelDeployment` transformation: a wire object is validated, a provider is selected, and it translates.
//!
//! The crate is internal: only the package `kubefoundry` promises a stable interface.

pub mod catalog;
pub mod composition;
pub mod conformance;
pub mod defaults;
pub mod gateway;
pub mod model_name;
pub mod object_metadata;
pub mod patches;
pub mod rule_environment;
pub mod select;
mod transformation;
pub mod validate;

pub use transformation::ModelDeployments;
