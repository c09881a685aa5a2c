//! Which command-line flags each engine version accepts, as data.
//!
//! A [`FlagTable`] is a committed text file seen through one engine version; nothing is parsed before the first lookup,
//! and a lookup is a binary search in that text. `cargo xtask flags` writes the files.

mod abbreviation;
mod flag;
mod runtimes;
mod table;
mod value;

pub use flag::{Flag, Group, Kind, Repeat, ValueType};
pub use runtimes::{
    DYNAMO_VERSIONS, DynamoTables, Engine, RAY_VERSIONS, Runtime, dynamo, llama_server, ray, sglang, trtllm_keys, vllm,
    vllm_of_image, wrapper_replacement,
};
pub use table::{FlagTable, Spelling};
pub use value::ValueProblem;

#[cfg(test)]
mod tests;
