//! Broken and hostile input to the real binary. It must report an error with a location, exit with the right status,
//! print nothing to standard output, and stay within limits of time and memory that the kernel enforces.
//!
//! By default, the development build is tested with generous limits. `KUBEFOUNDRY_HOSTILE_BINARY=PATH` tests another
//! binary with the limits documented for releases: one second of CPU time and 200 MB of address space (`.ci/run` does). A
//! machine that is slower than the one of docs/performance.md gets more seconds in proportion.

mod bounded;
mod crds;
mod fields;
mod files;
mod headers;
mod keys;
mod rules;
mod sizes;
mod texts;
