//! Conversions to ModelDeployments: `import` of the manifests of a serving stack, and `migrate` between providers and
//! releases.
//!
//! Everything here is a pure function: the same texts give the same bytes. The crate is internal: only the package
//! `kubefoundry` promises a stable interface.

pub mod import;
pub mod migrate;
