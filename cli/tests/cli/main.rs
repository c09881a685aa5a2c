//! The real binary, run the way its users run it.
#![expect(clippy::disallowed_methods, reason = "tests make files and start the binary")]
#![expect(clippy::unwrap_used, reason = "helpers are a part of tests, and fail with them")]

mod sandbox;

mod console;
mod explain;
mod images;
mod input;
mod lint;
mod merge;
mod options;
mod out_dir;
mod render;
