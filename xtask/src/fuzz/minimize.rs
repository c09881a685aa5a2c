//! Minimizes a failing input.

use std::time::Duration;

use super::input::{self, Input};

/// The time limit for a candidate. It is shorter than that of the first failure, because a slow input is checked often.
const MAX_INPUT_TIME: Duration = Duration::from_secs(2);

/// The maximum number of candidates that are checked.
const MAX_CHECKS: usize = 3000;

/// Removes files, lines and bytes as long as the input fails for the same reason.
pub(crate) fn minimize(mut input: Input, reason: &str) -> Input {
    let mut checks = 0;
    let mut fails = |input: &Input| {
        checks += 1;
        checks <= MAX_CHECKS
            && input::check(input, MAX_INPUT_TIME).is_err_and(|other| failure_kind(&other) == failure_kind(reason))
    };
    for file in (0..input.files.len()).rev() {
        let mut without = input.clone();
        without.files.remove(file);
        if fails(&without) {
            input = without;
        }
    }
    for file in 0..input.files.len() {
        for by_line in [true, false] {
            shrink(&mut input, file, by_line, &mut fails);
        }
    }
    input
}

/// Removes runs of lines or bytes from one file: first half of the file at a time, then ever shorter runs (a form of
/// delta debugging).
fn shrink(input: &mut Input, file: usize, by_line: bool, fails: &mut impl FnMut(&Input) -> bool) {
    let split = |bytes: &[u8]| -> Vec<Vec<u8>> {
        if by_line {
            bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
        } else {
            bytes.iter().map(|byte| vec![*byte]).collect()
        }
    };
    let Some(mut pieces) = input.files.get(file).map(|file| split(&file.bytes)) else { return };
    let mut size = pieces.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at < pieces.len() {
            let mut shorter = pieces.clone();
            shorter.drain(at..(at + size).min(pieces.len()));
            let mut candidate = input.clone();
            if let Some(file) = candidate.files.get_mut(file) {
                file.bytes = shorter.concat();
            }
            if fails(&candidate) {
                (pieces, *input) = (shorter, candidate);
            } else {
                at += size;
            }
        }
        size /= 2;
    }
}

/// Returns the first words of a reason without digits. They do not depend on the input, so two inputs with the same
/// kind of failure can be compared.
fn failure_kind(reason: &str) -> String {
    reason.split([':', '\n']).next().unwrap_or_default().chars().take(40).filter(|c| !c.is_ascii_digit()).collect()
}
