//! The `ModelDeployment` transformation: wire object, validated deployment, provider, manifests.
//!
//! The crate is internal: only the package `kubefoundry` promises a stable interface.

pub mod catalog;
pub mod codes;
pub mod conformance;
pub mod defaults;
pub mod draft;
pub mod engines;
mod fact_cache;
pub mod gateway;
pub mod hardware;
pub mod ir;
pub mod known_gpus;
pub mod known_models;
mod model_config;
pub mod model_name;
pub mod object_metadata;
pub mod patches;
pub mod placement;
pub mod provider;
pub mod providers;
pub mod rule_environment;
pub mod runtime_upgrade;
mod runtime_version;
pub mod select;
pub mod starter;
pub mod status;
pub mod support;
mod transformation;
pub mod validate;
pub mod wire;

pub use transformation::ModelDeployments;
pub use wire::{CONFIGURATION_KIND, KIND};
