//! Broken and hostile input, through the real binary: a clear error with its place, an exit status, nothing on standard
//! output, and a bound on time and memory that the kernel enforces.
//!
//! By default the development build is tested, with slack. `KUBEFOUNDRY_HOSTILE_BINARY=PATH` tests another binary with
//! the bounds that are promised of a release: one second of CPU time and 200 MB of address space (`.ci/run` does).
#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "tests make files and start the binary")]
#![expect(clippy::format_collect, clippy::format_push_string, reason = "texts of tests need no speed")]
#![expect(clippy::unwrap_used, reason = "helpers are a part of tests, and fail with them")]

mod bounded;
#[allow(dead_code, reason = "the other tests use the rest")]
#[path = "../cli/sandbox.rs"]
mod sandbox;

mod crds;
mod fields;
mod files;
mod headers;
mod keys;
mod rules;
mod sizes;
mod texts;
