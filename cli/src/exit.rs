//! How the process ends.

use std::process::ExitCode;

/// The exit status, the same for every command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// Nothing to complain about.
    Success = 0,
    /// The input has findings that count.
    Findings = 1,
    /// Wrong usage or options, or a file that could not be read or written: the input was not judged.
    Failure = 2,
}

impl ExitStatus {
    /// The exit status of the KRM function, which has the same meanings.
    pub(crate) fn of_function(status: u8) -> Self {
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
