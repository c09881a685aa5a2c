//! The exit status of the process.

use std::process::ExitCode;

use kubefoundry_input::confinement;

/// The exit status, the same for every command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    Success = 0,
    /// The input has findings that fail the run.
    Findings = 1,
    /// Wrong usage or options, or a file that could not be read or written, so that the input was not fully checked.
    Failure = 2,
    /// Nothing isolates a program that must be isolated ([`confinement`]). Only our own process sees this.
    NotIsolated = confinement::NOT_ISOLATED as isize,
}

impl ExitStatus {
    /// Converts the exit status of the KRM function, which uses the same values.
    pub(crate) fn from_function(status: u8) -> Self {
        match status {
            0 => Self::Success,
            1 => Self::Findings,
            _ => Self::Failure,
        }
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status as u8)
    }
}
