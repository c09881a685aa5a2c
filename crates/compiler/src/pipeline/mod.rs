//! The pipeline: compiles texts to objects and findings.
//!
//! ```text
//! sources ─ options ─ read plan ──► texts to read first, objects to keep for the set, texts to skip
//!                         │
//!                         ├─ first texts: configurations (the catalog), kustomizations (which files are patches)
//!                         │
//!                         └─ Engine ─ document stream, a chunk at a time:
//!                               read ─ header ─ role ─┬─ transformed, alone ──► object (any thread) ─┐
//!                                                     ├─ transformed, in a set ─► kept ─ set ────────┼─ linker ─ Compilation
//!                                                     └─ configuration, patch, other ► findings ─────┘
//! ```
//! The read plan comes from a scan, which only searches each text for the kinds that it names; the header of a parsed
//! document decides what the document is. The scan misses a kind in an unusual spelling. If such a document should have been read or kept
//! earlier, the run starts again, once, with everything read first and kept: slower, but correct.

mod checks;
mod documents;
mod engine;
pub mod field_effects;
mod patch_files;
mod read_order;
mod rendering;
mod results;

pub use checks::pod_policy;
pub use documents::document_role::InputDocument;
pub use documents::input_values::InputValues;
pub use documents::run_findings::sort;
pub use documents::suppressions::{IgnoringObject, NAME as IGNORE_ANNOTATION, ignoring_objects};
pub use engine::cache::Cache;
pub use engine::compile::{compile, compile_as, compile_keeping};
pub use engine::document_stream::CHUNK_BYTES;
pub use engine::evaluate::Evaluation;
pub use engine::{Engine, EnginePart, InputDeployments, RenderedDocument};
pub use field_effects::Fate;
pub use kubefoundry_kubernetes::header::Header;
pub use kubefoundry_transform::{Decision, GpuCount, ResolvedField, Thoroughness};
pub use patch_files::kustomizations::{normalize, patch_files};
pub use read_order::options_and_crds::read_options;
pub use rendering::attempt::{Attempt, InputDeployment};
pub use rendering::kept_choices::KeptChoices;
pub use rendering::output_form::{OutputForm, YamlText};
pub use rendering::output_role::{OutputRole, Providers};
pub use results::compilation::{Compilation, CompiledEnvironment, Output};
