//! Kubernetes objects as users write them and as kubefoundry emits them.
//!
//! The crate is internal: only the package `kubefoundry` promises a stable interface.
//!
//! ```text
//! text ─ yaml ─► wire (typed, as written) ─ check, names, labels, quantity, image ─► pod, manifest (typed, as emitted) ─ yaml ─► text
//! ```
//! This crate does not know about ModelDeployments, providers or options. Crates that do declare their objects with
//! [`wire_object!`].

pub mod api_group;
pub mod check;
pub mod cluster_node;
pub mod codes;
pub mod header;
pub mod image;
pub mod key_search;
pub mod labels;
pub mod manifest;
pub mod names;
pub mod outline;
pub mod pod;
pub mod pod_security;
pub mod quantity;
pub mod server_fields;
pub mod syntax_result;
pub mod wire;

/// Items that the expansions of this crate's macros refer to.
#[doc(hidden)]
pub mod __private {
    pub use kubefoundry_diagnostics::FieldRef;
    pub use kubefoundry_yaml::field_path::FieldPath;
    pub use kubefoundry_yaml::{Node, Value};
    pub use serde;
}
