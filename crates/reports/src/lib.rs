//! What front ends print of a run: the manifests, the JSON reports, and the diagram of a decision.
//!
//! Everything here is a pure function of a run. The crate is internal: only the package `kubefoundry` promises a stable
//! interface.

pub mod run;

pub mod graph;
mod references;

pub mod page;

pub mod manifests;
mod merge;

pub mod analyses;
pub mod config;
pub mod decisions;
pub mod diff;
pub mod fit;
pub mod images;
pub mod import;
pub mod migration;
pub mod plan;
