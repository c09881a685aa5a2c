//! What a run did and why: analyses of compilations, and of what runs in a cluster.
//!
//! Everything here is a pure function: the same texts give the same bytes. The crate is internal: only the package
//! `kubefoundry` promises a stable interface.

pub mod drift;
pub mod plan;
pub mod selection_analysis;
pub mod status;
pub mod trace;
