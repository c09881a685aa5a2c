//! Applies and removes those objects.
use crate::args::{Install, Uninstall};
use std::process::ExitCode;
pub(crate) fn install(_install: &Install) -> ExitCode {
    ExitCode::FAILURE
}
pub(crate) fn upgrade(_install: &Install) -> ExitCode {
    ExitCode::FAILURE
}
pub(crate) fn uninstall(_uninstall: &Uninstall) -> ExitCode {
    ExitCode::FAILURE
}
