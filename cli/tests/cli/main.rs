//! The real binary, run the way its users run it.
#![expect(clippy::disallowed_methods, reason = "tests make files and start the binary")]
#![expect(clippy::unwrap_used, reason = "helpers are a part of tests, and fail with them")]

mod sandbox;

mod argocd;
mod codes;
mod console;
mod crds;
mod drift;
mod explain;
mod fix;
mod function;
mod images;
mod import;
mod input;
#[cfg(unix)]
mod install;
mod lint;
mod lint_formats;
mod llamastack;
mod llamastack_static;
mod man;
mod merge;
mod migrate;
mod options;
mod out_dir;
mod pictures;
mod plan;
#[cfg(unix)]
mod provider;
mod render;
mod rules;
mod schema;
mod status;
mod suppress;
mod trace;
