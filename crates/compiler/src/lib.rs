//! The core of kubefoundry: compiles texts to objects and findings, and analyzes what a run did and why.
//!
//! Everything here is a pure function: the same texts give the same bytes. It uses no cluster, network, clock,
//! environment or file system. The crate is internal: only the package `kubefoundry` promises a stable interface.

pub mod codes;
pub mod composition;
pub mod registry;

pub mod options;

pub mod field_reference;

pub mod pipeline;
mod reading;

pub mod recompiler;

pub mod plan;
pub mod session;
pub mod verdict;

pub mod cluster_snapshot;

pub mod drift;
pub mod status;

pub mod trace;

pub mod selection_analysis;

pub mod import;
pub mod migrate;

pub use pipeline::{Compilation, Decision, Output, Thoroughness, compile};
