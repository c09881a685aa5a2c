//! The regular expressions of `matches()`.
//!
//! The crate would compile a pattern again at each call, up to 10 MiB of it.

use regex::{Regex, RegexBuilder};

/// Bytes that one compiled pattern may take.
const SIZE: usize = 1 << 20;

/// Patterns that are compiled with one rule; each may take some milliseconds.
pub(super) const MOST: usize = 16;

/// Steps that compiling a pattern takes while a rule runs.
pub(super) const STEPS: u64 = 50_000;

/// Compiles a pattern; the error is one line.
pub fn compile(pattern: &str) -> Result<Regex, String> {
    RegexBuilder::new(pattern).size_limit(SIZE).dfa_size_limit(SIZE).build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "the pattern is too large when repetitions are written out".to_owned(),
        other => {
            let text = other.to_string();
            let reason = text.lines().last().unwrap_or_default();
            format!("not a regular expression: {}", reason.strip_prefix("error: ").unwrap_or(reason))
        }
    })
}
