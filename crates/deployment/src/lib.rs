//! One ModelDeployment: `wire`, as it is written; `ir`, as it is meant; and the facts about its model, its GPUs and where
//! its pods run. Providers read all of it.
//!
//! The crate is internal: only the package `kubefoundry` promises a stable interface.

pub mod codes;
pub mod fact_cache;
pub mod hardware;
pub mod ir;
pub mod known_gpus;
pub mod known_models;
mod model_config;
pub mod placement;
pub mod wire;
