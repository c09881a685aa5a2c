//! The pipeline: compiles texts to objects and findings.
//!
//! ```text
//! sources ─ options ─ scan ──► texts to read first, objects to keep for the set, texts to skip
//!                      │
//!                      ├─ survey: configurations (the catalog), kustomizations (which files are patches)
//!                      │
//!                      └─ stream, a chunk of documents at a time:
//!                            read ─ header ─ role ─┬─ transformed, alone ──► map (any thread) ─┐
//!                                                  ├─ transformed, in a set ─► kept ─ set ─────┼─ link ─ Compilation
//!                                                  └─ configuration, patch, other ► findings ──┘
//! ```
//! The scan only searches each text for the kinds that it names; the header of a parsed document decides what the
//! document is. The scan misses a kind in an unusual spelling. If such a document should have been read or kept
//! earlier, the run starts again, once, with everything read first and kept: slower, but correct.

mod accounting;
mod attempt;
mod builtin_schemas;
mod cache;
mod compilation;
mod compile;
mod conformance;
mod context;
mod decision;
mod document;
mod engine;
mod environment;
mod evaluate;
mod findings;
mod form;
mod identity_hash;
mod inline_patch;
mod input_values;
mod kept_choices;
mod kustomize;
mod link;
mod map;
mod merge;
mod operations;
mod patch_judge;
pub mod policy;
pub mod probe;
mod results;
mod role;
mod rule_steps;
mod scan;
mod set;
mod skeletons;
mod split;
mod stream;
mod suppress;
mod survey;
mod text_map;

pub use attempt::{Attempt, InputDeployment};
pub use cache::Cache;
pub use compilation::{Compilation, CompiledEnvironment, Output};
pub use compile::{compile, compile_as, compile_keeping};
pub use context::read_options;
pub use decision::{OutputRole, Providers};
pub use engine::{Engine, EnginePart, InputDeployments, RenderedDocument};
pub use evaluate::Evaluation;
pub use findings::sort;
pub use form::{OutputForm, YamlText};
pub use input_values::InputValues;
pub use kept_choices::KeptChoices;
pub use kubefoundry_kubernetes::header::Header;
pub use kubefoundry_transform::{Decision, GpuCount, ResolvedField, Thoroughness};
pub use kustomize::{normalize, patch_files};
pub use probe::Fate;
pub use role::InputDocument;
pub use stream::CHUNK_BYTES;
pub use suppress::{IgnoringObject, NAME as IGNORE_ANNOTATION, ignoring_objects};
