//! Tables of the command-line flags that each engine version accepts.
//!
//! A [`FlagTable`] is a view of a committed text file for one engine version. Nothing is parsed in advance: a lookup is
//! a binary search in the text, and what scans need is kept after the first one. `cargo xtask flags` writes the files.

mod abbreviation;
mod file;
mod flag;
mod replacements;
mod table;
mod tables;
mod value;

pub use flag::{Flag, FlagGroup, FlagKind, Repetition, ValueType};
pub use replacements::{Replacement, ReplacingField, replacement};
pub use table::{FlagTable, Spelling};
pub use tables::{
    dynamo_frontend, llama_server, sglang, tables_by_version, trtllm_keys, vllm, vllm_for_image, wrapper,
};
pub use value::ValueProblem;

#[cfg(test)]
mod tests;
