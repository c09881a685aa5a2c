//! Integration tests of the library, in one binary, because each test binary would compile and link the library again.
#![allow(
    missing_docs,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::format_collect,
    clippy::indexing_slicing,
    clippy::needless_raw_string_hashes,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test reads its cases from files, and fails by panicking"
)]

mod common;
#[path = "../../tools/corpus/documents.rs"]
mod documents;

mod actor;
mod airunway;
mod architecture;
mod builtin;
mod cache;
mod catch_table;
mod codes;
mod crds;
mod crds_semantics;
mod docs;
mod drift;
mod engine_settings;

mod field_reference;
mod field_support;
mod fixes;
mod golden;
mod help;
mod import;
mod injection;
mod kind_literals;
mod left_out;
mod llamastack;
mod llamastack_crd;
mod llamastack_merge;
mod migrate;
mod native;
mod past_failures;
mod patches;
mod path_literals;
mod plain_english;
mod plan;
mod properties;
mod provider_status;
mod public_api;
mod registry;
mod rules;
mod schemas;
mod session;
mod single_deployment;
mod skeletons;
mod streaming;
mod trace;
mod wheel_pins;
mod yaml_documents;
mod yaml_limits;
mod yaml_properties;
mod yaml_scalars;
