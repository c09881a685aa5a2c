//! The regular expressions of `matches()`.
//!
//! Patterns that are literals are compiled with the rule. The `cel` crate would compile a pattern at each call, with a
//! limit of 10 MiB, which a rule could exploit to use much time and memory.

use regex::{Regex, RegexBuilder};

/// Maximum size of a compiled pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// Maximum number of patterns in one rule. Compiling one may take some milliseconds.
pub(super) const MAX_PATTERNS: usize = 16;

/// Steps that are charged for compiling a computed pattern during evaluation.
pub(super) const COMPILE_STEPS: u64 = 50_000;

/// Compiles a pattern. The error is one line of text.
pub fn compile(pattern: &str) -> Result<Regex, String> {
    RegexBuilder::new(pattern).size_limit(MAX_PATTERN_BYTES).dfa_size_limit(MAX_PATTERN_BYTES).build().map_err(
        |error| match error {
            regex::Error::CompiledTooBig(_) => "the pattern is too large when repetitions are written out".to_owned(),
            other => {
                let text = other.to_string();
                let reason = text.lines().last().unwrap_or_default();
                format!("not a regular expression: {}", reason.strip_prefix("error: ").unwrap_or(reason))
            }
        },
    )
}
