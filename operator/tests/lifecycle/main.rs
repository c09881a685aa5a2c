//! The life of a ModelDeployment with each provider, before a real apiserver. There is no provider's controller: tests
//! write the status that it would write.
#![allow(
    unreachable_pub,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

#[path = "../harness/mod.rs"]
mod harness;

mod cases;
mod create;
mod delete;
mod select;
mod update;
