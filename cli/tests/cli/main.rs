//! The real binary, run the way its users run it.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::format_collect,
    clippy::format_push_string,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test starts the program in folders of its own, and fails by panicking"
)]

mod sandbox;

mod argocd;
mod baseline;
mod cluster;
mod codes;
mod completions;
mod console;
mod crds;
mod documents;
mod drift;
mod explain;
mod finding_filter;
mod fit;
mod fix;
mod found_options;
mod function;
#[cfg(target_os = "linux")]
mod hostile;
mod images;
mod import;
mod inert_reports;
mod init;
mod input;
#[cfg(unix)]
mod install;
#[cfg(unix)]
mod interruptions;
mod kustomizations;
mod lint;
mod lint_formats;
mod llamastack;
mod llamastack_static;
mod lsp;
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
#[cfg(unix)]
mod special_files;
mod spellings;
#[cfg(unix)]
mod start;
mod status;
mod suppress;
mod trace;
#[cfg(unix)]
mod trust;
mod watch;
mod wheels;
