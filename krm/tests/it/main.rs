//! The KRM function before its clients: cases beside their snapshots, what kustomize and kpt do with its answers, and
//! the program itself.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test reads its cases from files, and fails by panicking"
)]

mod clients;
mod common;
mod golden;
