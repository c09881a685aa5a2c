//! What the tests of the library have, too: what happens to inputs, and what must hold for them.
#![allow(dead_code, reason = "the tests use the rest")]
#![allow(clippy::unwrap_used, reason = "a part of tests")]

#[path = "../../../tests/common/accident.rs"]
pub(crate) mod accident;
#[path = "../../../tests/common/generated.rs"]
pub(crate) mod generated;
#[path = "../../../tests/common/invariants.rs"]
pub(crate) mod invariants;
#[path = "../../../tests/common/start.rs"]
pub(crate) mod start;
