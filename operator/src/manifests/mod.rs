//! The objects that the operator needs in a cluster.
use std::process::ExitCode;
pub(crate) fn main(_manifests: &crate::args::Manifests) -> ExitCode {
    ExitCode::FAILURE
}
