//! Starts the roles, and stops them.
use std::process::ExitCode;
pub(crate) fn main(_run: crate::args::Run) -> ExitCode {
    ExitCode::FAILURE
}
