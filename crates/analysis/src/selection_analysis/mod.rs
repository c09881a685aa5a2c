//! Analysis of selection rules: which of them never decide, and which change of a deployment lets a provider win.
//!
//! Rules read few fields and compare them with few constants. Between two constants the result does not change, so the
//! deployments that rules can distinguish are the product of engines, modes, GPUs, and constants with their neighbors.
//! They are enumerated and judged by the same code that selects providers.

mod analysis;
mod point;
mod space;
mod why_not;

pub use analysis::{Analysis, Flaw, FlawKind, MAX_POINTS, ProviderSummary, Providers, RuleName, Witness, analyze};
pub use why_not::{MAX_TRIALS, Obstacle, UnknownProvider, WhyNot, why_not};
