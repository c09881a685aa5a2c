//! A failing input with as little in it as still fails.

use std::time::Duration;

use super::subject::{self, Input};

/// How long an input that failed by its time is worth waiting for again, while it is made smaller.
const PATIENCE: Duration = Duration::from_secs(2);

/// Checks that are made on the way, at the most.
const MOST_CHECKS: usize = 3000;

/// Leaves out files, lines and bytes as long as the input fails in the same manner.
pub(crate) fn minimize(mut input: Input, reason: &str) -> Input {
    let mut checks = 0;
    let mut fails = |input: &Input| {
        checks += 1;
        checks <= MOST_CHECKS && subject::check(input, PATIENCE).is_err_and(|other| manner(&other) == manner(reason))
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

/// Leaves out ever smaller runs of lines, or of bytes, of one file.
fn shrink(input: &mut Input, file: usize, by_line: bool, fails: &mut impl FnMut(&Input) -> bool) {
    let pieces = |bytes: &[u8]| -> Vec<Vec<u8>> {
        if by_line {
            bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
        } else {
            bytes.iter().map(|byte| vec![*byte]).collect()
        }
    };
    let Some(mut kept) = input.files.get(file).map(|file| pieces(&file.bytes)) else { return };
    let mut size = kept.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at < kept.len() {
            let mut less = kept.clone();
            less.drain(at..(at + size).min(kept.len()));
            let mut candidate = input.clone();
            if let Some(file) = candidate.files.get_mut(file) {
                file.bytes = less.concat();
            }
            if fails(&candidate) {
                (kept, *input) = (less, candidate);
            } else {
                at += size;
            }
        }
        size /= 2;
    }
}

/// The first words of a reason: those that do not speak of the input.
fn manner(reason: &str) -> String {
    reason.split([':', '\n']).next().unwrap_or_default().chars().take(40).filter(|c| !c.is_ascii_digit()).collect()
}
