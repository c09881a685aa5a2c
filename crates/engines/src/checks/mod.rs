//! Checks that depend on the engine, its flags and the model only.

pub(crate) mod chat_parsers;
pub(crate) mod checkpoint;
pub(crate) mod draft_model;
pub(crate) mod engine_support;
pub(crate) mod expert_parallelism;
pub(crate) mod host_memory;
pub(crate) mod model_facts;
pub(crate) mod model_fit;
pub(crate) mod shared_settings;
