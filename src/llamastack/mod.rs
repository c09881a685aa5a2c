//! llama-stack servers: a `LlamaStackDistribution` with external providers becomes what a controller in a cluster would
//! have made of it.

pub mod install;
pub mod package;
pub mod wire;
