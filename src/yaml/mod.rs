//! Reading and writing YAML: text to [`Node`] trees with spans, and JSON values to canonical YAML.
//!
//! Reading gives the values that `sigs.k8s.io/yaml` in strict mode gives (what kubectl and the apiserver use).

mod node;

pub use node::{Entry, Node, Span, Target, Value};
