//! Broken and hostile input, through the real binary: a clear error with its place, an exit status, nothing on standard
//! output, and a bound on time and memory that the kernel enforces.
//!
//! By default the development build is tested, with slack. `KUBEFOUNDRY_HOSTILE_BINARY=PATH` tests another binary with
//! the bounds that are promised of a release: one second of CPU time and 200 MB of address space (`.ci/run` does).

mod bounded;
mod crds;
mod fields;
mod files;
mod headers;
mod keys;
mod rules;
mod sizes;
mod texts;
