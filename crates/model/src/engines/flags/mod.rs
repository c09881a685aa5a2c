//! Which command-line flags each engine version accepts, as data.
//!
//! A [`FlagTable`] is a committed text file seen through one engine version; nothing is parsed before the first lookup,
//! and a lookup is a binary search in that text. `cargo xtask flags` writes the files.

mod abbreviation;
mod flag;
mod table;
mod tables;
mod value;

pub use flag::{Flag, FlagGroup, FlagKind, Repetition, ValueType};
pub use table::{FlagTable, Spelling};
pub use tables::{llama_server, sglang, tables_by_version, trtllm_keys, vllm, vllm_for_image, wrapper};
pub use value::ValueProblem;

#[cfg(test)]
mod tests;
