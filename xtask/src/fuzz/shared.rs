//! What the tests of the library have, too: what happens to inputs, and what must hold for them.
#![allow(dead_code, reason = "the tests use the rest")]
#![allow(clippy::unwrap_used, reason = "a part of tests")]

#[path = "../../../tests/it/common/accident.rs"]
pub(crate) mod accident;
#[path = "../../../tests/it/common/generated.rs"]
pub(crate) mod generated;
#[path = "../../../tests/it/common/invariants.rs"]
pub(crate) mod invariants;
#[path = "../../../tests/it/common/start.rs"]
pub(crate) mod start;
