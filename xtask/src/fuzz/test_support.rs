//! Mutations and invariants, shared with the integration tests of the library.
#![allow(dead_code, reason = "the tests use the rest")]
#![allow(clippy::unwrap_used, reason = "the files belong to tests")]

#[path = "../../../tests/it/common/generated.rs"]
pub(crate) mod generated;
#[path = "../../../tests/it/common/invariants.rs"]
pub(crate) mod invariants;
#[path = "../../../tests/it/common/mutation.rs"]
pub(crate) mod mutation;
#[path = "../../../tests/it/common/start.rs"]
pub(crate) mod start;
