//! The core of kubefoundry: compiles texts to objects and findings, and analyzes what a run did and why.
//!
//! Everything here is a pure function: the same texts give the same bytes. It uses no cluster, network, clock,
//! environment or file system. The crate is internal: only the package `kubefoundry` promises a stable interface.

pub mod codes;
pub mod registry;

pub mod options;

pub mod pipeline;
pub mod reading;

pub mod session;
pub mod verdict;

pub mod cluster_snapshot;

pub use pipeline::{Compilation, Decision, Output, Thoroughness, compile};
