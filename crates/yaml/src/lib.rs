//! Reading and writing YAML: text to [`Node`] trees with spans, and JSON values to canonical YAML.
//!
//! Reading gives the values that `sigs.k8s.io/yaml` in strict mode gives (what kubectl and the apiserver use).

mod build;
pub mod edit;
mod emit;
mod failure;
pub mod field_path;
pub mod fingerprint;
mod glance;
mod mapping;
mod node;
mod parse;
mod place;
mod scalar;
mod strict;
pub mod text;
mod writer;

pub use emit::{to_yaml, to_yaml_by_library, to_yaml_stream};
pub use failure::{Failure, FailureKind};
pub use node::{Entry, Node, Span, Target, Value};
pub use parse::{Document, Documents, Limits, Parsed, documents, parse};
