//! Reads YAML into [`Node`] trees with spans, and writes JSON values as canonical YAML.
//!
//! Reading gives the same values as `sigs.k8s.io/yaml` in strict mode, which kubectl and the API server use: booleans
//! and numbers of YAML 1.1, merge keys applied, duplicate keys reported. Every node has the span of bytes that it was
//! read from, so that a message can underline it and an edit can replace it. The number of documents and nodes, the
//! depth and the expansion of aliases are limited.
//!
//! ```
//! use kubefoundry_yaml::field_path::FieldPath;
//! use kubefoundry_yaml::{FieldPart, Limits, parse};
//!
//! let text = "spec:\n  replicas: 1  # enough at night\n  paused: off\n";
//! let parsed = parse(text, &Limits::default());
//! let root = &parsed.documents[0].root;
//! assert_eq!(root.to_json(), serde_json::json!({"spec": {"replicas": 1, "paused": false}}));
//!
//! let span = root.locate(&FieldPath::parse("spec.replicas"), FieldPart::Value);
//! assert_eq!(&text[span.start..span.end], "1");
//! ```
//!
//! [`to_yaml`] writes a text that YAML 1.1 and 1.2 readers resolve to the same value. [`edit`] changes a text and keeps
//! its comments and layout. The crate does not depend on Kubernetes types. It is internal: only the package
//! `kubefoundry` promises a stable interface.

mod block_reader;
mod build;
pub mod edit;
mod emit;
mod failure;
pub mod field_path;
pub mod fingerprint;
pub mod infallible;
mod mapping;
mod node;
mod parse;
mod plain_scalar;
mod scalar;
pub mod secret;
pub mod spelling;
mod strict;
pub mod text;
mod token_position;
mod wide_integer;
mod writer;

pub use emit::{to_yaml, to_yaml_stream};
pub use failure::{Failure, FailureKind};
pub use node::{FieldPart, MappingEntry, Node, Span, Value};
pub use parse::{Document, Documents, Limits, ParsedText, documents, parse, parse_events};
pub use wide_integer::{WideInteger, wide_integers};
