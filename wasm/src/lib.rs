//! The engine of kubefoundry for browsers and Node.
//!
//! [`engine`] is plain Rust, which the tests of this package run on the host. [`bindings`] is what JavaScript calls: each
//! function takes and returns JSON texts, and npm/index.js turns these into objects.

pub mod bindings;
pub mod engine;
mod offsets;
pub mod request;
