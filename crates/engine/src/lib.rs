//! The engine of kubefoundry: texts in, objects and findings out, and the analyses of what it did and why.
//!
//! A pure function: the same texts give the same bytes. No cluster, network, clock, environment or file system. The crate
//! is internal: only the package `kubefoundry` promises a stable interface.

pub mod codes;
mod composition;
pub mod registry;

pub mod options;

pub mod field_reference;

pub mod pipeline;
mod reading;

pub mod plan;
pub mod session;

pub mod cluster_snapshot;

pub mod drift;
pub mod status;

pub mod trace;

pub mod selection_analysis;

pub mod import;
pub mod migrate;

pub use kubefoundry_diagnostics::source::{NotText, Purpose, SourceSet};
pub use pipeline::{Compilation, Decision, Output, Thoroughness, compile};

// The names under which front ends know what has moved into crates.
#[doc(hidden)]
pub use {
    cluster_snapshot as live, kubefoundry_actor as actor, kubefoundry_cel as cel,
    kubefoundry_diagnostics as diagnostic, kubefoundry_diagnostics::source,
    kubefoundry_kubernetes::api_group as dialect, kubefoundry_kubernetes::manifest,
    kubefoundry_llamastack as llamastack, kubefoundry_model as model, kubefoundry_yaml as yaml,
    kubefoundry_yaml::field_path as path, kubefoundry_yaml::fingerprint, kubefoundry_yaml::text, pipeline as compile,
    selection_analysis as rules, session as engine,
};

/// Checks against CRDs.
pub mod crds {
    pub use kubefoundry_crd::*;
    use kubefoundry_diagnostics::Diagnostic;
    use kubefoundry_diagnostics::source::SourceSet;

    /// Reads the CRDs of every kind that this program writes.
    pub fn read(sources: &SourceSet) -> (Crds<'_>, Vec<Diagnostic>) {
        Crds::read(sources, crate::composition::crd_kinds())
    }
}

/// Transformations.
pub mod transform {
    pub use crate::composition::{
        TRANSFORMS, change_annotations, is_source, may_hold_source, owner_annotations, sections,
    };
    pub use kubefoundry_transform::*;
}

/// Objects as they are written.
pub mod wire {
    pub use crate::options::render::{
        API_VERSION as RENDER_API_VERSION, Limits, OutputMode, Render, RuleLevel, RuleSeverity,
    };
    pub use kubefoundry_kubernetes::wire::*;
    pub use kubefoundry_model::wire::*;
    pub use kubefoundry_yaml::text::closest;
}
