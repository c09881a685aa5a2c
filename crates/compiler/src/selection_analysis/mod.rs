//! Selection rules as a whole: which of them never decide, and what would have to change for a provider to win.
//!
//! Rules read few fields and compare them with few constants. Between two constants nothing changes, so the deployments
//! that rules can tell apart are as many as the products of engines, modes, GPUs, constants and their neighbours. They are
//! enumerated and judged, each by the code that selects.

mod analysis;
mod point;
mod space;
mod why_not;

pub use analysis::{Analysis, Flaw, FlawKind, MAX_POINTS, ProviderSummary, Providers, RuleName, Witness, analyze};
pub use why_not::{MAX_TRIALS, Obstacle, UnknownProvider, WhyNot, why_not};
